// Two sides with lines as thick as the weights: queries on the left, keys on the right.
//
// The words are buttons, so that they can be focused and read aloud; everything that moves (lines
// and shares) is on one canvas behind them, as large as the window on the picture, so that a hover
// costs the same at any length.

import { element, frames, isCalm, percent, replace } from "../lib/dom.js";
import { colours, sized } from "../lib/draw.js";
import { MEANING_MS } from "../lib/motion.js";
import { largest, sums } from "./weights.js";

const SHARE_MARGIN_PIXELS = 52; // pixels outside the words, for their shares

// paint(canvas, scrolled, model, layout) draws between the sides, as paintLines does.
// handlers: hover(side, position or null), pick(side, position, event), span(side, from, to),
// clear()
// -> { root, show(model), mark(marks), close() }; model { grid, chosen, pinned, threshold, titles:
// [who asks, who answers] }
/** @param {WordHandlers} handlers @param {LinesPainter} [paint] */
export function linesPicture(handlers, paint = paintLines) {
  const canvas = element("canvas", { class: "threads", "aria-hidden": "true" });
  const lists = {
    query: element("ul", { class: "side asks", "aria-label": "Words that ask (queries)" }),
    key: element("ul", { class: "side answers", "aria-label": "Words that answer (keys)" }),
  };
  const scroller = element(
    "div",
    { class: "scroller" },
    canvas,
    element("div", { class: "sides" }, lists.query, lists.key),
  );
  const [asks, answers] = [element("span"), element("span")];
  const heads = element("div", { class: "side-titles" }, asks, answers);
  const root = element("div", { class: "lines" }, heads, scroller);
  /** @type {PictureModel | null} */
  let model = null;
  /** @type {LinesLayout} */
  let layout = { step: 0, side: 0, seen: 0, width: 0, words: { query: [], key: [] } };
  const motion = linesMotion();
  const draw = frames(() => {
    if (!model || !root.isConnected) return;
    lightWords(lists, model);
    const [grid, grown] = motion.now(model.grid);
    const isMoving = motion.isMoving();
    paint(canvas, scroller.scrollTop, { ...model, grid, grown, isMoving }, layout);
    if (isMoving) draw();
  });
  const resized = new ResizeObserver(() => {
    if (!model) return;
    layout = arrange(root, scroller, lists, model);
    draw();
  });
  resized.observe(root);
  scroller.addEventListener("scroll", draw);
  const unsubscribe = listenToWords(lists, handlers);

  return {
    root,
    /** @param {PictureModel} next */
    show(next) {
      // The same words stay as they are, and with them the focus, when only numbers are new.
      const fresh = !model || !sameWords(model, next);
      if (!model || model.grid !== next.grid) motion.start(model && model.grid);
      model = next;
      if (fresh) {
        fillSide(lists.query, "query", model.grid.queries);
        fillSide(lists.key, "key", model.grid.keys);
        replace(
          asks,
          model.titles[0],
          element("span", { class: "of-query" }, sideVerb(" asks", " (query)")),
        );
        replace(
          answers,
          model.titles[1],
          element("span", { class: "of-key" }, sideVerb(" answers", " (key)")),
        );
        layout = arrange(root, scroller, lists, model);
        scroller.scrollTop = linkTop(model, layout);
      }
      const { query = null, key = null } = model.until || {};
      if (!fresh && query !== null) keepInSight(scroller, query, layout);
      veilWords(lists.query, query);
      veilWords(lists.key, key);
      pressWords(lists.query, model.pinned.queries);
      pressWords(lists.key, model.pinned.keys);
      draw();
    },
    // differing: keys that another sentence has as other words; moving: queries that look elsewhere
    // in the other picture
    /** @param {{ differing?: number[], moving?: number[] }} marks */
    mark({ differing = [], moving = [] }) {
      markWords(lists.key, differing, "differs");
      markWords(lists.query, moving, "moves");
    },
    close() {
      resized.disconnect();
      unsubscribe();
    },
  };
}

