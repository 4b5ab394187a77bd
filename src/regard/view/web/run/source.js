// Where the run view gets its data from: a run that the server holds (of a file, or of the model
// that stays loaded), a run embedded in the page, or the sentence of the Look view. Each is a
// RunSource (types.d.ts). A choice is { part, layer, head }: a part by its name, a layer by its
// number in the model, both counted from 0.

import { readNumbers } from "../lib/api.js";
import { FIRST_SENTENCE } from "../read/examples.js";
import { fieldTerm, roleStrength } from "../lib/heads.js";
import { shapedWeights, wayOf } from "./ways.js";

// A run of the server: at is { file, sentence } or { run }.
/** @param {Source} source @param {Fields} at @returns {Promise<RunSource>} */
export async function servedRun(source, at) {
  const cache = new Map();
  /** @param {string} what @param {Fields} fields @param {{ signal?: AbortSignal }} [options] */
  const ask = (what, fields, options) =>
    source.ask(`/api/map/${what}`, { ...at, ...fields }, options);
  /** @template T @param {string} what @param {Fields} fields @param {(r: Response) => T} read */
  const once = (what, fields, read) => {
    const key = JSON.stringify([what, fields]);
    if (!cache.has(key)) {
      const answer = ask(what, fields).then(read);
      answer.catch(() => cache.delete(key));
      if (cache.size > MAX_CACHED_ANSWERS) cache.delete(cache.keys().next().value);
      cache.set(key, answer);
    }
    return cache.get(key);
  };
  /** @param {Response} response */
  const json = (response) => response.json();
  return {
    about: await json(await ask("about", {})),
    text: (number) => once("text", { text: number }, json),
    heads: () => once("heads", {}, json),
    link: (choice) => once("link", { ...choice }, json),
    weights: (part, query, key) => once("weights", { part, query, key }, json),
    thumbnails: (part) =>
      once("thumbnails", { part }, async (response) => {
        const { shape, values } = await readNumbers(response);
        return { rows: shape[2], columns: shape[3], weights: values };
      }),
    row: (choice, query) => once("row", { ...choice, query }, readLine),
    column: (choice, key) => once("column", { ...choice, key }, readLine),
    mixer: (number) =>
      once("mixer", { number }, async (response) => ({
        ...JSON.parse(response.headers.get("X-Regard-Shown") || ""),
        ...(await readNumbers(response)),
      })),
    async region(choice, { rows, columns, cells, thorough, signal }) {
      const fields = { ...choice, rows, columns, cells, thorough };
      const response = await ask("region", fields, { signal });
      const header = JSON.parse(response.headers.get("X-Regard-Shown") || "");
      return cutApart(header, new Float32Array(await response.arrayBuffer()));
    },
  };
}

const MAX_CACHED_ANSWERS = 60; // a row of a million tokens has four megabytes

