// Questions to ask of the picture: why a weight is what it is, and what if it were another.

import { asWord, element, goTo, prose, replace } from "../lib/dom.js";
import { pinnedWords } from "./choice.js";
import { rivalWord, wordToExplain } from "./effect_grid.js";
import { hasChange, redirected, toggled } from "./experiment.js";
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

// The link that questions are about: the chosen word, the key that it looks at most, and a rival;
// null where no word or several are chosen.
/** @param {State} state @param {Shown} shown @returns {Link | null} */
export function questionedLink(state, shown) {
  const { grid } = shown;
  const { queries } = pinnedWords(state, shown);
  if (queries.length !== 1) return null;
  const [query] = queries;
  const row = grid.weights.subarray(query * grid.columns, (query + 1) * grid.columns);
  const [key] = largest(row, 1);
  if (key === undefined) return null;
  return { query, key, rival: rivalNoun(grid.keys, row, [key, query]), weight: row[key] };
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
  const { state, source, data, elements } = view;
  const { shown, base } = data;
  if (!shown) return;
  const { reading, part, choice } = shown;
  const link = questionedLink(state, shown);
  // The translation that is known may be of the sentence before.
  const alignment = base && base.sentence === reading.sentence ? base.alignment : null;
  const { live } = source;
  const open = ["why", "effects", "changes"].map((field) => state.get(field));
  const request = JSON.stringify([link, choice, live, reading.sentence, !alignment, ...open]);
  if (elements.drawnFrom.questions === request) return;
  elements.drawnFrom.questions = request;
  elements.questions.hidden = !live && !part.steps;
  replace(
    elements.questions,
    link && part.steps && whyButton(view, shown, link),
    link && live && redirectButton(view, shown, link),
    link && live && ablateButton(view, shown),
  );
  elements.scene.drawEffectsLink(
    link &&
      live &&
      alignment &&
      effectsButton(view, alignment, wordToExplain(alignment, part, link)),
  );
}

// What a button does, and beneath it what to watch for.
/** @param {Child} does @param {string} watch @param {() => void} click @param {boolean} isOn */
export function sceneButton(does, watch, click, isOn) {
  return element(
    "button.button",
    { "aria-pressed": String(isOn), on: { click } },
    element("span", does),
    element("small", watch),
  );
}

/** @param {ReadView} view @param {Shown} shown @param {Link} link */
function redirectButton({ state }, { part, choice }, link) {
  const { part: name, layer, head } = choice;
  const [asks, rival] = [part.query.words[link.query], part.key.words[link.rival ?? -1]];
  const text = state.get("changes");
  if (/redirect/.test(text)) return freeButton(state, asks);
  if (link.rival === undefined || rival === undefined) return null;
  /** @type {Change} */
  const change = {
    change: "redirect",
    ...{ word: link.query, to: link.rival, part: name, layer, head },
  };
  return sceneButton(
    prose(`Make ${asWord(asks)} look at ${asWord(rival)}`),
    "and watch the French",
    () => {
      const changes = redirected(text, change);
      state.set({ changes, part: name, layer, head, q: link.query }, true);
    },
    false,
  );
}

// Takes a redirection back.
/** @param {State} state @param {string} asks */
export function freeButton(state, asks) {
  return sceneButton(
    prose(`Let ${asWord(asks)} look freely`),
    "take the change back",
    () => state.set({ changes: redirected(state.get("changes"), null) }, true),
    true,
  );
}

/** @param {ReadView} view @param {Shown} shown */
function ablateButton({ state }, { choice: { part, layer, head } }) {
  /** @type {Change} */
  const change = { change: "ablate", part, layer, head };
  const text = state.get("changes");
  return switchButton(hasChange(text, change), "does the French notice?", () =>
    state.set({ changes: toggled(text, change) }, true),
  );
}

/** @param {boolean} isOff @param {string} watch @param {() => void} click */
export function switchButton(isOff, watch, click) {
  return sceneButton(
    isOff ? "Switch this head on again" : "Switch this head off",
    isOff ? "take the change back" : watch,
    click,
    isOff,
  );
}

export function isTyping() {
  return document.activeElement !== null && document.activeElement.id === "sentence";
}

// Every head switched off in turn: which of them decide the word that this one became?
/** @param {ReadView} view @param {Alignment} alignment @param {number} of */
function effectsButton({ state, elements }, alignment, of) {
  const word = alignment.words[of];
  const isOpen = state.get("effects") === String(of);
  const asked = { effects: of, against: rivalWord(word.toLowerCase()) };
  const fields = isOpen ? { effects: null, against: null } : asked;
  return element(
    "button.link",
    {
      "aria-expanded": String(isOpen),
      on: {
        click() {
          state.set(fields, true);
          if (!isOpen) goTo(elements.effects, "nearest");
        },
      },
    },
    prose(`Which heads decide ${asWord(word)}?`),
  );
}

/** @param {ReadView} view @param {Shown} shown @param {Link} link */
function whyButton({ state, elements }, { part }, link) {
  return element(
    "button.button.primary",
    {
      on: {
        click() {
          elements.why.play();
          state.set({ why: "scores", changes: null }, true);
        },
      },
    },
    element("span", prose(`Why ${asWord(part.key.words[link.key])}?`)),
    element("small", "see the sum behind the line"),
  );
}
