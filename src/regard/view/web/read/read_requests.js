// What the Read view asks for: a sentence's reading, the run with changes, a head's weights.

import { problem, replace } from "../lib/dom.js";
import { readChanges } from "./changes.js";
import { FIRST_SENTENCE } from "./headline.js";
import { drawOutcome } from "./outcome.js";
import { isTyping, rememberEarlier } from "./questions.js";
import { carryWords, choiceOf } from "./read_choice.js";
import { drawControls } from "./read_controls.js";
import { redraw } from "./read_redraw.js";
import { gridOf } from "./weights.js";

// First the English side, which is there at once, then the whole reading.
/** @param {ReadView} view */
export async function readSentence(view) {
  const turn = ++view.turn;
  if (view.pending) view.pending.abort();
  view.pending = new AbortController();
  const { signal } = view.pending;
  const sentence = view.state.get("sentence", FIRST_SENTENCE);
  if (view.sentence !== undefined) view.root.classList.add("stale");
  rememberEarlier(view, sentence);
  if (!isTyping()) view.remembered = null;
  view.sentence = sentence;
  view.top.announce(sentence, null);
  const file = view.source.live && view.state.get("file") ? view.state.number("file") : null;
  try {
    if (file !== null) {
      view.base = await view.source.run(file);
      await present(view, turn, view.base);
      return;
    }
    if (view.source.live) {
      const [layer, head] = [view.state.number("layer", -1), view.state.number("head", -1)];
      const options = { quick: true, signal, at: { layer, head } };
      await present(view, turn, await view.source.reading(sentence, options));
    }
    view.base = await view.source.reading(sentence, { signal });
    await runChanges(view, turn);
  } catch (error) {
    if (error.name !== "AbortError" && turn === view.turn)
      view.top.announce(sentence, problem(error));
  }
}

// The sentence as it is, or run again with the changes that the address names.
/** @param {ReadView} view */
export async function runChanges(view, turn) {
  const changes = readChanges(view.state.get("changes"));
  const { base, source } = view;
  if (!changes.length || !source.live) {
    view.experiment = null;
    drawOutcome(view);
    await present(view, turn, base);
    return;
  }
  view.experiment = { running: true };
  drawOutcome(view);
  try {
    const experiment = await source.experiment(base.sentence, changes);
    if (turn !== view.turn) return;
    view.experiment = experiment;
    await present(view, turn, experiment.reading);
  } catch (error) {
    if (turn !== view.turn) return;
    view.experiment = { error };
    await present(view, turn, base);
  }
  drawOutcome(view);
}

/** @param {ReadView} view */
export async function present(view, turn, reading) {
  if (turn !== view.turn) return;
  carryWords(view, reading);
  const isCurrent = view.top.show(reading);
  const requested = view.state.get("part");
  if (reading.quick && requested && !reading.parts.some((part) => part.name === requested)) {
    view.statement.textContent = "The French side follows when the sentence has been translated.";
    view.statement.classList.add("waits");
    return;
  }
  view.reading = reading;
  view.statement.classList.remove("waits");
  await chooseTable(view);
  if (isCurrent && turn === view.turn) view.root.classList.remove("stale");
}

// The weights that are requested; the latest request wins.
/** @param {ReadView} view */
export async function chooseTable(view) {
  const { reading, source, state } = view;
  const choice = choiceOf(view);
  const part = reading.parts.find((one) => one.name === choice.part);
  const options = { by: state.get("by", "words"), hide: state.get("marks") === "hidden" };
  const request = JSON.stringify([choice, options]);
  const pointed = choiceOf({ ...view, peek: null });
  view.heads.show(reading, source, pointed, state.get("order", "layer")).catch(() => {});
  try {
    view.requestedKey = request;
    if (request !== view.request || reading !== view.of) {
      const table = await source.weights(reading, choice);
      if (view.reading !== reading || view.requestedKey !== request) return;
      Object.assign(view, {
        grid: gridOf(table, part, options),
        request,
        of: reading,
        choice,
        part,
      });
    }
    drawControls(view);
    redraw(view);
  } catch (error) {
    replace(view.picture, problem(error));
  }
}
