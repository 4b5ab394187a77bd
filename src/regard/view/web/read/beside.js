// Two pictures side by side: the same words in another sentence, in another head, or before a
// change. The address says which: beside=before, beside=head.encoder.2.1, beside=sentence.TEXT.

import { element, problem, replace } from "../lib/dom.js";
import { linesPicture } from "./lines.js";
import { nameOf } from "./sentences.js";
import { gridOf } from "./weights.js";

const KINDS = ["before", "head", "sentence"];

// What stands beside the picture: { kind, part, layer, head } or { kind, sentence }; null is none.
export function readBeside(text) {
  const [kind, ...rest] = text.split(".");
  if (!KINDS.includes(kind)) return null;
  if (kind === "sentence") return rest.length ? { kind, sentence: rest.join(".") } : null;
  if (kind === "before") return { kind };
  const [part, layer, head] = [rest[0], Number(rest[1]), Number(rest[2])];
  return Number.isInteger(layer) && Number.isInteger(head) ? { kind, part, layer, head } : null;
}

// -> { root, show(view), close() }; handlers as those of the first picture: a word chosen in one
// is chosen in both.
export function besidePicture(handlers) {
  const lines = linesPicture(handlers);
  const title = element("h2", { class: "title" });
  const box = element("div", null, lines.root);
  const root = element("section", { class: "beside", "aria-label": "Beside it" }, title, box);
  root.hidden = true;
  let drawn = null; // { key, grid, titles, reading }
  let pending = "";
  return {
    root,
    close: lines.close,
    /** @param {ReadView} view */
    async show(view) {
      const spec = readBeside(view.state.get("beside"));
      const isShown = Boolean(spec) && Boolean(view.grid) && !view.peek;
      root.hidden = !isShown;
      if (!isShown) return;
      const options = gridOptions(view);
      const key = JSON.stringify([spec, view.choice, options, view.base && view.base.sentence]);
      try {
        if (!drawn || drawn.key !== key) {
          if (pending === key) return;
          pending = key;
          const made = await tableBeside(view, spec, options);
          if (pending !== key) return;
          drawn = { key, ...made };
          replace(title, drawn.title);
        }
        drawBeside(view, lines, drawn);
        if (box.firstChild !== lines.root) replace(box, lines.root);
      } catch (error) {
        replace(box, problem(error));
      } finally {
        if (pending === key) pending = "";
      }
    },
  };
}

function gridOptions({ state }) {
  return { by: state.get("by", "words"), hide: state.get("marks") === "hidden" };
}

/** @param {ReadView} view */
async function tableBeside(view, spec, options) {
  const { source, choice, base } = view;
  const reading = spec.kind === "sentence" ? await source.reading(spec.sentence) : base;
  const shown = spec.kind === "head" ? { ...spec, show: "head" } : choice;
  const part = reading.parts.find((one) => one.name === shown.part);
  if (!part) throw new Error(`There is no part named ${shown.part} to put beside it.`);
  const grid = gridOf(await source.weights(reading, shown), part, options);
  const title =
    spec.kind === "before"
      ? "Before the change"
      : spec.kind === "head"
        ? `Beside it: ${part.title}: ${nameOf(shown)}`
        : `Beside it: “${reading.sentence}”`;
  return { grid, title, titles: [part.query.language || "words", part.key.language || "words"] };
}

/** @param {ReadView} view */
function drawBeside(view, lines, { grid, titles }) {
  const within = (positions, size) => positions.filter((position) => position < size);
  const chosen = {
    queries: within(view.chosen.queries, grid.rows),
    keys: within(view.chosen.keys, grid.columns),
  };
  lines.show({
    grid,
    chosen,
    pinned: chosen,
    threshold: view.state.number("least", 0) / 100,
    titles,
    differing: differingWords(view.grid.keys, grid.keys),
  });
}

// Positions of the words that are not the same in both sentences.
export function differingWords(words, others) {
  return others.map((_, at) => at).filter((at) => others[at] !== words[at]);
}
