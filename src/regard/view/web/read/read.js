// The Read view: a sentence, its translation, and what every head looked at.
//
// Fields of the address: sentence, part, layer, head, show (head, layer, all, rollout), as (lines,
// map, flow, space), by (words, tokens), least (threshold in percent), marks (shown, hidden), q and
// k (chosen positions, "1-3.7"; "-" is none), step (token_steps.js), order (of the heads: layer,
// role), changes (experiment.js), effects and against (effect_grid.js), beside (what is compared,
// beside.js), why (whether the sum behind a weight is unfolded) and because (why_weight.js), file
// (a watched run in place of a sentence).

import { announce, element, goTo, problem, prose, replace, withoutWordMarks } from "../lib/dom.js";
import { describeExport } from "../lib/export.js";
import { readFigure } from "../lib/figures.js";
import { sendSelection } from "../lib/host_frame.js";
import { touches } from "../lib/state.js";
import { besidePicture } from "./beside.js";
import {
  carryWords,
  currentChoice,
  handlersFor,
  isHighlight,
  pinnedWords,
  rememberWords,
  wordShades,
} from "./choice.js";
import { drawControls, drawNotes } from "./controls.js";
import { drawEffects } from "./effect_grid.js";
import { drawOutcome, readChanges } from "./experiment.js";
import { flowPicture, hasFlow } from "./flow.js";
import { FIRST_SENTENCE, headline } from "./headline.js";
import { headsGrid } from "./heads_grid.js";
import { heatPicture } from "./heatmap.js";
import { imageOverlay } from "./image_overlay.js";
import { linesPicture } from "./lines.js";
import { drawQuestions, isTyping, rememberEarlier } from "./questions.js";
import { highlightSentence, weightSentence } from "./sentences.js";
import { hasSpace, spacePicture } from "./space.js";
import { tokenSteps, writtenUntil } from "./token_steps.js";
import { generatedAmong, buildGrid, weightsTable } from "./weights.js";
import { drawWhy } from "./why_weight.js";

const TABLE_FIELDS = [
  ...["sentence", "part", "layer", "head", "show"],
  ...["as", "by", "marks", "least", "order", "step"],
];
const PINNED_FIELDS = ["q", "k", "why", "beside", "effects", "against"];

// A file in place of a sentence has another head: the view is then made anew.
export async function showRead(root, state, source) {
  let close = await openRead(root, state, source);
  state.follow(async (changed) => {
    if (!changed.has("file")) return;
    close();
    root.replaceChildren();
    close = await openRead(root, state, source);
  });
  return () => close();
}

async function openRead(root, state, source) {
  /** @type {ReadView} */
  const view = {
    state,
    source,
    root,
    reading: null,
    grid: null,
    hovered: null,
    anchor: null,
    peek: null,
    turn: 0,
  };
  arrangeRead(view, root);
  const recolour = () => {
    view.heads.repaint(source);
    redraw(view);
  };
  window.addEventListener("colours", recolour);
  const unsubscribe = state.follow((changed) => {
    if (!changed.has("file")) follow(view, changed);
  });
  describeExport(() => readFigure(view));
  await readSentence(view);
  return () => {
    unsubscribe();
    view.turn += 1;
    window.removeEventListener("colours", recolour);
    const { beside, heads, images, top } = view;
    for (const part of [...Object.values(view.pictures), beside, heads, images, top]) part.close();
    if (view.pending) view.pending.abort();
  };
}

// Words that are pinned change the picture and what is said about it; all else may change the
// table.
/** @param {ReadView} view */
function follow(view, changed) {
  const sentence = view.state.get("sentence", FIRST_SENTENCE);
  if (sentence !== view.sentence) readSentence(view);
  else if (changed.has("changes") && view.base) runChanges(view, ++view.turn);
  else if (touches(changed, TABLE_FIELDS) && view.reading) chooseTable(view);
  else if (touches(changed, PINNED_FIELDS) && view.grid) {
    if (changed.has("beside")) drawControls(view);
    else drawNotes(view);
    redraw(view);
  }
}

// The elements of the Read view, and what each of them calls.

