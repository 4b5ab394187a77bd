// What is chosen in the Look view: a head, and the word that looks.

import { readPositions, writePositions } from "./weights.js";

// What the address says, and where it is silent the head most worth showing.
/** @param {State} state @param {PageReading} reading @returns {HeadChoice} */
export function currentChoice(state, reading) {
  const highlight = reading.highlight || { part: reading.parts[0].name, layer: 0, head: 0 };
  const named = state.get("part", highlight.part);
  const part = reading.parts.find((one) => one.name === named) || reading.parts[0];
  const first = part.name === highlight.part ? highlight : { layer: 0, head: 0 };
  /** @param {"layer" | "head"} name @param {number} total */
  const within = (name, total) =>
    Math.min(total - 1, Math.max(0, Math.round(state.number(name, first[name]))));
  return {
    part: part.name,
    show: "head",
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

// The word that looks: that of the address, else the highlighted one. Where French looks it is the
// word that the highlighted one became.
/** @param {State} state @param {Shown} shown @returns {Chosen} */
export function pinnedWords(state, { reading, grid, choice }) {
  const q = state.get("q", "?");
  if (q !== "?") return { queries: readPositions(q, grid.rows), keys: [] };
  const { highlight } = reading;
  const at = highlight && carriedPosition(reading, highlight.part, choice.part, highlight.query);
  return { queries: at === null ? [] : [at], keys: [] };
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
/** @param {Shown} shown @param {Chosen} pinned */
export function isHighlight({ reading: { highlight }, choice }, { queries }) {
  return (
    highlight !== null &&
    highlight.part === choice.part &&
    highlight.layer === choice.layer &&
    highlight.head === choice.head &&
    queries.length === 1 &&
    queries[0] === highlight.query
  );
}

// The words that are chosen, so that they can be chosen again when others are typed around them.
/** @param {ReadView} view */
export function rememberWords({ state, data: { shown }, selection }) {
  const q = state.get("q", "");
  if (q === "-") selection.remembered = null;
  if (!shown || shown.part.name !== "encoder") return;
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
