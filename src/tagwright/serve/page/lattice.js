// The lattice: the labels that matter at each word, and the edges between them. Only columns in view are drawn.
import { describe } from "./attention.js";
import { clip, fill, find, fit, fixed, hue, make, onView, percent, ruler, word } from "./dom.js";
import { state } from "./state.js";

const ROW = 34, TOP = 40, HIGH = 24, WIDEST = 190, AROUND = 300; // pixels
const place = find("lattice"), scroller = place.parentElement;
let answer = null, acts = null, geometry = null, parts = null;
let active = [0, 0]; // the node that Tab leads to

export const activeNode = () => place.querySelector('.node[tabindex="0"]');

// Sizes and places of all columns.
function measured() {
  const labels = ruler(12.5, 600), words = ruler(14);
  const room = (text, measure) => Math.min(WIDEST, measure(text));
  const names = answer.columns.map((column) => column.map((node) => fit(word(node.label, 200), WIDEST, labels)));
  const heads = answer.tokens.map((own) => fit(word(own), WIDEST, words));
  const wide = names.map((column, t) => Math.ceil(Math.max(44, room(heads[t], words) + 8, ...column.map((name) => room(name, labels) + 20))));
  // A short sentence has the width of the page, a long one is scrolled.
  const free = scroller.clientWidth - 48 - wide.reduce((sum, own) => sum + own, 0);
  const gap = Math.max(46, Math.min(150, free / Math.max(1, wide.length - 1)));
  const left = [];
  let x = 4;
  for (const own of wide) {
    left.push(x);
    x += own + gap;
  }
  const most = Math.max(...answer.columns.map((column) => column.length));
  const edges = answer.columns.map(() => []);
  for (const edge of answer.edges) edges[edge.token].push(edge);
  for (const own of edges) own.sort((a, b) => a.best - b.best);
  return { names, heads, wide, left, edges, width: x - gap + 4, height: TOP + most * ROW + 4 };
}

export function drawLattice(given, onForce, onForbid, onChoose) {
  [answer, acts] = [given, { force: onForce, forbid: onForbid, choose: onChoose }];
  geometry = null;
  const [t, n] = active;
  active = t < answer.columns.length ? [t, Math.min(n, answer.columns[t].length - 1)] : [0, 0];
  draw(true);
  const { left, wide } = geometry ?? {};
  const own = state.token;
  if (!geometry || own === null) return;
  if (left[own] >= scroller.scrollLeft && left[own] + wide[own] <= scroller.scrollLeft + scroller.clientWidth) return;
  scroller.scrollLeft = left[own] - scroller.clientWidth / 3;
  draw();
}

const middle = (n) => TOP + n * ROW + HIGH / 2;

// The first and the last column of a part of the width.
function columnsIn(from, to) {
  const { left, wide } = geometry;
  let first = left.findIndex((x, t) => x + wide[t] >= from);
  if (first < 0) first = left.length - 1;
  let last = first;
  while (last + 1 < left.length && left[last + 1] <= to) ++last;
  return [first, last];
}

function draw(anew = false) {
  if (!answer?.columns.length || !scroller.clientWidth) return;
  const had = document.activeElement?.dataset?.key;
  if (!geometry) {
    geometry = measured();
    anew = true;
  }
  if (anew) {
    const { width, height } = geometry;
    parts = { edges: make("svg:g"), nodes: make("svg:g"), columns: new Map() };
    fill(place, make("svg:svg", {
      width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
      "aria-label": `Lattice of ${answer.tokens.length} words; arrow keys move between labels`,
    }, parts.edges, parts.nodes));
  }
  const [first, last] = columnsIn(scroller.scrollLeft - AROUND, scroller.scrollLeft + scroller.clientWidth + AROUND);
  const needed = new Set(Array.from({ length: last - first + 1 }, (_, n) => first + n)).add(active[0]);
  for (const [t, own] of parts.columns)
    if (!needed.has(t)) {
      for (const element of own) element.remove();
      parts.columns.delete(t);
    }
  for (const t of needed)
    if (!parts.columns.has(t)) {
      const edges = geometry.edges[t].map((edge) => edgeOf(edge)), nodes = columnOf(t);
      parts.edges.append(...edges);
      parts.nodes.append(...nodes);
      parts.columns.set(t, [...edges, ...nodes]);
    }
  if (had?.startsWith("node:") && document.activeElement?.dataset?.key !== had)
    place.querySelector(`[data-key="${CSS.escape(had)}"]`)?.focus({ preventScroll: true });
}

function edgeOf(edge) {
  const { left, wide } = geometry;
  const share = answer.probabilistic ? edge.share : Math.exp(-edge.behind);
  const [x1, x2] = [left[edge.token] + wide[edge.token], left[edge.token + 1]];
  const [y1, y2] = [middle(edge.from), middle(edge.to)];
  const bend = (x2 - x1) / 2;
  const path = make("svg:path", {
    class: edge.best ? "edge best" : "edge",
    d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
    "stroke-width": (0.7 + 6.3 * Math.sqrt(Math.min(1, share))).toFixed(2),
  });
  return describe(path, () => {
    const [a, b] = [answer.columns[edge.token][edge.from], answer.columns[edge.token + 1][edge.to]];
    const likely = answer.probabilistic ? `\nprobability ${percent(edge.share)}` : "";
    return `${word(a.label)} → ${word(b.label)}\nscore ${fixed(edge.score)}${likely}\n${fixed(edge.behind)} behind the best`;
  });
}

