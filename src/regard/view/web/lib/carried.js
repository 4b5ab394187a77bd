// A link that carries what it shows: words, French, and the weights of one head, one byte each, so
// that a phone shows the picture without the model.
//
// Field of the address: seen. It is a stranger's text: whatever is not as it must be is refused,
// and all of it is shown as text.

import { isAborted } from "./dom.js";

const MOST_CHARACTERS = 8000; // of the field
const MOST_TOKENS = 64;
const MOST_NAME = 60; // characters of a word
const BYTE = 255; // the steps of a weight
const NOTE =
  "This picture came with the link, its weights in 256 steps; the model was not asked again.";

// The field for what a page shows; empty where a link cannot carry it.
/** @param {State} state @param {Source} source */
export async function carriedField(state, source) {
  const sentence = state.get("sentence");
  if (state.view !== "read" || !sentence || state.get("changes")) return "";
  try {
    const reading = await source.reading(sentence, {});
    const { translation, parts, alignment, highlight } = reading;
    const { tokens, words, word_of_token: places } = parts[0].query;
    if (highlight?.part !== "encoder" || !alignment || tokens.length > MOST_TOKENS) return "";
    const layer = state.number("layer", highlight.layer);
    const head = state.number("head", highlight.head);
    const isOwn = layer === highlight.layer && head === highlight.head;
    const query = state.number("q", highlight.query);
    if (state.get("part", "encoder") !== "encoder" || !words[query]) return "";
    const choice = { part: "encoder", show: "head", layer, head };
    const { weights } = await source.weights(reading, choice);
    const steps = Array.from(weights, (weight) => Math.round(BYTE * weight));
    const sources = alignment.sources.map((all) =>
      all.map(({ key, weight }) => [key, Math.round(BYTE * weight)]),
    );
    const key = isOwn && query === highlight.query ? highlight.key : null;
    return packed([
      ...[translation, tokens, words, Array.from(places), alignment.words, sources],
      ...[layer, head, query, key, btoa(String.fromCharCode(...steps))],
    ]);
  } catch (error) {
    if (isAborted(error)) throw error;
    return ""; // the link does without
  }
}

/** @param {unknown} value */
function packed(value) {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const text = btoa(String.fromCharCode(...bytes));
  return text.replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}

/** @param {string} field @returns {unknown} */
function unpacked(field) {
  const text = atob(field.replace(/-/g, "+").replace(/_/g, "/"));
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (one) => one.charCodeAt(0))));
}

// The answer to /api/read that a link carries, with the sizes of a reading that is known; null
// where the field is not what a link of this page holds.
/** @param {string} field @param {string} sentence @param {PageReading} known */
export function carriedReading(field, sentence, known) {
  if (!sentence || field.length > MOST_CHARACTERS) return null;
  try {
    return checkedReading(unpacked(field), sentence, known);
  } catch {
    return null;
  }
}

/** @param {any} field @param {string} sentence @param {PageReading} known */
function checkedReading(field, sentence, known) {
  const [translation, tokens, words, places, french, sources, layer, head, query, key, steps] =
    field;
  const [encoder] = known.parts;
  const size = tokens.length;
  const bytes = Uint8Array.from(atob(steps), (one) => one.charCodeAt(0));
  const isRight = [
    typeof translation === "string" && translation.length <= MOST_CHARACTERS,
    [tokens, words, french].every(isNames),
    isPlaces(places, words.length) && places.length === size,
    sources.length === french.length,
    sources.every((/** @type {number[][]} */ all) =>
      all.every(([at, step]) => isPlaces([at], words.length) && isPlaces([step], BYTE + 1)),
    ),
    isPlaces([layer], encoder.layers) && isPlaces([head], encoder.heads),
    isPlaces(key === null ? [query] : [query, key], words.length),
    bytes.length === size ** 2,
  ];
  if (!isRight.every(Boolean)) return null;
  const side = { ...encoder.query, tokens, words, word_of_token: places };
  const weights = Float32Array.from(bytes, (step) => step / BYTE);
  const place = { part: "encoder", layer, head };
  return {
    ...known,
    ...{ sentence, translation, quick: false, notes: [NOTE] },
    parts: [{ ...encoder, query: side, key: side }],
    alignment: {
      words: french,
      sources: sources.map((/** @type {number[][]} */ all) =>
        all.map(([at, step]) => ({ key: at, weight: step / BYTE })),
      ),
    },
    highlight: key !== null && {
      ...{ ...place, query, key, query_word: words[query], key_word: words[key] },
      ...{
        sentence: `${words[query]} looks at ${words[key]}`,
        reason: "it was chosen by the link",
      },
    },
    first: {
      ...{ ...place, rows: size, columns: size },
      weights: btoa(String.fromCharCode(...new Uint8Array(weights.buffer))),
    },
  };
}

/** @param {unknown} names */
function isNames(names) {
  return (
    Array.isArray(names) &&
    names.length <= MOST_TOKENS &&
    names.every((name) => typeof name === "string" && name.length <= MOST_NAME)
  );
}

/** @param {unknown} places @param {number} size */
function isPlaces(places, size) {
  return (
    Array.isArray(places) &&
    places.every((place) => Number.isInteger(place) && place >= 0 && place < size)
  );
}
