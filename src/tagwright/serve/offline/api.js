// The answers of the server, computed in the browser: in an exported page, this file takes the place of api.js.
import { decode, load, marginals } from "./wasm/index.js";

const LEFT = 24; // labellings whose labels are in the lattice that is drawn
const LEAST = 0.003; // labels at least this probable are always drawn
const STRONG = 3; // labels by their node scores that are drawn where there are no probabilities
const THIN = 0.002; // probability of an edge that is not drawn
const NODES = 6; // labels of a token that are drawn at most
const loaded = new Map();

export class Refused extends Error {
  constructor(what, fix) {
    super(what);
    this.fix = fix;
  }
}

export const links = [];

// There is no server that could ask for a token.
export const hasToken = () => false;
export const useToken = () => undefined;

export async function models() {
  const response = await fetch("./models.json");
  return response.json();
}

export async function post(path, payload, signal) {
  const model = await opened(payload.model);
  try {
    const answer = await { "/v1/tag": tag, "/v1/explain": explain, "/v1/lattice": lattice }[path](model, payload);
    if (signal?.aborted) throw new DOMException("a newer request", "AbortError");
    return answer;
  } catch (error) {
    if (error.name === "TagwrightError") throw new Refused(error.message, "change the sentence or the rules");
    throw error;
  }
}

async function opened(name) {
  if (!loaded.has(name)) loaded.set(name, load(new URL(`./models/${encodeURIComponent(name)}.safetensors`, import.meta.url)));
  return loaded.get(name);
}

// The limits of the sentence that is shown: [token, set of label numbers].
function rulesOf(model, payload, name) {
  const number = new Map(model.labels.map((label, y) => [label, y]));
  const own = payload[name]?.[payload.sentence ?? 0] ?? {};
  return Object.entries(own).filter(([, labels]) => labels).map(([t, labels]) => [Number(t), new Set(labels.map((label) => number.get(label)))]);
}

// The scores of the sentence that is shown, with -inf where the rules of the request forbid a label.
function scored(model, payload) {
  let sentences = payload.sentences ?? model.tag(payload.text, { probabilities: false }).map((own) => own.tokens);
  const count = sentences.length;
  const sentence = sentences[payload.sentence ?? 0];
  if (!sentence?.length) throw new Refused("the sentence is empty", "send at least one token");
  const { nodes, edges } = model.scores(sentence);
  const L = model.labels.length;
  for (const [t, own] of rulesOf(model, payload, "allowed")) for (let y = 0; y < L; ++y) if (!own.has(y)) nodes[t * L + y] = -Infinity;
  for (const [t, own] of rulesOf(model, payload, "forbidden")) for (const y of own) nodes[t * L + y] = -Infinity;
  return { sentence, count, nodes, edges, L, T: sentence.length };
}

// How far the best path through each node is behind the best: forwards and backwards maxima.
function maxima({ nodes, edges, T, L }) {
  const from = Float64Array.from(nodes);
  const to = Float64Array.from(nodes);
  for (let t = 1; t < T; ++t)
    for (let j = 0; j < L; ++j) {
      let best = -Infinity;
      for (let i = 0; i < L; ++i) best = Math.max(best, from[(t - 1) * L + i] + edges[i * L + j]);
      from[t * L + j] += best;
    }
  for (let t = T - 1; t-- > 0; )
    for (let i = 0; i < L; ++i) {
      let best = -Infinity;
      for (let j = 0; j < L; ++j) best = Math.max(best, edges[i * L + j] + to[(t + 1) * L + j]);
      to[t * L + i] += best;
    }
  return { from, to };
}

const finite = (number) => (Number.isFinite(number) ? number : null);
const rounded = (number) => finite(Math.round(1e6 * number) / 1e6);

function tag(model, payload) {
  const { k = 1, decoder } = payload;
  const found = model.tag(payload.text ?? payload.sentences, { k, decoder, probabilities: Boolean(payload.proba) });
  const sentences = found.map(({ tokens, offsets, labellings }) => {
    const kbest = labellings.map((one) => ({
      labels: one.labels, score: one.score, ...(payload.proba ? { probability: one.probability, marginals: one.labelProbabilities } : {}),
    }));
    return { ...(tokens ? { tokens, offsets } : {}), ...kbest[0], ...(k > 1 ? { kbest } : {}) };
  });
  return { model: payload.model, sentences };
}

