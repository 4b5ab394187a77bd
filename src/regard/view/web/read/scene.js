// The first scene: a question about a word, the sentence as the picture, three things to do with
// it, and a field for a sentence of one's own.

import { asWord, element, problem, prose, replace } from "../lib/dom.js";
import { EXAMPLES, exampleOf, FIRST_SENTENCE, sentenceWith } from "./examples.js";
import { sentenceStage } from "./stage.js";
import { whyStep } from "./why.js";

const INVITATION = "Type any English sentence";
const HINT = "Click a word to strike it out. Drag the ring to another word.";
const TOUCHES = ["pointermove", "pointerdown", "keydown"];
const TYPING_PAUSE_MS = 120; // milliseconds without a key before a sentence is read
const MAX_SENTENCE_CHARACTERS = 4000; // characters; a model of 256 tokens can read no more
const PRONOUNS_ASKED = /^(it|they|he|she|him|her|them|its|his|their)$/i;
/** @type {Record<string, string>} */
const FRENCH_CHOICES = {
  ...{ the: "le or la", a: "un or une", an: "un or une", my: "mon or ma", this: "ce or cette" },
};
// What is chosen of a sentence means nothing in another one; its head may stay.
const WORDS = {
  ...{ q: null, changes: null, because: null, guess: null },
  ...{ effects: null, against: null, row: null, key: null },
};
const CHOSEN = { ...WORDS, why: null, part: null, layer: null, head: null };

// handlers: see SceneHandlers in types.d.ts.
/** @param {State} state @param {Source} source @param {SceneHandlers} handlers */
export function firstScene(state, source, handlers) {
  const isLive = source.live;
  const question = element("h1.scene-question");
  const about = element("p.scene-about");
  const note = element("p.scene-note", { role: "status" });
  const questions = element("div.questions");
  /** @param {string} sentence @param {Fields} [fields] */
  const read = (sentence, fields = CHOSEN) => state.set({ sentence, ...fields }, true);
  const stage = sentenceStage({
    point: handlers.point,
    source: (positions, said) => {
      handlers.source(positions);
      replace(note, said ? prose(said) : noted);
    },
    ...(isLive
      ? {
          strike: handlers.strike,
          look: handlers.look,
          soon: handlers.soon,
          // The head and what is unfolded stay: the other ending is looked at in the same way.
          ending: (sentence) => read(sentence, WORDS),
        }
      : {}),
  });
  const said = element("span");
  const others = element("button.link", { on: { click: handlers.others } }, "Other heads");
  const effects = element("span");
  const head = element(
    "p.head-said.small.quiet",
    ...[said, " ", source.views.includes("map") && others, " ", effects],
  );
  // What a first visitor need not read yet has its room, and is there from the first touch on.
  const asNew = isLive && state.address() === "#read";
  let isNew = asNew;
  const touched = () => {
    isNew = false;
    root.classList.remove("new");
    replace(note, noted);
    for (const name of TOUCHES) window.removeEventListener(name, touched, true);
  };
  /** @type {Child} */
  let noted = "";
  let shownText = isLive ? state.get("sentence", FIRST_SENTENCE) : "";
  /** @param {string} text */
  const showPlain = (text) => {
    shownText = text;
    stage.plain(text);
  };
  const field = ownSentence(state, handlers, showPlain, (message) => replace(note, message));
  const next = nextExample(state, read);
  const staged = element(
    "div.staged",
    question,
    about,
    stage.root,
    note,
    questions,
    isLive && element("p.hint", HINT),
    isLive && element("div.own-sentence", field.root, next.root),
    head,
  );
  const root = element(
    "section",
    { class: `first-scene expected${isNew ? " new" : ""}`, "aria-label": "The sentence" },
    staged,
  );
  drawQuestion(question, about, expectedModel(state), () => {});
  if (isNew) for (const name of TOUCHES) window.addEventListener(name, touched, true);
  showPlain(shownText);
  return {
    root,
    stage: stage.root,
    questions,
    /** @param {Child} button */
    drawEffectsLink: (button) => replace(effects, button),
    /** @param {string} text @param {HTMLElement | null} message */
    announce(text, message) {
      field.announce(text);
      next.show(text);
      const [now, other] = [exampleOf(shownText), exampleOf(text)];
      const isSibling = now && other && now.number === other.number;
      // Of the other ending the words and the line stay until they move.
      if (isLive && ((text !== shownText && !isSibling) || message)) showPlain(text);
      if (message) replace(note, message);
    },
    /** @param {PageReading} reading */
    show(reading) {
      if (!field.isOf(reading.sentence)) return false;
      shownText = reading.sentence;
      stage.show(reading, reading.sentence);
      return true;
    },
    /** @param {SceneModel} model @param {number} milliseconds */
    draw(model, milliseconds) {
      noted = model.note;
      root.classList.remove("expected");
      drawQuestion(question, about, model, (position) => state.set({ q: position, changes: null }));
      replace(note, isNew ? invitation(shownText) : noted);
      stage.draw(model.stage, milliseconds);
      stage.compare(model.before, model.after);
      replace(said, prose(model.head));
    },
    close() {
      for (const name of TOUCHES) window.removeEventListener(name, touched, true);
      field.close();
      stage.close();
    },
  };
}

