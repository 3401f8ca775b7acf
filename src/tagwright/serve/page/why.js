// One word: its labels, to be forced or forbidden, and what speaks for the best and for its rival.
import { chip, fill, find, fixed, make, percent, signed } from "./dom.js";
import { state } from "./state.js";

const SHOWN = 14;

export function drawChoices(answer, t, labels, force, forbid) {
  const toggle = (label, text, on, act) =>
    make("button", { type: "button", "aria-pressed": String(on), "aria-label": `${text} ${label}`, onclick: () => act(t, label) }, text);
  const line = (label, number) => make("div", { class: "choice", "data-label": label },
    make("span", {}, chip(label)), make("span", { class: "number" }, number),
    toggle(label, "force", state.allowed.get(t)?.includes(label) ?? false, force),
    toggle(label, "forbid", state.forbidden.get(t)?.includes(label) ?? false, forbid));
  const shown = answer.columns[t].map((node) => line(node.label, node.probability === undefined
    ? (node.behind === null ? "" : signed(-node.behind, 2)) : percent(node.probability)));
  const names = new Set(answer.columns[t].map((node) => node.label));
  const hidden = [...(state.allowed.get(t) ?? []), ...(state.forbidden.get(t) ?? [])].filter((label) => !names.has(label));
  const input = make("input", { id: "any-label", list: "labels", placeholder: "another label", "aria-label": "Another label" });
  const use = (act) => () => labels.has(input.value) && act(t, input.value);
  fill(find("choices"),
    shown, [...new Set(hidden)].map((label) => line(label, "")),
    make("div", { class: "choice any" }, input,
      make("button", { type: "button", onclick: use(force) }, "force"), make("button", { type: "button", onclick: use(forbid) }, "forbid")));
}

export function drawWhy(why) {
  const [best, rival] = why.reasons;
  const name = (one) => (one.part === null ? one.feature : `${one.feature} (part ${one.part})`);
  const scores = new Map();
  why.reasons.forEach((reason, at) => {
    for (const one of reason.contributions) {
      const own = scores.get(name(one)) ?? [0, 0];
      own[at] += one.score ?? 0;
      scores.set(name(one), own);
    }
  });
  const decides = ([, [a, b]]) => (rival ? Math.abs(a - b) : Math.abs(a));
  const rows = [...scores].sort((a, b) => decides(b) - decides(a));
  const rest = rows.slice(SHOWN);
  const shown = rows.slice(0, SHOWN);
  if (rest.length) shown.push([`${rest.length} more`, [0, 1].map((at) => rest.reduce((sum, [, own]) => sum + own[at], 0))]);
  const around = [];
  for (const [side, text, end] of [["before", "edge from", "previous"], ["after", "edge to", "current"]]) {
    const steps = [best?.[side], rival?.[side]];
    const names = [...new Set(steps.filter(Boolean).map((step) => step[end]))];
    if (names.length) around.push([`${text} ${names.join(" / ")}`, steps.map((step) => step?.score ?? 0)]);
  }
  for (const end of ["start", "stop"]) if (best[end] || rival?.[end]) around.push([end, [best[end], rival?.[end] ?? 0]]);
  const features = ["all features", [best.score, rival?.score ?? 0]];
  const total = ["whole labelling", [best.total, rival?.total ?? 0]];
  const here = [best, rival].map((own) => (own ? own.score + (own.before?.score ?? 0) + (own.after?.score ?? 0) + own.start + own.stop : 0));
  const remainder = ["rest of the sentence", [best.total - here[0], rival ? rival.total - here[1] : 0]];
  const widest = Math.max(0.001, ...[...shown, ...around, remainder].map(([, [a, b]]) => Math.abs(rival ? a - b : a)));
  const line = (kind) => ([text, [a, b]]) => make("tr", { class: kind }, make("td", {}, text),
    make("td", {}, fixed(a)), rival ? make("td", {}, fixed(b)) : null, rival ? make("td", {}, signed(a - b)) : null,
    make("td", { class: "balance", "aria-hidden": true }, balance(rival ? a - b : a, widest)));
  const head = make("tr", {}, make("th", { scope: "col" }, "what"), make("th", { scope: "col" }, chip(best.label)),
    rival ? make("th", { scope: "col" }, chip(rival.label)) : null, rival ? make("th", { scope: "col" }, "difference") : null,
    make("th", { class: "balance", "aria-hidden": true }));
  const verdict = rival
    ? [make("strong", {}, why.word), ": ", chip(best.label), " rather than ", chip(rival.label), `, by ${fixed(why.margin)}`]
    : [make("strong", {}, why.word), ": ", chip(best.label), ", and no other label is left"];
  fill(find("why"),
    make("p", { class: "verdict" }, verdict),
    make("div", { class: "table" }, make("table", { class: "reasons" }, make("thead", {}, head), make("tbody", {},
      shown.map(line("")), line("sum")(features), around.map(line("")), line("")(remainder), line("sum")(total)))),
    why.unknown.length ? make("p", { class: "unknown" }, `Not in the model: ${why.unknown.join("  ")}`) : "");
}

function balance(difference, widest) {
  const half = 49 * Math.abs(difference) / widest;
  return make("svg:svg", { viewBox: "0 0 100 14", preserveAspectRatio: "none" },
    make("svg:line", { x1: 50, x2: 50, y1: 0, y2: 14 }),
    make("svg:rect", { class: difference >= 0 ? "for" : "against", x: difference >= 0 ? 50 : 50 - half, y: 3, width: half, height: 8 }));
}
