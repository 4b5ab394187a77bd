// The Look view: a question about a word, the sentence as the picture, its translation, and what
// was tried on it. Every head of the sentence is in the Map.
//
// Fields of the address: sentence, part, layer, head, q (the word that looks), changes
// (experiment.js), effects and against (effect_grid.js), why and guess (why.js), because
// (why_numbers.js).

import {
  announce,
  element,
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
import {
  carryWords,
  currentChoice,
  isHighlight,
  pinnedWords,
  refusedFields,
  rememberWords,
} from "./choice.js";
import { drawEffects } from "./effect_grid.js";
import { EXAMPLES, FIRST_SENTENCE, sentenceWith } from "./examples.js";
import {
  drawTried,
  embeddedTried,
  readChanges,
  redirected,
  toggled,
  triedOn,
} from "./experiment.js";
import { drawQuestions, isTyping } from "./questions.js";
import { firstScene } from "./scene.js";
import { sceneModel } from "./scene_model.js";
import { choiceName, highlightSentence, weightSentence } from "./sentences.js";
import { wordGrid } from "./weights.js";
import { readWhy, whyPanel, whyStep } from "./why.js";

const HEAD_FIELDS = ["part", "layer", "head"];
const WORD_FIELDS = ["q", "why", "guess", "effects", "against"];

/** @param {HTMLElement} root @param {State} state @param {Source} source */
export async function showRead(root, state, source) {
  const view = createReadView(root, state, source);
  const { data, elements } = view;
  const recolour = () => redraw(view);
  window.addEventListener("colours", recolour);
  const playing = playOnce(view);
  state.follow((changed) => follow(view, changed));
  describeExport(() => readFigure(view));
  await readSentence(view);
  return () => {
    playing();
    data.turn += 1;
    window.removeEventListener("colours", recolour);
    elements.scene.close();
    elements.why.close();
    data.pending?.abort();
  };
}

/** @param {ReadView} view @param {Set<string>} changed */
function follow(view, changed) {
  const { state, data } = view;
  const sentence = state.get("sentence", FIRST_SENTENCE);
  data.refused = "";
  if (sentence !== data.sentence || changed.has("seen")) readSentence(view);
  else if (changed.has("changes") && data.base) runChanges(view, data.base, ++data.turn);
  else if (touches(changed, HEAD_FIELDS) && data.reading) chooseTable(view, data.reading);
  else if (touches(changed, WORD_FIELDS) && data.shown)
    redraw(view, changed.has("why") ? MEANING_MS : FEEDBACK_MS);
}

// The view's data, selection and elements, and what the elements call.
/** @param {HTMLElement} root @param {State} state @param {Source} source @returns {ReadView} */
function createReadView(root, state, source) {
  /** @type {ReadData} */
  const data = {
    turn: 0,
    pending: null,
    sentence: null,
    reading: null,
    base: null,
    experiment: null,
    requested: "",
    shown: null,
    nouns: null,
    why: null,
    tried: embeddedTried(source),
  };
  /** @type {ReadSelection} */
  const selection = {
    chosen: { queries: [], keys: [] },
    hovered: null,
    pointed: null,
    remembered: null,
  };
  /** @type {Omit<ReadView, "elements">} */
  const parts = { state, source, data, selection };
  const view = /** @type {ReadView} */ (parts);
  view.elements = createElements(root, view); // their listeners take the view
  return view;
}

/** @param {HTMLElement} root @param {ReadView} view @returns {ReadElements} */
function createElements(root, view) {
  const { state, source, data } = view;
  /** @param {string} name @param {string} label */
  const section = (name, label) =>
    element("section", { class: name, "aria-label": label, hidden: true });
  const scene = firstScene(state, source, {
    point: (position) => hoverWord(view, position),
    source: (positions) => lightEnglish(view, positions),
    strike: (position) => strikeWord(view, position),
    look: (position) => redirectTo(view, position),
    soon: (sentence) => source.live && source.reading(sentence, {}).catch(() => {}),
    leave: () => rememberWords(view),
    stale: () => root.classList.add("stale"),
    empty: (isEmpty) => root.classList.toggle("empty", isEmpty),
    others: () => showInMap(view),
    again: () => {
      if (data.reading) present(view, data.turn, data.reading);
    },
  });
  const elements = {
    root,
    scene,
    questions: scene.questions,
    tried: section("tried", "What you tried"),
    why: whyPanel(view),
    effects: section("effects card", "Effects of heads"),
    notes: element("div.notes.small.quiet"),
    drawnFrom: {},
  };
  const { why, tried, effects, notes } = elements;
  // So that an address of a step is laid out as it will be.
  const step = whyStep(state);
  root.classList.toggle("why", step !== null);
  scene.stage.classList.toggle("explaining", step !== null && step !== "try");
  scene.root.append(why.root);
  root.append(scene.root, tried, effects, notes);
  return elements;
}

// The same word in the Map, with every head of the sentence beside it.
/** @param {ReadView} view */
function showInMap({ state, data: { shown } }) {
  if (!shown) return;
  const { part, choice } = shown;
  const [word] = pinnedWords(state, shown).queries;
  const row = word === undefined ? null : part.query.word_of_token.indexOf(word);
  const { layer, head } = choice;
  state.go("map", { part: part.name, layer, head, row, key: null });
}

// The side of the weights that a word of the English sentence stands on; null where it has none.
/** @param {ReadView} view @returns {keyof Chosen | null} */
function englishSide({ data: { shown } }) {
  if (shown?.part.key.language !== "English") return null;
  return shown.part.query.language === "English" ? "queries" : "keys";
}

/** @param {ReadView} view @param {number[] | null} positions */
function hover(view, positions) {
  const side = englishSide(view);
  view.selection.hovered =
    positions?.length && side ? { queries: [], keys: [], [side]: positions } : null;
}

// Pointing at a French word shows the English words that it came from.
/** @param {ReadView} view @param {number[] | null} positions */
function lightEnglish(view, positions) {
  hover(view, positions);
  chooseWords(view);
}

// Pointing at a word of the sentence shows where it looks, or who looks at it. What is pointed at
// before anything is drawn counts as soon as it is.
/** @param {ReadView} view @param {number | null} position */
function hoverWord(view, position) {
  view.selection.pointed = position;
  hover(view, position === null ? null : [position]);
  drawChosen(view);
}

// A click on a word strikes it out, or takes that back.
/** @param {ReadView} view @param {number} position */
function strikeWord({ state, selection }, position) {
  /** @type {Change} */
  const change = { change: "knock_out", word: position };
  const changes = toggled(state.get("changes"), change);
  selection.hovered = selection.pointed = null;
  state.set({ changes, ...ownTurn(state) }, true);
}

// The word that looks is made to look at another one.
/** @param {ReadView} view @param {number} position */
function redirectTo(view, position) {
  const { state, data, selection } = view;
  if (!data.shown) return;
  const [query] = pinnedWords(state, data.shown).queries;
  const { part, layer, head } = data.shown.choice;
  if (query === undefined) return;
  selection.hovered = selection.pointed = null;
  /** @type {Change} */
  const change = { change: "redirect", word: query, to: position, part, layer, head };
  const changes = redirected(state.get("changes"), change);
  state.set({ changes, ...{ part, layer, head, q: query }, ...ownTurn(state) }, true);
}

// Who changes something while it is explained takes the turn.
/** @param {State} state */
function ownTurn(state) {
  return whyStep(state) ? { why: "try" } : {};
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
  if (!isTyping()) selection.remembered = null;
  selection.pointed = null;
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
  // The French side follows when the sentence has been translated.
  if (reading.quick && requested && !reading.parts.some((part) => part.name === requested)) return;
  data.reading = reading;
  await chooseTable(view, reading);
  if (isCurrent && turn === data.turn) elements.root.classList.remove("stale");
}

// The weights that are requested; the latest request wins.
/** @param {ReadView} view @param {PageReading} reading */
async function chooseTable(view, reading) {
  const { state, source, data, selection, elements } = view;
  const refused = refusedFields(state, reading);
  if (refused) data.refused = refused;
  const choice = currentChoice(state, reading);
  const part = reading.parts.find((one) => one.name === choice.part) || reading.parts[0];
  const request = JSON.stringify(choice);
  try {
    data.requested = request;
    let { shown } = data;
    if (!shown || shown.request !== request || shown.reading !== reading) {
      const table = await source.weights(reading, choice);
      if (data.reading !== reading || data.requested !== request) return;
      shown = { request, reading, part, choice, grid: wordGrid(table, part) };
      await readWhy(view, shown);
      if (data.reading !== reading || data.requested !== request) return;
      data.shown = shown;
    }
    if (selection.pointed !== null) hover(view, [selection.pointed]);
    redraw(view, MEANING_MS);
  } catch (error) {
    replace(elements.notes, problem(error));
  }
}

// The view drawn from what is known: the weights, and the words that are chosen or pointed at.

/** @param {ReadView} view @param {number} [milliseconds] of the lines' motion */
function redraw(view, milliseconds = FEEDBACK_MS) {
  const { state, data, elements } = view;
  if (!data.shown) return;
  const step = whyStep(state);
  elements.root.classList.toggle("why", step !== null && data.why !== null);
  elements.root.classList.toggle("new-turn", step === "try" && !state.get("changes"));
  drawChosen(view, milliseconds);
  drawQuestions(view);
  elements.why.draw(data.shown);
  explain(view, data.shown);
  drawEffects(view);
  drawNotes(view, data.shown);
}

// What a weight is made of comes a moment later; then all is drawn with it.
/** @param {ReadView} view @param {Shown} shown */
async function explain(view, shown) {
  try {
    if (await readWhy(view, shown)) redraw(view, MEANING_MS);
  } catch (error) {
    replace(view.elements.notes, problem(error));
  }
}

// What follows the pointer: the scene. All else depends on what is pinned, and stays.
/** @param {ReadView} view @param {number} [milliseconds] of the lines' motion */
function drawChosen(view, milliseconds = FEEDBACK_MS) {
  const { data, elements } = view;
  if (!data.shown) return;
  chooseWords(view);
  elements.scene.draw(sceneModel(view, data.shown), milliseconds);
}

// Which words are drawn: those pointed at, else the pinned one.
/** @param {ReadView} view */
function chooseWords(view) {
  const { state, data, selection } = view;
  const { shown } = data;
  if (!shown) return;
  const { queries, keys } = selection.hovered ?? pinnedWords(state, shown);
  const { rows, columns } = shown.grid;
  selection.chosen = {
    queries: queries.filter((at) => at < rows),
    keys: keys.filter((at) => at < columns),
  };
  if (selection.hovered) return;
  announce(withoutWordMarks(lookSentence(view, shown)));
  sendSelection({ ...shown.choice, ...selection.chosen });
}

/** @param {ReadView} view @param {Shown} shown */
function lookSentence({ selection }, shown) {
  const { reading, grid, choice } = shown;
  return !selection.hovered && reading.highlight && isHighlight(shown, selection.chosen)
    ? highlightSentence(reading.highlight)
    : weightSentence(grid, selection.chosen, choice);
}

// What has to be said about what is shown.
/** @param {ReadView} view @param {Shown} shown */
function drawNotes({ state, elements }, shown) {
  const { reading } = shown;
  const first = isHighlight(shown, pinnedWords(state, shown)) ? reading.highlight : null;
  const sentences = [
    first && `Shown first: ${first.reason}.`,
    first?.disagreement && `But ${first.disagreement}.`,
    ...reading.notes.slice(1), // the first one is said in the scene
    reading.caution,
  ];
  replace(
    elements.notes,
    sentences.map((note) => note && element("p", prose(note))),
  );
}

// What is saved: the numbers shown, with the words that say where they come from.
/** @param {ReadView} view @returns {Figure | null} */
function readFigure(view) {
  const { state, source, data, selection } = view;
  if (!data.shown) return null;
  const { grid, choice, part, reading } = data.shown;
  const role = part.roles ? part.roles[choice.layer][choice.head] : "";
  const name = choiceName(choice);
  const { part: partName, layer, head } = choice;
  return {
    name: reading.sentence,
    kind: Math.max(grid.rows, grid.columns) > 100 ? "heatmap" : "lines",
    title: name[0].toUpperCase() + name.slice(1) + (role ? `, which usually ${role}` : ""),
    caption: [
      withoutWordMarks(lookSentence(view, data.shown)),
      grid.rest && "Only the largest weights of each row.",
    ]
      .filter(Boolean)
      .join(" "),
    provenance: [
      `“${reading.sentence}”`,
      `${part.title}, ${name}`,
      "words",
      `regard ${source.page.version}`,
    ].join(" · "),
    axes: FIGURE_AXES,
    what: "weights",
    queries: grid.queries,
    keys: grid.keys,
    chosen: selection.chosen.queries,
    values: grid.weights,
    // A card shows one sentence that looks at itself.
    card: grid.queries.join("\n") === grid.keys.join("\n"),
    html: {
      path: "/api/export/html",
      fields: {
        ...{ sentence: reading.sentence, part: partName, layer, head },
        ...triedOn(reading.sentence),
        state: Object.fromEntries(
          ["part", "layer", "head", "q"]
            .map((field) => [field, state.get(field)])
            .filter(([, value]) => value),
        ),
      },
    },
  };
}
