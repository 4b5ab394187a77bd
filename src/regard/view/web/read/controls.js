// What stands around the picture of the Read view: its title, its switches, and what has to be said
// about it.

import { choice, element, labelled, percent, prose, replace } from "../lib/dom.js";
import { isHighlight, pinnedWords, tokensOf } from "./choice.js";
import { hasFlow } from "./flow.js";
import { choiceName } from "./sentences.js";
import { hasSpace } from "./space.js";
import { specialTokens, writePositions } from "./weights.js";

/** @type {Record<string, string>} */
const WAYS = {
  head: "one head",
  layer: "layer average",
  all: "all averaged",
  rollout: "rolled out",
};
const AVERAGE =
  "An average shows what many heads agree on, and hides the one head that does something else.";
/** @type {Record<string, string>} */
const ABOUT_WAYS = {
  layer: AVERAGE,
  all: AVERAGE,
  rollout:
    "Rolled out: the mean over heads, followed from the last layer down to the words, half of " +
    "every vector taken as coming straight from below. It takes mixing for adding up shares, " +
    "which the layers between do not.",
};

/** @param {ReadView} view @param {Shown} shown */
export function drawControls(view, shown) {
  const { state, source, elements } = view;
  const { part, choice: head } = shown;
  drawTitle(elements.title, state, source, shown);
  const isHidden = state.get("marks") === "hidden";
  const request = JSON.stringify([
    part.name,
    part.ways,
    head.show,
    state.get("as"),
    state.get("by"),
    specialTokens(part),
    isHidden,
    state.get("beside"),
    state.get("changes"),
    head,
  ]);
  if (elements.drawnFrom.controls !== request)
    replace(elements.controls, switchesFor(state, source, shown, isHidden));
  elements.drawnFrom.controls = request;
  const least = elements.controls.querySelector(".least");
  if (least) least.textContent = `${state.number("least", 0)} %`;
  drawNotes(view, shown);
}

/** @param {HTMLElement} title @param {State} state @param {Source} source @param {Shown} shown */
function drawTitle(title, state, source, { reading, part, choice: head }) {
  const role = head.show === "head" && part.roles ? part.roles[head.layer][head.head] : "";
  const toSteps = () =>
    state.go("steps", {
      sentence: reading.sentence,
      part: part.name,
      layer: head.layer,
      head: head.head,
      from: null,
      cell: null,
    });
  const has = part.steps && source.views.includes("steps") && head.show === "head";
  replace(
    title,
    `${part.title}: ${choiceName(head)}`,
    role && element("span", { class: "quiet" }, ` ${role}`),
    has &&
      element("button", { type: "button", class: "link", on: { click: toSteps } }, "its steps →"),
  );
}

/** @param {State} state @param {Source} source @param {Shown} shown @param {boolean} isHidden */
function switchesFor(state, source, shown, isHidden) {
  const { part, choice: head } = shown;
  /** @param {string} field @param {string} plain @param {Fields} [more] */
  const set =
    (field, plain, more = {}) =>
    (/** @type {string} */ value) =>
      state.set({ [field]: value === plain ? null : value, ...more });
  const nothing = { q: "-", k: null, step: null };
  /** @param {Side} side */
  const cut = ({ tokens, words }) => tokens.length !== words.length;
  const marks = specialTokens(part);
  /** @param {FieldEvent} event */
  const least = ({ target }) => state.set({ least: target.value === "0" ? null : target.value });
  /** @param {FieldEvent} event */
  const hide = ({ target }) => state.set({ marks: target.checked ? "hidden" : null, ...nothing });
  // The picture through the layers is of all heads; another one is of the chosen head again.
  const isFlow = state.get("as") === "flow";
  const afterFlow = { ...shown, choice: { ...head, show: isFlow ? "head" : head.show } };
  /** @type {[string, string, string, string?][]} */
  const pictures = [
    ["lines", "Lines", "A line for each weight"],
    ["map", "Heatmap", "A cell for each weight"],
    [
      "flow",
      "Through the layers",
      "Every layer at once: where a word comes from",
      hasFlow(part) ? "" : "Needs all layers of a text of at most 64 tokens that looks at itself",
    ],
    [
      "space",
      "Queries and keys",
      "Both in the plane in which they differ most",
      hasSpace(afterFlow) ? "" : "Needs one head, and its query and key",
    ],
  ];
  return [
    choice("Picture", pictures, state.get("as", "lines"), (name) =>
      state.set(asPicture(name, state, shown)),
    ),
    part.ways.length > 1 &&
      choice(
        "Which weights",
        part.ways.map((way) => /** @type {[string, string]} */ ([way, WAYS[way]])),
        head.show,
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
      (by) => state.set({ by: by === "words" ? null : by, ...cutChoice(state, shown, by) }),
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
        element("input", { type: "checkbox", checked: isHidden, on: { change: hide } }),
        ` Hide ${marks.join(", ")}`,
      ),
    compareWith(state, source, shown),
  ];
}

