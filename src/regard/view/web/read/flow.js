// All layers at once: how what a word becomes is mixed from the words, layer by layer.

import { asWord, element, percent, problem, prose, replace, tableHead } from "../lib/dom.js";
import { colours, sized } from "../lib/draw.js";
import { linesPicture } from "./lines.js";
import { buildGrid, largest } from "./weights.js";

const MAX_FLOW_TOKENS = 64; // tokens
const MAX_FLOW_WORK = 2e6; // layers * tokens^3, for all flows from one token
const MIN_DRAWN_WEIGHT = 0.012;
const MAX_EDGES = 1500;
const MAX_SUM_ROWS = 8;
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

// -> Picture; handlers as those of lines.js. Pieces of words are drawn one by one.
/** @param {WordHandlers} handlers @returns {Picture} */
export function flowPicture(handlers) {
  /** @type {Parameters<Picture["show"]>[0] | null} */
  let latest = null;
  // The word that a token belongs to, where words are chosen.
  /** @param {number} token */
  const wordAt = (token) =>
    latest && latest.view.state.get("by", "words") === "words"
      ? latest.shown.part.query.word_of_token[token]
      : token;
  const lines = linesPicture(
    {
      hover: (side, token) => handlers.hover(side, token === null ? null : wordAt(token)),
      pick: (side, token, event) => handlers.pick(side, wordAt(token), event),
      span: (side, from, to) => handlers.span(side, wordAt(from), wordAt(to)),
      clear: () => handlers.clear?.(),
    },
    paintFlow,
  );
  const sums = element("div", { class: "small flow-sums" });
  const about = element("p", { class: "small quiet" }, ABOUT_FLOW);
  const root = element("div", { class: "flow" }, lines.root, sums, about);
  /** @type {{ reading: PageReading, part: Part, steps: Float64Array[], grid: Grid } | null} */
  let made = null;
  return {
    root,
    close: lines.close,
    async show(model) {
      latest = model;
      const { reading, part } = model.shown;
      try {
        if (!made || made.reading !== reading || made.part !== part) {
          const next = await loadLayers(model.view.source, reading, part);
          if (latest.shown.reading !== reading || latest.shown.part !== part) return;
          made = { reading, part, ...next };
        }
        const isWords = latest.view.state.get("by", "words") === "words";
        const chosen = isWords ? chosenTokens(latest.chosen, part.query) : latest.chosen;
        const { steps, grid } = made;
        lines.show({ ...latest, grid, steps, chosen, pinned: chosen, until: null });
        drawSums(sums, steps, grid, chosen.queries);
      } catch (error) {
        replace(sums, problem(error));
      }
    },
  };
}

/** @param {Source} source @param {PageReading} reading @param {Part} part */
async function loadLayers(source, reading, part) {
  const tables = await Promise.all(
    Array.from({ length: part.layers }, (_, layer) =>
      source.weights(reading, { part: part.name, show: "layer", layer, head: 0 }),
    ),
  );
  const grids = tables.map((table) => buildGrid(table, part, { by: "tokens", hide: false }));
  const size = grids[0].rows;
  const steps = grids.map(({ weights }) => residualStep(weights, size));
  return { steps, grid: { ...grids[0], weights: rolledOut(steps, size) } };
}

// Words that are chosen, as their tokens.
/** @param {Chosen} chosen @param {Side} side @returns {Chosen} */
function chosenTokens(chosen, { word_of_token: ofToken }) {
  /** @param {number[]} words */
  const tokens = (words) => [...ofToken.keys()].filter((at) => words.includes(ofToken[at]));
  return { queries: tokens(chosen.queries), keys: tokens(chosen.keys) };
}

// layout as in lines.js: the levels lie between the two sides, the last layer on the left.
/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} top
 * @param {PictureModel} model
 * @param {LinesLayout} layout
 */
function paintFlow(canvas, top, { grid, chosen, steps = [], threshold }, layout) {
  const context = sized(canvas, layout.width, layout.seen);
  const { step, side, width } = layout;
  const levels = steps.length;
  const [left, right] = [side + 8, width - side - 8];
  /** @param {number} level */
  const x = (level) => right - (level / levels) * (right - left);
  /** @param {number} token */
  const y = (token) => (token + 0.5) * step - top;
  const least = Math.max(threshold, MIN_DRAWN_WEIGHT);
  const edges = flowEdges(steps, grid.rows, chosen, least);
  const colour =
    chosen.queries.length + chosen.keys.length ? colours().accent : colours().scale[170];
  context.strokeStyle = colour;
  context.lineCap = "round";
  for (const { level, q, k, weight } of edges) {
    const [x1, x2] = [x(level + 1), x(level)];
    const middle = (x1 + x2) / 2;
    context.globalAlpha = Math.min(1, 0.12 + 0.88 * Math.sqrt(weight));
    context.lineWidth = Math.max(0.5, weight * Math.min(15, step * 0.5));
    context.beginPath();
    context.moveTo(x1, y(q));
    context.bezierCurveTo(middle, y(q), middle, y(k), x2, y(k));
    context.stroke();
  }
  context.globalAlpha = 1;
  paintLevels(context, { x, y, levels, size: grid.rows, seen: layout.seen });
  paintFlowShares(context, grid, chosen, { y, right, layout });
}

