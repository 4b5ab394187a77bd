// All layers at once, of a sentence: how what a token becomes is mixed from the tokens, layer by
// layer.

import {
  asWord,
  element,
  percent,
  prose,
  replace,
  svgElement,
  tableHead,
  tableRow,
  walkList,
} from "../lib/dom.js";
import { everyWeight, largest } from "../read/weights.js";

const MAX_FLOW_TOKENS = 64; // tokens
const MIN_DRAWN_WEIGHT = 0.012;
const MAX_EDGES = 600;
const MAX_SUM_ROWS = 8;
const FLOW_ROW = 20; // pixels, as all that follows
const FLOW_WIDTH = 460;
const FLOW_SIDE = 100; // for the names
const ABOUT_FLOW =
  "From the words on the right (before the first layer) to the word on the left (after the " +
  "last): every line is a mean over the heads of a layer, and half of each vector comes straight " +
  "from below. Rolled out: the shares of all ways together. It takes mixing for adding up, which " +
  "the layers between do not.";

/** @param {Part} part */
export function hasFlow(part) {
  const many = Math.max(part.query.tokens.length, part.key.tokens.length);
  return part.name !== "cross" && part.layers > 1 && many <= MAX_FLOW_TOKENS;
}

// choose(row): another token is followed. -> RunPicture
/** @param {(row: number) => void} choose @returns {RunPicture} */
export function flowPicture(choose) {
  let shown = 0;
  let size = 0;
  const drawing = svgElement("svg.flow-lines", {
    ...{ role: "application", tabindex: 0 },
    on: { keydown: (event) => walkList(event, shown, size, (to) => choose((shown = to))) },
  });
  const totals = element("div.small.flow-sums");
  const about = element("p.small.quiet", ABOUT_FLOW);
  /** @type {{ reading: PageReading, part: Part, steps: Float64Array[] } | null} */
  let made = null;
  return {
    root: element("div.flow", drawing, totals, about),
    async show({ source, reading, part, row }) {
      if (made?.reading !== reading || made.part !== part)
        made = { reading, part, steps: await layerSteps(source, reading, part) };
      const { tokens } = part.query;
      [shown, size] = [row, tokens.length];
      const shares = massesFrom(made.steps, tokens.length, row)[0];
      drawFlow(drawing, made.steps, { tokens, row, shares, choose });
      drawSums(totals, tokens, row, shares);
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
      "text.level",
      { x: (x(layer) + x(layer + 1)) / 2, y: 12, "text-anchor": "middle" },
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
  const told = `What ${tokens[row]} is mixed from, layer by layer. Arrow keys choose another.`;
  drawing.setAttribute("aria-label", told);
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

// What the chosen token is mixed from, the largest share first.
/**
 * @param {HTMLElement} box
 * @param {string[]} tokens
 * @param {number} row
 * @param {Float64Array} sums
 */
function drawSums(box, tokens, row, sums) {
  const order = largest(sums, MAX_SUM_ROWS);
  replace(
    box,
    element(
      "table.numbers",
      element("caption", prose(`What ${asWord(tokens[row])} is mixed from after the last layer`)),
      tableHead(["word", "rolled out"]),
      element(
        "tbody",
        order.map((at) => tableRow(tokens[at], [percent(sums[at])])),
      ),
    ),
  );
}

// Attention followed through the layers (Abnar and Zuidema 2020).
//
// An edge leads from a token after a layer to a token before it; it is as wide as half their mean
// weight over the heads, and half a token's vector comes straight from below (the residual path).
// steps: Float64Array (size * size) for each layer, the first layer first; rows sum to 1.

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
