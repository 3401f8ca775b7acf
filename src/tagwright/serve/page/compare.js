// Two models or decoders on the same text: where they differ, by the labels that both have.
import { chip, count, fill, find, fixed, make, percent, plural, word } from "./dom.js";

const MOST = 60; // differences that are listed

const shareOf = (answer, t, label) => {
  const node = answer.columns[t]?.find((own) => own.label === label);
  return node?.probability === undefined ? "" : ` ${percent(node.probability)}`;
};

// own, other: { answer, labels (a Set), name }, of the same tokens
export function drawComparison(own, other, choose) {
  const shared = [...own.labels].filter((label) => other.labels.has(label)).length;
  const rows = own.answer.tokens.map((_, t) => ({ t, a: own.answer.kbest[0].labels[t], b: other.answer.kbest[0].labels[t] }))
    .map((row) => ({ ...row, known: other.labels.has(row.a) && own.labels.has(row.b) }));
  const comparable = rows.filter((row) => row.known), differ = comparable.filter((row) => row.a !== row.b);
  const said = [`${comparable.length - differ.length} of ${plural(comparable.length, "word")} have the same label`];
  if (shared < own.labels.size || shared < other.labels.size)
    said.push(`${count(shared)} labels are shared, of ${count(own.labels.size)} and ${count(other.labels.size)}`);
  if (rows.length > comparable.length) said.push(`${plural(rows.length - comparable.length, "word")} not compared: only one of the models has the label`);
  const table = differ.length ? make("table", { class: "differences" },
    make("thead", {}, make("tr", {}, ["word", own.name, other.name].map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, differ.slice(0, MOST).map(({ t, a, b }) => make("tr", { "data-token": t },
      make("th", { scope: "row" }, make("button", { type: "button", "data-key": `differ:${t}`, onclick: () => choose(t) }, make("bdi", {}, word(own.answer.tokens[t])))),
      make("td", {}, chip(a), shareOf(own.answer, t, a)), make("td", {}, chip(b), shareOf(other.answer, t, b)))))) : null;
  fill(find("sides"),
    make("p", { id: "agreement" }, `${said.join("; ")}.`), table,
    make("dl", { class: "sides" }, [own, other].map((side) => make("div", { class: "side" }, make("dt", {}, side.name), make("dd", {}, figures(side.answer))))));
}

function figures({ seconds, work, kbest, exact }) {
  return `${(1e3 * seconds).toFixed(2)} ms · ${plural(work.rounds, "round")} · ${plural(work.nodes, "node")} · ${plural(work.edges, "edge")}`
    + ` · score ${fixed(kbest[0].score)}${exact ? "" : " · not proven"}`;
}
