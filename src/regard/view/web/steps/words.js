// The steps in words: how a stage is made, what a row means, what a switch changed, what a document
// claims.

import { asWord, element, percent, prose, tableHead, tableRow } from "../lib/dom.js";
import { largest } from "../read/weights.js";
import { rowEntropy } from "./attend.js";
import { labels } from "./why.js";

/** @param {Stages} steps @param {string} name */
export function stageFormula(steps, name) {
  const root = Math.sqrt(steps.width);
  const byRoot = Math.abs(steps.scale * root - 1) < 1e-12;
  /** @param {string} stage */
  const input = (stage) => (steps.stages.memory && stage !== "query" ? "memory" : "x");
  const full = Number.isInteger(root) && root > 1 ? ` (= ${root})` : "";
  /** @param {string} stage */
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

/** @type {Record<string, string>} */
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

/** @param {Stages} steps @param {string} name */
export function stageMeaning(steps, name) {
  const { layer } = steps.inputs;
  if (name !== "x" || layer === undefined) return MEANINGS[name];
  const before = layer === 1 ? "The layer before" : `The ${layer} layers before`;
  const made = layer === 0 ? "Embedding and position make" : `${before} made`;
  return `${MEANINGS.x} ${made} it; here it is normalised.`;
}

/** @param {Stages} steps @param {number} row */
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
/** @param {Stages} before @param {Stages} now @param {number} row */
export function changeSentence(before, now, row) {
  const [was, is] = [before.stages.weights, now.stages.weights];
  const names = labels(now.keys).map(asWord);
  /** @param {Matrix} matrix */
  const rowOfWeights = ({ values, columns }) => values.subarray(row * columns, (row + 1) * columns);
  const [[first], [then]] = [was, is].map((weights) => largest(rowOfWeights(weights), 1));
  /** @param {Matrix} weights @param {number} key */
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

/** @param {Matrix} weights */
function meanEntropy(weights) {
  let sum = 0;
  for (let row = 0; row < weights.rows; row++) sum += rowEntropy(weights, row);
  return (sum / weights.rows).toFixed(2);
}

/** @param {Example} [example] */
export function claimsTable(example) {
  if (!example) return null;
  /** @param {number[] | string} value */
  const text = (value) =>
    Array.isArray(value) ? value.map((one) => Number(one.toPrecision(4))).join("  ") : value;
  const rows = example.claims.map(({ agrees, about, because, document, true: right }) =>
    tableRow(
      about,
      [text(document), text(right), element("td.because", agrees ? "agrees" : because)],
      agrees ? null : "differs",
    ),
  );
  return element(
    "section.claims",
    { "aria-label": "What the document says" },
    element("h2", "What the document says, and what is true"),
    element(
      "div.wide",
      element("table", tableHead(["", "the document", "computed", ""]), element("tbody", rows)),
    ),
    example.remarks.map((remark) => element("p.small.quiet", prose(remark))),
  );
}

// The stages of the path in words: titles, what each is made from, how, and what it means.

/** @type {Record<string, string>} */
const TITLES_OF_STAGES = {
  start: "embedding + position",
  input: "layer input",
  x: "norm",
  joined: "heads joined",
  projected: "times w_output",
  normed: "norm",
  hidden: "feed-forward inside",
  feed_forward: "feed-forward",
  layer_output: "layer output",
  next_word: "next word",
};

// Stages that a stage is made from; those that a head does not have are left out by the caller.
/** @type {Record<string, string[]>} */
const MADE_FROM = {
  embedding: ["tokens"],
  start: ["embedding", "position"],
  input: ["start"],
  x: ["input"],
  query: ["x"],
  key: ["memory", "x"],
  value: ["memory", "x"],
  scores: ["query", "key"],
  scaled: ["scores"],
  masked: ["scaled"],
  weights: ["masked", "scaled"],
  output: ["weights", "value"],
  joined: ["output"],
  projected: ["joined"],
  residual: ["input", "projected"],
  normed: ["residual"],
  hidden: ["normed"],
  feed_forward: ["hidden"],
  layer_output: ["residual", "feed_forward"],
  last: ["layer_output"],
  next_word: ["last"],
};
const ONE_OF = ["key", "value", "weights"]; // of these the first that there is

/** @param {LayerPath} path @param {string} name */
export function madeFromStages(path, name) {
  if (name === "input" && (path.layer.layer > 0 || path.layer.part === "cross")) return [];
  const names = (MADE_FROM[name] || []).filter((one) => path.names.includes(one));
  return ONE_OF.includes(name) ? names.slice(0, 1) : names;
}

/** @param {LayerData} layer @param {string} name */
export function stageTitle(layer, name) {
  if (name === "memory") return "memory, English";
  if (name === "x" && layer.part === "cross") return "norm, French";
  if (name === "last") return layer.part === "encoder" ? "memory" : "last norm";
  return TITLES_OF_STAGES[name] || name;
}

/** @param {LayerPath} path @param {string} name */
export function pathFormula(path, name) {
  const { layer, steps } = path;
  const width = path.matrix("input").columns;
  const before = layer.layer === 0 ? "embedding + position" : `output of layer ${layer.layer - 1}`;
  return (
    {
      tokens: "pieces of the vocabulary, and their numbers",
      embedding: `√${width} · the token's row of the embedding table`,
      position: "sine and cosine of the position, one wavelength a feature",
      start: "embedding + position",
      input: layer.part === "cross" ? "residual of the self-attention" : before,
      x: "norm(input)",
      joined: `outputs of heads 0 to ${layer.heads - 1}, side by side`,
      projected: "joined · w_output",
      residual: "input + joined · w_output",
      normed: "norm(residual)",
      hidden: "max(0, normed · w_in + b_in)",
      feed_forward: "hidden · w_out + b_out",
      layer_output: "residual + feed_forward",
      last: "norm(layer_output)",
    }[name] || stageFormula(steps, name)
  );
}

/** @type {Record<string, string>} */
const MEANINGS_OF_STAGES = {
  tokens: "The model reads pieces of words: each has a number, and nothing else about it is read.",
  embedding: "Each token's vector, looked up in a table that training learnt.",
  position: "The same for every sentence: without it the order of the words could not be seen.",
  start: "What a token is and where it stands, in one vector. The first layer begins with it.",
  joined: "Each head fills its own columns; those of the head shown here are outlined.",
  projected: "One more learnt matrix mixes what the heads found.",
  residual:
    "What attention found is added to the vector, which is never replaced: layers correct it.",
  normed: "Every vector is brought to mean 0 and the same size before the next step.",
  hidden: "Each word by itself now: wider, and 0 wherever it would be negative.",
  feed_forward: "Back to the width of the model.",
  layer_output: "Added once more. This is what the next layer is given.",
};

/** @param {LayerPath} path @param {string} name */
export function pathMeaning(path, name) {
  const { layer, steps } = path;
  if (name === "input")
    return layer.part === "cross"
      ? "The French vectors after this layer's self-attention: they ask, the English ones answer."
      : layer.layer === 0
        ? "The first layer is given the embeddings with their positions."
        : "What all the layers before have made of each word.";
  if (name === "x") return "Mean 0 and the same size for every word, then a learnt gain and bias.";
  if (name === "last")
    return layer.part === "encoder"
      ? "The sentence as the decoder sees it: cross-attention takes its keys and values from here."
      : "The last vectors, from which the next word is chosen.";
  return MEANINGS_OF_STAGES[name] || stageMeaning(steps, name);
}
