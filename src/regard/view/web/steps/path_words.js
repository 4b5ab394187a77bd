// The stages of the path in words: titles, what each is made from, how, and what it means.

import { formulaOf, meaningOf } from "./steps_sentences.js";

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
export const MADE_FROM = {
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

/** @param {LayerPath} path */
export function madeFromStages(path, name) {
  if (name === "input" && (path.layer.layer > 0 || path.layer.part === "cross")) return [];
  const names = (MADE_FROM[name] || []).filter((one) => path.names.includes(one));
  return ONE_OF.includes(name) ? names.slice(0, 1) : names;
}

/** @param {LayerData} layer */
export function titleOfStage(layer, name) {
  if (name === "memory") return "memory, English";
  if (name === "x" && layer.part === "cross") return "norm, French";
  if (name === "last") return layer.part === "encoder" ? "memory" : "last norm";
  return TITLES_OF_STAGES[name] || name;
}

/** @param {LayerPath} path */
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
    }[name] || formulaOf(steps, name)
  );
}

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

/** @param {LayerPath} path */
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
  return MEANINGS_OF_STAGES[name] || meaningOf(steps, name);
}
