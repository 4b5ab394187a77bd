// The run view: a text that a model read, of any length, with what any of its heads looked at.
//
// It shows a run of a .regard file or of the model that stays loaded, an observation without a
// text, a run embedded in the page, or the sentence of the Look view.
//
// Fields of the address: file, batch (the sentence of a batch), part, layer, head, row (the query
// that is chosen), key (a key to compare it with, or the one that is chosen), direction ("in": who
// looks at the key), by (order of the heads), at (the first token in sight), rows and columns (in
// view on the map), find; of a model that is loaded text, generate, chat and changes (live.js).

import {
  announce,
  asWord,
  choice,
  element,
  labelled,
  problem,
  prose,
  replace,
} from "../lib/dom.js";
import { withoutWordMarks } from "../lib/dom.js";
import { tint } from "../lib/draw.js";
import { describeExport, FIGURE_AXES } from "../lib/export.js";
import { sendSelection } from "../lib/host_frame.js";
import { touches } from "../lib/state.js";
import { triedOn } from "../read/experiment.js";
import { largest } from "../read/weights.js";
import { headKey, headsList } from "./heads_list.js";
import { imageOverlay, patchNames } from "./image_overlay.js";
import { liveModel } from "./live.js";
import { mapPanel } from "./map_panel.js";
import { cellStart } from "./map_window.js";
import { mapTable, rowList, shareWritten } from "./row_list.js";
import { embeddedRun, readingRun, servedRun, tokenName } from "./source.js";
import { edgeChip } from "./text_arcs.js";
import { textPane } from "./text_pane.js";

const RUN_FIELDS = ["file", "batch", "sentence"];
const LIVE_FIELDS = ["text", "generate", "chat", "changes"];
const HEAD_FIELDS = ["part", "layer", "head"];
const LINE_FIELDS = ["row", "key", "direction"];
const HEAD_PEEK_MS = 70; // over a small picture before the text follows
const ADDRESS_DELAY_MS = 250; // after scrolling

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
  else if (touches(changed, HEAD_FIELDS)) await chooseHead(view);
  else if (touches(changed, LINE_FIELDS)) await chooseLine(view);
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
    key: null,
    isColumn: false,
    line: null,
    before: null,
    links: null,
    peek: null,
    pointed: null,
    seen: null,
    statement: element("h1", { class: "statement" }),
    about: element("p", { class: "run-about" }),
    trouble: element("div", { class: "trouble" }),
    title: element("div", { class: "run-title small" }),
    tools: element("div", { class: "run-tools small" }),
    missing: element("p", { class: "small quiet missing", role: "note" }),
    legend: element("span", { class: "text-legend small" }),
    cursor: element("p", { class: "cursor small" }),
    notes: element("div", { class: "notes small quiet" }),
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
  view.live = source.page.model ? liveModel(view, () => openRun(view)) : null;
  arrangeRun(view);
  return view;
}

const PANE_LABEL =
  "The text. Left and right choose the token before and after, up and down the one above and " +
  "below; with Shift they choose what it is compared with.";

/** @param {RunView} view */
function arrangeRun(view) {
  const { root, panes, map, list, heads, images, live } = view;
  const tableBox = element("div", { class: "wide" });
  view.table = element(
    "details",
    { class: "as-table", on: { toggle: () => drawMapTable(view) } },
    element("summary", null, "As a table"),
    tableBox,
  );
  view.tableBox = tableBox;
  view.textColumn = element(
    "section",
    { class: "text-column", "aria-label": "The text" },
    live?.field,
    images.root,
    view.tools,
    panes.query.root,
    panes.key.root,
    live?.outcome,
    view.missing,
  );
  root.append(
    element("header", { class: "run-head" }, view.title, view.statement, view.about, view.trouble),
    element(
      "div",
      { class: "run-columns" },
      view.textColumn,
      element(
        "section",
        { class: "map-column", "aria-label": "The map, and the largest weights" },
        map.root,
        view.cursor,
        list.root,
        live?.tried,
      ),
      element(
        "aside",
        { class: "heads-column", "aria-label": "Heads" },
        heads.root,
        view.notes,
        view.table,
      ),
    ),
  );
}

