// Layers without a softmax: what a row of one takes, as arcs in two colours, and all rows as a map.
//
// A share is positive where what a token wrote adds to what the row took, negative where it is
// taken back (regard.watcher.mixers). The panel is hidden where a run has no such layer.

import { asWord, element, percent, replace, svgElement } from "../lib/dom.js";
import { largestSize, strips } from "../lib/draw.js";

const LEAST = 0.005; // share of an arc that is drawn
const [CHARACTER, HEIGHT, BASE] = [7.5, 120, 100]; // in units of the picture

/** @returns {MixersPanel} */
export function mixersPanel() {
  const layers = choice("Layer without a softmax", () => readLayer());
  const heads = choice("Head of this layer", () => draw());
  const slider = element("input", {
    ...{ type: "range", min: "0", "aria-label": "Row of this layer" },
    on: { input: () => drawRow() },
  });
  const told = element("p", { class: "small", role: "status" });
  const [arcs, map] = [element("div", { class: "wide" }), element("div")];
  const root = element(
    "section",
    { class: "mixers", "aria-label": "Layers without a softmax", hidden: true },
    element("h2", null, "Layers without a softmax"),
    element("p", { class: "small" }, layers, heads, slider),
    ...[arcs, told, map],
  );
  /** @type {{ run: RunSource | null, rows: MixerRows | null, names: string[] }} */
  const shown = { run: null, rows: null, names: [] };

  async function readLayer() {
    const { run } = shown;
    const told = run?.about.mixers?.[Number(layers.value)];
    if (!run?.mixer || !told) return;
    const rows = await run.mixer(Number(layers.value));
    const at = run.about.texts.indexOf(rows.shape[2]);
    const text = at < 0 ? null : await run.text(at);
    if (run !== shown.run) return;
    shown.rows = rows;
    shown.names = Array.from(
      { length: rows.shape[2] },
      (_, token) => text?.segments[token] || text?.names[token] || String(token),
    );
    const of = told.width === 1 ? "channels" : "head";
    fill(
      heads,
      Array.from({ length: rows.shape[0] }, (_, head) => `${of} ${head}`),
    );
    slider.max = String(Math.max(0, rows.rows.length - 1));
    slider.value = slider.max;
    draw();
  }

  // The numbers of the head that is chosen, row by row.
  function table() {
    const { rows } = shown;
    const size = rows ? rows.shape[1] * rows.shape[2] : 0;
    return rows?.values.subarray(Number(heads.value) * size, (Number(heads.value) + 1) * size);
  }

  function draw() {
    const { rows, run } = shown;
    const values = table();
    const layer = run?.about.mixers?.[Number(layers.value)];
    slider.disabled = !values?.length;
    if (!rows || !values?.length) {
      replace(told, `${layer?.path}: ${layer?.problem ?? "the text is too long to be drawn"}.`);
      return (replace(arcs), replace(map));
    }
    const [, down, across] = rows.shape;
    const label = `What ${down} rows take from ${across} tokens: blue adds, orange is taken back`;
    const most = largestSize(values);
    const picture = strips({ rows: down, columns: across, values: [...values], most, label });
    picture.addEventListener("click", (event) => {
      const { top, height } = picture.getBoundingClientRect();
      slider.value = String(Math.floor(((event.clientY - top) / height) * down));
      drawRow();
    });
    replace(map, picture);
    drawRow();
  }

  function drawRow() {
    const { rows, names, run } = shown;
    const values = table();
    if (!rows || !values) return;
    const [at, across] = [Number(slider.value), rows.shape[2]];
    const line = values.subarray(at * across, (at + 1) * across);
    const back = line.reduce((sum, share) => sum + Math.max(0, -share), 0);
    const layer = run?.about.mixers?.[Number(layers.value)];
    const cancelled = layer?.cancelled?.[Number(heads.value)] ?? 0;
    replace(arcs, picture(line, rows.rows[at], names));
    replace(
      told,
      `${asWord(names[rows.rows[at]].trim())}: ${percent(1 - back)} of what it takes adds to it, ` +
        `${percent(back)} is taken back. Of this head's weights ${percent(cancelled)} cancels.`,
    );
  }

  return {
    root,
    async show(run) {
      const { mixers = [] } = run.about;
      shown.run = run;
      root.hidden = !run.mixer || !mixers.length;
      fill(
        layers,
        mixers.map((layer) => layer.path || layer.kind),
      );
      if (!root.hidden) await readLayer();
    },
  };
}

/** @param {string} label @param {() => void} change */
function choice(label, change) {
  return element("select", { "aria-label": label, on: { change } });
}

/** @param {HTMLSelectElement} select @param {string[]} names */
function fill(select, names) {
  replace(
    select,
    names.map((name, at) => element("option", { value: String(at) }, name)),
  );
}

// The tokens in a line, with an arc from the row's token to each one that it takes from.
/** @param {Float32Array} line @param {number} row @param {string[]} names */
function picture(line, row, names) {
  let end = 0;
  const centres = names.map((name) => {
    const width = (name.trim().length + 1.5) * CHARACTER;
    end += width;
    return end - width / 2;
  });
  const arcs = [...line].map((share, token) => {
    if (Math.abs(share) < LEAST) return null;
    const [from, to] = [centres[row], centres[token]];
    const lift = Math.min(BASE - 5, 12 + Math.abs(from - to) / 3);
    const path = `M ${from} ${BASE} C ${from} ${BASE - lift} ${to} ${BASE - lift} ${to} ${BASE}`;
    const side = from === to ? `M ${from - 4} ${BASE} a 4 6 0 1 1 8 0` : path;
    return svgElement(
      "path",
      {
        d: side,
        class: share < 0 ? "back" : "adds",
        "stroke-width": 8 * Math.sqrt(Math.abs(share)),
      },
      svgElement("title", null, `${names[token].trim()}: ${percent(share)}`),
    );
  });
  const words = names.map((name, token) =>
    svgElement(
      "text",
      { x: centres[token], y: BASE + 15, class: token === row ? "asking" : "token" },
      name.trim(),
    ),
  );
  return svgElement(
    "svg",
    {
      ...{ role: "img", width: end, height: HEIGHT, viewBox: `0 0 ${end} ${HEIGHT}` },
      "aria-label": `What ${names[row].trim()} takes: blue adds to it, orange is taken back`,
    },
    arcs,
    words,
  );
}
