// The page: its requests to the server, and what it draws of the answers.
import { announce, hideTip, keepFocus, mark, watch } from "./attention.js";
import { links, models, post, useToken } from "./api.js";
import { drawCard } from "./card.js";
import { drawComparison } from "./compare.js";
import { colour, fill, find, fixed, make, percent, plural, word } from "./dom.js";
import { copy, exportable, startExports } from "./exports.js";
import { drawHeat, drawText, isLongText } from "./heat.js";
import { drawInput, examplesOf, Misread, sentencesOf, warnOfPieces } from "./input.js";
import { drawKbest } from "./kbest.js";
import { activeNode, drawLattice } from "./lattice.js";
import { follow, hasRules, link, state } from "./state.js";
import { drawChoices, drawNoWhy, drawWhy } from "./why.js";
import { activeWord, drawBest } from "./words.js";

const TYPING = 180; // milliseconds after the last key
let facts = null;
let asking = new AbortController();
let coloured = null; // the model whose labels have the colours

const modelOf = (name) => facts.models.find((one) => one.name === name) ?? facts.models[0];

async function start() {
  try {
    facts = await models();
  } catch (error) {
    return fail(error);
  }
  find("error").hidden = true;
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
  if (!state.text) state.text = examplesOf(modelOf(state.model))[0] ?? "";
  fill(find("model"), facts.models.map((one) => make("option", { value: one.name }, one.name)));
  if (!document.body.dataset.started) listen();
  document.body.dataset.started = true;
  look("replace");
}

function listen() {
  find("text").addEventListener("input", soon);
  find("model").addEventListener("change", (event) => chooseModel(event.target.value));
  for (const name of ["decoder", "other"]) find(name).addEventListener("change", (event) => update({ [name]: event.target.value }));
  for (const name of ["scheme", "once"]) find(name).addEventListener("change", (event) => update({ [name]: event.target.checked }));
  find("k").addEventListener("input", (event) => update({ k: Number(event.target.value) }, "replace"));
  find("copy").addEventListener("click", (event) => copy(location.href, event.currentTarget));
  find("close").addEventListener("click", () => update({ token: null }));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    hideTip();
    if (state.token === null || event.target.matches("textarea, select")) return;
    update({ token: null });
  });
  addEventListener("popstate", () => {
    clearTimeout(timer);
    if (location.hash === link()) return;
    follow(location.hash);
    look("replace");
  });
  startExports();
  watch(find("answer"));
}

let timer = 0, typing = false;
function soon() {
  clearTimeout(timer);
  timer = setTimeout(() => {
    timer = 0;
    // One entry of the history for all that is typed without a pause for something else.
    const how = typing ? "replace" : "push";
    change({ text: find("text").value }, how);
    typing = true;
  }, TYPING);
}

// An example of one model is no text for another that reads something else.
function chooseModel(name) {
  const isExample = examplesOf(modelOf(state.model)).includes(state.text);
  const next = modelOf(name);
  change(isExample && next.reads !== modelOf(state.model).reads ? { model: name, text: examplesOf(next)[0] ?? "" } : { model: name });
}

// Another sentence or model: rules for tokens no longer hold.
function change(changes, how) {
  update({ ...changes, token: null, sentence: 0, allowed: new Map(), forbidden: new Map() }, how);
}

// how: "push" adds an entry to the history, "replace" changes the last one.
function update(changes, how = "push") {
  // What was typed just before counts, too.
  if (timer && !("text" in changes) && find("text").value !== state.text)
    Object.assign(state, { text: find("text").value, token: null, sentence: 0, allowed: new Map(), forbidden: new Map() });
  clearTimeout(timer);
  timer = 0;
  Object.assign(state, changes);
  typing = false;
  look(how);
}

function toggled(map, t, label, alone) {
  const had = map.get(t) ?? [];
  return set(map, t, had.includes(label) ? had.filter((one) => one !== label) : alone ? [label] : [...had, label]);
}

function set(map, t, labels) {
  const made = new Map(map);
  if (labels.length) made.set(t, labels);
  else made.delete(t);
  return made;
}

const without = (map, t, label) => set(map, t, (map.get(t) ?? []).filter((one) => one !== label));
const force = (t, label) => update({ token: t, allowed: toggled(state.allowed, t, label, true), forbidden: without(state.forbidden, t, label) });
const forbid = (t, label) => update({ token: t, forbidden: toggled(state.forbidden, t, label, false), allowed: without(state.allowed, t, label) });
const choose = (t) => update({ token: state.token === t ? null : t });
const clear = () => update({ allowed: new Map(), forbidden: new Map(), scheme: false, once: false });
const goTo = (sentence, token) => update(sentence === state.sentence ? { token } : { sentence, token, allowed: new Map(), forbidden: new Map() });

