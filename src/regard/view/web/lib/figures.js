// Figures of the views for export: the numbers shown, with the words that say where they come from.

import { cellStart } from "../map/window.js";
import { choiceName } from "../read/sentences.js";
import { candidatesAt } from "../steps/next_word.js";

const LOOKS = ["query (looks)", "key (is looked at)"];

/**
 * @param {ReadView} view
 * @returns {Figure | null}
 */
export function readFigure(view) {
  const { grid, choice, part, reading, state, source } = view;
  if (!grid) return null;
  const role = choice.show === "head" && part.roles ? part.roles[choice.layer][choice.head] : "";
  const by = state.get("by", "words");
  const name = choiceName(choice);
  const chosen = view.chosen ? view.chosen.queries : [];
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
    caption: [view.statement.textContent, ...notes].join(" "),
    provenance: [
      `“${reading.sentence}”`,
      `${part.title}, ${name}`,
      by === "tokens" ? "sub-words" : "words",
      `regard ${source.page.version}`,
    ].join(" · "),
    axes: LOOKS,
    what: "weights",
    queries: grid.queries,
    keys: grid.keys,
    chosen,
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

/**
 * @param {StepsView} view
 * @returns {Figure | null}
 */
export function stepsFigure(view, stage, read) {
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
    axes: between ? LOOKS : ["token", "feature"],
    what: stage,
    queries: (isOfKeys ? now.keys : now.queries).slice(0, rows),
    keys: between ? now.keys : Array.from({ length: columns }, (_, at) => String(at)),
    chosen: [],
    values: Array.from(values),
    html: state.get("from") === "own" ? null : stepsFile(view, read),
  };
}

/** @param {StepsView} view */
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
      state: Object.fromEntries(at.map((name) => [name, state.get(name)])),
    },
  };
}

/** @param {StepsView} view @returns {Figure | null} */
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

/**
 * @param {MapView} view
 * @returns {Figure | null}
 */
export function mapFigure(view, source) {
  const patch = view.patches[view.patches.length - 1];
  if (!patch) return null;
  const written = (range) => range.map((one) => one.toLocaleString("en")).join(" to ");
  const at = (range, side) =>
    Array.from({ length: patch.cells[side] }, (_, step) =>
      cellStart(range, patch.spans[side], patch.cells[side], step).toLocaleString("en"),
    );
  const name = `${view.layer.name}, head ${view.layer.heads[view.choice.head]}`;
  return {
    name: `${view.map.about.name} ${name}`,
    kind: "heatmap",
    title: name[0].toUpperCase() + name.slice(1),
    caption: `${patch.what[0].toUpperCase()}${patch.what.slice(1)}.`,
    provenance: [
      view.map.about.name,
      `queries ${written(patch.rows)}, keys ${written(patch.columns)}`,
      `regard ${source.page.version}`,
    ].join(" · "),
    axes: LOOKS,
    what: "weights",
    queries: at(patch.rows, 0),
    keys: at(patch.columns, 1),
    chosen: [],
    values: patch.values,
    html: source.page.files.length
      ? { path: "/api/export/map", fields: { file: view.file } }
      : null,
  };
}
