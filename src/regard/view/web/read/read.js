// The Read view: a sentence as a picture, its translation, and what every head looked at; below it,
// more ways to look.
//
// Fields of the address: sentence, more (yes, no: whether more ways to look are unfolded), part,
// layer, head, show (head, layer, all, rollout), as (lines, map, flow, space), by (words, tokens),
// least (threshold in percent), marks (shown, hidden), q and k (chosen positions, "1-3.7"; "-" is
// none), step (token_steps.js), order (of the heads: layer, role), changes (experiment.js), effects
// and against (effect_grid.js), beside (what is compared, beside.js), why (whether the sum behind a
// weight is unfolded) and because (why_weight.js).

import {
  announce,
  element,
  goTo,
  isAborted,
  isCalm,
  problem,
  prose,
  replace,
  withoutWordMarks,
} from "../lib/dom.js";
import { describeExport, FIGURE_AXES } from "../lib/export.js";
import { sendSelection } from "../lib/host_frame.js";
import { FEEDBACK_MS, MEANING_MS } from "../lib/motion.js";
import { touches } from "../lib/state.js";
import { besidePicture } from "./beside.js";
import {
  carriedPosition,
  carryWords,
  currentChoice,
  refusedFields,
  handlersFor,
  isHighlight,
  pinnedWords,
  rememberWords,
} from "./choice.js";
import { drawControls, drawNotes } from "./controls.js";
import { drawEffects } from "./effect_grid.js";
import { EXAMPLES, FIRST_SENTENCE, sentenceWith } from "./examples.js";
import {
  drawTried,
  embeddedTried,
  hasChange,
  readChanges,
  triedOn,
  withChange,
  withoutChange,
  writeChanges,
} from "./experiment.js";
import { flowPicture, hasFlow } from "./flow.js";
import { headsGrid } from "./heads_grid.js";
import { heatPicture } from "./heatmap.js";
import { linesPicture } from "./lines.js";
import { drawQuestions, isTyping, rememberEarlier } from "./questions.js";
import { firstScene } from "./scene.js";
import { sceneModel } from "./scene_model.js";
import { choiceName, highlightSentence, weightSentence } from "./sentences.js";
import { hasSpace, spacePicture } from "./space.js";
import { tokenSteps, writtenUntil } from "./token_steps.js";
import { buildGrid, readPositions, weightsTable, writePositions } from "./weights.js";
import { drawWhy } from "./why_weight.js";

const TABLE_FIELDS = [
  ...["sentence", "part", "layer", "head", "show"],
  ...["as", "by", "marks", "least", "order", "step"],
];
const PINNED_FIELDS = ["q", "k", "why", "beside", "effects", "against"];
// What can be seen in the lower part alone: an address that asks for it unfolds it.
const MORE_FIELDS = ["show", "as", "by", "least", "marks", "beside", "step", "order", "effects"];

/** @param {HTMLElement} root @param {State} state @param {Source} source */
export async function showRead(root, state, source) {
  const view = createReadView(root, state, source);
  const { data, elements } = view;
  const recolour = () => {
    elements.heads.repaint(source);
    redraw(view);
  };
  window.addEventListener("colours", recolour);
  const playing = playOnce(view);
  state.follow((changed) => follow(view, changed));
  describeExport(() => readFigure(view));
  await readSentence(view);
  return () => {
    playing();
    data.turn += 1;
    window.removeEventListener("colours", recolour);
    const { beside, heads, pictures, scene } = elements;
    for (const part of [...Object.values(pictures), beside, heads, scene]) part.close();
    data.pending?.abort();
  };
}

// Words that are pinned change the picture and what is said about it; all else may change the
// table.
/** @param {ReadView} view @param {Set<string>} changed */
function follow(view, changed) {
  const { state, data, elements } = view;
  const sentence = state.get("sentence", FIRST_SENTENCE);
  elements.more.open = isMoreOpen(view);
  data.refused = "";
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
    pointed: null,
    nouns: null,
    tried: embeddedTried(source),
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
  view.elements.more.open = isMoreOpen(view);
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
  const first = element("div", { class: "first" }, title, picture);
  const scene = firstScene(state, source, {
    point: (position) => hoverWord(view, position),
    source: (positions) => lightEnglish(view, positions),
    strike: (position) => strikeWord(view, position),
    look: (position) => redirectTo(view, position),
    soon: (sentence) => source.live && source.reading(sentence, {}).catch(() => {}),
    typing: () => {
      selection.typedOver = data.sentence;
    },
    leave: () => rememberWords(view),
    stale: () => root.classList.add("stale"),
    empty: (isEmpty) => root.classList.toggle("empty", isEmpty),
    again: () => {
      if (data.reading) present(view, data.turn, data.reading);
    },
    ...headHandlers(view),
  });
  /** @type {ReadElements} */
  const elements = {
    root,
    scene,
    statement: part("p", "statement"),
    questions: scene.questions,
    furtherQuestions: part("div", "questions further"),
    tried: element("section", { class: "tried", "aria-label": "What you tried", hidden: true }),
    steps: tokenSteps(state),
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
      ...headHandlers(view),
      arrange: (order) => state.set({ order: order === "layer" ? null : order }),
    }),
    more: element("details", { class: "more" }),
    drawnFrom: {},
  };
  const { statement, furtherQuestions, steps, tried, why, effects } = elements;
  const { controls, frame, notes, table, heads, more } = elements;
  replace(
    more,
    element("summary", null, "More ways to look"),
    element(
      "div",
      { class: "columns" },
      element(
        "section",
        { class: "main", "aria-label": "The picture" },
        statement,
        furtherQuestions,
        steps.root,
        frame,
        controls,
      ),
      element("aside", { "aria-label": "All heads" }, heads.root),
    ),
    element("div", { class: "below" }, effects, notes, table),
  );
  more.addEventListener("toggle", () => {
    if (more.open === isMoreOpen(view)) return;
    state.set({ more: more.open ? "yes" : "no" });
    if (data.reading) chooseTable(view, data.reading);
  });
  root.append(scene.root, why, tried, more);
  return elements;
}

