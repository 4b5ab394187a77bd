// The head of the Read view: what this is, the sentence to type, and its translation.

import { element, problem, replace } from "../lib/dom.js";
import { sentenceLine, translationLine } from "./translation.js";

// Of every view, as of the command.
export const FIRST_SENTENCE = "A dog ate the food because it was hungry";
const SENTENCES = [
  ["it was hungry", FIRST_SENTENCE],
  ["it was delicious", "A dog ate the food because it was delicious"],
  ["the cat sat", "The cat sat on the mat."],
  ["I am good", "I am good."],
  ["the book that he wanted", "She gave her brother the book that he wanted."],
];
const INVITATION = "Type any English sentence";
const TYPING_PAUSE_MS = 120; // milliseconds without a key before a sentence is read
const MAX_SENTENCE_CHARACTERS = 4000; // characters; a model of 256 tokens can read no more
const MAX_LARGE_CHARACTERS = 90; // characters that still fit in large letters
// What is chosen of a sentence means nothing in another one; its head may stay.
const WORDS = {
  q: null,
  k: null,
  changes: null,
  why: null,
  because: null,
  effects: null,
  against: null,
  step: null,
};
const CHOSEN = { ...WORDS, part: null, layer: null, head: null, show: null, beside: null };

// -> { root, announce(text, trouble), show(reading), shade(english, french), close() }
// handlers: hover(positions of English words or null) lights them elsewhere; pick(position) chooses
// a word of the sentence; empty(whether nothing is typed); typing() when the field is focused;
// leave() before another sentence is read; stale() when what is shown is no longer of what is
// typed; again() when it is once more. show
// gives false where other words are typed by now.
/**
 * @param {State} state
 * @param {Source} source
 * @param {string} first
 * @param {HeadlineHandlers} handlers
 */
export function headline(state, source, first, handlers) {
  const trouble = element("div", { class: "trouble" });
  const english = sentenceLine();
  const french = translationLine(english, handlers.hover);
  /** @param {Shades} ofEnglish @param {Shades} ofFrench */
  const shade = (ofEnglish, ofFrench) => {
    english.shade(ofEnglish);
    french.shade(ofFrench);
  };
  if (!source.live || state.get("file")) {
    const line = element("div", { class: "typed alone" }, english.root, french.root);
    return {
      root: element("div", { class: "headline" }, fileTitle(state, source), line, trouble),
      /** @param {string} _ @param {HTMLElement | null} message */
      announce: (_, message) => replace(trouble, message),
      /** @param {PageReading} reading */
      show(reading) {
        english.show(reading);
        french.show(reading);
        return true;
      },
      shade,
      close: french.close,
    };
  }
  const typed = element("div", { class: "typed" });
  const field = element("textarea", {
    class: "sentence serif",
    id: "sentence",
    rows: "1",
    spellcheck: "false",
    autocomplete: "off",
    lang: "en",
    dir: "auto",
    placeholder: `${INVITATION}, such as: The bird sang because it was happy`,
    value: state.get("sentence", first),
  });
  const fit = () => fitField(field, typed);
  const lines = { english, french };
  const quiet = listenToField(field, { state, first, trouble, fit, lines, handlers });
  const box = element("div", { class: "field" }, english.root, field);
  typed.append(element("label", { class: "small", for: "sentence" }, INVITATION), box, french.root);
  requestAnimationFrame(fit);
  const isTyping = () => document.activeElement === field;
  return {
    root: element(
      "div",
      { class: "headline" },
      introduction(state, source),
      typed,
      trouble,
      sentenceOffers(state, field),
    ),
    /** @param {string} text @param {HTMLElement | null} message */
    announce(text, message) {
      if (!isTyping() && field.value !== text) {
        field.value = text;
        french.clear("translating …");
        english.clear();
        handlers.empty(false);
        requestAnimationFrame(fit);
      }
      replace(trouble, message);
      if (message) {
        french.clear("");
        english.clear();
      }
    },
    /** @param {PageReading} reading */
    show(reading) {
      if (isTyping() && field.value.trim() !== reading.sentence) return false;
      // What is typed may have spaces around the sentence that was read.
      english.show({ ...reading, sentence: field.value });
      french.show(reading);
      return true;
    },
    shade,
    close() {
      quiet();
      french.close();
    },
  };
}