async function lattice(model, payload) {
  const given = scored(model, payload);
  const { nodes, edges, T, L } = given;
  const began = performance.now();
  const found = await decode(nodes, edges, L, { k: payload.k ?? 1, decoder: payload.decoder });
  const seconds = (performance.now() - began) / 1e3;
  const wide = found.length < Math.max(payload.k ?? 1, LEFT) ? await decode(nodes, edges, L, { k: LEFT }) : found;
  const sums = model.probabilistic ? await marginals(nodes, edges, L) : null;
  const rivals = rivalsOf(given, (await decode(nodes, edges, L))[0]);
  const drawn = labelsToDraw(model, payload, given, [...found, ...wide], sums, rivals);
  const words = given.sentence.map((token) => (typeof token === "string" ? token : token[0]));
  const kbest = found.map((path) => {
    const one = { labels: path.labels.map((y) => model.labels[y]), score: path.score, changes: changesOf(model, words, found[0], path) };
    if (!sums) return one;
    return { ...one, probability: likely(path.score, sums), marginals: path.labels.map((y, t) => sums.nodes[t * L + y]) };
  });
  const facts = await models();
  const row = facts.decoders.find((one) => one.name === (payload.decoder ?? "auto").split(":")[0]);
  const byScore = (row?.maximises ?? "score") === "score";
  const exact = byScore ? (row?.exact ?? true) : null;
  return {
    model: payload.model, decoder: payload.decoder ?? "auto", maximises: row?.maximises ?? "score", tokens: words,
    exact, gap: exact ? 0 : null, seconds, work: { rounds: 0, nodes: 0, edges: 0 }, sentences: given.count,
    probabilistic: model.probabilistic, lattice: true, kbest, spans: null, glued: [],
    cost: await costOf(model, payload, given, found[0], sums),
    ...picture(model, given, drawn, sums, found[0].labels, rivals),
    rivals: rivals.each.map((one) => one && { label: model.labels[one.label], margin: rounded(one.margin) }),
  };
}

const likely = (score, sums) => Math.exp(Math.min(score - sums.logZ, 0));

// Where a labelling differs from the first, and which of several equal words it is.
function changesOf(model, words, first, path) {
  const places = (word, end) => words.slice(0, end).filter((one) => one === word).length;
  return path.labels.flatMap((y, t) => (y === first.labels[t] ? [] : [{
    token: t, word: words[t], nth: places(words[t], t + 1), of: places(words[t], words.length),
    from: model.labels[first.labels[t]], to: model.labels[y],
  }]));
}

// The label of the best labelling that has another one than the best labelling at a token, and how far it is behind.
function rivalsOf(given, best) {
  const { nodes, T, L } = given;
  const { from, to } = maxima(given);
  const each = [];
  for (let t = 0; t < T; ++t) {
    let rival = null;
    for (let y = 0; y < L; ++y) {
      const through = from[t * L + y] + to[t * L + y] - nodes[t * L + y];
      const margin = Math.max(0, best.score - through);
      if (y !== best.labels[t] && Number.isFinite(through) && (!rival || margin < rival.margin)) rival = { label: y, margin };
    }
    each.push(rival);
  }
  return { best: best.labels, each };
}

// What the rules of the request cost.
async function costOf(model, payload, given, first, sums) {
  if (!["allowed", "forbidden"].some((name) => rulesOf(model, payload, name).length)) return null;
  const free = scored(model, { ...payload, allowed: undefined, forbidden: undefined });
  const best = (await decode(free.nodes, free.edges, free.L, { decoder: payload.decoder }))[0];
  const all = sums ? await marginals(free.nodes, free.edges, free.L) : null;
  return {
    score: payload.decoder === "posterior" ? null : best.score - first.score,
    unconstrained: { labels: best.labels.map((y) => model.labels[y]), score: best.score, probability: all ? likely(best.score, all) : null },
    probability: all ? likely(first.score, all) : null, rules: all ? likely(sums.logZ, all) : null,
  };
}

// Those of the first labelling, of the best and of its rival, and requested ones, always; then the likely ones.
function labelsToDraw(model, payload, { nodes, T, L }, paths, sums, rivals) {
  const most = payload.nodes ?? NODES;
  const requested = (payload.labels ?? []).map((label) => model.labels.indexOf(label)).filter((y) => y >= 0);
  const made = [];
  for (let t = 0; t < T; ++t) {
    const by = (scores) => Array.from({ length: L }, (_, y) => y).sort((a, b) => scores[t * L + b] - scores[t * L + a]);
    const rival = rivals.each[t];
    const must = [...new Set([paths[0].labels[t], rivals.best[t], ...(rival ? [rival.label] : []), ...requested])];
    const chosen = [...must];
    if (sums) chosen.push(...by(sums.nodes).filter((y) => sums.nodes[t * L + y] >= LEAST));
    chosen.push(...paths.map((path) => path.labels[t]));
    if (!sums) chosen.push(...by(nodes).slice(0, STRONG).filter((y) => Number.isFinite(nodes[t * L + y])));
    made.push([...new Set(chosen)].slice(0, Math.max(most, must.length)));
  }
  return made;
}

