// The heads of a run, ranked: a small picture and one telling word each. Pointing at one shows the
// chosen token there.
//
// Field of the address: by, the measure that ranks them.

import { element, percent, replace } from "../lib/dom.js";
import { heatPixels, sized } from "../lib/draw.js";
import { walkHeads } from "../lib/heads.js";

const HEADS_AT_FIRST = 36;
const LINK_EXCESS = 0.3; // from here on a link says more than "few" or "mixed"
const UNTOLD = ["", "few", "mixed", "even"];
/** @type {Record<string, string>} */
const MARKS = { right: "✓", wrong: "✗", "not j": "–" }; // by what a verdict begins with
/** @type {[string, string][]} */
const ORDERS = [
  ["telling", "most telling"],
  ["previous", "previous token"],
  ["induction", "induction"],
  ["duplicate", "same token"],
  ["next", "next token"],
  ["itself", "the token itself"],
  ["first", "first token"],
  ["entropy", "least spread"],
  ["layer", "layer and head"],
];

// handlers: choose(place), hover(place or null), arrange(order), name(query or key of a link)
// -> { root, show(model), repaint(), close() }
/** @param {HeadsListHandlers} handlers */
export function headsList(handlers) {
  const order = element("select.small", {
    "aria-label": "Order of the heads",
    on: { change: ({ target }) => handlers.arrange(target.value) },
  });
  const label = element("h2.panel-title");
  const canvas = element("canvas", { "aria-hidden": "true" });
  const grid = element("div.ranked", { role: "group", "aria-label": "Heads" });
  const more = element("button.link.small", {
    on: {
      click: () => {
        shown = Infinity;
        redraw();
      },
    },
  });
  const root = element(
    "div.heads-list",
    element("div.panel-head", label, order),
    element("div.ranked-frame", grid),
    more,
  );
  let shown = HEADS_AT_FIRST;
  let drawn = "";
  /** @type {HeadsListModel | null} */
  let model = null;
  /** @type {Thumbnails | null} */
  let pictures = null;
  const resized = new ResizeObserver(() => paint());
  resized.observe(grid);
  grid.addEventListener("keydown", (event) => walkHeads(event, headButtons(grid)));

  function redraw() {
    if (!model) return;
    const { heads, by, links } = model;
    const ranked = rankedHeads(heads, by, links);
    const few = ranked.slice(0, shown);
    const request = JSON.stringify([
      by,
      shown,
      heads.length,
      heads[0]?.part,
      links && by === "link",
    ]);
    if (request !== drawn || by === "link") {
      drawn = request;
      replace(
        grid,
        canvas,
        few.map((head, at) => headButton(head, at, model, handlers)),
      );
    }
    more.hidden = ranked.length <= few.length;
    replace(more, `Show all ${ranked.length} heads`);
    for (const button of headButtons(grid)) {
      const isChosen =
        Number(button.dataset.layer) === model.choice.layer &&
        Number(button.dataset.head) === model.choice.head;
      if (isChosen) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    paint();
  }

  function paint() {
    if (!model || !pictures || !pictures.weights.length || !grid.clientWidth) return;
    const { rows, columns, weights } = pictures;
    const context = sized(canvas, grid.clientWidth, grid.clientHeight);
    context.imageSmoothingEnabled = false;
    const pixels = document.createElement("canvas");
    for (const button of headButtons(grid)) {
      const start = Number(button.dataset.number) * rows * columns;
      const most = largestOf(weights, start, rows * columns);
      heatPixels(
        pixels,
        rows,
        columns,
        (row, column) => weights[start + row * columns + column] / most,
      );
      const thumb = /** @type {HTMLElement} */ (button.firstElementChild);
      const [left, top] = [
        button.offsetLeft + thumb.offsetLeft,
        button.offsetTop + thumb.offsetTop,
      ];
      context.drawImage(pixels, left, top, thumb.offsetWidth, thumb.offsetHeight);
    }
  }

  return {
    root,
    /** @param {HeadsListModel} next */
    show(next) {
      const isNew = model?.part !== next.part;
      if (isNew) [pictures, drawn] = [null, ""];
      model = next;
      label.textContent = `${next.heads.length.toLocaleString("en")} heads`;
      fillOrders(order, next);
      redraw();
      if (isNew)
        next.thumbnails().then(
          (made) => {
            if (model?.part !== next.part) return;
            pictures = made;
            paint();
          },
          () => {},
        );
    },
    repaint: paint,
    close: () => resized.disconnect(),
  };
}

/** @param {HTMLElement} grid @returns {HTMLButtonElement[]} */
function headButtons(grid) {
  return [...grid.querySelectorAll("button")];
}

/** @param {HTMLSelectElement} order @param {HeadsListModel} model */
function fillOrders(order, { heads, by, linkName }) {
  const isMeasured = heads.some((head) => head.measures);
  const orders = ORDERS.filter(([name]) => isMeasured || name === "telling" || name === "layer");
  if (linkName) orders.splice(1, 0, ["link", linkName]);
  replace(
    order,
    orders.map(([value, text]) =>
      element("option", { value, selected: value === by }, `by ${text}`.replace("by most", "most")),
    ),
  );
}

/** @param {RunHead[]} heads @param {string} by @param {Map<string, number> | null} links */
function rankedHeads(heads, by, links) {
  if (by === "telling") return heads;
  if (by === "layer")
    return [...heads].sort((one, other) => one.layer - other.layer || one.head - other.head);
  if (by === "link" && links)
    return [...heads].sort(
      (one, other) => (links.get(headKey(other)) ?? 0) - (links.get(headKey(one)) ?? 0),
    );
  /** @param {RunHead} head */
  const value = ({ measures }) => {
    const [measured, baseline] = measures?.[by] ?? [0, 0];
    return by === "entropy" ? baseline - measured : measured - baseline;
  };
  return [...heads].sort((one, other) => value(other) - value(one));
}

/** @param {{ layer: number, head: number }} place */
export function headKey({ layer, head }) {
  return `${layer}.${head}`;
}

/**
 * @param {RunHead} head
 * @param {number} at
 * @param {HeadsListModel | null} model
 * @param {HeadsListHandlers} handlers
 */
function headButton(head, at, model, handlers) {
  const { part, layer, label, judged } = head;
  const place = { part, layer, head: head.head };
  const name = `layer ${layer}, head ${head.head}${judged ? `, ${judged}` : ""}`;
  const [key, word] = [headKey(head), headWord(head, model, handlers)];
  const mark = judged ? element("i.judged", ` ${MARKS[judged.slice(0, 5)]}`) : null;
  /** @type {RunChoice | null} */
  let pointed = null;
  return element(
    "button.head",
    {
      title: label ? `${name}: ${label}` : name,
      "aria-label": `${key} ${word}, ${name}${label ? `: ${label}` : ""}`, // what is seen, first
      "data-layer": layer,
      "data-head": head.head,
      "data-number": model?.numberOf(head) ?? 0,
      tabindex: at ? "-1" : "0",
      on: {
        click: () => handlers.choose(place),
        // Not what comes to lie under a pointer that rests: only what it is moved to.
        pointermove: (event) => {
          if (event.pointerType !== "mouse" || pointed === place) return;
          pointed = place;
          handlers.hover(place);
        },
        pointerleave: () => {
          if (pointed) handlers.hover(null);
          pointed = null;
        },
        focus: () => handlers.hover(null),
      },
    },
    element("span.thumb"),
    element("span.head-label", element("b", key), " ", element("span", word), mark),
  );
}

// What a head does, in a word: by the measure that ranks it its share, else what names it, else its
// most telling link.
/**
 * @param {RunHead} head
 * @param {HeadsListModel | null} model
 * @param {HeadsListHandlers} handlers
 */
function headWord(head, model, handlers) {
  const by = model?.by ?? "telling";
  if (by === "link") return percent(model?.links?.get(headKey(head)) ?? 0);
  const [measured] = head.measures?.[by] ?? [];
  if (by === "entropy" && measured !== undefined) return `${measured.toFixed(1)} nats`;
  if (measured !== undefined) return percent(measured);
  const { link, word } = head;
  if (link && UNTOLD.includes(word) && link.excess >= LINK_EXCESS)
    return `${handlers.name("query", link.query)} → ${handlers.name("key", link.key)}`;
  return word;
}

/** @param {Float32Array} weights @param {number} start @param {number} count */
function largestOf(weights, start, count) {
  let most = 0;
  for (let at = start; at < start + count; at++) if (weights[at] > most) most = weights[at];
  return most || 1;
}
