// The map of a head as a panel: all its weights at once, down to single ones, with the part of the
// text that is in sight as a frame. Dragging the frame scrolls the text.
//
// Fields of the address: rows and columns ("from-to") in view.

import { element, frames, isAborted, problem, replace } from "../lib/dom.js";
import { arrangeMap, createPatch, paintMap } from "./map_canvas.js";
import { listenToMap } from "./map_input.js";
import { fullWindow, outward, readWindow, writeWindow, zoomed } from "./map_window.js";
import { shareWritten } from "./row_list.js";

const MAX_CELLS_PER_SIDE = 400;
const THOROUGH_DELAY_MS = 220; // of rest, after which a sample is made exact
const MIN_HANDLE_PIXELS = 14;

// handlers: pick([query, key]), point([query, key] or null), scroll(key) to the middle of the text
// in sight; nameAt(side, position).
// -> { root, open(run, choice, layer, named), mark({ row, column, seen }), patch(), told(at) ... }
/** @param {State} state @param {MapHandlers} handlers */
export function mapPanel(state, handlers) {
  const canvas = element("canvas.map-canvas", {
    tabindex: "0",
    role: "application",
    "aria-label":
      "The map: rows are queries, columns are keys. Arrow keys move, plus and minus enlarge, 0 " +
      "shows all of it, Enter chooses the query in the middle.",
  });
  const handle = element("div.seen-handle", {
    role: "scrollbar",
    tabindex: "0",
    title: "The part of the text in sight: drag it to scroll the text",
    "aria-label": "The part of the text in sight",
    "aria-orientation": "horizontal",
    "aria-valuemin": "0",
  });
  const what = element("p.small.quiet.map-what", { role: "status" });
  const frame = element("div.map-frame", canvas, handle);
  /** @type {MapPanelState} */
  const panel = {
    ...{ state, handlers, canvas, frame, handle, what },
    run: null,
    choice: null,
    size: { queries: 1, keys: 1, least: [1, 1] },
    window: { rows: [0, 1], columns: [0, 1] },
    layout: { left: 0, top: 0, side: 1, down: 1, words: false, width: 1, height: 1 },
    named: false,
    patches: [],
    base: null,
    at: null,
    marked: { row: null, column: null, seen: null },
    request: null,
    pending: null,
    thorough: false,
    rest: 0,
    paint: () => {},
  };
  panel.paint = frames(() => paintPanel(panel));
  const resized = new ResizeObserver(panel.paint);
  resized.observe(frame);
  listenToMap(panel, {
    moveTo: (window) => moveTo(panel, window),
    zoom: (factor, about) => zoom(panel, factor, about),
    pick: (at) => handlers.pick(at),
    point: (at) => {
      panel.at = at;
      panel.paint();
      handlers.point(at);
    },
  });
  listenToHandle(panel);
  /** @param {string} text @param {string} label @param {() => void} click */
  const button = (text, label, click) =>
    element("button.button", { "aria-label": label, on: { click } }, text);
  const zooms = element(
    "span.zoom",
    button("+", "Enlarge the map", () => zoom(panel, 0.5)),
    button("−", "Show more of the map", () => zoom(panel, 2)),
    button("All", "Show all of the map", () => moveTo(panel, fullWindow(panel.size))),
  );
  return {
    root: element("div.map-panel", frame, element("div.map-foot", what, zooms)),
    /**
     * @param {RunSource} run
     * @param {RunChoice} choice
     * @param {RunLayer} layer
     * @param {boolean} named
     */
    open(run, choice, layer, named) {
      const isSame = JSON.stringify(choice) === JSON.stringify(panel.choice) && panel.run === run;
      Object.assign(panel, { named, size: layer });
      if (isSame) {
        followWindow(panel);
        return;
      }
      panel.window = readWindow(state, layer);
      Object.assign(panel, { run, choice, base: null, patches: [] });
      refresh(panel);
    },
    follow: () => followWindow(panel),
    /** @param {Partial<MapMarks>} marked */
    mark(marked) {
      Object.assign(panel.marked, marked);
      panel.paint();
    },
    /** @param {number[] | null} at */
    point(at) {
      panel.at = at;
      panel.paint();
    },
    patch: () => panel.patches[panel.patches.length - 1] ?? null,
    /** @param {number[]} at */
    told: (at) => cellAt(panel, at),
    repaint() {
      for (const patch of panel.patches) patch.repaint();
      panel.paint();
    },
    close() {
      resized.disconnect();
      panel.pending?.abort();
      clearTimeout(panel.rest);
    },
  };
}

