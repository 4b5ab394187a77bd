// Where the reader is in the path: the whole path, part, layer, head, stage, cell; each a way back.

import { element, replace } from "../lib/dom.js";
import { BETWEEN_WORDS } from "./attend.js";
import { OF_KEYS } from "./steps_cell.js";
import { titleOfStage } from "./path_words.js";
import { labels } from "./why.js";

/** @param {StepsView} view @param {(choice: any) => void} open */
export function drawCrumbs(view, open) {
  const { crumbs, inputs, path, stage, state, source } = view;
  const isHead = inputs.layer !== undefined;
  if (!isHead) return replace(crumbs);
  const parts = [
    path && crumb("The whole path", stage ? () => open({ stage: null }) : null),
    source.live && picker("part", ["encoder", "decoder", "cross"], inputs.part, open),
    source.live && picker("layer", numbers(inputs.layers), inputs.layer, open),
    source.live && picker("head", numbers(inputs.heads), inputs.head, open),
    path && stage && crumb(titleOfStage(path.layer, stage), cellName(view) && toStage(state)),
    path && stage && cellName(view) && crumb(cellName(view), null),
  ].filter(Boolean);
  const about = inputs.about && element("span", { class: "quiet small role" }, inputs.about);
  const back = element(
    "button",
    { type: "button", class: "link quiet small", on: { click: () => state.go("read") } },
    "← all heads",
  );
  return replace(
    crumbs,
    element(
      "ol",
      null,
      parts.map((one) => element("li", null, one)),
    ),
    about,
    back,
  );
}

const numbers = (total) => [...Array(total).keys()];
const toStage = (state) => () => state.set({ cell: null }, true);

function crumb(text, click) {
  if (!click) return element("span", { "aria-current": "location" }, text);
  return element("button", { type: "button", class: "link", on: { click } }, text);
}

function picker(name, values, chosen, open) {
  const change = (event) =>
    open({ [name]: name === "part" ? event.target.value : Number(event.target.value) });
  return element(
    "label",
    null,
    name === "part" ? element("span", { class: "only-read" }, name) : `${name} `,
    element(
      "select",
      { on: { change } },
      values.map((value) => element("option", { value, selected: value === chosen }, value)),
    ),
  );
}

/** @param {StepsView} view */
function cellName({ state, path, chosen, now, next }) {
  if (!state.get("cell") || !chosen) return "";
  const { stage, row, column } = chosen;
  if (stage === "next_word") return next ? `after ${labels(next.tokens)[row]}` : "";
  const rows = labels(OF_KEYS.includes(stage) ? now.keys : path.layer.tokens);
  const between = BETWEEN_WORDS.includes(stage);
  if (stage === "tokens") return rows[row];
  return `${rows[row]}, ${between ? labels(now.keys)[column] : column}`;
}
