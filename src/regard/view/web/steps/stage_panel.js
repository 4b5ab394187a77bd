// Stages of the Steps view: one after another where there is one head alone, and one at a time,
// with what it is made from, where it is part of the whole path.

import { requiredParameter } from "./layer_path.js";
import { asWord, element, prose, replace, tableHead, tableRow } from "../lib/dom.js";
import { largestSize } from "../lib/draw.js";
import { BETWEEN_WORDS } from "./attend.js";
import { markCells, cellMark, OF_KEYS } from "./cell.js";
import { isLarge, matrixPicture, matrixTable, shortNumber } from "./matrix.js";
import { passStrips } from "./morph.js";
import { nextWordPanel } from "./next_word.js";
import { editOwn } from "./origin.js";
import { thumbnail } from "./stage_cards.js";
import { labels } from "./why.js";
import {
  stageFormula,
  madeFromStages,
  stageMeaning,
  pathFormula,
  pathMeaning,
  stageTitle,
} from "./words.js";

const CHANGED = "changed; the small number: as it was";

/** @param {StepsView} view @param {string} name */
export function differs({ before, now, path, pathBefore }, name) {
  const [was, is] = path
    ? [pathBefore?.names.includes(name) && pathBefore.matrix(name), path.matrix(name)]
    : [before.stages[name], now.stages[name]];
  return !was || (was !== is && was.values.some((value, at) => value !== is.values[at]));
}

// A stage among the others.
/** @param {StepsView} view @param {string} name */
export function stageSection(view, name) {
  const { now, before } = view;
  const parameters = now.parameters[`w_${name}`];
  const changed = view.isChanged && differs(view, name);
  const formula = `${["x", "memory"].includes(name) ? "" : "= "}${stageFormula(now, name)}`;
  return element(
    "section.stage",
    { id: `stage-${name}` },
    element(
      "div.about-stage",
      element("h2", name),
      element("p.formula", formula),
      element("p.small.quiet", stageMeaning(now, name)),
      changed && element("p.small.differs", before.stages[name] ? CHANGED : "a new step"),
    ),
    element(
      "div.matrices",
      parameters && matrixBox(view, `w_${name}`, parameters),
      matrixBox(view, name, now.stages[name], changed ? before.stages[name] : null),
    ),
  );
}

// A stage of the path by itself.
/** @param {PathView} view @param {string} name @param {OpenStage} open */
export function openedStage(view, name, open) {
  const { path } = view;
  const head = [
    element("h2", stageTitle(path.layer, name)),
    element("p.formula", `= ${name === "next_word" ? NEXT_FORMULA : pathFormula(path, name)}`),
    element("p.small.quiet", name === "next_word" ? NEXT_MEANING : pathMeaning(path, name)),
  ];
  return element(
    "section.stage.opened",
    { id: `stage-${name}` },
    element("div.stage-head", element("div", head), neighbours(view, name, open)),
    name === "next_word" ? nextBody(view) : stageBody(view, name, open),
  );
}

const NEXT_FORMULA = "softmax(last norm · embedding tableᵀ)";
const NEXT_MEANING =
  "The last vector is compared with every token's own vector; softmax turns the products into " +
  "probabilities.";

/** @param {PathView} view @param {string} name @param {OpenStage} open */
function stageBody(view, name, open) {
  const { path, pathBefore, state, chosen } = view;
  const changed = view.isChanged && differs(view, name);
  const was = changed && pathBefore.names.includes(name) ? pathBefore.matrix(name) : null;
  const between = BETWEEN_WORDS.includes(name);
  const row = chosen && chosen.stage === name ? chosen.row : 0;
  return [
    made(view, name, open),
    changed && element("p.small.differs", was ? CHANGED : "a new step"),
    element(
      "div.matrices",
      name === "tokens" ? tokenTable(view) : matrixBox(view, name, path.matrix(name), was),
    ),
    between &&
      rowBars(view, row, (stage, key) =>
        state.set({ stage, cell: `${stage}.${row}.${key}` }, stage !== name),
      ),
    path.parameters(name).some((one) => path.parameter(one)) && parameterBoxes(view, name),
  ];
}

// What a stage is made from, small; a click goes there.
/** @param {PathView} view @param {string} name @param {OpenStage} open */
function made(view, name, open) {
  const { path } = view;
  const names = madeFromStages(path, name);
  if (!names.length) return null;
  return element(
    "div.made-from",
    element("span.small.quiet", "made from"),
    names.map((one) =>
      element(
        "button.stage-card.small",
        {
          on: { click: (event) => open({ stage: one }, event.currentTarget) },
        },
        element("span", { class: `stage-name of-${one}` }, stageTitle(path.layer, one)),
        one !== "tokens" && operandPicture(view, one),
      ),
    ),
  );
}

// With the row or the column that the chosen cell takes from it.
/** @param {PathView} view @param {string} name */
function operandPicture(view, name) {
  const matrix = view.path.matrix(name);
  return element(
    "span.strip-frame",
    {
      "data-stage": name,
      "data-rows": matrix.rows,
      "data-columns": matrix.columns,
    },
    thumbnail(null, name, matrix),
    element("span.bands", { "aria-hidden": "true" }),
  );
}

