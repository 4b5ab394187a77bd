// The Read view: a sentence, its translation, and what every head looked at.
//
// Fields of the address: sentence, part, layer, head, show (head, layer, all, rollout), as (lines,
// map, flow, space), by (words, tokens), least (threshold in percent), marks (shown, hidden), q and
// k (chosen positions, "1-3.7"; "-" is none), step (token_steps.js), order (of the heads: layer,
// role), changes (experiment.js), effects and against (effect_grid.js), beside (what is compared,
// beside.js), why (whether the sum behind a weight is unfolded) and because (why_weight.js), file
// (a watched run in place of a sentence).

import {
  announce,
  element,
  goTo,
  isAborted,
  problem,
  prose,
  replace,
  withoutWordMarks,
} from "../lib/dom.js";
import { describeExport, FIGURE_AXES } from "../lib/export.js";
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
import { choiceName, highlightSentence, weightSentence } from "./sentences.js";
import { hasSpace, spacePicture } from "./space.js";
import { tokenSteps, writtenUntil } from "./token_steps.js";
import { buildGrid, generatedAmong, weightsTable } from "./weights.js";
import { drawWhy } from "./why_weight.js";

const TABLE_FIELDS = [
  ...["sentence", "part", "layer", "head", "show"],
  ...["as", "by", "marks", "least", "order", "step"],
];
const PINNED_FIELDS = ["q", "k", "why", "beside", "effects", "against"];

// A file in place of a sentence has another headline: the view is then made again.
/** @param {HTMLElement} root @param {State} state @param {Source} source */
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

/** @param {HTMLElement} root @param {State} state @param {Source} source */
async function openRead(root, state, source) {
  const view = createReadView(root, state, source);
  const { data, elements } = view;
  const recolour = () => {
    elements.heads.repaint(source);
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
    data.turn += 1;
    window.removeEventListener("colours", recolour);
    const { beside, heads, images, pictures, top } = elements;
    for (const part of [...Object.values(pictures), beside, heads, images, top]) part.close();
    data.pending?.abort();
  };
}

// Words that are pinned change the picture and what is said about it; all else may change the
// table.
/** @param {ReadView} view @param {Set<string>} changed */
function follow(view, changed) {
  const { state, data } = view;
  const sentence = state.get("sentence", FIRST_SENTENCE);
  if (sentence !== data.sentence) readSentence(view);
  else if (changed.has("changes") && data.base) runChanges(view, data.base, ++data.turn);
  else if (touches(changed, TABLE_FIELDS) && data.reading) chooseTable(view, data.reading);
  else if (touches(changed, PINNED_FIELDS) && data.shown) {
    if (changed.has("beside")) drawControls(view, data.shown);
    else drawNotes(view, data.shown);
    redraw(view);
  }
}

// The view's data, selection and elements, and what the elements call.
/** @param {HTMLElement} root @param {State} state @param {Source} source @returns {ReadView} */
function createReadView(root, state, source) {
  /** @type {ReadData} */
  const data = {
    turn: 0,
    pending: null,
    sentence: null,
    earlier: null,
    reading: null,
    base: null,
    experiment: null,
    requested: "",
    shown: null,
  };
  /** @type {ReadSelection} */
  const selection = {
    chosen: { queries: [], keys: [] },
    hovered: null,
    anchor: null,
    peek: null,
    peekTimer: 0,
    remembered: null,
    typedOver: null,
    scrollTarget: null,
  };
  /** @type {Omit<ReadView, "elements">} */
  const parts = { state, source, data, selection };
  const view = /** @type {ReadView} */ (parts);
  view.elements = createElements(root, view); // their listeners take the view
  return view;
}