// What is shown.

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
    replace(
      view.notes,
      run.about.notes.map((note) => element("p", null, note)),
    );
    await chooseHead(view);
    if (turn === view.turn && state.get("at")) scrollTexts(view, state.number("at"));
    if (turn === view.turn && state.get("find")) findText(view, false);
  } finally {
    if (turn === view.turn) view.root.classList.remove("loading");
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

// Whether positions are tokens of the texts: in layers of other sizes they are not.
/** @param {RunView} view */
function hasText({ layer, part, texts }) {
  const asks = (texts.query?.segments.length ?? -1) === layer.queries + part.query.offset;
  return asks && (texts.key?.segments.length ?? -1) === layer.keys;
}

/** @param {RunView} view @param {SideName} side @param {number} position */
function nameOf(view, side, position) {
  const { part, texts } = view;
  if (!hasText(view)) return `${side} ${position.toLocaleString("en")}`;
  return tokenName(texts[side], position + (side === "query" ? part.query.offset : 0));
}

// The same in a sentence: tokens are quoted, positions are not.
/** @param {RunView} view @param {SideName} side @param {number} position */
function quoted(view, side, position) {
  const name = nameOf(view, side, position);
  return hasText(view) ? asWord(name) : name;
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
  const wanted = JSON.stringify([at, row, key, isColumn]);
  view.wanted = wanted;
  const isNew = view.row !== row || view.isColumn !== isColumn || view.lineRun !== run;
  const { base } = view.live ?? {};
  const { generated, offset } = view.part.query;
  // What was written differs between two runs, what was given does not.
  const isGiven = !isColumn && row !== null && (generated === null || row + offset < generated);
  const [line, before] = await Promise.all([
    lineOf(run, at, row, key, isColumn),
    base && base !== run && isGiven ? lineOf(base, at, row, key, isColumn).catch(() => null) : null,
  ]);
  if (turn !== view.turn || view.wanted !== wanted) return;
  const isLinkNew = view.key !== key;
  Object.assign(view, { row, key, isColumn, line, before, peek: null, lineRun: run });
  drawLine(view);
  if (isNew) showInSight(view);
  if (isLinkNew || key !== null) drawHeads(view).catch((error) => fail(view, error));
  sendSelection({
    ...at,
    show: "head",
    queries: row === null ? [] : [row],
    keys: key === null ? [] : [key],
  });
}

/**
 * @param {RunSource} run
 * @param {RunChoice} at
 * @param {number | null} row
 * @param {number | null} key
 * @param {boolean} isColumn
 */
async function lineOf(run, at, row, key, isColumn) {
  if (isColumn && key !== null && run.column) return run.column(at, key);
  return row === null ? null : run.row(at, row);
}

// Drawing.

/** @param {RunView} view */
function drawLine(view) {
  const { line, panes, part, isColumn, row, key, map } = view;
  if (!line || !part) return;
  const shownLine = view.peek?.line ?? line;
  const offset = isColumn ? part.query.offset : 0;
  const weights = isColumn && offset ? shifted(shownLine.weights, offset) : shownLine.weights;
  const most = strongestWeight(shownLine.weights);
  const shadedSide = isColumn && part.query.text !== part.key.text ? "query" : "key";
  const marks = tokenMarks(view);
  for (const side of /** @type {const} */ (["query", "key"])) {
    const isShaded = side === shadedSide && hasText(view);
    panes[side].shade({
      weights: isShaded ? weights : null,
      most,
      marks: marks[side],
      links: isShaded ? textLinks(view, shownLine) : [],
      isPeek: Boolean(view.peek),
      tell: (token) => (isShaded ? tellToken(view, shownLine, token - offset) : ""),
    });
  }
  view.images.shade(row === null ? "" : nameOf(view, "query", row), shownLine.weights, key);
  drawLegend(view, most);
  drawRunStatement(view, shownLine);
  map.mark({ row: isColumn ? null : row, column: isColumn || key !== null ? key : null });
  if (!view.peek) drawList(view, line);
  drawChips(view);
  view.live?.draw();
}

const MAX_TEXT_LINES = { short: 8, long: 1 }; // over a text
const MIN_TEXT_LINE = 0.02;

// The lines to draw over a text whose two sides are one: those of the strongest weights.
/** @param {RunView} view @param {RunLine} line @returns {TextLink[]} */
function textLinks({ part, isColumn, row, key, texts }, line) {
  const own = isColumn ? key : row === null ? null : row + part.query.offset;
  if (own === null || part.query.text !== part.key.text) return [];
  const shift = isColumn ? part.query.offset : 0;
  const isShort = (texts.key?.segments.length ?? 0) <= 64;
  const most = isShort ? MAX_TEXT_LINES.short : MAX_TEXT_LINES.long;
  return largest(line.weights, most + 1, MIN_TEXT_LINE)
    .map((at) => ({ at: at + shift, weight: line.weights[at] }))
    .filter(({ at }) => at !== own)
    .slice(0, most)
    .map(({ at, weight }) =>
      isColumn ? { from: at, to: own, weight } : { from: own, to: at, weight },
    );
}

// What matters and is out of sight has a way to it at the edge of the text.
/** @param {RunView} view */
function drawChips(view) {
  const { panes, seen, line, part, isColumn, row, key, texts } = view;
  /** @type {Record<"up" | "down", Child[]>} */
  const chips = { up: [], down: [] };
  const isOne = part?.query.text === part?.key.text;
  if (seen && line && part && hasText(view) && (isOne || !isColumn)) {
    const shift = isColumn ? part.query.offset : 0;
    /** @param {number} token @param {string} told @param {string} kind */
    const add = (token, told, kind) => {
      const where = token < seen[0] ? "up" : token >= seen[1] ? "down" : null;
      if (!where || chips[where].length > 1) return;
      const go = () => panes.key.scrollTo(token, true);
      chips[where].push(edgeChip(where, prose(told), kind, go));
    };
    const own = isColumn ? key : row === null ? null : row + part.query.offset;
    if (own !== null && isOne) add(own, asWord(tokenName(texts.key, own)), "own");
    for (const at of largest(line.weights, 4, MIN_TEXT_LINE)) {
      const told = `${asWord(tokenName(texts.key, at + shift))} ${shareWritten(line.weights[at])}`;
      if (at + shift !== own) add(at + shift, told, "");
    }
  }
  panes.key.chips(chips.up, chips.down);
}

/** @param {Float32Array} weights @param {number} by */
function shifted(weights, by) {
  const made = new Float32Array(weights.length + by);
  made.set(weights, by);
  return made;
}

/** @param {Float32Array} weights */
function strongestWeight(weights) {
  let most = 0;
  for (const weight of weights) if (weight > most) most = weight;
  return most;
}

// Which tokens have a mark of their own, by side.
/** @param {RunView} view @returns {Record<SideName, Map<number, string>>} */
function tokenMarks(view) {
  const { part, row, key, isColumn, live, found } = view;
  const [asks, answers] = [new Map(), new Map()];
  /** @param {Map<number, string>} marks @param {number} token @param {string} mark */
  const add = (marks, token, mark) => marks.set(token, `${marks.get(token) ?? ""} ${mark}`);
  const isOne = part.query.text === part.key.text;
  const ofQueries = isOne ? answers : asks;
  if (row !== null && !isColumn) add(ofQueries, row + part.query.offset, "asking");
  if (key !== null) add(answers, key, isColumn ? "asking" : "aimed");
  for (const token of live?.struck() ?? []) add(answers, token, "struck");
  for (const token of live?.changedTokens() ?? []) add(ofQueries, token, "changed");
  if (found) for (let at = found[0]; at < found[1]; at++) add(answers, at, "found");
  return { query: asks, key: answers };
}

/** @param {RunView} view @param {RunLine} line @param {number} position */
function tellToken(view, line, position) {
  const weight = line.weights[position];
  if (weight === undefined || position < 0) return "";
  const number = position.toLocaleString("en");
  if (line.known === "largest" && !weight) return `${number}: not known`;
  return weight > 0 ? `${shareWritten(weight)} · ${number}` : `0 · ${number}`;
}

/** @param {RunView} view @param {number} most */
function drawLegend({ legend }, most) {
  const steps = [0, 0.06, 0.25, 0.56, 1].map((share) =>
    element("i", { style: { "background-color": tint(share) } }),
  );
  replace(legend, "0", element("span", { class: "legend-bar" }, steps), shareWritten(most));
}

/** @param {RunView} view @param {RunLine} line */
function drawRunStatement(view, line) {
  const { choice: chosen, peek, ranking, isColumn, key } = view;
  const at = peek?.place ?? chosen;
  const [best] = largest(line.weights, 1);
  const other = !isColumn && key !== null ? key : (best ?? null);
  const marked = statementOf(view, line, other);
  replace(view.statement, prose(marked[0].toUpperCase() + marked.slice(1)));
  const head = ranking.heads.find(
    (one) => one.part === at.part && one.layer === at.layer && one.head === at.head,
  );
  const name = `Layer ${at.layer}, head ${at.head}`;
  const told = head?.label ? `${name} ${head.label}.` : `${name}.`;
  replace(view.about, view.live?.isOff(at) ? `${told} It is switched off.` : told);
  if (!peek) announce(withoutWordMarks(marked));
}

/** @param {RunView} view @param {RunLine} line @param {number | null} other */
function statementOf(view, line, other) {
  const { isColumn, row, key, layer } = view;
  if (isColumn) {
    const asked = quoted(view, "key", key ?? 0);
    if (other === null) return `Nothing looks at ${asked}.`;
    const looks = quoted(view, "query", other);
    return `${asked} is looked at by ${looks}, ${shareWritten(line.weights[other])}`;
  }
  if (row === null) return `All ${(layer.queries * layer.keys).toLocaleString("en")} weights`;
  const asks = quoted(view, "query", row);
  if (other === null) return `${asks} looks at nothing.`;
  const weight = line.weights[other];
  if (view.live?.isTurned(row)) return `${asks} is made to look at ${quoted(view, "key", other)}`;
  const isAlone =
    line.known === "all" && line.weights.every((one, at) => at === other || one === 0);
  if (isAlone) return `${asks} sees one token, ${quoted(view, "key", other)}: it has no choice`;
  const isUnknown = line.known === "largest" && !weight;
  const share = isUnknown ? "less than its largest weights" : shareWritten(weight);
  return `${asks} looks at ${quoted(view, "key", other)}, ${share}`;
}

/** @param {RunView} view @param {RunLine} line */
function drawList(view, line) {
  const { part, texts, isColumn, row, key, layer, state, list, before } = view;
  const text = hasText(view) ? texts[isColumn ? "query" : "key"] : null;
  const position = isColumn ? key : row;
  if (position === null) {
    list.clear();
    return;
  }
  const side = isColumn ? "key" : "query";
  const most = isColumn ? layer.keys : layer.queries;
  const field = isColumn ? "key" : "row";
  /** @param {string} name @param {string} label @param {number} to */
  const step = (name, label, to) =>
    element(
      "button",
      {
        type: "button",
        class: "step",
        "aria-label": label,
        title: label,
        disabled: to < 0 || to >= most,
        on: { click: () => state.set({ [field]: to }) },
      },
      name,
    );
  const name = element("b", { class: "serif" }, nameOf(view, side, position));
  const shift = isColumn ? part.query.offset : 0;
  list.show({
    line: shift ? { ...line, weights: shifted(line.weights, shift) } : line,
    other: before && shift ? { ...before, weights: shifted(before.weights, shift) } : before,
    text,
    aimed: isColumn ? null : key,
    wholeName: !isColumn,
    heading: [
      step("‹", "The token before", position - 1),
      element(
        "span",
        null,
        isColumn ? ["Who looks at ", name] : [name, " looks at"],
        hasText(view) && element("span", { class: "quiet" }, ` ${position.toLocaleString("en")}`),
      ),
      step("›", "The token after", position + 1),
    ],
  });
}

/** @param {RunView} view */
async function drawHeads(view) {
  const { run, state, ranking, part, row, key, isColumn } = view;
  if (!run || !part) return;
  const heads = ranking.heads.filter((head) => head.part === part.name);
  const isLink = row !== null && key !== null && !isColumn && Boolean(run.weights);
  const by = state.get("by", "telling");
  if (by === "link" && isLink && run.weights) {
    const found = await run.weights(part.name, row, key);
    view.links = new Map(found.map(([layer, head, weight]) => [headKey({ layer, head }), weight]));
  }
  const numbers = new Map();
  let count = 0;
  for (const layer of part.layers)
    layer.heads.forEach((_, head) => numbers.set(headKey({ layer: layer.number, head }), count++));
  view.heads.root.hidden = heads.length < 2;
  view.heads.show({
    part: `${view.turn} ${part.name}`,
    heads,
    by: by === "link" && !isLink ? "telling" : by,
    links: view.links,
    linkName: isLink ? `from ${nameOf(view, "query", row)} to ${nameOf(view, "key", key)}` : "",
    choice: view.choice,
    numberOf: (head) => numbers.get(headKey(head)),
    thumbnails: () => run.thumbnails(part.name),
  });
}

/** @param {RunView} view */
function drawMapTable(view) {
  const patch = view.map.patch();
  if (view.table.open && patch)
    replace(
      view.tableBox,
      mapTable(patch, (side, position) => (hasText(view) ? nameOf(view, side, position) : "")),
    );
}

// Which run, and of which size.
/** @param {RunView} view @param {RunSource} run */
function drawRunTitle(view, run) {
  const { state, source, live } = view;
  const files = source.page.files || [];
  const heads = run.about.parts.reduce(
    (sum, part) => sum + part.layers.reduce((all, layer) => all + layer.heads.length, 0),
    0,
  );
  const tokens = run.about.texts.length
    ? `${run.about.texts.map((count) => count.toLocaleString("en")).join(" + ")} tokens`
    : `${run.about.parts[0].layers[0].queries.toLocaleString("en")} queries`;
  /** @param {string} label @param {string[]} names @param {number} chosen @param {string} field */
  const select = (label, names, chosen, field) =>
    element(
      "select",
      {
        "aria-label": label,
        on: {
          change: ({ target }) =>
            state.set({ [field]: target.value === "0" ? null : target.value, ...UNCHOSEN }, true),
        },
      },
      names.map((text, at) => element("option", { value: at, selected: at === chosen }, text)),
    );
  const batch = Array.from({ length: run.about.sentences }, (_, at) => `sentence ${at}`);
  replace(
    view.title,
    !live && files.length > 1
      ? select("File", files, state.number("file", 0), "file")
      : element("b", null, run.about.name),
    batch.length > 1 && select("Sentence", batch, state.number("batch", 0), "batch"),
    element("span", { class: "quiet" }, `${tokens} · ${heads.toLocaleString("en")} heads`),
  );
}

const UNCHOSEN = {
  ...{ part: null, layer: null, head: null, row: null, key: null, at: null },
  ...{ rows: null, columns: null, direction: null, find: null },
};

// Above the text: which part, who looks at whom, a search, and the shades in numbers.
/** @param {RunView} view @param {RunSource} run */
function drawTools(view, run) {
  const { state, part, layer, tools } = view;
  const { parts } = run.about;
  const drawn = JSON.stringify([
    parts.map((x) => x.name),
    part.name,
    layer.exact,
    view.isColumn,
    hasText(view),
  ]);
  if (tools.dataset.drawn === drawn) return;
  tools.dataset.drawn = drawn;
  const names = parts.map((one) => /** @type {const} */ ([one.name, one.name, one.about]));
  const search = element("input", {
    type: "search",
    class: "find",
    placeholder: "Find in the text",
    "aria-label": "Find in the text",
    value: state.get("find"),
    on: {
      input: ({ target }) => state.set({ find: target.value }),
      keydown: (event) => {
        if (event.key === "Enter") findText(view, true, event.shiftKey);
      },
    },
  });
  view.findCount = element("span", { class: "quiet", role: "status" });
  const reason = layer.exact ? "" : "This needs query and key of the layer, which were not kept";
  replace(
    tools,
    parts.length > 1 &&
      choice("Which attention", names, part.name, (name) =>
        state.set({ ...UNCHOSEN, part: name }, true),
      ),
    hasText(view) && part.query.text === part.key.text
      ? choice(
          "Shades",
          /** @type {[string, string, string | null, string?][]} */ ([
            ["out", "what it looks at", "Shade the text by the weights of the chosen token"],
            ["in", "what looks at it", "Shade the text by who looks at the chosen token", reason],
          ]),
          state.get("direction") === "in" ? "in" : "out",
          (name) => turn(view, name),
        )
      : null,
    hasText(view) && labelled("", search, view.findCount),
    hasText(view) && view.legend,
  );
}

// The token that is chosen stays chosen when the view turns round.
/** @param {RunView} view @param {string} to */
function turn(view, to) {
  const { state, part, row, key } = view;
  const offset = part.query.offset;
  view.tools.dataset.drawn = "";
  if (to === "in") state.set({ direction: "in", key: (row ?? 0) + offset, row: null });
  else state.set({ direction: null, row: Math.max(0, (key ?? 0) - offset), key: null });
  if (view.run) drawTools(view, view.run);
}

// Hands.

/** @param {RunView} view @param {SideName} side @returns {TextHandlers} */
function paneHandlers(view, side) {
  return {
    point: (token) => pointAt(view, side, token),
    choose: (token, event) => chooseToken(view, side, token, event.shiftKey),
    moved: (first, last) => textMoved(view, side, first, last),
    key: (event) => walkText(view, side, event),
    ...(view.source.page.model && side === "key"
      ? { drop: (token) => view.live?.redirect(token) }
      : {}),
  };
}

/** @param {RunView} view @param {SideName} side @param {number} token @param {boolean} isAimed */
function chooseToken(view, side, token, isAimed) {
  const { state, part } = view;
  const isOne = part.query.text === part.key.text;
  const row = token - part.query.offset;
  if (side === "key" && (isAimed || (isOne && view.isColumn))) state.set({ key: token });
  else if (isOne || side === "query") {
    if (row >= 0) state.set({ row, ...(isOne ? { key: null } : { key: null, direction: null }) });
  } else state.set({ key: token, direction: "in" });
}

/** @param {RunView} view @param {SideName} side @param {KeyboardEvent} event */
function walkText(view, side, event) {
  const { panes, part, row, key, isColumn } = view;
  const offset = part.query.offset;
  const isAim = event.shiftKey && !isColumn;
  const own = isColumn || isAim ? (key ?? (row ?? 0) + offset) : (row ?? 0) + offset;
  const steps = { ArrowLeft: -1, ArrowRight: 1 };
  const lines = { ArrowUp: -1, ArrowDown: 1 };
  const pressed = event.key;
  let goal;
  if (pressed in steps) goal = own + steps[/** @type {keyof typeof steps} */ (pressed)];
  else if (pressed in lines)
    goal = panes[side].nearest(own, lines[/** @type {keyof typeof lines} */ (pressed)]);
  else if (pressed === "Home") goal = offset;
  else if (pressed === "End") goal = (view.texts[side]?.segments.length ?? 1) - 1;
  else if (pressed === "Escape") {
    view.state.set({ key: null });
    return;
  } else return;
  event.preventDefault();
  if (goal < 0 || goal >= (view.texts[side]?.segments.length ?? 0)) return;
  chooseToken(view, side, goal, isAim);
}

/** @param {RunView} view @param {SideName} side @param {number | null} token */
function pointAt(view, side, token) {
  const { row, key, isColumn, part, map } = view;
  view.pointed = token;
  if (token === null) map.point(null);
  else if (!isColumn && side === "key" && row !== null) map.point([row, token]);
  else if (isColumn && key !== null) map.point([Math.max(0, token - part.query.offset), key]);
  if (token === null) replace(view.cursor);
}

// A weight of the list: it is shown in the text, and what is chosen stays.
/** @param {RunView} view @param {number} position */
function goToListed(view, position) {
  const { state, isColumn, part, panes } = view;
  const side = isColumn && part.query.text !== part.key.text ? "query" : "key";
  if (!isColumn) state.set({ key: position });
  panes[side].scrollTo(position, true);
}

/** @param {RunView} view @param {number | null} position */
function pointAtListed(view, position) {
  const { isColumn, part, row, key, map } = view;
  if (position === null) map.point(null);
  else if (isColumn && key !== null) map.point([position - part.query.offset, key]);
  else if (row !== null) map.point([row, position]);
}

// A cell of the map: its row is chosen, its key comes into sight.
/** @param {RunView} view @param {number} query @param {number} key */
function pickCell(view, query, key) {
  const { state, panes } = view;
  view.isPicked = true;
  state.set({ row: query, key: null, direction: null });
  if (hasText(view)) panes.key.scrollTo(key);
}

/** @param {RunView} view @param {number[] | null} at */
function tellCell(view, at) {
  if (!at) {
    replace(view.cursor);
    return;
  }
  const [query, key] = at;
  const cell = view.map.told(at);
  const share = cell
    ? `${shareWritten(cell.weight)}${cell.isMean ? " in the cell around them" : ""}`
    : "";
  /** @param {SideName} side @param {number} position */
  const named = (side, position) =>
    hasText(view) ? ` ${asWord(nameOf(view, side, position))}` : "";
  replace(
    view.cursor,
    prose(
      `Query ${query.toLocaleString("en")}${named("query", query)} looks at key ` +
        `${key.toLocaleString("en")}${named("key", key)}: ${share}`,
    ),
  );
}

// Pointing at another head shows the chosen row there.
/** @param {RunView} view @param {HeadPlace | null} place */
function peekAtHead(view, place) {
  clearTimeout(view.peekTimer);
  view.peekTimer = setTimeout(async () => {
    const { run, row, key, isColumn } = view;
    if (!run) return;
    const line = place && (await lineOf(run, place, row, key, isColumn).catch(() => null));
    if (!place && !view.peek) return;
    view.peek = place && line ? { place, line } : null;
    drawLine(view);
  }, HEAD_PEEK_MS);
}

// Scrolling.

/** @param {RunView} view @param {SideName} side @param {number} first @param {number} last */
function textMoved(view, side, first, last) {
  if (side !== "key") return;
  view.seen = [first, last];
  view.map.mark({ seen: hasText(view) ? view.seen : null });
  drawChips(view);
  clearTimeout(view.addressTimer);
  view.addressTimer = setTimeout(() => {
    if (view.root.isConnected) view.state.set({ at: first || null });
  }, ADDRESS_DELAY_MS);
}

/** @param {RunView} view @param {number} token */
function scrollTexts(view, token) {
  if (hasText(view)) view.panes.key.scrollTo(token);
}

// What was chosen comes into sight, unless it was chosen there.
/** @param {RunView} view */
function showInSight(view) {
  const { row, key, isColumn, part, panes, seen, line } = view;
  if (view.isPicked || !hasText(view)) {
    view.isPicked = false;
    return;
  }
  const isOne = part.query.text === part.key.text;
  if (!isOne) {
    if (!isColumn && row !== null) panes.query.scrollTo(row + part.query.offset, true);
    const [best] = line ? largest(line.weights, 1) : [];
    if (best !== undefined) panes[isColumn ? "query" : "key"].scrollTo(best, true);
    return;
  }
  const token = isColumn ? key : (row ?? 0) + part.query.offset;
  if (token !== null && (!seen || token < seen[0] || token >= seen[1])) panes.key.scrollTo(token);
}

// Finding, since the browser can search only what is in the page.
/** @param {RunView} view @param {boolean} isNext @param {boolean} [isBack] */
function findText(view, isNext, isBack = false) {
  const { state, texts, panes } = view;
  const wanted = state.get("find").toLowerCase();
  const text = texts.key;
  view.found = null;
  if (!text || !wanted) {
    replace(view.findCount);
    drawLine(view);
    return;
  }
  if (view.searched?.text !== text) {
    const ends = new Float64Array(text.segments.length);
    let end = 0;
    text.segments.forEach((segment, at) => {
      end += segment.length;
      ends[at] = end;
    });
    view.searched = { text, whole: text.segments.join("").toLowerCase(), ends, at: 0 };
  }
  const { whole, ends } = view.searched;
  const starts = [];
  for (
    let at = whole.indexOf(wanted);
    at >= 0 && starts.length < 10000;
    at = whole.indexOf(wanted, at + 1)
  )
    starts.push(at);
  view.searched.at = isNext
    ? (view.searched.at + (isBack ? starts.length - 1 : 1)) % Math.max(1, starts.length)
    : 0;
  replace(
    view.findCount,
    starts.length
      ? `${view.searched.at + 1} of ${starts.length.toLocaleString("en")}`
      : "not found",
  );
  const start = starts[view.searched.at];
  if (start !== undefined) {
    const first = firstBeyond(ends, start);
    view.found = [first, firstBeyond(ends, start + wanted.length - 1) + 1];
    panes.key.scrollTo(first);
  }
  drawLine(view);
}

/** @param {Float64Array} ends @param {number} at */
function firstBeyond(ends, at) {
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

// What is saved: the map in view, with the words that say where it comes from.
/** @param {RunView} view @returns {Figure | null} */
function runFigure(view) {
  const patch = view.map.patch();
  const { run, source, state, choice: at, row, live } = view;
  if (!patch || !run) return null;
  const isSingle = patch.cells.every(
    (count, side) =>
      count === [patch.rows, patch.columns][side][1] - [patch.rows, patch.columns][side][0],
  );
  /** @param {Span} range */
  const written = (range) => range.map((one) => one.toLocaleString("en")).join(" to ");
  /** @param {SideName} side @param {Span} range @param {number} axis */
  const names = (side, range, axis) =>
    Array.from({ length: patch.cells[axis] }, (_, step) => {
      const position = cellStart(range, patch.spans[axis], patch.cells[axis], step);
      return isSingle && hasText(view)
        ? nameOf(view, side, position)
        : position.toLocaleString("en");
    });
  const name = `${at.part} layer ${at.layer}, head ${at.head}`;
  const isSentence = !live && !source.page.files.length && !source.embedded;
  const chosen = row !== null && isSingle ? row - patch.rows[0] : -1;
  return {
    name: `${run.about.name} ${name}`,
    kind: "heatmap",
    title: name[0].toUpperCase() + name.slice(1),
    caption: `${patch.what[0].toUpperCase()}${patch.what.slice(1)}.`,
    provenance: [
      run.about.name,
      `queries ${written(patch.rows)}, keys ${written(patch.columns)}`,
      `regard ${source.page.version}`,
    ].join(" · "),
    axes: FIGURE_AXES,
    what: "weights",
    queries: names("query", patch.rows, 0),
    keys: names("key", patch.columns, 1),
    chosen: chosen >= 0 && chosen < patch.cells[0] ? [chosen] : [],
    values: patch.values,
    html: isSentence
      ? {
          path: "/api/export/html",
          fields: { sentence: run.about.name, ...at, view: "map", ...triedOn(run.about.name) },
        }
      : {
          path: "/api/export/map",
          fields: {
            ...(live ? { run: live.key } : { file: state.number("file", 0) }),
            ...(live ? {} : { sentence: state.number("batch", 0) }),
            state: { ...at, row },
          },
        },
  };
}
