// The Map view: all weights of a head at once, down to single ones, whatever the length of the
// text.
//
// Fields of the address: file, layer, head, rows and columns ("from-to"), row (the query pinned),
// shades (the weight of the strongest shade, where it is fixed), order (of the heads); without a
// file, sentence and part as in the Read view.

import { triedOn } from "../read/experiment.js";
import { announce, element, frames, isAborted, labelled, problem, replace } from "../lib/dom.js";
import { describeExport, FIGURE_AXES } from "../lib/export.js";
import { touches } from "../lib/state.js";
import { headsGrid } from "../read/heads_grid.js";
import { arrangeMap, paintMap, createPatch, shadeScale } from "./canvas.js";
import { availableMaps, nameAt, prefetchNames } from "./data.js";
import { listenToMap, pointAt, pointerHint } from "./input.js";
import { mapTable, rowPanel, shareWritten } from "./row.js";
import {
  cellStart,
  MIN_WINDOW_CELLS,
  fullWindow,
  outward,
  readWindow,
  writeWindow,
  zoomed,
} from "./window.js";

const MAP_FIELDS = ["file", "layer", "head", "sentence", "part", "order"];
const MAX_CELLS_PER_SIDE = 400;
const NO_FINER = {
  file:
    "To see single weights, save with query and key: seen.save(path, query_and_key=True), or " +
    "regard watch ... --keep LAYERS.",
  page: "To look closer, open the .regard file itself: regard open FILE.regard.",
};
const THOROUGH_DELAY_MS = 220; // milliseconds of rest after which a sample is made exact

/** @param {HTMLElement} root @param {State} state @param {Source} source */
export async function showMap(root, state, source) {
  const maps = await availableMaps(source, state);
  /** @param {"h1" | "div" | "p"} tag @param {string} name @returns {HTMLElement} */
  const part = (tag, name) => element(tag, { class: name });
  const canvas = element("canvas", {
    class: "map-canvas",
    tabindex: "0",
    role: "application",
    "aria-label":
      "The map. Arrow keys move, plus and minus enlarge, 0 shows all of it, " +
      "Enter pins the query in the middle.",
  });
  const tableBox = part("div", "wide");
  const table = element(
    "details",
    { class: "as-table", on: { toggle: () => drawTable(view) } },
    element("summary", null, "As a table"),
    tableBox,
  );
  // What is not here comes with the first map, before anything is drawn.
  /** @type {MapStart} */
  const start = {
    state,
    maps,
    file: null,
    patches: [],
    base: null,
    at: null,
    pinned: null,
    texts: new Map(),
    request: null,
    pending: null,
    thorough: false,
    rest: 0,
    paint: frames(() => paintView(view)),
    statement: part("h1", "statement"),
    controls: part("div", "controls"),
    trouble: part("div", "trouble"),
    what: element("p", { class: "small quiet", role: "status" }),
    strips: part("p", "small quiet"),
    cursor: element("p", { class: "small cursor" }, pointerHint()),
    canvas,
    frame: element("div", { class: "map-frame" }, canvas),
    row: rowPanel(() => pin(view, null)),
    scale: shadeScale((most) => state.set({ shades: most })),
    heads: mapHeads(state),
    notes: part("div", "notes small quiet"),
    table,
    tableBox,
  };
  const view = /** @type {MapView} */ (start);
  root.append(
    element(
      "div",
      { class: "columns" },
      element(
        "section",
        { class: "main", "aria-label": "The map" },
        element("div", { class: "saying" }, view.statement),
        view.controls,
        view.trouble,
        view.what,
        view.scale.root,
        view.frame,
        view.strips,
        view.table,
        view.notes,
      ),
      element(
        "aside",
        { class: "map-side", "aria-label": "What is under the pointer, and what a query looks at" },
        element("div", { class: "map-words" }, view.cursor, view.row.root),
        view.heads.root,
      ),
    ),
  );
  const resized = new ResizeObserver(view.paint);
  resized.observe(view.frame);
  const recoloured = () => {
    for (const patch of view.patches) patch.repaint();
    view.scale.repaint();
    view.heads.repaint();
    view.paint();
  };
  window.addEventListener("colours", recoloured);
  listenToMap(view, {
    moveTo: (next) => moveTo(view, next),
    zoom: (factor, about) => zoom(view, factor, about),
    pin: (query) => pin(view, query),
    point: (at) => pointAt(view, at),
  });
  describeExport(() => mapFigure(view, source));
  state.follow((changed) => {
    if (touches(changed, MAP_FIELDS))
      openMap(view).catch((error) => replace(view.trouble, problem(error)));
    else if (changed.has("shades")) rescale(view);
    else followWindow(view, changed);
  });
  await openMap(view);
  return () => {
    resized.disconnect();
    window.removeEventListener("colours", recoloured);
    view.heads.close();
    if (view.pending) view.pending.abort();
    clearTimeout(view.rest);
  };
}

