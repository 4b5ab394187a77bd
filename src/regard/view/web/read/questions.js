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
/** @param {State} state @param {Shown} shown @returns {Link | null} */
export function questionedLink(state, shown) {
  const { grid, choice } = shown;
  if (grid.hidden || choice.show !== "head" || state.get("by", "words") !== "words") return null;
  const { queries, keys } = pinnedWords(state, shown);
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
/** @param {string[]} words @param {Float32Array} row @param {number[]} taken */
function rivalNoun(words, row, taken) {
  const others = largest(row, row.length).filter(
    (k) => !taken.includes(k) && !/^\(.*\)$/.test(words[k]),
  );
  /** @param {number} k */
  const isAdjective = (k) => k >= 0 && ADJECTIVES.has(words[k].toLowerCase());
  /** @param {number} k */
  const isNoun = (k) => {
    let before = k - 1;
    while (isAdjective(before)) before -= 1;
    return !isAdjective(k) && before >= 0 && DETERMINERS.has(words[before].toLowerCase());
  };
  return others.find(isNoun) ?? others[0];
}

/** @param {ReadView} view */
export function drawQuestions(view) {
  const { state, source, data, selection, elements } = view;
  const { shown, base, earlier } = data;
  if (!shown) return;
  const { reading, part, choice } = shown;
  const link = selection.peek ? null : questionedLink(state, shown);
  const live = source.live && reading.file === undefined;
  const known = base?.alignment ? base.sentence : "";
  const open = ["why", "effects", "changes", "beside"].map((field) => state.get(field));
  const request = JSON.stringify([
    ...[link, choice, part.name, live, reading.sentence, known, earlier],
    ...open,
  ]);
  if (elements.drawnFrom.questions === request) return;
  elements.drawnFrom.questions = request;
  elements.questions.hidden = !live && !part.steps;
  replace(elements.questions, link ? buttonsFor(view, shown, link, live) : []);
}

/** @param {ReadView} view @param {Shown} shown @param {Link} link @param {boolean} live */
function buttonsFor(view, shown, link, live) {
  const { state, data } = view;
  const { choice, part, reading } = shown;
  const { part: name, layer, head } = choice;
  /** @param {Change} change */
  const ask = (change) => () => {
    const others = readChanges(state.get("changes"));
    state.set({ changes: writeChanges([...others, change]), q: link.query, k: null }, true);
  };
  /** @param {Change} change */
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
  // The translation that is known may be of the sentence before.
  const { base, earlier } = data;
  const alignment = base && base.sentence === reading.sentence ? base.alignment : null;
  return [
    part.steps && !reading.changes && whyButton(view, link),
    live &&
      link.rival !== undefined &&
      question({ change: "redirect", word: link.query, to: link.rival, ...where }),
    covers && question({ change: "knock_out", word: link.key }),
    live && !isOff && question({ change: "ablate", ...where }),
    live && alignment && effectsButton(view, alignment, wordToExplain(alignment, part, link)),
    live && earlier && earlierButton(view, earlier, reading.sentence),
  ];
}

// The sentence to compare with: of one that is typed the one that it was made from, not what stood
// there between two keys.
/** @param {ReadView} view @param {string} sentence */
export function rememberEarlier({ data, selection }, sentence) {
  const earlier = isTyping() ? selection.typedOver : data.sentence;
  data.earlier = earlier === sentence ? null : earlier;
}

export function isTyping() {
  return document.activeElement !== null && document.activeElement.id === "sentence";
}

// The sentence that stood here before: what changed with the words?
/** @param {ReadView} view @param {string} earlier @param {string} sentence */
function earlierButton({ state, selection, elements }, earlier, sentence) {
  const beside = `sentence.${earlier}`;
  const isOpen = state.get("beside") === beside;
  const label = [prose(`Beside ${asWord(differingEnd(earlier, sentence))}`)];
  return element(
    "button",
    {
      type: "button",
      class: "button",
      title: earlier,
      "aria-expanded": String(isOpen),
      on: {
        click() {
          selection.scrollTarget = isOpen ? null : elements.beside.root;
          state.set({ beside: isOpen ? null : beside }, true);
        },
      },
    },
    ...label,
    element("small", null, " compare"),
  );
}

// Of a sentence the words from the first that differs, or its first words.
/** @param {string} sentence @param {string} other */
function differingEnd(sentence, other) {
  const [words, others] = [sentence.split(" "), other.split(" ")];
  const at = words.findIndex((word, n) => word !== others[n]);
  const shown = words.slice(Math.max(0, at), Math.max(0, at) + EARLIER_WORDS);
  return `${at > 0 ? "… " : ""}${shown.join(" ")}${at + EARLIER_WORDS < words.length ? " …" : ""}`;
}

// Every head switched off in turn: which of them decide the word that this one became?
/** @param {ReadView} view @param {Alignment} alignment @param {number} of */
function effectsButton({ state, elements }, alignment, of) {
  const word = alignment.words[of];
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
          if (!isOpen) goTo(elements.effects, "nearest");
        },
      },
    },
    prose(`Which heads decide ${asWord(word)}?`),
    element("small", null, " effects"),
  );
}

/** @param {ReadView} view @param {Link} link */
function whyButton({ state, selection, elements }, link) {
  const isOpen = state.get("why") === "yes";
  return element(
    "button",
    {
      type: "button",
      class: "button primary",
      "aria-expanded": String(isOpen),
      on: {
        click() {
          selection.scrollTarget = isOpen ? null : elements.why;
          state.set({ why: isOpen ? null : "yes" });
        },
      },
    },
    `Why ${percent(link.weight)}?`,
  );
}