function columnOf(t) {
  const { left, wide, names, heads } = geometry;
  const head = make("svg:text", { class: state.token === t ? "head chosen" : "head", x: left[t] + wide[t] / 2, y: 18, "data-token": t, onclick: () => acts.choose(t) }, heads[t]);
  describe(head, () => word(answer.tokens[t], 400));
  return [head, ...answer.columns[t].map((node, n) => {
    const own = hue(node.label);
    const likely = node.probability === undefined ? "" : `, ${percent(node.probability)}`;
    const isActive = t === active[0] && n === active[1];
    const kind = `${own === null ? "plain" : ""} ${node.best ? "best" : ""} ${node.rival ? "rival" : ""} ${(node.probability ?? 1) < 0.05 && !node.best ? "faint" : ""}`;
    const element = make("svg:g", {
      class: `node ${kind} ${state.token === t ? "chosen" : ""}`, "--h": own ?? 0, tabindex: isActive ? 0 : -1, role: "button", "data-token": t, "data-label": node.label,
      "data-key": `node:${t}:${node.label}`, "aria-pressed": String(state.allowed.get(t)?.includes(node.label) ?? false),
      "aria-label": `${word(answer.tokens[t], 80)}: ${word(node.label, 80)}${likely}${node.best ? ", on the best path" : ""}`,
      onclick: () => {
        active = [t, n];
        acts.force(t, node.label);
      },
      onkeydown: (event) => pressed(event, t, n),
    },
    make("svg:rect", { x: left[t], y: TOP + n * ROW, width: wide[t], height: HIGH, rx: 7 }),
    make("svg:text", { x: left[t] + wide[t] / 2, y: middle(n) + 0.5 }, names[t][n]));
    return describe(element, () => {
      const p = node.probability === undefined ? "" : `\nprobability ${percent(node.probability)}`;
      return `${word(answer.tokens[t])}: ${clip(node.label, 400)}\nscore ${fixed(node.score)}${p}\n${node.behind === null ? "no labelling" : `${fixed(node.behind)} behind the best`}`;
    });
  })];
}

function pressed(event, t, n) {
  const moves = { ArrowLeft: [t - 1, n], ArrowRight: [t + 1, n], ArrowUp: [t, n - 1], ArrowDown: [t, n + 1], Home: [0, n], End: [answer.columns.length - 1, n] };
  const { label } = answer.columns[t][n];
  if (event.key === "Enter" || event.key === " ") acts.force(t, label);
  else if (event.key === "Delete" || event.key === "Backspace") acts.forbid(t, label);
  else if (event.key in moves) go(...moves[event.key]);
  else return;
  event.preventDefault();
}

function go(t, n) {
  const column = answer.columns[t];
  if (!column) return;
  activeNode()?.setAttribute("tabindex", -1);
  active = [t, Math.max(0, Math.min(column.length - 1, n))];
  const { left, wide } = geometry;
  if (left[t] < scroller.scrollLeft) scroller.scrollLeft = left[t] - 40;
  else if (left[t] + wide[t] > scroller.scrollLeft + scroller.clientWidth) scroller.scrollLeft = left[t] + wide[t] + 40 - scroller.clientWidth;
  draw();
  const next = place.querySelector(`[data-key="${CSS.escape(`node:${t}:${column[active[1]].label}`)}"]`);
  next.setAttribute("tabindex", 0);
  next.focus({ preventScroll: true });
}

// The whole lattice as a file that needs no style sheet: colours are those of the page's theme.
export function latticeSvg() {
  const { width, height } = geometry;
  const all = answer.columns.map((_, t) => [geometry.edges[t].map((edge) => edgeOf(edge)), columnOf(t)]);
  const made = make("svg:svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, "font-family": "system-ui, sans-serif" },
    make("svg:g", {}, all.flatMap(([edges]) => edges)), make("svg:g", {}, all.flatMap(([, nodes]) => nodes)));
  const holder = make("div", { id: "export-svg", "aria-hidden": true }, made);
  place.append(holder); // so that it has the styles of the page
  const ground = getComputedStyle(document.querySelector("section")).backgroundColor;
  for (const element of made.querySelectorAll("path, rect, text")) {
    const style = getComputedStyle(element);
    for (const name of ["fill", "stroke", "opacity", "font-size", "font-weight", "text-anchor", "dominant-baseline"]) {
      const value = style.getPropertyValue(name);
      if (value && value !== "auto" && value !== "none") element.setAttribute(name, name === "fill" || name === "stroke" ? rgb(value) : value);
      else if (name === "fill") element.setAttribute(name, "none");
    }
    const shade = Number(getComputedStyle(element.parentElement).opacity);
    if (shade < 1) element.setAttribute("opacity", shade * Number(style.opacity));
  }
  holder.remove();
  made.prepend(make("svg:rect", { width, height, fill: rgb(ground) }));
  for (const element of made.querySelectorAll("*"))
    for (const { name } of [...element.attributes]) if (/^(data-|aria-|style$|class$|role$|tabindex$)/.test(name)) element.removeAttribute(name);
  return new XMLSerializer().serializeToString(made);
}

// Any colour as #rrggbb: programs that read SVG may not know oklch.
const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function rgb(colour) {
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = colour;
  pixel.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
  return a ? `#${[r, g, b].map((own) => own.toString(16).padStart(2, "0")).join("")}` : "none";
}

onView(scroller, (resized) => {
  if (resized) geometry = null;
  draw();
});
