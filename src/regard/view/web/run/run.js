// The run view: a text that a model read, of any length, with what any of its heads looked at.
//
// It shows a run of a .regard file or of the model that stays loaded, an observation without a
// text, a run embedded in the page, or the sentence of the Look view.
//
// Fields of the address: file, batch (the sentence of a batch), part, layer, head, row (the query
// that is chosen), also (others beside it), key (a key to compare it with, or the one that is
// chosen), direction ("in": who looks at the key), by (order of the heads), at (the first token in
// sight), rows and columns (in view on the map), find; of a sentence those of ways.js; of a model
// that is loaded text, generate, chat and changes (live.js).

import { element, problem, replace } from "../lib/dom.js";
import { describeExport } from "../lib/export.js";
import { sendSelection } from "../lib/host_frame.js";
import { touches } from "../lib/state.js";
import { readPositions } from "../read/weights.js";
import { headsList } from "./heads_list.js";
import { imageOverlay, patchNames } from "./image_overlay.js";
import { liveModel } from "./live.js";
import { mapHint, mapPanel } from "./map_panel.js";
import { mixersPanel } from "./mixers.js";
import { rowList } from "./row_list.js";
import { drawHeads, drawLine, drawMapTable } from "./run_draw.js";
import { runFigure } from "./run_figure.js";
import {
  goToListed,
  paneHandlers,
  peekAtHead,
  pickCell,
  pointAt,
  pointAtListed,
  scrollTexts,
  showInSight,
  tellCell,
} from "./run_hands.js";
import { hasText, nameOf } from "./run_names.js";
import { drawRunTitle, drawTools, findText } from "./run_tools.js";
import { embeddedRun, lineOf, meanLine, readingRun, servedRun } from "./source.js";
import { textPane } from "./text_pane.js";
import { sentencePictures, WAY_FIELDS } from "./ways.js";

const RUN_FIELDS = ["file", "batch", "sentence"];
const LIVE_FIELDS = ["text", "generate", "chat", "changes"];
const HEAD_FIELDS = ["part", "layer", "head"];
const LINE_FIELDS = ["row", "also", "key", "direction"];
const PANE_LABEL =
  "The text. Left and right choose the token before and after, up and down the one above and " +
  "below; with Shift they choose what it is compared with.";

/** @param {HTMLElement} root @param {State} state @param {Source} source */
export async function showRun(root, state, source) {
  const view = createRunView(root, state, source);
  const recolour = () => {
    view.map.repaint();
    view.heads.repaint();
    drawLine(view);
  };
  window.addEventListener("colours", recolour);
  state.follow((changed) => followRun(view, changed).catch((error) => fail(view, error)));
  describeExport(() => runFigure(view));
  await openRun(view).catch((error) => fail(view, error));
  return () => {
    window.removeEventListener("colours", recolour);
    view.turn += 1;
    clearTimeout(view.peekTimer);
    clearTimeout(view.addressTimer);
    for (const part of [view.map, view.heads, ...Object.values(view.panes)]) part.close();
    view.live?.close();
  };
}

/** @param {RunView} view @param {Set<string>} changed */
async function followRun(view, changed) {
  if (touches(changed, RUN_FIELDS) && !view.live) await openRun(view);
  else if (view.live && touches(changed, LIVE_FIELDS)) await openRun(view);
  else if (view.run?.reading && touches(changed, WAY_FIELDS)) await openRun(view);
  else if (touches(changed, HEAD_FIELDS)) await chooseHead(view);
  else if (touches(changed, LINE_FIELDS)) await chooseLine(view);
  if (changed.has("as")) drawPicture(view);
  if (changed.has("by")) await drawHeads(view);
  if (touches(changed, ["rows", "columns"])) view.map.follow();
  if (changed.has("find")) findText(view, false);
}

/** @param {RunView} view @param {unknown} error */
function fail(view, error) {
  replace(view.trouble, problem(error));
}

