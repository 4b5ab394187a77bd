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
  triedList(
    tried,
    state,
    shown[0]?.outcome ? "What was tried" : "What you tried",
    shown.map((one) => triedItem(state, one, one.text === text ? experiment : null)),
  );
}

// What was tried, each with a way back to it; what a file holds cannot be run there.
/**
 * @param {HTMLElement} box
 * @param {State} state
 * @param {string} title
 * @param {TriedItem[]} items
 */
export function triedList(box, state, title, items) {
  box.hidden = !items.length;
  replace(
    box,
    element("h2", title),
    element(
      "ul",
      items.map(({ text, changed, outcome, isFixed, more }) => {
        const isShown = text === state.get("changes");
        const click = () => state.set({ changes: isShown ? null : text }, true);
        return element(
          "li",
          { "aria-current": isShown ? "true" : null },
          changed,
          outcome,
          !isFixed && element("button.link.small", { on: { click } }, isShown ? "Undo" : "Show"),
          more,
        );
      }),
    ),
  );
}

/** @param {State} state @param {Tried} one @param {ExperimentState | null} experiment */
function triedItem(state, one, experiment) {
  const isShown = one.text === state.get("changes");
  const changes = readChanges(one.text);
  const odds = one.outcome ?? (experiment && "changed" in experiment ? experiment : null);
  /** @param {number} at */
  const without = (at) => () =>
    state.set({ changes: writeChanges(changes.filter((_, number) => number !== at)) }, true);
  return {
    text: one.text,
    isFixed: Boolean(one.outcome),
    changed: element(
      "ul.changed",
      one.changed.map((phrase, at) =>
        element(
          "li",
          prose(phrase),
          isShown &&
            changes.length > 1 &&
            element("button.link.small", { on: { click: without(at) } }, "take it out"),
        ),
      ),
    ),
    outcome: element(
      "span.outcome",
      { lang: "fr" },
      spacedWords(one.after.words, (word, at) =>
        one.after.differing.includes(at) ? element("mark", word) : word,
      ),
    ),
    more: odds && [oddsTable(odds), element("p.small.quiet", odds.caution)],
  };
}

/** @param {Outcome} experiment */
function oddsTable({ candidates, prefix, same }) {
  /** @param {number} value @param {string} name */
  const share = (value, name) =>
    element(
      "td.number",
      element("span", { class: `bar ${name}`, style: { width: `${Math.max(1, 60 * value)}px` } }),
      oneDecimal(value),
    );
  const about = same ? "the word whose odds changed most" : "the word where they part";
  return element(
    "table.odds",
    element("caption", `After “… ${prefix.slice(-4).join(" ").replace(/' /g, "'")}”: ${about}`),
    tableHead([null, "before", "after"]),
    element(
      "tbody",
      candidates.map((one) =>
        element(
          "tr",
          element("th", { scope: "row", lang: "fr" }, one.word),
          share(one.before, "was"),
          share(one.after, "is"),
        ),
      ),
    ),
  );
}

/** @param {number} share */
export function oneDecimal(share) {
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  return share < 0.1 ? `${(100 * share).toFixed(1)} %` : percent(share);
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

/** @param {string} text @param {Change} change */
export function hasChange(text, change) {
  return readChanges(text).some((one) => writeChanges([one]) === writeChanges([change]));
}

// The text of changes with one more; without it where it is there.
/** @param {string} text @param {Change} change */
export function toggled(text, change) {
  const written = writeChanges([change]);
  const others = readChanges(text).filter((one) => writeChanges([one]) !== written);
  return writeChanges(hasChange(text, change) ? others : [...others, change]);
}

// The text of changes with one redirection in place of any other; none where it is null.
/** @param {string} text @param {Change | null} change */
export function redirected(text, change) {
  const others = readChanges(text).filter((one) => one.change !== "redirect");
  return writeChanges(change ? [...others, change] : others);
}
