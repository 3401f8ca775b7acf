// What is known about a model.
import { count, fill, find, make, plural, word } from "./dom.js";

const size = (bytes) => (bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e3).toFixed(1)} kB`);

const NAMES = { explain: "explanation" };
const MOST = 12; // templates of a column

const ROWS = [
  ["learner", "Learner", String], ["order", "Order", count],
  ["constraints", "Constraints", (own) => own.join(", ") || "none"], ["labels", "Labels", count], ["templates", "Templates", count],
  ["features", "Features", count], ["weights", "Weights", count], ["edges", "Label pairs", count], ["ngrams", "Label n-grams", count],
  ["bytes", "Size of the weights", size], ["dev", "Accuracy on the development set", (own) => `${(100 * own).toFixed(2)} %`],
  ["sentences", "Trained on", (own, card) => `${plural(own, "sentence")}${card.tokens ? `, ${plural(card.tokens, "token")}` : ""}`],
  ["tokenize", "Text is split by", String], ["columns", "Columns", count], ["version", "Made with", (own) => `tagwright ${own}`],
];

export function drawCard(model) {
  const card = model.card ?? { learner: model.learner, labels: model.labels.length, tokenize: model.tokenize, columns: model.columns };
  const rows = ROWS.filter(([key]) => card[key] !== null && card[key] !== undefined && !(key === "ngrams" && card[key] === 0));
  const lacks = Object.entries(model.lacks ?? {}).map(([what, reason]) => [`No ${NAMES[what] ?? what}`, reason]);
  const all = [...rows.map(([key, name, tell]) => [key, name, tell(card[key], card)]), ...lacks.map(([name, reason]) => ["lacks", name, reason])];
  find("card-name").textContent = model.name;
  fill(find("card"), all.map(([key, name, text]) => make("div", { "data-fact": key }, make("dt", {}, name), make("dd", {}, word(text, 300)))));
  const columns = model.reads === "columns" ? model.input?.columns ?? [] : [];
  find("columns").hidden = !columns.length;
  fill(find("columns"), columns.length ? make("table", {}, make("caption", {}, "Columns of a token"),
    make("thead", {}, make("tr", {}, ["column", "read by"].map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, columns.map((own) => make("tr", {}, make("th", { scope: "row" }, String(own.column)),
      make("td", {}, own.read === false ? "no template" : own.templates.slice(0, MOST).map((text) => make("code", {}, word(text, 60)))))))) : null);
}