function picture(model, given, drawn, sums, best, rivals) {
  const { nodes, edges, T, L } = given;
  const { from, to } = maxima(given);
  let most = -Infinity;
  for (let y = 0; y < L; ++y) most = Math.max(most, to[y]);
  const columns = drawn.map((own, t) => own.map((y) => {
    const at = t * L + y;
    const node = { label: model.labels[y], score: finite(nodes[at]), best: y === best[t], rival: y === rivals.each[t]?.label, behind: rounded(Math.max(0, most - (from[at] + to[at] - nodes[at]))) };
    return sums ? { ...node, probability: sums.nodes[at] } : node;
  }));
  const made = [];
  for (let t = 0; t + 1 < T; ++t) {
    const all = [];
    drawn[t].forEach((i, p) => drawn[t + 1].forEach((j, q) => {
      const behind = rounded(Math.max(0, most - (from[t * L + i] + edges[i * L + j] + to[(t + 1) * L + j])));
      const share = sums ? sums.edges[(t * L + i) * L + j] : 0;
      all.push({ token: t, from: p, to: q, score: edges[i * L + j], share, behind, best: i === best[t] && j === best[t + 1] });
    }));
    const near = all.map((one) => one.behind).filter((one) => one !== null).sort((a, b) => a - b);
    const close = near[Math.min(near.length - 1, 7)] ?? 0;
    made.push(...all.filter((one) => one.best || (sums ? one.share >= THIN : one.behind !== null && one.behind <= close)));
  }
  return { columns, edges: made };
}

async function explain(model, payload) {
  const given = scored(model, payload);
  const { nodes, edges, T, L, sentence } = given;
  const t = payload.token;
  const best = (await decode(nodes, edges, L))[0];
  const other = Float64Array.from(nodes);
  other[t * L + best.labels[t]] = -Infinity;
  let rival = null;
  try {
    rival = (await decode(other, edges, L))[0];
  } catch {
    // no other label is left
  }
  const label = (y) => model.labels[y];
  const step = (path, s) => ({ previous: label(path[s]), current: label(path[s + 1]), score: edges[path[s] * L + path[s + 1]], features: [] });
  let unknown = [];
  let descriptions = {};
  const reasons = [best, rival].filter(Boolean).map((path) => {
    const y = path.labels[t];
    const why = model.explain(sentence, t, y);
    unknown = why.unknown;
    descriptions = { ...descriptions, ...why.descriptions };
    return {
      label: label(y), score: nodes[t * L + y], contributions: why.contributions, start: 0, stop: 0, ngrams: [],
      before: t > 0 ? step(path.labels, t - 1) : null, after: t + 1 < T ? step(path.labels, t) : null,
      labels: path.labels.map(label), total: path.score,
    };
  });
  const word = typeof sentence[t] === "string" ? sentence[t] : sentence[t][0];
  const margin = rival ? best.score - rival.score : null;
  return { model: payload.model, token: t, word, reasons, unknown, descriptions, margin, rows: rowsOf(reasons, descriptions) };
}

// What explains the scores of the labels, in the order to show; all rows from "features" on add up to the last.
function rowsOf(reasons, descriptions) {
  const scores = new Map();
  reasons.forEach((reason, at) => {
    for (const one of reason.contributions) {
      const part = one.part === null ? "" : ` (part ${one.part})`;
      const name = one.feature + part;
      if (!scores.has(name)) scores.set(name, { words: (descriptions[one.feature] ?? one.feature) + part, own: reasons.map(() => 0) });
      scores.get(name).own[at] += one.score;
    }
  });
  const named = (kind, name, own) => ({ kind, name, words: name, scores: own.map(finite), start: null });
  const decides = ({ scores: own }) => (own.length === 2 ? Math.abs(own[0] - own[1]) : Math.max(...own.map(Math.abs)));
  const rows = [...scores].map(([name, { words, own }]) => ({ ...named("feature", name, own), words })).sort((a, b) => decides(b) - decides(a));
  rows.push(named("features", "all features", reasons.map((one) => one.score)));
  for (const [what, side, end] of [["edge from", "before", "previous"], ["edge to", "after", "current"]]) {
    const steps = reasons.map((one) => one[side]);
    const labels = [...new Set(steps.filter(Boolean).map((one) => one[end]))];
    if (labels.length) rows.push(named("edge", `${what} ${labels.join(" / ")}`, steps.map((one) => one?.score ?? 0)));
  }
  const around = (one) => one.score + (one.before?.score ?? 0) + (one.after?.score ?? 0);
  rows.push(named("rest", "rest of the sentence", reasons.map((one) => one.total - around(one))));
  return [...rows, named("total", "whole labelling", reasons.map((one) => one.total))];
}
