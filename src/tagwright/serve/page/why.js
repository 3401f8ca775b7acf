// One word: its labels, to be forced or forbidden, and what decides for the best and against its rival.
import { chip, fill, find, fixed, make, percent, signed, word } from "./dom.js";
import { state } from "./state.js";

const SHOWN = 14; // features
const OFFERED = 50; // labels that are offered for what was typed

export function drawChoices(answer, t, labels, force, forbid) {
  const toggle = (label, text, on, act) => make("button", {
    type: "button", "aria-pressed": String(on), "aria-label": `${text} ${word(label)}`, "data-key": `${text}:${label}`, onclick: () => act(t, label),
  }, text);
  const line = (label, number) => make("div", { class: "choice", "data-label": label },
    make("span", { class: "name" }, chip(label)), make("span", { class: "number" }, number),
    toggle(label, "force", state.allowed.get(t)?.includes(label) ?? false, force),
    toggle(label, "forbid", state.forbidden.get(t)?.includes(label) ?? false, forbid));
  const column = answer.columns[t] ?? [...new Set(answer.kbest.map((own) => own.labels[t]))].map((label) => ({ label }));
  const shown = column.map((node) => line(node.label, node.probability !== undefined ? percent(node.probability)
    : node.behind === null || node.behind === undefined ? "" : signed(-node.behind, 2)));
  const names = new Set(column.map((node) => node.label));
  const hidden = [...(state.allowed.get(t) ?? []), ...(state.forbidden.get(t) ?? [])].filter((label) => !names.has(label));
  const typed = find("any-label")?.value ?? "";
  const list = make("datalist", { id: "labels" });
  const input = make("input", {
    id: "any-label", list: "labels", placeholder: "another label", "aria-label": "Another label", "data-key": "any-label", autocomplete: "off",
    oninput: () => fill(list, labels.filter((label) => label.includes(input.value)).slice(0, OFFERED).map((value) => make("option", { value }))),
    onkeydown: (event) => event.key === "Enter" && use(force)(),
  });
  input.value = typed;
  const use = (act) => () => {
    const known = labels.includes(input.value);
    input.setAttribute("aria-invalid", String(!known));
    if (known) act(t, input.value);
  };
  fill(find("choices"),
    shown, [...new Set(hidden)].map((label) => line(label, "")),
    make("div", { class: "choice any" }, input, list,
      make("button", { type: "button", "data-key": "force any", onclick: use(force) }, "force"),
      make("button", { type: "button", "data-key": "forbid any", onclick: use(forbid) }, "forbid")));
}

export function drawNoWhy(text) {
  fill(find("why"), make("p", { class: "hint" }, text));
}

// The rows of an explanation in the order in which they are shown: [{ kind, name, words, scores }].
function rowsOf(why) {
  const all = why.rows ?? [];
  const features = all.filter((row) => row.kind === "feature");
  const rest = features.slice(SHOWN);
  const more = { kind: "more", words: `${rest.length} more`, scores: why.reasons.map((_, at) => rest.reduce((sum, row) => sum + row.scores[at], 0)) };
  return [...features.slice(0, SHOWN), ...(rest.length ? [more] : []), ...all.filter((row) => row.kind !== "feature")];
}

export function drawWhy(why) {
  const [best, rival] = why.reasons;
  const rows = rowsOf(why);
  const balanced = rows.filter((row) => !["features", "total"].includes(row.kind));
  const weight = ({ scores: [a, b] }) => (rival ? (a ?? 0) - (b ?? 0) : a ?? 0);
  const widest = Math.max(0.001, ...balanced.map((row) => Math.abs(weight(row))));
  const line = (row) => {
    const [a, b] = row.scores;
    const raw = row.name && row.name !== row.words && row.kind === "feature" ? row.name : null;
    return make("tr", { class: ["features", "total"].includes(row.kind) ? "sum" : null, "data-kind": row.kind, "data-name": row.name },
      make("th", { scope: "row" }, make("span", { dir: "auto" }, word(row.words, 120)), raw === null ? null : make("code", { title: raw }, word(raw, 40))),
      make("td", {}, fixed(a)), rival ? make("td", {}, fixed(b)) : null, rival ? make("td", {}, a === null || b === null ? "" : signed(a - b)) : null,
      make("td", { class: "balance", "aria-hidden": true }, balance(weight(row), widest)));
  };
  const head = make("tr", {}, make("th", { scope: "col" }, "what"), make("th", { scope: "col" }, chip(best.label)),
    rival ? make("th", { scope: "col" }, chip(rival.label)) : null, rival ? make("th", { scope: "col" }, "difference") : null,
    make("td", { class: "balance", "aria-hidden": true }));
  const name = make("strong", {}, make("bdi", {}, word(why.word)));
  const verdict = rival
    ? [name, ": ", chip(best.label), " rather than ", chip(rival.label), `, by ${fixed(why.margin)}`]
    : [name, ": ", chip(best.label), ", and no other label is left"];
  const unknown = why.unknown.map((own) => word((why.descriptions ?? {})[own] ?? own, 80));
  fill(find("why"),
    make("p", { class: "verdict" }, verdict),
    make("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Contributions" },
      make("table", { class: "reasons" }, make("thead", {}, head), make("tbody", {}, rows.map(line)))),
    unknown.length ? make("p", { class: "unknown" }, `Not in the model: ${unknown.join(", ")}`) : "");
}

function balance(difference, widest) {
  const half = 49 * Math.min(1, Math.abs(difference) / widest);
  return make("svg:svg", { viewBox: "0 0 100 14", preserveAspectRatio: "none" },
    make("svg:line", { x1: 50, x2: 50, y1: 0, y2: 14 }),
    make("svg:rect", { class: difference >= 0 ? "for" : "against", x: difference >= 0 ? 50 : 50 - half, y: 3, width: half, height: 8 }));
}
