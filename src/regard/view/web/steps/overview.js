// The overview of the Steps view: the way of the sentence through the model as cards, each with its
// true numbers as colours; the chosen layer unfolds. Small, it stays above an opened stage.

import { element, frames, replace, svgElement } from "../lib/dom.js";
import { largestSize, strips } from "../lib/strips.js";
import { BEFORE_HEAD } from "./layer_path.js";
import { passStrips } from "./morph.js";
import { candidatesAt, shareText } from "./next_word.js";
import { madeFromStages, titleOfStage } from "./path_words.js";
import { drawWires } from "./wires.js";

const SIDES = { encoder: "English", decoder: "French" };
const TRIO = ["query", "key", "value"];
const HEAD_STAGES = ["query", "key", "value", "scores", "scaled", "masked", "weights", "output"];
const ATTENTION_INPUTS = ["x", "memory"];
const ATTENTION_OUTPUTS = ["joined", "projected"];
const FEED_FORWARD_CARDS = ["residual", "normed", "hidden", "feed_forward", "layer_output", "last"];
const RESIDUALS = [
  ["input", "residual"],
  ["residual", "layer_output"],
];

// open(choice): goes to { stage, part, layer, head }.
/** @param {StepsView} view @param {(choice: any, card?: Element) => void} open */
export function drawOverview(view, open) {
  const { path, map } = view;
  const thumbs = view.thumbs || (view.thumbs = new Map());
  const wires = svgElement("svg", { class: "wires", "aria-hidden": "true" });
  const own = path.layer.part === "encoder" ? "encoder" : "decoder";
  const lanes = Object.keys(SIDES).flatMap((side) => [
    sideLane(view, side, own, open),
    side === own && layerLane(view, open),
  ]);
  replace(map, lanes, wires);
  const pairs = pairsOf(view);
  const wire = frames(() => drawWires(map, wires, pairs));
  wire();
  if (view.watched) view.watched.disconnect();
  view.watched = new ResizeObserver(wire);
  view.watched.observe(map);
  for (const canvas of map.querySelectorAll("canvas")) {
    const shown = thumbs.get(canvas.dataset.stage);
    if (shown && shown.from) passStrips(canvas, shown.from, shown);
  }
}

// The side that is not looked into is told by its names alone.
/** @param {StepsView} view */
function sideLane(view, side, own, open) {
  const { path } = view;
  const { layer } = path;
  const part = side === "encoder" ? "encoder" : own === "decoder" ? layer.part : "decoder";
  const isOwn = side === own;
  const card = (name) => {
    const go = (event) => open({ stage: name, part }, event.currentTarget);
    return isOwn ? stageCard(view, name, go) : plainCard(titleOfStage(layer, name), go);
  };
  const chips = Array.from({ length: layer.layers }, (_, at) =>
    element(
      "button",
      {
        type: "button",
        class: "layer-chip",
        "aria-pressed": String(isOwn && at === layer.layer),
        "aria-label": `Layer ${at} of the ${side}`,
        on: { click: () => open({ part, layer: at, stage: null }) },
      },
      at,
    ),
  );
  const last = layer.layers - 1;
  const toLast = (event) =>
    open(
      { part: side === "encoder" ? "encoder" : "cross", layer: last, stage: "last" },
      event.currentTarget,
    );
  return element(
    "section",
    { class: `lane of-side${isOwn ? " own" : ""}`, "data-side": side, "aria-label": `The ${side}` },
    element("h2", null, `${SIDES[side]} `, element("span", { class: "quiet" }, side)),
    element(
      "ol",
      { class: "stage-cards" },
      element("li", null, card("tokens")),
      element("li", { class: "stacked" }, ["embedding", "position"].map(card)),
      element("li", null, card("start")),
      element(
        "li",
        { class: "all-layers", "data-card": `layers-${side}` },
        element("span", { class: "small quiet" }, `${layer.layers} layers`),
        element("div", { class: "chips" }, chips),
      ),
      side === "encoder"
        ? element("li", null, plainCard("memory", toLast, "for the decoder"))
        : element("li", null, nextCard(view, open)),
    ),
  );
}

