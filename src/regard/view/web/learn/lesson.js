// The pictures inside the course: each is made of a scene's facts and nothing else.
// A piece is { root, show?, close? }; show is called once root is in the page and has a width.

import { FIGURE_AXES } from "../lib/export.js";
import { element, percent, prose, replace, tableHead } from "../lib/dom.js";
import { linesPicture } from "../read/lines.js";
import { weightsTable } from "../read/weights.js";
import {
  candidatesPicture,
  countedPicture,
  maskedPicture,
  matrixFact,
  positionsPicture,
  queriesPicture,
  stackPicture,
  vectorsPicture,
  withoutPositionsPicture,
} from "./scene_pictures.js";
import { trainingPicture } from "./training.js";

/** @type {Record<string, MakePiece>} */
export const PIECES = {
  sentence: (facts) => ({
    root: element(
      "p",
      { class: "read-sentence serif" },
      facts.words
        .filter((word) => word !== "(end)")
        .map((word, position) => [
          position ? " " : "",
          element(position === facts.position ? "mark" : "span", null, word),
        ]),
    ),
  }),
  lines: lessonLines,
  vectors: vectorsPicture,
  queries: queriesPicture,
  with_positions: positionsPicture,
  without_positions: withoutPositionsPicture,
  masked: maskedPicture,
  stack: stackPicture,
  counted: countedPicture,
  candidates: candidatesPicture,
  training: trainingPicture,
  keys: (facts) => columnsTable("Word and key", ["key"], facts.words, [facts.keys.map(vector)]),
  scored: (facts) =>
    columnsTable(`Scores of ${facts.word}`, ["key", "the sum", "score"], facts.words, [
      facts.keys.map(vector),
      facts.lines.map((line) => line.split(" = ")[1]),
      facts.row.map(plain),
    ]),
  softmax: (facts) =>
    columnsTable(
      "The row of robots",
      ["score / root", "e to that power", "share"],
      facts.words,
      [
        facts.scaled.map(toDigits(3)),
        facts.exponentials.map(toDigits(3)),
        numbersFact(facts.true).map(bar),
      ],
      ["sum", "", facts.total.toFixed(3), total(numbersFact(facts.true))],
    ),
  as_printed: (facts) =>
    columnsTable(
      "The row of robots",
      ["share", "as printed"],
      facts.words,
      [numbersFact(facts.true).map(bar), numbersFact(facts.document).map(bar)],
      ["sum", total(numbersFact(facts.true)), total(numbersFact(facts.document))],
    ),
  valued: (facts) =>
    columnsTable("Shares and values", ["its share", "value"], facts.words, [
      numbersFact(facts.weights).map(bar),
      facts.values.map(plain),
    ]),
  added: (facts) =>
    columnsTable(
      facts.document ? "As printed" : "The weighted sum",
      ["its share", "value", "share · value"],
      facts.words,
      [
        numbersFact(facts.weights).map(bar),
        facts.values.map(plain),
        numbersFact(facts.weights).map((weight, at) => (weight * facts.values[at]).toFixed(2)),
      ],
      [
        "sum",
        total(numbersFact(facts.weights)),
        "",
        Number(facts.followed ?? facts.true).toFixed(2),
      ],
    ),
  divided: (facts) =>
    columnsTable(`The row of ${facts.word}`, ["score", "share"], facts.words, [
      facts.scores.map(plain),
      facts.divided.map(bar),
    ]),
  divisor: divisorPiece,
  order: (facts) =>
    columnsTable(
      `The row of ${facts.word}`,
      ["divided before", "divided after"],
      facts.words,
      [facts.before.map(bar), facts.after.map(bar)],
      ["sum", facts.sum_before.toFixed(3), facts.sum_after.toFixed(3)],
    ),
  batch: (facts) => ({
    root: element(
      "div",
      { class: "side-by-side" },
      columnsTable(
        "cat, in its own sentence",
        ["share"],
        facts.words,
        [facts.own.map(bar)],
        ["sum", total(facts.own)],
      ).root,
      columnsTable(
        "cat, in the other sentence",
        ["share"],
        facts.others,
        [facts.stray.map(bar)],
        ["sum", facts.stray_sum.toFixed(3)],
      ).root,
    ),
  }),
};

