// Cards of the overview: a stage with its numbers as colours, a way to elsewhere, the next word.

import { element, replace, tableHead, tableRow } from "../lib/dom.js";
import { largestSize, strips } from "../lib/draw.js";
import { passStrips } from "./morph.js";
import { candidatesAt, shareText } from "./next_word.js";
import { madeFromStages, pathFormula, stageTitle } from "./words.js";

/** @param {string} title @param {Go | false} click @param {string | boolean | null} [about] */
export function plainCard(title, click, about = null) {
  return element(
    "button.stage-card.plain",
    {
      disabled: !click,
      on: click ? { click } : {},
    },
    element("span.stage-name", title),
    about && element("span.card-words.quiet", about),
  );
}

/** @param {PathView} view @param {string} name @param {Go} click */
export function stageCard(view, name, click) {
  const { path, stage } = view;
  const { layer } = path;
  /** @param {boolean} on */
  const lights = (on) => () => {
    for (const one of madeFromStages(path, name)) {
      const card = view.map.querySelector(`[data-card="${one}"]`);
      if (card) card.classList.toggle("lit", on);
    }
  };
  return element(
    "button.stage-card",
    {
      "data-card": name,
      "aria-current": name === stage ? "step" : null,
      on: {
        click,
        pointerenter: lights(true),
        pointerleave: lights(false),
        focus: lights(true),
        blur: lights(false),
      },
    },
    element("span", { class: `stage-name of-${name}` }, stageTitle(layer, name)),
    !stage && cardPicture(view, name), // above an opened stage its name is enough
  );
}

/** @param {PathView} view @param {string} name */
function cardPicture(view, name) {
  const matrix = view.path.matrix(name);
  const isTokens = name === "tokens";
  const size = isTokens ? `${matrix.rows} tokens` : `${matrix.rows} × ${matrix.columns}`;
  return [
    isTokens ? cardWords(view.path.layer) : thumbnail(view.thumbs, name, matrix),
    element("span.stage-size", size),
  ];
}

// The stages in a table, for who does not see the picture.
/** @param {PathView} view */
export function stagesTable({ path }) {
  const rows = element("tbody");
  const fill = () =>
    replace(
      rows,
      path.names.map((name) => {
        const { rows, columns } = path.matrix(name);
        const cells = [`${rows} × ${columns}`, pathFormula(path, name)];
        return tableRow(stageTitle(path.layer, name), cells);
      }),
    );
  return element(
    "details.stages-table.small",
    { on: { toggle: fill } },
    element("summary", "As a table"),
    element("table", tableHead(["stage", "size", "how it is made"]), rows),
  );
}

/** @param {LayerData} layer */
function cardWords(layer) {
  return element("span.card-words.serif", { "aria-hidden": "true" }, layer.tokens.join(" "));
}

// A stage's numbers as colours; what it was when it was drawn last is where a passage starts.
/** @param {StepsView["thumbs"] | null} thumbs @param {string} name @param {Matrix} matrix */
export function thumbnail(thumbs, name, matrix) {
  const { rows, columns, values } = matrix;
  const most = name === "weights" ? 1 : largestSize(values);
  const canvas = strips({ rows, columns, values, most, label: `${name}, as colours` });
  canvas.dataset.stage = name;
  canvas.setAttribute("aria-hidden", "true"); // the card has its name
  canvas.removeAttribute("aria-label");
  canvas.style.setProperty("height", `${Math.max(24, Math.min(64, 5 * rows))}px`);
  const before = thumbs?.get(name);
  const same = before && before.values.length === values.length && before.values !== values;
  if (thumbs)
    thumbs.set(name, {
      rows,
      columns,
      values,
      most,
      from: same ? { values: before.values, most: before.most } : null,
    });
  return canvas;
}

/** @param {PathView} view @param {OpenStage} open */
export function nextCard(view, open) {
  const { next } = view;
  /** @param {CardEvent} event */
  const go = (event) =>
    open(
      {
        stage: "next_word",
        part: view.path.layer.part === "encoder" ? "decoder" : view.path.layer.part,
      },
      event.currentTarget,
    );
  const bars = next && next.tokens.length ? candidatesAt(next, view.nextRow || 0).slice(0, 3) : [];
  const most = Math.max(0, ...bars.map(({ probability }) => probability));
  return element(
    "button",
    {
      class: `stage-card${bars.length ? " wide" : " plain"}`,
      "data-card": "next_word",
      "aria-current": view.stage === "next_word" ? "step" : null,
      on: { click: go },
    },
    element("span.stage-name", "next word"),
    bars.length > 0 &&
      element(
        "span.card-bars",
        { "aria-hidden": "true" },
        bars.map(({ name, probability }) => [
          element("span.serif", name),
          element(
            "span.track",
            element("span.length", {
              style: { left: "0%", width: `${(100 * probability) / most}%` },
            }),
          ),
          element("span.small", shareText(probability)),
        ]),
      ),
    element("span.stage-size", bars.length ? "softmax of logits" : "probabilities"),
  );
}

// Thumbnails pass over from the numbers that they showed before.
/** @param {HTMLElement} map @param {StepsView["thumbs"]} thumbs */
export function moveThumbs(map, thumbs) {
  for (const canvas of map.querySelectorAll("canvas")) {
    const shown = thumbs.get(canvas.dataset.stage || "");
    if (shown && shown.from) passStrips(canvas, shown.from, shown);
  }
}
