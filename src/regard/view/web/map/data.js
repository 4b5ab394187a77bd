// What the Map view draws from: a file that the server holds, the map embedded in the page, or
// the sentence of the Read view. All answer alike:
//
// about                      { name, notes, layers: [{ name, heads: [names], queries, keys, facts,
//                            fine: whether single
//                              weights can be computed, text: whether it has tokens }] }
// region(choice, wanted)     wanted { rows: [from, to], columns: [from, to], cells: [down, across],
//                            thorough, signal } ->
//                            { rows, columns, cells, spans: [down, across] positions of the cells
//                            were the last as large as
//                              the others, values: Float32Array, received, entropy: Float32Array or
//                              null, what: in words,
//                              better: whether asking thoroughly gives more }. It may cover more
//                              than asked.
// row(choice, query)         { query, keys: [positions], weights }, the largest weights of a query
// heads()                    { parts } as those of a PageReading, for the grid of heads; [] is
//                            none
// thumbnails(reading, part)  as source.thumbnails of api.js
// text(layer, side, from, to)  [tokens] of "query" or "key", [] where there are none
// choice is { layer, head }, both from 0.

import { readNumbers } from "../lib/api.js";
import { FIRST_SENTENCE } from "../read/headline.js";

/** @param {Source} source @param {State} state @returns {Promise<Maps>} */
export async function availableMaps(source, state) {
  const files = source.page.files || [];
  if (files.length)
    return { names: files, isServed: true, open: (file) => servedMap(source, file) };
  const stored = source.embedded?.map;
  if (stored) return { names: [stored.about.name], open: async () => embeddedMap(source, stored) };
  const reading = await source.reading(state.get("sentence", FIRST_SENTENCE), {});
  const part = reading.parts.find((one) => one.name === state.get("part")) || reading.parts[0];
  return { names: [], open: async () => readingMap(source, reading, part) };
}

/** @param {Source} source @param {number} file @returns {Promise<MapSource>} */
async function servedMap(source, file) {
  /** @param {string} what @param {Fields} fields @param {{ signal?: AbortSignal }} [options] */
  const ask = (what, fields, options) =>
    source.ask(`/api/map/${what}`, { file, ...fields }, options);
  return {
    about: await (await ask("about", {})).json(),
    /** @param {MapChoice} choice @param {RegionRequest} request */
    async region(choice, { rows, columns, cells, thorough, signal }) {
      const response = await ask(
        "region",
        { ...choice, rows, columns, cells, thorough },
        { signal },
      );
      const header = JSON.parse(response.headers.get("X-Regard-Shown") || "");
      return cutApart(header, new Float32Array(await response.arrayBuffer()));
    },
    row: async (choice, query) => (await ask("row", { ...choice, query })).json(),
    heads: async () => (await ask("heads", {})).json(),
    /** @param {unknown} _ @param {string} part */
    async thumbnails(_, part) {
      const { shape, values } = await readNumbers(await ask("thumbnails", { part }));
      return { rows: shape[2], columns: shape[3], weights: values };
    },
    text: async (layer, side, from, to) =>
      (await (await ask("text", { layer, side, from, to })).json()).tokens,
  };
}

// One array holds the cells, then a number for each column, then one for each row.
/** @param {RegionHeader} header @param {Float32Array} numbers */
function cutApart(header, numbers) {
  const [down, across] = header.cells;
  let at = down * across;
  const values = numbers.subarray(0, at);
  const received = header.received ? numbers.subarray(at, (at += across)) : null;
  return {
    ...header,
    values,
    received,
    entropy: header.entropy ? numbers.subarray(at, at + down) : null,
  };
}

/** @param {Source} source @param {EmbeddedMap} stored @returns {MapSource} */
function embeddedMap({ bytesAt }, { about, heads, best, tokens }) {
  /** @type {Map<string, Promise<Float32Array>>} */
  const cache = new Map();
  /** @param {MapChoice} choice */
  const headMap = (choice) => heads[choice.layer][choice.head];
  /** @param {Span} blob */
  const numbersAt = async (blob) => {
    if (!bytesAt) throw new Error("This page holds no numbers.");
    return new Float32Array((await bytesAt(blob)).buffer);
  };
  /** @param {MapChoice} choice */
  const bestAt = ({ layer, head }) => {
    const key = `${layer} ${head}`;
    const numbers = cache.get(key) || numbersAt(best ? best.blobs[layer][head] : []);
    cache.set(key, numbers);
    return numbers;
  };
  return {
    about,
    heads: async () => ({ parts: [] }),
    thumbnails: async () => ({ rows: 0, columns: 0, weights: new Float32Array(0) }),
    region: async (choice) => cutApart(headMap(choice), await numbersAt(headMap(choice).blob)),
    /** @param {MapChoice} choice @param {number} query */
    async row(choice, query) {
      if (!best) return { query, keys: [], weights: [] };
      const pairs = (await bestAt(choice)).subarray(
        2 * best.count * query,
        2 * best.count * (query + 1),
      );
      const ranks = [...Array(best.count).keys()].filter(
        (at) => pairs[2 * at] >= 0 && pairs[2 * at + 1] > 0,
      );
      return {
        query,
        keys: ranks.map((at) => pairs[2 * at]),
        weights: ranks.map((at) => pairs[2 * at + 1]),
      };
    },
    text: async (layer, side, from, to) =>
      tokens.texts[tokens.sides[layer][side === "key" ? 1 : 0]].slice(from, to),
  };
}

