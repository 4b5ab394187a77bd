// Where data comes from. A view asks a source and never fetches itself: the served page asks the
// server or a worker (ask.js), an exported file and a notebook cell answer from what is embedded in
// them. All have the same functions and shapes; types.d.ts lists them.
//
// source.views           the views it can fill: ["read", "steps", "map", "learn"], and "training"
//                        where a monitored training was opened
// source.page            { version, files: [names of the .regard files], trainings: [names],
//                        model: the name of one that stays loaded, or null, address: of the public
//                        site, or null, pdf: whether the server can write one }
// source.live            whether any sentence can be read (the server); else one reading is there
// source.reading(sentence, { quick, signal })
//                        -> PageReading; quick: the English side alone, without the translation.
//                        A source that is not live ignores the sentence.
// source.weights(reading, { part, show, layer, head })
//                        -> Table between tokens; show is one of the part's ways: "head", "layer"
//                        (its average), "all" (average of all), "rollout"
// source.thumbnails(reading, part)
//                        -> { rows, columns, weights (layers, heads, rows, columns) }: a small
//                        picture of each head, at most 24 x 24 cells, each its largest weight
// source.steps(choice)   -> Inputs of attend.js; choice { sentence, part, layer, head,
//                        position: false } or { example: name }
// source.layer(choice)   -> LayerData of steps/layer_path.js: the layer around a head; choice
//                        { sentence, part, layer, position: false }
// source.nextWords(choice)
//                        -> NextWords of steps/next_word.js; choice { sentence, position: false }
// source.experiment(sentence, changes)
//                        -> { reading: PageReading of the second run, changed, same, before, after,
//                        prefix, candidates, caution }; changes as in read/experiment.js. Only the
//                        server has it.
// source.effects(fields) -> with { sentence, of, against, choice: true } both words and what the
//                        formula says of every head; with { ..., part, layer } in place of choice
//                        { effect: [logits of each head of a layer] }. The server's alone.
// source.learn(page)     -> the facts of a page of the course (course.js)
// source.practice()      -> an element to write attention in; a static site's alone
// source.forget()        what was asked for is asked for again; the server's alone
// source.ask(path, fields, { signal })
//                        -> Response (ask.js); for what only one view asks
//
// A sparse Table has keys[starts[q] .. starts[q + 1]] in row q, the largest weight first; rest[q]
// is what all other keys of the row have together. Tables are read through weights.js alone.
//
// Layers and heads, words and tokens all count from 0. Errors are Error objects whose message is a
// sentence.

import { askServer } from "./ask.js";

/** @param {Ask} [ask] @returns {Promise<Source>} */
export async function servedSource(ask = askServer) {
  const page = await (await ask("/api/page", {})).json();
  const cache = new Map();
  /** @template T @param {string} key @param {() => Promise<T>} make @returns {Promise<T>} */
  const once = (key, make) => {
    if (!cache.has(key)) {
      if (cache.size > 400) cache.delete(cache.keys().next().value);
      const answer = make();
      answer.catch(() => cache.delete(key));
      cache.set(key, answer);
    }
    return cache.get(key);
  };
  /** @param {PageReading} reading */
  const fields = (reading) => ({
    sentence: reading.sentence,
    quick: reading.quick && reading.parts.length === 1,
    changes: reading.changes || null,
  });
  /** @param {PageReading} reading */
  const readingKey = (reading) =>
    JSON.stringify([reading.sentence, reading.quick, reading.changes]);
  return {
    views: ["read", "steps", "map", "learn", ...(page.trainings?.length ? ["training"] : [])],
    page,
    live: true,
    ask,
    forget: () => cache.clear(),
    reading: async (sentence, { quick = false, signal, at } = {}) => {
      const answer = await ask("/api/read", { sentence, quick, at }, { signal });
      const { first, ...reading } = await answer.json();
      if (first) {
        const { part, layer, head, ...stored } = first;
        const key = ["weights", readingKey(reading), part, "head", layer, head].join("\n");
        once(key, async () => ({ ...stored, weights: decodeFloats(stored.weights) }));
      }
      return reading;
    },
    weights: (reading, { part, show, layer, head }) =>
      once(["weights", readingKey(reading), part, show, layer, head].join("\n"), async () =>
        readTable(await ask("/api/weights", { ...fields(reading), part, show, layer, head })),
      ),
    thumbnails: (reading, part) =>
      once(
        ["thumbnails", readingKey(/** @type {PageReading} */ (reading)), part].join("\n"),
        async () => {
          const { shape, values } = await readNumbers(
            await ask("/api/thumbnails", {
              ...fields(/** @type {PageReading} */ (reading)),
              part,
            }),
          );
          return { rows: shape[2], columns: shape[3], weights: values };
        },
      ),
    steps: (choice) =>
      once(`steps\n${JSON.stringify(choice)}`, async () => {
        const response = await ask("/api/steps", choice);
        return decodeInputs(await response.arrayBuffer());
      }),
    effects: (fields) =>
      once(`effects\n${JSON.stringify(fields)}`, async () =>
        (await ask("/api/effects", fields)).json(),
      ),
    layer: (choice) =>
      once(`layer\n${JSON.stringify(choice)}`, async () =>
        decodeLayer(await (await ask("/api/path", choice)).arrayBuffer()),
      ),
    nextWords: (choice) =>
      once(`next\n${JSON.stringify(choice)}`, async () =>
        decodeLayer(await (await ask("/api/next", choice)).arrayBuffer()),
      ),
    experiment: (sentence, changes) =>
      once(`experiment\n${sentence}\n${JSON.stringify(changes)}`, async () =>
        (await ask("/api/experiment", { sentence, changes })).json(),
      ),
    learn: (page) => once(`learn\n${page}`, async () => (await ask("/api/learn", { page })).json()),
  };
}