/** @param {HTMLElement} root @param {ReadView} view @returns {ReadElements} */
function createElements(root, view) {
  const { state, source, data, selection } = view;
  /** @param {"p" | "div" | "h2"} tag @param {string} name @returns {HTMLElement} */
  const part = (tag, name) => element(tag, { class: name });
  /** @param {string} name @param {string} label */
  const card = (name, label) =>
    element("section", { class: `${name} card`, "aria-label": label, hidden: true });
  const handlers = handlersFor(view, () => drawChosen(view));
  const lines = linesPicture(handlers);
  const tableBox = part("div", "wide");
  const title = part("h2", "title");
  const picture = part("div", "picture");
  const beside = besidePicture(handlers);
  const images = imageOverlay(handlers);
  const first = element("div", { class: "first" }, title, images.root, picture);
  /** @type {ReadElements} */
  const elements = {
    root,
    top: headline(state, source, FIRST_SENTENCE, {
      hover: (positions) => lightEnglish(view, positions),
      pick: (position) => pickEnglish(view, position),
      typing: () => {
        selection.typedOver = data.sentence;
      },
      leave: () => rememberWords(view),
      stale: () => root.classList.add("stale"),
      empty: (isEmpty) => root.classList.toggle("empty", isEmpty),
      again: () => {
        if (data.reading) present(view, data.turn, data.reading);
      },
    }),
    statement: part("p", "statement"),
    questions: part("div", "questions"),
    steps: tokenSteps(state),
    outcome: card("outcome", "Experiment"),
    why: card("why-weight", "Why this weight"),
    effects: card("effects", "Effects of heads"),
    controls: part("div", "controls"),
    title,
    picture,
    lines,
    pictures: {
      lines,
      map: heatPicture(handlers),
      flow: flowPicture(handlers),
      space: spacePicture(handlers),
    },
    beside,
    images,
    frame: element("div", { class: "shown" }, first, beside.root),
    notes: part("div", "notes small quiet"),
    table: element(
      "details",
      { class: "as-table", on: { toggle: () => drawReadTable(view) } },
      element("summary", null, "As a table"),
      tableBox,
    ),
    tableBox,
    heads: headsGrid({
      choose: (name, layer, head) => pickHead(view, name, layer, head),
      hover: (name, layer = 0, head = 0) => peekAt(view, name ? { part: name, layer, head } : null),
      arrange: (order) => state.set({ order: order === "layer" ? null : order }),
    }),
    drawnFrom: {},
  };
  const { top, statement, questions, steps, outcome, why, effects } = elements;
  const { controls, frame, notes, table, heads } = elements;
  root.append(
    top.root,
    outcome,
    element(
      "div",
      { class: "columns" },
      element(
        "section",
        { class: "main", "aria-label": "The picture" },
        statement,
        questions,
        steps.root,
        frame,
        controls,
      ),
      element("aside", { "aria-label": "All heads" }, heads.root),
    ),
    element("div", { class: "below" }, why, effects, notes, table),
  );
  return elements;
}

// Pointing and clicking outside the picture: words of the sentence, heads of the grid.

// Milliseconds over a small picture before the large one follows.
const PEEK_DELAY_MS = { come: 60, go: 120 };
const ONE_COLUMN = "(max-width: 900px)"; // one column, as in read.css

// Pointing at a French word shows where the English words it came from stand in the picture.
/** @param {ReadView} view @param {number[] | null} positions */
function lightEnglish(view, positions) {
  const { state, data, selection } = view;
  if (!data.shown) return;
  const { part, grid } = data.shown;
  const isEnglish =
    part.key.language === "English" && !grid.hidden && state.get("by", "words") === "words";
  const side = part.name === "encoder" ? "queries" : "keys";
  selection.hovered =
    positions && positions.length && isEnglish
      ? { queries: [], keys: [], [side]: positions }
      : null;
  drawChosen(view);
}

// A word of the typed sentence that is clicked becomes the one that looks, or that is looked at
// where French looks at English.
/** @param {ReadView} view @param {number} position */
function pickEnglish({ state, data: { shown } }, position) {
  if (!shown || shown.grid.hidden || state.get("by", "words") !== "words") return;
  if (shown.part.key.language !== "English") return;
  state.set(shown.part.name === "encoder" ? { q: position, k: null } : { q: "-", k: position });
}

/** @param {ReadView} view @param {string} part @param {number} layer @param {number} head */
function pickHead({ state, data, selection, elements }, part, layer, head) {
  if (!data.reading) return;
  selection.peek = null;
  const same = part === currentChoice(state, data.reading).part;
  state.set(
    { part, layer, head, show: null, ...(same ? {} : { q: "-", k: null, step: null }) },
    true,
  );
  // In one column the heads stand below: the picture comes into sight again.
  if (matchMedia(ONE_COLUMN).matches && !isInSight(elements.frame)) goTo(elements.frame);
}

/** @param {HTMLElement} node */
function isInSight(node) {
  const { top, bottom } = node.getBoundingClientRect();
  return bottom > 120 && top < window.innerHeight - 120;
}

// Pointing at a small picture shows it large; leaving it brings the chosen one back.
/** @param {ReadView} view @param {HeadPlace | null} place */
function peekAt(view, place) {
  const { data, selection } = view;
  clearTimeout(selection.peekTimer);
  selection.peekTimer = setTimeout(
    () => {
      const { reading } = data;
      if (!reading) return;
      const isPart = place && reading.parts.some((one) => one.name === place.part);
      selection.peek = isPart ? place : null;
      chooseTable(view, reading);
    },
    place ? PEEK_DELAY_MS.come : PEEK_DELAY_MS.go,
  );
}