/** @param {MapView} view */
async function openMap(view) {
  const { state, maps } = view;
  replace(view.trouble);
  const file = Math.min(Math.max(0, state.number("file", 0)), Math.max(0, maps.names.length - 1));
  if (!view.map || file !== view.file)
    [view.map, view.file, view.base] = [await maps.open(file), file, null];
  const { about } = view.map;
  const first = about.first || { layer: 0, head: 0 };
  /** @param {"layer" | "head"} name @param {number} most */
  const within = (name, most) =>
    Math.min(most, Math.max(0, Math.round(state.number(name, first[name]))));
  // A head that was chosen in Read is named by its part and its layer there.
  const ofPart = about.layers.filter((one) => one.name.startsWith(`${state.get("part")} layer `));
  view.layer =
    ofPart[state.number("layer", -1)] || about.layers[within("layer", about.layers.length - 1)];
  const choice = {
    layer: about.layers.indexOf(view.layer),
    head: within("head", view.layer.heads.length - 1),
  };
  if (JSON.stringify(choice) !== JSON.stringify(view.choice))
    [view.choice, view.base, view.patches] = [choice, null, []];
  view.window = readWindow(state, view.layer);
  drawMapControls(view, {
    moveTo: (next) => moveTo(view, next),
    zoom: (factor) => zoom(view, factor),
  });
  view.heads.show(view).catch(() => {});
  replace(
    view.notes,
    about.notes.map((note) => element("p", null, note)),
  );
  await refresh(view);
  const row = pinnedRow(view);
  if (row !== null) await pin(view, row);
}

/** @param {MapView} view */
function rescale(view) {
  view.patches = view.patches.map((patch) => createPatch(patch, heldMost(view)));
  view.base = view.patches[0] || null;
  view.scale.show(view.patches[view.patches.length - 1], Boolean(heldMost(view)));
  view.paint();
}

// Going back: another window, another row. Where the view set them itself, both are as they should.
/** @param {MapView} view @param {Set<string>} changed */
function followWindow(view, changed) {
  if (!view.window) return;
  const inView = writeWindow(view.window, view.layer);
  const moved =
    view.state.get("rows") !== (inView.rows || "") ||
    view.state.get("columns") !== (inView.columns || "");
  if (touches(changed, ["rows", "columns"]) && moved) {
    view.window = readWindow(view.state, view.layer);
    view.paint();
    refresh(view);
  }
  const row = pinnedRow(view);
  if (changed.has("row") && row !== view.pinned) pin(view, row);
}

/** @param {MapView} view */
function pinnedRow({ state, layer }) {
  const row = state.number("row", -1);
  return Number.isInteger(row) && row >= 0 && row < layer.queries ? row : null;
}

// Look at another part: what is known is drawn at once, what is not is asked for.
/** @param {MapView} view @param {MapWindow} window */
function moveTo(view, window) {
  view.window = window;
  view.state.set(writeWindow(window, view.layer));
  view.paint();
  refresh(view);
}

/** @param {MapView} view @param {number} factor @param {number[]} [about] */
function zoom(view, factor, about = [0.5, 0.5]) {
  moveTo(view, zoomed(view.window, factor, about, view.layer));
}

// One question at a time; while one is under way the latest request waits.
/** @param {MapView} view */
async function refresh(view) {
  view.request = { window: view.window, choice: view.choice };
  clearTimeout(view.rest);
  if (view.pending) {
    if (view.thorough) view.pending.abort();
    return;
  }
  while (view.request) {
    const { window, choice } = view.request;
    view.request = null;
    const region = await ask(view, window, choice, false);
    if (region && region.better && !view.request)
      view.rest = setTimeout(() => ask(view, window, choice, true), THOROUGH_DELAY_MS);
  }
}