// The file that is read, with a way to the shipped model.
/** @param {State} state @param {Source} source */
function fileTitle(state, source) {
  const name = (source.page.files || [])[state.number("file", -1)];
  if (!name) return element("h1", { class: "only-read" }, "What attention sees");
  const leave = () => state.set({ file: null, ...CHOSEN }, true);
  return element(
    "div",
    { class: "introduction" },
    element("h1", null, `${name}: what a watched model looked at`),
    element(
      "button",
      { type: "button", class: "link small", on: { click: leave } },
      "Read a sentence with the shipped model",
    ),
  );
}

/** @param {State} state @param {Source} source */
function introduction(state, source) {
  /** @param {Event} event */
  const toLearn = (event) => {
    event.preventDefault();
    state.go("learn");
  };
  return element(
    "div",
    { class: "introduction" },
    element(
      "h1",
      null,
      "See what attention sees: a small translator reads your sentence, and every word shows " +
        "which words it looks at.",
    ),
    source.views.includes("learn") &&
      element(
        "a",
        { href: "#learn", class: "small", on: { click: toLearn } },
        "New to attention? Learn it from the start →",
      ),
  );
}

// Reads after a pause, at once on Enter; returns a function that stops listening.
/** @param {HTMLTextAreaElement} field @param {FieldParts} fieldParts */
function listenToField(field, { state, first, trouble, fit, lines, handlers }) {
  let waiting = 0;
  const changed = () => {
    clearTimeout(waiting);
    waiting = 0;
    const text = field.value.trim();
    handlers.empty(!text);
    if (!text) {
      lines.french.clear("");
      return;
    }
    if (text === state.get("sentence", first)) handlers.again();
    else {
      handlers.leave();
      state.set({ sentence: text, ...WORDS });
    }
  };
  // A paste that no model could read never reaches the field: laying out megabytes would stop the
  // page.
  field.addEventListener("beforeinput", (event) => {
    const text =
      event.data || (event.dataTransfer && event.dataTransfer.getData("text/plain")) || "";
    if (text.length + field.value.length <= MAX_SENTENCE_CHARACTERS) return;
    event.preventDefault();
    replace(trouble, problem(new Error(tooLong(text))));
  });
  field.addEventListener("input", () => {
    replace(trouble);
    handlers.stale();
    lines.french.clear(field.value.trim() ? "translating …" : "");
    lines.english.clear();
    fit();
    clearTimeout(waiting);
    waiting = setTimeout(changed, TYPING_PAUSE_MS);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    changed();
  });
  field.addEventListener("click", (event) => {
    const position = lines.english.wordAt(event.clientX, event.clientY);
    if (position !== null && field.selectionStart === field.selectionEnd) handlers.pick(position);
  });
  field.addEventListener("focus", () => handlers.typing());
  // What is clicked next comes after what was typed, never before it.
  field.addEventListener("blur", () => {
    if (waiting) changed();
  });
  window.addEventListener("resize", fit);
  return () => {
    clearTimeout(waiting);
    window.removeEventListener("resize", fit);
  };
}

/** @param {State} state @param {HTMLTextAreaElement} field */
function sentenceOffers(state, field) {
  /** @param {string} text */
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
/** @param {HTMLTextAreaElement} field @param {HTMLDivElement} typed */
function fitField(field, typed) {
  typed.classList.toggle("long", field.value.length > MAX_LARGE_CHARACTERS);
  field.style.setProperty("height", "auto");
  field.style.setProperty("height", `${field.scrollHeight}px`);
}

/** @param {string} text */
function tooLong(text) {
  const size = text.length.toLocaleString("en");
  return (
    `A sentence needs at most 256 tokens, but this text has ${size} characters: give its ` +
    "sentences one at a time, or watch a model read it and open the file: regard open FILE.regard."
  );
}
