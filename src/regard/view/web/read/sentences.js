// One plain sentence on the weights that are shown.

import { asWord, percent } from "../lib/dom.js";
import { largest } from "./weights.js";

const TOLD_WORDS = 3;

/** @type {Record<string, (choice: HeadChoice) => string>} */
const SHOWN = {
  head: (c) => `layer ${c.layer}, head ${c.head}`,
  layer: (c) => `the average of layer ${c.layer}`,
  all: () => "the average of all layers",
  rollout: () => "all layers followed down to the words",
};

/** @param {HeadChoice} choice */
export function choiceName(choice) {
  return SHOWN[choice.show](choice);
}

// The sentence of a highlight, its words marked: "it looks at dog: 84 % in layer 3, head 6; at
// food: 13 %".
/** @param {HeadHighlight} highlight */
export function highlightSentence({ sentence, query_word: query, key_word: key }) {
  const start = `${query} looks at ${key}: `;
  if (!sentence.startsWith(start)) return `${sentence}.`;
  const [first, ...others] = sentence.slice(start.length).split("; ");
  const marked = others.map((one) =>
    one.replace(/^at (.+): /, (_, word) => `at ${asWord(word)}: `),
  );
  return `${asWord(query)} looks at ${asWord(key)}: ${[first, ...marked].join("; ")}.`;
}

// Where the chosen word looks, or who looks at it.
/** @param {Grid} grid @param {Chosen} chosen @param {HeadChoice} choice */
export function weightSentence({ columns, rows, weights, queries, keys }, chosen, choice) {
  const inside = `in ${choiceName(choice)}`;
  const [q] = chosen.queries;
  const [k] = chosen.keys;
  if (q !== undefined) {
    const row = weights.subarray(q * columns, (q + 1) * columns);
    const [first = "at nothing in particular", ...rest] = largest(row, TOLD_WORDS, 0.01).map(
      (at) => `at ${asWord(keys[at])} ${percent(row[at])}`,
    );
    const others = rest.length ? `; ${rest.join(", ")}` : "";
    return `${asWord(queries[q])} looks ${first} ${inside}${others}.`;
  }
  if (k === undefined) return "";
  const column = Float32Array.from({ length: rows }, (_, at) => weights[at * columns + k]);
  const given = largest(column, TOLD_WORDS, 0.01).map(
    (at) => `${asWord(queries[at])} gives ${percent(column[at])}`,
  );
  return given.length
    ? `To ${asWord(keys[k])}, ${given.join(", ")} ${inside}.`
    : `Hardly any word looks at ${asWord(keys[k])} ${inside}.`;
}
