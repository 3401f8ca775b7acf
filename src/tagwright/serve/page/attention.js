// Where a person is: the focus, which drawing again must not lose; what the pointer is over; and what is announced.
import { find } from "./dom.js";

const tip = find("tip");
const texts = new WeakMap();

// What is shown beside the pointer, or beside what has the focus.
export function describe(element, text) {
  texts.set(element, text);
  return element;
}

function described(target) {
  for (let own = target; own instanceof Element; own = own.parentElement) if (texts.has(own)) return own;
  return null;
}

function show(element, x, y) {
  tip.textContent = texts.get(element)();
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${Math.max(4, y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18)}px`;
}

export const hideTip = () => (tip.hidden = true);

// Marks every part of the answer that belongs to a token: its word, its column, its changes and its reasons.
export function mark(kind, t) {
  for (const one of document.querySelectorAll(`.${kind}`)) one.classList.remove(kind);
  if (t === null || t === undefined) return;
  for (const one of document.querySelectorAll(`#answer [data-token="${t}"]`)) one.classList.add(kind);
}

// Labels of a row of the k best, in the lattice.
function markRow(row) {
  for (const diff of row.querySelectorAll("[data-token]"))
    for (const node of document.querySelectorAll(`.node[data-token="${diff.dataset.token}"]`))
      node.classList.toggle("linked", node.dataset.label === diff.dataset.label);
}

export function watch(answer) {
  const over = (target, x, y) => {
    const element = described(target);
    if (element) show(element, x, y);
    else hideTip();
  };
  document.addEventListener("pointermove", (event) => over(event.target, event.clientX, event.clientY));
  document.addEventListener("pointerleave", hideTip);
  document.addEventListener("scroll", hideTip, { capture: true, passive: true });
  answer.addEventListener("pointerover", (event) => {
    const t = event.target.closest("[data-token]")?.dataset.token;
    mark("linked", t);
    const row = t === undefined ? event.target.closest("[data-rank]") : null;
    if (row) markRow(row);
  });
  answer.addEventListener("pointerleave", () => mark("linked", null));
  document.addEventListener("focusin", (event) => {
    mark("linked", event.target.closest("[data-token]")?.dataset.token);
    if (!texts.has(event.target) || !event.target.matches(":focus-visible")) return;
    const box = event.target.getBoundingClientRect();
    show(event.target, box.left, box.bottom - 14);
  });
  document.addEventListener("focusout", hideTip);
}

// Draws, and puts the focus on what now has the key of what had it; otherwise on fallback(key).
export function keepFocus(draw, fallback) {
  const had = document.activeElement;
  const key = had?.dataset?.key;
  draw();
  if (!key || (had.isConnected && had.getClientRects().length)) return;
  const next = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  const target = next && next.getClientRects().length && !next.disabled ? next : fallback(key);
  target?.focus({ preventScroll: true });
}

// Labels for those who hear the page: all of a new sentence, only the changes of the same one.
const MOST = 30;
let before = { words: null, labels: [], model: null };

export function announce(answer) {
  const { tokens: words, model } = answer;
  const { labels } = answer.kbest[0];
  const same = before.words?.length === words.length && before.model === model && words.every((own, t) => own === before.words[t]);
  const pairs = words.map((own, t) => [own, labels[t], before.labels[t]]).filter(([, now, was]) => !same || now !== was);
  const said = pairs.slice(0, MOST).map(([own, now, was]) => (same ? `${own} changes from ${was} to ${now}` : `${own} ${now}`));
  if (pairs.length > MOST) said.push(`and ${pairs.length - MOST} more`);
  const text = same ? (pairs.length ? said.join(", ") : "No label changes") : `Labels: ${said.join(", ")}`;
  const rules = answer.cost ? ", given your rules" : "";
  before = { words, labels, model };
  find("live").textContent = text + rules;
}
