// The outcome of an experiment: both translations with what differs, and the odds where they part.

import { asWord, element, percent, problem, prose, replace, tableHead } from "../lib/dom.js";
import { spacedWords } from "./translation.js";

/** @param {ReadView} view */
export function drawOutcome(view) {
  const { state } = view;
  const { experiment } = view.data;
  const { outcome } = view.elements;
  outcome.hidden = !experiment;
  if (!experiment) {
    replace(outcome);
    return;
  }
  const undo = () => state.set({ changes: null }, true);
  const undoAll = element(
    "button",
    { type: "button", class: "button", on: { click: undo } },
    "Undo",
  );
  if ("error" in experiment || "running" in experiment) {
    const text =
      "error" in experiment
        ? problem(experiment.error)
        : element("p", { class: "quiet" }, "Running it again …");
    replace(outcome, element("div", { class: "changed" }, text, undoAll));
    return;
  }
  replace(
    outcome,
    element(
      "div",
      { class: "changed" },
      element("h2", null, "A second run, with this changed:"),
      changesList(state, experiment.changed),
      undoAll,
    ),
    element("div", { class: "both" }, translationsTable(experiment), oddsTable(experiment)),
    element("p", { class: "small quiet" }, experiment.caution),
  );
}

// Each change with a button that takes it out again; those that stay are run together.
/** @param {State} state @param {string[]} changed */
function changesList(state, changed) {
  /** @param {number} at */
  const without = (at) => () => {
    const left = readChanges(state.get("changes")).filter((_, number) => number !== at);
    state.set({ changes: writeChanges(left) }, true);
  };
  return element(
    "ul",
    null,
    changed.map((phrase, at) =>
      element(
        "li",
        null,
        prose(phrase),
        changed.length > 1 &&
          element(
            "button",
            { type: "button", class: "link small", on: { click: without(at) } },
            "take it out",
          ),
      ),
    ),
  );
}

/** @param {Experiment} experiment */
function translationsTable({ before, after, same }) {
  /** @param {string} name @param {Run} run */
  const row = (name, { words, differing }) =>
    element(
      "tr",
      null,
      element("th", { scope: "row" }, name),
      element(
        "td",
        { lang: "fr" },
        spacedWords(words, (word, at) =>
          differing.includes(at) ? element("mark", null, word) : word,
        ),
      ),
    );
  return element(
    "div",
    null,
    element("table", { class: "translations" }, row("before", before), row("after", after)),
    element(
      "p",
      { class: "verdict" },
      same ? "The translation did not change." : "The French changed.",
    ),
  );
}

/** @param {Experiment} experiment */
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

// The question that a change asks, in a learner's words, with the field's word for it.
/** @param {Change} change @param {PageReading} reading @returns {[string, string]} */
export function changeQuestion(change, reading) {
  const part = reading.parts.find((one) => one.name === (change.part || "encoder"));
  /** @param {SideName} side @param {number} [at] */
  const name = (side, at = 0) => asWord(part ? part[side].words[at] : "");
  if (change.change === "redirect")
    return [
      `What if ${name("query", change.word)} looked at ${name("key", change.to)}?`,
      "redirect",
    ];
  if (change.change === "knock_out") return [`Cover ${name("key", change.word)}`, "knock out"];
  return ["Switch this head off", "ablate"];
}
