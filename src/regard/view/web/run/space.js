// Queries and keys of one head in the plane in which they differ most.

import { element, percent, replace, svgElement, walkList } from "../lib/dom.js";
import { attend } from "../steps/attend.js";

const MAX_SPACE_PIXELS = 900; // pixels across
const SPACE_HEIGHT_BY_WIDTH = 0.64; // height by width
const MIN_SPACE_HEIGHT_PIXELS = 300; // pixels: on a phone the drawing is taller than its shape
const EDGE_PIXELS = 46;
const LABEL_SIZES = { wide: 14, narrow: 12 }; // pixels
const NARROW_SPACE_PIXELS = 500;
const MAX_POINTS = 64; // tokens of a side

/** @param {Part} part */
export function hasSpace(part) {
  const many = Math.max(part.query.tokens.length, part.key.tokens.length);
  return part.steps && many <= MAX_POINTS && many > 1;
}

// choose(side, position): a token is chosen. -> RunPicture
/** @param {(side: SideName, position: number) => void} choose @returns {RunPicture} */
export function spacePicture(choose) {
  let shown = 0;
  const drawing = svgElement("svg", {
    ...{ role: "application", tabindex: 0 },
    on: { keydown: (event) => walkList(event, shown, size, (to) => choose("query", (shown = to))) },
  });
  const about = element("p.small.quiet");
  const root = element("div.space", drawing, about);
  let [key, size] = ["", 0];
  /** @type {Plane | null} */
  let made = null;
  return {
    root,
    async show({ source, reading, part, choice, row }) {
      const { part: name, layer, head } = choice;
      const wanted = JSON.stringify([reading.sentence, name, layer, head]);
      if (!made || key !== wanted) {
        key = wanted;
        const fields = { sentence: reading.sentence, part: name, layer, head };
        const inputs = await source.steps(fields);
        if (key !== wanted) return;
        made = planePoints(attend(inputs), part);
        replace(about, planeExplanation(made, layer, head));
        const told = `${about.textContent} Arrow keys choose another query.`;
        drawing.setAttribute("aria-label", told);
      }
      [shown, size] = [row, part.query.tokens.length];
      drawSpace(drawing, made, row, choose);
    },
  };
}

// Points of all queries, then of all keys, with the plane's share of their variance.
/** @param {Stages} steps @param {Part} part @returns {Plane} */
function planePoints({ stages }, part) {
  /** @param {Matrix} matrix */
  const rows = ({ rows: many, columns, values }) =>
    Array.from({ length: many }, (_, at) => values.subarray(at * columns, (at + 1) * columns));
  const [queries, keys] = [rows(stages.query), rows(stages.key)];
  const { points, share } = principalPlane([...queries, ...keys]);
  /** @param {SideName} name @param {string[]} names @param {number} from @returns {PlaneDot[]} */
  const side = (name, names, from) =>
    names.map((token, at) => ({ side: name, token, at, point: points[from + at] }));
  return {
    share,
    width: stages.query.columns,
    weights: stages.weights,
    dots: [...side("query", part.query.tokens, 0), ...side("key", part.key.tokens, queries.length)],
  };
}

/** @param {Plane} plane @param {number} layer @param {number} head */
function planeExplanation({ share, width }, layer, head) {
  return (
    `Queries (orange circles) and keys (blue squares) of layer ${layer}, head ${head}, ${width} ` +
    "numbers each, in the plane in which they differ most (two principal components). It holds " +
    `${percent(share)} of their variance: the rest is not to be seen here. A score is ` +
    "the product of a query and a key, not their nearness."
  );
}

/**
 * @param {SVGSVGElement} drawing
 * @param {Plane} plane
 * @param {number} row the query that is chosen
 * @param {(side: SideName, position: number) => void} choose
 */
