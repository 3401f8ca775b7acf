// The probability of each label that matters at each word.
import { chip, fill, find, make, percent } from "./dom.js";

const MOST = 24;

export function drawHeat(answer) {
  find("heat-section").hidden = !answer.probabilistic;
  if (!answer.probabilistic) return;
  const mass = new Map();
  for (const column of answer.columns)
    for (const node of column) mass.set(node.label, (mass.get(node.label) ?? 0) + node.probability);
  const labels = [...mass].filter(([, sum]) => sum >= 0.005).sort((a, b) => b[1] - a[1]).slice(0, MOST).map(([label]) => label);
  const byLabel = answer.columns.map((column) => new Map(column.map((node) => [node.label, node.probability])));
  const head = make("thead", {}, make("tr", {}, make("td"), answer.tokens.map((word) => make("th", { scope: "col" }, word))));
  const rows = labels.map((label) => make("tr", {}, make("th", { scope: "row" }, chip(label)), byLabel.map((column) => {
    const p = column.get(label);
    if (p === undefined || p < 0.0005) return make("td");
    return make("td", { "--p": (0.7 * Math.sqrt(p)).toFixed(3) }, percent(p)); // pale enough for the text in it
  })));
  fill(find("heat"), make("table", {}, make("caption", { hidden: true }, "Probability of labels by word"), head, make("tbody", {}, rows)));
}
