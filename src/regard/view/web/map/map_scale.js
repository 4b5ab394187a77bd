// The shades of the map in numbers, and a word where they were scaled anew.

import { element, replace } from "../lib/dom.js";
import { colours, sized } from "../lib/draw.js";
import { shareWritten } from "./map_row.js";

const WIDTH = 240;
const HEIGHT = 12;
const RESCALED = 1.05; // times as much in the strongest shade, to be told

// -> { root, show(patch, isHeld), repaint() }; hold(number or null) fixes the weight of the
// strongest shade, or lets every window have its own.
export function shadeScale(hold) {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const [half, most] = [element("span"), element("span")];
  const note = element("span", { class: "rescaled", role: "status" });
  const held = element("input", {
    type: "checkbox",
    on: { change: () => hold(held.checked ? shown.most : null) },
  });
  const bar = element(
    "span",
    { class: "shade-bar" },
    canvas,
    element("span", { class: "shade-numbers" }, element("span", null, "0"), half, most),
  );
  const root = element(
    "div",
    { class: "shade-scale small" },
    bar,
    element("label", null, held, " the same shades at every zoom"),
    note,
  );
  let shown = { most: 0 };
  const repaint = () => {
    const context = sized(canvas, WIDTH, HEIGHT);
    const { scale } = colours();
    for (let x = 0; x < WIDTH; x++) {
      context.fillStyle = scale[Math.round((x / (WIDTH - 1)) * (scale.length - 1))];
      context.fillRect(x, 0, 1, HEIGHT);
    }
  };
  repaint();
  return {
    root,
    repaint,
    show(patch, isHeld) {
      const before = shown.most;
      const ratio = before && patch.most ? patch.most / before : 1;
      shown = patch;
      held.checked = isHeld;
      // Shades follow the root of a weight: half the way along the bar is a quarter of the most.
      half.textContent = shareWritten(patch.most / 4);
      const strongest = patch.most >= 0.9995 ? "100 %" : shareWritten(patch.most);
      most.textContent = patch.isClipped ? `${strongest} or more` : strongest;
      const told =
        ratio > RESCALED || ratio < 1 / RESCALED
          ? `Shades scaled anew: the strongest was ${shareWritten(before)}.`
          : "";
      replace(note, told);
    },
  };
}