// What the view asks for: a sentence's reading, the run with changes, a head's weights.

// First the English side, which is there at once, then the whole reading.
/** @param {ReadView} view */
async function readSentence(view) {
  const { state, source, data, selection, elements } = view;
  const turn = ++data.turn;
  data.pending?.abort();
  data.pending = new AbortController();
  const { signal } = data.pending;
  const sentence = state.get("sentence", FIRST_SENTENCE);
  if (data.sentence !== null) elements.root.classList.add("stale");
  rememberEarlier(view, sentence);
  if (!isTyping()) selection.remembered = null;
  data.sentence = sentence;
  elements.top.announce(sentence, null);
  try {
    if (source.live && source.run && state.get("file")) {
      data.base = await source.run(state.number("file"));
      await present(view, turn, data.base);
      return;
    }
    if (source.live) {
      const [layer, head] = [state.number("layer", -1), state.number("head", -1)];
      const options = { quick: true, signal, at: { layer, head } };
      await present(view, turn, await source.reading(sentence, options));
    }
    data.base = await source.reading(sentence, { signal });
    await runChanges(view, data.base, turn);
  } catch (error) {
    if (!isAborted(error) && turn === data.turn) elements.top.announce(sentence, problem(error));
  }
}

// The sentence as it is, or run again with the changes that the address names.
/** @param {ReadView} view @param {PageReading} base @param {number} turn */
async function runChanges(view, base, turn) {
  const { state, source, data } = view;
  const changes = readChanges(state.get("changes"));
  if (!changes.length || !source.live || !source.experiment) {
    data.experiment = null;
    drawOutcome(view);
    await present(view, turn, base);
    return;
  }
  data.experiment = { running: true };
  drawOutcome(view);
  try {
    const experiment = await source.experiment(base.sentence, changes);
    if (turn !== data.turn) return;
    data.experiment = experiment;
    await present(view, turn, experiment.reading);
  } catch (error) {
    if (turn !== data.turn) return;
    data.experiment = { error };
    await present(view, turn, base);
  }
  drawOutcome(view);
}

/** @param {ReadView} view @param {number} turn @param {PageReading} reading */
async function present(view, turn, reading) {
  const { state, data, elements } = view;
  if (turn !== data.turn) return;
  carryWords(view, reading);
  const isCurrent = elements.top.show(reading);
  const requested = state.get("part");
  if (reading.quick && requested && !reading.parts.some((part) => part.name === requested)) {
    elements.statement.textContent =
      "The French side follows when the sentence has been translated.";
    elements.statement.classList.add("waits");
    return;
  }
  data.reading = reading;
  elements.statement.classList.remove("waits");
  await chooseTable(view, reading);
  if (isCurrent && turn === data.turn) elements.root.classList.remove("stale");
}

// The weights that are requested; the latest request wins.
/** @param {ReadView} view @param {PageReading} reading */
async function chooseTable(view, reading) {
  const { state, source, data, selection, elements } = view;
  const choice = currentChoice(state, reading, selection.peek);
  const part = reading.parts.find((one) => one.name === choice.part) || reading.parts[0];
  const options = { by: state.get("by", "words"), hide: state.get("marks") === "hidden" };
  const request = JSON.stringify([choice, options]);
  const pointed = currentChoice(state, reading);
  elements.heads.show(reading, source, pointed, state.get("order", "layer")).catch(() => {});
  try {
    data.requested = request;
    let { shown } = data;
    if (!shown || shown.request !== request || shown.reading !== reading) {
      const table = await source.weights(reading, choice);
      if (data.reading !== reading || data.requested !== request) return;
      shown = { request, reading, part, choice, grid: buildGrid(table, part, options) };
      data.shown = shown;
    }
    drawControls(view, shown);
    redraw(view);
  } catch (error) {
    replace(elements.picture, problem(error));
  }
}

// The view drawn from what is known: the weights, and the words that are chosen or pointed at.

/** @param {ReadView} view */
function redraw(view) {
  const { state, data, elements } = view;
  if (!data.shown) return;
  drawChosen(view);
  drawQuestions(view);
  elements.steps.show(state, data.shown);
  drawWhy(view, data.shown);
  drawEffects(view);
  drawReadTable(view);
}