/** @param {Response} response @returns {Promise<RunLine>} */
async function readLine(response) {
  const { known, rest } = JSON.parse(response.headers.get("X-Regard-Shown") || "");
  return { known, rest, weights: new Float32Array(await response.arrayBuffer()) };
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

// A run inside the page: maps of one resolution, and where those are coarse the largest weights of
// each row.
/** @param {Source} source @param {EmbeddedRun} stored @returns {RunSource} */
export function embeddedRun({ bytesAt }, { about, texts, ranking, parts, pairs }) {
  const cache = new Map();
  /** @param {Span} blob @returns {Promise<Float32Array>} */
  const numbersAt = (blob) => {
    const key = blob.join(" ");
    if (!bytesAt) throw new Error("This page holds no numbers.");
    if (!cache.has(key))
      cache.set(
        key,
        bytesAt(blob).then(({ buffer }) => new Float32Array(buffer)),
      );
    return cache.get(key);
  };
  /** @param {RunChoice} choice */
  const place = ({ part, layer, head }) => {
    const at = about.parts.findIndex((one) => one.name === part);
    const number = about.parts[at].layers.findIndex((one) => one.number === layer);
    return { told: about.parts[at].layers[number], part: parts[at], number, head };
  };
  /** @param {RunChoice} choice */
  const region = async (choice) => {
    const { part, number, head } = place(choice);
    const stored = part.heads[number][head];
    return cutApart(stored, await numbersAt(stored.blob));
  };
  return {
    about,
    text: async (number) => texts[number],
    heads: async () => ranking,
    link: async ({ part, layer, head }) =>
      ranking.heads.find((x) => x.part === part && x.layer === layer && x.head === head)?.link ??
      null,
    async thumbnails(part) {
      const { thumbnails } = parts[about.parts.findIndex((one) => one.name === part)];
      if (!thumbnails || !bytesAt) return { rows: 0, columns: 0, weights: new Float32Array(0) };
      const steps = await bytesAt(thumbnails.blob);
      const weights = Float32Array.from(steps, (step) => (step / 255) ** 2);
      return { rows: thumbnails.shape[2], columns: thumbnails.shape[3], weights };
    },
    region,
    async row(choice, query) {
      const { told, part, number, head } = place(choice);
      if (told.exact) return regionRow(await region(choice), query);
      const weights = new Float32Array(told.keys);
      if (!pairs) throw new Error("This page holds maps alone: open the .regard file.");
      const best = await numbersAt(part.best[number][head]);
      let sum = 0;
      for (let at = 2 * pairs * query; at < 2 * pairs * (query + 1); at += 2) {
        if (best[at] < 0) continue;
        weights[best[at]] = best[at + 1];
        sum += best[at + 1];
      }
      return { weights, known: "largest", rest: Math.max(0, 1 - sum) };
    },
    column: async (choice, key) => regionColumn(await region(choice), key),
  };
}

/** @param {Region} region @param {number} query @returns {RunLine} */
function regionRow({ values, cells }, query) {
  const weights = values.slice(query * cells[1], (query + 1) * cells[1]);
  return { weights, known: "all", rest: 0 };
}

/** @param {Region} region @param {number} key @returns {RunLine} */
function regionColumn({ values, cells }, key) {
  const weights = Float32Array.from({ length: cells[0] }, (_, q) => values[q * cells[1] + key]);
  return { weights, known: "all", rest: 0 };
}

// The sentence of the Look view. It is short: every weight at once.
/** @param {Source} source @param {State} state @returns {Promise<RunSource>} */
export async function readingRun(source, state) {
  const reading = await source.reading(state.get("sentence", FIRST_SENTENCE), {});
  /** @type {Side[]} */
  const sides = [];
  /** @param {Side} side */
  const numberOf = (side) => {
    const at = sides.findIndex((one) => one.tokens.join("\n") === side.tokens.join("\n"));
    return at < 0 ? sides.push(side) - 1 : at;
  };
  const parts = reading.parts.map((part) => readingPart(part, numberOf));
  /** @type {string[]} */
  let notes = [];
  /** @param {RunChoice} choice */
  const region = async ({ part: name, layer, head }) => {
    const part = reading.parts.find((one) => one.name === name) ?? reading.parts[0];
    const show = wayOf(state, part);
    const table = await source.weights(reading, { part: name, show, layer, head });
    const shaped = shapedWeights(table, part, state);
    notes = shaped.notes;
    return denseRegion(shaped.weights, table.rows, table.columns);
  };
  return {
    reading,
    notes: () => notes,
    about: {
      name: reading.sentence,
      sentences: 1,
      texts: sides.map((side) => side.tokens.length),
      parts,
      images: [],
      notes: [],
    },
    text: async (number) => sideText(sides[number]),
    heads: async () => ({
      heads: reading.parts.flatMap(readingHeads).sort((one, other) => other.telling - one.telling),
      first: reading.highlight && {
        part: reading.highlight.part,
        layer: reading.highlight.layer,
        head: reading.highlight.head,
        query: reading.parts[0].query.word_of_token.indexOf(reading.highlight.query),
      },
    }),
    link: async () => null,
    thumbnails: (part) => source.thumbnails(reading, part),
    region,
    row: async (choice, query) => regionRow(await region(choice), query),
    column: async (choice, key) => regionColumn(await region(choice), key),
  };
}

/** @param {Part} part @param {(side: Side) => number} numberOf @returns {RunPart} */
function readingPart(part, numberOf) {
  const [queries, keys] = [part.query.tokens.length, part.key.tokens.length];
  return {
    name: part.name,
    about: part.about,
    layers: Array.from({ length: part.layers }, (_, number) => ({
      number,
      heads: Array.from({ length: part.heads }, (_, head) => String(head)),
      queries,
      keys,
      exact: true,
      least: [1, 1],
      missing: "",
    })),
    query: { text: numberOf(part.query), offset: 0, generated: null },
    key: { text: numberOf(part.key), offset: 0, generated: null },
  };
}

/** @param {Part} part @returns {RunHead[]} */
function readingHeads({ name, layers, heads, roles, described_roles: described }) {
  return Array.from({ length: layers * heads }, (_, at) => {
    const [layer, head] = [Math.floor(at / heads), at % heads];
    const role = roles?.[layer][head] ?? "";
    const label = described?.[layer][head] ?? role;
    const telling = Math.max(0, roleStrength(label));
    const word = fieldTerm(role) || role;
    const named = { part: name, layer, head, word, label, telling };
    return { ...named, measures: null, link: null, judged: "" };
  });
}

// "hung", "+ry" and "(end)" as running text.
/** @param {Side} side @returns {RunText} */
function sideText({ tokens }) {
  /** @type {Record<number, string>} */
  const names = {};
  const segments = tokens.map((token, at) => {
    if (/^\(\w+\)$/.test(token)) names[at] = token;
    if (at in names) return "";
    if (/^\+./.test(token)) return token.slice(1);
    const isFirst = at === 0 || (at === 1 && 0 in names);
    return isFirst || /^[.,!?;:…)]/.test(token) ? token : ` ${token}`;
  });
  return { segments, names };
}