/** @param {ReadView} view */
function isMoreOpen({ state, source }) {
  const isAsked = MORE_FIELDS.some((field) => state.get(field) !== "");
  return state.get("more", isAsked || !source.live ? "yes" : "no") === "yes";
}

// Pointing and clicking outside the picture: words of the sentence, heads of the grid.

// Milliseconds over a small picture before the large one follows.
const PEEK_DELAY_MS = { come: 60, go: 120 };
const ONE_COLUMN = "(max-width: 900px)"; // one column, as in read.css
const MAX_CARRIED_WORDS = 4096;

/** @param {ReadView} view */
function headHandlers(view) {
  return {
    /** @param {string} part @param {number} layer @param {number} head @param {boolean} [isStep] */
    choose: (part, layer, head, isStep = true) => pickHead(view, part, layer, head, isStep),
    /** @param {string | null} part @param {number} [layer] @param {number} [head] */
    hover: (part, layer = 0, head = 0) => peekAt(view, part ? { part, layer, head } : null),
  };
}

// The side of the picture that a word of the English sentence stands on; null where it has none.
/** @param {ReadView} view @returns {keyof Chosen | null} */
function englishSide({ state, data: { shown } }) {
  if (!shown || shown.grid.hidden || state.get("by", "words") !== "words") return null;
  if (shown.part.key.language !== "English") return null;
  return shown.part.query.language === "English" ? "queries" : "keys";
}

// Pointing at a French word shows where the English words it came from stand in the picture.
/** @param {ReadView} view @param {number[] | null} positions */
function lightEnglish(view, positions) {
  const side = englishSide(view);
  view.selection.hovered =
    positions?.length && side ? { queries: [], keys: [], [side]: positions } : null;
  drawPicture(view);
}

// Pointing at a word of the sentence shows where it looks, or who looks at it.
/** @param {ReadView} view @param {number | null} position */
function hoverWord(view, position) {
  const side = englishSide(view);
  view.selection.hovered =
    position !== null && side ? { queries: [], keys: [], [side]: [position] } : null;
  drawChosen(view, FEEDBACK_MS);
}

// A click on a word strikes it out, or takes that back.
/** @param {ReadView} view @param {number} position */
function strikeWord({ state, selection }, position) {
  /** @type {Change} */
  const change = { change: "knock_out", word: position };
  const now = state.get("changes");
  const changes = hasChange(now, change) ? withoutChange(now, change) : withChange(now, change);
  selection.hovered = null;
  state.set({ changes }, true);
}

// The word that looks is made to look at another one.
/** @param {ReadView} view @param {number} position */
function redirectTo(view, position) {
  const { state, data, selection } = view;
  if (!data.shown) return;
  const [query] = pinnedWords(state, data.shown).queries;
  const { part, layer, head } = data.shown.choice;
  if (query === undefined) return;
  selection.hovered = null;
  const others = readChanges(state.get("changes")).filter(({ change }) => change !== "redirect");
  /** @type {Change} */
  const change = { change: "redirect", word: query, to: position, part, layer, head };
  state.set({ changes: writeChanges([...others, change]), q: query, k: null }, true);
}

/**
 * @param {ReadView} view
 * @param {string} part
 * @param {number} layer
 * @param {number} head
 * @param {boolean} isStep
 */
