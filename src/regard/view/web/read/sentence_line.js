// The sentence itself as a picture: its words shaded by the weights of the chosen word.

import { element, replace } from "../lib/dom.js";
import { tint } from "../lib/draw.js";

// -> { root, show(reading), shade({ asking, weights }), light(positions) }
// The line lies behind the field where the sentence is typed, or stands alone where nothing can be
// typed.
export function sentenceLine() {
  const root = element("p", { class: "english", lang: "en", "aria-hidden": "true", dir: "auto" });
  let spans = new Map();
  let shown = "";
  return {
    root,
    // Spans that stand for the same words stay, with their shades: the whole reading of a sentence
    // comes after its English side.
    show({ sentence, parts }) {
      const { words, generated } = parts[0].query;
      const made = JSON.stringify([sentence, words]);
      if (made === shown) return;
      shown = made;
      replace(root, overWords(sentence, words));
      spans = new Map(
        [...root.querySelectorAll("span")].map((span) => [Number(span.dataset.position), span]),
      );
      for (const [position, span] of spans)
        span.classList.toggle("generated", Boolean(generated) && position >= generated.word);
    },
    clear() {
      shown = "";
      spans = new Map();
      replace(root);
    },
    shade: (picture) => shadeWords(spans, picture),
    light(positions) {
      const lit = new Set(positions);
      for (const [position, span] of spans) span.classList.toggle("lit", lit.has(position));
    },
    wordAt: (x, y) => wordAt(spans, x, y),
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

// The position of the word at a point of the window; null beside and between words, where a click
// means typing.
function wordAt(spans, x, y) {
  for (const [position, span] of spans)
    for (const { left, right, top, bottom } of span.getClientRects())
      if (x >= left && x <= right && y >= top && y <= bottom) return position;
  return null;
}
