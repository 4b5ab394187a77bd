// Two pictures side by side: the same words in another sentence, in another head, or before a
// change. The address says which: beside=before, beside=head.encoder.2.1, beside=sentence.TEXT.

import { asWord, element, goTo, percent, problem, prose, replace } from "../lib/dom.js";
import { linesPicture } from "./lines.js";
import { choiceName } from "./sentences.js";
import { buildGrid, largest } from "./weights.js";

const MIN_MOVED_SHARE = 0.25; // of a word's attention, to be marked
const MAX_MARKED_WORDS = 3;

// What stands beside the picture; null is nothing.
/** @param {string} text @returns {Beside | null} */
function readBeside(text) {
  const [kind, ...rest] = text.split(".");
  if (kind === "sentence") return rest.length ? { kind, sentence: rest.join(".") } : null;
  if (kind === "before") return { kind };
  if (kind !== "head") return null;
  const [part, layer, head] = [rest[0], Number(rest[1]), Number(rest[2])];
  return Number.isInteger(layer) && Number.isInteger(head) ? { kind, part, layer, head } : null;
}

// -> { root, show(view, shown), close() }; handlers as those of the first picture: a word chosen in
// one is chosen in both.
/** @param {WordHandlers} handlers */
export function besidePicture(handlers) {
  const lines = linesPicture(handlers);
  const title = element("h2", { class: "title" });
  const box = element("div", null, lines.root);
  const difference = element("p", { class: "small difference" });
  const french = element("p", { class: "french-beside serif", lang: "fr" });
  const about = element("div", null, title, box, difference, french);
  const root = element("section", { class: "beside", "aria-label": "Beside it" }, about);
  root.hidden = true;
  /** @type {(BesideTable & { key: string }) | null} */
  let drawn = null;
  let pending = "";
  return {
    root,
    close: lines.close,
    /** @param {ReadView} view @param {Shown} shown */
    async show(view, shown) {
      const { state, data, selection, elements } = view;
      const spec = readBeside(state.get("beside"));
      root.hidden = !spec;
      if (!spec) {
        elements.lines.mark({});
        return;
      }
      const options = { by: state.get("by", "words"), hide: state.get("marks") === "hidden" };
      const key = JSON.stringify([spec, shown.choice, options, data.base && data.base.sentence]);
      // The request that is under way draws when it comes; leaving inside the try would end it.
      if (pending === key) return;
      try {
        if (!drawn || drawn.key !== key) {
          pending = key;
          const made = await tableBeside(view, shown, spec, options);
          if (pending !== key) return;
          drawn = { key, ...made };
          replace(title, drawn.title, swapButton(view, shown.choice, spec));
        }
        // The words may have been chosen, and the table drawn again, while this one came.
        const first = data.shown || shown;
        drawBeside(view, first.grid, lines, drawn);
        const { chosen } = selection;
        replace(difference, prose(differenceSentence(first.grid, drawn.grid, chosen)));
        replace(french, drawn.french && markedFrench(drawn.french, first.reading.translation));
        if (box.firstChild !== lines.root) replace(box, lines.root);
        if (selection.scrollTarget === root) goTo(difference, "nearest");
        selection.scrollTarget = null;
      } catch (error) {
        replace(box, problem(error));
        replace(difference);
        replace(french);
      } finally {
        if (pending === key) pending = "";
      }
    },
  };
}

/**
 * @param {ReadView} view
 * @param {Shown} shown
 * @param {Beside} spec
 * @param {GridOptions} options
 * @returns {Promise<BesideTable>}
 */
async function tableBeside({ source, data }, shown, spec, options) {
  const reading = await readingBeside(source, data.base || shown.reading, spec);
  const choice = spec.kind === "head" ? { ...spec, show: "head" } : shown.choice;
  const part = reading.parts.find((one) => one.name === choice.part);
  if (!part) throw new Error(`There is no part named ${choice.part} to put beside it.`);
  const name = choiceName(choice);
  if (choice.layer >= part.layers || choice.head >= part.heads)
    throw new Error(
      `${name} needs to be in both, but the other has ${part.layers} layers of ` +
        `${part.heads} heads: choose another head.`,
    );
  const grid = buildGrid(await source.weights(reading, choice), part, options);
  const titles = [part.query.language || "a word", part.key.language || "a word"];
  if (spec.kind === "before") return { grid, titles, title: "Before the change" };
  const what = spec.kind === "sentence" ? `“${reading.sentence}”` : `${part.title}: ${name}`;
  const french = spec.kind === "sentence" ? reading.translation : "";
  return { grid, titles, title: `Beside it: ${what}`, french };
}

