// The overview of the Steps view: the way of the sentence through the model as cards, each with its
// true numbers as colours; the chosen layer unfolds. Small, it stays above an opened stage.

import { choice, element, frames, replace, svgElement } from "../lib/dom.js";
import { BETWEEN_WORDS } from "./attend.js";
import { OF_KEYS } from "./cell.js";
import { BEFORE_HEAD } from "./layer_path.js";
import { moveThumbs, nextCard, plainCard, stageCard, stagesTable } from "./stage_cards.js";
import { labels } from "./why.js";
import { madeFromStages, stageTitle } from "./words.js";

/** @type {Record<string, string>} */
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
/** @param {PathView} view @param {OpenStage} open */
export function drawOverview(view, open) {
  const { path, map, thumbs } = view;
  const wires = svgElement("svg.wires", { "aria-hidden": "true" });
  const own = path.layer.part === "encoder" ? "encoder" : "decoder";
  const lanes = Object.keys(SIDES).flatMap((side) => [
    sideLane(view, side, own, open),
    side === own && layerLane(view, open),
  ]);
  replace(map, lanes, !view.stage && stagesTable(view), wires);
  const pairs = wirePairs(view);
  const wire = frames(() => drawWires(map, wires, pairs));
  wire();
  if (view.observer) view.observer.disconnect();
  view.observer = new ResizeObserver(wire);
  view.observer.observe(map);
  if (!view.stage) moveThumbs(map, thumbs);
}

// The side that is not looked into is told by its names alone.
/** @param {PathView} view @param {string} side @param {string} own @param {OpenStage} open */
function sideLane(view, side, own, open) {
  const { path } = view;
  const { layer } = path;
  const part = side === "encoder" ? "encoder" : own === "decoder" ? layer.part : "decoder";
  const isOwn = side === own;
  /** @param {string} name */
  const card = (name) => {
    /** @param {CardEvent} event */
    const go = (event) => open({ stage: name, part }, event.currentTarget);
    if (isOwn) return stageCard(view, name, go);
    const words = name === "tokens" && otherTokens(view, side);
    return plainCard(stageTitle(layer, name), view.source.live && go, words);
  };
  const chips = Array.from({ length: layer.layers }, (_, at) =>
    element(
      "button.layer-chip",
      {
        "aria-pressed": String(isOwn && at === layer.layer),
        "aria-label": `Layer ${at} of the ${side}`,
        disabled: !view.source.live && !(isOwn && at === layer.layer),
        on: { click: () => open({ part, layer: at, stage: null }) },
      },
      at,
    ),
  );
  const last = layer.layers - 1;
  /** @param {CardEvent} event */
  const toLast = (event) =>
    open(
      { part: side === "encoder" ? "encoder" : "cross", layer: last, stage: "last" },
      event.currentTarget,
    );
  return element(
    "section",
    { class: `lane of-side${isOwn ? " own" : ""}`, "data-side": side, "aria-label": `The ${side}` },
    element("h2", `${SIDES[side]} `, element("span.quiet", side)),
    element(
      "ol.stage-cards",
      element("li", card("tokens")),
      element("li.stacked", ["embedding", "position"].map(card)),
      element("li", card("start")),
      element(
        "li.all-layers",
        { "data-card": `layers-${side}` },
        element("span.small.quiet", `${layer.layers} layers`),
        element("div.chips", chips),
      ),
      side === "encoder"
        ? element(
            "li",
            { "data-card": "memory-side" },
            plainCard("memory", view.source.live && toLast),
          )
        : element("li", nextCard(view, open)),
    ),
  );
}

// The attention of the layer, its head in a box of its own, and below it the feed-forward layer.
/** @param {PathView} view @param {OpenStage} open */
function layerLane(view, open) {
  const { path } = view;
  const { part, layer } = path.layer;
  const names = path.names.filter((name) => name === "input" || !BEFORE_HEAD.includes(name));
  /** @param {string} name */
  const card = (name) =>
    stageCard(view, name, (event) => open({ stage: name }, event.currentTarget));
  /** @param {string} name */
  const item = (name) => element("li", card(name));
  const first = names.filter((name) => ATTENTION_INPUTS.includes(name));
  const rest = names.filter((name) => ATTENTION_OUTPUTS.includes(name));
  const feedForward = names.filter((name) => FEED_FORWARD_CARDS.includes(name));
  return element(
    "section.lane.unfolded",
    { "aria-label": `Layer ${layer} of the ${part}, unfolded` },
    element(
      "div.lane-head",
      element(
        "h2",
        `Layer ${layer} `,
        element("span.quiet", `of the ${part === "encoder" ? part : "decoder"}`),
      ),
      attentionChoice(view, open),
    ),
    element(
      "ol.stage-cards",
      item("input"),
      element("li.stacked", first.map(card)),
      element("li.head-box", headStages(view, card, open)),
      rest.map(item),
    ),
    element("ol.stage-cards.second", feedForward.map(item), element("li", afterLayer(view, open))),
  );
}

