// Where the numbers of the Steps view come from, and the switches that change how they are worked
// out.

import { choice, element, labelled, replace } from "../lib/dom.js";
import { FIRST_SENTENCE } from "../read/examples.js";
import { newMatrix } from "./attend.js";

/** @type {[string, string, string][]} */
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

/** @param {State} state */
export function switchValues(state) {
  return Object.keys(AS_GIVEN).map((name) => state.get(name));
}

/** @param {State} state */
export function currentTemperature(state) {
  return Math.min(100, Math.max(0.01, state.number("heat", 1)));
}

// The field of the sentence, where a static site asks before it fetches what comes below.
/** @param {StepsView} view */
export function drawTitleEarly({ state, source, origin }) {
  if (document.documentElement.dataset.python !== "asks" || origin.firstChild) return;
  if (source.live && !state.get("from")) replace(origin, element("h1", titleField(state)));
}

/** @param {StepsView} view */
export function drawOrigin({ state, source, origin, inputs }) {
  const from = state.get("from");
  const own = from === "own";
  /** @type {[string, string][]} */
  const origins = [
    ["", "The model"],
    ["document", "A document's example"],
    ["own", "Your own numbers"],
  ];
  const isDocument = Boolean(from) && !own;
  /** @param {string} value */
  const go = (value) => {
    const name = value === "document" ? DOCUMENTS[0][0] : value;
    state.set({ from: name || null, stage: null, cell: null, ...AS_GIVEN }, true);
  };
  const complaint = element("p.problem", { role: "alert" });
  /** @param {string} sentence */
  const complain = (sentence) => {
    complaint.textContent = sentence;
  };
  replace(
    origin,
    source.live &&
      choice("Where the numbers come from", origins, isDocument ? "document" : from, go),
    source.live && isDocument && choice("The document", DOCUMENTS, from, go),
    element("h1", source.live && !from ? titleField(state) : originTitle(state, source, inputs)),
    own && ownControls(state, complain),
    from && inputs.about && element("p.quiet", inputs.about),
    complaint,
  );
}

// The sentence as the title, to be typed over; Enter takes it.
/** @param {State} state */
function titleField(state) {
  const field = element("input.title-field", {
    value: state.get("sentence", FIRST_SENTENCE),
    spellcheck: "false",
    autocomplete: "off",
    lang: "en",
    "aria-label": "Sentence",
    on: {
      change: () => {
        const sentence = field.value.trim();
        if (sentence) state.set({ sentence, cell: null }, true);
        else field.value = state.get("sentence", FIRST_SENTENCE);
      },
    },
  });
  return field;
}

/** @param {State} state @param {Source} source @param {Inputs} inputs */
function originTitle(state, source, inputs) {
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
  /** @param {string} name @returns {(on: boolean) => void} */
  const set = (name) => (on) => state.set({ [name]: on ? null : "no" });
  /** @param {boolean} on */
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
    switchValues(state).some(Boolean) &&
    element("button.link", { on: { click: () => state.set(AS_GIVEN) } }, "as it was");
  // Whoever drags the slider goes on dragging it.
  if (!isSliding) replace(switches, element("span"), temperature(view), element("span"));
  const [first, last] = [switches.firstElementChild, switches.lastElementChild];
  if (first) replace(first, boxes);
  if (last) replace(last, reset);
  if (focused >= 0) switches.querySelectorAll("input")[focused].focus();
}

/** @param {HTMLElement} switches */
function focusedBox(switches) {
  return [...switches.querySelectorAll('[type="checkbox"]')].findIndex(
    (one) => one === document.activeElement,
  );
}

/**
 * @param {string} text
 * @param {boolean} checked
 * @param {(on: boolean) => void} change
 * @param {boolean} [can]
 * @param {string | null} [title]
 */
function box(text, checked, change, can = true, title = null) {
  const input = element("input", {
    type: "checkbox",
    checked,
    disabled: !can,
    on: { change: ({ target }) => change(target.checked) },
  });
  return element("label", { class: can ? null : "off", title }, input, ` ${text}`);
}

