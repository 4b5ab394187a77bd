// The Steps view: the way of a sentence through the model, every number with the expression that
// made it. Three levels: the overview, one stage, one cell. A document's example and one's own
// numbers are one head alone, with all of its stages below each other.
//
// Fields of the address: from ("": a head of the model; robots, good, cat: a document's example;
// own), sentence, part, layer, head, own (numbers of one's own), divide (no), causal (yes or no),
// position (no), heat (temperature), stage, cell (stage.row.column).

import { triedOn } from "../read/experiment.js";
import { element, goTo, problem, replace } from "../lib/dom.js";
import { describeExport, FIGURE_AXES } from "../lib/export.js";
import { touches } from "../lib/state.js";
import { FIRST_SENTENCE } from "../read/examples.js";
import { attend } from "./attend.js";
import { chooseCell, describeCell } from "./cell.js";
import { layerPath } from "./layer_path.js";
import { appear, captureLook, openFrom, passFrom } from "./morph.js";
import { candidatesAt } from "./next_word.js";
import {
  drawOrigin,
  drawSwitches,
  ownInputs,
  switchValues,
  currentTemperature,
  drawTitleEarly,
} from "./origin.js";
import { drawCrumbs, drawOverview } from "./overview.js";
import { differs, openedStage, stageSection } from "./stage_panel.js";
import { claimsTable } from "./words.js";

const INPUT_FIELDS = ["from", "sentence", "part", "layer", "head", "own"];
const SWITCH_FIELDS = ["divide", "causal", "position", "heat"];
const SIDE_BY_SIDE = ["memory", "key", "value"];

/** @param {HTMLElement} root @param {State} state @param {Source} source */
export async function showSteps(root, state, source) {
  const view = createStepsView(root, state, source);
  const recolour = () => {
    if (view.now) draw(view);
  };
  window.addEventListener("colours", recolour);
  state.follow((changed) => {
    if (touches(changed, [...INPUT_FIELDS, ...SWITCH_FIELDS])) compute(view, changed);
    else if (touches(changed, ["stage", "cell"]) && view.now) move(view, changed);
  });
  describeExport(() =>
    stepsFigure(
      view,
      view.stage || state.get("cell", "weights").split(".")[0],
      state.get("sentence", FIRST_SENTENCE),
    ),
  );
  await compute(view, new Set(INPUT_FIELDS));
  return () => {
    window.removeEventListener("colours", recolour);
    view.observer?.disconnect();
  };
}

/** @param {HTMLElement} root @param {State} state @param {Source} source */
function createStepsView(root, state, source) {
  /** @param {"div" | "p"} tag @param {string} name @returns {HTMLElement} */
  const part = (tag, name) => element(tag, { class: name });
  const statement = part("p", "statement");
  const changed = part("p", "changed-statement");
  const crumbs = element("nav.crumbs", { "aria-label": "Where you are" });
  const map = part("div", "path-map");
  /** @type {StepsStart} */
  const start = {
    root,
    state,
    source,
    turn: 0,
    wide: new Set(),
    stale: new Set(),
    isChanged: false,
    chosen: null,
    chosenIn: null,
    operands: [],
    stage: null,
    layer: null,
    path: null,
    pathBefore: null,
    next: null,
    nextRow: 0,
    thumbs: new Map(),
    pictures: new Map(),
    observer: null,
    card: null,
    overviewTop: null,
    heatTimer: 0,
    origin: part("div", "origin"),
    switches: part("div", "controls switches"),
    saying: element("div.saying", statement, changed),
    statement,
    changed,
    where: element("div.where", crumbs, map),
    crumbs,
    map,
    flow: part("div", "flow"),
    claims: part("div", "claims-box"),
    why: element("section.why", {
      "aria-label": "How a number was made",
      "aria-live": "polite",
    }),
  };
  const { origin, saying, switches, where, flow, claims, why } = start;
  const level = element("div.level", flow, claims, why);
  root.append(origin, saying, switches, where, level);
  // The computation is there before anything is drawn.
  return /** @type {StepsView} */ (start);
}

