// More ways to look at a sentence: averages of heads, weights without the marks, a threshold, and
// two pictures in place of the map.
//
// Fields of the address: show (head, layer, all, rollout), marks (hidden), least (percent), as
// (map, flow, space).

import { choice, element, labelled, percent, problem, replace } from "../lib/dom.js";
import { everyWeight, specialTokens, withoutMarks } from "../read/weights.js";
import { flowPicture, hasFlow } from "./flow.js";
import { hasSpace, spacePicture } from "./space.js";

export const WAY_FIELDS = ["show", "marks", "least"];
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
  head: "",
  layer: AVERAGE,
  all: AVERAGE,
  rollout:
    "Rolled out: the mean over heads, followed from the last layer down to the words, half of " +
    "every vector taken as coming straight from below. It takes mixing for adding up shares, " +
    "which the layers between do not.",
};

const ABOUT = {
  flow: "Every layer at once: where a token comes from",
  space: "Both in the plane in which they differ most",
};
const NEEDS = {
  flow: "Needs all layers of a text of at most 64 tokens that looks at itself",
  space: "Needs one head, and its query and key",
};

/** @param {State} state @param {Part} part */
export function wayOf(state, part) {
  const show = state.get("show", "head");
  return part.ways.includes(show) ? show : "head";
}

// The weights of a table as the address wants them, and what has to be said about them.
/** @param {Table} table @param {Part} part @param {State} state */
export function shapedWeights(table, part, state) {
  let weights = everyWeight(table);
  const notes = [ABOUT_WAYS[wayOf(state, part)]];
  if (state.get("marks") === "hidden") {
    const made = withoutMarks(weights, part.query.tokens, part.key.tokens);
    weights = made.weights;
    notes.push(
      `Without ${made.names.join(", ")} the weights of each row are divided by their sum, so ` +
        `that they add up to 100 % again; it had ${percent(made.share)} of a row on average.`,
    );
  }
  const least = state.number("least", 0) / 100;
  if (least > 0) weights = weights.map((weight) => (weight < least ? 0 : weight));
  return { weights, notes: notes.filter(Boolean) };
}

// The further switches of a sentence, folded away until one of them is used.
/** @param {RunView} view @param {Part} part */
export function wayTools({ state, tools }, part) {
  const marks = specialTokens(part);
  /** @param {FieldEvent} event */
  const least = ({ target }) => {
    told.textContent = `${target.value} %`;
    state.set({ least: target.value === "0" ? null : target.value });
  };
  const told = element("output.least", `${state.number("least", 0)} %`);
  const isOpen = tools.querySelector("details")?.open || WAY_FIELDS.some((name) => state.get(name));
  return element(
    "details.ways",
    { open: isOpen },
    element("summary.quiet", "Averages, threshold"),
    element(
      "div.ways-row",
      part.ways.length > 1 &&
        choice(
          "Which weights",
          part.ways.map((way) => /** @type {[string, string]} */ ([way, WAYS[way]])),
          wayOf(state, part),
          (show) => state.set({ show: show === "head" ? null : show }, true),
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
        told,
      ),
      marks.length > 0 &&
        element(
          "label",
          element("input", {
            type: "checkbox",
            checked: state.get("marks") === "hidden",
            on: { change: ({ target }) => state.set({ marks: target.checked ? "hidden" : null }) },
          }),
          ` Hide ${marks.join(", ")}`,
        ),
    ),
  );
}

// The pictures that a sentence can have in place of its map.
/** @param {State} state */
export function sentencePictures(state) {
  const switches = element("div.small");
  const box = element("div", { hidden: true });
  const root = element("div.sentence-pictures", { hidden: true }, switches, box);
  /** @type {Record<string, RunPicture>} */
  const pictures = {
    flow: flowPicture((row) => state.set({ row, key: null })),
    space: spacePicture((side, at) =>
      state.set(side === "query" ? { row: at, key: null } : { key: at }),
    ),
  };
  return {
    root,
    // Shows the picture of the address; says whether there is one in place of the map.
    /** @param {RunView} view */
    show({ run, source, choice: at, row }) {
      const reading = run?.reading;
      const part = reading?.parts.find(({ name }) => name === at.part);
      root.hidden = !part;
      if (!reading || !part) return false;
      const isServed = {
        flow: hasFlow(part),
        space: hasSpace(part) && wayOf(state, part) === "head",
      };
      const as = state.get("as");
      const name = as === "flow" || as === "space" ? (isServed[as] ? as : "map") : "map";
      /** @type {[string, string, string, string?][]} */
      const choices = [
        ["map", "Map", "A cell for each weight"],
        ["flow", "Through the layers", ABOUT.flow, isServed.flow ? "" : NEEDS.flow],
        ["space", "Queries and keys", ABOUT.space, isServed.space ? "" : NEEDS.space],
      ];
      replace(
        switches,
        choice("Picture", choices, name, (to) => state.set({ as: to === "map" ? null : to }, true)),
      );
      const picture = name === "map" ? null : pictures[name];
      box.hidden = !picture;
      if (!picture) return false;
      if (box.firstChild !== picture.root) replace(box, picture.root);
      picture
        .show({ source, reading, part, choice: at, row: row ?? 0 })
        .catch((error) => replace(box, problem(error)));
      return true;
    },
  };
}
