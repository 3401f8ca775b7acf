// The k best labellings, as rows that show where they differ from the best.
import { chip, fill, find, fixed, make, percent, signed, word } from "./dom.js";

const MOST = 40; // differences of a row that are shown

// Where a labelling differs from another; of equal words, which one it is.
export function changes(words, labels, best) {
  const totals = new Map();
  for (const own of words) totals.set(own, (totals.get(own) ?? 0) + 1);
  return labels.flatMap((label, t) => (label === best[t] ? [] : [{ token: t, word: words[t], label, was: best[t], repeated: totals.get(words[t]) > 1 }]));
}

export function drawKbest(answer, choose) {
  const [best] = answer.kbest;
  const lowest = answer.kbest.at(-1).score;
  fill(find("kbest"), answer.kbest.map((own, rank) => {
    const share = own.probability ?? (best.score === lowest ? 1 : (own.score - lowest) / (best.score - lowest));
    const score = own.probability === undefined ? (rank ? signed(own.score - best.score) : fixed(own.score)) : percent(own.probability);
    const bar = make("i", { class: "bar", "--p": Math.max(0, Math.min(1, share)).toFixed(4) });
    return make("li", { "data-rank": rank },
      make("span", { class: "rank" }, String(rank + 1)),
      make("span", { class: "score", title: `score ${fixed(own.score, 6)}` }, score, bar),
      rank === 0 ? make("span", { class: "hint" }, "the labelling above") : differences(changes(answer.tokens, own.labels, best.labels), rank, choose));
  }));
}

function differences(all, rank, choose) {
  const made = all.slice(0, MOST).map((one) => make("button", {
    type: "button", class: "diff", "data-token": one.token, "data-label": one.label, "data-key": `diff:${rank}:${one.token}`, onclick: () => choose(one.token),
  }, make("span", { class: "of", dir: "auto" }, word(one.word)), one.repeated ? make("small", { class: "which" }, ` word ${one.token + 1}`) : null,
  make("span", { class: "was" }, ` ${word(one.was)} → `), chip(one.label)));
  if (all.length > MOST) made.push(make("span", { class: "hint" }, `and ${all.length - MOST} more`));
  if (!all.length) made.push(make("span", { class: "hint" }, "the same labels"));
  return make("span", { class: "diffs" }, made);
}
