// What the scene shows, made from what the view knows: the links of the word that looks, the two
// nouns with their colours, and one sentence about it.

import { asWord, element, percent, prose } from "../lib/dom.js";
import { isHighlight, pinnedWords, wordsFrom } from "./choice.js";
import { exampleOf } from "./examples.js";
import { hasChange, outcomeNote, readChanges } from "./experiment.js";
import { questionedLink, twoNouns } from "./questions.js";
import { largest } from "./weights.js";
import { whyBars, whyStep } from "./why.js";

const SATURATED_WEIGHT = 0.995; // from here on all others are "< 1 %"
const ALL_LINKS_WEIGHT = 0.2; // of links that are drawn while no word is chosen
const MARKED = /^[(<[].*[)>\]]$/;

/** @param {ReadView} view @param {Shown} shown @returns {SceneModel} */
export function sceneModel(view, shown) {
  const { state, source, data, selection } = view;
  const { reading, part } = shown;
  const { layer, head } = shown.choice;
  const base = data.base?.sentence === reading.sentence ? data.base : reading;
  const { chosen } = selection;
  const nouns = sentenceNouns(view, shown, base);
  const links = shownLinks(shown, chosen);
  const isFrench = part.query.language === "French";
  const offset = part.query.words[0] === "(start)" ? 1 : 0;
  const [pinned = null] = pinnedWords(state, shown).queries;
  const asking = chosen.queries.map((q) => q - (isFrench ? offset : 0));
  const changes = readChanges(state.get("changes"));
  const { experiment } = data;
  const done = experiment && "changed" in experiment ? experiment : null;
  const words = part.query.words
    .map((name, position) => ({ name, position }))
    .filter(({ name }) => !MARKED.test(name));
  return {
    words,
    asking: words.find(({ position }) => position === pinned) ?? null,
    ...explained(view),
    heads:
      reading.parts.reduce((sum, one) => sum + one.layers * one.heads, 0) *
      (base.parts.length === 1 ? 3 : 1),
    note: sceneNote(view, shown, nouns, links),
    stage: {
      links,
      nouns,
      asking: { english: isFrench ? [] : asking, french: isFrench ? asking : [] },
      struck: changes.flatMap((one) => (one.change === "knock_out" ? [one.word ?? -1] : [])),
      frenchOf: frenchColours(base, reading, nouns, links, isFrench ? [] : asking),
      queryIsFrench: isFrench,
      keyIsFrench: part.key.language === "French",
      canRedirect: source.live && part.key.language === "English",
      isOff: hasChange(state.get("changes"), { change: "ablate", part: part.name, layer, head }),
      isWhole: !chosen.queries.length,
      why: whyBars(view, shown),
    },
    before: done && done.before,
    after: done && done.after,
    head: headSentence(shown, pinned),
  };
}

// What the question is about while a line is explained: the word it leads to, or, in the reader's
// turn, the word that it could lead to.
/** @param {ReadView} view */
function explained({ state, data: { why } }) {
  const step = why && whyStep(state);
  if (!step) return { explained: null, tried: null };
  const { words } = why.shown.part.key;
  const rival = step === "try" && why.link.rival !== undefined ? words[why.link.rival] : null;
  return { explained: words[why.link.key], tried: rival };
}

// What a head is named for was measured over many sentences; what it does here is said beside it.
/** @param {Shown} shown @param {number | null} query */
function headSentence({ part, choice, grid }, query) {
  const { layer, head } = choice;
  const role = part.roles ? ` usually ${part.roles[layer][head]}` : "";
  const row =
    query === null || query >= grid.rows
      ? null
      : grid.weights.subarray(query * grid.columns, (query + 1) * grid.columns);
  const key = row && largest(row, 1)[0];
  const here =
    key !== null && key !== undefined && query !== null
      ? ` Here ${asWord(grid.queries[query])} looks at ${asWord(grid.keys[key])}.`
      : "";
  return `Layer ${layer}, head ${head} (${part.about})${role}.${here}`;
}

// The nouns keep their colours while a sentence is looked at: they are those of the head that the
// reading itself chose, before any change.
/** @param {ReadView} view @param {Shown} shown @param {PageReading} base */
function sentenceNouns({ state, data, selection }, shown, base) {
  const { highlight } = base;
  const { choice, reading } = shown;
  const isOwn =
    highlight &&
    choice.part === highlight.part &&
    choice.layer === highlight.layer &&
    choice.head === highlight.head &&
    !reading.changes &&
    !selection.hovered;
  if (data.nouns?.sentence !== base.sentence || (isOwn && !data.nouns.isOwn)) {
    const link = isOwn ? questionedLink(state, shown) : null;
    data.nouns = { sentence: base.sentence, positions: twoNouns(base, link), isOwn: Boolean(link) };
  }
  return data.nouns.positions;
}

