// Two pictures side by side: the same words in another sentence, in another head, in another run,
// or before a change. The address says which: beside=before, beside=head.encoder.2.1,
// beside=file.1, beside=sentence.TEXT.

import { asWord, element, goTo, percent, problem, prose, replace } from "../lib/dom.js";
import { linesPicture } from "./lines.js";
import { choiceName } from "./sentences.js";
import { buildGrid, largest } from "./weights.js";

const KINDS = ["before", "head", "file", "sentence"];
const MOVED = 0.25; // of a word's attention, to be marked
const MOST_MARKED = 3;

// What stands beside the picture: { kind, part, layer, head }, { kind, file }, { kind, sentence }
// or { kind }; null is none.
function readBeside(text) {
  const [kind, ...rest] = text.split(".");
  if (!KINDS.includes(kind)) return null;
  if (kind === "sentence") return rest.length ? { kind, sentence: rest.join(".") } : null;
  if (kind === "before") return { kind };
  if (kind === "file") return /^\d+$/.test(rest[0]) ? { kind, file: Number(rest[0]) } : null;
  const [part, layer, head] = [rest[0], Number(rest[1]), Number(rest[2])];
  return Number.isInteger(layer) && Number.isInteger(head) ? { kind, part, layer, head } : null;
}

// -> { root, show(view), close() }; handlers as those of the first picture: a word chosen in one
// is chosen in both.
export function besidePicture(handlers) {
  const lines = linesPicture(handlers);
  const title = element("h2", { class: "title" });
  const box = element("div", null, lines.root);
  const difference = element("p", { class: "small difference" });
  const about = element("div", null, title, box, difference);
  const root = element("section", { class: "beside", "aria-label": "Beside it" }, about);
  root.hidden = true;
  let drawn = null; // { key, grid, titles, title }
  let pending = "";
  return {
    root,
    close: lines.close,
    /** @param {ReadView} view */
    async show(view) {
      const spec = readBeside(view.state.get("beside"));
      root.hidden = !spec || !view.grid;
      if (root.hidden) {
        view.pictures.lines.mark({});
        return;
      }
      const options = gridOptions(view);
      const key = JSON.stringify([spec, view.choice, options, view.base && view.base.sentence]);
      // The request that is under way draws when it comes; leaving inside the try would end it.
      if (pending === key) return;
      try {
        if (!drawn || drawn.key !== key) {
          pending = key;
          const made = await tableBeside(view, spec, options);
          if (pending !== key) return;
          drawn = { key, ...made };
          replace(title, drawn.title, swapButton(view, spec));
        }
        drawBeside(view, lines, drawn);
        replace(difference, prose(differenceSentence(view.grid, drawn.grid, view.chosen)));
        if (box.firstChild !== lines.root) replace(box, lines.root);
        if (view.scrollTarget === root) goTo(difference, "nearest");
        view.scrollTarget = null;
      } catch (error) {
        replace(box, problem(error));
        replace(difference);
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
  const reading =
    spec.kind === "sentence"
      ? await source.reading(spec.sentence)
      : spec.kind === "file"
        ? await source.run(spec.file)
        : base;
  const shown = spec.kind === "head" ? { ...spec, show: "head" } : choice;
  const part = reading.parts.find((one) => one.name === shown.part);
  if (!part) throw new Error(`There is no part named ${shown.part} to put beside it.`);
  if (shown.layer >= part.layers || shown.head >= part.heads)
    throw new Error(
      `${choiceName(shown)} needs to be in both, but the other has ${part.layers} layers of ` +
        `${part.heads} heads: choose another head.`,
    );
  const grid = buildGrid(await source.weights(reading, shown), part, options);
  const titles = {
    before: () => "Before the change",
    head: () => `Beside it: ${part.title}: ${choiceName(shown)}`,
    file: () => `Beside it: ${source.page.files[spec.file]}: ${choiceName(shown)}`,
    sentence: () => `Beside it: “${reading.sentence}”`,
  };
  const names = [part.query.language || "a word", part.key.language || "a word"];
  return { grid, title: titles[spec.kind](), titles: names };
}

// Both change their sides: the lines pass from one to the other.
/** @param {ReadView} view */
function swapButton({ state, choice, sentence }, spec) {
  const { part, layer, head } = choice;
  const swaps = {
    head: () => ({
      part: spec.part,
      layer: spec.layer,
      head: spec.head,
      show: null,
      beside: `head.${part}.${layer}.${head}`,
      ...(part === spec.part ? {} : { q: "-", k: null }),
    }),
    file: () => ({ file: spec.file, beside: `file.${state.number("file")}` }),
    sentence: () => ({ sentence: spec.sentence, beside: `sentence.${sentence}` }),
  };
  if (!swaps[spec.kind]) return null;
  return element(
    "button",
    { type: "button", class: "link", on: { click: () => state.set(swaps[spec.kind](), true) } },
    "⇄ swap",
  );
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
  });
  const moving = movedMost(view.grid, grid);
  lines.mark({ differing: differingWords(view.grid.keys, grid.keys), moving });
  view.pictures.lines.mark({ differing: differingWords(grid.keys, view.grid.keys), moving });
}

// Positions of the words that are not the same in both sentences.
function differingWords(words, others) {
  return others.map((_, at) => at).filter((at) => others[at] !== words[at]);
}

// For each query the share of its attention that lies elsewhere in the other grid: half the sum of
// the differences (total variation); null where the grids are not alike.
function movedShares(one, other) {
  if (one.rows !== other.rows || one.columns !== other.columns) return null;
  return Float32Array.from({ length: one.rows }, (_, q) => {
    let sum = 0;
    for (let at = q * one.columns; at < (q + 1) * one.columns; at++)
      sum += Math.abs(one.weights[at] - other.weights[at]);
    return sum / 2;
  });
}

function movedMost(one, other) {
  const shares = movedShares(one, other);
  return shares ? largest(shares, MOST_MARKED, MOVED) : [];
}

// What differs, in a sentence: of the chosen word, or of the word that differs most.
function differenceSentence(grid, other, chosen) {
  const shares = movedShares(grid, other);
  if (!shares) return "They have different numbers of words, so that no row has its like.";
  const [q = largest(shares, 1)[0]] = chosen.queries;
  if (q === undefined) return "Both look the same way: no weight differs.";
  const row = ({ weights, columns }) => weights.subarray(q * columns, (q + 1) * columns);
  const [here, beside] = [row(grid), row(other)];
  const gaps = here.map((weight, k) => Math.abs(weight - beside[k]));
  const told = largest(gaps, 2, 0.01).map(
    (k) => `${asWord(grid.keys[k])} ${percent(here[k])} here, ${percent(beside[k])} beside`,
  );
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const which = chosen.queries.length ? "Of" : "They differ most at";
  const figures = told.length ? `: ${told.join("; ")}` : "";
  const own = chosen.queries.length
    ? `${which} what ${asWord(grid.queries[q])} gives, ${percent(shares[q])} lies elsewhere`
    : `${which} ${asWord(grid.queries[q])}, where ${percent(shares[q])} lies elsewhere`;
  return `${own}${figures}. On average ${percent(mean)} of a word's attention does.`;
}
