// What is chosen in the Read view: a head, and words on either side of it.

import { readChanges, writeChanges } from "./experiment.js";
import { currentStep, writtenUntil } from "./token_steps.js";
import { readPositions, sums, writePositions } from "./weights.js";

// What the address says, and where it is silent, the head most worth showing; a head pointed at
// goes before both.
/** @param {ReadView} view */
export function currentChoice({ state, reading, peek }) {
  const highlight = reading.highlight || { part: reading.parts[0].name, layer: 0, head: 0 };
  const named = peek ? peek.part : state.get("part", highlight.part);
  const part = reading.parts.find((one) => one.name === named) || reading.parts[0];
  if (peek) return { part: part.name, show: "head", layer: peek.layer, head: peek.head };
  const first = part.name === highlight.part ? highlight : { layer: 0, head: 0 };
  const within = (name, total) =>
    Math.min(total - 1, Math.max(0, Math.round(state.number(name, first[name]))));
  const show = state.get("show", "head");
  return {
    part: part.name,
    show: part.ways.includes(show) ? show : "head",
    layer: within("layer", part.layers),
    head: within("head", part.heads),
  };
}

// Chosen words: those of the address, else the highlighted word where its head is shown, as in the
// first document's figure.
/** @param {ReadView} view */
export function pinnedWords(view) {
  const { state, reading, grid, choice } = view;
  const step = currentStep(view);
  if (step !== null) return { queries: [step], keys: [] };
  const [q, k] = [state.get("q", "?"), state.get("k", "?")];
  if (q !== "?" || k !== "?")
    return { queries: readPositions(q, grid.rows), keys: readPositions(k, grid.columns) };
  const highlight = reading.highlight;
  if (!isHighlightHead(highlight, choice) || state.get("by", "words") !== "words")
    return { queries: [], keys: [] };
  const { words } = reading.parts.find((part) => part.name === highlight.part).query;
  return {
    queries: grid.queries[highlight.query] === words[highlight.query] ? [highlight.query] : [],
    keys: [],
  };
}

// Whether what is shown is the link that the reading itself chose to tell.
/**
 * @param {ReadView} view
 * @param {any} pinned
 */
export function isHighlight({ reading, choice, state, grid }, pinned) {
  const highlight = reading.highlight;
  return (
    isHighlightHead(highlight, choice) &&
    !grid.hidden &&
    state.get("by", "words") === "words" &&
    !pinned.keys.length &&
    pinned.queries.length === 1 &&
    pinned.queries[0] === highlight.query
  );
}

function isHighlightHead(highlight, { part, show, layer, head }) {
  return (
    Boolean(highlight) &&
    show === "head" &&
    highlight.part === part &&
    highlight.layer === layer &&
    highlight.head === head
  );
}

// What pictures call when words are pointed at, clicked, dragged over, or let go.
/** @param {ReadView} view */
export function handlersFor(view, redraw) {
  const hover = (chosen) => {
    view.hovered = chosen;
    redraw(view);
  };
  const pin = ({ queries, keys }) => {
    view.hovered = null;
    if (currentStep(view) !== null && queries.length === 1 && !keys.length) {
      view.state.set({ step: queries[0], q: null, k: null });
      return;
    }
    const some = queries.length + keys.length > 0;
    view.state.set(
      some
        ? { q: writePositions(queries) || "-", k: writePositions(keys), step: null }
        : { q: "-", k: null, step: null },
    );
  };
  const named = (side) => (side === "query" ? "queries" : "keys");
  const none = { queries: [], keys: [] };
  return {
    hover(side, position) {
      hover(position === null ? null : { ...none, [named(side)]: [position] });
    },
    cell(q, k) {
      hover(q === null ? null : { queries: [q], keys: [k] });
    },
    clear() {
      pin(none);
    },
    span(side, from, to) {
      const positions = Array.from(
        { length: Math.abs(to - from) + 1 },
        (_, at) => Math.min(from, to) + at,
      );
      pin({ ...pinnedWords(view), [named(side)]: positions });
    },
    pick(side, position, event) {
      const now = pinnedWords(view)[named(side)];
      if (event.shiftKey && view.anchor && view.anchor.side === side) {
        this.span(side, view.anchor.position, position);
        return;
      }
      view.anchor = { side, position };
      const has = now.includes(position);
      if (event.ctrlKey || event.metaKey) {
        pin({
          ...pinnedWords(view),
          [named(side)]: has ? now.filter((one) => one !== position) : [...now, position],
        });
      } else pin({ ...none, [named(side)]: has && now.length === 1 ? [] : [position] });
    },
    // A word dragged onto another: what if it looked there?
    drop(q, k) {
      const { source, state, choice, grid, reading } = view;
      const isHead = choice.show === "head" && state.get("by", "words") === "words";
      if (!source.live || reading.file !== undefined || !isHead || grid.hidden) return;
      const { part, layer, head } = choice;
      const change = { change: "redirect", word: q, to: k, part, layer, head };
      const others = readChanges(state.get("changes"));
      state.set({ changes: writeChanges([...others, change]), q, k: null }, true);
    },
    pickCell(q, k) {
      pin({ queries: [q], keys: [k] });
    },
  };
}