// Lines of the chosen words carry what reaches them; without a choice every line its own width.
/**
 * @param {Float64Array[]} steps
 * @param {number} size
 * @param {Chosen} chosen
 * @param {number} least
 */
function flowEdges(steps, size, chosen, least) {
  /** @type {{ level: number, q: number, k: number, weight: number }[]} */
  const edges = [];
  const all = new Float64Array(size).fill(1);
  const masses = chosen.queries.length
    ? addedMasses(steps, size, chosen.queries)
    : steps.map(() => all).concat([all]);
  const drawn = chosen.queries.length ? least : Math.max(least, 0.06);
  steps.forEach((step, level) => {
    for (let q = 0; q < size; q++) {
      for (let k = 0; k < size; k++) {
        const weight = masses[level + 1][q] * step[q * size + k];
        if (weight >= drawn) edges.push({ level, q, k, weight });
      }
    }
  });
  return edges.sort((one, other) => one.weight - other.weight).slice(-MAX_EDGES);
}

/** @param {Float64Array[]} steps @param {number} size @param {number[]} tokens */
function addedMasses(steps, size, tokens) {
  const all = tokens.map((token) => massesFrom(steps, size, token));
  return all[0].map((_, level) =>
    Float64Array.from(all[0][level], (__, at) =>
      all.reduce((sum, masses) => sum + masses[level][at] / tokens.length, 0),
    ),
  );
}

/** @param {CanvasRenderingContext2D} context @param {FlowLevels} levels */
function paintLevels(context, { x, y, levels, size, seen }) {
  const { faint, line } = colours();
  context.fillStyle = line;
  for (let level = 0; level <= levels; level++)
    for (let token = 0; token < size; token++)
      if (y(token) > -4 && y(token) < seen + 4)
        context.fillRect(x(level) - 1.5, y(token) - 1.5, 3, 3);
  context.fillStyle = faint;
  context.font = `10px ${getComputedStyle(document.body).fontFamily}`;
  context.textAlign = "center";
  context.textBaseline = "top";
  const wide = x(0) - x(1);
  const every = Math.ceil(16 / wide);
  for (let layer = 0; layer < levels; layer += every)
    context.fillText(
      wide > 60 ? `layer ${layer}` : String(layer),
      (x(layer) + x(layer + 1)) / 2,
      1,
    );
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Grid} grid
 * @param {Chosen} chosen
 * @param {{ y(token: number): number, right: number, layout: LinesLayout }} place
 */
function paintFlowShares(context, grid, { queries }, { y, right, layout }) {
  if (!queries.length) return;
  const { ink, soft } = colours();
  context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (let k = 0; k < grid.columns; k++) {
    const share =
      queries.reduce((sum, q) => sum + grid.weights[q * grid.columns + k], 0) / queries.length;
    if (share < 0.005) continue;
    context.fillStyle = share >= 0.1 ? ink : soft;
    context.fillText(percent(share), right + layout.words.key[k] + 16, y(k) + 1);
  }
}

// Both measures of the chosen word, the largest first.
/**
 * @param {HTMLElement} box
 * @param {Float64Array[]} steps
 * @param {Grid} grid
 * @param {number[]} queries
 */
function drawSums(box, steps, grid, queries) {
  if (queries.length !== 1) {
    replace(box, element("p", { class: "quiet" }, "Choose a word to follow it down the layers."));
    return;
  }
  const [q] = queries;
  const size = grid.rows;
  const shares = grid.weights.subarray(q * size, (q + 1) * size);
  const isQuick = steps.length * size ** 3 <= MAX_FLOW_WORK;
  /** @param {number} k */
  const row = (k) =>
    element(
      "tr",
      null,
      element("th", { scope: "row" }, grid.keys[k]),
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
        prose(`What ${asWord(grid.queries[q])} is mixed from after the last layer`),
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
function massesFrom(steps, size, token) {
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

/** @param {Float64Array[]} steps @param {number} size */
export function rolledOut(steps, size) {
  const made = new Float32Array(size * size);
  for (let token = 0; token < size; token++)
    made.set(massesFrom(steps, size, token)[0], token * size);
  return made;
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
