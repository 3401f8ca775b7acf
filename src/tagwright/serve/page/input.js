// What a person types: how a model reads it, and hints where that is not what the person means.
import { clip, fill, find, make, plural, word } from "./dom.js";

const ENGLISH = [
  "Time flies like an arrow.", "The dog that I saw saw me too.", "They refuse to permit us to obtain the refuse permit.",
  "They can fish.", "Visiting relatives can be boring.",
];
const ATTACHED = /[\p{L}\p{N}][.,;:!?]["'”’)]*(?=\s|$)/u;

export class Misread extends Error {}

export function examplesOf(model) {
  const own = model.examples ?? [];
  return model.reads === "text" && (model.tokenize === "english" || !own.length) ? [...new Set([...ENGLISH, ...own])].slice(0, 6) : own;
}

// The part of a request that holds the sentences. Throws Misread, with a hint, if the model would read something else.
export function sentencesOf(typed, model) {
  if (model.reads === "text") return { text: typed };
  if (model.reads === "features") return { sentences: [featuresOf(typed)] };
  const known = model.input?.columns?.length || model.columns; // those of the training, if they are known
  const sentences = [[]];
  typed.split("\n").forEach((line, n) => {
    const row = line.trim().split(/\s+/).filter(Boolean);
    if (row.length && row.length !== model.columns && row.length !== known)
      throw new Misread(`Line ${n + 1} (“${word(row.join(" "))}”) has ${plural(row.length, "column")}, but the model reads ${model.columns} for each token`);
    if (row.length) sentences.at(-1).push(row);
    else if (sentences.at(-1).length) sentences.push([]);
  });
  return { sentences: sentences.filter((own) => own.length) };
}

function featuresOf(typed) {
  let made;
  try {
    made = JSON.parse(typed);
  } catch {
    throw new Misread("This is not JSON");
  }
  if (Array.isArray(made)) return made;
  throw new Misread("This is not a list of tokens");
}

export function formatOf(model) {
  if (model.reads === "features")
    return "This model reads ready-made features: a sentence as JSON, a list with an object or a list of features for each token.";
  if (model.reads !== "columns") return "";
  const unread = (model.input?.columns ?? []).filter((own) => own.read === false).map((own) => own.column);
  return `This model reads ${model.columns} columns: write one token on each line, its columns separated by blanks, and an empty line between sentences`
    + `${unread.length ? `; column ${unread.join(", ")} is not used by any template, but must be there` : ""}.`;
}

function warningOf(typed, model) {
  const detached = model.input?.detached ?? (model.tokenize && model.tokenize !== "whitespace");
  if (model.reads !== "text" || detached) return null;
  const found = typed.split(/\s+/).find((own) => ATTACHED.test(own));
  return found ? `This model's text is split at blanks only, so “${word(found)}” is one word for it.` : null;
}

const spaced = (typed) => typed.replace(/([\p{L}\p{N}])([.,;:!?]+["'”’)]*)(?=\s|$)/gu, "$1 $2");

function warn(text, better, change) {
  find("warning").hidden = !text;
  fill(find("warning"), text, text && make("button", { type: "button", "data-key": "detach", onclick: () => change({ text: better() }) }, "Put blanks between them"));
}

// Words of which the model knows only the pieces, if the text itself gave no reason to warn.
export function warnOfPieces(typed, { tokens, glued }, change) {
  if (!glued?.length || !find("warning").hidden) return;
  const pieces = new Map(glued.map((own) => [tokens[own.token], own.pieces.join(" ")]));
  const [[first, parts]] = pieces;
  warn(`The model does not know “${word(first)}”, but “${word(parts)}”.`, () => typed.replace(/\S+/g, (own) => pieces.get(own) ?? own), change);
}

// The format that the model reads, a warning about the text, and examples, under the text.
export function drawInput(typed, model, change) {
  const format = formatOf(model);
  find("format").hidden = !format;
  find("format").textContent = format;
  warn(warningOf(typed, model), () => spaced(typed), change);
  const examples = examplesOf(model);
  const drawn = JSON.stringify(examples);
  if (find("examples").dataset.drawn === drawn) return;
  find("examples").dataset.drawn = drawn;
  fill(find("examples"), examples.map((text) =>
    make("button", { type: "button", dir: "auto", onclick: () => change({ text }) }, clip(text.replace(/\s+/g, " "), 70))));
}
