// The sentence itself as a picture: its words shaded by the weights of the chosen word.

import { element, replace } from "../lib/dom.js";
import { tint } from "../lib/draw.js";

// -> { root, show(reading), shade({ asking, weights }), light(positions) }
// The line lies behind the field where the sentence is typed, or stands alone where nothing can be
// typed.
export function sentenceLine() {
  const root = element("p", { class: "english", lang: "en", "aria-hidden": "true", dir: "auto" });
  let spans = new Map();
  return {
    root,
    show({ sentence, parts }) {
      const { words } = parts[0].query;
      replace(root, overWords(sentence, words));
      spans = new Map(
        [...root.querySelectorAll("span")].map((span) => [Number(span.dataset.position), span]),
      );
    },
    clear() {
      spans = new Map();
      replace(root);
    },
    shade: (picture) => shadeWords(spans, picture),
    light(positions) {
      const lit = new Set(positions);
      for (const [position, span] of spans) span.classList.toggle("lit", lit.has(position));
    },
    wordAt: (offset) => wordAt(root, offset),
  };
}

// asking: positions of the words that look; weights: for each word its weight, or null for no
// shade; until: the last word that is written yet.
export function shadeWords(nodes, { asking, weights, until }) {
  const who = new Set(asking);
  for (const [position, node] of nodes) {
    node.classList.toggle("asking", who.has(position));
    node.classList.toggle("later", position > until);
    const weight = weights ? weights[position] || 0 : 0;
    if (weight < 0.005) node.style.removeProperty("background-color");
    else node.style.setProperty("background-color", tint(weight));
    node.classList.toggle("shaded", weight >= 0.005);
  }
}

// The sentence as it was typed, its words found in it one after the other.
function overWords(sentence, words) {
  const parts = [];
  let end = 0;
  words.forEach((word, position) => {
    const at = sentence.indexOf(word, end);
    if (at < 0) return;
    parts.push(sentence.slice(end, at), element("span", { "data-position": position }, word));
    end = at + word.length;
  });
  return [parts, sentence.slice(end)];
}

// The position of the word that stands at a character of the sentence; null between words.
function wordAt(root, offset) {
  let start = 0;
  for (const node of root.childNodes) {
    const end = start + node.textContent.length;
    if (offset >= start && offset <= end && node instanceof HTMLElement)
      return Number(node.dataset.position);
    start = end;
  }
  return null;
}