// Another window of the address, as after going back.
/** @param {MapPanelState} panel */
function followWindow(panel) {
  const { state, size } = panel;
  const inView = writeWindow(panel.window, size);
  if (state.get("rows") === (inView.rows || "") && state.get("columns") === (inView.columns || ""))
    return;
  panel.window = readWindow(state, size);
  panel.paint();
  refresh(panel);
}

// Look at another part: what is known is drawn at once, what is not is asked for.
/** @param {MapPanelState} panel @param {MapWindow} window */
function moveTo(panel, window) {
  panel.window = window;
  panel.state.set(writeWindow(window, panel.size));
  panel.paint();
  refresh(panel);
}

/** @param {MapPanelState} panel @param {number} factor @param {number[]} [about] */
function zoom(panel, factor, about = [0.5, 0.5]) {
  moveTo(panel, zoomed(panel.window, factor, about, panel.size));
}

const HINTS = {
  mouse: "Point, drag, turn the wheel; click a row to choose it.",
  finger: "Tap a row to choose it; drag, pinch with two fingers.",
};

export function mapHint() {
  return HINTS[matchMedia("(pointer: coarse)").matches ? "finger" : "mouse"];
}

// One question at a time; while one is under way the latest request waits.
/** @param {MapPanelState} panel */
async function refresh(panel) {
  panel.request = { window: panel.window, choice: panel.choice };
  clearTimeout(panel.rest);
  if (panel.pending) {
    if (panel.thorough) panel.pending.abort();
    return;
  }
  while (panel.request) {
    const { window } = panel.request;
    panel.request = null;
    const region = await ask(panel, window, false);
    if (region && region.better && !panel.request)
      panel.rest = setTimeout(() => ask(panel, window, true), THOROUGH_DELAY_MS);
  }
}

/** @param {MapPanelState} panel @param {MapWindow} window @param {boolean} thorough */
async function ask(panel, window, thorough) {
  const { run, choice, size } = panel;
  if (!run || !choice) return null;
  panel.pending = new AbortController();
  panel.thorough = thorough;
  const [rows, columns] = [outward(window.rows, size.queries), outward(window.columns, size.keys)];
  const cells = [rows, columns].map(([from, to]) => Math.min(MAX_CELLS_PER_SIDE, to - from));
  const { signal } = panel.pending;
  try {
    const region = await run.region(choice, { rows, columns, cells, thorough, signal });
    if (choice !== panel.choice || run !== panel.run) return null;
    show(panel, createPatch(region));
    return region;
  } catch (error) {
    if (!isAborted(error)) replace(panel.what, problem(error));
    return null;
  } finally {
    panel.pending = null;
    if (thorough && panel.request) refresh(panel);
  }
}

/** @param {MapPanelState} panel @param {Patch} patch */
function show(panel, patch) {
  if (!panel.base) panel.base = patch;
  panel.patches = panel.base === patch ? [patch] : [panel.base, patch];
  const strongest = `${shareWritten(patch.most)}${patch.isClipped ? " or more" : ""}`;
  const [down, across] = patch.spans.map((span, side) => Math.ceil(span / patch.cells[side]));
  const isSample = !patch.what.startsWith("exact");
  const cells =
    down * across > 1 ? `Cells of ${down} x ${across} tokens` : "Every cell is one weight";
  replace(
    panel.what,
    `${cells}, ${isSample ? "a sample" : "exact"}. Strongest shade: ${strongest}.`,
  );
  panel.what.title = patch.what;
  panel.paint();
}