// `before` is the computation as it is, `now` as the switches have it; without any they are one.
/** @param {StepsView} view @param {Set<string>} changed */
async function compute(view, changed) {
  const { state } = view;
  const turn = ++view.turn;
  for (const name of changed) view.stale.add(name); // an overtaken call leaves its part to the next
  try {
    const isNew = touches(view.stale, INPUT_FIELDS);
    drawTitleEarly(view);
    const inputs = isNew ? await inputsFor(view) : view.inputs;
    const withoutPosition = state.get("position") === "no" && inputs.position;
    const given = withoutPosition ? await inputsFor(view, { position: false }) : inputs;
    const layer = isNew ? await layerFor(view, inputs) : view.layer;
    const placed = withoutPosition ? await layerFor(view, inputs, { position: false }) : layer;
    if (turn !== view.turn) return;
    view.stale.clear();
    if (isNew) Object.assign(view, { inputs, layer, before: attend(inputs) });
    view.now = switchValues(state).some(Boolean)
      ? attend(given, {
          divide: state.get("divide") !== "no",
          temperature: currentTemperature(state),
          causal: state.get("causal") ? state.get("causal") === "yes" : null,
        })
      : view.before;
    view.pathBefore = layer && layerPath(layer, view.before);
    view.path = !placed || view.now === view.before ? view.pathBefore : layerPath(placed, view.now);
    if (isNew) drawOrigin(view);
    drawSwitches(view);
    draw(view);
    await addNextWords(view, withoutPosition ? { position: false } : {}, turn);
  } catch (error) {
    if (turn !== view.turn) return;
    view.root.classList.remove("at-overview");
    replace(view.flow, problem(error), wayBack(state));
  }
}

// An address may name what there is not.
/** @param {State} state */
function wayBack(state) {
  const usual = { from: null, part: null, layer: null, head: null, stage: null, cell: null };
  return element(
    "button.button",
    { on: { click: () => state.set(usual, true) } },
    "Show the first head instead",
  );
}

// What the head of an address starts from.
/** @param {StepsView} view @param {Fields} [more] */
function inputsFor({ state, source }, more = {}) {
  const from = state.get("from");
  if (from === "own") return ownInputs(state);
  if (from) return source.steps({ example: from });
  const named = ["layer", "head"]
    .filter((name) => state.get(name))
    .map((name) => [name, state.number(name)]);
  return source.steps({
    ...sentenceField(state),
    part: state.get("part", "encoder"),
    ...Object.fromEntries(named),
    ...more,
  });
}

/** @param {State} state */
const sentenceField = (state) => ({ sentence: state.get("sentence", FIRST_SENTENCE) });

// The layer around the head; a file may hold the head alone.
/** @param {StepsView} view @param {Inputs} inputs @param {Fields} [more] */
async function layerFor({ state, source }, { part, layer }, more = {}) {
  if (layer === undefined || !source.layer) return null;
  return source.layer({ ...sentenceField(state), part, layer, ...more });
}

// The next words need the translation: they come when the rest is drawn.
/** @param {StepsView} view @param {Fields} more @param {number} turn */
async function addNextWords(view, more, turn) {
  const { path, state, source } = view;
  const asked = path && source.nextWords?.({ ...sentenceField(state), ...more });
  // In the English part they are an addition, which may be missing.
  const next = (await (path?.layer.part === "encoder" ? asked?.catch(() => null) : asked)) || null;
  if (turn !== view.turn || next === view.next) return;
  view.next = next;
  if (view.stage === "next_word") view.chosen = null;
  view.nextRow = next ? leastSure(next) : 0;
  // In another stage nothing but the path above it changes: what is opened there stays open.
  if (isPathView(view) && view.stage && view.stage !== "next_word")
    drawOverview(view, opener(view));
  else draw(view);
}

// The position where the choice of the next word is least clear.
/** @param {NextWords} next */
function leastSure(next) {
  const sure = next.candidates.map((_, row) => candidatesAt(next, row)[0].probability);
  return sure.indexOf(Math.min(...sure));
}

