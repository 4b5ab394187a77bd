// Pictures of the scenes on the path through the model: strips of numbers, grids of weights, the
// stack of layers, an experiment's outcome. Each is { root, close? }, made of the scene's facts.

import { element, percent, tableHead } from "../lib/dom.js";
import { largestSize, shade, textColorOn, vectorStrip } from "../lib/draw.js";

const UPRIGHT_COLUMNS = 9; // columns whose names stand upright

// The weights of a scene: of all words here, of one word in others.
/** @param {Facts} facts */
export function matrixFact({ weights }) {
  return /** @type {number[][]} */ (weights);
}

/** @param {string} name @param {...Child} cells */
function namedRow(name, ...cells) {
  return element(
    "tr",
    null,
    element("th", { scope: "row" }, name),
    cells.map((cell) => element("td", null, cell)),
  );
}

/** @param {string} caption @param {string[]} heads @param {Child} rows */
function stripsTable(caption, heads, rows) {
  return element(
    "table",
    { class: "lesson strips-table" },
    element("caption", null, caption),
    tableHead([null, ...heads]),
    element("tbody", null, rows),
  );
}

/** @param {Facts} facts */
export function vectorsPicture(facts) {
  const most = largestSize(facts.strips.flat());
  /** @param {string} name */
  const said = (name) => `the first ${facts.shown} numbers of ${name}`;
  const parts = ["its own vector", "+ its position", "= what goes in"];
  return {
    root: element(
      "div",
      { class: "stacked" },
      stripsTable(
        "Words, and their vectors",
        ["entry", "vector"],
        facts.words.map((word, at) =>
          namedRow(word, String(facts.ids[at]), vectorStrip(facts.strips[at], said(word), most)),
        ),
      ),
      stripsTable(
        facts.word,
        ["vector"],
        parts.map((name, at) => namedRow(name, vectorStrip(facts.parts[at], said(name), most))),
      ),
    ),
  };
}

/** @param {Facts} facts */
export function queriesPicture(facts) {
  const most = largestSize([...facts.query, ...facts.keys.flat()]);
  const widest = Math.max(...facts.scores.map(Math.abs));
  const asks = vectorStrip(facts.query, `the query of ${facts.word}`, most);
  return {
    root: element(
      "div",
      { class: "stacked" },
      stripsTable("The query", ["query"], [namedRow(facts.word, asks)]),
      stripsTable(
        "The keys",
        ["key", "how well it fits"],
        facts.words.map((word, at) =>
          namedRow(
            word,
            vectorStrip(facts.keys[at], `the key of ${word}`, most),
            signedBar(facts.scores[at], widest),
          ),
        ),
      ),
    ),
  };
}

// From the middle to the right above 0, to the left below.
/** @param {number} value @param {number} widest */
function signedBar(value, widest) {
  const share = widest > 0 ? Math.abs(value) / widest : 0;
  const width = `calc(${share} * 50%)`;
  return element(
    "span",
    { class: "signed-bar" },
    element("span", {
      class: value < 0 ? "below" : "above",
      style: value < 0 ? { width, right: "50%" } : { width, left: "50%" },
    }),
    element("span", { class: "number" }, value.toFixed(1)),
  );
}

// Weights as shaded percentages; one that is exactly 0 says so.
/**
 * @param {string} caption
 * @param {string[]} words
 * @param {string[]} keys
 * @param {number[][]} weights
 * @param {number[]} [marked]
 */