/** @param {Float32Array} values @param {number} rows @param {number} columns @returns {Region} */
function denseRegion(values, rows, columns) {
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
}

// A row, or a column.
/**
 * @param {RunSource} run
 * @param {RunChoice} at
 * @param {number | null} row
 * @param {number | null} key
 * @param {boolean} isColumn
 */
export async function lineOf(run, at, row, key, isColumn) {
  if (isColumn && key !== null && run.column) return run.column(at, key);
  return row === null ? null : run.row(at, row);
}

// The mean of the rows of several queries.
/** @param {Promise<RunLine | null>[]} asked */
export async function meanLine(asked) {
  const lines = await Promise.all(asked);
  const [first] = lines;
  if (!first || lines.length === 1) return first;
  /** @param {(line: RunLine) => number} value */
  const mean = (value) =>
    lines.reduce((sum, line) => sum + (line ? value(line) / lines.length : 0), 0);
  const weights = first.weights.map((_, at) => mean((line) => line.weights[at]));
  return { ...first, weights, rest: mean(({ rest }) => rest) };
}

// Names of tokens.

// Scripts that part words by blanks: a letter beside another one belongs to its word.
const LETTER = /[\p{sc=Latn}\p{sc=Cyrl}\p{sc=Grek}\p{sc=Arab}\p{sc=Hebr}]/u;

// A token as a word of a sentence about it: without the blank before it, blanks as marks, and a
// piece of a word with … where the word goes on.
/** @param {RunText | null} text @param {number} at */
export function tokenName(text, at) {
  const name = bareName(text, at);
  if (!text?.segments[at]) return name;
  /** @param {number} one @param {number} other */
  const isJoined = (one, other) =>
    LETTER.test((text.segments[one] ?? "").slice(-1)) &&
    LETTER.test((text.segments[other] ?? "").slice(0, 1));
  return `${isJoined(at - 1, at) ? "…" : ""}${name}${isJoined(at, at + 1) ? "…" : ""}`;
}

/** @param {RunText | null} text @param {number} at */
function bareName(text, at) {
  const segment = text?.segments[at];
  if (!text || segment === undefined) return at.toLocaleString("en");
  if (!segment) return text.names[at] ?? "…";
  const marks = { "\n": "↵", "\r": "", "\t": "⇥" };
  /** @param {string} blank */
  const mark = (blank) => marks[/** @type {keyof typeof marks} */ (blank)] ?? "␣";
  return segment.trim() || [...segment].map(mark).join("");
}

// The text before a token, the token, and the text after it, on one line.
/** @param {RunText | null} text @param {number} at @param {number} tokens on each side */
export function tokenContext(text, at, tokens) {
  if (!text) return ["", at.toLocaleString("en"), ""];
  /** @param {number} from @param {number} to */
  const part = (from, to) =>
    text.segments.slice(Math.max(0, from), to).join("").replace(/\s+/g, " ");
  const before = part(at - tokens, at);
  const isApart = /\s$/.test(before) || /^\s/.test(text.segments[at] ?? "");
  return [
    before.trimEnd() + (isApart ? "\u00a0" : ""), // a plain blank at its end would not be drawn
    bareName(text, at),
    part(at + 1, at + 1 + tokens),
  ];
}