/** @param {StepsView} view */
function addressedStage({ state, path }) {
  if (!path) return "";
  /** @param {string} name */
  const isStage = (name) =>
    path.names.includes(name) || (name === "next_word" && path.layer.part !== "encoder");
  return [state.get("cell").split(".")[0], state.get("stage")].find(isStage) || "";
}

// Another stage or cell of the same computation.
/** @param {StepsView} view @param {Set<string>} changed */
function move(view, changed) {
  if (view.path || changed.has("stage")) draw(view);
  else {
    chooseCell(view);
    describeCell(view, opener(view));
  }
}

/** @param {StepsView} view @returns {view is PathView} */
function isPathView(view) {
  return view.path !== null;
}

/** @param {StepsView} view @returns {OpenStage} */
function opener(view) {
  return (choice, card = null) => {
    const { state, inputs } = view;
    view.card = card ? card.getBoundingClientRect() : null;
    if (!view.stage) view.overviewTop = window.scrollY;
    const named = { part: inputs.part, layer: inputs.layer, head: inputs.head };
    const isOther =
      (choice.part ?? named.part) !== named.part ||
      (choice.layer ?? named.layer) !== named.layer ||
      (choice.head ?? named.head) !== named.head;
    const { stage = null, cell = null, ...head } = choice;
    // What the address does not name is the first choice, and stays so within the same head.
    state.set({ ...(isOther ? { ...named, ...head } : {}), stage, cell }, true);
  };
}

/** @param {StepsView} view */
function draw(view) {
  const { root, path, now, flow, claims, inputs } = view;
  const open = opener(view);
  const stage = addressedStage(view);
  const isOther = view.stage !== stage;
  view.stage = stage;
  const names = path ? path.names.filter((name) => now.stages[name]) : Object.keys(now.stages);
  view.isChanged = now !== view.before && names.some((name) => differs(view, name));
  chooseCell(view);
  root.classList.toggle("at-stage", Boolean(stage));
  root.classList.toggle("at-overview", Boolean(path) && !stage);
  const look = captureLook(flow);
  const focused = focusedPart(root);
  drawCrumbs(view, open);
  if (isOther) placeControls(view);
  if (isPathView(view)) drawOverview(view, open);
  else replace(view.map);
  replace(
    flow,
    isPathView(view) ? stage && openedStage(view, stage, open) : allStages(view, names),
  );
  const field = focused && root.querySelector(focused);
  if (field instanceof HTMLElement) field.focus({ preventScroll: true });
  replace(claims, claimsTable(inputs.example));
  if (stage !== "next_word" || view.next) describeCell(view, open);
  if (isOther) enterStage(view);
  else passFrom(flow, look);
}

// What the row says and the switches stand above the overview, and above an opened stage.
/** @param {StepsView} view */
function placeControls({ origin, where, saying, switches, stage }) {
  const above = stage ? where : origin;
  if (above.nextElementSibling !== saying) above.after(saying, switches);
}

// Into a stage, out of its card; or back to the overview.
/** @param {StepsView} view */
function enterStage(view) {
  const { flow, map, where, stage, path, card } = view;
  view.card = null;
  if (!path) return;
  if (!stage) {
    if (view.overviewTop !== null) window.scrollTo(0, view.overviewTop);
    appear(map);
  } else {
    if (where.getBoundingClientRect().top <= 0 || card) where.scrollIntoView({ block: "start" });
    const own = map.querySelector('[aria-current="step"]');
    if (own) own.scrollIntoView({ block: "nearest", inline: "center" });
    openFrom(flow, card);
  }
}

/** @param {StepsView} view @param {string[]} names */
function allStages(view, names) {
  return [stageLinks(names, view.flow), names.map((name) => stageSection(view, name))];
}

