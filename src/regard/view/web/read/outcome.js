// The outcome of an experiment: both translations with what differs, and the odds where they part.

import { element, percent, problem, prose, replace, tableHead } from "../lib/dom.js";
import { readChanges, writeChanges } from "./changes.js";
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