/** @param {ReadView} view */
function arrangeRead(view, root) {
  const part = (tag, name) => element(tag, { class: name });
  const handlers = handlersFor(view, redraw);
  view.top = headline(view.state, view.source, FIRST_SENTENCE, {
    hover: (positions) => lightEnglish(view, positions),
    pick: (position) => pickEnglish(view, position),
    typing: () => Object.assign(view, { typedOver: view.sentence }),
    leave: () => rememberWords(view),
    stale: () => root.classList.add("stale"),
    empty: (isEmpty) => root.classList.toggle("empty", isEmpty),
    again: () => view.reading && present(view, view.turn, view.reading),
  });
  view.statement = part("p", "statement");
  view.questions = part("div", "questions");
  view.outcome = element("section", { class: "outcome card", "aria-label": "Experiment" });
  view.outcome.hidden = true;
  view.why = element("section", { class: "why-weight card", "aria-label": "Why this weight" });
  view.why.hidden = true;
  view.effects = element("section", { class: "effects card", "aria-label": "Effects of heads" });
  view.effects.hidden = true;
  view.controls = part("div", "controls");
  view.title = part("h2", "title");
  view.picture = part("div", "picture");
  view.notes = part("div", "notes small quiet");
  view.table = element(
    "details",
    { class: "as-table", on: { toggle: () => redraw(view) } },
    element("summary", null, "As a table"),
    part("div", "wide"),
  );
  view.heads = headsGrid({
    choose: (part, layer, head) => pickHead(view, part, layer, head),
    hover: (part, layer, head) => peekAt(view, part, layer, head),
    arrange: (order) => view.state.set({ order: order === "layer" ? null : order }),
  });
  view.steps = tokenSteps(view.state);
  view.pictures = {
    lines: linesPicture(handlers),
    map: heatPicture(handlers),
    flow: flowPicture(handlers, view),
    space: spacePicture(handlers, view),
  };
  view.beside = besidePicture(handlers);
  view.images = imageOverlay(handlers);
  const first = element("div", { class: "first" }, view.title, view.images.root, view.picture);
  view.shown = element("div", { class: "shown" }, first, view.beside.root);
  const main = element(
    "section",
    { class: "main", "aria-label": "The picture" },
    view.statement,
    view.questions,
    view.steps.root,
    view.shown,
    view.controls,
  );
  root.append(
    view.top.root,
    view.outcome,
    element(
      "div",
      { class: "columns" },
      main,
      element("aside", { "aria-label": "All heads" }, view.heads.root),
    ),
    element("div", { class: "below" }, view.why, view.effects, view.notes, view.table),
  );
}

// Pointing and clicking outside the picture: words of the sentence, heads of the grid.

// Milliseconds over a small picture before the large one follows.
const LINGER = { come: 60, go: 120 };
const NARROW = "(max-width: 900px)"; // one column, as in read.css

// Pointing at a French word shows where the English words it came from stand in the picture.
/** @param {ReadView} view */
function lightEnglish(view, positions) {
  if (!view.grid) return;
  const { part, grid, state } = view;
  const shown =
    part.key.language === "English" && !grid.hidden && state.get("by", "words") === "words";
  const side = part.name === "encoder" ? "queries" : "keys";
  view.hovered =
    positions && positions.length && shown ? { queries: [], keys: [], [side]: positions } : null;
  redraw(view);
}

// A word of the typed sentence that is clicked becomes the one that looks, or that is looked at
// where French looks at English.
/** @param {ReadView} view */
function pickEnglish(view, position) {
  if (!view.grid || view.grid.hidden || view.state.get("by", "words") !== "words") return;
  if (view.part.key.language !== "English") return;
  view.state.set(view.part.name === "encoder" ? { q: position, k: null } : { q: "-", k: position });
}

/** @param {ReadView} view */
function pickHead(view, part, layer, head) {
  view.peek = null;
  const same = part === currentChoice(view).part;
  view.state.set(
    { part, layer, head, show: null, ...(same ? {} : { q: "-", k: null, step: null }) },
    true,
  );
  // In one column the heads stand below: the picture comes into sight again.
  if (matchMedia(NARROW).matches && !isInSight(view.shown)) goTo(view.shown);
}