// The words that are chosen, so that they can be chosen again when others are typed around them.
/** @param {ReadView} view */
export function rememberWords(view) {
  const { state, grid, part } = view;
  const q = state.get("q", "");
  if (q === "-") view.remembered = null;
  if (!grid || grid.hidden || part.name !== "encoder" || state.get("by", "words") !== "words")
    return;
  const positions = q ? readPositions(q, grid.rows) : [];
  if (positions.length) view.remembered = positions.map((at) => withOccurrence(grid.queries, at));
}

// Where the words that were chosen stand in a sentence that was typed.
/** @param {ReadView} view */
export function carryWords({ state, remembered, part }, reading) {
  if (!remembered || state.get("q", "") !== "" || !part || part.name !== "encoder") return;
  const { words } = reading.parts[0].query;
  const names = words.map((_, at) => withOccurrence(words, at));
  const positions = remembered.map((name) => names.indexOf(name)).filter((at) => at >= 0);
  if (positions.length) state.set({ q: writePositions(positions) });
}

// A word with which of its like it is: the second 'the' of a sentence stays the second.
function withOccurrence(words, at) {
  return `${words[at]} ${words.slice(0, at).filter((word) => word === words[at]).length}`;
}

// How the words of both languages are shaded: [English, French], each { asking, weights, until: the
// last word that is written yet }. Words that are shown cut into pieces have no shades.
/** @param {ReadView} view */
export function wordShades(view) {
  const { grid, part, chosen, state } = view;
  const shades = {
    English: { asking: [], weights: null, until: Infinity },
    French: { asking: [], weights: null, until: Infinity },
  };
  const { queries, keys } = chosen;
  if (state.get("by", "words") === "words" && queries.length + keys.length) {
    const rows = inSentence(part.query, grid.queryPositions);
    const columns = inSentence(part.key, grid.keyPositions);
    const [asking, answering] = [part.query, part.key].map((side) => side.language || "English");
    const added = sums(grid, chosen);
    const until = writtenUntil(view);
    if (until) shades[asking].until = rows(until.query);
    if (queries.length) {
      shades[asking].asking = queries.map(rows);
      shades[answering].weights = weightsBy(columns, added.keys, queries.length);
    } else {
      shades[answering].asking = keys.map(columns);
      shades[asking].weights = weightsBy(rows, added.queries, 1);
    }
  }
  return [shades.English, shades.French];
}

// The position of a word in its sentence, where (start) does not stand.
function inSentence({ words }, positions) {
  const before = words[0] === "(start)" ? 1 : 0;
  return (at) => (positions ? positions[at] : at) - before;
}

function weightsBy(position, values, many) {
  const weights = {};
  values.forEach((value, at) => {
    weights[position(at)] = value / many;
  });
  return weights;
}