function drawSpace(drawing, { dots, weights }, row, choose) {
  const space = drawing.parentElement?.clientWidth || MAX_SPACE_PIXELS;
  const width = Math.min(MAX_SPACE_PIXELS, space);
  const size = { width, height: Math.max(MIN_SPACE_HEIGHT_PIXELS, SPACE_HEIGHT_BY_WIDTH * width) };
  drawing.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  const spot = scaledTo(
    dots.map(({ point }) => point),
    size,
  );
  /** @param {PlaneDot} dot */
  const isChosen = ({ side, at }) => side === "query" && at === row;
  const [queries, keys] = ["query", "key"].map((name) => dots.filter(({ side }) => side === name));
  const lines = queries.filter(isChosen).flatMap((query) =>
    keys.map((key) => {
      const weight = weights.values[query.at * weights.columns + key.at];
      const [[x1, y1], [x2, y2]] = [spot(query.point), spot(key.point)];
      const look = { "stroke-width": 0.5 + 9 * weight, opacity: 0.12 + 0.8 * Math.sqrt(weight) };
      return weight >= 0.01 && svgElement("line", { x1, y1, x2, y2, ...look });
    }),
  );
  const labels = placeLabels(dots, spot, isChosen, size);
  /** @param {PlaneDot} dot @param {MouseEvent} event */
  const meant = (dot, event) =>
    event.target instanceof SVGTextElement ? dot : nearestDot(drawing, dots, spot, event);
  /** @param {PlaneDot} dot @returns {Listeners<SVGGElement>} */
  const listeners = (dot) => ({
    click: (event) => choose(meant(dot, event).side, meant(dot, event).at),
  });
  replace(
    drawing,
    lines,
    dots.map((dot) =>
      dotMark(dot, spot(dot.point), labels.get(dot), isChosen(dot), listeners(dot)),
    ),
  );
}

// Close dots overlap: what is meant is the dot nearest to the pointer, unless it is on a label.
/**
 * @param {SVGSVGElement} drawing
 * @param {PlaneDot[]} dots
 * @param {(point: number[]) => number[]} spot
 * @param {MouseEvent} event
 */
function nearestDot(drawing, dots, spot, { clientX, clientY }) {
  const toDrawing = drawing.getScreenCTM()?.inverse();
  const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(toDrawing);
  /** @param {PlaneDot} dot */
  const distance = ({ point }) => Math.hypot(spot(point)[0] - x, spot(point)[1] - y);
  return dots.reduce((best, dot) => (distance(dot) < distance(best) ? dot : best));
}

// What is chosen gets its label first.
/**
 * @param {PlaneDot[]} dots
 * @param {(point: number[]) => number[]} spot
 * @param {(dot: PlaneDot) => boolean} isChosen
 * @param {{ width: number, height: number }} frame
 */
function placeLabels(dots, spot, isChosen, frame) {
  const size = frame.width < NARROW_SPACE_PIXELS ? LABEL_SIZES.narrow : LABEL_SIZES.wide;
  const order = [...dots].sort((a, b) => Number(isChosen(b)) - Number(isChosen(a)));
  const points = order.map((dot) => {
    const [x, y] = spot(dot.point);
    return { x, y, text: dot.token };
  });
  const labels = labelLayout(points, { ...frame, size });
  return new Map(
    order.map((dot, at) => {
      const label = labels[at];
      return [dot, label && { ...label, size }];
    }),
  );
}

// A label without room of its own comes when its dot is pointed at.
/**
 * @param {PlaneDot} dot
 * @param {number[]} spot
 * @param {(PlaneLabel & { size: number }) | null | undefined} label
 * @param {boolean} isChosen
 * @param {Listeners<SVGGElement>} listeners
 */
