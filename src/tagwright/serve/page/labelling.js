// The sentence with its labels, and the k best labellings where they differ.
import { chip, fill, find, fixed, make, percent, signed } from "./dom.js";
import { state } from "./state.js";

export function drawBest(answer, choose) {
  const best = answer.kbest[0];
  fill(find("best"), answer.tokens.map((word, t) => {
    const share = best.marginals?.[t];
    const forced = state.allowed.has(t) || state.forbidden.has(t);
    const description = `${word}: ${best.labels[t]}${share === undefined ? "" : `, ${percent(share)}`}${forced ? ", with a rule" : ""}`;
    const bar = share === undefined ? null : make("span", { class: "sure" }, width(make("i"), share));
    return make(
      "button",
      { type: "button", class: "word", "data-token": t, "aria-pressed": String(state.token === t), "aria-label": description, onclick: () => choose(t) },
      chip(best.labels[t], forced ? "forced" : ""), make("span", { class: "form" }, word), bar,
    );
  }));
}

function width(element, share) {
  element.style.width = `${Math.max(2, 100 * share)}%`;
  return element;
}

export function drawKbest(answer) {
  const [best] = answer.kbest;
  const lowest = answer.kbest.at(-1).score;
  fill(find("kbest"), answer.kbest.map((own, rank) => {
    const differ = own.labels.map((label, t) => [t, label]).filter(([t, label]) => label !== best.labels[t]);
    const share = own.probability ?? (best.score === lowest ? 1 : (own.score - lowest) / (best.score - lowest));
    const score = own.probability === undefined ? (rank ? signed(own.score - best.score) : fixed(own.score)) : percent(own.probability);
    const shown = rank === 0
      ? make("span", { class: "hint" }, "the labelling above")
      : make("span", { class: "diffs" }, differ.map(([t, label]) =>
        make("span", { class: "diff" }, answer.tokens[t], make("span", { class: "was" }, `${best.labels[t]} →`), " ", chip(label))));
    return make("li", { "data-rank": rank },
      make("span", { class: "rank" }, String(rank + 1)),
      make("span", { class: "score", title: `score ${fixed(own.score, 6)}` }, score, width(make("i", { class: "bar" }), share)),
      shown);
  }));
}

// A row of labels over words, marked where they are not those of another labelling.
export function row(answer, other) {
  return make("div", { class: "words" }, answer.tokens.map((word, t) =>
    make("span", { class: "word" },
      chip(answer.kbest[0].labels[t], other && other.kbest[0].labels[t] !== answer.kbest[0].labels[t] ? "changed" : ""),
      make("span", { class: "form" }, word))));
}