// Why a model cannot use a decoder; null: it can.
function refusal(model, decoder) {
  if (model.refused) return model.refused[decoder] ?? null;
  return decoder === "posterior" && !model.probabilistic ? "the model has no probabilities" : null;
}

// A request for what is typed, or for given tokens.
function question(name = state.model, decoder = state.decoder, tokens = null) {
  const model = modelOf(name);
  const decoding = facts.decoders.find((one) => one.name === decoder);
  const given = tokens ? { sentences: [tokens], sentence: 0 } : { ...sentencesOf(state.text, model), sentence: state.sentence };
  const payload = { ...given, model: name, decoder, k: decoding?.kbest === false ? 1 : state.k };
  const rules = {};
  if (state.scheme && model.scheme) rules.scheme = model.scheme;
  if (state.once) rules.once = true;
  if (Object.keys(rules).length) payload.constraints = rules;
  const labels = name === state.model ? null : new Set(model.labels); // another model may not have the labels
  for (const kind of ["allowed", "forbidden"]) {
    const own = [...state[kind]].map(([t, all]) => [t, all.filter((label) => labels?.has(label) ?? true)]).filter(([, all]) => all.length);
    if (own.length) payload[kind] = [...Array(payload.sentence).fill(null), Object.fromEntries(own)];
  }
  return payload;
}

async function look(how) {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  drawControls();
  if (how && location.hash !== link()) history[how === "push" ? "pushState" : "replaceState"](null, "", link());
  find("answer").setAttribute("aria-busy", "true"); // what is shown is the answer to an older request
  if (!state.text.trim()) return nothing("Type a sentence.");
  try {
    const payload = question();
    const began = performance.now();
    const answer = await post("/v1/lattice", payload, signal);
    if (state.token !== null && state.token >= answer.tokens.length) state.token = null;
    keepFocus(() => draw(answer, payload, performance.now() - began), (key) => (key.startsWith("node:") && activeNode()) || activeWord());
    await Promise.all([compared(answer, signal), reasons(answer, signal), overview(answer, signal)]);
    if (signal.aborted) return;
    mark("chosen", state.token);
    document.body.dataset.drawn = link();
  } catch (error) {
    if (!signal.aborted && error.name !== "AbortError") fail(error);
  }
}

function nothing(text) {
  keepFocus(() => {
    for (const id of ["answer", "error"]) find(id).hidden = true;
  }, () => find("text"));
  find("status").textContent = text;
  document.body.dataset.drawn = link();
}

// An error leaves no answer behind that could be taken for that of the new request.
function fail(error) {
  const drop = facts && hasRules() ? make("button", { type: "button", id: "drop", onclick: clear }, "Drop the rules") : "";
  const fix = error instanceof Misread ? "" : error.fix ?? "";
  const use = (event) => {
    event.preventDefault();
    useToken(find("token-of-server").value);
    if (facts) look(null);
    else start();
  };
  const login = error.status !== 401 ? "" : make("form", { class: "login", onsubmit: use },
    make("label", {}, "Token of the server ", make("input", { id: "token-of-server", type: "password", autocomplete: "off" })), make("button", {}, "Use it"));
  keepFocus(() => {
    find("answer").hidden = true;
    fill(find("error"), `${word(error.message, 400)}. `, fix ? `${word(fix, 300)}. ` : "", drop, login);
    find("error").hidden = false;
  }, () => find("drop") ?? find("text"));
  find("status").textContent = "";
  document.body.dataset.drawn = link();
}

function drawControls() {
  const model = modelOf(state.model);
  state.model = model.name;
  const reason = refusal(model, state.decoder);
  find("note").hidden = !reason;
  if (reason) {
    find("note").textContent = `This model cannot use the decoder ${state.decoder}: ${reason}. Auto is used.`;
    state.decoder = "auto";
  }
  const option = (value, text, own) => {
    const refused = refusal(own, value.replace(/^decoder:/, ""));
    return make("option", { value, disabled: refused !== null, title: refused }, text);
  };
  fill(find("decoder"), facts.decoders.map((one) => option(one.name, one.exact ? one.name : `${one.name} (approximate)`, model)));
  fill(find("other"), make("option", { value: "" }, "nothing"),
    facts.models.filter((one) => one !== model).map((one) => make("option", { value: `model:${one.name}` }, `model ${one.name}`)),
    facts.decoders.map((one) => option(`decoder:${one.name}`, `decoder ${one.name}`, model)));
  if (find("text").value !== state.text) find("text").value = state.text;
  for (const name of ["model", "decoder", "other", "k"]) find(name).value = state[name];
  find("k-out").value = state.k;
  const { scheme } = model;
  find("scheme-label").hidden = !scheme;
  find("scheme").checked = state.scheme;
  find("once").checked = state.once;
  find("once-text").textContent = scheme ? "At most one span of each type" : "Each label in one run at most";
  find("scheme-text").textContent = `Only spans that keep to ${scheme}`;
  drawInput(state.text, model, change);
  drawCard(model);
}

