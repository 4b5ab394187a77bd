// The outcome of an experiment: both translations with what differs, and the odds where they part.

import { asWord, element, percent, problem, prose, replace, tableHead } from "../lib/dom.js";
import { spacedWords } from "./translation.js";

/** @param {ReadView} view */
export function drawOutcome(view) {
  const { outcome, experiment, state } = view;
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
  if (experiment.error || experiment.running) {
    const text = experiment.error
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
function changesList(state, changed) {
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

function translationsTable({ before, after, same }) {
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

function oddsTable({ candidates, prefix, same }) {
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

function oneDecimal(share) {
  return share > 0 && share < 0.0005
    ? "< 0.1 %"
    : share < 0.1
      ? `${(100 * share).toFixed(1)} %`
      : percent(share);
}

// Experiments in the address: "redirect.6.4.encoder.3.6~knock_out.1" is a list of changes as the
// server takes them (view/page/page_changes.py). Words, layers and heads are numbers from 0.

const FIELDS = {
  redirect: ["word", "to", "part", "layer", "head"],
  knock_out: ["word"],
  ablate: ["part", "layer", "head"],
};

export function writeChanges(changes) {
  return changes
    .map((one) => [one.change, ...FIELDS[one.change].map((name) => one[name])].join("."))
    .join("~");
}

// What cannot be read is left out.
export function readChanges(text) {
  return text
    .split("~")
    .map((one) => {
      const [change, ...values] = one.split(".");
      const names = Object.hasOwn(FIELDS, change) ? FIELDS[change] : null;
      if (!names || values.length !== names.length) return null;
      const entries = names.map((name, at) => [
        name,
        name === "part" ? values[at] : Number(values[at]),
      ]);
      const isRight = entries.every(([name, value]) =>
        name === "part" ? /^[a-z]+$/.test(value) : Number.isInteger(value) && value >= 0,
      );
      return isRight ? { change, ...Object.fromEntries(entries) } : null;
    })
    .filter(Boolean);
}

// The question that a change asks, in a learner's words, with the field's word for it.
export function changeQuestion(change, reading) {
  const part = reading.parts.find((one) => one.name === (change.part || "encoder"));
  const name = (side, at) => asWord(part[side].words[at]);
  if (change.change === "redirect")
    return [
      `What if ${name("query", change.word)} looked at ${name("key", change.to)}?`,
      "redirect",
    ];
  if (change.change === "knock_out") return [`Cover ${name("key", change.word)}`, "knock out"];
  return ["Switch this head off", "ablate"];
}