// Lines of new words grow from the word that looks; those of as many words, in another head or
// sentence, pass from the old weights to the new ones.
function linesMotion() {
  let begun = -Infinity;
  /** @type {Grid | null} */
  let before = null;
  const share = () => Math.min(1, (performance.now() - begun) / MEANING_MS);
  return {
    /** @param {Grid | null} grid */
    start(grid) {
      if (isCalm()) return;
      before = grid;
      begun = performance.now();
    },
    isMoving: () => share() < 1,
    // -> the grid to paint, and how far its lines have grown
    /** @param {Grid} grid @returns {[Grid, number]} */
    now(grid) {
      if (share() >= 1) return [grid, 1];
      const eased = 1 - (1 - share()) ** 3;
      if (!before || before.rows !== grid.rows || before.columns !== grid.columns)
        return [grid, eased];
      const old = before.weights;
      const weights = grid.weights.map((weight, at) => old[at] + eased * (weight - old[at]));
      return [{ ...grid, weights }, 1];
    },
  };
}

// How far a long text is scrolled at first: to the middle between a chosen word and the one that it
// looks at most, or to the chosen word where they do not fit together.
/** @param {PictureModel} model @param {LinesLayout} layout */
function linkTop({ grid, pinned }, { step, seen }) {
  const [word] = [...pinned.queries, ...pinned.keys];
  if (word === undefined) return 0;
  const row = grid.weights.subarray(word * grid.columns, (word + 1) * grid.columns);
  const [other = word] = pinned.queries.length ? largest(row, 1) : [];
  const isTogether = (Math.abs(other - word) + 2) * step < seen;
  return ((isTogether ? (word + other) / 2 : word) + 0.5) * step - seen / 2;
}

/** @param {PictureModel} one @param {PictureModel} other */
function sameWords(one, other) {
  /** @param {string[]} a @param {string[]} b */
  const same = (a, b) => a.length === b.length && a.every((name, i) => name === b[i]);
  const sides = [
    [one.grid.queries, other.grid.queries],
    [one.grid.keys, other.grid.keys],
    [one.titles, other.titles],
  ];
  return sides.every(([a, b]) => same(a, b));
}

// The field's word beside the plain one, where there is room.
/** @param {string} verb @param {string} term */
function sideVerb(verb, term) {
  return element("small", null, verb, element("span", { class: "roomy" }, term));
}

/** @param {HTMLUListElement} list @param {SideName} side @param {string[]} names */
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

/** @param {HTMLElement} list @param {number} position */
function wordButton(list, position) {
  return list.children[position]?.querySelector("button");
}

/** @param {HTMLElement} list */
function wordButtons(list) {
  return [...list.querySelectorAll("button")];
}

/** @param {HTMLUListElement} list @param {number[]} positions @param {string} name */
function markWords(list, positions, name) {
  for (const button of list.querySelectorAll(`.${name}`)) button.classList.remove(name);
  for (const position of positions) wordButton(list, position)?.classList.add(name);
}

// Scrolls where a row has left the window on a long text.
/** @param {HTMLElement} scroller @param {number} row @param {LinesLayout} linesLayout */
function keepInSight(scroller, row, { step, seen }) {
  const top = row * step - scroller.scrollTop;
  if (top < 0 || top + step > seen) scroller.scrollTop = (row + 0.5) * step - seen / 2;
}

// Words that are not written yet, after a position; null is none.
/** @param {HTMLUListElement} list @param {number | null} until */
function veilWords(list, until) {
  wordButtons(list).forEach((button, position) =>
    button.classList.toggle("later", until !== null && position > until),
  );
}

/** @param {HTMLUListElement} list @param {number[]} pinned */
function pressWords(list, pinned) {
  const now = new Set(pinned);
  /** @type {NodeListOf<HTMLElement>} */
  const pressed = list.querySelectorAll("[aria-pressed]");
  for (const button of pressed) {
    if (!now.has(Number(button.dataset.position))) button.removeAttribute("aria-pressed");
  }
  for (const position of now) wordButton(list, position)?.setAttribute("aria-pressed", "true");
}

