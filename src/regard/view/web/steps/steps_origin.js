// Where the numbers of the Steps view come from, and the switches that change how they are worked
// out.

import { choice, element, labelled, replace } from "../lib/dom.js";
import { ownControls } from "./own_numbers.js";
import { FIRST_SENTENCE } from "../read/headline.js";

const DOCUMENTS = [
  ["good", "Transformers: Self Attention Mechanism", "I am good"],
  [
    "robots",
    "Understanding the math behind “Self Attention Mechanism”",
    "Smart robots perform complex tasks",
  ],
  ["cat", "Self-Attention Mechanism using Numpy", "The cat sat on the mat"],
];
const AS_GIVEN = { divide: null, causal: null, position: null, heat: null };

export function switchesOf(state) {
  return Object.keys(AS_GIVEN).map((name) => state.get(name));
}

export function temperatureOf(state) {
  return Math.min(100, Math.max(0.01, state.number("heat", 1)));
}

/** @param {StepsView} view */
export function drawOrigin({ state, source, origin, inputs }) {
  const from = state.get("from");
  const own = from === "own";
  const origins = [
    ["", "The model"],
    ["document", "A document's example"],
    ["own", "Your own numbers"],
  ];
  const isDocument = Boolean(from) && !own;
  const go = (value) => {
    const name = value === "document" ? DOCUMENTS[0][0] : value;
    state.set({ from: name || null, stage: null, cell: null, ...AS_GIVEN }, true);
  };
  const complaint = element("p", { class: "problem", role: "alert" });
  const complain = (sentence) => {
    complaint.textContent = sentence;
  };
  replace(
    origin,
    source.live &&
      choice("Where the numbers come from", origins, isDocument ? "document" : from, go),
    source.live && isDocument && choice("The document", DOCUMENTS, from, go),
    element("h1", null, titleOf(state, source, inputs)),
    own && ownControls(state, complain),
    from && inputs.about && element("p", { class: "quiet" }, inputs.about),
    complaint,
  );
}

function titleOf(state, source, inputs) {
  if (state.get("from") === "own") return inputs.queries.join(" ");
  if (inputs.example) return inputs.example.sentence;
  return state.get("sentence", source.live ? FIRST_SENTENCE : inputs.title);
}

/** @param {StepsView} view */
export function drawSwitches(view) {
  const { state, switches, inputs, before } = view;
  const { scores } = before.stages;
  const square = scores.rows === scores.columns && !inputs.matrices.memory;
  const causal = state.get("causal") ? state.get("causal") === "yes" : inputs.causal;
  const placed = inputs.position
    ? "Without it, the model is not told where words stand, from its first layer on"
    : "These numbers have no positions";
  const set = (name) => (on) => state.set({ [name]: on ? null : "no" });
  const setCausal = (on) => state.set({ causal: on === inputs.causal ? null : on ? "yes" : "no" });
  const slider = switches.querySelector('[type="range"]');
  const isSliding = slider && slider === document.activeElement;
  const focused = focusedBox(switches);
  const boxes = [
    box(`divide by √${before.width}`, state.get("divide") !== "no", set("divide")),
    box("position", state.get("position") !== "no", set("position"), inputs.position, placed),
    box("causal mask", causal && square, setCausal, square),
  ];
  const reset =
    switchesOf(state).some(Boolean) &&
    element(
      "button",
      { type: "button", class: "link", on: { click: () => state.set(AS_GIVEN) } },
      "as it was",
    );
  if (!isSliding) replace(switches, element("span"), temperature(view), element("span"));
  // Whoever drags the slider goes on dragging it.
  replace(switches.firstElementChild, boxes);
  replace(switches.lastElementChild, reset);
  if (focused >= 0) switches.querySelectorAll("input")[focused].focus();
}

function focusedBox(switches) {
  return [...switches.querySelectorAll('[type="checkbox"]')].indexOf(document.activeElement);
}

function box(text, checked, change, can = true, title = null) {
  const changed = () => change(input.checked);
  const input = element("input", {
    type: "checkbox",
    checked,
    disabled: !can,
    on: { change: changed },
  });
  return element("label", { class: can ? null : "off", title }, input, ` ${text}`);
}

// On a scale of powers of two, from a quarter to four.
/** @param {StepsView} view */
function temperature(view) {
  const { state } = view;
  const now = temperatureOf(state);
  const out = element("output", null, now.toFixed(2));
  const keep = (heat) => state.set({ heat: Math.abs(heat - 1) < 0.01 ? null : heat.toFixed(2) });
  const slide = (event) => {
    const heat = 2 ** Number(event.target.value);
    out.textContent = heat.toFixed(2);
    clearTimeout(view.heating);
    view.heating = setTimeout(() => keep(heat), 60);
  };
  return labelled(
    "temperature",
    element("input", {
      type: "range",
      min: "-2",
      max: "2",
      step: "0.1",
      value: String(Math.log2(now)),
      "aria-label": "Temperature",
      on: { input: slide },
    }),
    out,
  );
}