function isInSight(node) {
  const { top, bottom } = node.getBoundingClientRect();
  return bottom > 120 && top < window.innerHeight - 120;
}

// Pointing at a small picture shows it large; leaving it brings the chosen one back.
/** @param {ReadView} view */
function peekAt(view, part, layer, head) {
  clearTimeout(view.peekTimer);
  view.peekTimer = setTimeout(
    () => {
      if (!view.reading) return;
      const isPart = part && view.reading.parts.some((one) => one.name === part);
      view.peek = isPart ? { part, layer, head } : null;
      chooseTable(view);
    },
    part ? LINGER.come : LINGER.go,
  );
}

// What the Read view asks for: a sentence's reading, the run with changes, a head's weights.

// First the English side, which is there at once, then the whole reading.
/** @param {ReadView} view */
async function readSentence(view) {
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
async function runChanges(view, turn) {
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
async function chooseTable(view) {
  const { reading, source, state } = view;
  const choice = currentChoice(view);
  const part = reading.parts.find((one) => one.name === choice.part);
  const options = { by: state.get("by", "words"), hide: state.get("marks") === "hidden" };
  const request = JSON.stringify([choice, options]);
  const pointed = currentChoice({ ...view, peek: null });
  view.heads.show(reading, source, pointed, state.get("order", "layer")).catch(() => {});
  try {
    view.requestedKey = request;
    if (request !== view.request || reading !== view.of) {
      const table = await source.weights(reading, choice);
      if (view.reading !== reading || view.requestedKey !== request) return;
      Object.assign(view, {
        grid: buildGrid(table, part, options),
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

// The Read view drawn from what is known: the weights, and the words that are chosen or pointed at.

/** @param {ReadView} view */
function redraw(view) {
  const { grid, state, part } = view;
  if (!grid) return;
  const pinned = pinnedWords(view);
  const requested = view.hovered || pinned;
  const within = (positions, size) => positions.filter((position) => position < size);
  const chosen = {
    queries: within(requested.queries, grid.rows),
    keys: within(requested.keys, grid.columns),
  };
  view.chosen = chosen;
  const statement = drawStatement(view, pinned);
  drawQuestions(view);
  view.steps.show(view);
  drawWhy(view);
  drawEffects(view);
  view.top.shade(...wordShades(view));
  const picture = currentPicture(view);
  if (view.picture.firstChild !== picture.root) replace(view.picture, picture.root);
  const by = state.get("by", "words");
  const titles = [part.query.language || "a word", part.key.language || "a word"];
  picture.show({
    grid,
    chosen,
    pinned,
    threshold: state.number("least", 0) / 100,
    titles,
    statement,
    until: writtenUntil(view),
    generated: {
      query: generatedAmong(part.query, by, grid.queryPositions),
      key: generatedAmong(part.key, by, grid.keyPositions),
    },
  });
  view.images.show({ images: view.reading.images, part, grid, chosen, by });
  view.beside.show(view);
  if (!view.hovered && !view.peek) sendSelection({ ...view.choice, ...chosen });
  if (view.table.open && view.tabled !== grid) {
    replace(view.table.lastChild, weightsTable(grid));
    view.tabled = grid;
  }
}

/** @param {ReadView} view */
function currentPicture(view) {
  const { state, pictures, part } = view;
  const name = state.get("as", "lines");
  const isServed = (name !== "flow" || hasFlow(part)) && (name !== "space" || hasSpace(view));
  return (isServed && pictures[name]) || pictures.lines;
}

/** @param {ReadView} view */
function drawStatement(view, pinned) {
  const { reading, grid, chosen, choice } = view;
  const marked =
    !view.hovered && isHighlight(view, pinned)
      ? highlightSentence(reading.highlight)
      : weightSentence(grid, chosen, choice);
  const plain = withoutWordMarks(marked);
  replace(view.statement, prose(marked));
  if (!view.hovered) announce(plain);
  return plain;
}