// While some words are chosen the others step back, except those they look at.
/**
 * @param {{ query: HTMLUListElement; key: HTMLUListElement; }} lists
 * @param {PictureModel} pictureModel
 */
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
    wordButton(lists.key, position)?.classList.add("lit");
  for (const position of ask) wordButton(lists.query, position)?.classList.add("lit");
}

// On a phone the picture stays on the screen together with the heads below it.
function mostSeen() {
  return window.innerWidth <= 640
    ? [240, Math.round(window.innerHeight * 0.42)]
    : [360, Math.round(window.innerHeight * 0.78)];
}

// Sizes in pixels: a word's line, its letters, a side, the whole, and what is seen of it at a time.
/**
 * @param {HTMLDivElement} root
 * @param {HTMLElement} scroller
 * @param {{ query: HTMLUListElement; key: HTMLUListElement; }} lists
 * @param {PictureModel} pictureModel
 */
function arrange(root, scroller, lists, { grid }) {
  const most = Math.max(grid.rows, grid.columns);
  const width = root.clientWidth || 600;
  const narrow = width < 480;
  root.classList.toggle("narrow", narrow);
  const step = most <= 16 ? (narrow ? 28 : 34) : most <= 40 ? 27 : 20;
  const word = step > 27 ? (narrow ? 16.5 : 19.5) : step > 24 ? 15.5 : 13;
  const longest = Math.max(
    1,
    ...grid.queries.map((name) => name.length),
    ...grid.keys.map((name) => name.length),
  );
  const outside = narrow ? 40 : SHARE_MARGIN_PIXELS;
  const side = Math.min(
    Math.max(44, longest * word * (narrow ? 0.64 : 0.58) + 18) + outside,
    width * 0.41,
  );
  const tall = most * step;
  const seen = Math.min(tall, Math.max(...mostSeen()));
  for (const [name, size] of Object.entries({ step, word, side, tall, seen }))
    root.style.setProperty(`--${name}`, `${size}px`);
  scroller.classList.toggle("long", tall > seen);
  /** @param {HTMLElement} list */
  const widths = (list) => wordButtons(list).map((button) => button.offsetWidth);
  const words = { query: widths(lists.query), key: widths(lists.key) };
  return { step, side, seen, width: scroller.clientWidth || width, words };
}

// The canvas between the two sides: lines, and the shares of the words that answer.

const MAX_LINES = 1500; // of all words together: more than an eye can part
const MAX_LINES_OF_WORD = 120; // of one word: the strongest
const MIN_LINE_WEIGHT = 0.004; // weights below are not drawn while all words are
const LINE_GAP_PIXELS = 8; // pixels between a line and its word

// layout { step, side, seen, width, words: the width of each word } in pixels; top: how far the
// picture is scrolled.
// grown: how far lines have grown, from 0 to 1.
/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} top
 * @param {PictureModel & { grown: number, isMoving?: boolean }} model
 * @param {LinesLayout} layout
 */
function paintLines(canvas, top, { grid, chosen, threshold, grown = 1, isMoving }, layout) {
  const context = sized(canvas, layout.width, layout.seen);
  const { step, side, width } = layout;
  const pen = {
    ...layout,
    context,
    threshold,
    grown,
    isMoving,
    thick: Math.min(17, step * 0.52),
    left: side + LINE_GAP_PIXELS,
    right: width - side - LINE_GAP_PIXELS,
    /** @param {number} position */
    y: (position) => (position + 0.5) * step - top,
  };
  if (chosen.queries.length) paintAsking(pen, grid, chosen);
  else if (chosen.keys.length) paintAnswering(pen, grid, chosen);
  else paintAll(pen, grid);
}

// Where the chosen words look, or how much of that goes to chosen keys.
/** @param {Pen} pen @param {Grid} grid @param {Chosen} chosen */
function paintAsking(pen, grid, chosen) {
  for (const q of chosen.queries) {
    const row = grid.weights.subarray(q * grid.columns, (q + 1) * grid.columns);
    const keys = chosen.keys.length
      ? chosen.keys
      : largest(row, MAX_LINES_OF_WORD, pen.threshold).reverse();
    for (const k of keys) thread(pen, q, k, row[k], colours().accent);
  }
  const shares = sums(grid, chosen).keys.map((weight) => weight / chosen.queries.length);
  paintShares(pen, "key", shares, chosen.keys);
}

