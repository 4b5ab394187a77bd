// All layers at once, of a sentence: how what a token becomes is mixed from the tokens, layer by
// layer.

import { asWord, element, percent, prose, replace, svgElement, tableHead } from "../lib/dom.js";
import { everyWeight, largest } from "../read/weights.js";

const MAX_FLOW_TOKENS = 64; // tokens
const MAX_FLOW_WORK = 2e6; // layers * tokens^3, for all flows from one token
const MIN_DRAWN_WEIGHT = 0.012;
const MAX_EDGES = 600;
const MAX_SUM_ROWS = 8;
const FLOW_ROW = 20; // pixels, as all that follows
const FLOW_WIDTH = 460;
const FLOW_SIDE = 100; // for the names
const ABOUT_FLOW =
  "From the words on the right (before the first layer) to the word on the left (after the " +
  "last): every line is a mean over the heads of a layer, and half of each vector comes straight " +
  "from below. Rolled out: the shares of all ways together. Max-flow: the most that could pass " +
  "if no line carried more than its width; these need not add up to 100 %. Both take mixing for " +
  "adding up, which the layers between do not.";

/** @param {Part} part */
export function hasFlow(part) {
  const many = Math.max(part.query.tokens.length, part.key.tokens.length);
  return part.name !== "cross" && part.layers > 1 && many <= MAX_FLOW_TOKENS;
}

// choose(row): another token is followed. -> RunPicture
/** @param {(row: number) => void} choose @returns {RunPicture} */
export function flowPicture(choose) {
  const drawing = svgElement("svg", { class: "flow-lines", role: "img" });
  const totals = element("div", { class: "small flow-sums" });
  const about = element("p", { class: "small quiet" }, ABOUT_FLOW);
  /** @type {{ reading: PageReading, part: Part, steps: Float64Array[] } | null} */
  let made = null;
  return {
    root: element("div", { class: "flow" }, drawing, totals, about),
    async show({ source, reading, part, row }) {
      if (made?.reading !== reading || made.part !== part)
        made = { reading, part, steps: await layerSteps(source, reading, part) };
      const { tokens } = part.query;
      const shares = massesFrom(made.steps, tokens.length, row)[0];
      drawFlow(drawing, made.steps, { tokens, row, shares, choose });
      drawSums(totals, made.steps, { tokens, row, shares });
    },
  };
}

/** @param {Source} source @param {PageReading} reading @param {Part} part */
async function layerSteps(source, reading, part) {
  const tables = await Promise.all(
    Array.from({ length: part.layers }, (_, layer) =>
      source.weights(reading, { part: part.name, show: "layer", layer, head: 0 }),
    ),
  );
  return tables.map((table) => residualStep(everyWeight(table), table.rows));
}

// The levels lie between the two sides, the last layer on the left.
/** @param {SVGSVGElement} drawing @param {Float64Array[]} steps @param {FlowModel} model */
function drawFlow(drawing, steps, { tokens, row, shares, choose }) {
  const size = tokens.length;
  const [left, right] = [FLOW_SIDE, FLOW_WIDTH - FLOW_SIDE];
  /** @param {number} level */
  const x = (level) => right - (level / steps.length) * (right - left);
  /** @param {number} token */
  const y = (token) => (token + 1.5) * FLOW_ROW;
  const lines = flowEdges(steps, size, row).map(({ level, q, k, weight }) => {
    const [x1, x2] = [x(level + 1), x(level)];
    const middle = (x1 + x2) / 2;
    return svgElement("path", {
      d: `M${x1} ${y(q)}C${middle} ${y(q)} ${middle} ${y(k)} ${x2} ${y(k)}`,
      "stroke-width": Math.max(0.5, 12 * weight).toFixed(2),
      opacity: Math.min(1, 0.12 + 0.88 * Math.sqrt(weight)).toFixed(3),
    });
  });
  const layers = steps.map((_, layer) =>
    svgElement(
      "text",
      { class: "level", x: (x(layer) + x(layer + 1)) / 2, y: 12, "text-anchor": "middle" },
      steps.length > 8 ? layer : `layer ${layer}`,
    ),
  );
  const names = tokens.flatMap((token, at) => [
    svgElement(
      "text",
      {
        ...{ x: left - 10, y: y(at) + 5, "text-anchor": "end" },
        class: at === row ? "asks chosen" : "asks",
        on: { click: () => choose(at) },
      },
      token,
    ),
    svgElement(
      "text",
      { x: right + 10, y: y(at) + 5, class: shares[at] >= 0.1 ? "chosen" : "" },
      shares[at] >= 0.005 ? `${token} ${percent(shares[at])}` : token,
    ),
  ]);
  drawing.setAttribute("viewBox", `0 0 ${FLOW_WIDTH} ${(size + 1.2) * FLOW_ROW}`);
  drawing.setAttribute("aria-label", `What ${tokens[row]} is mixed from, layer by layer`);
  replace(drawing, lines, layers, names);
}

// Lines carry what reaches them from the chosen token.
/** @param {Float64Array[]} steps @param {number} size @param {number} token */
function flowEdges(steps, size, token) {
  /** @type {{ level: number, q: number, k: number, weight: number }[]} */
  const edges = [];
  const masses = massesFrom(steps, size, token);
  steps.forEach((step, level) => {
    for (let q = 0; q < size; q++) {
      for (let k = 0; k < size; k++) {
        const weight = masses[level + 1][q] * step[q * size + k];
        if (weight >= MIN_DRAWN_WEIGHT) edges.push({ level, q, k, weight });
      }
    }
  });
  return edges.sort((one, other) => one.weight - other.weight).slice(-MAX_EDGES);
}