/** @param {Response} response */
export async function readNumbers(response) {
  const shape = (response.headers.get("X-Regard-Shape") || "").split(",").map(Number);
  return { shape, values: new Float32Array(await response.arrayBuffer()) };
}

/** @param {string} text */
function decodeFloats(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

/** @param {Response} response */
async function readTable(response) {
  const { shape, values } = await readNumbers(response);
  return { rows: shape[0], columns: shape[1], weights: values };
}

// The bytes of view/page/steps_data.py as Inputs of attend.js.
/** @param {ArrayBuffer} buffer @returns {Inputs} */
export function decodeInputs(buffer) {
  const long = new DataView(buffer).getUint32(0, true);
  const inputs = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, long)));
  const values = new Float64Array(buffer, 4 + long);
  const matrices = Object.entries(inputs.matrices).map(([name, [rows, columns, start]]) => [
    name,
    { rows, columns, values: values.subarray(start, start + rows * columns) },
  ]);
  return { ...inputs, matrices: Object.fromEntries(matrices) };
}

// The bytes of view/page/path_data.py: header, matrices, and parameters restored on first use.
/** @param {ArrayBuffer} buffer */
export function decodeLayer(buffer) {
  const long = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, long)));
  const first = 4 + long;
  const matrices = Object.entries(header.matrices).map(([name, [rows, columns, start]]) => [
    name,
    { rows, columns, values: new Float64Array(buffer, first + 8 * start, rows * columns) },
  ]);
  const restored = new Map();
  /** @param {string} name */
  const parameter = (name) => {
    if (!header.parameters[name]) return null;
    if (!restored.has(name)) {
      restored.set(name, restoredMatrix(buffer, first, header, name));
      restoreOnly(restored);
    }
    return restored.get(name);
  };
  return { ...header, matrices: Object.fromEntries(matrices), parameter };
}

const RESTORED_LAYERS = 4;
const restoredLayers = new Set();

// A layer's parameters are 10 MB in float64: the layers looked at last keep theirs.
/** @param {Map<string, Matrix>} restored */
function restoreOnly(restored) {
  restoredLayers.delete(restored);
  restoredLayers.add(restored);
  if (restoredLayers.size <= RESTORED_LAYERS) return;
  const [oldest] = restoredLayers;
  oldest.clear();
  restoredLayers.delete(oldest);
}

// int8 times the scale of its column is rounded to float32, as the model does.
/**
 * @param {ArrayBuffer} buffer
 * @param {number} first
 * @param {LayerHeader} header
 * @param {string} name
 */
function restoredMatrix(buffer, first, header, name) {
  const { shape, kind, starts } = header.parameters[name];
  const [rows, columns] = shape;
  const size = rows * columns;
  if (kind === "float32")
    return {
      rows,
      columns,
      values: Float64Array.from(new Float32Array(buffer, first + starts[0], size)),
    };
  const steps = new Int8Array(buffer, first + starts[0], size);
  const scales = new Float32Array(buffer, first + starts[1], columns);
  const values = new Float64Array(size);
  for (let at = 0; at < size; at++) values[at] = Math.fround(steps[at] * scales[at % columns]);
  return { rows, columns, values };
}