// A sentence is short: every weight at once.
/** @param {Source} source @param {PageReading} reading @param {Part} part @returns {MapSource} */
function readingMap(source, reading, part) {
  const [asks, answers] = [part.query.tokens, part.key.tokens];
  const layers = Array.from({ length: part.layers }, (_, layer) => ({
    name: `layer ${layer}`,
    heads: Array.from({ length: part.heads }, (_, head) => `${head}`),
    queries: asks.length,
    keys: answers.length,
    facts: ["received", "entropy", "top_keys"],
    fine: true,
    text: true,
  }));
  /** @param {MapChoice} choice */
  const table = async ({ layer, head }) =>
    everyWeight(await source.weights(reading, { part: part.name, show: "head", layer, head }));
  return {
    about: {
      name: reading.sentence,
      notes: [],
      layers,
      first: reading.highlight && reading.highlight.part === part.name ? reading.highlight : null,
    },
    heads: async () => ({ parts: [part] }),
    thumbnails: () => source.thumbnails(reading, part.name),
    /** @param {MapChoice} choice */
    async region(choice) {
      const { values, rows, columns } = await table(choice);
      const [received, entropy] = [new Float32Array(columns), new Float32Array(rows)];
      values.forEach((weight, at) => {
        received[at % columns] += weight;
        if (weight > 0) entropy[Math.floor(at / columns)] -= weight * Math.log(weight);
      });
      return {
        rows: [0, rows],
        columns: [0, columns],
        cells: [rows, columns],
        spans: [rows, columns],
        values,
        received,
        entropy,
        what: "exact: every cell is one weight",
        better: false,
      };
    },
    /** @param {MapChoice} choice @param {number} query */
    async row(choice, query) {
      const { values, columns } = await table(choice);
      const weights = values.subarray(query * columns, (query + 1) * columns);
      const keys = [...weights.keys()]
        .sort((a, b) => weights[b] - weights[a])
        .slice(0, 16)
        .filter((key) => weights[key] > 0);
      return { query, keys, weights: keys.map((key) => weights[key]) };
    },
    text: async (layer, side, from, to) => (side === "key" ? answers : asks).slice(from, to),
  };
}

/** @param {Table} table */
function everyWeight(table) {
  if (!table.starts || !table.keys)
    return { values: table.weights, rows: table.rows, columns: table.columns };
  const values = new Float32Array(table.rows * table.columns);
  for (let row = 0; row < table.rows; row++) {
    for (let at = table.starts[row]; at < table.starts[row + 1]; at++)
      values[row * table.columns + table.keys[at]] = table.weights[at];
  }
  return { values, rows: table.rows, columns: table.columns };
}

// Tokens beside the map: fetched in segments, and cached for the view.

export const SEGMENT_TOKENS = 512; // tokens

// The token at a position, where its segment has been fetched already.
/** @param {MapView} view @param {SideName} side @param {number} position */
export function nameAt(view, side, position) {
  const segment = view.texts.get(
    `${view.file} ${view.choice.layer} ${side} ${Math.floor(position / SEGMENT_TOKENS)}`,
  );
  return Array.isArray(segment) ? segment[position % SEGMENT_TOKENS] || "" : "";
}

// The segment around a position, fetched once.
/** @param {MapView} view @param {SideName} side @param {number} position */
export async function segmentAt(view, side, position) {
  if (!view.layer.text) return [];
  const [at, most] = [
    Math.floor(position / SEGMENT_TOKENS),
    side === "key" ? view.layer.keys : view.layer.queries,
  ];
  const key = `${view.file} ${view.choice.layer} ${side} ${at}`;
  if (!view.texts.has(key)) {
    view.texts.set(
      key,
      view.map
        .text(
          view.choice.layer,
          side,
          SEGMENT_TOKENS * at,
          Math.min(most, SEGMENT_TOKENS * (at + 1)),
        )
        .then((tokens) => {
          view.texts.set(key, tokens);
          view.paint();
          return tokens;
        }),
    );
  }
  return view.texts.get(key);
}

// Names for the axes of a window that is small enough to show them.
/** @param {MapView} view */
export function prefetchNames(view) {
  const { rows, columns } = view.window;
  if (rows[1] - rows[0] > 120) return;
  for (const at of [rows[0], Math.max(0, rows[1] - 1)]) segmentAt(view, "query", at);
  for (const at of [columns[0], Math.max(0, columns[1] - 1)]) segmentAt(view, "key", at);
}