// On a scale of powers of two, from a quarter to four.
/** @param {StepsView} view */
function temperature(view) {
  const { state } = view;
  const now = currentTemperature(state);
  const out = element("output", now.toFixed(2));
  /** @param {number} heat */
  const keep = (heat) => state.set({ heat: Math.abs(heat - 1) < 0.01 ? null : heat.toFixed(2) });
  /** @param {FieldEvent} event */
  const slide = (event) => {
    const heat = 2 ** Number(event.target.value);
    out.textContent = heat.toFixed(2);
    clearTimeout(view.heatTimer);
    view.heatTimer = setTimeout(() => keep(heat), 60);
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

// The reader's own small numbers: words, vectors and matrices, stored in the address.

const MAX_OWN_WORDS = 12;
const MAX_OWN_FEATURES = 8;
const LARGEST_NUMBER = 1e6;
/** @type {OwnMatrix[]} */
const PARAMETERS = ["w_query", "w_key", "w_value"];
const IDENTITY = [
  [1, 0],
  [0, 1],
];
const FIRST_OWN = {
  words: ["Smart", "robots", "perform", "complex", "tasks"],
  x: [
    [1, 0],
    [0, 1],
    [1, 1],
    [2, 0],
    [0, 2],
  ],
  w_query: IDENTITY,
  w_key: IDENTITY,
  w_value: IDENTITY,
};
/** @type {Record<Fill, (row: number, column: number) => number>} */
const FILLS = {
  identity: (row, column) => (row === column ? 1 : 0),
  random: () => Math.round(200 * Math.random() - 100) / 100,
  zero: () => 0,
};

// What the address holds, made whole: whatever is missing or no number is 0.
/** @param {State} state @returns {OwnNumbers} */
function ownNumbers(state) {
  let stored = FIRST_OWN;
  try {
    if (state.get("own")) stored = JSON.parse(state.get("own")) || FIRST_OWN;
  } catch {
    /* the first ones then */
  }
  const named = Array.isArray(stored.words) && stored.words.length > 0;
  const words = (named ? stored.words : FIRST_OWN.words).slice(0, MAX_OWN_WORDS).map(String);
  const [features, width] = [columnCount(stored.x), columnCount(stored.w_query)];
  return shaped({ ...stored, words }, features, width);
}

/** @param {State} state @returns {Inputs} */
export function ownInputs(state) {
  const own = ownNumbers(state);
  /** @param {number[][]} rows */
  const matrix = (rows) => newMatrix(rows.length, rows[0].length, Float64Array.from(rows.flat()));
  return {
    title: "Your own numbers",
    about: "Change any number of x and of the matrices; everything below follows.",
    queries: own.words,
    keys: own.words,
    causal: false,
    scale: null,
    position: false,
    matrices: Object.fromEntries(
      /** @type {OwnMatrix[]} */ (["x", ...PARAMETERS]).map((name) => [name, matrix(own[name])]),
    ),
  };
}

// One number changed where it stands; what is no number is refused, and said.
/**
 * @param {State} state
 * @param {OwnMatrix} name
 * @param {number} row
 * @param {number} column
 * @param {HTMLInputElement} field
 * @param {(sentence: string) => void} complain
 */
export function editOwn(state, name, row, column, field, complain) {
  const text = field.value.trim().replace(",", ".").replace("−", "-");
  const value = Number(text);
  const good = text !== "" && Number.isFinite(value) && Math.abs(value) <= LARGEST_NUMBER;
  field.classList.toggle("wrong", !good);
  if (!good) {
    complain(
      `${name} needs a number between -1,000,000 and 1,000,000 here, ` +
        `but this is "${field.value.slice(0, 40)}".`,
    );
    return;
  }
  const own = ownNumbers(state);
  own[name][row][column] = value;
  storeOwn(state, own);
}

/** @param {State} state @param {(sentence: string) => void} complain */
function ownControls(state, complain) {
  const own = ownNumbers(state);
  const [features, width] = [own.x[0].length, own.w_query[0].length];
  /** @param {FieldEvent} event */
  const rename = (event) => {
    const words = event.target.value.split(/\s+/).filter(Boolean);
    if (words.length >= 1 && words.length <= MAX_OWN_WORDS)
      storeOwn(state, shaped({ ...own, words }, features, width));
    else complain(`The words need to be 1 to ${MAX_OWN_WORDS}, but there are ${words.length}.`);
  };
  /** @param {string} label @param {number} now @param {(size: number) => OwnNumbers} resize */
  const size = (label, now, resize) =>
    labelled(
      label,
      element("input", {
        type: "number",
        min: "1",
        max: String(MAX_OWN_FEATURES),
        value: String(now),
        on: {
          change: (event) => {
            const size = Number(event.target.value);
            if (Number.isInteger(size) && size >= 1 && size <= MAX_OWN_FEATURES)
              storeOwn(state, resize(size));
            else
              complain(
                `${label} needs a whole number from 1 to ${MAX_OWN_FEATURES}, but it is ${size}.`,
              );
          },
        },
      }),
    );
  /** @param {Fill} how */
  const fill = (how) => {
    const filled = PARAMETERS.map((name) => [name, table(features, width, FILLS[how])]);
    storeOwn(state, { ...own, ...Object.fromEntries(filled) });
  };
  const words = {
    type: "text",
    class: "serif",
    value: own.words.join(" "),
    size: "36",
    on: { change: rename },
  };
  /** @type {[Fill, string][]} */
  const fills = [
    ["identity", "Identity"],
    ["random", "Random"],
    ["zero", "Zero"],
  ];
  return element(
    "div.controls.own",
    labelled("Words", element("input", words)),
    size("Features", features, (size) => shaped(own, size, width)),
    size("Width of the head", width, (size) => shaped(own, features, size)),
    labelled("Matrices", choice("Fill the matrices", fills, null, fill)),
  );
}

/**
 * @param {number} rows
 * @param {number} columns
 * @param {(row: number, column: number) => number} make
 */
function table(rows, columns, make) {
  return Array.from({ length: rows }, (_, row) =>
    Array.from({ length: columns }, (_, column) => make(row, column)),
  );
}

/** @param {number[][]} rows */
function columnCount(rows) {
  return Array.isArray(rows) && Array.isArray(rows[0])
    ? Math.min(MAX_OWN_FEATURES, Math.max(1, rows[0].length))
    : 2;
}

// The same numbers in these sizes; new cells hold 0.
/** @param {OwnNumbers} own @param {number} features @param {number} width */
function shaped(own, features, width) {
  /** @param {number[][]} rows @param {number} down @param {number} across */
  const fit = (rows, down, across) =>
    table(down, across, (row, column) => {
      const value = Number(rows?.[row]?.[column] ?? 0);
      return Number.isFinite(value) && Math.abs(value) <= LARGEST_NUMBER ? value : 0;
    });
  return {
    words: own.words,
    x: fit(own.x, own.words.length, features),
    w_query: fit(own.w_query, features, width),
    w_key: fit(own.w_key, features, width),
    w_value: fit(own.w_value, features, width),
  };
}

/** @param {State} state @param {OwnNumbers} own */
function storeOwn(state, own) {
  state.set({ own: JSON.stringify(own), cell: null });
}
