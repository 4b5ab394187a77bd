// Scenes in the plane, with arrows that can be dragged, and scenes of bars. The plane is cut by the
// source through the directions of a head so that products of what is drawn are the model's own;
// what follows from dragging is computed here, with two numbers to an arrow.

import { percent } from "../lib/dom.js";
import { mathFormula } from "./formulas.js";
import { pressButton, rangeControl, switchControl, optionButtons } from "./knobs.js";
import { arrowPath, stageRow, straightPath } from "./learn_stage.js";
import { LARGEST_TYPE, nameMark, sentenceMarks, shareTable, wordClass } from "./stage_marks.js";

/** @typedef {[x: number, y: number]} Point */

const NAMED_KEYS = ["cat", "mouse", "It", "slow", "(end)"];
const DRAG_STEP = 0.5; // of an arrow key, in units of the plane
const HIGHEST_TEMPERATURE = 4; // as a power of two

/** @param {number} value @param {number} [digits] */
function planeNumber(value, digits = 0) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/** @param {number[]} scores */
export function sharesOf(scores) {
  const most = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

/** @param {string[]} words @param {number[]} shares */
function nounShares(words, shares) {
  return ["mouse", "cat"]
    .map((noun) => `${noun} ${percent(shares[words.indexOf(noun)])}`)
    .join(", ");
}

/** @param {number[]} left @param {number[]} right */
function dotProduct(left, right) {
  return left[0] * right[0] + left[1] * right[1];
}

// Where the points of a plane are on the stage: all of them fit into a box.
/** @param {number[][]} points @param {{ width: number; height: number }} box */
function planeOf(points, { width, height }) {
  const [xs, ys] = [0, 1].map((axis) => [0, ...points.map((point) => point[axis])]);
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((width - 110) / (right - left), (height - 44) / (high - low));
  const origin = {
    x: (width - scale * (right - left)) / 2 - scale * left,
    y: (height + scale * (high - low)) / 2 + scale * low,
  };
  return {
    scale,
    origin,
    width,
    /** @param {number[]} point */
    at: ([x, y]) => ({ x: origin.x + scale * x, y: origin.y - scale * y }),
  };
}

/**
 * @param {string} id
 * @param {ReturnType<typeof planeOf>} plane
 * @param {number[]} tip
 * @param {{ kind: string; thick?: number; from?: number[] }} options
 * @returns {StageMark}
 */
function arrowMark(id, plane, tip, { kind, thick = 2.5, from = [0, 0] }) {
  const [start, end] = [plane.at(from), plane.at(tip)];
  const at = { x1: start.x, y1: start.y, x2: end.x, y2: end.y, "stroke-width": thick };
  return { id, tag: "path", at, d: arrowPath, class: `stage-arrow ${kind}` };
}

/**
 * @param {string} id
 * @param {ReturnType<typeof planeOf>} plane
 * @param {number[]} tip
 * @param {string} text
 * @param {string} kind
 * @returns {StageMark}
 */
function tipName(id, plane, tip, text, kind) {
  const { x, y } = plane.at(tip);
  const length = Math.hypot(tip[0], tip[1]) || 1;
  const at = {
    x: x + (20 * tip[0]) / length,
    y: y - (20 * tip[1]) / length + 5,
    "font-size": 16,
  };
  const side = tip[0] / length > 0.5 ? "at-start" : tip[0] / length < -0.5 ? "at-end" : "";
  if (side === "at-start" && at.x + 8 * text.length > plane.width) {
    // Beside the tip it would be cut off: below it.
    const below = { ...at, x: plane.width, y: y + 28 };
    return { id, tag: "text", at: below, text, class: `stage-word ${kind} at-end` };
  }
  return { id, tag: "text", at, text, class: `stage-word ${kind} ${side}` };
}

// A ring at the tip of an arrow, to be dragged or moved with the arrow keys.
/**
 * @param {string} id
 * @param {ReturnType<typeof planeOf>} plane
 * @param {number[]} tip
 * @param {{ label: string; kind: string; told: string; move: (tip: Point) => void }} options
 * @returns {StageMark}
 */
function ringMark(id, plane, tip, { label, kind, told, move }) {
  const { x, y } = plane.at(tip);
  /** @param {Event} event */
  const drag = (event) => {
    const ring = event.currentTarget;
    if (!(event instanceof PointerEvent) || !(ring instanceof SVGElement)) return;
    const box = ring.ownerSVGElement?.getBoundingClientRect();
    if (!box) return;
    event.preventDefault();
    ring.focus();
    ring.setPointerCapture(event.pointerId);
    /** @param {PointerEvent} moved */
    const follow = (moved) => {
      const [px, py] = [
        Math.max(12, Math.min(box.width - 12, moved.clientX - box.left)),
        Math.max(12, moved.clientY - box.top),
      ];
      move([(px - plane.origin.x) / plane.scale, (plane.origin.y - py) / plane.scale]);
    };
    ring.addEventListener("pointermove", follow);
    const release = () => ring.removeEventListener("pointermove", follow);
    ring.addEventListener("pointerup", release, { once: true });
    ring.addEventListener("pointercancel", release, { once: true });
  };
  /** @param {Event} event */
  const press = (event) => {
    if (!(event instanceof KeyboardEvent)) return;
    const [across, up] = {
      ArrowRight: [1, 0],
      ArrowLeft: [-1, 0],
      ArrowUp: [0, 1],
      ArrowDown: [0, -1],
    }[event.key] || [0, 0];
    if (!across && !up) return;
    event.preventDefault();
    move([tip[0] + DRAG_STEP * across, tip[1] + DRAG_STEP * up]);
  };
  return {
    id,
    tag: "circle",
    at: { cx: x, cy: y, r: 8 },
    class: `stage-ring ${kind}`,
    attributes: {
      role: "slider",
      tabindex: 0,
      "aria-label": label,
      "aria-valuenow": tip[0].toFixed(1),
      "aria-valuetext": told,
    },
    on: { pointerdown: drag, keydown: press },
  };
}

// Bars over the words, from a line at zero; `unit` is a number's height in pixels.
/**
 * @param {string[]} words
 * @param {number[]} numbers
 * @param {StageView} view
 * @param {ColumnOptions} options
 * @returns {StageMark[]}
 */
function columnMarks(words, numbers, view, { top, bottom, most, least = 0, text }) {
  const { middles, size } = stageRow(words, view.width, LARGEST_TYPE);
  const gaps = middles.slice(1).map((middle, at) => middle - middles[at]);
  const wide = Math.min(46, Math.min(...gaps) - 2);
  const unit = (bottom - top) / (most - least);
  const zero = bottom + unit * least;
  const type = Math.min(14, Math.max(9.5, size * 0.6));
  // Of two numbers that would meet on a narrow screen the larger stays; the table has all of them.
  /** @param {number} at */
  const isCrowded = (at) =>
    [at - 1, at + 1].some(
      (other) =>
        Math.abs(middles[other] - middles[at]) < 0.62 * type * text(numbers[at]).length &&
        Math.abs(numbers[other]) > Math.abs(numbers[at]),
    );
  const line = { x1: 0, y1: zero, x2: view.width, y2: zero, "stroke-width": 1 };
  return [
    { id: "zero", tag: "path", at: line, d: straightPath, class: "stage-axis" },
    ...numbers.flatMap((value, at) => {
      const height = unit * Math.abs(value);
      /** @type {StageMark[]} */
      const marks = [
        {
          id: `bar${at}`,
          tag: "rect",
          at: {
            x: middles[at] - wide / 2,
            y: value < 0 ? zero : zero - height,
            width: wide,
            height: Math.max(1, height),
          },
          class: `stage-bar ${wordClass(words[at])}`,
        },
        {
          id: `barn${at}`,
          tag: "text",
          at: {
            x: middles[at],
            y: value < 0 ? zero + height + 14 : zero - height - 6,
            "font-size": type,
          },
          text: text(value),
          class:
            text(value).startsWith("<") || isCrowded(at) ? "stage-number unseen" : "stage-number",
        },
      ];
      return marks;
    }),
  ];
}

/** @type {LessonScene} */
export const arrowScene = {
  knobs: ({ query, keys, words, best }) => ({
    query,
    keys,
    word: words.indexOf(best),
    moved: false,
  }),
  draw: (facts, view) => {
    const { words, head_width } = facts;
    const { query, keys, word } = view.knobs;
    const position = facts.position ?? 0;
    const plane = planeOf([facts.query, ...facts.keys], {
      width: view.width,
      height: view.height * 0.64,
    });
    const scores = keys.map((/** @type {Point} */ key) => dotProduct(query, key));
    const drawn = arrowMarks(facts, view, plane);
    const { marks } = sentenceMarks(words, view, 0.97, { asking: position });
    if (!view.answered)
      return {
        marks: [...drawn, ...marks],
        caption: "The query of It, to the right; the keys of the words, from the same point.",
      };
    const shares = sharesOf(
      scores.map((/** @type {number} */ score) => score / Math.sqrt(head_width)),
    );
    const length = Math.hypot(query[0], query[1]);
    const along = length ? scores[word] / length : 0;
    return {
      marks: [
        ...drawn,
        ...shadowMarks(view, plane),
        ...ringMarks(facts, view, plane),
        ...marks,
        ...columnMarks(words, scores, view, {
          ...{ top: view.height * 0.7, bottom: view.height * 0.86 },
          ...{ most: Math.max(1, ...scores), least: Math.min(0, ...scores) },
          text: (score) => planeNumber(score),
        }),
      ],
      caption: [
        `${words[word]}: `,
        mathFormula(
          ...["score", "=", planeNumber(length, 2), "×", planeNumber(along, 2), "="],
          planeNumber(scores[word], 1),
        ),
        ` at an angle of ${angleBetween(query, keys[word])}°. `,
        `These scores give ${nounShares(words, shares)}.`,
      ],
      table: shareTable(words, { score: scores, share: shares }),
    };
  },
  controls: ({ words, query, keys }, knobs, change) => [
    optionButtons(
      "Shadow of",
      NAMED_KEYS.filter((name) => words.includes(name)),
      NAMED_KEYS.indexOf(words[knobs.word]),
      (at) => change({ word: words.indexOf(NAMED_KEYS[at]) }),
    ),
    pressButton("Put the arrows back", () => change({ query, keys })),
  ],
};

/** @param {number[]} query @param {number[]} key */
function angleBetween(query, key) {
  const turn = Math.atan2(key[1], key[0]) - Math.atan2(query[1], query[0]);
  return Math.round((Math.acos(Math.cos(turn)) * 180) / Math.PI);
}

/** @param {Facts} facts @param {StageView} view @param {ReturnType<typeof planeOf>} plane */
function arrowMarks({ words, position = 0 }, { knobs }, plane) {
  const { query, keys } = knobs;
  return [
    ...keys.flatMap((/** @type {Point} */ key, /** @type {number} */ at) => {
      const named = NAMED_KEYS.includes(words[at]);
      const kind = wordClass(words[at]) || "key";
      const mark = arrowMark(`k${at}`, plane, key, { kind, thick: named ? 2.5 : 1 });
      if (!named) return [mark];
      // The keys of both nouns lie close together: one name stands beside its tip.
      const name = tipName(`kn${at}`, plane, key, words[at], kind);
      if (words[at] !== "cat") return [mark, name];
      const { x, y } = plane.at(key);
      return [
        mark,
        { ...name, at: { ...name.at, x: x - 16, y: y + 8 }, class: `stage-word ${kind} at-end` },
      ];
    }),
    arrowMark("query", plane, query, { kind: "query", thick: 4 }),
    tipName("queryn", plane, query, `query of ${words[position]}`, "query"),
  ];
}

/** @param {StageView} view @param {ReturnType<typeof planeOf>} plane @returns {StageMark[]} */
function shadowMarks({ knobs: { query, keys, word } }, plane) {
  const square = dotProduct(query, query) || 1;
  const share = dotProduct(query, keys[word]) / square;
  const [tip, foot, origin] = [
    plane.at(keys[word]),
    plane.at([share * query[0], share * query[1]]),
    plane.at([0, 0]),
  ];
  /**
   * @param {string} id
   * @param {{x: number; y: number}} a
   * @param {{x: number; y: number}} b
   * @param {number} thick
   * @param {string} kind
   * @returns {StageMark}
   */
  const line = (id, a, b, thick, kind) => ({
    id,
    tag: "path",
    at: { x1: a.x, y1: a.y, x2: b.x, y2: b.y, "stroke-width": thick },
    d: straightPath,
    class: kind,
  });
  return [
    line("drop", tip, foot, 1.5, "stage-drop"),
    line("shadow", origin, foot, 9, "stage-shadow"),
  ];
}

/** @param {Facts} facts @param {StageView} view @param {ReturnType<typeof planeOf>} plane */
function ringMarks({ words, position = 0 }, { knobs, change }, plane) {
  const { query, keys } = knobs;
  /** @param {number[]} tip */
  const told = (tip) =>
    `${planeNumber(tip[0], 1)} across, ${planeNumber(tip[1], 1)} up, ` +
    `score of ${words[knobs.word]} ${planeNumber(dotProduct(query, keys[knobs.word]), 1)}`;
  return [
    ringMark("ring-query", plane, query, {
      ...{ label: `Query of ${words[position]}`, kind: "query", told: told(query) },
      move: (tip) => change({ query: tip }, false),
    }),
    ...["cat", "mouse"].map((noun) => {
      const at = words.indexOf(noun);
      return ringMark(`ring-${noun}`, plane, keys[at], {
        ...{ label: `Key of ${noun}`, kind: wordClass(noun), told: told(keys[at]) },
        move: (tip) =>
          change(
            {
              keys: keys.map((/** @type {Point} */ key, /** @type {number} */ i) =>
                i === at ? tip : key,
              ),
              word: at,
            },
            false,
          ),
      });
    }),
  ];
}

const SHOWN_BARS = ["scores", "divided", "shares"];

/** @type {LessonScene} */
export const shareScene = {
  knobs: () => ({ step: 0 }),
  draw: (facts, view) => {
    const { words, scores, scaled, shares } = facts;
    const { marks } = sentenceMarks(words, view, 0.97, { asking: facts.position });
    const step = SHOWN_BARS[view.knobs.step];
    const numbers = { scores, divided: scaled, shares }[step] || scores;
    // Divided scores keep the scale of the scores: the bars shrink as the numbers do.
    const range =
      step === "shares" ? { most: 1 } : { most: Math.max(...scores), least: Math.min(...scores) };
    return {
      marks: [
        ...columnMarks(words, numbers, view, {
          ...{ top: view.height * 0.12, bottom: view.height * (step === "shares" ? 0.86 : 0.8) },
          ...range,
          text: (value) =>
            step === "shares" ? percent(value) : planeNumber(value, step === "scores" ? 0 : 1),
        }),
        ...marks,
      ],
      caption: {
        scores: "The scores of It.",
        divided: `Each divided by ${facts.root}: everything shrinks, nothing changes places.`,
        shares: "The powers of e, divided by their sum: shares of one whole.",
      }[step],
      table: view.answered
        ? shareTable(words, { score: scores, divided: scaled, share: shares })
        : shareTable(words, { score: scores }),
    };
  },
  controls: (_, knobs, change) => [
    optionButtons("Show", SHOWN_BARS, knobs.step, (step) => change({ step })),
  ],
  answered: { step: 2 },
};

/** @type {LessonScene} */
export const divisionScene = {
  knobs: () => ({ divide: true, power: 0 }),
  draw: (facts, view) => {
    const { words, scores, root } = facts;
    const { divide, power } = view.knobs;
    const temperature = 2 ** power;
    const shares = sharesOf(scores.map((score) => score / (divide ? root : 1) / temperature));
    const { marks } = sentenceMarks(words, view, 0.97, { asking: facts.position });
    return {
      marks: [
        ...columnMarks(words, shares, view, {
          ...{ top: view.height * 0.12, bottom: view.height * 0.86, most: 1 },
          text: percent,
        }),
        ...marks,
        nameMark("above", view, 16, divide ? `scores divided by ${root}` : "scores not divided"),
      ],
      caption:
        `${divide ? `Divided by ${root}` : "Not divided"}, temperature ` +
        `${temperatureText(power)}: ${nounShares(words, shares)}.`,
      table: shareTable(words, { share: shares }),
    };
  },
  controls: ({ root }, knobs, change) => [
    switchControl(`Divide the scores by ${root}`, knobs.divide, (divide) => change({ divide })),
    rangeControl("Temperature", {
      ...{ min: -2, max: HIGHEST_TEMPERATURE, step: 0.25, value: knobs.power },
      told: temperatureText,
      change: (power) => change({ power }, false),
    }),
  ],
  answered: { divide: false },
};

/** @param {number} power */
function temperatureText(power) {
  return String(Number((2 ** power).toPrecision(3)));
}

/** @type {LessonScene} */
export const valueScene = {
  knobs: ({ best_share }) => ({ share: best_share, own: false }),
  draw: (facts, view) => {
    const { words, values, output, best, other, best_share, other_share } = facts;
    const [first, second] = [best, other].map((noun) => values[words.indexOf(noun)]);
    const plane = planeOf([first, second, output], view);
    const { share, own } = view.knobs;
    const rest = own ? 1 - share : other_share;
    const parts = [first.map((x) => share * x), second.map((x) => rest * x)];
    const sum = own ? [parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]] : output;
    const kinds = [wordClass(best), wordClass(other)];
    const marks = [
      arrowMark("v0", plane, first, { kind: "value" }),
      tipName("vn0", plane, first, `value of ${best}`, kinds[0]),
      arrowMark("v1", plane, second, { kind: "value" }),
      tipName("vn1", plane, second, `value of ${other}`, kinds[1]),
    ];
    if (!view.answered)
      return { marks, caption: `The values of ${best} and ${other}, from one point.` };
    return {
      marks: [
        lineBetween(plane, first, second),
        ...marks,
        arrowMark("part0", plane, parts[0], { kind: kinds[0], thick: 6 }),
        arrowMark("part1", plane, sum, { kind: kinds[1], thick: 6, from: parts[0] }),
        arrowMark("sum", plane, sum, { kind: "sum", thick: 3 }),
        tipName("sumn", plane, sum, "sum", "sum"),
      ],
      caption: own
        ? `If it took ${percent(share)} of ${best} and ${percent(rest)} of ${other}.`
        : `As computed: ${percent(best_share)} of ${best}, then ${percent(other_share)} of ` +
          `${other}, and next to nothing of the rest.`,
      table: {
        heads: ["across", "up"],
        rows: [
          [`value of ${best}`, ...first.map((x) => planeNumber(x, 3))],
          [`value of ${other}`, ...second.map((x) => planeNumber(x, 3))],
          ["sum", ...sum.map((x) => planeNumber(x, 3))],
        ],
      },
    };
  },
  controls: ({ best, best_share }, knobs, change) => [
    rangeControl(`Share of ${best}`, {
      ...{ min: 0, max: 1, step: 0.01, value: knobs.share },
      told: percent,
      change: (share) => change({ share, own: true }, false),
    }),
    pressButton("As computed", () => change({ share: best_share, own: false })),
  ],
};

/**
 * @param {ReturnType<typeof planeOf>} plane
 * @param {number[]} first
 * @param {number[]} second
 * @returns {StageMark}
 */
function lineBetween(plane, first, second) {
  const [a, b] = [plane.at(first), plane.at(second)];
  const at = { x1: a.x, y1: a.y, x2: b.x, y2: b.y, "stroke-width": 1.5 };
  return { id: "mixes", tag: "path", at, d: straightPath, class: "stage-drop" };
}
