// The translation, each word linked to the words it came from.

import {
  asWord,
  element,
  percent,
  prose,
  replace,
  svgElement,
  withoutWordMarks,
} from "../lib/dom.js";
import { tint } from "../lib/draw.js";

// hover(positions of English words or null) lights them up elsewhere; english is the line of the
// sentence (below), where links begin.
/** @param {SentenceLine} english @param {(positions: number[] | null) => void} hover */
export function translationLine(english, hover) {
  const to = element("p", { class: "french", lang: "fr" });
  const links = svgElement("svg", { class: "links", "aria-hidden": "true" });
  const caption = element("p", { class: "small quiet came", role: "status" });
  const root = element("div", { class: "translation" }, links, to, caption);
  /** @type {PageReading | null} */
  let reading = null;
  /** @type {Map<number, HTMLElement>} */
  let buttons = new Map();
  const redraw = () => {
    if (reading && root.isConnected) drawLinks(links, english.root, to, reading);
  };
  const resized = new ResizeObserver(redraw);
  resized.observe(root);
  // Nothing of a sentence that was changed stays under the new one.
  /** @param {string} text */
  const clear = (text) => {
    reading = null;
    buttons = new Map();
    root.classList.add("waiting");
    replace(to, text && element("span", { class: "small" }, text));
    replace(links);
    caption.textContent = "";
  };
  return {
    root,
    clear,
    /** @param {PageReading} next */
    show(next) {
      root.hidden = !next.alignment && !next.quick;
      if (next === reading) return;
      if (!next.alignment) {
        clear("translating …");
        return;
      }
      root.classList.remove("waiting");
      reading = next;
      /** @param {string} word @param {number} at */
      const make = (word, at) => frenchWord(word, at, next, { root, english, hover, caption });
      replace(to, spacedWords(next.alignment.words, make));
      buttons = new Map(
        [...to.querySelectorAll("button")].map((one) => [Number(one.dataset.position), one]),
      );
      requestAnimationFrame(redraw);
    },
    /** @param {Shades} picture */
    shade: (picture) => shadeWords(buttons, picture),
    close() {
      resized.disconnect();
    },
  };
}

/**
 * @param {string} word
 * @param {number} at
 * @param {PageReading} reading
 * @param {TranslationParts} translationParts
 */
function frenchWord(word, at, reading, { root, english, hover, caption }) {
  const sources = reading.alignment?.sources[at] || [];
  const { words } = reading.parts[0].query;
  const arrived =
    sources.map(({ key, weight }) => `${asWord(words[key])} ${percent(weight)}`).join(", ") ||
    "no word in particular";
  const on = () => {
    markedAs(root, at);
    english.light(sources.map(({ key }) => key));
    hover(sources.map(({ key }) => key));
    replace(caption, prose(`${asWord(word)} came from ${arrived}`));
  };
  const off = () => {
    markedAs(root, -1);
    english.light([]);
    hover(null);
    caption.textContent = "";
  };
  return element(
    "button",
    {
      type: "button",
      "data-position": at,
      "aria-label": withoutWordMarks(`${word}, from ${arrived}`),
      on: { pointerenter: on, pointerleave: off, focus: on, blur: off },
    },
    word,
  );
}

// Words with the spaces that writing has: none before a full stop, none after an apostrophe.
/** @param {string[]} words @param {(word: string, at: number) => Child} make */
export function spacedWords(words, make) {
  return words.flatMap((word, at) => {
    const apart =
      at > 0 && !/^[.,…)]/.test(word) && !/['’]$/.test(words[at - 1]) && words[at - 1] !== "(";
    return [apart ? (/^[;:!?]$/.test(word) ? "\u202f" : " ") : "", make(word, at)];
  });
}

/** @param {HTMLElement} root @param {number} at */
function markedAs(root, at) {
  for (const path of root.querySelectorAll(".links path"))
    path.classList.toggle("lit", path.getAttribute("data-word") === String(at));
  root.classList.toggle("some", at >= 0);
}

// Lines are drawn while each language is on one line; else lighting up has to do.
/**
 * @param {SVGSVGElement} links
 * @param {HTMLElement} from
 * @param {HTMLElement} to
 * @param {PageReading} reading
 */
function drawLinks(links, from, to, reading) {
  const box = links.getBoundingClientRect();
  /** @param {HTMLElement} line */
  const oneLine = (line) => line.offsetHeight < 2.6 * parseFloat(getComputedStyle(line).fontSize);
  const fits = oneLine(from) && oneLine(to) && box.width > 0;
  links.classList.toggle("none", !fits);
  if (!fits) {
    replace(links);
    return;
  }
  const { height } = links.getBoundingClientRect();
  links.setAttribute("viewBox", `0 0 ${box.width} ${height}`);
  /** @param {Element} node */
  const middle = (node) => {
    const one = node.getBoundingClientRect();
    return one.left + one.width / 2 - box.left;
  };
  replace(
    links,
    (reading.alignment?.sources || []).flatMap((sources, at) =>
      sources.map(({ key, weight }) => {
        const [english, french] = [
          from.querySelector(`[data-position="${key}"]`),
          to.querySelector(`[data-position="${at}"]`),
        ];
        if (!english || !french) return null;
        const [x1, x2] = [middle(english), middle(french)];
        const curve = `M${x1} 2C${x1} ${height / 2} ${x2} ${height / 2} ${x2} ${height - 2}`;
        return svgElement("path", { d: curve, "data-word": at, "stroke-width": 0.5 + 2 * weight });
      }),
    ),
  );
}

// The sentence itself as a picture: its words shaded by the weights of the chosen word.

// -> { root, show(reading), shade({ asking, weights }), light(positions) }
// The line lies behind the field where the sentence is typed, or stands alone where nothing can be
// typed.
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
    clear() {
      shown = "";
      spans = new Map();
      replace(root);
    },
    /** @param {Shades} picture */
    shade: (picture) => shadeWords(spans, picture),
    /** @param {number[]} positions */
    light(positions) {
      const lit = new Set(positions);
      for (const [position, span] of spans) span.classList.toggle("lit", lit.has(position));
    },
    /** @param {number} x @param {number} y */
    wordAt: (x, y) => wordAt(spans, x, y),
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

// The position of the word at a point of the window; null beside and between words, where a click
// means typing.
/** @param {Map<number, HTMLElement>} spans @param {number} x @param {number} y */
function wordAt(spans, x, y) {
  for (const [position, span] of spans)
    for (const { left, right, top, bottom } of span.getClientRects())
      if (x >= left && x <= right && y >= top && y <= bottom) return position;
  return null;
}
