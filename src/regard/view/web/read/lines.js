// Two sides with lines as thick as the weights: queries on the left, keys on the right.
//
// The words are buttons, so that they can be focused and read aloud; everything that moves (lines
// and shares) is on one canvas behind them, as large as the window on the picture, so that a hover
// costs the same at any length.

import { element, frames, replace } from "../lib/dom.js";
import { paintLines } from "./lines_paint.js";
import { listenToWords } from "./lines_words.js";
import { largest, sums } from "./weights.js";

const OUTSIDE = 52; // pixels outside the words, for their shares

// handlers: hover(side, position or null), pick(side, position, event), span(side, from, to),
// clear()
// -> { root, show(model), close() }; model { grid, chosen, pinned, threshold, titles: [who asks,
// who answers] }
export function linesPicture(handlers) {
  const canvas = element("canvas", { class: "threads", "aria-hidden": "true" });
  const lists = {
    query: element("ul", { class: "side asks" }),
    key: element("ul", { class: "side answers" }),
  };
  const scroller = element(
    "div",
    { class: "scroller" },
    canvas,
    element("div", { class: "sides" }, lists.query, lists.key),
  );
  const heads = element("div", { class: "side-titles" }, element("span"), element("span"));
  const root = element("div", { class: "lines" }, heads, scroller);
  let model = null;
  let layout = null;
  const draw = frames(() => {
    if (!model || !root.isConnected) return;
    lightWords(lists, model);
    paintLines(canvas, scroller.scrollTop, model, layout);
  });
  const arranged = () => {
    layout = arrange(root, scroller, lists, model);
  };
  const resized = new ResizeObserver(() => {
    if (model) {
      arranged();
      draw();
    }
  });
  resized.observe(root);
  scroller.addEventListener("scroll", draw);
  const deaf = listenToWords(lists, handlers);

  return {
    root,
    show(next) {
      // The same words stay as they are, and with them the focus, when only numbers are new.
      const fresh = !model || !sameWords(model, next);
      model = next;
      if (fresh) {
        fillSide(lists.query, "query", model.grid.queries);
        fillSide(lists.key, "key", model.grid.keys);
        replace(heads.firstChild, model.titles[0], element("small", null, " asks"));
        replace(heads.lastChild, model.titles[1], element("small", null, " answers"));
        arranged();
        const [first] = [...model.pinned.queries, ...model.pinned.keys];
        scroller.scrollTop =
          first === undefined ? 0 : (first + 0.5) * layout.step - layout.seen / 2;
      }
      pressWords(lists.query, model.pinned.queries);
      pressWords(lists.key, model.pinned.keys);
      draw();
    },
    close() {
      resized.disconnect();
      deaf();
    },
  };
}

function sameWords(one, other) {
  const same = (a, b) => a.length === b.length && a.every((name, i) => name === b[i]);
  const sides = [
    [one.grid.queries, other.grid.queries],
    [one.grid.keys, other.grid.keys],
    [one.titles, other.titles],
  ];
  return sides.every(([a, b]) => same(a, b));
}

function fillSide(list, side, names) {
  replace(
    list,
    names.map((name, position) =>
      element(
        "li",
        null,
        element(
          "button",
          {
            type: "button",
            "data-position": position,
            "data-side": side,
            tabindex: position ? "-1" : "0",
            title: name.length > 14 ? name : null,
          },
          name,
        ),
      ),
    ),
  );
}

function pressWords(list, pinned) {
  const now = new Set(pinned);
  for (const button of list.querySelectorAll("[aria-pressed]")) {
    if (!now.has(Number(button.dataset.position))) button.removeAttribute("aria-pressed");
  }
  for (const position of now)
    list.children[position]?.firstChild.setAttribute("aria-pressed", "true");
}

// While some words are chosen the others step back, except those they look at.
function lightWords(lists, { grid, chosen }) {
  const { queries, keys } = chosen;
  const some = queries.length + keys.length > 0;
  for (const list of Object.values(lists)) {
    list.classList.toggle("back", some);
    for (const markedAs of list.querySelectorAll(".lit")) markedAs.classList.remove("lit");
  }
  if (!some) return;
  const added = sums(grid, chosen);
  const answer = queries.length ? largest(added.keys, 24, 0.05 * queries.length) : [];
  const ask = queries.length ? queries : largest(added.queries, 24, 0.05);
  for (const position of [...answer, ...keys])
    lists.key.children[position].firstChild.classList.add("lit");
  for (const position of ask) lists.query.children[position].firstChild.classList.add("lit");
}

// Sizes in pixels: a word's line, its letters, a side, the whole, and what is seen of it at a time.
function arrange(root, scroller, lists, { grid }) {
  const most = Math.max(grid.rows, grid.columns);
  const width = root.clientWidth || 600;
  const step = most <= 16 ? 34 : most <= 40 ? 27 : 20;
  const word = step > 30 ? (width < 480 ? 16.5 : 19.5) : step > 24 ? 15.5 : 13;
  const longest = Math.max(
    1,
    ...grid.queries.map((name) => name.length),
    ...grid.keys.map((name) => name.length),
  );
  const side = Math.min(Math.max(50, longest * word * 0.54 + 12) + OUTSIDE, width * 0.41);
  const tall = most * step;
  const seen = Math.min(tall, Math.max(360, Math.round(window.innerHeight * 0.78)));
  for (const [name, size] of Object.entries({ step, word, side, tall, seen }))
    root.style.setProperty(`--${name}`, `${size}px`);
  scroller.classList.toggle("long", tall > seen);
  const widths = (list) => [...list.children].map((item) => item.firstChild.offsetWidth);
  const words = { query: widths(lists.query), key: widths(lists.key) };
  return { step, side, seen, width: scroller.clientWidth || width, words };
}