// Where the reader is in what is about to be drawn again, as a selector.
/** @param {HTMLElement} root */
function focusedPart(root) {
  const active = document.activeElement;
  if (!active || !root.contains(active)) return null;
  const cell = active.closest("td[data-row]");
  if (!(cell instanceof HTMLElement)) {
    const card = active.getAttribute("data-card");
    const label = active.getAttribute("aria-label");
    if (card) return `[data-card="${card}"]`;
    return label && active.matches("button") ? `[aria-label="${CSS.escape(label)}"]` : null;
  }
  const { row, column } = cell.dataset;
  const stage = cell.closest("table")?.dataset.stage;
  const selector = `[data-stage="${stage}"] td[data-row="${row}"][data-column="${column}"]`;
  return active.matches("input") ? `${selector} input` : selector;
}

// x -> query, key, value -> scores -> ... -> output, each a way to its place.
/** @param {string[]} names @param {HTMLElement} flow */
function stageLinks(names, flow) {
  /** @param {string} name */
  const go = (name) => () => goTo(flow.querySelector(`#stage-${name}`));
  return element(
    "nav.path",
    { "aria-label": "The steps" },
    names.map((name, at) => [
      at > 0 && (SIDE_BY_SIDE.includes(name) ? ", " : " → "),
      element("button", { on: { click: go(name) } }, name),
    ]),
  );
}

// What is saved: the numbers shown, with the words that say where they come from.
/**
 * @param {StepsView} view
 * @param {string} stage
 * @param {string} read
 * @returns {Figure | null}
 */
function stepsFigure(view, stage, read) {
  const { now, source, state, path } = view;
  if (stage === "next_word") return nextFigure(view, read);
  const matrix = path && path.names.includes(stage) ? path.matrix(stage) : now && now.stages[stage];
  if (!matrix) return null;
  const { rows, columns, values } = matrix;
  const between =
    rows === now.queries.length &&
    columns === now.keys.length &&
    ["scores", "scaled", "masked", "weights"].includes(stage);
  const sentence = now.queries.join(" ");
  const isOfKeys = ["key", "value", "memory"].includes(stage);
  return {
    name: `${stage} ${sentence}`,
    kind: "heatmap",
    title: stage,
    caption: `${now.inputs.title || "Steps"}: ${stage}, ${rows} × ${columns}.`,
    provenance: `“${sentence}” · regard ${source.page.version}`,
    axes: between ? FIGURE_AXES : ["token", "feature"],
    what: stage,
    queries: (isOfKeys ? now.keys : now.queries).slice(0, rows),
    keys: between ? now.keys : Array.from({ length: columns }, (_, at) => String(at)),
    chosen: [],
    values: Array.from(values),
    html: state.get("from") === "own" ? null : stepsFile(view, read),
  };
}

/** @param {StepsView} view @param {string} read */
function stepsFile({ state, now }, read) {
  const from = state.get("from");
  const path = "/api/export/html";
  if (from && from !== "head") return { path, fields: { example: from } };
  const at = ["stage", "cell"].filter((name) => state.get(name));
  return {
    path,
    fields: {
      sentence: read,
      part: state.get("part", "encoder"),
      layer: now.inputs.layer,
      head: now.inputs.head,
      view: "steps",
      ...triedOn(read),
      state: Object.fromEntries(at.map((name) => [name, state.get(name)])),
    },
  };
}

/** @param {StepsView} view @param {string} read @returns {Figure | null} */
function nextFigure(view, read) {
  const { next, chosen, source } = view;
  if (!next || !chosen) return null;
  const candidates = candidatesAt(next, chosen.row);
  const position = next.tokens[chosen.row];
  return {
    name: `next word after ${position}`,
    kind: "heatmap",
    title: "next word",
    caption: `Probabilities of the likeliest next tokens after ${position}.`,
    provenance: `“${read}” · regard ${source.page.version}`,
    axes: ["after", "next token"],
    what: "weights",
    queries: [position],
    keys: candidates.map(({ name }) => name),
    chosen: [],
    values: candidates.map(({ probability }) => probability),
    html: stepsFile(view, read),
  };
}
