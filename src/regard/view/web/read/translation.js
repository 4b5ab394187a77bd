// The translation, each word linked to the words it came from.

import {
  asWord,
  element,
  percent,
  replace,
  svgElement,
  prose,
  withoutMarksOfWords,
} from "../lib/dom.js";
import { shadeWords } from "./sentence_line.js";

// hover(positions of English words or null) lights them up elsewhere; english is the line of the
// sentence (sentence_line.js), where links begin.
export function translationLine(english, hover) {
  const to = element("p", { class: "french", lang: "fr" });
  const links = svgElement("svg", { class: "links", "aria-hidden": "true" });
  const caption = element("p", { class: "small quiet came", role: "status" });
  const root = element("div", { class: "translation" }, links, to, caption);
  let reading = null;
  let buttons = new Map();
  const redraw = () => {
    if (reading && root.isConnected) drawLinks(links, english.root, to, reading);
  };
  const resized = new ResizeObserver(redraw);
  resized.observe(root);
  // Nothing of a sentence that was changed stays under the new one.
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
    show(next) {
      root.hidden = !next.alignment && !next.quick;
      if (next === reading) return;
      if (!next.alignment) {
        clear("translating …");
        return;
      }
      root.classList.remove("waiting");
      reading = next;
      const make = (word, at) => frenchWord(word, at, next, { root, english, hover, caption });
      replace(to, spacedWords(next.alignment.words, make));
      buttons = new Map(
        [...to.querySelectorAll("button")].map((one) => [Number(one.dataset.position), one]),
      );
      requestAnimationFrame(redraw);
    },
    shade: (picture) => shadeWords(buttons, picture),
    close() {
      resized.disconnect();
    },
  };
}

function frenchWord(word, at, reading, { root, english, hover, caption }) {
  const sources = reading.alignment.sources[at];
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
      "aria-label": withoutMarksOfWords(`${word}, from ${arrived}`),
      on: { pointerenter: on, pointerleave: off, focus: on, blur: off },
    },
    word,
  );
}

// Words with the spaces that writing has: none before a full stop, none after an apostrophe.
export function spacedWords(words, make) {
  return words.flatMap((word, at) => {
    const apart =
      at > 0 && !/^[.,…)]/.test(word) && !/['’]$/.test(words[at - 1]) && words[at - 1] !== "(";
    return [apart ? (/^[;:!?]$/.test(word) ? "\u202f" : " ") : "", make(word, at)];
  });
}

function markedAs(root, at) {
  for (const path of root.querySelectorAll(".links path"))
    path.classList.toggle("lit", path.dataset.word === String(at));
  root.classList.toggle("some", at >= 0);
}

// Lines are drawn while each language is on one line; else lighting up has to do.
function drawLinks(links, from, to, reading) {
  const box = links.getBoundingClientRect();
  const oneLine = (line) => line.offsetHeight < 2.6 * parseFloat(getComputedStyle(line).fontSize);
  const fits = oneLine(from) && oneLine(to) && box.width > 0;
  links.classList.toggle("none", !fits);
  if (!fits) {
    replace(links);
    return;
  }
  const { height } = links.getBoundingClientRect();
  links.setAttribute("viewBox", `0 0 ${box.width} ${height}`);
  const middle = (node) => {
    const one = node.getBoundingClientRect();
    return one.left + one.width / 2 - box.left;
  };
  replace(
    links,
    reading.alignment.sources.flatMap((sources, at) =>
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