/** @param {HTMLElement} root @param {State} state @param {Source} source @returns {RunView} */
function createRunView(root, state, source) {
  /** @type {Partial<RunView>} */
  const parts = {
    ...{ root, state, source },
    turn: 0,
    ranking: { heads: [], first: null },
    texts: { query: null, key: null },
    row: null,
    also: [],
    key: null,
    isColumn: false,
    line: null,
    before: null,
    links: null,
    peek: null,
    pointed: null,
    seen: null,
    statement: element("h1.statement"),
    about: element("p.run-about"),
    trouble: element("div.trouble"),
    title: element("div.run-title.small"),
    tools: element("div.run-tools.small"),
    missing: element("p.small.quiet.missing", { role: "note" }),
    legend: element("span.text-legend.small"),
    cursor: element("p.cursor.small", mapHint()),
    notes: element("div.notes.small.quiet"),
  };
  const view = /** @type {RunView} */ (parts);
  view.panes = {
    query: textPane(PANE_LABEL, paneHandlers(view, "query")),
    key: textPane(PANE_LABEL, paneHandlers(view, "key")),
  };
  view.map = mapPanel(state, {
    pick: ([query, key]) => pickCell(view, query, key),
    point: (at) => tellCell(view, at),
    scroll: (key) => view.panes.key.scrollTo(key),
    nameAt: (side, position) => (hasText(view) ? nameOf(view, side, position) : ""),
  });
  view.heads = headsList({
    choose: (place) => state.set({ ...place }, true),
    hover: (place) => peekAtHead(view, place),
    arrange: (by) => state.set({ by: by === "telling" ? null : by }),
    name: (side, position) => nameOf(view, side, position),
  });
  view.list = rowList({
    go: (position) => goToListed(view, position),
    aim: (position) => state.set({ key: position }),
    point: (position) => pointAtListed(view, position),
  });
  view.images = imageOverlay({
    point: (key) => pointAt(view, "key", key),
    pick: (key) => state.set({ key }),
  });
  view.pictures = sentencePictures(state);
  view.mixers = mixersPanel();
  view.live = source.page.model ? liveModel(view, () => openRun(view)) : null;
  arrangeRun(view);
  return view;
}

/** @param {RunView} view */
function arrangeRun(view) {
  const { root, panes, map, list, heads, images, live } = view;
  const tableBox = element("div.wide");
  view.table = element(
    "details.as-table",
    { on: { toggle: () => drawMapTable(view) } },
    element("summary", "As a table"),
    tableBox,
  );
  view.tableBox = tableBox;
  view.textColumn = element(
    "section.text-column",
    { "aria-label": "The text" },
    live?.field,
    images.root,
    view.tools,
    panes.query.root,
    panes.key.root,
    live?.outcome,
  );
  // Two panes, a map and a list have their sizes once they are filled: until then none is seen.
  root.classList.add("opening");
  root.append(
    element("header.run-head", view.title, view.statement, view.about, view.trouble),
    element(
      "div.run-columns",
      view.textColumn,
      element(
        "section.map-column",
        { "aria-label": "The map, and the largest weights" },
        view.pictures.root,
        map.root,
        view.cursor,
        view.missing,
        list.root,
        view.mixers.root,
        live?.tried,
      ),
      element("aside.heads-column", { "aria-label": "Heads" }, heads.root, view.notes, view.table),
    ),
  );
}

/** @param {RunView} view */
async function openRun(view) {
  const turn = ++view.turn;
  const { state } = view;
  replace(view.trouble);
  view.root.classList.add("loading");
  try {
    const run = await currentRun(view);
    if (turn !== view.turn) return;
    view.run = run;
    if (!run) {
      view.root.classList.add("empty");
      return;
    }
    view.ranking = await run.heads();
    if (turn !== view.turn) return;
    view.root.classList.remove("empty");
    drawRunTitle(view, run);
    await Promise.all([chooseHead(view), view.mixers.show(run)]);
    if (turn === view.turn && state.get("at")) scrollTexts(view, state.number("at"));
    if (turn === view.turn && state.get("find")) findText(view, false);
  } finally {
    if (turn === view.turn) view.root.classList.remove("loading", "opening");
  }
}

/** @param {RunView} view @returns {Promise<RunSource | null>} */
async function currentRun(view) {
  const { state, source, live } = view;
  const files = source.page.files || [];
  if (live) return live.read();
  if (files.length) {
    const file = state.number("file", 0);
    const at = Number.isInteger(file) && file >= 0 && file < files.length ? file : 0;
    if (at !== file)
      refuse(view, `file must be 0 to ${files.length - 1}, got ${state.get("file")}`);
    return servedRun(source, { file: at, sentence: state.number("batch", 0) });
  }
  if (source.embedded?.run) return embeddedRun(source, source.embedded.run);
  return readingRun(source, state);
}

// What the address names and the run does not have: it is said, and what there is is shown.
/** @param {RunView} view @param {string} what */
function refuse(view, what) {
  replace(view.trouble, problem(new Error(`${what}: the first is shown in its place.`)));
}