// What follows the pointer: the sentence, the shades, the pictures. All else depends on what is
// pinned, and stays.
/** @param {ReadView} view */
function drawChosen(view) {
  const { state, data, selection, elements } = view;
  const { shown } = data;
  if (!shown) return;
  const { reading, part, grid, choice } = shown;
  const pinned = pinnedWords(state, shown);
  const requested = selection.hovered || pinned;
  /** @param {number[]} positions @param {number} size */
  const within = (positions, size) => positions.filter((position) => position < size);
  const chosen = {
    queries: within(requested.queries, grid.rows),
    keys: within(requested.keys, grid.columns),
  };
  selection.chosen = chosen;
  const statement = drawStatement(view, shown, pinned);
  const [english, french] = wordShades(state, shown, chosen);
  elements.top.shade(english, french);
  const picture = currentPicture(view, shown);
  if (elements.picture.firstChild !== picture.root) replace(elements.picture, picture.root);
  const by = state.get("by", "words");
  picture.show({
    view,
    shown,
    grid,
    chosen,
    pinned,
    threshold: state.number("least", 0) / 100,
    titles: [part.query.language || "a word", part.key.language || "a word"],
    statement,
    until: writtenUntil(state, shown),
    generated: {
      query: generatedAmong(part.query, by, grid.queryPositions),
      key: generatedAmong(part.key, by, grid.keyPositions),
    },
  });
  elements.images.show({ images: reading.images, part, grid, chosen, by });
  elements.beside.show(view, shown);
  if (!selection.hovered && !selection.peek) sendSelection({ ...choice, ...chosen });
}

/** @param {ReadView} view @param {Shown} shown */
function currentPicture({ state, elements: { pictures } }, shown) {
  const name = state.get("as", "lines");
  const isServed =
    (name !== "flow" || hasFlow(shown.part)) && (name !== "space" || hasSpace(shown));
  return (isServed && pictures[name]) || pictures.lines;
}

/** @param {ReadView} view @param {Shown} shown @param {Chosen} pinned */
function drawStatement({ state, selection, elements }, shown, pinned) {
  const { reading, grid, choice } = shown;
  const marked =
    !selection.hovered && reading.highlight && isHighlight(state, shown, pinned)
      ? highlightSentence(reading.highlight)
      : weightSentence(grid, selection.chosen, choice);
  const plain = withoutWordMarks(marked);
  replace(elements.statement, prose(marked));
  if (!selection.hovered) announce(plain);
  return plain;
}

// The numbers, made when the table is opened, and again when they change.
/** @param {ReadView} view */
function drawReadTable({ data: { shown }, elements: { table, tableBox, drawnFrom } }) {
  if (!shown || !table.open || drawnFrom.table === shown.grid) return;
  replace(tableBox, weightsTable(shown.grid));
  drawnFrom.table = shown.grid;
}

// What is saved: the numbers shown, with the words that say where they come from.
/** @param {ReadView} view @returns {Figure | null} */
function readFigure(view) {
  const { state, source, data, selection, elements } = view;
  if (!data.shown) return null;
  const { grid, choice, part, reading } = data.shown;
  const role = choice.show === "head" && part.roles ? part.roles[choice.layer][choice.head] : "";
  const by = state.get("by", "words");
  const name = choiceName(choice);
  const notes = [
    grid.hidden && `Without ${grid.hidden.names.join(", ")}, rows divided by their sums.`,
    grid.rest && "Only the largest weights of each row.",
  ].filter(Boolean);
  return {
    name: reading.sentence,
    kind:
      state.get("as", "lines") === "map" || Math.max(grid.rows, grid.columns) > 100
        ? "heatmap"
        : "lines",
    title: name[0].toUpperCase() + name.slice(1) + (role ? `: ${role}` : ""),
    caption: [elements.statement.textContent, ...notes].join(" "),
    provenance: [
      `“${reading.sentence}”`,
      `${part.title}, ${name}`,
      by === "tokens" ? "sub-words" : "words",
      `regard ${source.page.version}`,
    ].join(" · "),
    axes: FIGURE_AXES,
    what: "weights",
    queries: grid.queries,
    keys: grid.keys,
    chosen: selection.chosen.queries,
    values: grid.weights,
    // A card shows one sentence that looks at itself.
    card: choice.show === "head" && grid.queries.join("\n") === grid.keys.join("\n"),
    html: {
      path: "/api/export/html",
      fields: {
        sentence: reading.sentence,
        part: part.name,
        layer: choice.layer,
        head: choice.head,
        state: Object.fromEntries(
          ["part", "layer", "head", "show", "as", "by", "least", "marks", "q", "k"]
            .map((field) => [field, state.get(field)])
            .filter(([, value]) => value),
        ),
      },
    },
  };
}
