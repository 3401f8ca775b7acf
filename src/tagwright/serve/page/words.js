// The words of a sentence with their labels and spans. Rows are laid out here, so that only those in view are drawn.
import { describe } from "./attention.js";
import { chip, fill, find, isRtl, make, onView, percent, rem, ruler, word } from "./dom.js";
import { state } from "./state.js";

const WIDEST = 15, HEIGHT = 4.1, LEVEL = 1.55; // of a word, a row, a level of spans, in rem
const GAP = 6, PAD = 18; // pixels between words; around the text of a word
let answer = null, layout = null, choose = null;
let active = 0; // the word that Tab leads to
const box = find("best");

export const activeWord = () => box.querySelector(`[data-key="word:${active}"]`);

export function drawBest(given, onChoose) {
  answer = given;
  choose = onChoose;
  active = Math.min(state.token ?? active, answer.tokens.length - 1);
  layout = null;
  draw();
  if (state.token !== null) reveal(state.token);
}

const nameOf = (span) => `${word(span.label, 30)}${span.probability === undefined ? "" : ` ${percent(span.probability)}`}`;

// Where each word is: its row, and left edge and width in pixels; and pieces of spans in each row.
function laidOut() {
  const room = box.clientWidth - 4, size = rem();
  const forms = ruler(1.12 * size), labels = ruler(0.78 * size, 600);
  const most = Math.min(WIDEST * size, room - PAD);
  const best = answer.kbest[0].labels;
  const widths = answer.tokens.map((own, t) =>
    Math.ceil(Math.min(most, Math.max(1.6 * size, forms(word(own)), labels(word(best[t])) + 0.9 * size)) + PAD));
  const spans = (answer.spans ?? []).map((span) => ({ ...span, level: 0 }));
  for (const [n, span] of spans.entries()) {
    const taken = new Set(spans.slice(0, n).filter((own) => own.start < span.end && span.start < own.end).map((own) => own.level));
    while (taken.has(span.level)) span.level += 1;
    const own = widths.slice(span.start, span.end);
    const has = own.reduce((sum, width) => sum + width + GAP, -GAP);
    const lacks = Math.ceil(labels(nameOf(span)) + 12 - has);
    if (lacks > 0) widths[span.start] += Math.min(lacks, Math.max(0, room - widths[span.start]));
  }
  const levels = spans.length ? 1 + Math.max(...spans.map((span) => span.level)) : 0;
  const row = [], left = [];
  let [n, x] = [0, 0];
  // A span begins a row if it fits into one, but not into the rest of this one.
  const needs = [...widths];
  for (const { start, end } of spans) {
    const whole = widths.slice(start, end).reduce((sum, width) => sum + width + GAP, -GAP);
    if (whole <= room) needs[start] = Math.max(needs[start], whole);
  }
  widths.forEach((width, t) => {
    if (x > 0 && x + needs[t] > room) [n, x] = [n + 1, 0];
    row.push(n);
    left.push(x);
    x += width + GAP;
  });
  const first = [];
  row.forEach((own, t) => (first[own] ??= t));
  return { row, left, widths, first, spans, rows: n + 1, height: (HEIGHT + LEVEL * levels) * size, word: HEIGHT * size, level: LEVEL * size };
}