// The French of the other sentence, the words that this one does not have marked.
/** @param {string} french @param {string} here */
function markedFrench(french, here) {
  if (!here) return french; // not translated yet
  const own = new Set(here.toLowerCase().match(/[\p{L}\p{N}]+/gu));
  return french
    .split(/([\p{L}\p{N}]+)/u)
    .map((piece) =>
      /[\p{L}\p{N}]/u.test(piece) && !own.has(piece.toLowerCase())
        ? element("mark", null, piece)
        : piece,
    );
}

/** @param {Source} source @param {PageReading} base @param {Beside} spec */
async function readingBeside(source, base, spec) {
  if (spec.kind === "sentence") return source.reading(spec.sentence);
  return base;
}

// Both change their sides: the lines pass from one to the other.
/** @param {ReadView} view @param {HeadChoice} choice @param {Beside} spec */
function swapButton({ state, data }, { part, layer, head }, spec) {
  const swapped = () => {
    if (spec.kind === "sentence")
      return { sentence: spec.sentence, beside: `sentence.${data.sentence}` };
    if (spec.kind === "before") return {};
    return {
      part: spec.part,
      layer: spec.layer,
      head: spec.head,
      show: null,
      beside: `head.${part}.${layer}.${head}`,
      ...(part === spec.part ? {} : { q: "-", k: null }),
    };
  };
  if (spec.kind === "before") return null;
  return element(
    "button",
    { type: "button", class: "link", on: { click: () => state.set(swapped(), true) } },
    "⇄ swap",
  );
}

/**
 * @param {ReadView} view
 * @param {Grid} first
 * @param {LinesPicture} lines
 * @param {BesideTable} made
 */
function drawBeside({ state, selection, elements }, first, lines, { grid, titles }) {
  /** @param {number[]} positions @param {number} size */
  const within = (positions, size) => positions.filter((position) => position < size);
  const chosen = {
    queries: within(selection.chosen.queries, grid.rows),
    keys: within(selection.chosen.keys, grid.columns),
  };
  lines.show({
    grid,
    chosen,
    pinned: chosen,
    threshold: state.number("least", 0) / 100,
    titles,
  });
  const moving = movedMost(first, grid);
  lines.mark({ differing: differingWords(first.keys, grid.keys), moving });
  elements.lines.mark({ differing: differingWords(grid.keys, first.keys), moving });
}

// Positions of the words that are not the same in both sentences.
/** @param {string[]} words @param {string[]} others */
function differingWords(words, others) {
  return others.map((_, at) => at).filter((at) => others[at] !== words[at]);
}

// For each query the share of its attention that lies elsewhere in the other grid: half the sum of
// the differences (total variation); null where the grids are not alike.
/** @param {Grid} one @param {Grid} other */
function movedShares(one, other) {
  if (one.rows !== other.rows || one.columns !== other.columns) return null;
  return Float32Array.from({ length: one.rows }, (_, q) => {
    let sum = 0;
    for (let at = q * one.columns; at < (q + 1) * one.columns; at++)
      sum += Math.abs(one.weights[at] - other.weights[at]);
    return sum / 2;
  });
}

/** @param {Grid} one @param {Grid} other */
function movedMost(one, other) {
  const shares = movedShares(one, other);
  return shares ? largest(shares, MAX_MARKED_WORDS, MIN_MOVED_SHARE) : [];
}

// What differs, in a sentence: of the chosen word, or of the word that differs most.
/** @param {Grid} grid @param {Grid} other @param {Chosen} chosen */
function differenceSentence(grid, other, chosen) {
  const shares = movedShares(grid, other);
  if (!shares) return "They have different numbers of words, so that no row has its like.";
  const [q = largest(shares, 1)[0]] = chosen.queries;
  if (q === undefined) return "Both look the same way: no weight differs.";
  /** @param {Grid} table */
  const row = ({ weights, columns }) => weights.subarray(q * columns, (q + 1) * columns);
  const [here, beside] = [row(grid), row(other)];
  const gaps = here.map((weight, k) => Math.abs(weight - beside[k]));
  const told = largest(gaps, 2, 0.01).map(
    (k) => `${asWord(grid.keys[k])} ${percent(here[k])} here, ${percent(beside[k])} beside`,
  );
  const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  const figures = told.length ? `: ${told.join("; ")}` : "";
  const own = chosen.queries.length
    ? `${asWord(grid.queries[q])} puts ${percent(shares[q])} of its attention elsewhere there`
    : `They differ most at ${asWord(grid.queries[q])}, where ${percent(shares[q])} lies elsewhere`;
  return `${own}${figures}. On average ${percent(mean)} of a word's attention moves.`;
}
