// The choice of file, layer and head of the map, buttons to enlarge it, and its title.

import { element, labelled, replace } from "../lib/dom.js";
import { fullWindow } from "./map_window.js";

// moveTo(window) and zoom(factor) look at another part.
/** @param {MapView} view */
export function drawMapControls(view, { moveTo, zoom }) {
  const { maps, map, choice, layer } = view;
  const isFile = maps.names.length > 0;
  const change = (name) => (event) =>
    view.state.set({
      [name]: event.target.value,
      row: null,
      ...(isFile && name !== "head" ? { part: null } : {}),
    });
  const select = (label, names, chosen, name) =>
    names.length < 2
      ? null
      : labelled(
          label,
          element(
            "select",
            { on: { change: change(name) } },
            names.map((text, at) =>
              element("option", { value: at, selected: at === chosen }, text),
            ),
          ),
        );
  const button = (text, title, act) =>
    element(
      "button",
      { type: "button", class: "button", title, "aria-label": title, on: { click: act } },
      text,
    );
  replace(
    view.controls,
    select("File", maps.names, view.file, "file"),
    select(
      "Layer",
      map.about.layers.map((one) => one.name),
      choice.layer,
      "layer",
    ),
    select("Head", layer.heads, choice.head, "head"),
    element(
      "span",
      { class: "zoom" },
      button("+", "Enlarge", () => zoom(0.5)),
      button("−", "Shrink", () => zoom(2)),
      button("All", "The whole map", () => moveTo(fullWindow(layer))),
    ),
  );
  const size =
    layer.queries === layer.keys
      ? `${layer.queries.toLocaleString("en")} tokens`
      : `${layer.queries.toLocaleString("en")} queries, ${layer.keys.toLocaleString("en")} keys`;
  const name =
    map.about.layers.length > 1
      ? `${layer.name}, head ${layer.heads[choice.head]}`
      : `head ${layer.heads[choice.head]}`;
  replace(
    view.statement,
    `All ${(layer.queries * layer.keys).toLocaleString("en")} weights of ${name}: ${size}.`,
  );
}
