// Queries and keys of one head in the plane in which they differ most.

import { element, percent, problem, replace, svgElement } from "../lib/dom.js";
import { attend } from "../steps/attend.js";
import { labelLayout } from "./label_layout.js";
import { principalPlane } from "./projection.js";
import { nameOf } from "./sentences.js";

const WIDEST_SPACE = 900; // pixels across
const SPACE_SHAPE = 0.64; // height by width
const LOWEST_SPACE = 300; // pixels: on a phone the drawing is taller than its shape
const EDGE = 46;
const LABEL_SIZES = { wide: 14, narrow: 12 }; // pixels
const NARROW_SPACE = 500;
const MOST_POINTS = 64; // tokens of a side

/** @param {ReadView} view */
export function hasSpace({ part, choice, reading }) {
  const many = Math.max(part.query.tokens.length, part.key.tokens.length);
  const isFew = many <= MOST_POINTS && many > 1;
  return part.steps && choice.show === "head" && !reading.changes && isFew;
}

// -> Picture; handlers as those of lines.js.
/** @param {ReadView} view */
export function spacePicture(handlers, view) {
  const drawing = svgElement("svg", { role: "img" });
  const about = element("p", { class: "small quiet" });
  const root = element("div", { class: "space" }, drawing, about);
  let made = null; // { key, points, ... } of spaceOf
  const redraw = () => {
    if (made && root.isConnected) drawSpace(drawing, made, view, handlers);
  };
  const resized = new ResizeObserver(redraw);
  resized.observe(root);
  return {
    root,
    close: () => resized.disconnect(),
    async show() {
      const { reading, choice, part, source } = view;
      const key = JSON.stringify([reading.sentence, choice]);
      try {
        if (!made || made.key !== key) {
          const { part: name, layer, head } = choice;
          const fields = { sentence: reading.sentence, part: name, layer, head };
          const inputs = await source.steps(fields);
          if (view.choice !== choice) return;
          made = { key, ...spaceOf(attend(inputs), part) };
          replace(about, explanationOfSpace(made, choice));
        }
        drawing.setAttribute("aria-label", about.textContent);
        redraw();
      } catch (error) {
        replace(drawing);
        replace(about, problem(error));
      }
    },
  };
}

// Points of all queries, then of all keys, with the plane's share of their variance.
function spaceOf({ stages }, part) {
  const rows = ({ rows: many, columns, values }) =>
    Array.from({ length: many }, (_, at) => values.subarray(at * columns, (at + 1) * columns));
  const [queries, keys] = [rows(stages.query), rows(stages.key)];
  const { points, share } = principalPlane([...queries, ...keys]);
  const side = (name, names, words, from) =>
    names.map((token, at) => ({
      side: name,
      token,
      at,
      word: words[at],
      point: points[from + at],
    }));
  return {
    share,
    width: stages.query.columns,
    weights: stages.weights,
    dots: [
      ...side("query", part.query.tokens, part.query.word_of_token, 0),
      ...side("key", part.key.tokens, part.key.word_of_token, queries.length),
    ],
  };
}

function explanationOfSpace({ share, width }, choice) {
  return (
    `Queries (orange circles) and keys (blue squares) of ${nameOf(choice)}, ${width} numbers ` +
    "each, in the plane in which they differ most (two principal components). It holds " +
    `${percent(share)} of their variance: the rest is not to be seen here. A score is ` +
    "the product of a query and a key, not their nearness."
  );
}

/** @param {ReadView} view */
function drawSpace(drawing, { dots, weights }, view, handlers) {
  const width = Math.min(WIDEST_SPACE, drawing.parentElement.clientWidth) || WIDEST_SPACE;
  const size = { width, height: Math.max(LOWEST_SPACE, SPACE_SHAPE * width) };
  drawing.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  const spot = scaledTo(
    dots.map(({ point }) => point),
    size,
  );
  const isWords = view.state.get("by", "words") === "words";
  const shownAt = ({ at, word }) => (isWords ? word : at);
  const chosen = { query: view.chosen.queries, key: view.chosen.keys };
  const isChosen = (dot) => chosen[dot.side].includes(shownAt(dot));
  const [queries, keys] = ["query", "key"].map((name) => dots.filter(({ side }) => side === name));
  const lines = queries.filter(isChosen).flatMap((query) =>
    keys.map((key) => {
      const weight = weights.values[query.at * weights.columns + key.at];
      const [[x1, y1], [x2, y2]] = [spot(query.point), spot(key.point)];
      const look = { "stroke-width": 0.5 + 9 * weight, opacity: 0.12 + 0.8 * Math.sqrt(weight) };
      return weight >= 0.01 && svgElement("line", { x1, y1, x2, y2, ...look });
    }),
  );
  const labels = labelsOf(dots, spot, isChosen, size);
  const meant = (dot, event) =>
    event.target.tagName === "text" ? dot : nearestDot(drawing, dots, spot, event);
  const listeners = (dot) => ({
    pointermove: (event) => handlers.hover(meant(dot, event).side, shownAt(meant(dot, event))),
    pointerleave: () => handlers.hover(dot.side, null),
    click: (event) => handlers.pick(meant(dot, event).side, shownAt(meant(dot, event)), event),
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
function nearestDot(drawing, dots, spot, { clientX, clientY }) {
  const toDrawing = drawing.getScreenCTM().inverse();
  const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(toDrawing);
  const distance = ({ point }) => Math.hypot(spot(point)[0] - x, spot(point)[1] - y);
  return dots.reduce((best, dot) => (distance(dot) < distance(best) ? dot : best));
}

// What is chosen gets its label first.
function labelsOf(dots, spot, isChosen, frame) {
  const size = frame.width < NARROW_SPACE ? LABEL_SIZES.narrow : LABEL_SIZES.wide;
  const order = [...dots].sort((a, b) => Number(isChosen(b)) - Number(isChosen(a)));
  const points = order.map((dot) => {
    const [x, y] = spot(dot.point);
    return { x, y, text: dot.token };
  });
  const labels = labelLayout(points, { ...frame, size });
  return new Map(order.map((dot, at) => [dot, labels[at] && { ...labels[at], size }]));
}

// A label without room of its own comes when its dot is pointed at.
/** @param {any} dot @param {number[]} spot */
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
    svgElement("circle", { class: "around", cx: x, cy: y, r: 13 }),
    shape,
    svgElement("title", null, token),
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
function scaledTo(points, { width, height }) {
  const range = (axis) => {
    const values = points.map((point) => point[axis]);
    return [Math.min(...values), Math.max(...values)];
  };
  const [[left, right], [low, high]] = [range(0), range(1)];
  const scale = Math.min(
    (width - 2 * EDGE) / Math.max(1e-9, right - left),
    (height - 2 * EDGE) / Math.max(1e-9, high - low),
  );
  return ([x, y]) => [
    width / 2 + (x - (left + right) / 2) * scale,
    height / 2 - (y - (low + high) / 2) * scale,
  ];
}
