// Numbers as colours: a vector is a strip, a matrix a block of strips. Blue is above 0, orange
// below, the stronger the further from it; weights, which are never below 0, are blue alone.

import { element } from "./dom.js";
import { signedRgb } from "./draw.js";

const painters = new WeakMap();

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
  return repaint(canvas, shown);
}

// The same canvas with other numbers, as many as before.
export function repaint(canvas, shown) {
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

function paint(canvas, { rows, columns, values, most }) {
  const context = canvas.getContext("2d");
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