// The attention of the layer, its head in a box of its own, and below it the feed-forward layer.
/** @param {StepsView} view */
function layerLane(view, open) {
  const { path } = view;
  const { part, layer } = path.layer;
  const names = path.names.filter((name) => name === "input" || !BEFORE_HEAD.includes(name));
  const card = (name) =>
    stageCard(view, name, (event) => open({ stage: name }, event.currentTarget));
  const item = (name) => element("li", null, card(name));
  const first = names.filter((name) => ATTENTION_INPUTS.includes(name));
  const rest = names.filter((name) => ATTENTION_OUTPUTS.includes(name));
  const feedForward = names.filter((name) => FEED_FORWARD_CARDS.includes(name));
  const title = part === "cross" ? "cross-attention" : "self-attention";
  return element(
    "section",
    { class: "lane unfolded", "aria-label": `Layer ${layer} of the ${part}, unfolded` },
    element(
      "h2",
      null,
      `Layer ${layer} `,
      element(
        "span",
        { class: "quiet" },
        `of the ${part === "encoder" ? part : "decoder"}: ${title}`,
      ),
    ),
    element(
      "ol",
      { class: "stage-cards" },
      part === "cross" && element("li", null, otherPart("decoder", open)),
      item("input"),
      element("li", { class: "stacked" }, first.map(card)),
      element("li", { class: "head-box" }, headStages(view, card, open)),
      rest.map(item),
    ),
    element(
      "ol",
      { class: "stage-cards second" },
      feedForward.map(item),
      element("li", null, part === "decoder" ? otherPart("cross", open) : afterLayer(view, open)),
    ),
  );
}

/** @param {StepsView} view */
function headStages({ path }, card, open) {
  const own = path.steps.inputs.head;
  const chips = Array.from({ length: path.layer.heads }, (_, at) =>
    element(
      "button",
      {
        type: "button",
        class: "layer-chip",
        "aria-pressed": String(at === own),
        "aria-label": `Head ${at}`,
        on: { click: () => open({ head: at, stage: null }) },
      },
      at,
    ),
  );
  const names = HEAD_STAGES.filter((name) => path.names.includes(name) && !TRIO.includes(name));
  return [
    element(
      "div",
      { class: "chips head-chips" },
      element("span", { class: "small quiet" }, "head"),
      chips,
    ),
    element(
      "ol",
      { class: "stage-cards" },
      element("li", { class: "stacked" }, TRIO.map(card)),
      names.map((name) => element("li", null, card(name))),
    ),
  ];
}

// Where the layer's output goes: into the next layer, or out of the last one.
/** @param {StepsView} view */
function afterLayer({ path }, open) {
  const { layer, layers, part } = path.layer;
  if (layer + 1 < layers) {
    const next = part === "cross" ? "decoder" : part;
    return plainCard(`layer ${layer + 1}`, () =>
      open({ part: next, layer: layer + 1, stage: null }),
    );
  }
  if (part === "encoder")
    return plainCard("cross-attention", () => open({ part: "cross", layer: 0, stage: null }));
  return plainCard("next word", (event) => open({ stage: "next_word" }, event.currentTarget));
}

function otherPart(part, open) {
  const [title, about] =
    part === "cross"
      ? ["cross-attention", "then feed-forward"]
      : ["self-attention", "comes before"];
  return plainCard(title, () => open({ part, stage: null }), about);
}

function plainCard(title, click, about = null) {
  return element(
    "button",
    { type: "button", class: "stage-card plain", on: { click } },
    element("span", { class: "stage-name" }, title),
    about && element("span", { class: "small quiet" }, about),
  );
}