// Who looks at the chosen words.
/** @param {Pen} pen @param {Grid} grid @param {Chosen} chosen */
function paintAnswering(pen, grid, chosen) {
  for (const k of chosen.keys) {
    const column = Float32Array.from(
      { length: grid.rows },
      (_, q) => grid.weights[q * grid.columns + k],
    );
    for (const q of largest(column, MAX_LINES_OF_WORD, pen.threshold).reverse())
      thread(pen, q, k, column[q], colours().accent);
  }
  paintShares(pen, "query", sums(grid, chosen).queries, []);
}

// All lines of the words in sight, the strongest in front.
/** @param {Pen} pen @param {Grid} grid */
function paintAll(pen, { rows, columns, weights }) {
  const first = Math.max(0, Math.floor(-pen.y(0) / pen.step) - 2);
  const last = Math.min(rows, first + Math.ceil(pen.seen / pen.step) + 4);
  const least = Math.max(pen.threshold, MIN_LINE_WEIGHT);
  const shown = [];
  for (let at = first * columns; at < last * columns; at++)
    if (weights[at] >= least) shown.push(at);
  shown.sort((a, b) => weights[a] - weights[b]);
  for (const at of shown.slice(-MAX_LINES)) {
    thread(
      pen,
      Math.floor(at / columns),
      at % columns,
      weights[at],
      colours().scale[Math.round(110 + 110 * weights[at])],
    );
  }
}

/**
 * @param {Pen} pen
 * @param {number} q
 * @param {number} k
 * @param {number} weight
 * @param {string} colour
 */
function thread(pen, q, k, weight, colour) {
  const { context, threshold, left, right, y, thick, seen, grown } = pen;
  if (weight < threshold || weight <= 0) return;
  const [from, to] = [y(q), y(k)];
  if (Math.max(from, to) < -20 || Math.min(from, to) > seen + 20) return;
  const middle = (left + right) / 2;
  context.strokeStyle = colour;
  context.globalAlpha = Math.min(1, 0.07 + 0.93 * Math.sqrt(weight));
  context.lineWidth = Math.max(0.6, weight * thick);
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(left, from);
  const [x1, x2, x3] = beginning([left, middle, middle, right], grown);
  const [y1, y2, y3] = beginning([from, from, to, to], grown);
  context.bezierCurveTo(x1, y1, x2, y2, x3, y3);
  context.stroke();
  context.globalAlpha = 1;
}

// The control points, after the first, of the first share of a cubic curve (de Casteljau).
/** @param {number[]} points @param {number} share */
function beginning([a, b, c, d], share) {
  if (share >= 1) return [b, c, d];
  /** @param {number} one @param {number} other */
  const between = (one, other) => one + share * (other - one);
  const [ab, bc, cd] = [between(a, b), between(b, c), between(c, d)];
  const [abc, bcd] = [between(ab, bc), between(bc, cd)];
  return [ab, abc, between(abc, bcd)];
}

// The share of each word that answers, outside of it; only says which words alone have one.
/**
 * @param {Pen} pen
 * @param {SideName} side
 * @param {Float32Array} shares
 * @param {number[]} only
 */
function paintShares(pen, side, shares, only) {
  const { context, step, y, seen, left, right, words, isMoving } = pen;
  if (isMoving) return; // numbers come once, when the lines have arrived
  const { ink, soft, faint } = colours();
  const family = getComputedStyle(document.body).fontFamily;
  context.textBaseline = "middle";
  context.textAlign = side === "key" ? "left" : "right";
  shares.forEach((share, position) => {
    const at = y(position);
    if (
      share < 0.005 ||
      at < -step ||
      at > seen + step ||
      (only.length && !only.includes(position))
    )
      return;
    context.font = `${share >= 0.1 ? 600 : 400} ${step > 30 ? 13 : 11}px ${family}`;
    context.fillStyle = share >= 0.1 ? ink : share >= 0.03 ? soft : faint;
    const beyond = LINE_GAP_PIXELS + words[side][position] + 8;
    context.fillText(percent(share), side === "key" ? right + beyond : left - beyond, at + 1);
  });
}

