// The source of a page that holds its own data: a file saved to disk, or a cell of a notebook. It
// answers as the served one does (api.js). Tables are compressed (view/page/blobs.py) and decoded
// on first use.

import { pageElement } from "./dom.js";
import { startPage } from "../app.js";
import { decodeInputs, decodeLayer } from "./api.js";
import { followHeight } from "./host_frame.js";

function openEmbedded() {
  const embedded = JSON.parse(pageElement("embedded").textContent);
  const text = pageElement("numbers").textContent;
  if (!location.hash && embedded.address) {
    try {
      history.replaceState(null, "", embedded.address);
    } catch {
      location.hash = embedded.address;
    }
  }
  followHeight();
  return startPage(
    embeddedSource(embedded, (blob) => inflated(text.slice(blob[0], blob[0] + blob[1]))),
  );
}

/**
 * @param {Embedded} embedded
 * @param {(blob: Span) => Promise<Uint8Array<ArrayBuffer>>} bytesAt
 * @returns {Source}
 */
function embeddedSource(embedded, bytesAt) {
  const cache = new Map();
  /** @template T @param {string} key @param {() => Promise<T>} make @returns {Promise<T>} */
  const once = (key, make) => {
    if (!cache.has(key)) {
      if (cache.size > 200) cache.delete(cache.keys().next().value);
      cache.set(key, make());
    }
    return cache.get(key);
  };
  /** @template T @param {T | undefined} value @param {string} what @returns {Promise<T>} */
  const only = async (value, what) => {
    if (value === undefined)
      throw new Error(`This file does not hold ${what}: open the explorer with regard open.`);
    return value;
  };
  const { tables = {}, layers, next } = embedded;
  return {
    views: embedded.views,
    page: { version: embedded.version, files: [] },
    live: false,
    embedded,
    bytesAt,
    reading: () => only(embedded.reading, "a reading"),
    weights: (reading, { part, show, layer, head }) => {
      const name =
        show === "head" ? `head ${layer} ${head}` : show === "layer" ? `layer ${layer}` : show;
      return once(`${part} ${name}`, async () => {
        const stored = await only(tables[part], `the ${part}`);
        const blob = await only(stored.blobs[name], `${name} of the ${part}`);
        return decodedTable(await bytesAt(blob), stored.form, stored.rows, stored.columns);
      });
    },
    thumbnails: (reading, part) =>
      once(`thumbnails ${part}`, async () => {
        const { rows, columns, blob } = tables[part].thumbnails;
        return {
          rows,
          columns,
          weights: Float32Array.from(await bytesAt(blob), (step) => (step / 255) ** 2),
        };
      }),
    steps: async ({ part, layer, head }) => {
      const steps = embedded.steps || {};
      const [stored] = Object.keys(steps);
      const blob = steps[stored ? `${part} ${layer} ${head}` : ""];
      if (!blob)
        throw new Error(
          stored
            ? `This file holds the steps of one head: ${named(stored)}. ` +
                "For the others open the explorer with regard open."
            : "This file holds no steps.",
        );
      return decodeInputs((await bytesAt(blob)).buffer);
    },
    layer:
      layers &&
      (({ part, layer }) =>
        once(`layer ${part} ${layer}`, async () => {
          const blob = await only(layers[`${part} ${layer}`], "this layer");
          return decodeLayer((await bytesAt(blob)).buffer);
        })),
    nextWords:
      next && (() => once("next words", async () => decodeLayer((await bytesAt(next)).buffer))),
    learn: (page) => only(embedded.learn?.[page], "this page of the course"),
    ask: async () => {
      throw new Error("This needs the explorer: start it with regard open.");
    },
  };
}

/** @param {string} blob */
function named(blob) {
  const [part, layer, head] = blob.split(" ");
  return `${part}, layer ${layer}, head ${head}`;
}

/** @param {string} text */
async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Bytes in one of the three forms -> a Table of api.js.
/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string} form
 * @param {number} rows
 * @param {number} columns
 */
function decodedTable(bytes, form, rows, columns) {
  if (form === "float32")
    return { rows, columns, weights: new Float32Array(bytes.buffer, 0, rows * columns) };
  if (form === "float16")
    return { rows, columns, weights: halves(twoByteNumbers(bytes, 0, rows * columns)) };
  const counts = twoByteNumbers(bytes, 0, rows);
  const starts = new Uint32Array(rows + 1);
  for (let row = 0; row < rows; row++) starts[row + 1] = starts[row] + counts[row];
  const total = starts[rows];
  const keys = twoByteNumbers(bytes, 2 * rows, total);
  const weights = halves(twoByteNumbers(bytes, 2 * (rows + total), total));
  const rest = halves(twoByteNumbers(bytes, 2 * (rows + 2 * total), rows));
  for (let row = 0; row < rows; row++) {
    for (let at = starts[row] + 1; at < starts[row + 1]; at++) keys[at] += keys[at - 1];
    largestFirst(keys, weights, starts[row], starts[row + 1]);
  }
  return { rows, columns, starts, keys, weights, rest };
}

/**
 * @param {Uint16Array} keys
 * @param {Float32Array} weights
 * @param {number} from
 * @param {number} to
 */
function largestFirst(keys, weights, from, to) {
  for (let at = from + 1; at < to; at++) {
    const [key, weight] = [keys[at], weights[at]];
    let blob = at;
    for (; blob > from && weights[blob - 1] < weight; blob--) {
      keys[blob] = keys[blob - 1];
      weights[blob] = weights[blob - 1];
    }
    keys[blob] = key;
    weights[blob] = weight;
  }
}

// All low bytes, then all high bytes.
/** @param {Uint8Array} bytes @param {number} from @param {number} count */
function twoByteNumbers(bytes, from, count) {
  const made = new Uint16Array(count);
  for (let at = 0; at < count; at++) made[at] = bytes[from + at] | (bytes[from + count + at] << 8);
  return made;
}

/** @type {Float32Array | null} */
let halfValues = null;

// Numbers of 16 bits as floats, by a table: 5 bits of exponent, 10 of fraction; weights have no
// sign.
/** @param {Uint16Array} numbers */
function halves(numbers) {
  if (!halfValues) {
    halfValues = Float32Array.from({ length: 32768 }, (_, bits) => {
      const [exponent, fraction] = [bits >> 10, bits & 1023];
      return exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction;
    });
  }
  const made = new Float32Array(numbers.length);
  for (let at = 0; at < made.length; at++) made[at] = halfValues[numbers[at] & 32767];
  return made;
}

if (document.getElementById("embedded")) openEmbedded();