function draw(answer, payload, milliseconds) {
  find("error").hidden = true;
  find("answer").hidden = false;
  find("answer").removeAttribute("aria-busy");
  if (coloured !== answer.model) colour(modelOf((coloured = answer.model)).labels);
  const [best] = answer.kbest;
  const share = best.probability === undefined ? `score ${fixed(best.score)}` : `probability ${percent(best.probability)}`;
  find("of-model").textContent = `${answer.model}, ${answer.decoder}`;
  find("status").textContent =
    `${plural(answer.tokens.length, "word")}, ${share}, ${proof(answer)}; decoded in ${(1e3 * answer.seconds).toFixed(2)} ms, answered in ${milliseconds.toFixed(0)} ms`;
  drawBest(answer, choose);
  drawKbest(answer, choose);
  const lacks = modelOf(answer.model).lacks?.lattice;
  find("lattice-section").hidden = !answer.columns.length && !lacks;
  find("lattice-part").hidden = !answer.columns.length;
  find("no-lattice").hidden = answer.columns.length > 0;
  find("no-lattice").textContent = lacks ? `No lattice: ${lacks}.` : "";
  drawLattice(answer, force, forbid, choose);
  drawHeat(answer);
  drawRules(answer);
  drawPages(answer);
  exportable(answer, payload);
  announce(answer);
  if (modelOf(answer.model).reads === "text") warnOfPieces(state.text, answer, change);
  const { attribution } = modelOf(answer.model);
  const foot = links.map(([text, href]) => make("a", { href }, text));
  if (attribution) foot.push(attribution);
  fill(find("foot"), foot.flatMap((part, at) => (at ? [" · ", part] : [part])));
}

function proof({ maximises, decoder, exact, gap }) {
  if (maximises === "expected right tokens" || decoder === "posterior") return "the most words expected to be right";
  if (exact) return "proven to be the best";
  return gap === null || gap === undefined ? "not proven to be the best" : `at most ${fixed(gap)} from the best`;
}

// The rules that are given, and what they cost.
function drawRules(answer) {
  const name = (t) => `${word(answer.tokens[t] ?? "")}${answer.tokens.filter((own) => own === answer.tokens[t]).length > 1 ? ` (word ${t + 1})` : ""}`;
  const rules = [];
  for (const [t, labels] of state.allowed) rules.push(`${name(t)} is ${labels.join(" or ")}`);
  for (const [t, labels] of state.forbidden) rules.push(`${name(t)} is not ${labels.join(" nor ")}`);
  if (state.scheme) rules.push(find("scheme-text").textContent);
  if (state.once) rules.push(find("once-text").textContent);
  const given = hasRules();
  for (const one of document.querySelectorAll(".given")) one.hidden = !given;
  find("rules").hidden = !given;
  fill(find("rules"), make("span", {}, rules.join("; ")), make("button", { type: "button", "data-key": "clear", onclick: clear }, "Drop the rules"));
  find("cost").hidden = !given || !answer.cost;
  if (given && answer.cost) find("cost").textContent = costOf(answer.cost, answer.kbest[0]);
}

function costOf({ score, unconstrained, probability, rules }, best) {
  const parts = score === null ? [] : [score > 0 ? `The rules cost ${fixed(score)} in score` : "The rules cost nothing"];
  if (best.probability !== undefined && probability !== null && probability !== undefined)
    parts.push(`this labelling has a probability of ${percent(best.probability)} given your rules, and of ${percent(probability)} without them`
      + (score > 0 && unconstrained?.probability !== null && unconstrained?.probability !== undefined ? `, where the best has ${percent(unconstrained.probability)}` : ""));
  if (rules !== null && rules !== undefined) parts.push(`all labellings that keep to them have ${percent(rules)}`);
  const text = parts.join("; ");
  return text && `${text[0].toUpperCase()}${text.slice(1)}.`;
}

