// tagwright in WebAssembly: models, tokenisers, decoding and sums, through the C API (tagwright.h).
import create from "./tagwright.mjs";

const PROBABILITIES = 1;
const OPTIONS = 24; // bytes of tw_options
const encoder = new TextEncoder();
const decoder = new TextDecoder();
let starting = null;

// The compiled library, made once. wasm: its bytes or a URL; by default the file beside this module.
export function start({ wasm = new URL("./tagwright.wasm", import.meta.url) } = {}) {
  starting ??= bytesOf(wasm).then((wasmBinary) => create({ wasmBinary })).catch((error) => {
    starting = null;
    throw error;
  });
  return starting;
}

async function bytesOf(source) {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  const url = new URL(source, import.meta.url);
  if (url.protocol === "file:") return (await import(/* webpackIgnore: true */ "node:fs/promises")).readFile(url);
  const response = await fetch(url);
  if (!response.ok) throw new TagwrightError(4, `${url}: status ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

export class TagwrightError extends Error {
  constructor(status, message) {
    super(message);
    this.name = "TagwrightError";
    this.status = status; // of tw_status
  }
}

// Memory of one call, which is freed at its end.
class Call {
  constructor(core) {
    this.core = core;
    this.held = [];
  }

  run(work) {
    try {
      return work(this);
    } finally {
      for (const address of this.held) this.core._free(address);
    }
  }

  room(bytes) {
    const address = this.core._malloc(Math.max(bytes, 8));
    if (!address) throw new TagwrightError(5, "out of memory");
    this.held.push(address);
    return address;
  }

  bytes(data) {
    const address = this.room(data.length + 1);
    this.core.HEAPU8.set(data, address);
    this.core.HEAPU8[address + data.length] = 0;
    return address;
  }

  text(text) {
    return text === undefined || text === null ? 0 : this.bytes(encoder.encode(text));
  }

  sizes(numbers) {
    const address = this.room(4 * numbers.length);
    this.core.HEAPU32.set(numbers, address >> 2);
    return address;
  }

  // One block for all strings, and pointers to them.
  strings(all) {
    const data = encoder.encode(all.join("\0") + "\0");
    const block = this.bytes(data);
    const at = [];
    let begin = 0;
    for (let n = 0; n < all.length; ++n) {
      if (all[n].includes("\0")) throw new TagwrightError(1, "a token contains a NUL character");
      at.push(block + begin);
      begin = data.indexOf(0, begin) + 1;
    }
    return this.sizes(at);
  }

  doubles(numbers) {
    const address = this.room(8 * numbers.length);
    this.core.HEAPF64.set(numbers, address >> 3);
    return address;
  }

  options({ k = 1, probabilities = false, decoder: name, tokenizer } = {}) {
    const address = this.room(OPTIONS);
    const fields = [OPTIONS, k, 1, probabilities ? PROBABILITIES : 0, this.text(name), this.text(tokenizer)];
    this.core.HEAPU32.set(fields, address >> 2);
    return address;
  }

  check(status) {
    if (status) throw new TagwrightError(status, this.core.UTF8ToString(this.core._tw_error()));
  }

  // The handle that a function makes.
  made(name, ...given) {
    const out = this.room(4);
    this.check(this.core[name](...given, out));
    return this.core.HEAPU32[out >> 2];
  }
}

// Indices of a string by the bytes of its UTF-8.
function indices(text, data) {
  const at = new Uint32Array(data.length + 1);
  let byte = 0;
  for (let index = 0; index < text.length; ) {
    const code = text.codePointAt(index);
    const bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    at[byte] = index;
    byte += bytes;
    index += code > 0xffff ? 2 : 1;
  }
  at[byte] = text.length;
  return at;
}

function sentencesOf(core, result, text, probabilities = false) {
  const data = text === undefined ? null : encoder.encode(text);
  const at = data && indices(text, data);
  const made = [];
  for (let s = 0; s < core._tw_result_sentences(result); ++s) {
    const T = core._tw_result_tokens(result, s);
    const sentence = { labellings: [] };
    if (data) {
      sentence.tokens = [];
      sentence.offsets = [];
      const place = core._malloc(8);
      for (let t = 0; t < T; ++t) {
        core._tw_result_offsets(result, s, t, place, place + 4);
        const [begin, end] = core.HEAPU32.subarray(place >> 2, (place >> 2) + 2);
        sentence.tokens.push(decoder.decode(data.subarray(begin, end)));
        sentence.offsets.push([at[begin], at[end]]);
      }
      core._free(place);
    }
    for (let p = 0; p < core._tw_result_labellings(result, s); ++p) {
      const numbers = core._tw_result_labels(result, s, p) >> 2;
      const shares = core._tw_result_label_probabilities(result, s, p);
      const own = { numbers: Array.from(core.HEAP32.subarray(numbers, numbers + T)), score: core._tw_result_score(result, s, p) };
      if (probabilities) {
        own.probability = core._tw_result_probability(result, s, p);
        own.labelProbabilities = Array.from(core.HEAPF64.subarray(shares >> 3, (shares >> 3) + T));
      }
      sentence.labellings.push(own);
    }
    made.push(sentence);
  }
  core._tw_result_free(result);
  return made;
}

const rowsOf = (sentence) => sentence.map((token) => (typeof token === "string" ? [token] : token));

export class Model {
  #core;
  #handle;

  constructor(core, handle) {
    this.#core = core;
    this.#handle = handle;
    const text = (address) => core.UTF8ToString(address);
    this.labels = Array.from({ length: core._tw_model_labels(handle) }, (_, y) => text(core._tw_model_label(handle, y)));
    this.columns = core._tw_model_columns(handle);
    this.probabilistic = core._tw_model_probabilistic(handle) === 1;
    this.learner = text(core._tw_model_learner(handle));
    this.tokenizer = text(core._tw_model_tokenizer(handle));
  }

  // The labellings of each sentence, best first. given: text, or sentences of words or of rows of columns.
  tag(given, options = {}) {
    const chosen = { probabilities: this.probabilistic, ...options };
    const result = this.#run((call) => {
      const how = call.options(chosen);
      if (typeof given === "string") {
        const data = encoder.encode(given);
        return call.made("_tw_tag_text", this.#handle, call.bytes(data), data.length, how);
      }
      const rows = given.map(rowsOf);
      const columns = Math.max(this.columns, 1);
      const cells = call.strings(this.#cells(rows.flat(), columns));
      return call.made("_tw_tag_tokens", this.#handle, cells, columns, call.sizes(given.map((own) => own.length)), given.length, how);
    });
    const made = sentencesOf(this.#core, result, typeof given === "string" ? given : undefined, chosen.probabilities);
    for (const sentence of made)
      for (const one of sentence.labellings) one.labels = one.numbers.map((y) => this.labels[y]);
    return made;
  }

  // Node scores [token * labels + label] and edge scores [label * labels + label] of a sentence.
  scores(sentence) {
    return this.#run((call) => {
      const L = this.labels.length;
      const [cells, columns] = this.#sentence(call, sentence);
      const nodes = call.room(8 * sentence.length * L);
      const edges = call.room(8 * L * L);
      call.check(this.#core._tw_scores(this.#handle, cells, columns, sentence.length, nodes, edges));
      return {
        nodes: this.#core.HEAPF64.slice(nodes >> 3, (nodes >> 3) + sentence.length * L),
        edges: this.#core.HEAPF64.slice(edges >> 3, (edges >> 3) + L * L),
      };
    });
  }

  // What each feature of a token adds to the node score of a label, by its number.
  explain(sentence, token, label) {
    return this.#run((call) => {
      const core = this.#core;
      const [cells, columns] = this.#sentence(call, sentence);
      const found = call.made("_tw_explain", this.#handle, cells, columns, sentence.length, token, label);
      const contributions = [];
      for (let n = 0; n < core._tw_explanation_features(found); ++n)
        contributions.push({
          feature: core.UTF8ToString(core._tw_explanation_feature(found, n)),
          score: core._tw_explanation_score(found, n), part: core._tw_explanation_part(found, n) || null,
        });
      const unknown = [];
      for (let n = 0, name; (name = core._tw_explanation_unknown(found, n)); ++n) unknown.push(core.UTF8ToString(name));
      const descriptions = {};
      for (const feature of [...contributions.map((one) => one.feature), ...unknown]) {
        const words = core._tw_explanation_words(found, call.text(feature));
        if (words) descriptions[feature] = core.UTF8ToString(words);
      }
      core._tw_explanation_free(found);
      return { contributions, unknown, descriptions };
    });
  }

  free() {
    this.#core._tw_model_free(this.#handle);
    this.#handle = 0;
  }

  #run(work) {
    return new Call(this.#core).run(work);
  }

  #sentence(call, sentence) {
    const columns = Math.max(this.columns, 1);
    return [call.strings(this.#cells(rowsOf(sentence), columns)), columns];
  }

  #cells(rows, columns) {
    rows.forEach((row, t) => {
      if (row.length < columns) throw new TagwrightError(1, `token ${t} has ${row.length} columns, but the model reads ${columns}`);
    });
    return rows.flatMap((row) => row.slice(0, columns));
  }
}

// The model of a file. source: its bytes, or a URL.
export async function load(source) {
  const [core, bytes] = await Promise.all([start(), bytesOf(source)]);
  return new Call(core).run((call) => new Model(core, call.made("_tw_model_from_memory", call.bytes(bytes), bytes.length)));
}

// The tokens of each sentence of a text, with their places in the string.
export async function tokenize(text, tokenizer = "english") {
  const core = await start();
  const data = encoder.encode(text);
  const result = new Call(core).run((call) => call.made("_tw_tokenize", call.bytes(data), data.length, call.text(tokenizer)));
  return sentencesOf(core, result, text).map(({ tokens, offsets }) => ({ tokens, offsets }));
}

// The k best paths of a lattice: numbers of labels, and score. nodes: [T * L]; edges: [L * L].
export async function decode(nodes, edges, L, options = {}) {
  const core = await start();
  const T = nodes.length / L;
  const result = new Call(core).run((call) => call.made("_tw_decode", call.doubles(nodes), call.doubles(edges), T, L, call.options(options)));
  return sentencesOf(core, result)[0].labellings.map(({ numbers, score }) => ({ labels: numbers, score }));
}

// Probabilities of nodes [T * L] and of edges [(T - 1) * L * L], and the logarithm of the sum over all paths.
export async function marginals(nodes, edges, L) {
  const core = await start();
  const T = nodes.length / L;
  return new Call(core).run((call) => {
    const [first, second, sum] = [call.room(8 * T * L), call.room(8 * Math.max(T - 1, 0) * L * L), call.room(8)];
    call.check(core._tw_marginals(call.doubles(nodes), call.doubles(edges), T, L, first, second, sum));
    const view = (address, count) => core.HEAPF64.slice(address >> 3, (address >> 3) + count);
    return { nodes: view(first, T * L), edges: view(second, Math.max(T - 1, 0) * L * L), logZ: core.HEAPF64[sum >> 3] };
  });
}

export async function version() {
  const core = await start();
  return core.UTF8ToString(core._tw_version());
}