// What the question is likely to be, unseen and with its room, until it is known.
/** @param {State} state @returns {QuestionModel} */
function expectedModel(state) {
  const step = whyStep(state);
  return {
    words: [],
    asking: { name: "it", position: -1 },
    heads: 144,
    explained: step && "mouse",
    tried: step === "try" ? "food" : null,
  };
}

/** @param {string} sentence @returns {Child} */
function invitation(sentence) {
  const example = exampleOf(sentence);
  if (!example) return "";
  const [one, other] = example.endings.map((ending) => element("i", ending));
  return [one, " or ", other, ": you try."];
}

// "What does it mean?", with the word as a choice of all words; "Why dog?" while that is explained.
/**
 * @param {HTMLElement} question
 * @param {HTMLElement} about
 * @param {QuestionModel} model
 * @param {(position: number) => void} ask
 */
function drawQuestion(question, about, { words, asking, heads, explained, tried }, ask) {
  const word = asking?.name ?? "";
  const drawn = JSON.stringify([words, asking, explained, tried]);
  if (question.dataset.drawn === drawn) return;
  question.dataset.drawn = drawn;
  if (tried) {
    replace(question, "What if ", element("i", word), " looked at ", element("i", tried), "?");
    replace(
      about,
      prose(
        `Drag the ring from ${asWord(explained ?? "")} to ${asWord(tried)}: the translator runs ` +
          "again, with this one line moved.",
      ),
    );
    return;
  }
  if (explained) {
    const [query, key] = ["query", "key"].map((name) =>
      element("span", { class: `of-${name}` }, name),
    );
    replace(question, "Why ", element("i", explained), "?");
    replace(about, "The ", query, prose(` of ${asWord(word)} meets the `), key, " of every word.");
    return;
  }
  const isPronoun = PRONOUNS_ASKED.test(word);
  const list = element(
    "select.asked",
    {
      "aria-label": "The word that looks",
      on: { change: (event) => ask(Number(event.target.value)) },
    },
    asking === null && element("option", { value: "", selected: true }, "a word"),
    words.map(({ name, position }) =>
      element("option", { value: position, selected: position === asking?.position }, name),
    ),
  );
  replace(question, isPronoun ? ["What does ", list, " mean?"] : ["Where does ", list, " look?"]);
  const looks = `The line shows where one of its ${heads} attention heads looks from`;
  const choices = FRENCH_CHOICES[word.toLowerCase()];
  replace(
    about,
    prose(
      choices
        ? `Is it ${choices} in French? The noun decides. ${looks} ${asWord(word)}.`
        : isPronoun
          ? `A small translator must know, or its French is wrong. ${looks} ${asWord(word)}.`
          : `A small translator turns this into French. ${looks} ${asWord(word || "each word")}.`,
    ),
  );
}