export function weightsGrid(caption, words, keys, weights, marked = []) {
  /** @param {number} weight */
  const cell = (weight) =>
    element(
      "td",
      {
        class: weight === 0 ? "none" : null,
        style: { background: shade(weight), color: textColorOn(weight) },
      },
      weight === 0 ? "0" : weight < 0.005 ? "·" : String(Math.round(100 * weight)),
    );
  return element(
    "div",
    { class: "wide" },
    element(
      "table",
      { class: `lesson weights-grid${keys.length > UPRIGHT_COLUMNS ? " many" : ""}` },
      element("caption", null, caption),
      tableHead([null, ...keys.map((key) => element("span", null, key))]),
      element(
        "tbody",
        null,
        words.map((word, row) =>
          element(
            "tr",
            { class: marked.includes(row) ? "marked" : null },
            element("th", { scope: "row" }, word),
            weights[row].map(cell),
          ),
        ),
      ),
    ),
  );
}

/** @param {Facts} facts */
export function positionsPicture(facts) {
  return { root: positionGrid("With positions, weights in percent", facts, matrixFact(facts)) };
}

/** @param {Facts} facts */
export function withoutPositionsPicture(facts) {
  return {
    root: element(
      "div",
      { class: "stacked" },
      positionGrid("With positions, weights in percent", facts, matrixFact(facts)),
      positionGrid("Without positions", facts, facts.without),
    ),
  };
}

/** @param {string} caption @param {Facts} facts @param {number[][]} weights */
function positionGrid(caption, facts, weights) {
  const twice = facts.words.flatMap((word, at) => (word === "dog" ? [at] : []));
  return weightsGrid(caption, facts.words, facts.words, weights, twice);
}

/** @param {Facts} facts */
export function maskedPicture(facts) {
  const caption = `Decoder, layer ${facts.layer}, head ${facts.head}, weights in percent`;
  return {
    root: weightsGrid(caption, facts.words, facts.words, matrixFact(facts), [facts.position ?? -1]),
  };
}

/** @param {Facts} facts */
export function stackPicture(facts) {
  /** @param {string} name @param {string} kind */
  const box = (name, kind) => element("li", { class: kind }, name);
  /** @param {string} title @param {Child} boxes */
  const column = (title, boxes) =>
    element(
      "div",
      { class: "stack-column" },
      element("p", null, title),
      element("ol", { class: "stack" }, boxes),
    );
  const times = box(`${facts.layers} such layers`, "times");
  return {
    root: element(
      "div",
      { class: "stacks" },
      column("Encoder: English", [
        box("words → vectors, + positions", "edge"),
        box("+ attention", "attention"),
        box("+ feed-forward", "feed"),
        times,
      ]),
      column("Decoder: French", [
        box("words so far → vectors, + positions", "edge"),
        box("+ attention, masked", "attention"),
        box("+ cross-attention ← English", "attention"),
        box("+ feed-forward", "feed"),
        times.cloneNode(true),
        box("softmax → next word", "edge"),
      ]),
    ),
  };
}

/** @param {Facts} facts */
export function countedPicture(facts) {
  return {
    root: element(
      "div",
      { class: "stacked" },
      stackPicture(facts).root,
      stripsTable(
        "Learnt numbers",
        ["share", "numbers"],
        facts.kinds.map((kind, at) =>
          namedRow(kind, shareBar(facts.shares[at]), facts.written[at]),
        ),
      ),
    ),
  };
}

/** @param {number} share */
function shareBar(share) {
  return element(
    "span",
    { class: "share" },
    element("span", { class: "bar", style: { width: `calc(${share} * (100% - 3.4rem))` } }),
    element("span", { class: "number" }, percent(share)),
  );
}

/** @param {Facts} facts */
export function candidatesPicture(facts) {
  /** @param {string} name @param {string} text */
  const said = (name, text) =>
    element("p", null, element("span", { class: "quiet" }, `${name} `), text);
  return {
    root: element(
      "div",
      { class: "stacked" },
      element(
        "div",
        { class: "serif two-runs" },
        said("before", facts.first),
        said("after", facts.second),
      ),
      stripsTable(
        `The next word, after “${facts.prefix}”`,
        ["before", "after"],
        facts.candidates.map(([word, before, after]) =>
          namedRow(word, shareBar(before), shareBar(after)),
        ),
      ),
    ),
  };
}
