// The pictures inside the course: each is made of a scene's facts and nothing else.
// A piece is { root, show?, close? }; show is called once root is in the page and has a width.

import { element, percent, replace, tableHead } from "../lib/dom.js";
import { linesPicture } from "../read/lines.js";
import { weightsTable } from "../read/weights.js";
import {
  candidatesPicture,
  countedPicture,
  maskedPicture,
  positionsPicture,
  queriesPicture,
  stackPicture,
  withoutPositionsPicture,
  vectorsPicture,
} from "./scene_pictures.js";
import { trainingPicture } from "./training.js";

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
        Array.from(facts.true, bar),
      ],
      ["sum", "", facts.total.toFixed(3), total(facts.true)],
    ),
  as_printed: (facts) =>
    columnsTable(
      "The row of robots",
      ["share", "as printed"],
      facts.words,
      [Array.from(facts.true, bar), Array.from(facts.document, bar)],
      ["sum", total(facts.true), total(facts.document)],
    ),
  valued: (facts) =>
    columnsTable("Shares and values", ["its share", "value"], facts.words, [
      facts.weights.map(bar),
      facts.values.map(plain),
    ]),
  added: (facts) =>
    columnsTable(
      facts.document ? "As printed" : "The weighted sum",
      ["its share", "value", "share · value"],
      facts.words,
      [
        facts.weights.map(bar),
        facts.values.map(plain),
        facts.weights.map((weight, at) => (weight * facts.values[at]).toFixed(2)),
      ],
      ["sum", total(facts.weights), "", (facts.followed ?? facts.true).toFixed(2)],
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

function lessonLines(facts) {
  const names = facts.words;
  const keys = facts.key_words || names;
  const grid = {
    rows: names.length,
    columns: keys.length,
    weights: Float32Array.from(facts.weights.flat()),
    rest: null,
    queries: names,
    keys,
    hidden: null,
  };
  const pinned = { queries: facts.position === undefined ? [] : [facts.position], keys: [] };
  let now = pinned;
  const on = (side, position) =>
    side === "query" ? { queries: [position], keys: [] } : { queries: [], keys: [position] };
  const show = (chosen) =>
    picture.show({
      grid,
      chosen,
      pinned: now,
      threshold: 0,
      titles: facts.key_words ? ["French", "English"] : ["English", "English"],
      statement: "",
    });
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

function columnsTable(caption, heads, words, columns, last = null) {
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

function bar(share) {
  return element(
    "span",
    { class: "share" },
    element("span", { class: "bar", style: { width: `calc(${share} * (100% - 3.4rem))` } }),
    element("span", { class: "number" }, share.toFixed(3)),
  );
}

function total(shares) {
  return shares.reduce((a, b) => a + b, 0).toFixed(3);
}

function vector(numbers) {
  return `(${numbers.map(plain).join(", ")})`;
}

function plain(number) {
  return String(Number(number.toFixed(2)));
}

function toDigits(digits) {
  return (number) => number.toFixed(digits);
}

// The figure of a scene: a head as lines, or the row that it computed; and the course as a file.
// It is that of the scene answered last, since Save stands above them all; else of the first.
const COMPUTED_ROWS = {
  scores: "row",
  shares: "true",
  sum: "weights",
  division: "divided",
  printed: "document",
  order: "before",
  batch: "own",
};

/**
 * @param {Story} story
 * @param {Source} source
 * @returns {Figure | null}
 */
export function lessonFigure({ scenes, last }, source) {
  /** @param {Scene} scene */
  const ready = ({ page, facts, answered }) => {
    if (!facts || !(answered || ["look", "habit"].includes(page.name))) return false;
    return Boolean(facts[COMPUTED_ROWS[page.name]] || facts.weights);
  };
  const scene = [scenes[last], scenes[0]].find((one) => one && ready(one));
  if (!scene) return null;
  const { page, facts } = scene;
  const row = facts[COMPUTED_ROWS[page.name]];
  const head = facts.head === undefined ? null : `Layer ${facts.layer}, head ${facts.head}`;
  const sentence = facts.sentence || facts.words.join(" ");
  return {
    name: `${page.title} ${sentence}`,
    kind: head ? "lines" : "heatmap",
    title: head || page.title,
    caption: page.title,
    provenance: `“${sentence}” · regard ${source.page.version}`,
    axes: ["query (looks)", "key (is looked at)"],
    what: page.name === "scores" ? "scores" : "weights",
    queries: head ? facts.words : [facts.word],
    keys: facts.key_words || facts.words,
    chosen: facts.position === undefined ? [] : [facts.position],
    values: head ? facts.weights.flat() : row,
    html: { path: "/api/export/learn", fields: {} },
  };
}

// The course's small language: {facts}, *words*, `code`. Everything ends as text.
export function filledText(text, facts) {
  return text
    .split(/(\*[^*]+\*|`[^`]+`)/)
    .filter(Boolean)
    .map((piece) => {
      const inside = piece.slice(1, -1);
      if (piece[0] === "*" && piece.length > 2)
        return element("em", { class: "serif" }, valuesIn(inside, facts));
      if (piece[0] === "`" && piece.length > 2) return element("code", null, inside);
      return valuesIn(piece, facts);
    });
}

function valuesIn(text, facts) {
  return text.replace(/\{([\w.]+)(?:\|([%\d]))?\}/g, (_, name, form) => {
    const value = name.split(".").reduce((value, key) => value[key], facts);
    const one = (number) =>
      form === undefined
        ? String(number)
        : form === "%"
          ? percent(number)
          : number.toFixed(Number(form));
    return Array.isArray(value) ? value.map(one).join(", ") : one(value);
  });
}