function dotMark({ side, token }, [x, y], label, isChosen, listeners) {
  const at = label || { x: x + 8, y: y + 4, anchor: "start", size: LABEL_SIZES.wide };
  const shape =
    side === "query"
      ? svgElement("circle", { cx: x, cy: y, r: 5 })
      : svgElement("rect", { x: x - 4.5, y: y - 4.5, width: 9, height: 9 });
  return svgElement(
    "g",
    {
      class: `dot ${side}${isChosen ? " chosen" : ""}`,
      on: listeners,
    },
    svgElement("circle.around", { cx: x, cy: y, r: 13 }),
    shape,
    svgElement("title", token),
    svgElement(
      "text",
      {
        x: at.x,
        y: at.y,
        "text-anchor": at.anchor,
        "font-size": at.size,
        class: label ? null : "crowded",
      },
      token,
    ),
  );
}

// The same scale on both axes, so that distances are those of the plane.
/** @param {number[][]} points @param {{ width: number, height: number }} size */
function scaledTo(points, { width, height }) {
  /** @param {number} axis */
  const range = (axis) => {
    const values = points.map((point) => point[axis]);
    return [Math.min(...values), Math.max(...values)];
  };
  const [[left, right], [low, high]] = [range(0), range(1)];
  const scale = Math.min(
    (width - 2 * EDGE_PIXELS) / Math.max(1e-9, right - left),
    (height - 2 * EDGE_PIXELS) / Math.max(1e-9, high - low),
  );
  return (/** @type {number[]} */ [x, y]) => [
    width / 2 + (x - (left + right) / 2) * scale,
    height / 2 - (y - (low + high) / 2) * scale,
  ];
}

// Labels beside the dots of a scatter plot, none over another.

const LETTER_WIDTH = 0.56; // of the type size: the mean width of a letter
const LINE_HEIGHT = 1.15; // of the type size: the height of a line
const LABEL_GAP = 8; // pixels from the middle of a dot to its label

// points: [{ x, y, text }], the most important first; -> for each { x, y, anchor } of its text, or
// null where no side of the dot is free.
/**
 * @param {{ x: number, y: number, text: string }[]} points
 * @param {{ width: number, height: number, size: number }} frame
 * @returns {(PlaneLabel | null)[]}
 */
export function labelLayout(points, { width, height, size }) {
  const taken = points.map(({ x, y }) => boxAround(x, y, LABEL_GAP - 2, LABEL_GAP - 2));
  return points.map((point) => {
    const wide = LETTER_WIDTH * size * point.text.length;
    for (const label of labelPositions(point, size)) {
      const box = labelBox(label, wide, size);
      const isInside = box.left >= 0 && box.top >= 0 && box.right <= width && box.bottom <= height;
      if (!isInside || taken.some((other) => overlaps(box, other))) continue;
      taken.push(box);
      return label;
    }
    return null;
  });
}

// Right, left, above, below.
/** @param {{ x: number, y: number }} point @param {number} size @returns {PlaneLabel[]} */
function labelPositions({ x, y }, size) {
  return [
    { x: x + LABEL_GAP, y: y + 0.3 * size, anchor: "start" },
    { x: x - LABEL_GAP, y: y + 0.3 * size, anchor: "end" },
    { x, y: y - LABEL_GAP, anchor: "middle" },
    { x, y: y + LABEL_GAP + 0.75 * size, anchor: "middle" },
  ];
}

/** @param {PlaneLabel} label @param {number} wide @param {number} size @returns {LabelBox} */
function labelBox({ x, y, anchor }, wide, size) {
  const left = { start: x, end: x - wide, middle: x - wide / 2 }[anchor];
  return {
    left,
    right: left + wide,
    top: y - 0.85 * size,
    bottom: y + (LINE_HEIGHT - 0.85) * size,
  };
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} half
 * @param {number} tall
 * @returns {LabelBox}
 */
function boxAround(x, y, half, tall) {
  return { left: x - half, right: x + half, top: y - tall, bottom: y + tall };
}

/** @param {LabelBox} one @param {LabelBox} other */
function overlaps(one, other) {
  return (
    one.left < other.right &&
    other.left < one.right &&
    one.top < other.bottom &&
    other.top < one.bottom
  );
}

