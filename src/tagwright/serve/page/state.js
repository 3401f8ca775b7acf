// What is being looked at, and the link that shows the same again.

export const state = {
  text: "", model: "", decoder: "auto", k: 5, other: "", token: null, sentence: 0, scheme: false,
  allowed: new Map(), // token -> [label]
  forbidden: new Map(),
};

const rules = (map) => [...map].map(([t, labels]) => `${t}:${labels.map(encodeURIComponent).join(",")}`).join(";");

function rulesOf(text) {
  const made = new Map();
  for (const part of (text || "").split(";")) {
    const [t, labels] = part.split(":");
    if (/^\d+$/.test(t) && labels) made.set(Number(t), labels.split(",").map(decodeURIComponent));
  }
  return made;
}

export function link() {
  const told = new URLSearchParams();
  for (const name of ["text", "model", "other"]) if (state[name]) told.set(name, state[name]);
  if (state.decoder !== "auto") told.set("decoder", state.decoder);
  told.set("k", state.k);
  if (state.sentence) told.set("sentence", state.sentence);
  if (state.scheme) told.set("scheme", 1);
  if (state.token !== null) told.set("token", state.token);
  for (const name of ["allowed", "forbidden"]) if (state[name].size) told.set(name, rules(state[name]));
  return `#${told}`;
}

export function follow(hash) {
  const told = new URLSearchParams(hash.replace(/^#/, ""));
  for (const name of ["text", "model", "decoder", "other"]) if (told.has(name)) state[name] = told.get(name);
  const whole = (name, least, most) => {
    const number = Number(told.get(name));
    return told.has(name) && Number.isInteger(number) && number >= least && number <= most ? number : null;
  };
  state.k = whole("k", 1, 20) ?? state.k;
  state.sentence = whole("sentence", 0, 1e6) ?? 0;
  state.token = whole("token", 0, 1e6);
  state.scheme = told.has("scheme");
  try {
    for (const name of ["allowed", "forbidden"]) state[name] = rulesOf(told.get(name));
  } catch {
    // a link that was cut in the middle of an escape
  }
}
