// Questions to ask of the picture: why a weight is what it is, and what if it were another.

import { asWord, element, goTo, prose, replace } from "../lib/dom.js";
import { pinnedWords } from "./choice.js";
import { rivalWord, wordToExplain } from "./effect_grid.js";
import { hasChange, readChanges, withChange, withoutChange, writeChanges } from "./experiment.js";
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
  const nouns = nounsAmong(words);
  return others.find((k) => nouns.includes(k)) ?? others[0];
}

// The nouns that a pronoun could stand for: of the words after a determiner, adjectives apart.
/** @param {string[]} words */
export function nounsAmong(words) {
  /** @param {number} k */
  const isAdjective = (k) => k >= 0 && ADJECTIVES.has(words[k].toLowerCase());
  return [...words.keys()].filter((k) => {
    let before = k - 1;
    while (isAdjective(before)) before -= 1;
    return !isAdjective(k) && before >= 0 && DETERMINERS.has(words[before].toLowerCase());
  });
}

// The two nouns of a sentence that have colours: what the pronoun looks at, and its rival.
/** @param {PageReading} reading @param {Link | null} link */
export function twoNouns(reading, link) {
  const { words } = reading.parts[0].query;
  const nouns = nounsAmong(words);
  const first = link?.key ?? reading.highlight?.key ?? nouns[0];
  const second = link?.rival ?? nouns.find((one) => one !== first);
  return [first, second].filter((one) => one !== undefined).sort((one, other) => one - other);
}

/** @param {ReadView} view */
export function drawQuestions(view) {
  const { state, source, data, selection, elements } = view;
  const { shown, base, earlier } = data;
  if (!shown) return;
  const { reading, part, choice } = shown;
  const link = selection.peek ? null : questionedLink(state, shown);
  const { live } = source;
  const known = base?.alignment ? base.sentence : "";
  const open = ["why", "effects", "changes", "beside"].map((field) => state.get(field));
  const request = JSON.stringify([
    ...[link, choice, part.name, live, reading.sentence, known, earlier],
    ...open,
  ]);
  if (elements.drawnFrom.questions === request || (selection.peek && live)) return;
  elements.drawnFrom.questions = request;
  elements.questions.hidden = !live && !part.steps;
  const [first, further] = link ? buttonsFor(view, shown, link, live) : [[], []];
  replace(elements.questions, first);
  replace(elements.furtherQuestions, further);
}

/**
 * @param {ReadView} view
 * @param {Shown} shown
 * @param {Link} link
 * @param {boolean} live
 * @returns {Child[][]}
 */
function buttonsFor(view, shown, link, live) {
  const { data } = view;
  const { part, reading } = shown;
  // The translation that is known may be of the sentence before.
  const { base, earlier } = data;
  const alignment = base && base.sentence === reading.sentence ? base.alignment : null;
  return [
    [
      part.steps && whyButton(view, shown, link),
      live && redirectButton(view, shown, link),
      live && ablateButton(view, shown),
    ],
    [
      live && alignment && effectsButton(view, alignment, wordToExplain(alignment, part, link)),
      live && earlier && earlierButton(view, earlier, reading.sentence),
    ],
  ];
}

// What a button does, and beneath it what to watch for.
/** @param {Child} does @param {string} watch @param {() => void} click @param {boolean} isOn */
export function sceneButton(does, watch, click, isOn) {
  return element(
    "button",
    { type: "button", class: "button", "aria-pressed": String(isOn), on: { click } },
    element("span", null, does),
    element("small", null, watch),
  );
}

/** @param {ReadView} view @param {Shown} shown @param {Link} link */
function redirectButton({ state }, { part, choice }, link) {
  const { part: name, layer, head } = choice;
  const [asks, rival] = [part.query.words[link.query], part.key.words[link.rival ?? -1]];
  const all = readChanges(state.get("changes"));
  const others = all.filter(({ change }) => change !== "redirect");
  if (others.length < all.length)
    return sceneButton(
      prose(`Let ${asWord(asks)} look freely`),
      "take the change back",
      () => state.set({ changes: writeChanges(others) }, true),
      true,
    );
  if (link.rival === undefined || rival === undefined) return null;
  /** @type {Change} */
  const change = {
    change: "redirect",
    ...{ word: link.query, to: link.rival, part: name, layer, head },
  };
  return sceneButton(
    prose(`Make ${asWord(asks)} look at ${asWord(rival)}`),
    "and watch the French",
    () => state.set({ changes: writeChanges([...others, change]), q: link.query, k: null }, true),
    false,
  );
}

/** @param {ReadView} view @param {Shown} shown */
function ablateButton({ state }, { choice: { part, layer, head } }) {
  /** @type {Change} */
  const change = { change: "ablate", part, layer, head };
  const text = state.get("changes");
  const isOff = hasChange(text, change);
  const changes = isOff ? withoutChange(text, change) : withChange(text, change);
  return sceneButton(
    isOff ? "Switch this head on again" : "Switch this head off",
    isOff ? "take the change back" : "does the French notice?",
    () => state.set({ changes }, true),
    isOff,
  );
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

/** @param {ReadView} view @param {Shown} shown @param {Link} link */
function whyButton({ state, selection, elements }, { part }, link) {
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
    element("span", null, prose(`Why ${asWord(part.key.words[link.key])}?`)),
    element("small", null, "see the sum behind the line"),
  );
}
