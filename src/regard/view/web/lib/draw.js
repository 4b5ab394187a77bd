// Colours and canvases. The colours are those of style.css, read again when light turns to dark
// ("colours" event).

import { context2d, element } from "./dom.js";

const SCALE_STEPS = 256;
/** @type {ReturnType<typeof readPalette> | null} */
let palette = null;

// { paper, ink, soft, faint, line, accent, scale: 256 CSS colours from no weight to all, rgba:
// Uint32 of the same }
export function colours() {
  if (!palette) palette = readPalette();
  return palette;
}

function readPalette() {
  // A colour that depends on light and dark is known where it is used alone.
  const probe = element("span", { hidden: true });
  document.body.append(probe);
  /** @param {string} name */
  const named = (name) => {
    probe.style.setProperty("color", `var(--${name})`);
    return getComputedStyle(probe).color;
  };
  const stops = [0, 1, 2, 3, 4, 5].map((step) => channels(named(`scale-${step}`)));
  const rgb = Array.from({ length: SCALE_STEPS }, (_, step) =>
    blended(stops, step / (SCALE_STEPS - 1)),
  );
  const made = {
    paper: named("paper"),
    raised: named("raised"),
    ink: named("ink"),
    soft: named("soft"),
    faint: named("faint"),
    line: named("line"),
    accent: named("accent"),
    tints: Array.from({ length: SCALE_STEPS }, (_, step) => {
      const ends = [channels(named("paper")), channels(named("tint"))];
      return rgbText(blended(ends, step / (SCALE_STEPS - 1)));
    }),
    signed: signedScale(named, stops),
    hidden: channels(named("line")),
    scale: rgb.map(rgbText),
    inks: rgb.map(textColorFor),
    rgba: Uint32Array.from(rgb, ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0),
    dark: channels(named("paper"))[0] < 128,
  };
  probe.remove();
  return made;
}

// The colour of a weight from 0 to 1; the root lets small weights be seen.
/** @param {number} weight */
function shadeStep(weight) {
  return Math.max(0, Math.min(SCALE_STEPS - 1, Math.round(Math.sqrt(weight) * (SCALE_STEPS - 1))));
}

/** @param {number} weight */
export function shade(weight) {
  return colours().scale[shadeStep(weight)];
}

// The colour behind a word of running text, from paper (no weight) to a tint that ink can be read
// on.
/** @param {number} weight */
export function tint(weight) {
  return colours().tints[shadeStep(weight)];
}

// Red, green and blue of a number between -most and most: blue above 0, orange below, the colour of
// lines for -Infinity; the root lets small ones be seen.
/** @param {number} value @param {number} most */
function signedRgb(value, most) {
  const { signed, hidden } = colours();
  if (value === -Infinity) return hidden;
  const size = most > 0 ? Math.sqrt(Math.min(1, Math.abs(value || 0) / most)) : 0;
  const step = Math.round(size * (SCALE_STEPS - 1));
  return signed[SCALE_STEPS - 1 + (value < 0 ? -step : step)];
}

/** @param {number} value @param {number} most */
export function signedColour(value, most) {
  return rgbText(signedRgb(value, most));
}

// Ink that can be read on that colour.
/** @param {number} value @param {number} most */
export function signedInk(value, most) {
  return textColorFor(signedRgb(value, most));
}

/** @param {(name: string) => string} named @param {Rgb[]} blue */
function signedScale(named, blue) {
  const warm = [blue[0], ...[1, 2, 3, 4, 5].map((step) => channels(named(`warm-${step}`)))];
  /** @param {Rgb[]} stops */
  const side = (stops) =>
    Array.from({ length: SCALE_STEPS }, (_, step) => blended(stops, step / (SCALE_STEPS - 1)));
  return [...side(warm).reverse(), ...side(blue).slice(1)];
}

/** @param {Rgb} rgb */
function rgbText([r, g, b]) {
  return `rgb(${r} ${g} ${b})`;
}

// Ink that can be read on a shade: black or white, whichever differs more (at least 4.5 to 1,
// whatever the shade).
/** @param {number} weight */
export function textColorOn(weight) {
  return colours().inks[shadeStep(weight)];
}

/** @param {Rgb} rgb */
function textColorFor(rgb) {
  const [r, g, b] = rgb.map((channel) =>
    channel <= 10 ? channel / 3294.6 : ((channel / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

// A canvas of this size in CSS pixels, sharp on any screen; returns its context, with pixels as
// units.
/** @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
export function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across || canvas.height !== down) {
    canvas.width = across;
    canvas.height = down;
    canvas.style.setProperty("width", `${width}px`);
    canvas.style.setProperty("height", `${height}px`);
  }
  const context = context2d(canvas);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

// weightAt(row, column) as a picture of one pixel a cell; the browser enlarges it without
// smoothing.
/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} rows
 * @param {number} columns
 * @param {(row: number, column: number) => number} weightAt
 */
export function heatPixels(canvas, rows, columns, weightAt) {
  canvas.width = columns;
  canvas.height = rows;
  const context = context2d(canvas);
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const { rgba } = colours();
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++)
      pixels[row * columns + column] = rgba[shadeStep(weightAt(row, column))];
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** @param {string} colour as a browser writes it @returns {Rgb} */
function channels(colour) {
  const [r, g, b] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  return [r, g, b];
}

/** @param {Rgb[]} stops @param {number} share */
function blended(stops, share) {
  const at = Math.min(stops.length - 2, Math.floor(share * (stops.length - 1)));
  const part = share * (stops.length - 1) - at;
  return stops[at].map((channel, index) =>
    Math.round(channel + (stops[at + 1][index] - channel) * part),
  );
}

window.addEventListener("colours", () => {
  palette = null;
});

// Numbers as colours: a vector is a strip, a matrix a block of strips. Blue is above 0, orange
// below, the stronger the further from it; weights, which are never below 0, are blue alone.

const painters = new WeakMap();

// A canvas of one pixel a number, which the style sheet enlarges.
// shown { rows, columns, values, most (the number with the strongest colour), label }
/** @param {Strips} shown */
export function strips(shown) {
  const canvas = element("canvas.strips", {
    role: "img",
    "aria-label": shown.label,
    width: Math.max(1, shown.columns),
    height: Math.max(1, shown.rows),
  });
  return repaint(canvas, shown);
}

// The same canvas with other numbers, as many as before.
/** @param {HTMLCanvasElement} canvas @param {Strips} shown */
export function repaint(canvas, shown) {
  painters.set(canvas, () => paint(canvas, shown));
  paint(canvas, shown);
  return canvas;
}

/** @param {Float64Array | number[]} values @param {string} label @param {number} [most] */
export function vectorStrip(values, label, most = largestSize(values)) {
  return strips({ rows: 1, columns: values.length, values, most, label });
}

/** @param {Iterable<number>} values */
export function largestSize(values) {
  let most = 0;
  for (const value of values)
    if (Number.isFinite(value) && Math.abs(value) > most) most = Math.abs(value);
  return most;
}

/** @param {HTMLCanvasElement} canvas @param {Strips} strips */
function paint(canvas, { rows, columns, values, most }) {
  const context = context2d(canvas);
  const image = context.createImageData(canvas.width, canvas.height);
  for (let at = 0; at < rows * columns; at++)
    image.data.set([...signedRgb(values[at], most), 255], 4 * at);
  context.putImageData(image, 0, 0);
}

window.addEventListener("colours", () => {
  for (const canvas of document.querySelectorAll("canvas.strips")) {
    const again = painters.get(canvas);
    if (again) again();
  }
});
