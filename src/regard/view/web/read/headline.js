// The head of the Read view: the sentence to type, and its translation.

import { element, problem, replace } from "../lib/dom.js";
import { translationLine } from "./translation.js";

// Of every view, as of the command.
export const FIRST_SENTENCE = "A dog ate the food because it was hungry";
const SENTENCES = [
  ["it was hungry", FIRST_SENTENCE],
  ["it was delicious", "A dog ate the food because it was delicious"],
  ["the cat sat", "The cat sat on the mat."],
  ["I am good", "I am good."],
  ["the book that he wanted", "She gave her brother the book that he wanted."],
];
const PAUSE = 120; // milliseconds without a key before a sentence is read
const LONGEST = 4000; // characters; a model of 256 tokens can read no more
const LONG_LINE = 90; // characters that still fit in large letters
const CHOSEN = { part: null, layer: null, head: null, show: null, q: null, k: null };

// -> { root, announce(text, trouble), show(reading), close() }
// hover(positions of English words or null) lights them elsewhere.
export function headline(state, source, first, hover) {
  const trouble = element("div");
  const french = translationLine(hover);
  if (!source.live) {
    french.root.classList.add("alone");
    const root = element("div", { class: "headline" }, french.root, trouble);
    return {
      root,
      announce: (_, message) => replace(trouble, message),
      show: french.show,
      close: french.close,
    };
  }
  const typed = element("div", { class: "typed" });
  const field = element("textarea", {
    class: "sentence serif",
    rows: "1",
    spellcheck: "false",
    autocomplete: "off",
    lang: "en",
    "aria-label": "An English sentence",
    value: state.get("sentence", first),
  });
  const fit = () => fitField(field, typed);
  const quiet = listenToField(field, { state, first, trouble, fit, french });
  typed.append(field, french.root);
  requestAnimationFrame(fit);
  const isTyping = () => document.activeElement === field;
  return {
    root: element("div", { class: "headline" }, typed, trouble, offersOf(state, field)),
    announce(text, message) {
      if (!isTyping() && field.value !== text) {
        field.value = text;
        requestAnimationFrame(fit);
      }
      replace(trouble, message);
    },
    show(reading) {
      if (!isTyping() || field.value.trim() === reading.sentence) french.show(reading);
    },
    close() {
      quiet();
      french.close();
    },
  };
}

// Reads after a pause, at once on Enter; returns a function that stops listening.
function listenToField(field, { state, first, trouble, fit, french }) {
  let waiting = 0;
  const changed = () => {
    clearTimeout(waiting);
    const text = field.value.trim();
    if (!text || text === state.get("sentence", first)) return;
    replace(trouble);
    state.set({ sentence: text, q: null, k: null });
  };
  // A paste that no model could read never reaches the field: laying out megabytes would stop the
  // page.
  field.addEventListener("beforeinput", (event) => {
    const text =
      event.data || (event.dataTransfer && event.dataTransfer.getData("text/plain")) || "";
    if (text.length + field.value.length <= LONGEST) return;
    event.preventDefault();
    replace(trouble, problem(new Error(tooLong(text))));
  });
  field.addEventListener("input", () => {
    french.stale();
    fit();
    clearTimeout(waiting);
    waiting = setTimeout(changed, PAUSE);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    changed();
  });
  field.addEventListener("change", changed);
  window.addEventListener("resize", fit);
  return () => {
    clearTimeout(waiting);
    window.removeEventListener("resize", fit);
  };
}

function offersOf(state, field) {
  const offer = (text) => () => {
    field.blur();
    state.set({ sentence: text, ...CHOSEN }, true);
  };
  return element(
    "p",
    { class: "offers small quiet" },
    "Try: ",
    SENTENCES.map(([name, text], at) => [
      at > 0 && " · ",
      element(
        "button",
        { type: "button", class: "link", title: text, on: { click: offer(text) } },
        name,
      ),
    ]),
  );
}

// As high as its text.
function fitField(field, typed) {
  typed.classList.toggle("long", field.value.length > LONG_LINE);
  field.style.setProperty("height", "auto");
  field.style.setProperty("height", `${field.scrollHeight}px`);
}

function tooLong(text) {
  const size = text.length.toLocaleString("en");
  return (
    `A sentence needs at most 256 tokens, but this text has ${size} characters: give its ` +
    "sentences one at a time, or watch a model read it and open the file: regard open FILE.regard."
  );
}
