// The state of the page, and the link that restores it.

export const state = {
  text: "", model: "", decoder: "auto", k: 5, other: "", token: null, sentence: 0, scheme: false, once: false,
  allowed: new Map(), // token -> [label]
  forbidden: new Map(),
};

export const hasRules = () => state.allowed.size > 0 || state.forbidden.size > 0 || state.scheme || state.once;

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
  const params = new URLSearchParams();
  for (const name of ["text", "model", "other"]) if (state[name]) params.set(name, state[name]);
  if (state.decoder !== "auto") params.set("decoder", state.decoder);
  params.set("k", state.k);
  if (state.sentence) params.set("sentence", state.sentence);
  if (state.scheme) params.set("scheme", 1);
  if (state.once) params.set("once", 1);
  if (state.token !== null) params.set("token", state.token);
  for (const name of ["allowed", "forbidden"]) if (state[name].size) params.set(name, rules(state[name]));
  return `#${params}`;
}

// What a link does not name is as at the beginning; model and text stay.
export function follow(hash) {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  for (const name of ["text", "model"]) if (params.has(name)) state[name] = params.get(name);
  state.decoder = params.get("decoder") || "auto";
  state.other = params.get("other") || "";
  const whole = (name, least, most) => {
    const number = Number(params.get(name));
    return params.has(name) && Number.isInteger(number) && number >= least && number <= most ? number : null;
  };
  state.k = whole("k", 1, 20) ?? state.k;
  state.sentence = whole("sentence", 0, 1e6) ?? 0;
  state.token = whole("token", 0, 1e6);
  state.scheme = params.has("scheme");
  state.once = params.has("once");
  try {
    for (const name of ["allowed", "forbidden"]) state[name] = rulesOf(params.get(name));
  } catch {
    // a link that was cut in the middle of an escape
  }
}
