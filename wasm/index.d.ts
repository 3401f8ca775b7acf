export interface Options {
  /** Labellings per sentence; 1 by default. */
  k?: number;
  /** Whether labellings have probabilities; by default if the model is a CRF or an HMM. */
  probabilities?: boolean;
  /** The name of a decoder; "auto" by default. */
  decoder?: string;
  /** Of text: "english", "whitespace" or "none"; by default that of the model's training. */
  tokenizer?: string;
}

export interface Labelling {
  labels: string[];
  /** The labels as indices of `Model.labels`. */
  numbers: number[];
  score: number;
  probability?: number;
  /** The probability of each label. */
  labelProbabilities?: number[];
}

export interface Sentence {
  /** Best first. */
  labellings: Labelling[];
  /** Of text. */
  tokens?: string[];
  /** Of text: where each token begins and ends in the string. */
  offsets?: [number, number][];
}

export interface Contribution {
  feature: string;
  score: number;
  /** The part of the label that the weight belongs to, from 1; null: the label itself. */
  part: number | null;
}

/** A word, or the columns of a token. */
export type Token = string | string[];

export class TagwrightError extends Error {
  /** A value of tw_status. */
  status: number;
}

export class Model {
  private constructor();
  readonly labels: string[];
  /** How many columns a token must have; 0: ready-made features, which are not supported here. */
  readonly columns: number;
  readonly probabilistic: boolean;
  readonly learner: string;
  readonly tokenizer: string;
  /** Returns the best labellings of each sentence of a text, or of the given sentences. */
  tag(given: string | Token[][], options?: Options): Sentence[];
  /** Returns the node scores [token * labels + label] and the edge scores [label * labels + label] of a sentence. */
  scores(sentence: Token[]): { nodes: Float64Array; edges: Float64Array };
  /** Returns what each feature of a token adds to the node score of a label. */
  explain(sentence: Token[], token: number, label: number): {
    contributions: Contribution[];
    /** Features of the token that the model does not have. */
    unknown: string[];
    /** What features mean, in words, by feature. */
    descriptions: Record<string, string>;
  };
  /** Releases the memory of the model, which must not be used afterwards. */
  free(): void;
}

type Source = string | URL | Uint8Array | ArrayBuffer;

/** Compiles the library; other functions do so on first use. wasm: its bytes or URL, if it is not beside this module. */
export function start(options?: { wasm?: Source }): Promise<unknown>;
/** Loads a model file from its bytes or a URL. */
export function load(source: Source): Promise<Model>;
export function tokenize(text: string, tokenizer?: string): Promise<{ tokens: string[]; offsets: [number, number][] }[]>;
/** Returns the k best paths of a lattice. nodes: [T * L]; edges: [L * L]. */
export function decode(
  nodes: ArrayLike<number>, edges: ArrayLike<number>, L: number, options?: Pick<Options, "k" | "decoder">,
): Promise<{ labels: number[]; score: number }[]>;
export function marginals(
  nodes: ArrayLike<number>, edges: ArrayLike<number>, L: number,
): Promise<{ nodes: Float64Array; edges: Float64Array; logZ: number }>;
export function version(): Promise<string>;