/**
 * @param {MapView} view
 * @param {MapWindow} window
 * @param {MapChoice} choice
 * @param {boolean} thorough
 */
async function ask(view, window, choice, thorough) {
  const { queries, keys } = view.layer;
  view.pending = new AbortController();
  view.thorough = thorough;
  const [rows, columns] = [outward(window.rows, queries), outward(window.columns, keys)];
  const cells = [
    Math.min(MAX_CELLS_PER_SIDE, rows[1] - rows[0]),
    Math.min(MAX_CELLS_PER_SIDE, columns[1] - columns[0]),
  ];
  try {
    const region = await view.map.region(choice, {
      rows,
      columns,
      cells,
      thorough,
      signal: view.pending.signal,
    });
    if (choice !== view.choice) return null;
    show(view, createPatch(region, heldMost(view)));
    return region;
  } catch (error) {
    if (!isAborted(error)) replace(view.what, problem(error));
    return null;
  } finally {
    view.pending = null;
    if (thorough && view.request) refresh(view);
  }
}

// The weight of the strongest shade, where the reader has fixed it.
/** @param {MapView} view */
function heldMost({ state }) {
  const most = state.number("shades", 0);
  return most > 0 ? most : undefined;
}

/** @param {MapView} view @param {Patch} patch */
function show(view, patch) {
  if (!view.base) view.base = patch;
  limitZoom(view, patch);
  view.scale.show(patch, Boolean(heldMost(view)));
  view.patches = view.base === patch ? [patch] : [view.base, patch];
  const strips = [
    patch.received && "above the map, what each key receives from all queries",
    patch.entropy && "beside it, the entropy of each query: how spread out its weights are",
  ].filter(Boolean);
  replace(
    view.what,
    `Shown: ${patch.what}. Rows are queries, columns are keys.`,
    isCoarse(view, patch) && ` ${view.maps.isServed ? NO_FINER.file : NO_FINER.page}`,
  );
  replace(view.strips, strips.length ? `The strips: ${strips.join("; ")}.` : "");
  view.paint();
  prefetchNames(view);
  drawTable(view);
}

// Whether cells of several weights are all that there is.
/** @param {MapView} view @param {Patch} patch */
function isCoarse({ layer }, { cells, spans }) {
  return !layer.fine && (spans[0] > cells[0] || spans[1] > cells[1]);
}

// Cells that cannot be cut are not enlarged into flat rectangles.
/** @param {MapView} view @param {Patch} patch */
function limitZoom(view, patch) {
  if (!view.base || !isCoarse(view, view.base)) return;
  const { cells, spans } = patch;
  view.layer.least = [0, 1].map((side) => MIN_WINDOW_CELLS * Math.ceil(spans[side] / cells[side]));
  const { rows, columns } = view.window;
  const isClose =
    rows[1] - rows[0] < view.layer.least[0] || columns[1] - columns[0] < view.layer.least[1];
  if (isClose) moveTo(view, zoomed(view.window, 1, [0.5, 0.5], view.layer));
}

/** @param {MapView} view */
function drawTable(view) {
  const patch = view.patches[view.patches.length - 1];
  if (view.table.open && patch)
    replace(
      view.tableBox,
      mapTable(patch, (side, position) => nameAt(view, side, position)),
    );
}

/** @param {MapView} view */
function paintView(view) {
  if (!view.window || !view.frame.isConnected) return;
  view.layout = arrangeMap(
    view.frame.clientWidth || 640,
    Math.max(300, window.innerHeight - 330),
    view.window,
    view.layer.text,
  );
  paintMap(
    view.canvas,
    {
      view: view.window,
      patches: view.patches,
      at: view.at,
      pinned: view.pinned,
      nameAt: (side, position) => nameAt(view, side, position),
    },
    view.layout,
  );
}

/** @param {MapView} view @param {number | null} query */
async function pin(view, query) {
  view.pinned = query;
  view.state.set({ row: query });
  view.paint();
  if (query === null) {
    view.row.clear();
    return;
  }
  try {
    const best = await view.map.row(view.choice, query);
    if (view.pinned !== query) return;
    await view.row.show(view, best);
    if (best.keys.length)
      announce(
        `Query ${query} looks most at key ${best.keys[0]}, ${shareWritten(best.weights[0])}.`,
      );
  } catch (error) {
    view.row.fail(error);
  }
}

