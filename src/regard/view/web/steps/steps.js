// The Steps view: one head from vectors to output, every number with the expression that made it.
//
// Fields of the address: from ("": a head of the model; robots, good, cat: a document's example;
// own), sentence, part, layer, head, own (numbers of one's own), divide (no), causal (yes or no),
// position (no), heat (temperature), cell (stage.row.column).

import { element, goTo, problem, replace } from "../lib/dom.js";
import { BETWEEN_WORDS, attend } from "./attend.js";
import { isLarge, matrixPicture, matrixTable } from "./matrix.js";
import { largestSize } from "../lib/strips.js";
import { labels } from "./why.js";
import { editOwn, ownInputs } from "./own_numbers.js";
import { FIRST_SENTENCE } from "../read/headline.js";
import { drawOrigin, drawSwitches, switchesOf, temperatureOf } from "./steps_origin.js";
import { markOf, markCells, pickCell } from "./steps_cell.js";
import { claimsOf, formulaOf, meaningOf } from "./steps_sentences.js";
import { describeExport } from "../lib/export.js";
import { stepsFigure } from "../lib/figures.js";
import { touches } from "../lib/state.js";

const INPUT_FIELDS = ["from", "sentence", "part", "layer", "head", "own"];
const SWITCH_FIELDS = ["divide", "causal", "position", "heat"];
const CHANGED = "changed; the small number: as it was";
const SIDE_BY_SIDE = ["memory", "key", "value"];

export async function showSteps(root, state, source) {
  /** @type {StepsView} */
  const view = { state, source, wide: new Set(), turn: 0, stale: new Set() };
  const part = (tag, name) => element(tag, { class: name });
  view.origin = part("div", "origin");
  view.switches = part("div", "controls switches");
  view.statement = part("p", "statement");
  view.changed = part("p", "changed-statement");
  view.flow = part("div", "flow");
  view.claims = part("div", "");
  view.why = element("section", {
    class: "why",
    "aria-label": "How a number was made",
    "aria-live": "polite",
  });
  const saying = element("div", { class: "saying" }, view.statement, view.changed);
  root.append(view.origin, saying, view.switches, view.flow, view.claims, view.why);
  const recolour = () => {
    if (view.now) {
      drawFlow(view);
      markCells(view);
    }
  };
  window.addEventListener("colours", recolour);
  state.follow((changed) => {
    if (touches(changed, [...INPUT_FIELDS, ...SWITCH_FIELDS])) compute(view, changed);
    else if (changed.has("cell") && view.now) pickCell(view);
  });
  describeExport(() =>
    stepsFigure(
      view,
      state.get("cell", "weights").split(".")[0],
      state.get("sentence", FIRST_SENTENCE),
    ),
  );
  await compute(view, new Set(INPUT_FIELDS));
  return () => window.removeEventListener("colours", recolour);
}

// `before` is the computation as it is, `now` as the switches have it; without any they are one.
/** @param {StepsView} view */
async function compute(view, changed) {
  const { state } = view;
  const turn = ++view.turn;
  for (const name of changed) view.stale.add(name); // an overtaken call leaves its part to the next
  try {
    const isNew = touches(view.stale, INPUT_FIELDS);
    const inputs = isNew ? await inputsFor(view) : view.inputs;
    const unplaced = state.get("position") === "no" && inputs.position;
    const given = unplaced ? await inputsFor(view, { position: false }) : inputs;
    if (turn !== view.turn) return;
    view.stale.clear();
    if (isNew) Object.assign(view, { inputs, before: attend(inputs) });
    view.now = switchesOf(state).some(Boolean)
      ? attend(given, {
          divide: state.get("divide") !== "no",
          temperature: temperatureOf(state),
          causal: state.get("causal") ? state.get("causal") === "yes" : null,
        })
      : view.before;
    if (isNew) drawOrigin(view);
    drawSwitches(view);
    drawFlow(view);
    pickCell(view);
  } catch (error) {
    if (turn === view.turn) replace(view.flow, problem(error));
  }
}

/**
 * @param {StepsView} view
 * @param {any} [more]
 */
function inputsFor({ state, source }, more = {}) {
  const from = state.get("from");
  if (from === "own") return ownInputs(state);
  if (from) return source.steps({ example: from });
  const named = ["layer", "head"]
    .filter((name) => state.get(name))
    .map((name) => [name, state.number(name)]);
  const part = state.get("part", "encoder");
  return source.steps({
    sentence: state.get("sentence", FIRST_SENTENCE),
    part,
    ...Object.fromEntries(named),
    ...more,
  });
}