/** @param {RunView} view */
async function chooseHead(view) {
  const { run, state, ranking } = view;
  if (!run) return;
  const turn = view.turn;
  replace(view.trouble);
  const { parts } = run.about;
  const { first } = ranking;
  const wanted = state.get("part", first?.part ?? parts[0].name);
  const part = parts.find((one) => one.name === wanted) ?? parts[0];
  if (part.name !== wanted) refuse(view, `part must be ${parts.map((x) => x.name).join(" or ")}`);
  const own =
    first?.part === part.name ? first : ranking.heads.find((head) => head.part === part.name);
  const number = state.number("layer", own?.layer ?? part.layers[0].number);
  const layer = part.layers.find((one) => one.number === number) ?? part.layers[0];
  if (layer.number !== number)
    refuse(
      view,
      `layer must be one of ${part.layers.map((x) => x.number).join(", ")}, got ${number}`,
    );
  const isOwn = !state.get("layer") && own;
  const head = state.number("head", isOwn ? own.head : 0);
  const isHead = Number.isInteger(head) && head >= 0 && head < layer.heads.length;
  if (!isHead) refuse(view, `head must be 0 to ${layer.heads.length - 1}, got ${head}`);
  const isOther = view.part?.name !== part.name || view.shownRun !== run;
  Object.assign(view, {
    part,
    layer,
    choice: { part: part.name, layer: layer.number, head: isHead ? head : 0 },
    shownRun: run,
  });
  if (isOther) await showTexts(view, run, part);
  if (turn !== view.turn) return;
  drawTools(view, run);
  view.map.open(run, view.choice, layer, hasText(view));
  replace(view.missing, layer.missing);
  view.missing.hidden = !layer.missing;
  await Promise.all([drawHeads(view), chooseLine(view)]);
}

// Another picture in place of the map, where the address wants one.
/** @param {RunView} view */
function drawPicture(view) {
  const isOther = view.pictures.show(view);
  view.map.root.hidden = view.cursor.hidden = isOther;
}

// The texts of a part: one where queries and keys are the same, else both.
/** @param {RunView} view @param {RunSource} run @param {RunPart} part */
async function showTexts(view, run, part) {
  const { query, key } = part;
  /** @param {RunSide} side */
  const load = (side) => (side.text === null ? null : run.text(side.text));
  const [asks, answers] = await Promise.all([load(query), load(key)]);
  view.texts = { query: asks, key: answers };
  const patches = patchNames(run.about.images, part.name);
  view.images.show(run.about.images, part.name);
  const isOne = query.text === key.text;
  const { panes, root } = view;
  panes.query.root.hidden = isOne || !asks;
  panes.key.root.hidden = !answers;
  root.classList.toggle("two-texts", !isOne && Boolean(asks && answers));
  root.classList.toggle("no-text", !answers && !asks);
  view.seen = null;
  if (answers) panes.key.show(answers, { generated: key.generated, patches });
  if (asks && !isOne) panes.query.show(asks, { generated: query.generated, patches: null });
}

// The row that is chosen, or the column.
/** @param {RunView} view */
async function chooseLine(view) {
  const { run, state, choice: at, layer, ranking } = view;
  if (!run) return;
  const turn = view.turn;
  const isColumn = state.get("direction") === "in" && layer.exact;
  /** @param {string} name @param {number} size */
  const position = (name, size) => {
    const value = state.number(name, -1);
    return Number.isInteger(value) && value >= 0 && value < size ? value : null;
  };
  let row = position("row", layer.queries);
  const key = position("key", layer.keys);
  if (row === null && !isColumn) {
    const { first } = ranking;
    const isFirst =
      first && first.part === at.part && first.layer === at.layer && first.head === at.head;
    const link = isFirst ? first : await run.link(at);
    row = link?.query ?? Math.min(layer.queries - 1, 1);
    // Of a text that goes on, the token whose row chose what comes next.
    const { generated, offset } = view.part.query;
    if (view.live && generated !== null) row = Math.max(0, generated - 1 - offset);
  }
  const also = isColumn || row === null ? [] : readPositions(state.get("also"), layer.queries);
  const wanted = JSON.stringify([at, row, also, key, isColumn]);
  view.wanted = wanted;
  const isNew = view.row !== row || view.isColumn !== isColumn || view.lineRun !== run;
  const { base } = view.live ?? {};
  const { generated, offset } = view.part.query;
  // What was written differs between two runs, what was given does not.
  const isGiven = !isColumn && row !== null && (generated === null || row + offset < generated);
  const [line, before] = await Promise.all([
    meanLine([row, ...also].map((one) => lineOf(run, at, one, key, isColumn))),
    base && base !== run && isGiven ? lineOf(base, at, row, key, isColumn).catch(() => null) : null,
  ]);
  if (turn !== view.turn || view.wanted !== wanted) return;
  const isLinkNew = view.key !== key;
  Object.assign(view, { row, also, key, isColumn, line, before, peek: null, lineRun: run });
  drawLine(view);
  drawPicture(view);
  if (isNew) showInSight(view);
  if (isLinkNew || key !== null) drawHeads(view).catch((error) => fail(view, error));
  sendSelection({
    ...at,
    show: "head",
    queries: chosenWords(view, "query", row),
    keys: chosenWords(view, "key", key),
  });
}

// What is chosen on a side: of a sentence its words, which are what a selection means in Look too.
/** @param {RunView} view @param {SideName} side @param {number | null} position */
function chosenWords({ run, choice: at }, side, position) {
  const part = run?.reading?.parts.find(({ name }) => name === at.part);
  if (position === null) return [];
  return [part ? part[side].word_of_token[position] : position];
}