// Vectors in the plane in which they differ most: principal components, by the eigenvectors of the
// products between the centred vectors (as many as there are vectors, whatever their width).

const MAX_JACOBI_SWEEPS = 60; // of Jacobi's method, which needs about ten
const JACOBI_TOLERANCE = 1e-14; // of all squares, beside the diagonal, when it is done

// -> { points: [[x, y]] of each vector, share: what part of the variance the plane holds }
/** @param {(Float64Array | number[])[]} vectors */
export function principalPlane(vectors) {
  const size = vectors.length;
  const products = centredProducts(vectors);
  const { values, columns } = symmetricEigen(products, size);
  const order = [...values.keys()].sort((one, other) => values[other] - values[one]);
  const axes = order.slice(0, 2).map((at) => {
    const long = Math.sqrt(Math.max(0, values[at]));
    return Float64Array.from({ length: size }, (_, row) => long * columns[row * size + at]);
  });
  const total = values.reduce((sum, value) => sum + Math.max(0, value), 0);
  const held = order.slice(0, 2).reduce((sum, at) => sum + Math.max(0, values[at]), 0);
  const points = vectors.map((_, at) => [axes[0][at], axes[1] ? axes[1][at] : 0]);
  return { points, share: total > 0 ? held / total : 1 };
}

/** @param {(Float64Array | number[])[]} vectors */
function centredProducts(vectors) {
  const [size, width] = [vectors.length, vectors[0].length];
  const mean = new Float64Array(width);
  for (const vector of vectors) vector.forEach((value, at) => (mean[at] += value / size));
  const centred = vectors.map((vector) =>
    Float64Array.from(vector, (value, at) => value - mean[at]),
  );
  const products = new Float64Array(size * size);
  centred.forEach((one, row) =>
    centred.forEach((other, column) => {
      products[row * size + column] = one.reduce((sum, value, at) => sum + value * other[at], 0);
    }),
  );
  return products;
}

// Jacobi's method: rotate every pair of axes until nothing is left beside the diagonal.
/** @param {Float64Array} matrix @param {number} size */
function symmetricEigen(matrix, size) {
  const values = Float64Array.from(matrix);
  const columns = Float64Array.from(matrix, (_, at) => (at % (size + 1) === 0 ? 1 : 0));
  const all = values.reduce((sum, value) => sum + value * value, 0);
  for (let sweep = 0; sweep < MAX_JACOBI_SWEEPS; sweep++) {
    let beside = 0;
    for (let p = 0; p < size; p++)
      for (let q = p + 1; q < size; q++) beside += values[p * size + q] ** 2;
    if (beside <= JACOBI_TOLERANCE * all) break;
    for (let p = 0; p < size; p++)
      for (let q = p + 1; q < size; q++) rotate(values, columns, size, p, q);
  }
  return { values: Array.from({ length: size }, (_, at) => values[at * (size + 1)]), columns };
}

/**
 * @param {Float64Array} values
 * @param {Float64Array} columns
 * @param {number} size
 * @param {number} p
 * @param {number} q
 */
function rotate(values, columns, size, p, q) {
  const off = values[p * size + q];
  if (off === 0) return;
  const theta = (values[q * size + q] - values[p * size + p]) / (2 * off);
  const tangent = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const cosine = 1 / Math.sqrt(tangent * tangent + 1);
  const sine = tangent * cosine;
  /** @param {Float64Array} table @param {number} one @param {number} other */
  const turn = (table, one, other) => {
    const [a, b] = [table[one], table[other]];
    table[one] = cosine * a - sine * b;
    table[other] = sine * a + cosine * b;
  };
  for (let at = 0; at < size; at++) turn(values, at * size + p, at * size + q);
  for (let at = 0; at < size; at++) turn(values, p * size + at, q * size + at);
  for (let at = 0; at < size; at++) turn(columns, at * size + p, at * size + q);
}
