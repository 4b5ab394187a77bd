// Hands on the run view: tokens, rows of the list, cells of the map, heads, scrolling.

import { asWord, prose, replace } from "../lib/dom.js";
import { largest, readPositions, writePositions } from "../read/weights.js";
import { mapHint } from "./map_panel.js";
import { shareWritten } from "./row_list.js";
import { drawChips, drawLine } from "./run_draw.js";
import { hasText, nameOf } from "./run_names.js";
import { lineOf } from "./source.js";

const HEAD_PEEK_MS = 70; // over a small picture before the text follows
const ADDRESS_DELAY_MS = 250; // after scrolling

/** @param {RunView} view @param {SideName} side @returns {TextHandlers} */
export function paneHandlers(view, side) {
  return {
    point: (token) => pointAt(view, side, token),
    choose: (token, event) =>
      event.ctrlKey || event.metaKey
        ? addToken(view, token)
        : chooseToken(view, side, token, event.shiftKey),
    moved: (first, last) => textMoved(view, side, first, last),
    key: (event) => walkText(view, side, event),
    ...(view.source.page.model && side === "key"
      ? { drop: (token) => view.live?.redirect(token) }
      : {}),
  };
}

// The row and the key that the address names, whose numbers may still be on their way: a second key
// that is pressed goes on from the first. What it leaves open is as it was drawn.
/** @param {RunView} view */
function chosenOf({ state, row }) {
  return { row: state.number("row", row ?? 0), key: state.number("key", -1) };
}

// One more token that looks, or one less: what is shown is the mean of their rows.
/** @param {RunView} view @param {number} token */
function addToken(view, token) {
  const { state, part, layer, isColumn } = view;
  const { row } = chosenOf(view);
  const added = token - part.query.offset;
  if (isColumn || view.row === null || added < 0 || added === row) return;
  const also = readPositions(state.get("also"), layer.queries);
  const others = also.filter((one) => one !== added);
  if (others.length === also.length) others.push(added);
  state.set({ also: writePositions(others), key: null });
}

/** @param {RunView} view @param {SideName} side @param {number} token @param {boolean} isAimed */
function chooseToken(view, side, token, isAimed) {
  const { state, part } = view;
  const isOne = part.query.text === part.key.text;
  const row = token - part.query.offset;
  if (side === "key" && (isAimed || (isOne && view.isColumn))) state.set({ key: token });
  else if (isOne || side === "query") {
    if (row >= 0) state.set({ row, also: null, key: null, ...(isOne ? {} : { direction: null }) });
  } else state.set({ key: token, direction: "in" });
}

/** @param {RunView} view @param {SideName} side @param {KeyboardEvent} event */
function walkText(view, side, event) {
  const { panes, part, isColumn } = view;
  const { row, key } = chosenOf(view);
  const offset = part.query.offset;
  const isAim = event.shiftKey && !isColumn;
  const own = (isColumn || isAim) && key >= 0 ? key : row + offset;
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
export function pointAt(view, side, token) {
  const { row, key, isColumn, part, map } = view;
  view.pointed = token;
  if (token === null) map.point(null);
  else if (!isColumn && side === "key" && row !== null) map.point([row, token]);
  else if (isColumn && key !== null) map.point([Math.max(0, token - part.query.offset), key]);
}

// A weight of the list: it is shown in the text, and what is chosen stays.
/** @param {RunView} view @param {number} position */
export function goToListed(view, position) {
  const { state, isColumn, part, panes } = view;
  const side = isColumn && part.query.text !== part.key.text ? "query" : "key";
  if (!isColumn) state.set({ key: position });
  panes[side].scrollTo(position, true);
}

/** @param {RunView} view @param {number | null} position */
export function pointAtListed(view, position) {
  const { isColumn, part, row, key, map } = view;
  if (position === null) map.point(null);
  else if (isColumn && key !== null) map.point([position - part.query.offset, key]);
  else if (row !== null) map.point([row, position]);
}

// A cell of the map: its row is chosen, its key comes into sight.
/** @param {RunView} view @param {number} query @param {number} key */
export function pickCell(view, query, key) {
  const { state, panes } = view;
  view.isPicked = true;
  state.set({ row: query, also: null, key: null, direction: null });
  if (hasText(view)) panes.key.scrollTo(key);
}

/** @param {RunView} view @param {number[] | null} at */
export function tellCell(view, at) {
  if (!at) {
    replace(view.cursor, mapHint());
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
export function peekAtHead(view, place) {
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
export function scrollTexts(view, token) {
  if (hasText(view)) view.panes.key.scrollTo(token);
}

// What was chosen comes into sight, unless it was chosen there.
/** @param {RunView} view */
export function showInSight(view) {
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