// Learnt numbers are on demand: some are half a million.
/** @param {PathView} view @param {string} name */
function parameterBoxes(view, name) {
  const names = view.path.parameters(name).filter((one) => view.path.parameter(one));
  const boxes = element("div.matrices");
  const fill = () => {
    replace(
      boxes,
      names.map((one) => matrixBox(view, one, requiredParameter(view.path, one))),
    );
    markCells(view);
  };
  const key = `parameters ${name}`;
  const details = element(
    "details.parameters",
    {
      on: {
        toggle: () => {
          if (details.open) view.wide.add(key);
          else view.wide.delete(key);
          if (details.open && !boxes.firstChild) fill();
        },
      },
    },
    element("summary", `Learnt: ${names.join(", ")}`),
    boxes,
  );
  if (view.wide.has(key)) {
    details.open = true;
    fill();
  }
  return details;
}

/** @param {PathView} view @param {string} name @param {OpenStage} open */
function neighbours(view, name, open) {
  const names = [...view.path.names, ...(view.next ? ["next_word"] : [])];
  const at = names.indexOf(name);
  /** @param {string | undefined} one @param {string} before @param {string} after */
  const button = (one, before, after) =>
    one &&
    element(
      "button.button",
      { on: { click: () => open({ stage: one }) } },
      `${before}${stageTitle(view.path.layer, one)}${after}`,
    );
  return element(
    "div.neighbours",
    button(names[at - 1], "← ", ""),
    button(names[at + 1], "", " →"),
  );
}

/** @param {StepsView} view */
function nextBody(view) {
  const { next, state, chosen } = view;
  if (!next) return element("p.quiet", "…");
  /** @param {number} row @param {number} column */
  const go = (row, column) => state.set({ cell: `next_word.${row}.${column}` });
  return nextWordPanel(next, chosen ? chosen.row : 0, chosen ? chosen.column : 0, go);
}

/** @param {PathView} view */
function tokenTable({ path, state, chosen }) {
  const { layer } = path;
  /** @param {number} row */
  const pick = (row) => () => state.set({ cell: `tokens.${row}.0` });
  return element(
    "table.token-table",
    tableHead(["position", "token", "word", "id"]),
    element(
      "tbody",
      layer.tokens.map((token, row) =>
        element(
          "tr",
          { class: chosen && chosen.row === row ? "chosen" : null, on: { click: pick(row) } },
          element("td", row),
          element("td.serif", token),
          element("td.serif.quiet", layer.words[layer.word_of_token[row]]),
          element("td", element("button.link", { on: { click: pick(row) } }, layer.ids[row])),
        ),
      ),
    ),
  );
}

/** @param {StepsView} view @param {string} name @param {Matrix} matrix */
function rowLabels({ now, path, inputs }, name, matrix) {
  if (isParameterName(name)) return numbered(matrix.rows);
  if (OF_KEYS.includes(name)) return labels(now.keys);
  return labels(path ? path.layer.tokens : inputs ? now.queries : []);
}

/** @param {string} name */
const isParameterName = (name) => /^(w_|b_)|_(gain|bias)$/.test(name);

/**
 * @param {StepsView} view
 * @param {string} name
 * @param {Matrix} matrix
 * @param {Matrix | null} [before]
 */
function matrixBox(view, name, matrix, before = null) {
  const { now, state, chosen } = view;
  const isParameter = isParameterName(name);
  const editable = state.get("from") === "own" && (isParameter || name === "x");
  /** @param {string} sentence */
  const complain = (sentence) => {
    const problem = view.origin.querySelector(".problem");
    if (problem) problem.textContent = sentence;
  };
  const box = element("div.one");
  const rowNames = rowLabels(view, name, matrix);
  const shaded = name === "weights";
  /** @param {number} row @param {number} column */
  const pick = (row, column) => {
    if (!isParameter) state.set({ cell: `${name}.${row}.${column}` }, !state.get("cell"));
  };
  const widen = () => {
    if (!view.wide.delete(name)) view.wide.add(name);
    draw();
    markCells(view);
  };
  const more = () =>
    element(
      "button.link",
      {
        "aria-expanded": String(view.wide.has(name)),
        on: { click: widen },
      },
      view.wide.has(name) ? "elide" : "show all",
    );
  const draw = () =>
    replace(
      box,
      element(
        "p.size.small",
        element("b", name),
        ` ${matrix.rows} × ${matrix.columns}`,
        isLarge(matrix) && !editable && more(),
      ),
      isLarge(matrix) && !editable && movingPicture(view, { name, matrix, shaded, rowNames, pick }),
      matrixTable({
        name,
        matrix,
        before,
        wide: view.wide.has(name),
        focus: view.path && chosen?.stage === name ? [chosen.row, chosen.column] : null,
        shaded,
        most: largestSize(matrix.values),
        rowNames,
        columnNames: BETWEEN_WORDS.includes(name) ? labels(now.keys) : numbered(matrix.columns),
        markedAs: (row, column) => cellMark(view, name, row, column),
        // By then the focus has moved on, and can be given back where it is.
        edit: editable
          ? (row, column, field) =>
              setTimeout(() =>
                editOwn(state, /** @type {OwnMatrix} */ (name), row, column, field, complain),
              )
          : null,
        pick,
      }),
    );
  draw();
  return box;
}