/** @param {PathView} view @param {(name: string) => HTMLElement} card @param {OpenStage} open */
function headStages({ path, source }, card, open) {
  const own = path.steps.inputs.head;
  const chips = Array.from({ length: path.layer.heads }, (_, at) =>
    element(
      "button.layer-chip",
      {
        "aria-pressed": String(at === own),
        "aria-label": `Head ${at}`,
        disabled: !source.live && at !== own,
        on: { click: () => open({ head: at, stage: null }) },
      },
      at,
    ),
  );
  const names = HEAD_STAGES.filter((name) => path.names.includes(name) && !TRIO.includes(name));
  return [
    element("div.chips.head-chips", element("span.small.quiet", "head"), chips),
    element(
      "ol.stage-cards",
      element("li.stacked", TRIO.map(card)),
      names.map((name) => element("li", card(name))),
    ),
  ];
}

// Where the layer's output goes: into the next layer, or out of the last one.
/** @param {PathView} view @param {OpenStage} open */
function afterLayer({ path, source }, open) {
  const { layer, layers, part } = path.layer;
  if (part === "decoder")
    return plainCard(
      "cross-attention",
      source.live && (() => open({ part: "cross", stage: null })),
    );
  if (layer + 1 < layers) {
    const next = part === "cross" ? "decoder" : part;
    const go = () => open({ part: next, layer: layer + 1, stage: null });
    return plainCard(`layer ${layer + 1}`, source.live && go);
  }
  if (part === "encoder")
    return plainCard(
      "cross-attention",
      source.live && (() => open({ part: "cross", layer: 0, stage: null })),
    );
  return plainCard("next word", (event) => open({ stage: "next_word" }, event.currentTarget));
}

// Tokens of the side that is not looked into, where they are known.
/** @param {PathView} view @param {string} side */
function otherTokens({ path, next, now }, side) {
  if (side === "decoder") return next ? next.tokens.join(" ") : null;
  return path.layer.part === "cross" ? now.keys.join(" ") : null;
}

// The two attentions of a decoder layer, of which one is unfolded.
/** @param {PathView} view @param {OpenStage} open */
function attentionChoice({ path, source }, open) {
  const { part } = path.layer;
  if (part === "encoder") return element("span.quiet", "self-attention");
  /** @type {[string, string][]} */
  const parts = [
    ["decoder", "self-attention"],
    ["cross", "cross-attention"],
  ];
  const shown = source.live ? parts : parts.filter(([one]) => one === part);
  return choice("Attention of the layer", shown, part, (one) => open({ part: one, stage: null }));
}

// Cards that a line joins.
/** @param {PathView} view @returns {Wire[]} */
function wirePairs({ path, map }) {
  /** @param {string} name */
  const card = (name) => map.querySelector(`[data-card="${name}"]`);
  /** @type {[Element | null, Element | null, string][]} */
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
  return pairs.flatMap(([from, to, kind]) =>
    from && to && (from !== card("start") || to !== card("input")) ? [{ from, to, kind }] : [],
  );
}

// Lines between the cards of the overview: from each stage to the stages that are made from it.

const BEND_PIXELS = 10; // pixels that a line runs straight before it turns

// Elements that stand somewhere in root; kind "around" goes below the
// cards between the two, as what is added without passing through them; "wedge"
// opens the first out into the second.
/** @param {HTMLElement} root @param {SVGElement} picture @param {Wire[]} pairs */
function drawWires(root, picture, pairs) {
  const frame = root.getBoundingClientRect();
  picture.setAttribute("viewBox", `0 0 ${Math.round(frame.width)} ${Math.round(frame.height)}`);
  const paths = pairs.map(({ from, to, kind }) => {
    const [a, b] = [boxIn(from, frame), boxIn(to, frame)];
    if (!a.width || !b.width) return null;
    return svgElement("path", { d: wirePath(a, b, kind), class: kind });
  });
  replace(picture, paths);
}

