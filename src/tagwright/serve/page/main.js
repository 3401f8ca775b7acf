// The page: its requests to the server, and what it draws of the answers.
import { links, models, post, sentencesOf } from "./api.js";
import { colour, count, fill, find, fixed, make, percent } from "./dom.js";
import { drawHeat } from "./heat.js";
import { drawBest, drawKbest, row } from "./labelling.js";
import { drawLattice } from "./lattice.js";
import { follow, link, state } from "./state.js";
import { drawChoices, drawWhy } from "./why.js";

const EXAMPLES = [
  "Time flies like an arrow.", "The dog that I saw saw me too.", "The kids train dogs on the train.", "They can fish.",
  "Visiting relatives can be boring.",
];
const TYPING = 180; // milliseconds after the last key
let facts = null;
let asking = new AbortController();

const modelOf = (name) => facts.models.find((one) => one.name === name) ?? facts.models[0];

async function start() {
  facts = await models();
  if (facts.models.some((one) => !one.ready)) {
    find("status").textContent = "The models are being opened …";
    setTimeout(start, 300);
    return;
  }
  follow(location.hash);
  const most = Math.min(20, facts.limits.k);
  find("k").max = most;
  state.k = Math.min(state.k, most);
  state.model = modelOf(state.model || facts.default).name;
  if (!state.text) state.text = modelOf(state.model).reads === "text" ? EXAMPLES[0] : "";
  fill(find("examples"), EXAMPLES.map((text) => make("button", { type: "button", onclick: () => change({ text }) }, text)));
  fill(find("model"), facts.models.map((one) => make("option", { value: one.name }, one.name)));
  fill(find("decoder"), facts.decoders.map((one) => make("option", { value: one.name }, one.exact ? one.name : `${one.name} (approximate)`)));
  const others = [...facts.models.map((one) => [`model:${one.name}`, `model ${one.name}`]), ...facts.decoders.map((one) => [`decoder:${one.name}`, `decoder ${one.name}`])];
  fill(find("other"), make("option", { value: "" }, "nothing"), others.map(([value, text]) => make("option", { value }, text)));
  find("text").addEventListener("input", soon);
  find("model").addEventListener("change", (event) => change({ model: event.target.value }));
  for (const name of ["decoder", "other"]) find(name).addEventListener("change", (event) => update({ [name]: event.target.value }));
  for (const name of ["scheme", "once"]) find(name).addEventListener("change", (event) => update({ [name]: event.target.checked }));
  find("k").addEventListener("input", (event) => update({ k: Number(event.target.value) }));
  find("request").addEventListener("submit", (event) => event.preventDefault());
  find("close").addEventListener("click", () => update({ token: null }));
  find("copy").addEventListener("click", copy);
  addEventListener("hashchange", () => {
    if (location.hash === link()) return;
    follow(location.hash);
    look();
  });
  look();
}

let timer = 0;
function soon() {
  clearTimeout(timer);
  timer = setTimeout(() => change({ text: find("text").value }), TYPING);
}

// Another sentence or model: rules for tokens no longer hold.
function change(changes) {
  update({ ...changes, token: null, sentence: 0, allowed: new Map(), forbidden: new Map() });
}

function update(changes) {
  Object.assign(state, changes);
  look();
}

function toggled(map, t, label, alone) {
  const made = new Map(map);
  const had = made.get(t) ?? [];
  const next = had.includes(label) ? had.filter((one) => one !== label) : alone ? [label] : [...had, label];
  if (next.length) made.set(t, next);
  else made.delete(t);
  return made;
}

function without(map, t, label) {
  const made = new Map(map);
  const next = (made.get(t) ?? []).filter((one) => one !== label);
  if (next.length) made.set(t, next);
  else made.delete(t);
  return made;
}

const force = (t, label) => update({ token: t, allowed: toggled(state.allowed, t, label, true), forbidden: without(state.forbidden, t, label) });
const forbid = (t, label) => update({ token: t, forbidden: toggled(state.forbidden, t, label, false), allowed: without(state.allowed, t, label) });
const choose = (t) => update({ token: state.token === t ? null : t });

function question(model = state.model, decoder = state.decoder) {
  const decoding = facts.decoders.find((one) => one.name === decoder);
  const payload = { ...sentencesOf(state.text, modelOf(model)), model, decoder, k: decoding?.kbest === false ? 1 : state.k, sentence: state.sentence };
  const rules = {};
  if (state.scheme && modelOf(model).scheme) rules.scheme = modelOf(model).scheme;
  if (state.once) rules.once = true;
  if (Object.keys(rules).length) payload.constraints = rules;
  for (const name of ["allowed", "forbidden"]) if (state[name].size) payload[name] = [Object.fromEntries(state[name])];
  return payload;
}

