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
    const answer = path === "/v1/explain" ? await explain(model, payload) : await lattice(model, payload);
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

// The scores of the sentence that is shown, with -inf where the rules of the request forbid a label.
function scored(model, payload) {
  let sentences = payload.sentences ?? model.tag(payload.text, { probabilities: false }).map((own) => own.tokens);
  const count = sentences.length;
  const sentence = sentences[payload.sentence ?? 0];
  if (!sentence?.length) throw new Refused("the sentence is empty", "send at least one token");
  const { nodes, edges } = model.scores(sentence);
  const L = model.labels.length;
  const number = new Map(model.labels.map((label, y) => [label, y]));
  const rules = (name) => Object.entries(payload[name]?.[0] ?? {}).map(([t, labels]) => [Number(t), new Set(labels.map((label) => number.get(label)))]);
  for (const [t, own] of rules("allowed")) for (let y = 0; y < L; ++y) if (!own.has(y)) nodes[t * L + y] = -Infinity;
  for (const [t, own] of rules("forbidden")) for (const y of own) nodes[t * L + y] = -Infinity;
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

async function lattice(model, payload) {
  const given = scored(model, payload);
  const { nodes, edges, T, L } = given;
  const began = performance.now();
  const found = await decode(nodes, edges, L, { k: payload.k, decoder: payload.decoder });
  const seconds = (performance.now() - began) / 1e3;
  const wide = found.length < Math.max(payload.k, LEFT) ? await decode(nodes, edges, L, { k: LEFT }) : found;
  const sums = model.probabilistic ? await marginals(nodes, edges, L) : null;
  const drawn = labelsToDraw(given, found, wide, sums);
  const words = given.sentence.map((token) => (typeof token === "string" ? token : token[0]));
  const kbest = found.map((path) => {
    const one = { labels: path.labels.map((y) => model.labels[y]), score: path.score };
    if (!sums) return one;
    const probability = Math.exp(Math.min(path.score - sums.logZ, 0));
    return { ...one, probability, marginals: path.labels.map((y, t) => sums.nodes[t * L + y]) };
  });
  const facts = await models();
  const exact = facts.decoders.find((one) => one.name === payload.decoder)?.exact ?? true;
  return {
    model: payload.model, decoder: payload.decoder, tokens: words, exact, gap: exact ? 0 : null, seconds,
    work: { rounds: 0, nodes: 0, edges: 0 }, sentences: given.count, probabilistic: model.probabilistic, kbest,
    ...picture(model, given, drawn, sums, found[0].labels),
  };
}

function labelsToDraw({ nodes, T, L }, found, wide, sums) {
  const made = [];
  for (let t = 0; t < T; ++t) {
    const by = (scores) => Array.from({ length: L }, (_, y) => y).sort((a, b) => scores[t * L + b] - scores[t * L + a]);
    const chosen = [found[0].labels[t]];
    if (sums) chosen.push(...by(sums.nodes).filter((y) => sums.nodes[t * L + y] >= LEAST));
    chosen.push(...[...found, ...wide].map((path) => path.labels[t]));
    if (!sums) chosen.push(...by(nodes).slice(0, STRONG).filter((y) => Number.isFinite(nodes[t * L + y])));
    made.push([...new Set(chosen)].slice(0, NODES));
  }
  return made;
}

function picture(model, given, drawn, sums, best) {
  const { nodes, edges, T, L } = given;
  const { from, to } = maxima(given);
  let most = -Infinity;
  for (let y = 0; y < L; ++y) most = Math.max(most, to[y]);
  const columns = drawn.map((own, t) => own.map((y) => {
    const at = t * L + y;
    const node = { label: model.labels[y], score: finite(nodes[at]), best: y === best[t], behind: rounded(Math.max(0, most - (from[at] + to[at] - nodes[at]))) };
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
    made.push(...all.filter((one) => (sums ? one.share >= THIN : one.behind !== null && one.behind <= close)));
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
  const reasons = [best, rival].filter(Boolean).map((path) => {
    const y = path.labels[t];
    const why = model.explain(sentence, t, y);
    unknown = why.unknown;
    return {
      label: label(y), score: nodes[t * L + y], contributions: why.contributions, start: 0, stop: 0, ngrams: [],
      before: t > 0 ? step(path.labels, t - 1) : null, after: t + 1 < T ? step(path.labels, t) : null,
      labels: path.labels.map(label), total: path.score,
    };
  });
  const word = typeof sentence[t] === "string" ? sentence[t] : sentence[t][0];
  return { model: payload.model, token: t, word, reasons, unknown, margin: rival ? best.score - rival.score : null };
}
