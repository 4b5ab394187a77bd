// Numbers as colours: a vector is a strip, a matrix a block of strips. Blue is above 0, orange
// below, the stronger the further from it; weights, which are never below 0, are blue alone.

import { element } from "../lib/dom.js";

const SHADES = 64; // on either side of 0
const painters = new WeakMap();
let shades = null;

// A canvas of one pixel a number, which the style sheet enlarges.
// shown { rows, columns, values, most (the number with the strongest colour), label }
export function strips(shown) {
  const canvas = element("canvas", {
    class: "strips",
    role: "img",
    "aria-label": shown.label,
    width: Math.max(1, shown.columns),
    height: Math.max(1, shown.rows),
  });
  painters.set(canvas, () => paint(canvas, shown));
  paint(canvas, shown);
  return canvas;
}

export function vectorStrip(values, label, most = largestSize(values)) {
  return strips({ rows: 1, columns: values.length, values, most, label });
}

export function largestSize(values) {
  let most = 0;
  for (const value of values)
    if (Number.isFinite(value) && Math.abs(value) > most) most = Math.abs(value);
  return most;
}

// The CSS colour of a number between -most and most; the root lets small ones be seen.
export function signedColour(value, most) {
  const [r, g, b] = numberShade(value, most);
  return `rgb(${r} ${g} ${b})`;
}

// Ink that can be read on that colour.
export function signedInk(value, most) {
  const [r, g, b] = numberShade(value, most).map((channel) => {
    const share = channel / 255;
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

function numberShade(value, most) {
  if (!shades) shades = readShades();
  if (value === -Infinity) return shades.hidden;
  const size = most > 0 ? Math.sqrt(Math.min(1, Math.abs(value) / most)) : 0;
  return shades[value < 0 ? "below" : "above"][Math.round(size * (SHADES - 1))];
}

function paint(canvas, { rows, columns, values, most }) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  for (let at = 0; at < rows * columns; at++)
    image.data.set([...numberShade(values[at], most), 255], 4 * at);
  context.putImageData(image, 0, 0);
}

function readShades() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => {
    const digits = style.getPropertyValue(`--${name}`).trim().slice(1);
    return [0, 2, 4].map((at) => parseInt(digits.slice(at, at + 2), 16) || 0);
  };
  const ramp = (names) => {
    const stops = names.map(read);
    return Array.from({ length: SHADES }, (_, step) => {
      const share = (step / (SHADES - 1)) * (stops.length - 1);
      const low = Math.min(stops.length - 2, Math.floor(share));
      return stops[low].map((channel, index) =>
        Math.round(channel + (stops[low + 1][index] - channel) * (share - low)),
      );
    });
  };
  const numbers = [1, 2, 3, 4, 5];
  return {
    above: ramp(["scale-0", ...numbers.map((step) => `scale-${step}`)]),
    below: ramp(["scale-0", ...numbers.map((step) => `warm-${step}`)]),
    hidden: read("line"),
  };
}

window.addEventListener("colours", () => {
  shades = null;
  for (const canvas of document.querySelectorAll("canvas.strips")) {
    const again = painters.get(canvas);
    if (again) again();
  }
});
