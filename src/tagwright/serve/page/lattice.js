// The lattice: the labels that matter at each word, and the edges between them.
import { explainOnHover, fill, find, fixed, hue, make, percent } from "./dom.js";
import { state } from "./state.js";

const ROW = 34, TOP = 40, HIGH = 24;

export function drawLattice(answer, force, forbid) {
  const wide = answer.columns.map((column, t) =>
    Math.max(44, 9 * answer.tokens[t].length + 8, ...column.map((node) => 8.4 * node.label.length + 20)));
  // A short sentence has the width of the page, a long one may be scrolled.
  const room = find("lattice").parentElement.clientWidth - 48 - wide.reduce((sum, own) => sum + own, 0);
  const GAP = Math.max(46, Math.min(150, room / Math.max(1, wide.length - 1)));
  const left = [];
  let x = 4;
  for (const own of wide) {
    left.push(x);
    x += own + GAP;
  }
  const most = Math.max(...answer.columns.map((column) => column.length));
  const width = x - GAP + 4, height = TOP + most * ROW + 4;
  const middle = (n) => TOP + n * ROW + HIGH / 2;

  const edges = [...answer.edges].sort((a, b) => a.best - b.best).map((edge) => {
    const share = answer.probabilistic ? edge.share : Math.exp(-edge.behind);
    const [x1, x2] = [left[edge.token] + wide[edge.token], left[edge.token + 1]];
    const [y1, y2] = [middle(edge.from), middle(edge.to)];
    const bend = (x2 - x1) / 2;
    const path = make("svg:path", {
      class: edge.best ? "edge best" : "edge",
      d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
      "stroke-width": (0.7 + 6.3 * Math.sqrt(Math.min(1, share))).toFixed(2),
    });
    explainOnHover(path, () => {
      const [a, b] = [answer.columns[edge.token][edge.from], answer.columns[edge.token + 1][edge.to]];
      const likely = answer.probabilistic ? `\nshare ${percent(edge.share)}` : "";
      return `${a.label} → ${b.label}\nscore ${fixed(edge.score)}${likely}\n${fixed(edge.behind)} behind the best`;
    });
    return path;
  });

  const nodes = answer.columns.map((column, t) => column.map((node, n) => {
    const own = hue(node.label);
    const likely = node.probability === undefined ? "" : `, ${percent(node.probability)}`;
    const box = make("svg:g", {
      class: `node ${own === null ? "plain" : ""} ${node.best ? "best" : ""} ${(node.probability ?? 1) < 0.05 && !node.best ? "faint" : ""}`,
      "--h": own ?? 0, tabindex: t === 0 && n === 0 ? 0 : -1, role: "button", "data-token": t, "data-label": node.label,
      "aria-label": `${answer.tokens[t]}: ${node.label}${likely}${node.best ? ", on the best path" : ""}`,
      onclick: () => force(t, node.label),
      onkeydown: (event) => pressed(event, t, n),
    },
    make("svg:rect", { x: left[t], y: TOP + n * ROW, width: wide[t], height: HIGH, rx: 7 }),
    make("svg:text", { x: left[t] + wide[t] / 2, y: middle(n) + 0.5 }, node.label));
    explainOnHover(box, () => {
      const p = node.probability === undefined ? "" : `\nprobability ${percent(node.probability)}`;
      return `${answer.tokens[t]}: ${node.label}\nscore ${fixed(node.score)}${p}\n${node.behind === null ? "no labelling" : `${fixed(node.behind)} behind the best`}`;
    });
    return box;
  }));

  function pressed(event, t, n) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key === "Enter" || event.key === " ") force(t, answer.columns[t][n].label);
    else if (event.key === "Delete" || event.key === "Backspace") forbid(t, answer.columns[t][n].label);
    else if (moves[event.key]) {
      const column = nodes[t + moves[event.key][0]];
      const next = column?.[Math.min(column.length - 1, n + moves[event.key][1])];
      if (next) {
        nodes[t][n].setAttribute("tabindex", -1);
        next.setAttribute("tabindex", 0);
        next.focus();
      }
    } else return;
    event.preventDefault();
  }

  const heads = answer.tokens.map((word, t) =>
    make("svg:text", { class: state.token === t ? "head chosen" : "head", x: left[t] + wide[t] / 2, y: 18 }, word));
  const scroller = find("lattice").parentElement;
  fill(find("lattice"), make("svg:svg", {
    width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": `Lattice of ${answer.tokens.length} words; the best path is ${answer.kbest[0].labels.join(" ")}`,
  }, edges, heads, nodes.flat()));
  const t = state.token;
  if (t !== null && (left[t] < scroller.scrollLeft || left[t] + wide[t] > scroller.scrollLeft + scroller.clientWidth))
    scroller.scrollLeft = left[t] - scroller.clientWidth / 3;
}
