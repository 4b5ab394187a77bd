// The translation, each word linked to the words it came from.

import { element, percent, replace, svgElement } from "../lib/dom.js";

// hover(positions of English words or null) lights them up elsewhere. The English line lies
// invisibly over the field where the sentence is typed, so that links can begin at its words.
export function translationLine(hover) {
  const from = element("p", { class: "english", lang: "en", "aria-hidden": "true" });
  const to = element("p", { class: "french", lang: "fr" });
  const links = svgElement("svg", { class: "links", "aria-hidden": "true" });
  const caption = element("p", { class: "small quiet came", role: "status" });
  const root = element("div", { class: "translation" }, from, links, to, caption);
  let reading = null;
  const redraw = () => {
    if (reading && root.isConnected) drawLinks(root, links, from, to, reading);
  };
  const resized = new ResizeObserver(redraw);
  resized.observe(root);
  return {
    root,
    stale() {
      root.classList.add("waiting");
    },
    show(next) {
      root.hidden = !next.alignment && !next.quick;
      root.classList.toggle("waiting", !next.alignment);
      if (next.quick && !reading) to.textContent = "translating …";
      if (!next.alignment || next === reading) return;
      reading = next;
      const { words } = next.parts[0].query;
      replace(from, overWords(next.sentence, words));
      replace(
        to,
        spaced(next.alignment.words, (word, at) =>
          frenchWord(word, at, next, { root, hover, caption }),
        ),
      );
      requestAnimationFrame(redraw);
    },
    close() {
      resized.disconnect();
    },
  };
}

function frenchWord(word, at, reading, { root, hover, caption }) {
  const sources = reading.alignment.sources[at];
  const { words } = reading.parts[0].query;
  const arrived =
    sources.map(({ key, weight }) => `${words[key]} ${percent(weight)}`).join(", ") ||
    "no word in particular";
  const on = () => {
    markedAs(root, at, sources);
    hover(sources.map(({ key }) => key));
    caption.textContent = `${word} came from ${arrived}`;
  };
  const off = () => {
    markedAs(root, -1, []);
    hover(null);
    caption.textContent = "";
  };
  return element(
    "button",
    {
      type: "button",
      "data-position": at,
      "aria-label": `${word}, from ${arrived}`,
      on: { pointerenter: on, pointerleave: off, focus: on, blur: off },
    },
    word,
  );
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

// Words with the spaces that writing has: none before a full stop, none after an apostrophe.
function spaced(words, make) {
  return words.flatMap((word, at) => {
    const apart =
      at > 0 && !/^[.,…)]/.test(word) && !/['’]$/.test(words[at - 1]) && words[at - 1] !== "(";
    return [apart ? (/^[;:!?]$/.test(word) ? "\u202f" : " ") : "", make(word, at)];
  });
}

function markedAs(root, at, sources) {
  const keys = new Set(sources.map(({ key }) => String(key)));
  for (const span of root.querySelectorAll(".english span"))
    span.classList.toggle("lit", keys.has(span.dataset.position));
  for (const path of root.querySelectorAll(".links path"))
    path.classList.toggle("lit", path.dataset.word === String(at));
  root.classList.toggle("some", at >= 0);
}

// Lines are drawn while each language is on one line; else lighting up has to do.
function drawLinks(root, links, from, to, reading) {
  const box = links.getBoundingClientRect();
  const oneLine = (line) => line.offsetHeight < 2 * parseFloat(getComputedStyle(line).fontSize);
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
        if (!english) return null;
        const [x1, x2] = [middle(english), middle(french)];
        const curve = `M${x1} 2C${x1} ${height / 2} ${x2} ${height / 2} ${x2} ${height - 2}`;
        return svgElement("path", { d: curve, "data-word": at, "stroke-width": 0.5 + 2 * weight });
      }),
    ),
  );
}
