// Experiments: what was tried on a sentence, and the odds of the French words where two runs part.

import { asWord, element, percent, problem, prose, replace, tableHead } from "../lib/dom.js";
import { spacedWords } from "./translation.js";

const MAX_TRIED = 6;
/** @type {Map<string, string[]>} */
const triedTexts = new Map(); // changes by sentence, the latest first; Save has them from any view

// What was tried on a sentence, as a field of a request.
/** @param {string} sentence */
export function triedOn(sentence) {
  const texts = triedTexts.get(sentence) ?? [];
  return texts.length ? { tried: texts.map(readChanges) } : {};
}

// The experiments that a saved file holds, with their odds.
/** @param {Source} source @returns {Tried[]} */
export function embeddedTried(source) {
  const { tried = [], reading } = source.embedded ?? {};
  return tried.map((outcome, at) => ({
    sentence: reading?.sentence ?? null,
    text: String(at),
    ...outcome,
    outcome,
  }));
}

// A line on the second run for the scene; null while nothing is changed.
/** @param {ExperimentState | null} experiment @returns {Child} */
export function outcomeNote(experiment) {
  if (!experiment) return null;
  if ("error" in experiment) return problem(experiment.error);
  if ("running" in experiment) return "Running the translator again …";
  const { same, candidates } = experiment;
  const moved = candidates
    .slice(0, 2)
    .map((one) => `${asWord(one.word)} ${oneDecimal(one.before)} → ${oneDecimal(one.after)}`);
  return prose(
    `${same ? "The French stays the same" : "The French changed"}: ${moved.join(", ")}.`,
  );
}

// What was tried on this sentence, the latest first; the one that is shown has its odds unfolded.
/** @param {ReadView} view */
export function drawTried({ state, data, elements: { tried } }) {
  const { experiment, sentence } = data;
  const text = state.get("changes");
  if (experiment && "changed" in experiment) {
    const { changed, after, same } = experiment;
    data.tried = [
      { sentence, text, changed, after, same },
      ...data.tried.filter((one) => one.text !== text || one.sentence !== sentence),
    ].slice(0, MAX_TRIED);
  }
  const shown = data.tried.filter((one) => one.outcome || one.sentence === sentence);
  if (sentence)
    triedTexts.set(
      sentence,
      shown.map((one) => one.text),
    );
  tried.hidden = !shown.length;
  replace(
    tried,
    shown.length > 0 && [
      element("h2", null, shown[0].outcome ? "What was tried" : "What you tried"),
      element(
        "ul",
        null,
        shown.map((one) => triedItem(state, one, one.text === text ? experiment : null)),
      ),
    ],
  );
}

/** @param {State} state @param {Tried} one @param {ExperimentState | null} experiment */
function triedItem(state, one, experiment) {
  const isShown = one.text === state.get("changes");
  const changes = readChanges(one.text);
  const now = isShown && experiment && "changed" in experiment ? experiment : null;
  const odds = one.outcome ?? now;
  /** @param {number} at */
  const without = (at) => () =>
    state.set({ changes: writeChanges(changes.filter((_, number) => number !== at)) }, true);
  /** @param {string} text @param {() => void} click */
  const link = (text, click) =>
    element("button", { type: "button", class: "link small", on: { click } }, text);
  return element(
    "li",
    { "aria-current": isShown ? "true" : null },
    element(
      "ul",
      { class: "changed" },
      one.changed.map((phrase, at) =>
        element(
          "li",
          null,
          prose(phrase),
          isShown && changes.length > 1 && link("take it out", without(at)),
        ),
      ),
    ),
    element(
      "span",
      { class: "outcome", lang: "fr" },
      spacedWords(one.after.words, (word, at) =>
        one.after.differing.includes(at) ? element("mark", null, word) : word,
      ),
    ),
    !one.outcome &&
      (isShown
        ? link("Undo", () => state.set({ changes: null }, true))
        : link("Show", () => state.set({ changes: one.text }, true))),
    odds && [oddsTable(odds), element("p", { class: "small quiet" }, odds.caution)],
  );
}

/** @param {Outcome} experiment */
function oddsTable({ candidates, prefix, same }) {
  /** @param {number} value @param {string} name */
  const share = (value, name) =>
    element(
      "td",
      { class: "number" },
      element("span", { class: `bar ${name}`, style: { width: `${Math.max(1, 60 * value)}px` } }),
      oneDecimal(value),
    );
  const about = same ? "the word whose odds changed most" : "the word where they part";
  return element(
    "table",
    { class: "odds" },
    element(
      "caption",
      null,
      `After “… ${prefix.slice(-4).join(" ").replace(/' /g, "'")}”: ${about}`,
    ),
    tableHead([null, "before", "after"]),
    element(
      "tbody",
      null,
      candidates.map((one) =>
        element(
          "tr",
          null,
          element("th", { scope: "row", lang: "fr" }, one.word),
          share(one.before, "was"),
          share(one.after, "is"),
        ),
      ),
    ),
  );
}

/** @param {number} share */
function oneDecimal(share) {
  return share > 0 && share < 0.0005
    ? "< 0.1 %"
    : share < 0.1
      ? `${(100 * share).toFixed(1)} %`
      : percent(share);
}

// Experiments in the address: "redirect.6.4.encoder.3.6~knock_out.1" is a list of changes as the
// server takes them (view/page/page_changes.py). Words, layers and heads are numbers from 0.

/** @type {Record<ChangeName, ChangeField[]>} */
const FIELDS = {
  redirect: ["word", "to", "part", "layer", "head"],
  knock_out: ["word"],
  ablate: ["part", "layer", "head"],
};

/** @param {Change[]} changes */
export function writeChanges(changes) {
  return changes
    .map((one) => [one.change, ...FIELDS[one.change].map((name) => one[name])].join("."))
    .join("~");
}

// What cannot be read is left out.
/** @param {string} text @returns {Change[]} */
export function readChanges(text) {
  return text.split("~").flatMap((one) => {
    const [name, ...values] = one.split(".");
    if (!isChangeName(name) || values.length !== FIELDS[name].length) return [];
    const entries = FIELDS[name].map((field, at) => {
      const isRight = field === "part" ? /^[a-z]+$/.test(values[at]) : isPosition(values[at]);
      return isRight ? [field, field === "part" ? values[at] : Number(values[at])] : null;
    });
    if (entries.includes(null)) return [];
    return [{ change: name, ...Object.fromEntries(entries.filter((entry) => entry !== null)) }];
  });
}

/** @param {string} name @returns {name is ChangeName} */
function isChangeName(name) {
  return Object.hasOwn(FIELDS, name);
}

/** @param {string} text */
function isPosition(text) {
  return Number.isInteger(Number(text)) && Number(text) >= 0;
}

// The text of changes with one more, or with one taken out.
/** @param {string} text @param {Change} change */
export function withChange(text, change) {
  return writeChanges([...readChanges(text), change]);
}

/** @param {string} text @param {Change} change */
export function withoutChange(text, change) {
  const written = writeChanges([change]);
  return writeChanges(readChanges(text).filter((one) => writeChanges([one]) !== written));
}

/** @param {string} text @param {Change} change */
export function hasChange(text, change) {
  return withoutChange(text, change) !== writeChanges(readChanges(text));
}