/** @param {Facts} facts */
function lessonLines(facts) {
  const names = facts.words;
  const keys = facts.key_words || names;
  const grid = {
    rows: names.length,
    columns: keys.length,
    weights: Float32Array.from(matrixFact(facts).flat()),
    rest: null,
    queries: names,
    keys,
    hidden: null,
  };
  const pinned = { queries: facts.position === undefined ? [] : [facts.position], keys: [] };
  /** @type {Chosen} */
  let now = pinned;
  /** @param {SideName} side @param {number} position */
  const on = (side, position) =>
    side === "query" ? { queries: [position], keys: [] } : { queries: [], keys: [position] };
  /** @param {Chosen} chosen */
  const show = (chosen) =>
    picture.show({
      grid,
      chosen,
      pinned: now,
      threshold: 0,
      titles: facts.key_words ? ["French", "English"] : ["English", "English"],
      statement: "",
    });
  /** @param {Chosen} chosen */
  const pin = (chosen) => {
    now = chosen;
    show(now);
  };
  const picture = linesPicture({
    hover: (side, position) => show(position === null ? now : on(side, position)),
    pick: (side, position) => pin(on(side, position)),
    span: (side, from, to) => pin(on(side, to)),
    clear: () => pin({ queries: [], keys: [] }),
  });
  const table = element(
    "details",
    { class: "as-table" },
    element("summary", null, "As a table"),
    element("div", { class: "wide" }, weightsTable(grid)),
  );
  return {
    root: element("div", null, picture.root, table),
    show: () => show(pinned),
    close: () => picture.close(),
  };
}

// softmax(scores / divisor), as the divisor moves.
/** @param {Facts} facts */
function divisorPiece(facts) {
  const position = element("div");
  const output = element("output", { class: "number" });
  const most = facts.width;
  const slider = element("input", {
    type: "range",
    min: "1",
    max: String(most),
    step: "1",
    value: String(facts.root),
    "aria-label": "Divide the scores by",
  });
  const draw = () => {
    const divisor = Number(slider.value);
    output.textContent = slider.value;
    const top = Math.max(...facts.scores) / divisor;
    const powers = facts.scores.map((score) => Math.exp(score / divisor - top));
    const sum = powers.reduce((a, b) => a + b, 0);
    replace(
      position,
      columnsTable(`The row of ${facts.word}`, ["score / divisor", "share"], facts.words, [
        facts.scores.map((score) => (score / divisor).toFixed(2)),
        powers.map((power) => bar(power / sum)),
      ]).root,
    );
  };
  slider.addEventListener("input", draw);
  draw();
  return {
    root: element(
      "div",
      null,
      element("label", { class: "labelled" }, element("span", null, "Divide by"), slider, output),
      position,
    ),
  };
}

/**
 * @param {string} caption
 * @param {string[]} heads
 * @param {string[]} words
 * @param {Child[][]} columns
 * @param {Child[] | null} [last]
 */
function columnsTable(caption, heads, words, columns, last = null) {
  /** @param {"th" | "td"} tag @param {Child} name @param {Child[]} cells */
  const row = (tag, name, cells) =>
    element(
      "tr",
      null,
      element(tag, { scope: "row" }, name),
      cells.map((cell) => element("td", null, cell)),
    );
  return {
    root: element(
      "div",
      { class: "wide" },
      element(
        "table",
        { class: "numbers lesson" },
        element("caption", null, caption),
        tableHead([null, ...heads]),
        element(
          "tbody",
          null,
          words.map((word, at) =>
            row(
              "th",
              word,
              columns.map((column) => column[at]),
            ),
          ),
        ),
        last && element("tfoot", null, row("th", last[0], last.slice(1))),
      ),
    ),
  };
}