function draw() {
  if (!answer || !box.clientWidth) return;
  layout ??= laidOut();
  const focused = document.activeElement?.dataset.key;
  const { height, rows, row, first } = layout;
  const from = Math.max(0, Math.floor(box.scrollTop / height) - 1);
  const to = Math.min(rows - 1, Math.ceil((box.scrollTop + Math.max(box.clientHeight, height)) / height) + 1);
  const drawn = [];
  for (let t = first[from] ?? 0; t < answer.tokens.length && row[t] <= to; ++t) drawn.push(t);
  // So that Tab and the focus have a place.
  if (active < drawn[0]) drawn.unshift(active);
  else if (active > drawn.at(-1)) drawn.push(active);
  box.dir = answer.tokens.filter(isRtl).length * 2 > answer.tokens.length ? "rtl" : "ltr";
  const layers = [make("div", { class: "rows", "aria-hidden": true }, spansOf(from, to)),
    make("div", { class: "rows", role: "listbox", "aria-label": "Words and their labels" }, drawn.map(option))];
  for (const layer of layers) layer.style.height = `${rows * height}px`;
  fill(box, layers);
  box.dataset.rows = rows;
  if (focused?.startsWith("word:")) box.querySelector(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
}

function place(element, left, top, width, height) {
  element.style.insetInlineStart = `${left}px`;
  element.style.top = `${top}px`;
  element.style.width = `${width}px`;
  if (height) element.style.height = `${height}px`;
  return element;
}

function spansOf(from, to) {
  const { spans, row, left, widths, height, level } = layout;
  const made = [];
  for (const span of spans)
    for (let n = Math.max(from, row[span.start]); n <= Math.min(to, row[span.end - 1]); ++n) {
      let [a, b] = [span.start, span.end - 1];
      while (row[a] < n) ++a;
      while (row[b] > n) --b;
      const ends = `${a > span.start ? "continues" : ""} ${b + 1 < span.end ? "continued" : ""}`;
      const tag = make("span", { class: "tag", dir: "auto" }, nameOf(span));
      const piece = make("div", { class: `span ${ends}`, "data-label": span.label, "data-start": span.start, "data-end": span.end }, tag);
      made.push(place(piece, left[a] - 1, n * height, left[b] + widths[b] - left[a] + 2, layout.word + (span.level + 1) * level - 7));
    }
  return made;
}

function option(t) {
  const best = answer.kbest[0], share = best.marginals?.[t], label = best.labels[t];
  const forced = state.allowed.has(t) || state.forbidden.has(t);
  const inside = layout.spans.filter((span) => span.start <= t && t < span.end).map((span) => `, in ${nameOf(span)}`).join("");
  const said = `${word(answer.tokens[t], 80)}: ${word(label, 80)}${share === undefined ? "" : `, ${percent(share)}`}${inside}${forced ? ", with a rule" : ""}`;
  const bar = share === undefined ? null : make("span", { class: "sure", "--p": share.toFixed(3) });
  const made = make("div", {
    class: "word", role: "option", "data-token": t, "data-key": `word:${t}`, tabindex: t === active ? 0 : -1,
    "aria-selected": String(state.token === t), "aria-label": said, "aria-posinset": t + 1, "aria-setsize": answer.tokens.length,
    onclick: () => choose(t), onkeydown: (event) => pressed(event, t),
  }, make("span", { class: "form", dir: "auto" }, word(answer.tokens[t])), " ", chip(label, forced ? "forced" : ""), bar);
  if (word(answer.tokens[t]) !== answer.tokens[t] || word(label) !== label) describe(made, () => word(answer.tokens[t], 400) + `\n${word(label, 400)}`);
  return place(made, layout.left[t], layout.row[t] * layout.height, layout.widths[t]);
}

function pressed(event, t) {
  const last = answer.tokens.length - 1;
  const ahead = box.dir === "rtl" ? -1 : 1;
  const { row, left } = layout;
  const inRow = (n) => {
    const own = row.map((at, s) => [at, s]).filter(([at]) => at === n).map(([, s]) => s);
    return own.length ? own.reduce((a, b) => (Math.abs(left[b] - left[t]) < Math.abs(left[a] - left[t]) ? b : a)) : t;
  };
  const moves = { ArrowRight: t + ahead, ArrowLeft: t - ahead, ArrowUp: inRow(row[t] - 1), ArrowDown: inRow(row[t] + 1), Home: 0, End: last };
  if (event.key === "Enter" || event.key === " ") choose(t);
  else if (event.key in moves) go(Math.max(0, Math.min(last, moves[event.key])));
  else return;
  event.preventDefault();
}

function go(t) {
  active = t;
  reveal(t);
  draw();
  activeWord()?.focus({ preventScroll: true });
}

function reveal(t) {
  if (!layout) return;
  const top = layout.row[t] * layout.height;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + layout.height > box.scrollTop + box.clientHeight) box.scrollTop = top + layout.height - box.clientHeight;
  else return;
  draw();
}

onView(box, (resized) => {
  if (resized) layout = null;
  draw();
});
