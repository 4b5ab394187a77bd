// One plain sentence on the weights that are shown.

import { asWord, percent } from "../lib/dom.js";
import { largest, sums } from "./weights.js";

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

// The words of a sentence of the page come between marks (dom.js).
/** @param {Grid} grid @param {Chosen} chosen @param {HeadChoice} choice */
export function weightSentence(grid, chosen, choice) {
  const inside = `in ${choiceName(choice)}`;
  const { queries, keys } = chosen;
  if (queries.length && keys.length) return between(grid, chosen, inside);
  if (queries.length) return asking(grid, chosen, inside);
  if (keys.length) return answering(grid, chosen, inside);
  return overall(grid, choice);
}

/** @param {Grid} grid @param {Chosen} chosen @param {string} inside */
function asking(grid, chosen, inside) {
  const given = sums(grid, chosen).keys;
  const many = chosen.queries.length;
  const best = largest(given, 3, 0.01 * many);
  const who = listed(chosen.queries.map((q) => grid.queries[q]));
  if (!best.length)
    return `${who} ${many > 1 ? "look" : "looks"} at nothing in particular ${inside}.`;
  const shares = best.map((k) => `at ${asWord(grid.keys[k])} ${percent(given[k] / many)}`);
  const rest = shares.length > 1 ? `; ${shares.slice(1).join(", ")}` : "";
  if (many === 1) return `${who} looks ${shares[0]} ${inside}${rest}.`;
  return `${who} together look ${shares[0]} ${inside}${rest} (shares of what they have together).`;
}

/** @param {Grid} grid @param {Chosen} chosen @param {string} inside */
function answering(grid, chosen, inside) {
  const got = sums(grid, chosen).queries;
  const best = largest(got, 3, 0.01);
  const who = listed(chosen.keys.map((k) => grid.keys[k]));
  if (!best.length) return `Hardly any word looks at ${who} ${inside}.`;
  const shares = best.map((q) => `${asWord(grid.queries[q])} gives ${percent(got[q])}`);
  return `To ${who}${chosen.keys.length > 1 ? " together" : ""}, ${shares.join(", ")} ${inside}.`;
}

/** @param {Grid} grid @param {Chosen} chosen @param {string} inside */
function between(grid, chosen, inside) {
  const { total } = sums(grid, chosen);
  const from = listed(chosen.queries.map((q) => grid.queries[q]));
  const to = listed(chosen.keys.map((k) => grid.keys[k]));
  const many = chosen.queries.length;
  const verb = many > 1 ? "give" : "gives";
  const whose = many > 1 ? "their" : "its";
  return `${from} ${verb} ${percent(total / many)} of ${whose} attention to ${to} ${inside}.`;
}

// The link that is strongest beyond what an even row would give: a row that sees one key alone has
// no choice, and is no news.
/** @param {Grid} grid @param {HeadChoice} choice */
function overall(grid, choice) {
  const seen = Float32Array.from({ length: grid.rows }, (_, q) => {
    const row = grid.weights.subarray(q * grid.columns, (q + 1) * grid.columns);
    return row.reduce((sum, weight) => sum + (weight > 0 ? 1 : 0), 0);
  });
  /** @param {number} at */
  const surprise = (at) => {
    const weight = grid.weights[at];
    return weight > 0 ? weight * Math.log(weight * seen[Math.floor(at / grid.columns)]) : -1;
  };
  let best = 0;
  for (let at = 1; at < grid.weights.length; at++) if (surprise(at) > surprise(best)) best = at;
  const [q, k] = [Math.floor(best / grid.columns), best % grid.columns];
  if (!grid.weights.length || grid.weights[best] <= 0) return "";
  const share = percent(grid.weights[best]);
  const link = `${asWord(grid.queries[q])} looks at ${asWord(grid.keys[k])}, ${share}`;
  return `The strongest link of ${choiceName(choice)}: ${link}.`;
}

/** @param {string[]} words */
function listed(words) {
  const names = words.map(asWord);
  if (names.length === 1) return names[0];
  if (names.length > 4)
    return `${names.slice(0, 2).join(", ")} … ${names[names.length - 1]} (${names.length} words)`;
  return `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}
