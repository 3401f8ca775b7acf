// Making elements, and telling numbers and labels to people.

const SVG = "http://www.w3.org/2000/svg";

// An element with attributes, properties that begin with a dot, listeners that begin with "on", and children.
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
  element.replaceChildren(...children.flat());
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
  return make("span", { class: `label ${own === null ? "plain" : ""} ${more}`, "--h": own ?? 0 }, label);
}

export const percent = (p) => (p >= 0.9995 ? "100 %" : p >= 0.1 ? `${(100 * p).toFixed(0)} %` : p >= 0.001 ? `${(100 * p).toFixed(1)} %` : "< 0.1 %");
export const signed = (x, digits = 3) => (x === null ? "−∞" : `${x < 0 ? "−" : "+"}${Math.abs(x).toFixed(digits)}`);
export const fixed = (x, digits = 3) => (x === null ? "−∞" : x.toFixed(digits).replace("-", "−"));
export const count = (n) => n.toLocaleString("en").replaceAll(",", " ");

const tip = find("tip");

// What stands beside the pointer, or beside what has the focus.
export function explainOnHover(element, text) {
  const show = (x, y) => {
    tip.textContent = text();
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18}px`;
  };
  element.addEventListener("pointermove", (event) => show(event.clientX, event.clientY));
  element.addEventListener("focus", () => {
    const box = element.getBoundingClientRect();
    show(box.left, box.bottom - 14);
  });
  for (const end of ["pointerleave", "blur"]) element.addEventListener(end, () => (tip.hidden = true));
}