// Both measures of the chosen token, the largest first.
/** @param {HTMLElement} box @param {Float64Array[]} steps @param {FlowRow} flowRow */
function drawSums(box, steps, { tokens, row: q, shares }) {
  const size = tokens.length;
  const isQuick = steps.length * size ** 3 <= MAX_FLOW_WORK;
  /** @param {number} k */
  const row = (k) =>
    element(
      "tr",
      null,
      element("th", { scope: "row" }, tokens[k]),
      element("td", null, percent(shares[k])),
      element("td", null, isQuick ? percent(maxFlow(steps, size, q, k)) : "–"),
    );
  replace(
    box,
    element(
      "table",
      { class: "numbers" },
      element(
        "caption",
        null,
        prose(`What ${asWord(tokens[q])} is mixed from after the last layer`),
      ),
      tableHead(["word", "rolled out", "max-flow"]),
      element("tbody", null, largest(shares, MAX_SUM_ROWS).map(row)),
    ),
    !isQuick && element("p", { class: "quiet" }, "Max-flow is left out: the text is too long."),
  );
}

// Attention followed through the layers (Abnar and Zuidema 2020): rolled out, and as a flow.
//
// An edge leads from a token after a layer to a token before it; it is as wide as half their mean
// weight over the heads, and half a token's vector comes straight from below (the residual path).
// steps: Float64Array (size * size) for each layer, the first layer first; rows sum to 1.

const MIN_CAPACITY = 1e-9; // what is left of an edge that is full

/** @param {Float32Array | number[]} weights @param {number} size */
export function residualStep(weights, size) {
  const step = Float64Array.from(weights, (weight) => weight / 2);
  for (let token = 0; token < size; token++) step[token * size + token] += 0.5;
  return step;
}

// What reaches each level from one token after the last layer: masses[0] is before the first layer.
/** @param {Float64Array[]} steps @param {number} size @param {number} token */
export function massesFrom(steps, size, token) {
  const masses = Array.from({ length: steps.length + 1 }, () => new Float64Array(size));
  masses[steps.length][token] = 1;
  for (let layer = steps.length - 1; layer >= 0; layer--) {
    for (let q = 0; q < size; q++) {
      const mass = masses[layer + 1][q];
      if (!mass) continue;
      for (let k = 0; k < size; k++) masses[layer][k] += mass * steps[layer][q * size + k];
    }
  }
  return masses;
}

// The most that can flow from a token after the last layer to one before the first, where an edge
// carries no more than its width: Dinic's algorithm on the graph of the layers.
/**
 * @param {Float64Array[]} steps
 * @param {number} size
 * @param {number} from
 * @param {number} to
 */
export function maxFlow(steps, size, from, to) {
  const layers = steps.length;
  const graph = { size, layers, left: steps.map((step) => Float64Array.from(step)), steps };
  const [source, sink] = [layers * size + from, to];
  let total = 0;
  for (;;) {
    const level = nodeLevels(graph, source);
    if (level[sink] < 0) return total;
    const next = new Int32Array(level.length);
    for (;;) {
      const pushed = push(graph, { level, next, sink }, source, Infinity);
      if (pushed <= MIN_CAPACITY) break;
      total += pushed;
    }
  }
}

// Neighbours of a node: those of the level below, then those of the level above.
/** @param {FlowGraph} graph @param {number} node @param {number} at */
function neighbour({ size }, node, at) {
  const level = Math.floor(node / size);
  return at < size ? (level - 1) * size + at : (level + 1) * size + (at - size);
}

// What an edge can still take; back along an edge, what flows there.
/** @param {FlowGraph} graph @param {number} node @param {number} at */
function residualCapacity({ size, layers, left, steps }, node, at) {
  const [level, token] = [Math.floor(node / size), node % size];
  if (at < size) return level > 0 ? left[level - 1][token * size + at] : 0;
  if (level === layers) return 0;
  const edge = (at - size) * size + token;
  return steps[level][edge] - left[level][edge];
}

/** @param {FlowGraph} graph @param {number} node @param {number} at @param {number} amount */
function take({ size, left }, node, at, amount) {
  const [level, token] = [Math.floor(node / size), node % size];
  if (at < size) left[level - 1][token * size + at] -= amount;
  else left[level][(at - size) * size + token] += amount;
}

/** @param {FlowGraph} graph @param {number} source */
function nodeLevels(graph, source) {
  const level = new Int32Array((graph.layers + 1) * graph.size).fill(-1);
  level[source] = 0;
  const queue = [source];
  for (let head = 0; head < queue.length; head++) {
    const node = queue[head];
    for (let at = 0; at < 2 * graph.size; at++) {
      if (residualCapacity(graph, node, at) <= MIN_CAPACITY) continue;
      const other = neighbour(graph, node, at);
      if (level[other] >= 0) continue;
      level[other] = level[node] + 1;
      queue.push(other);
    }
  }
  return level;
}

/**
 * @param {FlowGraph} graph
 * @param {{ level: Int32Array, next: Int32Array, sink: number }} search
 * @param {number} node
 * @param {number} most
 * @returns {number}
 */
function push(graph, search, node, most) {
  const { level, next, sink } = search;
  if (node === sink) return most;
  for (; next[node] < 2 * graph.size; next[node]++) {
    const at = next[node];
    const room = residualCapacity(graph, node, at);
    if (room <= MIN_CAPACITY) continue;
    const other = neighbour(graph, node, at);
    if (level[other] !== level[node] + 1) continue;
    const pushed = push(graph, search, other, Math.min(most, room));
    if (pushed <= MIN_CAPACITY) continue;
    take(graph, node, at, pushed);
    return pushed;
  }
  return 0;
}