// A picture that passes over from the numbers that it showed before.
/**
 * @param {StepsView} view
 * @param {Pick<ShownMatrix, "name" | "matrix" | "shaded" | "rowNames" | "pick">} shown
 */
function movingPicture(view, shown) {
  const picture = matrixPicture(shown);
  const { pictures } = view;
  const { rows, columns, values } = shown.matrix;
  const most = shown.shaded ? 1 : largestSize(values);
  const before = pictures.get(shown.name);
  const now = { rows, columns, values, most };
  pictures.set(shown.name, now);
  if (before && before.values !== values)
    requestAnimationFrame(() => {
      const canvas = picture.querySelector("canvas");
      if (canvas) passStrips(canvas, before, now);
    });
  return picture;
}

/** @param {number} size */
function numbered(size) {
  return Array.from({ length: size }, (_, at) => String(at));
}

// The chosen row as bars: its scores, scaled, masked and as weights, side by side for every key, so
// that a switch can be seen to work. What it was before a switch stands behind as an outline.

const MAX_BAR_KEYS = 40;

/**
 * @param {StepsView} view
 * @param {number} row
 * @param {(stage: string, key: number) => void} pick
 */
function rowBars(view, row, pick) {
  const { now, before, isChanged, chosen } = view;
  const names = BETWEEN_WORDS.filter((name) => now.stages[name]);
  const keys = labels(now.keys);
  const shown = shownKeys(view, row);
  // One length for scores, scaled and masked: so that dividing makes them shorter.
  /** @param {Stages} steps */
  const scoreRows = (steps) =>
    names.slice(0, -1).flatMap((name) => Array.from(rowIn(steps, name, row) || []));
  const most = largestSize([...scoreRows(now), ...(isChanged ? scoreRows(before) : [])]) || 1;
  /** @param {number} at */
  const line = (at) =>
    tableRow(
      keys[at],
      names.map((name) =>
        valueBar({ view, name, row, at, most: name === "weights" ? 1 : most, pick }),
      ),
      chosen && chosen.row === row && chosen.column === at ? "chosen" : null,
    );
  return element(
    "div.row-bars",
    element("h3", prose(`The row of ${asWord(labels(now.queries)[row])}`)),
    element("table", tableHead([null, ...names]), element("tbody", shown.map(line))),
    shown.length < keys.length &&
      element(
        "p.small.quiet",
        `The ${shown.length} keys with the largest weights, of ${keys.length}.`,
      ),
  );
}

// All keys, or those with the largest weights and the chosen one, in the order of the sentence.
/** @param {StepsView} view @param {number} row */
function shownKeys({ now, chosen }, row) {
  const weights = rowIn(now, "weights", row);
  const order = [...weights.keys()];
  if (order.length <= MAX_BAR_KEYS) return order;
  order.sort((a, b) => weights[b] - weights[a]);
  const some = new Set([chosen && chosen.row === row ? chosen.column : 0, ...order]);
  return [...some].slice(0, MAX_BAR_KEYS).sort((a, b) => a - b);
}

/** @param {Stages} steps @param {string} name @param {number} row */
function rowIn(steps, name, row) {
  const matrix = steps.stages[name];
  return matrix && matrix.values.subarray(row * matrix.columns, (row + 1) * matrix.columns);
}

/** @param {ValueBar} valueBar */
function valueBar({ view, name, row, at, most, pick }) {
  const { now, before, isChanged } = view;
  const value = rowIn(now, name, row)[at];
  const old = isChanged ? rowIn(before, name, row) : null;
  const was = old && old[at] !== value ? old[at] : null;
  const isShare = name === "weights";
  /** @param {number} number */
  const span = (number) => {
    const size = Number.isFinite(number) ? Math.abs(number) / most : 0;
    if (isShare) return { left: "0%", width: `${(100 * size).toFixed(2)}%` };
    return {
      left: `${(number < 0 ? 50 - 50 * size : 50).toFixed(2)}%`,
      width: `${(50 * size).toFixed(2)}%`,
    };
  };
  const title = was === null ? null : `as it was: ${shortNumber(was)}`;
  return element(
    "button",
    {
      class: `bar-cell${isShare ? " of-weights" : ""}`,
      title,
      on: { click: () => pick(name, at) },
    },
    element(
      "span.track",
      was !== null && element("span.ghost", { style: span(was) }),
      element("span", {
        class: `length${value < 0 ? " under" : ""}`,
        "data-bar": `${name} ${row} ${at}`,
        style: span(value),
      }),
    ),
    element("span.number", shortNumber(value)),
  );
}