async function look() {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  if (find("text").value !== state.text) find("text").value = state.text;
  for (const name of ["model", "decoder", "other", "k"]) find(name).value = state[name];
  find("k-out").value = state.k;
  const { scheme } = modelOf(state.model);
  find("scheme-label").hidden = !scheme;
  find("scheme").checked = state.scheme;
  find("once").checked = state.once;
  find("once-text").textContent = scheme ? "At most one span of each type" : "Each label in one run at most";
  find("scheme-text").textContent = `Only spans that keep to ${scheme}`;
  history.replaceState(null, "", link());
  if (!state.text.trim()) {
    find("answer").hidden = true;
    find("status").textContent = "Type a sentence.";
    return;
  }
  try {
    const began = performance.now();
    const answer = await post("/v1/lattice", question(), signal);
    if (state.token !== null && state.token >= answer.tokens.length) state.token = null;
    draw(answer, performance.now() - began);
    await Promise.all([compared(answer, signal), reasons(answer, signal)]);
    find("error").hidden = true;
    document.body.dataset.drawn = link();
  } catch (error) {
    if (error.name === "AbortError") return;
    const rule = state.allowed.size || state.forbidden.size;
    fill(find("error"), `${error.message}. ${error.fix ?? ""} `, rule ? make("button", { type: "button", onclick: clear }, "Drop the rules") : "");
    find("error").hidden = false;
    find("status").textContent = "";
  }
}

const clear = () => update({ allowed: new Map(), forbidden: new Map() });

function draw(answer, milliseconds) {
  find("answer").hidden = false;
  colour(modelOf(state.model).labels);
  const best = answer.kbest[0];
  const share = best.probability === undefined ? `score ${fixed(best.score)}` : `probability ${percent(best.probability)}`;
  const exact = answer.exact ? "proven to be the best" : answer.gap === null ? "not proven" : `at most ${fixed(answer.gap)} from the best`;
  find("status").textContent =
    `${answer.tokens.length} words, ${share}, ${exact}; decoded in ${(1e3 * answer.seconds).toFixed(2)} ms, answered in ${milliseconds.toFixed(0)} ms`;
  drawBest(answer, choose);
  drawKbest(answer);
  drawLattice(answer, force, forbid);
  drawHeat(answer);
  const rules = [];
  for (const [t, labels] of state.allowed) rules.push(`${answer.tokens[t]} is ${labels.join(" or ")}`);
  for (const [t, labels] of state.forbidden) rules.push(`${answer.tokens[t]} is not ${labels.join(" nor ")}`);
  find("rules").hidden = !rules.length;
  if (rules.length) fill(find("rules"), rules.join("; "), make("button", { type: "button", onclick: clear }, "Drop the rules"));
  pages(answer);
  const attribution = modelOf(state.model).attribution;
  const foot = links.map(([text, href]) => make("a", { href }, text));
  if (attribution) foot.push(attribution);
  fill(find("foot"), foot.flatMap((part, at) => (at ? [" · ", part] : [part])));
}

function pages(answer) {
  const many = answer.sentences > 1;
  find("sentences").hidden = !many;
  if (!many) return;
  const go = (by) => update({ sentence: (state.sentence + by + answer.sentences) % answer.sentences, token: null, allowed: new Map(), forbidden: new Map() });
  fill(find("sentences"),
    make("button", { type: "button", "aria-label": "Previous sentence", onclick: () => go(-1) }, "‹"),
    `sentence ${state.sentence + 1} of ${answer.sentences}`,
    make("button", { type: "button", "aria-label": "Next sentence", onclick: () => go(1) }, "›"));
}

async function compared(answer, signal) {
  find("compare").hidden = !state.other;
  if (!state.other) return;
  const [kind, name] = state.other.split(/:(.*)/);
  const other = await post("/v1/lattice", kind === "model" ? question(name) : question(state.model, name), signal);
  const side = (own, than, text) => make("div", { class: "side" },
    make("h3", {}, text, make("small", {},
      `${(1e3 * own.seconds).toFixed(2)} ms · ${count(own.work.rounds)} ${own.work.rounds === 1 ? "round" : "rounds"} · ${count(own.work.nodes)} nodes · ${count(own.work.edges)} edges`
      + ` · score ${fixed(own.kbest[0].score)}${own.exact ? "" : " · not proven"}`)),
    row(own, than.tokens.length === own.tokens.length ? than : null));
  fill(find("sides"), side(answer, other, `${state.model}, ${state.decoder}`),
    side(other, answer, kind === "model" ? `${name}, ${state.decoder}` : `${state.model}, ${name}`));
}

async function reasons(answer, signal) {
  const t = state.token;
  find("token").hidden = t === null;
  if (t === null) return;
  const model = modelOf(state.model);
  let list = find("labels");
  if (!list || list.dataset.model !== model.name) {
    list?.remove();
    list = make("datalist", { id: "labels", "data-model": model.name }, model.labels.map((label) => make("option", { value: label })));
    document.body.append(list);
  }
  drawChoices(answer, t, new Set(model.labels), force, forbid);
  if (!model.explains) {
    fill(find("why"), make("p", { class: "hint" }, "Scores of this kind of model are no sums of weights, so there is nothing to add up."));
    return;
  }
  const { k, decoder, ...request } = question();
  drawWhy(await post("/v1/explain", { ...request, token: t }, signal));
}

async function copy() {
  const button = find("copy");
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it from the address bar";
  }
  setTimeout(() => (button.textContent = "Copy link"), 1500);
}

start().catch((error) => {
  find("error").textContent = `The server does not answer: ${error.message}`;
  find("error").hidden = false;
});
