// Questions to ask of the picture: why a weight is what it is, and what if it were another.

import { asWord, element, goTo, percent, prose, replace } from "../lib/dom.js";
import { pinnedWords } from "./choice.js";
import { rivalWord, wordToExplain } from "./effect_grid.js";
import { changeQuestion, readChanges, writeChanges } from "./experiment.js";
import { largest } from "./weights.js";

const DETERMINERS = new Set(
  "a an the this that these those my your his her its our their some one two".split(" "),
);
// Frequent ones, which stand between a determiner and its noun.
const ADJECTIVES = new Set(
  (
    "old young new big small little large long short tall high low good bad great fine red blue " +
    "green yellow black white brown grey dark hot cold warm heavy light poor rich happy sad " +
    "tired hungry thirsty angry sick dead strong weak clever kind brave beautiful strange wild " +
    "sweet fresh dirty clean empty full first second last next other same only whole own wooden"
  ).split(" "),
);

const EARLIER_WORDS = 4; // of an earlier sentence, on a button

// The link that questions are about: the chosen word, the key that it looks at most (or the chosen
// one), and a rival; null where several words, an average or pieces of words are shown.
/** @param {ReadView} view */
export function questionedLink(view) {
  const { grid, choice, state } = view;
  if (!grid || grid.hidden || choice.show !== "head" || state.get("by", "words") !== "words")
    return null;
  const { queries, keys } = pinnedWords(view);
  if (queries.length !== 1 || keys.length > 1) return null;
  const row = grid.weights.subarray(queries[0] * grid.columns, (queries[0] + 1) * grid.columns);
  const [best] = largest(row, 1);
  const key = keys.length ? keys[0] : best;
  if (key === undefined) return null;
  const rival = keys.length && key !== best ? key : rivalNoun(grid.keys, row, [key, queries[0]]);
  return { query: queries[0], key, rival, weight: row[key] };
}

// The noun that could have been meant: of the words after a determiner, adjectives apart, the one
// with most weight; of all words where there is none.
function rivalNoun(words, row, taken) {
  const others = largest(row, row.length).filter(
    (k) => !taken.includes(k) && !/^\(.*\)$/.test(words[k]),
  );
  const isAdjective = (k) => k >= 0 && ADJECTIVES.has(words[k].toLowerCase());
  const isNoun = (k) => {
    let before = k - 1;
    while (isAdjective(before)) before -= 1;
    return !isAdjective(k) && before >= 0 && DETERMINERS.has(words[before].toLowerCase());
  };
  return others.find(isNoun) ?? others[0];
}

/** @param {ReadView} view */
export function drawQuestions(view) {
  const link = view.peek ? null : questionedLink(view);
  const { state, source, choice, part, reading } = view;
  const live = source.live && reading && reading.file === undefined;
  const { base } = view;
  const known = base && base.alignment ? base.sentence : "";
  const shown = [state.get("why"), state.get("effects"), state.get("changes")];
  const fields = [...shown, reading && reading.sentence, known, view.earlier, state.get("beside")];
  const request = JSON.stringify([link, choice, part && part.name, live, ...fields]);
  if (view.asked === request) return;
  view.asked = request;
  view.questions.hidden = !live && !(part && part.steps);
  replace(view.questions, link ? buttonsFor(view, link, live) : []);
}

/** @param {ReadView} view */
function buttonsFor(view, link, live) {
  const { state, choice, part, reading } = view;
  const { part: name, layer, head } = choice;
  const ask = (change) => () => {
    const others = readChanges(state.get("changes"));
    state.set({ changes: writeChanges([...others, change]), q: link.query, k: null }, true);
  };
  const question = (change) => {
    const [text, term] = changeQuestion(change, reading);
    const label = [prose(text), element("small", null, ` ${term}`)];
    return element(
      "button",
      { type: "button", class: "button", on: { click: ask(change) } },
      label,
    );
  };
  const where = { part: name, layer, head };
  const off = writeChanges([{ change: "ablate", ...where }]);
  const isOff = writeChanges(readChanges(state.get("changes")))
    .split("~")
    .includes(off);
  const covers =
    live && part.key.language === "English" && !/^\(.*\)$/.test(part.key.words[link.key]);
  return [
    part.steps && !reading.changes && whyButton(view, link),
    live &&
      link.rival !== undefined &&
      question({ change: "redirect", word: link.query, to: link.rival, ...where }),
    covers && question({ change: "knock_out", word: link.key }),
    live && !isOff && question({ change: "ablate", ...where }),
    live && isTranslated(view) && effectsButton(view, link),
    live && view.earlier && earlierButton(view),
  ];
}

// Whether the translation that is known is of the sentence that is shown.
/** @param {ReadView} view */
function isTranslated({ base, reading }) {
  return base && base.alignment && base.sentence === reading.sentence;
}

// The sentence to compare with: of one that is typed the one that it was made from, not what stood
// there between two keys.
/** @param {ReadView} view */
export function rememberEarlier(view, sentence) {
  const earlier = isTyping() ? view.typedOver : view.sentence;
  view.earlier = earlier === sentence ? undefined : earlier;
}

export function isTyping() {
  return document.activeElement !== null && document.activeElement.id === "sentence";
}

// The sentence that stood here before: what changed with the words?
/** @param {ReadView} view */
function earlierButton(view) {
  const { state, earlier, reading } = view;
  const beside = `sentence.${earlier}`;
  const isOpen = state.get("beside") === beside;
  const label = [prose(`Beside ${asWord(differingEnd(earlier, reading.sentence))}`)];
  return element(
    "button",
    {
      type: "button",
      class: "button",
      title: earlier,
      "aria-expanded": String(isOpen),
      on: {
        click() {
          view.scrollTarget = isOpen ? null : view.beside.root;
          state.set({ beside: isOpen ? null : beside }, true);
        },
      },
    },
    ...label,
    element("small", null, " compare"),
  );
}

// Of a sentence the words from the first that differs, or its first words.
function differingEnd(sentence, other) {
  const [words, others] = [sentence.split(" "), other.split(" ")];
  const at = words.findIndex((word, n) => word !== others[n]);
  const shown = words.slice(Math.max(0, at), Math.max(0, at) + EARLIER_WORDS);
  return `${at > 0 ? "… " : ""}${shown.join(" ")}${at + EARLIER_WORDS < words.length ? " …" : ""}`;
}

// Every head switched off in turn: which of them decide the word that this one became?
/** @param {ReadView} view */
function effectsButton(view, link) {
  const { state, base } = view;
  const of = wordToExplain(view, link);
  const word = base.alignment.words[of];
  const isOpen = state.get("effects") === String(of);
  const asked = { effects: of, against: rivalWord(word.toLowerCase()) };
  const fields = isOpen ? { effects: null, against: null } : asked;
  return element(
    "button",
    {
      type: "button",
      class: "button",
      "aria-expanded": String(isOpen),
      on: {
        click() {
          state.set(fields, true);
          if (!isOpen) goTo(view.effects, "nearest");
        },
      },
    },
    prose(`Which heads decide ${asWord(word)}?`),
    element("small", null, " effects"),
  );
}

/** @param {ReadView} view */
function whyButton(view, link) {
  const { state } = view;
  const isOpen = state.get("why") === "yes";
  return element(
    "button",
    {
      type: "button",
      class: "button primary",
      "aria-expanded": String(isOpen),
      on: {
        click() {
          view.scrollTarget = isOpen ? null : view.why;
          state.set({ why: isOpen ? null : "yes" });
        },
      },
    },
    `Why ${percent(link.weight)}?`,
  );
}