/** @param {StepsView} view */
function drawFlow(view) {
  const { now, flow, claims, inputs } = view;
  const names = Object.keys(now.stages);
  view.isChanged = names.some((name) => differs(view, name));
  const focused = focusedCell(flow);
  replace(
    flow,
    pathOf(names, flow),
    names.map((name) => stageSection(view, name)),
  );
  const field = focused && flow.querySelector(focused);
  if (field instanceof HTMLElement) field.focus();
  replace(claims, claimsOf(inputs.example));
}

// Where the reader is in a table that is about to be drawn anew, as a selector.
function focusedCell(flow) {
  const active = document.activeElement;
  const cell = flow.contains(active) && active.closest("td[data-row]");
  if (!(cell instanceof HTMLElement)) return null;
  const { row, column } = cell.dataset;
  const { stage } = cell.closest("table").dataset;
  const selector = `[data-stage="${stage}"] td[data-row="${row}"][data-column="${column}"]`;
  return active.matches("input") ? `${selector} input` : selector;
}

// x -> query, key, value -> scores -> ... -> output, each a way to its place.
function pathOf(names, flow) {
  const go = (name) => () => goTo(flow.querySelector(`#stage-${name}`));
  return element(
    "nav",
    { class: "path", "aria-label": "The steps" },
    names.map((name, at) => [
      at > 0 && (SIDE_BY_SIDE.includes(name) ? ", " : " → "),
      element("button", { type: "button", on: { click: go(name) } }, name),
    ]),
  );
}

/**
 * @param {StepsView} view
 * @param {any} name
 */
function differs({ before, now }, name) {
  const [was, is] = [before.stages[name], now.stages[name]];
  return !was || was.values.some((value, at) => value !== is.values[at]);
}

/** @param {StepsView} view */
function stageSection(view, name) {
  const { now, before } = view;
  const parameters = now.parameters[`w_${name}`];
  const changed = view.isChanged && differs(view, name);
  const formula = `${["x", "memory"].includes(name) ? "" : "= "}${formulaOf(now, name)}`;
  return element(
    "section",
    { class: "stage", id: `stage-${name}` },
    element(
      "div",
      { class: "beside" },
      element("h2", null, name),
      element("p", { class: "formula" }, formula),
      element("p", { class: "small quiet" }, meaningOf(now, name)),
      changed &&
        element("p", { class: "small differs" }, before.stages[name] ? CHANGED : "a new step"),
    ),
    element(
      "div",
      { class: "matrices" },
      parameters && matrixBox(view, `w_${name}`, parameters),
      matrixBox(view, name, now.stages[name], changed ? before.stages[name] : null),
    ),
  );
}

/** @param {StepsView} view */
function matrixBox(view, name, matrix, before = null) {
  const { now, state } = view;
  const isParameter = name.startsWith("w_");
  const editable = state.get("from") === "own" && (isParameter || name === "x");
  const words = SIDE_BY_SIDE.includes(name) ? now.keys : now.queries;
  const complain = (sentence) => {
    view.origin.querySelector(".problem").textContent = sentence;
  };
  const box = element("div", { class: "one" });
  const rowNames = isParameter ? numbered(matrix.rows) : labels(words);
  const shaded = name === "weights";
  const pick = (row, column) => {
    if (!isParameter) state.set({ cell: `${name}.${row}.${column}` });
  };
  const widen = () => {
    if (!view.wide.delete(name)) view.wide.add(name);
    draw();
    markCells(view);
  };
  const draw = () =>
    replace(
      box,
      element(
        "p",
        { class: "size small" },
        element("b", null, name),
        ` ${matrix.rows} × ${matrix.columns}`,
        isLarge(matrix) &&
          !editable &&
          element(
            "button",
            {
              type: "button",
              class: "link",
              "aria-expanded": String(view.wide.has(name)),
              on: { click: widen },
            },
            view.wide.has(name) ? "elide" : "show all",
          ),
      ),
      isLarge(matrix) && !editable && matrixPicture({ name, matrix, shaded, rowNames, pick }),
      matrixTable({
        name,
        matrix,
        before,
        wide: view.wide.has(name),
        shaded,
        most: largestSize(matrix.values),
        rowNames,
        columnNames: BETWEEN_WORDS.includes(name) ? labels(now.keys) : numbered(matrix.columns),
        markedAs: (row, column) => markOf(view, name, row, column),
        // By then the focus has moved on, and can be given back where it is.
        edit: editable
          ? (row, column, field) =>
              setTimeout(() => editOwn(state, name, row, column, field, complain))
          : null,
        pick,
      }),
    );
  draw();
  return box;
}

function numbered(size) {
  return Array.from({ length: size }, (_, at) => String(at));
}
