// The elements of the Read view, and what each of them calls.

import { element } from "../lib/dom.js";
import { besidePicture } from "./beside.js";
import { flowPicture } from "./flow_picture.js";
import { FIRST_SENTENCE, headline } from "./headline.js";
import { headsGrid } from "./heads_grid.js";
import { heatPicture } from "./heatmap.js";
import { imageOverlay } from "./image_overlay.js";
import { linesPicture } from "./lines.js";
import { handlersFor, rememberWords } from "./read_choice.js";
import { lightEnglish, peekAt, pickEnglish, pickHead } from "./read_pointing.js";
import { redraw } from "./read_redraw.js";
import { present } from "./read_requests.js";
import { spacePicture } from "./space_picture.js";
import { tokenSteps } from "./token_steps.js";

/** @param {ReadView} view */
export function arrangeRead(view, root) {
  const part = (tag, name) => element(tag, { class: name });
  const handlers = handlersFor(view, redraw);
  view.top = headline(view.state, view.source, FIRST_SENTENCE, {
    hover: (positions) => lightEnglish(view, positions),
    pick: (position) => pickEnglish(view, position),
    typing: () => Object.assign(view, { typedOver: view.sentence }),
    leave: () => rememberWords(view),
    stale: () => root.classList.add("stale"),
    empty: (isEmpty) => root.classList.toggle("empty", isEmpty),
    again: () => view.reading && present(view, view.turn, view.reading),
  });
  view.statement = part("p", "statement");
  view.questions = part("div", "questions");
  view.outcome = element("section", { class: "outcome card", "aria-label": "Experiment" });
  view.outcome.hidden = true;
  view.why = element("section", { class: "why-weight card", "aria-label": "Why this weight" });
  view.why.hidden = true;
  view.effects = element("section", { class: "effects card", "aria-label": "Effects of heads" });
  view.effects.hidden = true;
  view.controls = part("div", "controls");
  view.title = part("h2", "title");
  view.picture = part("div", "picture");
  view.notes = part("div", "notes small quiet");
  view.table = element(
    "details",
    { class: "as-table", on: { toggle: () => redraw(view) } },
    element("summary", null, "As a table"),
    part("div", "wide"),
  );
  view.heads = headsGrid({
    choose: (part, layer, head) => pickHead(view, part, layer, head),
    hover: (part, layer, head) => peekAt(view, part, layer, head),
    arrange: (order) => view.state.set({ order: order === "layer" ? null : order }),
  });
  view.steps = tokenSteps(view.state);
  view.pictures = {
    lines: linesPicture(handlers),
    map: heatPicture(handlers),
    flow: flowPicture(handlers, view),
    space: spacePicture(handlers, view),
  };
  view.beside = besidePicture(handlers);
  view.images = imageOverlay(handlers);
  const first = element("div", { class: "first" }, view.title, view.images.root, view.picture);
  view.shown = element("div", { class: "shown" }, first, view.beside.root);
  const main = element(
    "section",
    { class: "main", "aria-label": "The picture" },
    view.statement,
    view.questions,
    view.steps.root,
    view.shown,
    view.controls,
  );
  root.append(
    view.top.root,
    view.outcome,
    element(
      "div",
      { class: "columns" },
      main,
      element("aside", { "aria-label": "All heads" }, view.heads.root),
    ),
    element("div", { class: "below" }, view.why, view.effects, view.notes, view.table),
  );
}
