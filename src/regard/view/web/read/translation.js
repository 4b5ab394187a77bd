// Words as running text: with the spaces that writing has, and shaded by the weights of a word.

import { element, replace } from "../lib/dom.js";
import { tint } from "../lib/draw.js";

// Words with the spaces that writing has: none before a full stop, none after an apostrophe.
/** @param {string[]} words @param {(word: string, at: number) => Child} make */
export function spacedWords(words, make) {
  return words.flatMap((word, at) => {
    const apart =
      at > 0 && !/^[.,…)]/.test(word) && !/['’]$/.test(words[at - 1]) && words[at - 1] !== "(";
    return [apart ? (/^[;:!?]$/.test(word) ? "\u202f" : " ") : "", make(word, at)];
  });
}

// The text of a watched run, its words shaded by the weights of the chosen one.
export function sentenceLine() {
  const root = element("p", { class: "english", lang: "en", "aria-hidden": "true", dir: "auto" });
  /** @type {Map<number, HTMLElement>} */
  let spans = new Map();
  let shown = "";
  return {
    root,
    // Spans that stand for the same words stay, with their shades: the whole reading of a sentence
    // comes after its English side.
    /** @param {PageReading} pageReading */
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
        span.classList.toggle("generated", Boolean(generated && position >= generated.word));
    },
    /** @param {Shades} picture */
    shade: (picture) => shadeWords(spans, picture),
  };
}

// asking: positions of the words that look; weights: for each word its weight, or null for no
// shade; until: the last word that is written yet.
/** @param {Map<number, HTMLElement>} nodes @param {Shades} shades */
function shadeWords(nodes, { asking, weights, until }) {
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
/** @param {string} sentence @param {string[]} words */
function overWords(sentence, words) {
  /** @type {Child[]} */
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
