// What stands around the picture of the Read view: its title, its switches, and what has to be said
// about it.

import { choice, element, labelled, percent, prose, replace } from "../lib/dom.js";
import { isHighlight, pinnedWords } from "./choice.js";
import { hasFlow } from "./flow.js";
import { choiceName } from "./sentences.js";
import { hasSpace } from "./space.js";
import { specialTokens, writePositions } from "./weights.js";

const WAYS = {
  head: "one head",
  layer: "layer average",
  all: "all averaged",
  rollout: "rolled out",
};
const AVERAGE =
  "An average shows what many heads agree on, and hides the one head that does something else.";
const ABOUT_WAYS = {
  layer: AVERAGE,
  all: AVERAGE,
  rollout:
    "Rolled out: the mean over heads, followed from the last layer down to the words, half of " +
    "every vector taken as coming straight from below. It takes mixing for adding up shares, " +
    "which the layers between do not.",
};

/** @param {ReadView} view */
export function drawControls(view) {
  drawTitle(view);
  const { state, part, choice: shown } = view;
  const hidden = state.get("marks") === "hidden";
  const request = JSON.stringify([
    part.name,
    part.ways,
    shown.show,
    state.get("as"),
    state.get("by"),
    specialTokens(part),
    hidden,
    state.get("beside"),
    state.get("changes"),
    shown,
  ]);
  if (view.drawn !== request) replace(view.controls, switchesFor(view, hidden));
  view.drawn = request;
  view.controls.querySelector(".least").textContent = `${state.number("least", 0)} %`;
  drawNotes(view);
}

/** @param {ReadView} view */
function drawTitle({ state, source, reading, part, choice: shown, title }) {
  const role = shown.show === "head" && part.roles ? part.roles[shown.layer][shown.head] : "";
  const toSteps = () =>
    state.go("steps", {
      sentence: reading.sentence,
      part: part.name,
      layer: shown.layer,
      head: shown.head,
      from: null,
      cell: null,
    });
  const has = part.steps && source.views.includes("steps") && shown.show === "head";
  replace(
    title,
    `${part.title}: ${choiceName(shown)}`,
    role && element("span", { class: "quiet" }, ` ${role}`),
    has &&
      element("button", { type: "button", class: "link", on: { click: toSteps } }, "its steps →"),
  );
}

/**
 * @param {ReadView} view
 * @param {any} hidden
 */
function switchesFor(view, hidden) {
  const { state, source, reading, part, choice: shown } = view;
  const set =
    (field, plain, more = {}) =>
    (value) =>
      state.set({ [field]: value === plain ? null : value, ...more });
  const nothing = { q: "-", k: null, step: null };
  const cut = ({ tokens, words }) => tokens.length !== words.length;
  const marks = specialTokens(part);
  const least = (event) =>
    state.set({ least: event.target.value === "0" ? null : event.target.value });
  const hide = (event) => state.set({ marks: event.target.checked ? "hidden" : null, ...nothing });
  return [
    choice(
      "Picture",
      [
        ["lines", "Lines"],
        ["map", "Heatmap"],
        hasFlow(part) && [
          "flow",
          "Through the layers",
          "Every layer at once: where a word comes from",
        ],
        hasSpace(view) && [
          "space",
          "Queries and keys",
          "Both in the plane in which they differ most",
        ],
      ].filter(Boolean),
      state.get("as", "lines"),
      (name) => state.set(asPicture(name, view)),
    ),
    part.ways.length > 1 &&
      choice(
        "Which weights",
        part.ways.map((way) => [way, WAYS[way]]),
        shown.show,
        set("show", "head"),
      ),
    choice(
      "Cut into",
      [
        ["words", "Words"],
        [
          "tokens",
          "Sub-words",
          cut(part.query) || cut(part.key) ? null : "Here every word is one token",
        ],
      ],
      state.get("by", "words"),
      set("by", "words", nothing),
    ),
    labelled(
      "at least",
      element("input", {
        type: "range",
        min: "0",
        max: "50",
        value: String(state.number("least", 0)),
        "aria-label": "Threshold: hide weights below this percentage",
        on: { input: least },
      }),
      element("output", { class: "least" }),
    ),
    marks.length > 0 &&
      element(
        "label",
        null,
        element("input", { type: "checkbox", checked: hidden, on: { change: hide } }),
        ` Hide ${marks.join(", ")}`,
      ),
    compareWith({ state, source, reading, choice: shown }),
  ];
}

