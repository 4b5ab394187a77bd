// The steps in words: how a stage is made, what a row means, what a switch changed, what a document
// claims.

import { asWord, element, percent, prose } from "../lib/dom.js";
import { entropyOf } from "./attend.js";
import { labels } from "./why.js";
import { largest } from "../read/weights.js";

export function formulaOf(steps, name) {
  const root = Math.sqrt(steps.width);
  const byRoot = Math.abs(steps.scale * root - 1) < 1e-12;
  const input = (stage) => (steps.stages.memory && stage !== "query" ? "memory" : "x");
  const full = Number.isInteger(root) && root > 1 ? ` (= ${root})` : "";
  const made = (stage) =>
    steps.parameters[`w_${stage}`] ? `${input(stage)} · w_${stage}` : "given";
  return {
    x: steps.stages.memory ? "the vectors that ask, one row a word" : "one row a word",
    memory: "the vectors that answer, one row a word",
    query: made("query"),
    key: made("key"),
    value: made("value"),
    scores: "query · keyᵀ",
    scaled: byRoot
      ? `scores / √${steps.width}${full}`
      : `scores · ${Number(steps.scale.toPrecision(4))}`,
    masked: "scaled, −∞ where hidden",
    weights: `softmax(${steps.stages.masked ? "masked" : "scaled"})`,
    output: "weights · value",
  }[name];
}

const MEANINGS = {
  x: "What comes in: each word as a vector.",
  memory: "What the encoders made of the English sentence.",
  query: "What each word asks for.",
  key: "What each word offers to be found by.",
  value: "What each word gives when it is looked at.",
  scores: "How well each query fits each key: rows are queries, columns are keys.",
  scaled:
    "Long vectors make large products; dividing keeps the softmax from choosing one word too soon.",
  masked: "A word that comes later cannot be looked at.",
  weights: "Every row sums to 1: how a word's attention is shared out.",
  output: "Each word's new vector: the values, mixed in the shares of its row.",
};

export function meaningOf(steps, name) {
  const { layer } = steps.inputs;
  if (name !== "x" || layer === undefined) return MEANINGS[name];
  const before = layer === 1 ? "The layer before" : `The ${layer} layers before`;
  const made = layer === 0 ? "Embedding and position make" : `${before} made`;
  return `${MEANINGS.x} ${made} it; here it is normalised.`;
}

export function rowSentence(steps, row) {
  const { weights } = steps.stages;
  const [rows, keys] = [steps.queries, steps.keys].map((words) => labels(words).map(asWord));
  const shares = weights.values.subarray(row * weights.columns, (row + 1) * weights.columns);
  const best = largest(shares, 4);
  if (!best.length) return `${rows[row]} may look at nothing; its output is 0.`;
  const rest = 1 - best.reduce((sum, key) => sum + shares[key], 0);
  const looks = best.map(
    (key) => `at ${keys[key] === rows[row] ? "itself" : keys[key]} ${percent(shares[key])}`,
  );
  if (rest > 0.005) looks.push(`at the others ${percent(rest)} together`);
  return `${rows[row]} looks ${looks.join(", ")}.`;
}

// What the switches did to a row, and to the rows on the whole.
export function changeSentence(before, now, row) {
  const [was, is] = [before.stages.weights, now.stages.weights];
  const names = labels(now.keys).map(asWord);
  const rowOfWeights = ({ values, columns }) => values.subarray(row * columns, (row + 1) * columns);
  const [[first], [then]] = [was, is].map((weights) => largest(rowOfWeights(weights), 1));
  const share = (weights, key) => percent(rowOfWeights(weights)[key]);
  const asks = asWord(labels(now.queries)[row]);
  const most =
    then === undefined
      ? `${asks} looks at nothing any more`
      : first === then
        ? `${asks} puts ${share(is, then)} on ${names[then]}, where it put ${share(was, then)}`
        : `${asks} looks most at ${names[then]} (${share(is, then)}), ` +
          `where it looked most at ${names[first]} ` +
          `(${share(was, first)}, now ${share(is, first)})`;
  return (
    `${most}. The entropy of a row went from ${meanEntropy(was)} to ${meanEntropy(is)} nats ` +
    "on average: " +
    `0 is all on one word, ${Math.log(is.columns).toFixed(2)} is spread evenly.`
  );
}

function meanEntropy(weights) {
  let sum = 0;
  for (let row = 0; row < weights.rows; row++) sum += entropyOf(weights, row);
  return (sum / weights.rows).toFixed(2);
}

export function claimsOf(example) {
  if (!example) return null;
  const text = (value) =>
    Array.isArray(value) ? value.map((one) => Number(one.toPrecision(4))).join("  ") : value;
  const heading = ["", "the document", "computed", ""].map((name) =>
    element("th", { scope: "col" }, name),
  );
  const rows = example.claims.map((claim) =>
    element(
      "tr",
      { class: claim.agrees ? null : "differs" },
      element("th", { scope: "row" }, claim.about),
      element("td", null, text(claim.document)),
      element("td", null, text(claim.true)),
      element("td", { class: "because" }, claim.agrees ? "agrees" : claim.because),
    ),
  );
  return element(
    "section",
    { class: "claims", "aria-label": "What the document says" },
    element("h2", null, "What the document says, and what is true"),
    element(
      "div",
      { class: "wide" },
      element(
        "table",
        null,
        element("thead", null, element("tr", null, heading)),
        element("tbody", null, rows),
      ),
    ),
    example.remarks.map((remark) => element("p", { class: "small quiet" }, prose(remark))),
  );
}
