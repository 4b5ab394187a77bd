// Where data comes from. Views ask a source and never fetch themselves; the served page asks the server, the offline
// file and notebooks answer from what is embedded in them. Same functions, same shapes:
//
// source.views                       the views it can fill: ["read", "steps", "map", "learn"]
// source.page                        { version, files: [names of the .regard files opened] }
// source.live                        whether any sentence can be read (the server); else one reading is all there is
// source.reading(sentence, options)  -> Reading; options { quick: the English side alone, without the translation;
//                                       signal: an AbortSignal }. A source that is not live ignores the sentence.
// source.weights(reading, choice)    -> Table between TOKENS; choice { part, show, layer, head }, show one of the part's
//                                       ways: "head", "layer" (its average), "all" (average of all), "rollout"
// source.thumbnails(reading, part)   -> { rows, columns, weights: Float32Array (layers, heads, rows, columns) }: a small
//                                       picture of each head, at most 24 x 24 cells, each the largest weight in it
// source.steps(choice)               -> Inputs of the Steps view (see attend.js); choice { sentence, part, layer, head,
//                                       position: false } or { example: name }
// source.examples()                  -> [{ name, title, sentence, computes, claims, remarks }] the documents' examples
// source.learn(page)                 -> the facts of a page of the course (see course.js)
// source.post(path, fields, options) the served page alone: POST JSON to the server -> Response (for map.js, keep.js)
//
// Reading {
//   sentence, translation ("" where there is none), quick, notes: [sentence], caution: sentence,
//   parts: [{ name, title, about, layers, heads, causal, steps: whether the Steps view can show its heads,
//             query: Side, key: Side, roles: [layer][head] text ("" unknown) or null, ways: [...], thumbnail: [rows, columns] }],
//   alignment: null or { words: [French], sources: [for each word [{ key: place of the English word, weight }]] },
//   highlight: null or { part, layer, head, query, key (places among words), sentence, reason } }
// Side { language ("" unknown), tokens: [text], words: [text], word_of_token: [place of its word] }
// Table, dense:  { rows, columns, weights: Float32Array(rows * columns) }
//        sparse: { rows, columns, starts: Uint32Array(rows + 1), keys: Uint16Array or Uint32Array, weights: Float32Array,
//                  rest: Float32Array(rows) }: row q has keys[starts[q] .. starts[q + 1]], the largest first; rest[q] is what
//                  all other keys of the row have together. Tables are read through weights.js alone.
// Layers and heads, words and tokens all count from 0. Errors are Error objects whose message is a sentence.

export async function servedSource() {
  const page = await (await fetch("/api/page")).json();
  const cache = new Map();
  const once = (key, ask) => {
    if (!cache.has(key)) {
      if (cache.size > 400) cache.delete(cache.keys().next().value);
      const answer = ask();
      answer.catch(() => cache.delete(key));
      cache.set(key, answer);
    }
    return cache.get(key);
  };
  const request = (reading) => ({
    sentence: reading.sentence,
    quick: reading.quick && reading.parts.length === 1,
  });
  return {
    views: ["read", "steps", "map", "learn"],
    page,
    live: true,
    post: postJson,
    reading: async (sentence, { quick = false, signal } = {}) =>
      (await postJson("/api/read", { sentence, quick }, { signal })).json(),
    weights: (reading, { part, show, layer, head }) =>
      once(
        ["weights", reading.sentence, reading.quick, part, show, layer, head].join("\n"),
        async () =>
          tableOf(await postJson("/api/weights", { ...request(reading), part, show, layer, head })),
      ),
    thumbnails: (reading, part) =>
      once(["thumbnails", reading.sentence, reading.quick, part].join("\n"), async () => {
        const { shape, values } = await numbersOf(
          await postJson("/api/thumbnails", { ...request(reading), part }),
        );
        return { rows: shape[2], columns: shape[3], weights: values };
      }),
    steps: (choice) =>
      once(`steps\n${JSON.stringify(choice)}`, async () => {
        const response = await postJson("/api/steps", choice);
        return inputsOf(await response.arrayBuffer());
      }),
    learn: (page) =>
      once(`learn\n${page}`, async () => (await postJson("/api/learn", { page })).json()),
    examples: () => once("examples", async () => (await postJson("/api/examples", {})).json()),
  };
}

/** @param {{ signal?: AbortSignal }} [options] */
async function postJson(path, fields, { signal } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(fields),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(
      "The explorer does not answer: it may have been stopped. Start it again with regard open.",
      { cause: error },
    );
  }
  if (response.ok) return response;
  let sentence = `The explorer answered ${response.status}.`;
  try {
    sentence = (await response.json()).error || sentence;
  } catch {
    /* no sentence came */
  }
  throw new Error(sentence);
}

export async function numbersOf(response) {
  const shape = response.headers.get("X-Regard-Shape").split(",").map(Number);
  return { shape, values: new Float32Array(await response.arrayBuffer()) };
}

async function tableOf(response) {
  const { shape, values } = await numbersOf(response);
  return { rows: shape[0], columns: shape[1], weights: values };
}

// The bytes of view/explorer/steps_data.py as Inputs of attend.js.
export function inputsOf(buffer) {
  const long = new DataView(buffer).getUint32(0, true);
  const inputs = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, long)));
  const values = new Float64Array(buffer, 4 + long);
  const matrices = Object.entries(inputs.matrices).map(([name, [rows, columns, start]]) => [
    name,
    { rows, columns, values: values.subarray(start, start + rows * columns) },
  ]);
  return { ...inputs, matrices: Object.fromEntries(matrices) };
}
