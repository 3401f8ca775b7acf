// Making elements, and showing numbers, labels and words.

const SVG = "http://www.w3.org/2000/svg";

// An element with attributes, custom properties that begin with --, listeners that begin with "on", and children.
export function make(name, attributes = {}, ...children) {
  const made = name.startsWith("svg:") ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key.startsWith("--")) made.style.setProperty(key, value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

export const find = (id) => document.getElementById(id);

export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

// Labels of a family (NN, NNS; B-NP, I-NP) have one colour, frequent families have colours that are far apart, and
// marks without letters have none.
const families = new Map();
const family = (label) => (label === "O" ? "" : label.replace(/^[BIESLMU]-/, "").replace(/[^\p{L}].*$/u, "").slice(0, 2).toUpperCase());

export function colour(labels) {
  families.clear();
  for (const own of labels.map(family)) if (own && !families.has(own)) families.set(own, families.size);
}

export function hue(label) {
  const own = family(label);
  if (!own) return null;
  if (!families.has(own)) families.set(own, families.size);
  return Math.round((280 + families.get(own) * 137.508) % 360);
}

export function chip(label, more = "") {
  const own = hue(label);
  return make("span", { class: `label ${own === null ? "plain" : ""} ${more}`, "--h": own ?? 0, dir: "auto" }, clip(shown(label), LONG));
}

// Characters without a glyph of their own, which could also reorder what is beside them, as their code points. Joiners
// between letters, as in Persian and in emoji, stay; so does a space inside a word.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Co}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]|[\ud800-\udfff]/gu;
const INNER = new Set(["\u200c", "\u200d", " "]);
const SEEN = /[\u0600-\u0605\u06dd\u070f\u08e2]/;

export function shown(text) {
  if (text === "") return "⟨empty⟩";
  const made = text.replace(UNSEEN, (one, at) => {
    if (SEEN.test(one) || (INNER.has(one) && at > 0 && at + 1 < text.length)) return one;
    return `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
  return made.replace(/^(?=\p{M})/u, "◌").replace(/(\p{M}{4})\p{M}+/gu, "$1");
}

export const LONG = 60; // characters of a word or label that are drawn at most

export function clip(text, most) {
  return text.length <= most ? text : `${Array.from(text.slice(0, 2 * most)).slice(0, most - 1).join("")}…`;
}

export const word = (text, most = LONG) => clip(shown(text), most);

// The width of text in pixels, in a font of the page.
const pen = document.createElement("canvas").getContext("2d");
export const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

export function ruler(size, weight = 400) {
  const font = `${weight} ${size}px ${getComputedStyle(document.documentElement).fontFamily}`;
  const known = new Map();
  return (text) => {
    if (!known.has(text)) {
      pen.font = font;
      known.set(text, pen.measureText(text).width);
    }
    return known.get(text);
  };
}

// A text that is not wider than this: as much as possible of its beginning and its end.
export function fit(text, width, measure) {
  if (measure(text) <= width) return text;
  const all = Array.from(text);
  const kept = (n) => `${all.slice(0, Math.ceil(n / 2)).join("")}…${all.slice(all.length - Math.floor(n / 2)).join("")}`;
  let [low, high] = [1, all.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(kept(middle)) <= width) low = middle;
    else high = middle - 1;
  }
  return kept(low);
}

export const isRtl = (text) => /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(text);

export const percent = (p) => (p >= 0.9995 ? "100 %" : p >= 0.1 && p < 0.995 ? `${(100 * p).toFixed(0)} %` : p >= 0.001 ? `${(100 * p).toFixed(1)} %` : "< 0.1 %");
export const signed = (x, digits = 3) => (x === null ? "−∞" : `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(digits)}`);
export const fixed = (x, digits = 3) => (x === null ? "−∞" : x.toFixed(digits).replace("-", "−"));
export const count = (n) => n.toLocaleString("en").replaceAll(",", " ");
export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

// Draws again when an element is scrolled or its width changes, at most once per frame: draw(whether it was resized).
export function onView(element, draw) {
  let [waits, resized] = [false, false];
  const soon = () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      draw(resized);
      [waits, resized] = [false, false];
    });
  };
  element.addEventListener("scroll", soon, { passive: true });
  let width = element.clientWidth;
  new ResizeObserver(() => {
    if (element.clientWidth === width) return;
    width = element.clientWidth;
    resized = true;
    soon();
  }).observe(element);
}
