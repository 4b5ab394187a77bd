// What is chosen in the Read view: a head, and words on either side of it.

import { withChange } from "./experiment.js";
import { currentStep } from "./token_steps.js";
import { readPositions, writePositions } from "./weights.js";

// What the address says, and where it is silent, the head most worth showing; a head pointed at
// goes before both.
/**
 * @param {State} state
 * @param {PageReading} reading
 * @param {HeadPlace | null} [peek]
 * @returns {HeadChoice}
 */
export function currentChoice(state, reading, peek = null) {
  const highlight = reading.highlight || { part: reading.parts[0].name, layer: 0, head: 0 };
  const named = peek ? peek.part : state.get("part", highlight.part);
  const part = reading.parts.find((one) => one.name === named) || reading.parts[0];
  if (peek) return { part: part.name, show: "head", layer: peek.layer, head: peek.head };
  const first = part.name === highlight.part ? highlight : { layer: 0, head: 0 };
  /** @param {"layer" | "head"} name @param {number} total */
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

// What the address names and the reading has not; the names are taken out of the address.
/** @param {State} state @param {PageReading} reading */
export function refusedFields(state, reading) {
  const choice = currentChoice(state, reading);
  const part = reading.parts.find((one) => one.name === choice.part) || reading.parts[0];
  const known = {
    part: reading.parts.map((one) => one.name).join(", "),
    layer: `0 to ${part.layers - 1}`,
    head: `0 to ${part.heads - 1}`,
  };
  const refused = /** @type {("part" | "layer" | "head")[]} */ (Object.keys(known)).filter(
    (name) => state.get(name) && state.get(name) !== String(choice[name]),
  );
  const told = refused.map((name) => `There is no ${name} ${state.get(name)} (${known[name]}).`);
  if (refused.length) state.set(Object.fromEntries(refused.map((name) => [name, null])));
  return told.join(" ");
}

// Chosen words: those of the address, else the highlighted word. A word stays chosen whatever head
// is shown: where French looks, it is the word that the chosen one became.
/** @param {State} state @param {Shown} shown @returns {Chosen} */
export function pinnedWords(state, shown) {
  const { reading, part, grid, choice } = shown;
  const step = currentStep(state, shown);
  if (step !== null) return { queries: [step], keys: [] };
  const [q, k] = [state.get("q", "?"), state.get("k", "?")];
  const own = currentChoice(state, reading).part;
  if (q !== "?" || k !== "?") {
    const isOwn = own === choice.part;
    const queries = readPositions(q, isOwn ? grid.rows : MAX_POSITION)
      .map((at) => (isOwn ? at : carriedPosition(reading, own, choice.part, at)))
      .filter((at) => at !== null && at < grid.rows);
    const keys = isOwn ? readPositions(k, grid.columns) : [];
    return { queries: /** @type {number[]} */ (queries), keys };
  }
  const { highlight } = reading;
  if (!highlight || grid.hidden) return { queries: [], keys: [] };
  const at = carriedPosition(reading, highlight.part, choice.part, highlight.query);
  if (at === null) return { queries: [], keys: [] };
  const isWord = state.get("by", "words") === "words";
  return { queries: isWord ? [at] : tokensOf(part.query, [at]), keys: [] };
}

const MAX_POSITION = 4096; // of a word that is looked for in another part

/** @param {Side} side @param {number[]} words */
export function tokensOf({ word_of_token: words_of }, words) {
  return [...words_of.keys()].filter((token) => words.includes(words_of[token]));
}

// Where a word that asks in one part stands in another: itself, or what it was translated to or
// from; null where that is not known.
/** @param {PageReading} reading @param {string} from @param {string} to @param {number} at */
export function carriedPosition({ parts, alignment }, from, to, at) {
  if (from === to) return at;
  const [one, other] = [from, to].map((name) => parts.find((part) => part.name === name)?.query);
  if (!one || !other) return null;
  /** @param {Side} side */
  const before = ({ words }) => (words[0] === "(start)" ? 1 : 0);
  if (one.language === other.language) return at - before(one) + before(other);
  if (!alignment) return null;
  if (other.language === "English") {
    const sources = alignment.sources[at - before(one)] || [];
    return sources.length ? sources.reduce((a, b) => (b.weight > a.weight ? b : a)).key : null;
  }
  const french = wordsFrom(alignment, at)[0];
  return french === undefined ? null : french + before(other);
}

// The French words that an English one became, the surest first.
/** @param {Alignment} alignment @param {number} key */
export function wordsFrom({ sources }, key) {
  /** @param {number} at */
  const weight = (at) =>
    Math.max(0, ...sources[at].filter((one) => one.key === key).map((one) => one.weight));
  return [...sources.keys()]
    .filter((at) => weight(at) > 0.2)
    .sort((one, other) => weight(other) - weight(one));
}

// Whether what is shown is the link that the reading itself chose to tell.
/** @param {State} state @param {Shown} shown @param {Chosen} pinned */
export function isHighlight(state, { reading, choice, grid }, pinned) {
  const { highlight } = reading;
  return (
    highlight !== null &&
    isHighlightHead(highlight, choice) &&
    !grid.hidden &&
    state.get("by", "words") === "words" &&
    !pinned.keys.length &&
    pinned.queries.length === 1 &&
    pinned.queries[0] === highlight.query
  );
}

/** @param {HeadHighlight} highlight @param {HeadChoice} choice */
function isHighlightHead(highlight, { part, show, layer, head }) {
  return (
    show === "head" &&
    highlight.part === part &&
    highlight.layer === layer &&
    highlight.head === head
  );
}

// What pictures call when words are pointed at, clicked, dragged over, or let go; drawChosen draws
// what follows the pointer.
/**
 * @param {ReadView} view
 * @param {() => void} drawChosen
 * @returns {Required<WordHandlers> & CellHandlers}
 */
export function handlersFor({ state, source, data, selection }, drawChosen) {
  /** @type {Chosen} */
  const none = { queries: [], keys: [] };
  const pinned = () => (data.shown ? pinnedWords(state, data.shown) : none);
  /** @param {Chosen | null} chosen */
  const hover = (chosen) => {
    selection.hovered = chosen;
    drawChosen();
  };
  /** @param {Chosen} chosen */
  const pin = ({ queries, keys }) => {
    selection.hovered = null;
    const isStepping = data.shown !== null && currentStep(state, data.shown) !== null;
    if (isStepping && queries.length === 1 && !keys.length) {
      state.set({ step: queries[0], q: null, k: null });
      return;
    }
    const some = queries.length + keys.length > 0;
    state.set(
      some
        ? { q: writePositions(queries) || "-", k: writePositions(keys), step: null }
        : { q: "-", k: null, step: null },
    );
  };
  /** @param {SideName} side @returns {keyof Chosen} */
  const named = (side) => (side === "query" ? "queries" : "keys");
  /** @param {SideName} side @param {number} from @param {number} to */
  const span = (side, from, to) => {
    const positions = Array.from(
      { length: Math.abs(to - from) + 1 },
      (_, at) => Math.min(from, to) + at,
    );
    pin({ ...pinned(), [named(side)]: positions });
  };
  return {
    hover(side, position) {
      hover(position === null ? null : { ...none, [named(side)]: [position] });
    },
    cell(q, k) {
      hover(q === null || k === undefined ? null : { queries: [q], keys: [k] });
    },
    clear() {
      pin(none);
    },
    span,
    pick(side, position, event) {
      const now = pinned()[named(side)];
      if (event.shiftKey && selection.anchor && selection.anchor.side === side) {
        span(side, selection.anchor.position, position);
        return;
      }
      selection.anchor = { side, position };
      const has = now.includes(position);
      if (event.ctrlKey || event.metaKey) {
        pin({
          ...pinned(),
          [named(side)]: has ? now.filter((one) => one !== position) : [...now, position],
        });
      } else pin({ ...none, [named(side)]: has && now.length === 1 ? [] : [position] });
    },
    // A word dragged onto another: what if it looked there?
    drop(q, k) {
      if (!data.shown) return;
      const { choice, grid } = data.shown;
      const isHead = choice.show === "head" && state.get("by", "words") === "words";
      if (!source.live || !isHead || grid.hidden) return;
      const { part, layer, head } = choice;
      /** @type {Change} */
      const change = { change: "redirect", word: q, to: k, part, layer, head };
      state.set({ changes: withChange(state.get("changes"), change), q, k: null }, true);
    },
    pickCell(q, k) {
      pin({ queries: [q], keys: [k] });
    },
  };
}

// The words that are chosen, so that they can be chosen again when others are typed around them.
/** @param {ReadView} view */
export function rememberWords({ state, data: { shown }, selection }) {
  const q = state.get("q", "");
  if (q === "-") selection.remembered = null;
  if (!shown || shown.grid.hidden || shown.part.name !== "encoder") return;
  if (state.get("by", "words") !== "words") return;
  const { rows, queries } = shown.grid;
  const positions = q ? readPositions(q, rows) : [];
  if (positions.length) selection.remembered = positions.map((at) => withOccurrence(queries, at));
}

// Where the words that were chosen stand in a sentence that was typed.
/** @param {ReadView} view @param {PageReading} reading */
export function carryWords({ state, data: { shown }, selection: { remembered } }, reading) {
  if (!remembered || state.get("q", "") !== "" || shown?.part.name !== "encoder") return;
  const { words } = reading.parts[0].query;
  const names = words.map((_, at) => withOccurrence(words, at));
  const positions = remembered.map((name) => names.indexOf(name)).filter((at) => at >= 0);
  if (positions.length) state.set({ q: writePositions(positions) });
}

// A word with its occurrence: the second 'the' of a sentence stays the second.
/** @param {string[]} words @param {number} at */
function withOccurrence(words, at) {
  return `${words[at]} ${words.slice(0, at).filter((word) => word === words[at]).length}`;
}