// The choice of file, layer and head of the map, buttons to enlarge it, and its title.

// moveTo(window) and zoom(factor) look at another part.
/** @param {MapView} view @param {Pick<MapMoves, "moveTo" | "zoom">} moves */
function drawMapControls(view, { moveTo, zoom }) {
  const { maps, map, choice, layer } = view;
  const isFile = maps.names.length > 0;
  /** @param {string} name @returns {(event: SelectEvent) => void} */
  const change = (name) => (event) =>
    view.state.set({
      [name]: event.target.value,
      row: null,
      ...(isFile && name !== "head" ? { part: null } : {}),
    });
  /**
   * @param {string} label
   * @param {string[]} names
   * @param {number | null} chosen
   * @param {string} name
   */
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
  /** @param {string} text @param {string} title @param {() => void} act */
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

// All heads of a file beside the map: a grid to choose from.

// -> { root, show(view), close() }
/** @param {State} state */
function mapHeads(state) {
  const grid = headsGrid({
    /** @param {string} part @param {number} layer @param {number} head */
    choose(part, layer, head) {
      const named = reading.isNamed ? { part } : {};
      state.set({ ...named, layer, head, row: null }, true);
    },
    hover() {},
    isExplained: false,
    arrange: (order) => state.set({ order: order === "layer" ? null : order }),
  });
  /** @type {{ isNamed: boolean, parts: Part[] }} */
  let reading = { isNamed: false, parts: [] };
  /** @type {MapSource | null} */
  let of = null;
  return {
    root: grid.root,
    repaint: () => of && grid.repaint(of),
    close: () => grid.close(),
    /** @param {MapView} view */
    async show(view) {
      const { map, layer, choice } = view;
      if (of !== map) {
        of = map;
        const { parts } = await map.heads();
        if (of !== map) return;
        const isNamed = map.about.layers.some((one) => one.name.includes(" layer "));
        reading = { isNamed, parts };
      }
      const heads = reading.parts.reduce((sum, part) => sum + part.layers * part.heads, 0);
      grid.root.hidden = heads < 2;
      if (grid.root.hidden) return;
      const [name] = layer.name.split(" layer ");
      const part = reading.parts.find((one) => one.name === name) || reading.parts[0];
      const first = map.about.layers.findIndex((one) => one.name.startsWith(`${part.name} layer `));
      const number = choice.layer - Math.max(0, first);
      const now = { part: part.name, show: "head", layer: number, head: choice.head };
      await grid.show(reading, map, now, state.get("order", "layer"));
    },
  };
}

// What is saved: the numbers shown, with the words that say where they come from.
/** @param {MapView} view @param {Source} source @returns {Figure | null} */
function mapFigure(view, source) {
  const patch = view.patches[view.patches.length - 1];
  if (!patch) return null;
  /** @param {Span} range */
  const written = (range) => range.map((one) => one.toLocaleString("en")).join(" to ");
  /** @param {Span} range @param {number} side */
  const at = (range, side) =>
    Array.from({ length: patch.cells[side] }, (_, step) =>
      cellStart(range, patch.spans[side], patch.cells[side], step).toLocaleString("en"),
    );
  const name = `${view.layer.name}, head ${view.layer.heads[view.choice.head]}`;
  return {
    name: `${view.map.about.name} ${name}`,
    kind: "heatmap",
    title: name[0].toUpperCase() + name.slice(1),
    caption: `${patch.what[0].toUpperCase()}${patch.what.slice(1)}.`,
    provenance: [
      view.map.about.name,
      `queries ${written(patch.rows)}, keys ${written(patch.columns)}`,
      `regard ${source.page.version}`,
    ].join(" · "),
    axes: FIGURE_AXES,
    what: "weights",
    queries: at(patch.rows, 0),
    keys: at(patch.columns, 1),
    chosen: [],
    values: patch.values,
    html: source.page.files.length
      ? { path: "/api/export/map", fields: { file: view.file } }
      : {
          path: "/api/export/html",
          fields: {
            sentence: view.map.about.name,
            part: view.state.get("part", "encoder"),
            ...view.choice,
            view: "map",
            ...triedOn(view.map.about.name),
          },
        },
  };
}
