// Controls of a scene, each with its name.

import { element } from "../lib/dom.js";

/**
 * @param {string} label
 * @param {string[]} names
 * @param {number} chosen
 * @param {(at: number) => void} choose
 */
export function optionButtons(label, names, chosen, choose) {
  const buttons = names.map((name, at) =>
    element(
      "button",
      {
        "aria-pressed": String(at === chosen),
        on: { click: () => choose(at) },
      },
      name,
    ),
  );
  return element(
    "div.knob",
    element("span.quiet.small", label),
    element("div.choice.serif", { role: "group", "aria-label": label }, buttons),
  );
}

/** @param {string} label @param {RangeKnob} range */
export function rangeControl(label, { min, max, step, value, told, change }) {
  const output = element("output.number", told(value));
  const slider = element("input", {
    ...{ type: "range", min: String(min), max: String(max), step: String(step) },
    "aria-label": label,
    "aria-valuetext": told(value),
    value: String(value),
  });
  slider.addEventListener("input", () => {
    const now = Number(slider.value);
    output.textContent = told(now);
    slider.setAttribute("aria-valuetext", told(now));
    change(now);
  });
  return element("label.labelled.knob", element("span.small", label), slider, output);
}

/** @param {string} label @param {boolean} checked @param {(checked: boolean) => void} change */
export function switchControl(label, checked, change) {
  const box = element("input", { type: "checkbox", checked });
  box.addEventListener("change", () => change(box.checked));
  return element("label.knob", box, element("span.small", label));
}

/** @param {string} label @param {() => void} press */
export function pressButton(label, press) {
  return element("button.button.knob", { on: { click: press } }, label);
}