function drawPages(answer) {
  const many = answer.sentences > 1;
  find("sentences").hidden = !many;
  if (!many) return;
  const go = (by) => goTo((state.sentence + by + answer.sentences) % answer.sentences, null);
  fill(find("sentences"),
    make("button", { type: "button", "aria-label": "Previous sentence", "data-key": "previous", onclick: () => go(-1) }, "‹"),
    `sentence ${state.sentence + 1} of ${answer.sentences}`,
    make("button", { type: "button", "aria-label": "Next sentence", "data-key": "next", onclick: () => go(1) }, "›"));
}

async function compared(answer, signal) {
  find("compare").hidden = !state.other;
  if (!state.other) return;
  const [kind, name] = state.other.split(/:(.*)/);
  const isModel = kind === "model";
  const other = isModel ? modelOf(name) : modelOf(state.model);
  try {
    // Both label the same words, however their text was split in training.
    const tokens = other.reads === "text" && modelOf(state.model).reads === "text" ? answer.tokens : null;
    const decoder = isModel ? (refusal(other, state.decoder) ? "auto" : state.decoder) : name;
    const found = await post("/v1/lattice", question(other.name, decoder, tokens), signal);
    const side = (own, model) => ({ answer: own, labels: new Set(model.labels), name: isModel ? own.model : own.decoder });
    keepFocus(() => drawComparison(side(answer, modelOf(state.model)), side(found, other), choose), activeWord);
  } catch (error) {
    if (signal.aborted) throw error;
    fill(find("sides"), make("p", { class: "hint" }, `No comparison with ${isModel ? other.name : name}: ${word(error.message, 300)}.`));
  }
}

async function reasons(answer, signal) {
  const t = state.token;
  keepFocus(() => {
    find("token").hidden = t === null;
    if (t === null) return;
    find("token").dataset.token = t;
    drawChoices(answer, t, modelOf(state.model).labels, force, forbid);
  }, activeWord);
  if (t === null) return;
  const model = modelOf(state.model);
  if (!model.explains) return drawNoWhy(model.lacks?.explain ? `No explanation: ${model.lacks.explain}.`
    : "Scores of this kind of model are no sums of weights, so there is nothing to add up.");
  const { k, ...request } = question();
  try {
    drawWhy(await post("/v1/explain", { ...request, token: t }, signal));
  } catch (error) {
    if (signal.aborted) throw error;
    drawNoWhy(`No explanation: ${word(error.message, 300)}.`);
  }
}

// How uncertain each word of a long text is; a text of several sentences is tagged once, without the rules.
let tagged = { key: null, sentences: null };

async function overview(answer, signal) {
  const show = (given) => keepFocus(() => drawText(given, goTo), activeWord);
  if (!isLongText(answer)) return show(null);
  const { text, sentences, model, decoder } = question();
  if (answer.sentences === 1 || !answer.probabilistic) {
    show(uncertainOf(answer));
    return;
  }
  const key = JSON.stringify([text ?? sentences, model, decoder]);
  try {
    if (tagged.key !== key) {
      const payload = text === undefined ? { sentences } : { text };
      tagged = { key, sentences: (await post("/v1/tag", { ...payload, model, decoder, proba: true }, signal)).sentences };
    }
    show(tagged.sentences.map((own, s) => ({ tokens: own.tokens ?? sentences[s].map((token) => token[0]), uncertainty: own.marginals.map((p) => 1 - p) })));
  } catch (error) {
    if (signal.aborted) throw error;
    show(null);
  }
}

// Without probabilities, how near the next best labelling is, compared with the median of the sentence.
function uncertainOf({ kbest, tokens, rivals }) {
  const here = (own) => Array.from({ length: state.sentence + 1 }, (_, s) => (s === state.sentence ? own : { tokens: [], uncertainty: [] }));
  if (kbest[0].marginals) return here({ tokens, uncertainty: kbest[0].marginals.map((p) => 1 - p) });
  if (!rivals) return null;
  const margins = rivals.map((own) => own?.margin ?? Infinity);
  const known = margins.filter(Number.isFinite).sort((a, b) => a - b); // the others can have one label only
  const median = known[known.length >> 1] || 1;
  return here({
    tokens, uncertainty: margins.map((own) => Math.exp((-4 * own) / median)),
    said: margins.map((own) => (Number.isFinite(own) ? `${fixed(own)} ahead` : "no other label")),
  });
}

start();