// A row of numbers of a scene, where others have a single one by that name.
/** @param {unknown} fact */
function numbersFact(fact) {
  return /** @type {number[]} */ (fact);
}

/** @param {number} share */
function bar(share) {
  return element(
    "span",
    { class: "share" },
    element("span", { class: "bar", style: { width: `calc(${share} * (100% - 3.4rem))` } }),
    element("span", { class: "number" }, share.toFixed(3)),
  );
}

/** @param {number[]} shares */
function total(shares) {
  return shares.reduce((a, b) => a + b, 0).toFixed(3);
}

/** @param {number[]} numbers */
function vector(numbers) {
  return `(${numbers.map(plain).join(", ")})`;
}

/** @param {number} number */
function plain(number) {
  return String(Number(number.toFixed(2)));
}

/** @param {number} digits @returns {(number: number) => string} */
function toDigits(digits) {
  return (number) => number.toFixed(digits);
}

// The figure of a scene: a head as lines, or the row that it computed; and the course as a file.
// It is that of the scene answered last, since Save stands above them all; else of the first.
/** @type {Record<string, string>} */
const COMPUTED_ROWS = {
  scores: "row",
  shares: "true",
  sum: "weights",
  division: "divided",
  printed: "document",
  order: "before",
  batch: "own",
};

/** @param {Story} story @param {Source} source @returns {Figure | null} */
export function lessonFigure({ scenes, last }, source) {
  /** @param {Scene} scene */
  const ready = ({ page, facts, answered }) => {
    if (!facts || !(answered || ["look", "habit"].includes(page.name))) return false;
    return Boolean(facts[COMPUTED_ROWS[page.name]] || facts.weights);
  };
  const scene = [scenes[last], scenes[0]].find((one) => one && ready(one));
  if (!scene) return null;
  const { page, facts } = scene;
  if (!facts) return null;
  const row = facts[COMPUTED_ROWS[page.name]];
  const head = facts.head === undefined ? null : `Layer ${facts.layer}, head ${facts.head}`;
  const sentence = facts.sentence || facts.words.join(" ");
  return {
    name: `${page.title} ${sentence}`,
    kind: head ? "lines" : "heatmap",
    title: head || page.title,
    caption: page.title,
    provenance: `“${sentence}” · regard ${source.page.version}`,
    axes: FIGURE_AXES,
    what: page.name === "scores" ? "scores" : "weights",
    queries: head ? facts.words : [facts.word],
    keys: facts.key_words || facts.words,
    chosen: facts.position === undefined ? [] : [facts.position],
    values: head ? matrixFact(facts).flat() : numbersFact(row),
    html: { path: "/api/export/learn", fields: {} },
  };
}

// The course's small language: {facts}, *words*, `code`. Everything ends as text.
/** @param {string} text @param {Facts} facts */
export function filledText(text, facts) {
  return text
    .split(/(\*[^*]+\*|`[^`]+`)/)
    .filter(Boolean)
    .map((piece) => {
      const inside = piece.slice(1, -1);
      if (piece[0] === "*" && piece.length > 2)
        return element("em", { class: "serif" }, valuesIn(inside, facts));
      if (piece[0] === "`" && piece.length > 2) return element("code", null, inside);
      return prose(valuesIn(piece, facts));
    });
}

/** @param {string} text @param {Facts} facts */
function valuesIn(text, facts) {
  return text.replace(/\{([\w.]+)(?:\|([%\d]))?\}/g, (_, name, form) => {
    const value = name.split(".").reduce(
      /** @param {unknown} inside @param {string} key */
      (inside, key) => /** @type {Fields} */ (inside)[key],
      facts,
    );
    /** @param {unknown} one */
    const written = (one) =>
      form === undefined
        ? String(one)
        : form === "%"
          ? percent(Number(one))
          : Number(one).toFixed(Number(form));
    return Array.isArray(value) ? value.map(written).join(", ") : written(value);
  });
}