// Links to draw, the strongest first; positions of French words are those of the translation.
/** @param {Shown} shown @param {Chosen} chosen */
function shownLinks({ grid, part }, { queries, keys }) {
  const { rows, columns, weights } = grid;
  /** @type {StageLink[]} */
  const links = [];
  /** @param {number} q @param {number} k */
  const add = (q, k) => links.push({ query: q, key: k, weight: weights[q * columns + k] });
  if (queries.length)
    for (const q of queries) {
      const row = weights.subarray(q * columns, (q + 1) * columns);
      for (const k of largest(row, 12)) add(q, k);
    }
  else if (keys.length) {
    for (const k of keys) for (let q = 0; q < rows; q++) add(q, k);
  } else
    weights.forEach((weight, at) => {
      if (weight >= ALL_LINKS_WEIGHT) add(Math.floor(at / columns), at % columns);
    });
  /** @param {Side} side */
  const before = (side) => (side.words[0] === "(start)" ? 1 : 0);
  const [row, column] = [before(part.query), before(part.key)];
  return links
    .map(({ query, key, weight }) => ({ query: query - row, key: key - column, weight }))
    .sort((one, other) => other.weight - one.weight);
}

// The colour of each French word: that of the noun it translates; what the asking word became has
// the colour of the noun that it looks at.
/**
 * @param {PageReading} base
 * @param {PageReading} reading
 * @param {number[]} nouns
 * @param {StageLink[]} links
 * @param {number[]} asking
 */
function frenchColours(base, reading, nouns, links, asking) {
  /** @type {Map<number, number>} */
  const colours = new Map();
  const alignment = reading.alignment || base.alignment;
  if (!alignment) return colours;
  nouns.forEach((noun, colour) => {
    const [french] = wordsFrom(alignment, noun);
    if (french !== undefined) colours.set(french, colour);
  });
  const answer = links.length ? nouns.indexOf(links[0].key) : -1;
  for (const q of asking) {
    const [french] = wordsFrom(alignment, q);
    if (french !== undefined && answer >= 0) colours.set(french, answer);
  }
  return colours;
}

/**
 * @param {ReadView} view
 * @param {Shown} shown
 * @param {number[]} nouns
 * @param {StageLink[]} links
 * @returns {Child}
 */
function sceneNote(view, shown, nouns, links) {
  const { state, data, selection } = view;
  const told = outcomeNote(data.experiment);
  if (told) return told;
  if (data.refused) return element("span.problem", data.refused);
  // What is doubtful about the text itself comes before what is said of the line.
  const { notes } = shown.reading;
  if (notes.length) return prose(notes[0]);
  const [first] = links;
  if (!first || !selection.chosen.queries.length) return "";
  const { highlight } = shown.reading;
  if (highlight?.accuracy && isHighlight(shown, selection.hovered || pinnedWords(state, shown)))
    return [wrongNote(shown, nouns, first), reliabilityNote(highlight)];
  if (first.weight >= SATURATED_WEIGHT)
    return prose(
      "This head is as sure as it can be: all the other words together get " +
        `${percent(links.slice(1).reduce((sum, { weight }) => sum + weight, 0))}.`,
    );
  return "";
}

// Of an example it is known which noun people take the pronoun for.
/** @param {Shown} shown @param {number[]} nouns @param {StageLink} first @returns {Child} */
function wrongNote({ reading }, nouns, first) {
  const example = exampleOf(reading.sentence);
  const { words } = reading.parts[0].query;
  const meant = example ? words.indexOf(example.meant[example.at]) : -1;
  if (meant < 0 || !nouns.includes(first.key) || first.key === meant) return "";
  return prose(
    `This head is wrong here: people take ${asWord(words[first.query])} for ` +
      `${asWord(words[meant])}, not for ${asWord(words[first.key])}. `,
  );
}

// Sure or in doubt, and how often the head is right then; all that was counted unfolds.
/** @param {HeadHighlight} highlight @returns {Child} */
function reliabilityNote({ doubt, accuracy, brief }) {
  const isKnown = doubt === "sure" || doubt === "in doubt";
  return [
    isKnown && ["This head is ", element("b.doubt", doubt), ". "],
    brief && `${brief} `,
    element(
      "details.counted",
      element("summary", {}, brief ? "How was that counted?" : "How often is it right?"),
      element("span.accuracy", prose(accuracy ?? "")),
    ),
  ];
}
