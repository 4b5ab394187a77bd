// Written text stepped through, token by token: the row of each, while the text grows.
//
// Field of the address: step, the row that is shown, from 0; without it all rows are.

import { asWord, element, prose, replace } from "../lib/dom.js";

const WRITTEN = ["decoder", "cross"]; // parts whose queries are written one after the other

// The row of the address; null where the text is shown as a whole.
/** @param {State} state @param {Shown} shown */
export function currentStep(state, { part, grid }) {
  const step = state.number("step", -1);
  const isRow = Number.isInteger(step) && step >= 0 && step < grid.rows;
  return isRow && WRITTEN.includes(part.name) && !grid.hidden ? step : null;
}

// How far each side of the picture has been written; null where it is complete.
/** @param {State} state @param {Shown} shown @returns {Until | null} */
export function writtenUntil(state, shown) {
  const step = currentStep(state, shown);
  return step === null ? null : { query: step, key: shown.part.name === "decoder" ? step : null };
}

// -> { root, show(state, shown) }
/** @param {State} state */
export function tokenSteps(state) {
  /** @param {number | string} step */
  const go = (step) => state.set({ step, q: null, k: null });
  const open = stepButton("Step through the text ▸", "button", () => go(0));
  const back = stepButton("◂", "button", () => go(Number(slider.value) - 1), "One token back");
  const on = stepButton("▸", "button", () => go(Number(slider.value) + 1), "One token on");
  const close = stepButton("all at once", "link", () => state.set({ step: null, q: "-" }));
  const slider = element("input", {
    type: "range",
    min: "0",
    "aria-label": "Token of the text",
    on: { input: ({ target }) => go(target.value) },
  });
  const caption = element("span", { class: "step-caption" });
  const row = element("div", { class: "stepper" }, back, slider, on, caption, close);
  const root = element("div", { class: "token-steps small" }, open, row);
  return {
    root,
    /** @param {State} address @param {Shown} shown */
    show(address, shown) {
      const { grid, part } = shown;
      root.hidden = !WRITTEN.includes(part.name) || Boolean(grid.hidden) || grid.rows < 2;
      const step = currentStep(address, shown);
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

/**
 * @param {string} text
 * @param {string} name
 * @param {() => void} click
 * @param {string | null} [label]
 */
function stepButton(text, name, click, label = null) {
  return element(
    "button",
    { type: "button", class: name, title: label, "aria-label": label, on: { click } },
    text,
  );
}
