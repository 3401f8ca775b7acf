// The probability of each label at each word, and the uncertainty of a long text.
import { chip, clip, fill, find, make, onView, percent, rem, word } from "./dom.js";
import { state } from "./state.js";

const MOST = 24; // labels
const WIDE = 4.6, AHEAD = 6; // a column in rem; columns that are drawn beyond those in view
const scroller = find("heat");
let answer = null, labels = [], byLabel = [], drawn = null;

export function drawHeat(given) {
  answer = given;
  const shows = answer.probabilistic && answer.columns.length > 0;
  find("heat-section").hidden = !shows;
  drawn = null;
  if (!shows) return;
  const mass = new Map();
  for (const column of answer.columns)
    for (const node of column) mass.set(node.label, (mass.get(node.label) ?? 0) + node.probability);
  labels = [...mass].filter(([, sum]) => sum >= 0.005).sort((a, b) => b[1] - a[1]).slice(0, MOST).map(([label]) => label);
  byLabel = answer.columns.map((column) => new Map(column.map((node) => [node.label, node.probability])));
  drawColumns();
}

// Columns in view, and a cell as wide as those before and after them.
function drawColumns() {
  if (!answer || find("heat-section").hidden || !scroller.clientWidth) return;
  const width = WIDE * rem(), T = answer.tokens.length;
  const from = Math.max(0, Math.floor(scroller.scrollLeft / width / AHEAD) * AHEAD - AHEAD);
  const to = Math.min(T, Math.ceil((scroller.scrollLeft + scroller.clientWidth) / width / AHEAD) * AHEAD + AHEAD);
  if (drawn === `${from} ${to} ${width}`) return;
  drawn = `${from} ${to} ${width}`;
  const window = Array.from({ length: to - from }, (_, n) => from + n);
  const space = (columns, name = "td") => {
    if (!columns) return null;
    const cell = make(name, { class: "space", "aria-hidden": true });
    cell.style.minWidth = cell.style.width = `${columns * width}px`;
    return cell;
  };
  const chosen = (t) => (t === state.token ? "chosen" : null);
  const head = make("thead", {}, make("tr", {}, make("td"), space(from), window.map((t) =>
    make("th", { scope: "col", class: chosen(t), "data-token": t, "aria-colindex": t + 2 }, make("span", { class: "form", dir: "auto" }, word(answer.tokens[t]))), space(T - to))));
  const rows = labels.map((label) => make("tr", {}, make("th", { scope: "row" }, chip(label)), space(from), window.map((t) => {
    const p = byLabel[t].get(label);
    if (p === undefined || p < 0.0005) return make("td", { class: chosen(t), "data-token": t });
    return make("td", { class: chosen(t), "data-token": t, "--p": (0.7 * Math.sqrt(p)).toFixed(3) }, percent(p)); // pale enough for the text in it
  }), space(T - to)));
  fill(scroller, make("table", { "aria-colcount": T + 1 }, make("caption", { class: "unseen" }, "Probability of labels by word"), head, make("tbody", {}, rows)));
}

onView(scroller, drawColumns);

const LONG_TEXT = 30, SHOWN = 3000, WORST = 8; // words
const CERTAIN = 0.05; // uncertainty below which a word is as the text around it

export const isLongText = (given) => given.sentences > 1 || given.tokens.length > LONG_TEXT;

const saidOf = (own, t) => own.said?.[t] ?? percent(1 - own.uncertainty[t]);

// sentences: [{ tokens, uncertainty: [1 - probability], said }]; go(sentence, token) shows a word.
export function drawText(sentences, go) {
  find("text-section").hidden = !sentences;
  if (!sentences) return;
  const worst = sentences.flatMap((own, s) => own.uncertainty.map((u, t) => ({ s, t, u, word: own.tokens[t], said: saidOf(own, t) })))
    .filter((one) => one.u >= CERTAIN).sort((a, b) => b.u - a.u).slice(0, WORST);
  fill(find("worst"), worst.length ? "Least certain: " : "Every word is certain.", worst.map((one) => make("button", {
    type: "button", "data-key": `worst:${one.s}:${one.t}`, onclick: () => go(one.s, one.t), "--u": one.u.toFixed(2), class: "unsure",
  }, make("bdi", {}, word(one.word)), ` ${one.said}`)));
  let left = SHOWN;
  const paragraphs = sentences.map((own, s) => {
    const parts = [];
    let plain = "";
    own.tokens.slice(0, Math.max(0, left)).forEach((token, t) => {
      const u = own.uncertainty[t];
      if (u < CERTAIN) {
        plain += `${clip(word(token), 60)} `;
        return;
      }
      parts.push(plain, make("mark", {
        "data-s": s, "data-t": t, "data-key": `mark:${s}:${t}`, "--u": u.toFixed(2), title: saidOf(own, t), role: "button", tabindex: -1,
      }, make("bdi", {}, word(token))), " ");
      plain = "";
    });
    left -= own.tokens.length;
    return make("p", { "aria-current": s === state.sentence && sentences.length > 1 ? "true" : null, dir: "auto" }, parts, plain);
  });
  if (left < 0) paragraphs.push(make("p", { class: "hint" }, `The first ${SHOWN} words are shown.`));
  const box = find("uncertainty");
  const active = box.querySelector("mark[tabindex='0']")?.dataset.key;
  fill(box, paragraphs.filter((one) => one.textContent));
  const marked = [...box.querySelectorAll("mark")];
  (marked.find((own) => own.dataset.key === active) ?? marked[0])?.setAttribute("tabindex", 0);
  const use = (own) => own && go(Number(own.dataset.s), Number(own.dataset.t));
  box.onclick = (event) => use(event.target.closest("mark"));
  box.onkeydown = (event) => {
    const marks = [...box.querySelectorAll("mark")], at = marks.indexOf(event.target);
    const moves = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: marks.length - 1 };
    if (at < 0) return;
    if (event.key === "Enter" || event.key === " ") use(event.target);
    else if (marks[moves[event.key]]) {
      event.target.setAttribute("tabindex", -1);
      marks[moves[event.key]].setAttribute("tabindex", 0);
      marks[moves[event.key]].focus();
    } else return;
    event.preventDefault();
  };
}
