// What is saved of the run view: the map in view, with the words that say where it comes from.

import { FIGURE_AXES } from "../lib/export.js";
import { triedOn } from "../read/experiment.js";
import { cellStart } from "./map_window.js";
import { hasText, nameOf } from "./run_names.js";

/** @param {RunView} view @returns {Figure | null} */
export function runFigure(view) {
  const patch = view.map.patch();
  const { run, source, state, choice: at, row, live } = view;
  if (!patch || !run) return null;
  const isSingle = patch.cells.every(
    (count, side) =>
      count === [patch.rows, patch.columns][side][1] - [patch.rows, patch.columns][side][0],
  );
  /** @param {Span} range */
  const written = (range) => range.map((one) => one.toLocaleString("en")).join(" to ");
  /** @param {SideName} side @param {Span} range @param {number} axis */
  const names = (side, range, axis) =>
    Array.from({ length: patch.cells[axis] }, (_, step) => {
      const position = cellStart(range, patch.spans[axis], patch.cells[axis], step);
      return isSingle && hasText(view)
        ? nameOf(view, side, position)
        : position.toLocaleString("en");
    });
  const name = `${at.part} layer ${at.layer}, head ${at.head}`;
  const isSentence = !live && !source.page.files.length && !source.embedded;
  const chosen = row !== null && isSingle ? row - patch.rows[0] : -1;
  return {
    name: `${run.about.name} ${name}`,
    kind: "heatmap",
    title: name[0].toUpperCase() + name.slice(1),
    caption: `${patch.what[0].toUpperCase()}${patch.what.slice(1)}.`,
    provenance: [
      run.about.name,
      `queries ${written(patch.rows)}, keys ${written(patch.columns)}`,
      `regard ${source.page.version}`,
    ].join(" · "),
    axes: FIGURE_AXES,
    what: "weights",
    queries: names("query", patch.rows, 0),
    keys: names("key", patch.columns, 1),
    chosen: chosen >= 0 && chosen < patch.cells[0] ? [chosen] : [],
    values: patch.values,
    html: isSentence
      ? {
          path: "/api/export/html",
          fields: { sentence: run.about.name, ...at, view: "map", ...triedOn(run.about.name) },
        }
      : {
          path: "/api/export/map",
          fields: {
            ...(live ? { run: live.key } : { file: state.number("file", 0) }),
            ...(live ? {} : { sentence: state.number("batch", 0) }),
            state: { ...at, row },
          },
        },
  };
}