function pickHead({ state, data, selection, elements }, part, layer, head, isStep) {
  const { reading } = data;
  if (!reading) return;
  selection.peek = null;
  const own = currentChoice(state, reading).part;
  const chosen = readPositions(state.get("q"), MAX_CARRIED_WORDS);
  const carried = chosen.map((at) => carriedPosition(reading, own, part, at));
  const kept = carried.filter((at) => at !== null);
  const q = state.get("q") && part !== own ? writePositions(kept) || "-" : state.get("q");
  const same = part === own ? {} : { k: null, step: null };
  state.set({ part, layer, head, show: null, q, ...same }, isStep);
  // In one column the heads stand below: the picture comes into sight again.
  if (elements.more.open && matchMedia(ONE_COLUMN).matches && !isInSight(elements.frame))
    goTo(elements.frame);
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

// On a first visit the scene plays once: the other ending, and back. Any input ends it.

const PLAY_PAUSE_MS = { before: 1600, between: 2600 };

/** @param {ReadView} view @returns {() => void} a function that ends it */
function playOnce({ state, source }) {
  const isFirst = source.live && state.address() === "#read" && !isCalm() && !wasVisited();
  if (!isFirst) return () => {};
  const [sentence, other] = [0, 1].map((at) => sentenceWith(EXAMPLES[0], at));
  const asInput = ["pointerdown", "keydown", "input", "wheel", "touchstart"];
  let timer = setTimeout(() => {
    state.set({ sentence: other });
    timer = setTimeout(() => {
      state.set({ sentence });
      stop();
    }, PLAY_PAUSE_MS.between);
  }, PLAY_PAUSE_MS.before);
  function stop() {
    clearTimeout(timer);
    for (const name of asInput) window.removeEventListener(name, stop, true);
  }
  for (const name of asInput) window.addEventListener(name, stop, true);
  source.reading(other, {}).catch(() => {}); // so that it is there when its turn comes
  return stop;
}

// Whether the browser has shown the page before; it remembers that it has now.
function wasVisited() {
  try {
    const was = localStorage.getItem("visited") !== null;
    localStorage.setItem("visited", "yes");
    return was;
  } catch {
    return true; // what cannot be remembered would play for ever
  }
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
  elements.scene.announce(sentence, null);
  try {
    if (source.live) {
      const [layer, head] = [state.number("layer", -1), state.number("head", -1)];
      const options = { quick: true, signal, at: { layer, head } };
      await present(view, turn, await source.reading(sentence, options));
    }
    data.base = await source.reading(sentence, { signal });
    await runChanges(view, data.base, turn);
  } catch (error) {
    if (!isAborted(error) && turn === data.turn) elements.scene.announce(sentence, problem(error));
  }
}

// The sentence as it is, or run again with the changes that the address names.
/** @param {ReadView} view @param {PageReading} base @param {number} turn */
async function runChanges(view, base, turn) {
  const { state, source, data } = view;
  const changes = readChanges(state.get("changes"));
  if (!changes.length || !source.live || !source.experiment) {
    data.experiment = null;
    await present(view, turn, base);
    drawTried(view);
    return;
  }
  data.experiment = { running: true };
  if (data.shown) drawChosen(view);
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
  drawTried(view);
}

/** @param {ReadView} view @param {number} turn @param {PageReading} reading */
async function present(view, turn, reading) {
  const { state, data, elements } = view;
  if (turn !== data.turn) return;
  carryWords(view, reading);
  const isCurrent = elements.scene.show(reading);
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
  const refused = refusedFields(state, reading);
  if (refused) data.refused = refused;
  const choice = currentChoice(state, reading, selection.peek);
  const part = reading.parts.find((one) => one.name === choice.part) || reading.parts[0];
  const options = { by: state.get("by", "words"), hide: state.get("marks") === "hidden" };
  const request = JSON.stringify([choice, options]);
  data.pointed = currentChoice(state, reading);
  const order = state.get("order", "layer");
  if (isMoreOpen(view)) elements.heads.show(reading, source, data.pointed, order).catch(() => {});
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
    redraw(view, selection.peek ? FEEDBACK_MS : MEANING_MS);
  } catch (error) {
    replace(elements.picture, problem(error));
  }
}

// The view drawn from what is known: the weights, and the words that are chosen or pointed at.

/** @param {ReadView} view @param {number} [milliseconds] of the lines' motion */
function redraw(view, milliseconds = FEEDBACK_MS) {
  const { state, data, elements } = view;
  if (!data.shown) return;
  drawChosen(view, milliseconds);
  drawQuestions(view);
  elements.steps.show(state, data.shown);
  drawWhy(view, data.shown);
  drawEffects(view);
  drawReadTable(view);
}

// What follows the pointer: the scene and the picture. All else depends on what is pinned, and
// stays.
/** @param {ReadView} view @param {number} [milliseconds] of the lines' motion */
function drawChosen(view, milliseconds = FEEDBACK_MS) {
  const { data, elements } = view;
  if (!data.shown) return;
  drawPicture(view);
  elements.scene.draw(sceneModel(view, data.shown), milliseconds);
}

/** @param {ReadView} view */
function drawPicture(view) {
  const { state, data, selection, elements } = view;
  const { shown } = data;
  if (!shown) return;
  const { part, grid, choice } = shown;
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
  const picture = currentPicture(view, shown);
  if (elements.picture.firstChild !== picture.root) replace(elements.picture, picture.root);
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
  });
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
        ...triedOn(reading.sentence),
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