// One example after the other.
/** @param {State} state @param {(sentence: string) => void} read */
function nextExample(state, read) {
  let at = 0;
  const shown = () => EXAMPLES[(at + 1) % EXAMPLES.length];
  const text = element("i");
  const root = element(
    "button.link",
    { on: { click: () => read(sentenceWith(shown(), 0)) } },
    "Another one: ",
    text,
  );
  const show = (/** @type {string} */ sentence) => {
    at = exampleOf(sentence)?.number ?? -1;
    const offered = `${shown().start} …`;
    // A text that is replaced under a pointer that is down would end its click.
    if (text.textContent !== offered) text.textContent = offered;
  };
  show(state.get("sentence", FIRST_SENTENCE));
  return { root, show };
}

/**
 * @param {State} state
 * @param {SceneHandlers} handlers
 * @param {(text: string) => void} showPlain
 * @param {(message: HTMLElement | null) => void} say
 */
function ownSentence(state, handlers, showPlain, say) {
  const field = element("textarea.sentence.serif", {
    id: "sentence",
    rows: "1",
    spellcheck: "false",
    autocomplete: "off",
    lang: "en",
    dir: "auto",
    placeholder: INVITATION,
  });
  const root = element(
    "div.field",
    element("label.only-read", { for: "sentence" }, INVITATION),
    field,
  );
  const isTyping = () => document.activeElement === field;
  const fit = () => {
    field.style.setProperty("height", "auto");
    if (field.value) field.style.setProperty("height", `${field.scrollHeight + 2}px`);
  };
  const close = listenToField(field, { state, fit, handlers, showPlain, say });
  return {
    root,
    close,
    // The field shows what was typed into it; an example leaves it empty.
    /** @param {string} text */
    announce(text) {
      if (isTyping() || field.value.trim() === text) return;
      field.value = exampleOf(text) ? "" : text;
      handlers.empty(false);
      requestAnimationFrame(fit);
    },
    /** @param {string} sentence */
    isOf: (sentence) => !isTyping() || !field.value.trim() || field.value.trim() === sentence,
  };
}

// Reads after a pause, at once on Enter; returns a function that stops listening.
/** @param {HTMLTextAreaElement} field @param {FieldParts} parts */
function listenToField(field, { state, fit, handlers, showPlain, say }) {
  let waiting = 0;
  const changed = () => {
    clearTimeout(waiting);
    waiting = 0;
    const text = field.value.trim();
    handlers.empty(!text);
    if (!text) return;
    if (text === state.get("sentence", FIRST_SENTENCE)) handlers.again();
    else {
      handlers.leave();
      state.set({ sentence: text, ...WORDS, why: null });
    }
  };
  // A paste that no model could read never reaches the field: laying out megabytes would stop the
  // page.
  field.addEventListener("beforeinput", (event) => {
    const text =
      event.data || (event.dataTransfer && event.dataTransfer.getData("text/plain")) || "";
    if (text.length + field.value.length <= MAX_SENTENCE_CHARACTERS) return;
    event.preventDefault();
    say(problem(new Error(tooLong(text))));
  });
  field.addEventListener("input", () => {
    say(null);
    handlers.stale();
    showPlain(field.value.trim());
    fit();
    clearTimeout(waiting);
    waiting = setTimeout(changed, TYPING_PAUSE_MS);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    changed();
  });
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

/** @param {string} text */
function tooLong(text) {
  const size = text.length.toLocaleString("en");
  return (
    `A sentence needs at most 256 tokens, but this text has ${size} characters: give its ` +
    "sentences one at a time, or watch a model read it and open the file: regard open FILE.regard."
  );
}