// Fields of the address for a picture. All layers followed down are what the one through the layers
// is about; the word that was looked at stays chosen there.
/** @param {ReadView} view */
function asPicture(name, view) {
  const { state, part } = view;
  const as = name === "lines" ? null : name;
  if (name !== "flow") return { as, show: state.get("as") === "flow" ? null : state.get("show") };
  const { queries } = pinnedWords(view);
  const q = queries.length ? writePositions(queries) : state.get("q");
  return { as, q, show: part.ways.includes("rollout") ? "rollout" : "all" };
}

// What stands beside the picture (beside.js): nothing, this head while another is chosen, the run
// before a change, or another sentence.
function compareWith({ state, source, reading, choice: shown }) {
  const now = state.get("beside");
  const typed = now.startsWith("sentence.") ? now.slice("sentence.".length) : "";
  const isSentence = source.live && reading.file === undefined;
  const thisHead = `head.${shown.part}.${shown.layer}.${shown.head}`;
  const options = [
    ["", "nothing"],
    now.startsWith("head.") ? [now, now.slice(5).replaceAll(".", " ")] : null,
    shown.show === "head" && now !== thisHead ? [thisHead, "this head: then choose another"] : null,
    reading.changes ? ["before", "before the change"] : null,
    typed ? [now, "a sentence"] : null,
    ...otherRuns(source, reading),
  ].filter(Boolean);
  const choose = (event) => state.set({ beside: event.target.value }, true);
  const read = (event) => {
    const text = event.target.value.trim();
    state.set({ beside: text ? `sentence.${text}` : null }, true);
  };
  return element(
    "div",
    { class: "labelled compare" },
    element("span", null, "compare with"),
    element(
      "select",
      { "aria-label": "Compare with", on: { change: choose } },
      options.map(([value, text]) => element("option", { value, selected: value === now }, text)),
    ),
    isSentence &&
      element("input", {
        type: "text",
        class: "other serif",
        placeholder: "another sentence",
        "aria-label": "Another sentence to compare with",
        value: typed,
        on: { change: read },
      }),
  );
}

// Beside a watched run its head can be looked at in another one.
function otherRuns(source, { file }) {
  if (file === undefined) return [];
  return source.page.files
    .map((name, at) => [`file.${at}`, name])
    .filter(([value]) => value !== `file.${file}`);
}

/** @param {ReadView} view */
export function drawNotes(view) {
  const { grid, reading, notes, choice: shown } = view;
  const asFirst = isHighlight(view, pinnedWords(view));
  const rest = grid.rest && percent(grid.rest.reduce((a, b) => a + b, 0) / grid.rows);
  const sentences = [
    grid.hidden &&
      `Without ${grid.hidden.names.join(", ")} the weights of each row are divided by their sum, ` +
        "so that they add up to 100 % again; " +
        `it had ${percent(grid.hidden.share)} of a row on average.`,
    grid.rest &&
      "Each word's largest weights are held one by one; " +
        `the others have ${rest} of a row together and are not drawn.`,
    ABOUT_WAYS[shown.show],
    asFirst && `Shown first: ${reading.highlight.reason}.`,
    asFirst && reading.highlight.disagreement && `But ${reading.highlight.disagreement}.`,
    ...reading.notes,
    reading.caution,
  ];
  replace(
    notes,
    sentences.filter(Boolean).map((note) => element("p", null, prose(note))),
  );
}
