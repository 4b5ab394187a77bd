// Written text stepped through, token by token: the row of each, while the text grows.
//
// Field of the address: step, the row that is shown, from 0; without it all rows are.

import { asWord, element, prose, replace } from "../lib/dom.js";
import { generatedAmong } from "./weights.js";

const WRITTEN = ["decoder", "cross"]; // parts whose queries are written one after the other

// The row of the address; null where the text is shown as a whole.
/** @param {ReadView} view */
export function currentStep({ state, part, grid }) {
  const step = state.number("step", -1);
  const isRow = Number.isInteger(step) && step >= 0 && step < grid.rows;
  return isRow && part && WRITTEN.includes(part.name) && !grid.hidden ? step : null;
}

// How far each side of the picture has been written: { query, key }; null where it is complete.
/** @param {ReadView} view */
export function writtenUntil(view) {
  const step = currentStep(view);
  return step === null ? null : { query: step, key: view.part.name === "decoder" ? step : null };
}

// -> { root, show(view) }
export function tokenSteps(state) {
  const go = (step) => state.set({ step, q: null, k: null });
  let first = 0; // the row that chose the first word of the model's own
  const open = stepButton("Step through the text ▸", "button", () => go(first));
  const back = stepButton("◂", "button", () => go(Number(slider.value) - 1), "One token back");
  const on = stepButton("▸", "button", () => go(Number(slider.value) + 1), "One token on");
  const close = stepButton("all at once", "link", () => state.set({ step: null, q: "-" }));
  const slider = element("input", {
    type: "range",
    min: "0",
    "aria-label": "Token of the text",
    on: { input: () => go(slider.value) },
  });
  const caption = element("span", { class: "step-caption" });
  const row = element("div", { class: "stepper" }, back, slider, on, caption, close);
  const root = element("div", { class: "token-steps small" }, open, row);
  return {
    root,
    /** @param {ReadView} view */
    show(view) {
      const { grid, part } = view;
      root.hidden = !WRITTEN.includes(part.name) || Boolean(grid.hidden) || grid.rows < 2;
      const [own] = generatedAmong(part.query, view.state.get("by", "words"), null);
      first = own ? own - 1 : 0;
      const step = currentStep(view);
      open.hidden = step !== null;
      row.hidden = step === null;
      if (step === null) return;
      slider.setAttribute("max", String(grid.rows - 1));
      slider.value = String(step);
      back.disabled = step === 0;
      on.disabled = step === grid.rows - 1;
      const next = grid.queries[step + 1];
      const told = `${step + 1} of ${grid.rows}: ${asWord(grid.queries[step])}`;
      replace(caption, prose(next ? `${told}; next comes ${asWord(next)}` : told));
      slider.setAttribute("aria-valuetext", caption.textContent);
    },
  };
}

function stepButton(text, name, click, label = null) {
  return element(
    "button",
    { type: "button", class: name, title: label, "aria-label": label, on: { click } },
    text,
  );
}