// Pointing at words, clicking them, dragging over them, and all of it by keyboard.

/** @type {Record<string, number>} */
const STEPS_OF_KEYS = { ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity };

// lists { query, key }; returns a function that stops listening.
/**
 * @param {{ query: HTMLUListElement; key: HTMLUListElement; }} lists
 * @param {WordHandlers} handlers
 */
function listenToWords(lists, handlers) {
  /** @type {{ side: SideName, position: number, moved: boolean } | null} */
  let drag = null; // where a drag began: { side, position, moved }
  /** @type {number | null} */
  let anchor = null; // where a span by keyboard began
  /** @type {number[] | null} */
  let pointer = null; // where it was moved to last
  /** @param {PointerEvent} event */
  const moved = (event) => {
    pointer = [event.clientX, event.clientY];
  };
  /** @param {Event} event */
  const eventPosition = (event) => {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    return button ? Number(button.dataset.position) : null;
  };
  for (const side of /** @type {SideName[]} */ (["query", "key"])) {
    const list = lists[side];
    list.addEventListener("pointerover", (event) => {
      const position = eventPosition(event);
      if (position === null) return;
      // A page that moves under a pointer at rest is not pointed at.
      if (pointer && pointer[0] === event.clientX && pointer[1] === event.clientY) return;
      if (!drag) handlers.hover(side, position);
      else if (drag.side === side && event.buttons === 1 && position !== drag.position) {
        drag.moved = true;
        handlers.span(side, drag.position, position);
      }
    });
    list.addEventListener("pointerleave", () => handlers.hover(side, null));
    list.addEventListener("pointerdown", (event) => {
      const position = eventPosition(event);
      if (position === null || event.button) return;
      drag =
        event.shiftKey || event.pointerType === "touch" ? null : { side, position, moved: false };
    });
    list.addEventListener("pointerup", (event) => {
      const position = eventPosition(event);
      if (position === null || !drag || drag.side !== "query" || side !== "key") return;
      handlers.drop?.(drag.position, position);
    });
    list.addEventListener("click", (event) => {
      const position = eventPosition(event);
      if (position !== null && !(drag && drag.moved)) handlers.pick(side, position, event);
      drag = null;
    });
    list.addEventListener("focusin", (event) => {
      if (event.target instanceof Element && event.target.matches(":focus-visible"))
        handlers.hover(side, eventPosition(event));
    });
    list.addEventListener("focusout", () => handlers.hover(side, null));
    list.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        handlers.clear?.();
        return;
      }
      const position = eventPosition(event);
      if (position === null) return;
      const next = nextWord(event.key, lists, side, position);
      if (!next) return;
      event.preventDefault();
      wordButton(list, position)?.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
      anchor = event.shiftKey ? (anchor ?? position) : null;
      if (anchor !== null && next.dataset.side === side)
        handlers.span(side, anchor, Number(next.dataset.position));
    });
  }
  // A drag that ends elsewhere ends too; the click that may follow comes first.
  const lift = () => {
    if (drag)
      setTimeout(() => {
        drag = null;
      });
  };
  window.addEventListener("pointerup", lift);
  window.addEventListener("pointermove", moved);
  return () => {
    window.removeEventListener("pointerup", lift);
    window.removeEventListener("pointermove", moved);
  };
}

// The word that an arrow leads to: up and down a side, left and right between them.
/**
 * @param {string} key
 * @param {WordLists} lists
 * @param {SideName} side
 * @param {number} position
 */
function nextWord(key, lists, side, position) {
  /** @param {HTMLElement} list @param {number} to */
  const at = (list, to) => wordButton(list, Math.max(0, Math.min(list.children.length - 1, to)));
  if (key in STEPS_OF_KEYS) return at(lists[side], position + STEPS_OF_KEYS[key]);
  if (key === "ArrowRight" && side === "query") return at(lists.key, position);
  if (key === "ArrowLeft" && side === "key") return at(lists.query, position);
  return null;
}