// The words that are chosen stay chosen when they are cut into pieces, and when they are whole
// again.
/** @param {State} state @param {Shown} shown @param {string} by */
function cutChoice(state, shown, by) {
  if (state.get("by", "words") === by) return {};
  const { part, grid } = shown;
  if (grid.hidden) return { q: "-", k: null, step: null };
  const { queries, keys } = pinnedWords(state, shown);
  /** @param {Side} side @param {number[]} positions */
  const carried = (side, positions) =>
    by === "words"
      ? [...new Set(positions.map((token) => side.word_of_token[token]))]
      : tokensOf(side, positions);
  return {
    q: writePositions(carried(part.query, queries)) || "-",
    k: writePositions(carried(part.key, keys)),
    step: null,
  };
}

// Fields of the address for a picture. All layers followed down are what the one through the layers
// is about; the word that was looked at stays chosen there.
/** @param {string} name @param {State} state @param {Shown} shown */
function asPicture(name, state, shown) {
  const as = name === "lines" ? null : name;
  if (name !== "flow") return { as, show: state.get("as") === "flow" ? null : state.get("show") };
  const { queries } = pinnedWords(state, shown);
  const q = queries.length ? writePositions(queries) : state.get("q");
  return { as, q, show: shown.part.ways.includes("rollout") ? "rollout" : "all" };
}

// What stands beside the picture (beside.js): nothing, this head while another is chosen, the run
// before a change, or another sentence.
/** @param {State} state @param {Source} source @param {Shown} shown */
function compareWith(state, source, { reading, choice: head }) {
  const now = state.get("beside");
  const typed = now.startsWith("sentence.") ? now.slice("sentence.".length) : "";
  const thisHead = `head.${head.part}.${head.layer}.${head.head}`;
  const options = [{ value: "", text: "nothing" }];
  if (now.startsWith("head."))
    options.push({ value: now, text: now.slice(5).replaceAll(".", " ") });
  if (head.show === "head" && now !== thisHead)
    options.push({ value: thisHead, text: "this head: then choose another" });
  if (reading.changes) options.push({ value: "before", text: "before the change" });
  if (typed) options.push({ value: now, text: "a sentence" });
  /** @param {SelectEvent} event */
  const choose = ({ target }) => state.set({ beside: target.value }, true);
  /** @param {FieldEvent} event */
  const read = ({ target }) => {
    const text = target.value.trim();
    state.set({ beside: text ? `sentence.${text}` : null }, true);
  };
  return element(
    "div",
    { class: "labelled compare" },
    element("span", null, "compare with"),
    element(
      "select",
      { "aria-label": "Compare with", on: { change: choose } },
      options.map(({ value, text }) => element("option", { value, selected: value === now }, text)),
    ),
    source.live &&
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

/** @param {ReadView} view @param {Shown} shown */
export function drawNotes({ state, elements }, shown) {
  const { grid, reading, choice: head } = shown;
  const { highlight } = reading;
  const first =
    highlight && isHighlight(state, shown, pinnedWords(state, shown)) ? highlight : null;
  const rest = grid.rest && percent(grid.rest.reduce((a, b) => a + b, 0) / grid.rows);
  const sentences = [
    grid.hidden &&
      `Without ${grid.hidden.names.join(", ")} the weights of each row are divided by their sum, ` +
        "so that they add up to 100 % again; " +
        `it had ${percent(grid.hidden.share)} of a row on average.`,
    grid.rest &&
      "Each word's largest weights are held one by one; " +
        `the others have ${rest} of a row together and are not drawn.`,
    ABOUT_WAYS[head.show],
    first && `Shown first: ${first.reason}.`,
    first?.disagreement && `But ${first.disagreement}.`,
    ...reading.notes,
    reading.caution,
  ];
  replace(
    elements.notes,
    sentences.map((note) => note && element("p", null, prose(note))),
  );
}