/** @param {MapPanelState} panel */
function paintPanel(panel) {
  const { frame, canvas, size, window: view, marked } = panel;
  if (!frame.isConnected || !frame.clientWidth) return;
  // Where the map is all there is, it fits the window.
  const tall = frame.closest(".no-text") ? Math.max(280, window.innerHeight - 270) : 900;
  panel.layout = arrangeMap(frame.clientWidth, tall, size, panel.named);
  paintMap(
    canvas,
    {
      view,
      patches: panel.patches,
      at: panel.at,
      ...marked,
      nameAt: panel.handlers.nameAt,
    },
    panel.layout,
  );
  placeHandle(panel);
}

// The weight under a position, as far as what is drawn tells it.
/** @param {MapPanelState} panel @param {number[]} at */
function cellAt({ patches }, [query, key]) {
  for (const patch of [...patches].reverse()) {
    const [row, column] = [
      cellIndex(query, patch.rows, patch.spans[0], patch.cells[0]),
      cellIndex(key, patch.columns, patch.spans[1], patch.cells[1]),
    ];
    if (row < 0 || column < 0) continue;
    const isMean =
      patch.rows[1] - patch.rows[0] > patch.cells[0] ||
      patch.columns[1] - patch.columns[0] > patch.cells[1];
    return { weight: patch.values[row * patch.cells[1] + column], isMean };
  }
  return null;
}

// The last cell that begins at or before a position; none where that lies outside.
/** @param {number} position @param {Span} range @param {number} span @param {number} count */
function cellIndex(position, [from, to], span, count) {
  return position < from || position >= to
    ? -1
    : Math.floor(((position - from + 1) * count - 1) / span);
}

// The frame of the text in sight has a handle above the map.

/** @param {MapPanelState} panel */
function placeHandle({ handle, layout, window: view, marked, size }) {
  const { seen } = marked;
  const [from, to] = view.columns;
  handle.hidden = !seen || (seen[0] <= 0 && seen[1] >= size.keys);
  if (!seen || handle.hidden) return;
  const pixels = (/** @type {number} */ key) => ((key - from) / (to - from)) * layout.side;
  const wide = Math.max(MIN_HANDLE_PIXELS, pixels(seen[1]) - pixels(seen[0]));
  const middle = (pixels(seen[0]) + pixels(seen[1])) / 2;
  const left = Math.min(layout.side - wide, Math.max(0, middle - wide / 2));
  handle.style.setProperty("left", `${layout.left + left}px`);
  handle.style.setProperty("width", `${wide}px`);
  handle.style.setProperty("top", `${layout.top + layout.down - 4}px`);
  handle.setAttribute("aria-valuemax", String(size.keys));
  handle.setAttribute("aria-valuenow", String(seen[0]));
  handle.setAttribute("aria-valuetext", `tokens ${seen[0]} to ${seen[1] - 1}`);
}

/** @param {MapPanelState} panel */
function listenToHandle(panel) {
  const { handle, handlers } = panel;
  /** @type {{ x: number, middle: number } | null} */
  let drag = null;
  const middle = () => ((panel.marked.seen?.[0] ?? 0) + (panel.marked.seen?.[1] ?? 0)) / 2;
  const perPixel = () => (panel.window.columns[1] - panel.window.columns[0]) / panel.layout.side;
  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    drag = { x: event.clientX, middle: middle() };
  });
  handle.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const key = drag.middle + (event.clientX - drag.x) * perPixel();
    handlers.scroll(Math.max(0, Math.min(panel.size.keys - 1, Math.round(key))));
  });
  for (const name of /** @type {const} */ (["pointerup", "pointercancel"]))
    handle.addEventListener(name, () => {
      drag = null;
    });
  handle.addEventListener("keydown", (event) => {
    const long = (panel.marked.seen?.[1] ?? 1) - (panel.marked.seen?.[0] ?? 0);
    const goals = {
      ArrowLeft: middle() - long / 2,
      ArrowRight: middle() + long / 2,
      PageUp: middle() - long,
      PageDown: middle() + long,
      Home: 0,
      End: panel.size.keys - 1,
    };
    const goal = goals[/** @type {keyof typeof goals} */ (event.key)];
    if (goal === undefined) return;
    event.preventDefault();
    handlers.scroll(Math.max(0, Math.min(panel.size.keys - 1, Math.round(goal))));
  });
}