/** @param {StepsView} view */
function stageCard(view, name, click) {
  const { path, stage } = view;
  const { layer } = path;
  const matrix = path.matrix(name);
  const lights = (on) => () => {
    for (const one of madeFromStages(path, name)) {
      const card = view.map.querySelector(`[data-card="${one}"]`);
      if (card) card.classList.toggle("lit", on);
    }
  };
  return element(
    "button",
    {
      type: "button",
      class: "stage-card",
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
    element("span", { class: "stage-name" }, titleOfStage(layer, name)),
    name === "tokens" ? words(layer) : thumbnail(view, name, matrix),
    element(
      "span",
      { class: "stage-size" },
      name === "tokens" ? `${matrix.rows} tokens` : `${matrix.rows} × ${matrix.columns}`,
    ),
  );
}

/** @param {LayerData} layer */
function words(layer) {
  return element(
    "span",
    { class: "card-words serif", "aria-hidden": "true" },
    layer.tokens.join(" "),
  );
}

// A stage's numbers as colours; what it was when it was drawn last is where a passage starts.
/** @param {StepsView} view */
export function thumbnail(view, name, matrix) {
  const { rows, columns, values } = matrix;
  const most = name === "weights" ? 1 : largestSize(values);
  const canvas = strips({ rows, columns, values, most, label: `${name}, as colours` });
  canvas.dataset.stage = name;
  canvas.setAttribute("aria-hidden", "true"); // the card has its name
  canvas.removeAttribute("aria-label");
  canvas.style.setProperty("height", `${Math.max(24, Math.min(64, 5 * rows))}px`);
  const before = view.thumbs && view.thumbs.get(name);
  const same = before && before.values.length === values.length && before.values !== values;
  if (view.thumbs)
    view.thumbs.set(name, {
      rows,
      columns,
      values,
      most,
      from: same ? { values: before.values, most: before.most } : null,
    });
  return canvas;
}

/** @param {StepsView} view */
function nextCard(view, open) {
  const { next } = view;
  const go = (event) =>
    open(
      { stage: "next_word", part: view.path.layer.part === "encoder" ? "decoder" : null },
      event.currentTarget,
    );
  const bars = next && next.tokens.length ? candidatesAt(next, view.nextRow || 0).slice(0, 3) : [];
  const most = Math.max(0, ...bars.map(({ probability }) => probability));
  return element(
    "button",
    {
      type: "button",
      class: `stage-card${bars.length ? " wide" : " plain"}`,
      "data-card": "next_word",
      "aria-current": view.stage === "next_word" ? "step" : null,
      on: { click: go },
    },
    element("span", { class: "stage-name" }, "next word"),
    bars.length > 0 &&
      element(
        "span",
        { class: "card-bars", "aria-hidden": "true" },
        bars.map(({ name, probability }) => [
          element("span", { class: "serif" }, name),
          element(
            "span",
            { class: "track" },
            element("span", {
              class: "length",
              style: { left: "0%", width: `${(100 * probability) / most}%` },
            }),
          ),
          element("span", { class: "small" }, shareText(probability)),
        ]),
      ),
    element("span", { class: "stage-size" }, bars.length ? "softmax of logits" : "probabilities"),
  );
}

// Cards as [from, to, kind].
/** @param {StepsView} view */
function pairsOf({ path, map }) {
  const card = (name) => map.querySelector(`[data-card="${name}"]`);
  const pairs = path.names.flatMap((name) =>
    madeFromStages(path, name).map((from) => {
      const around = RESIDUALS.some(([a, b]) => a === from && b === name);
      return [card(from), card(name), around ? "around" : "along"];
    }),
  );
  const side = path.layer.part === "encoder" ? "encoder" : "decoder";
  pairs.push([card("start"), card(`layers-${side}`), "along"]);
  const chip = map.querySelector('.all-layers [aria-pressed="true"]');
  pairs.unshift([chip, map.querySelector(".unfolded"), "wedge"]);
  return pairs.filter(
    ([from, to]) => from && to && (from !== card("start") || to !== card("input")),
  );
}