/** @param {Element} node @param {DOMRect} frame */
export function boxIn(node, frame) {
  const box = node.getBoundingClientRect();
  return {
    left: box.left - frame.left,
    right: box.right - frame.left,
    top: box.top - frame.top,
    bottom: box.bottom - frame.top,
    middle: box.left - frame.left + box.width / 2,
    height: box.top - frame.top + box.height / 2,
    width: box.width,
  };
}

/** @param {WireBox} a @param {WireBox} b @param {string} kind */
function wirePath(a, b, kind) {
  if (kind === "wedge")
    return (
      `M${a.left} ${a.bottom}L${b.left + BEND_PIXELS} ${b.top}` +
      `H${b.right - BEND_PIXELS}L${a.right} ${a.bottom}`
    );
  const sameRow = b.left >= a.right - 1 && Math.abs(b.height - a.height) < 140;
  if (kind === "around" && sameRow) return below(a, b);
  if (sameRow) {
    const turn = b.left - Math.min(BEND_PIXELS, (b.left - a.right) / 2);
    return `M${a.right} ${a.height}H${turn}V${b.height}H${b.left}m-5 -3l5 3l-5 3`;
  }
  if (b.top >= a.bottom - 1) {
    const turn = b.top - Math.min(BEND_PIXELS, (b.top - a.bottom) / 2);
    return `M${a.middle} ${a.bottom}V${turn}H${b.middle}V${b.top}m-3 -5l3 5l3 -5`;
  }
  return "";
}

/** @param {WireBox} a @param {WireBox} b */
function below(a, b) {
  const deep = Math.max(a.bottom, b.bottom) + BEND_PIXELS;
  return `M${a.middle} ${a.bottom}V${deep}H${b.middle}V${b.bottom}m-3 5l3 -5l3 5`;
}

// Where the reader is in the path: the whole path, part, layer, head, stage, cell; each a way back.

/** @param {StepsView} view @param {OpenStage} open */
export function drawCrumbs(view, open) {
  const { crumbs, inputs, path, stage, state, source } = view;
  const isHead = inputs.layer !== undefined;
  if (!isHead) return replace(crumbs);
  const parts = [
    path && crumb("The whole path", stage ? () => open({ stage: null }) : null),
    source.live && picker("part", ["encoder", "decoder", "cross"], inputs.part, open),
    source.live && picker("layer", numbers(inputs.layers), inputs.layer, open),
    source.live && picker("head", numbers(inputs.heads), inputs.head, open),
    path && stage && crumb(stageTitle(path.layer, stage), cellName(view) ? toStage(state) : null),
    path && stage && cellName(view) && crumb(cellName(view), null),
  ].filter(Boolean);
  const about = inputs.about && element("span.quiet.small.role", inputs.about);
  const back = element(
    "button.link.quiet.small",
    { on: { click: () => state.go("read") } },
    "← all heads",
  );
  return replace(
    crumbs,
    element(
      "ol",
      parts.map((one) => element("li", one)),
    ),
    about,
    back,
  );
}

/** @param {number} [total] */
const numbers = (total = 0) => [...Array(total).keys()];
/** @param {State} state */
const toStage = (state) => () => state.set({ cell: null }, true);

/** @param {string} text @param {(() => void) | null} click */
function crumb(text, click) {
  if (!click) return element("span", { "aria-current": "location" }, text);
  return element("button.link", { on: { click } }, text);
}

/**
 * @param {string} name
 * @param {(string | number)[]} values
 * @param {string | number | undefined} chosen
 * @param {OpenStage} open
 */
function picker(name, values, chosen, open) {
  /** @param {SelectEvent} event */
  const change = (event) =>
    open({ [name]: name === "part" ? event.target.value : Number(event.target.value) });
  return element(
    "label",
    name === "part" ? element("span.only-read", name) : `${name} `,
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
  const rows = labels(OF_KEYS.includes(stage) || !path ? now.keys : path.layer.tokens);
  const between = BETWEEN_WORDS.includes(stage);
  if (stage === "tokens") return rows[row];
  return `${rows[row]}, ${between ? labels(now.keys)[column] : column}`;
}
