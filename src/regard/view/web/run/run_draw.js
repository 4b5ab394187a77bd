// The run view drawn from what is chosen: shades and lines over the text, what is said about them,
// the largest weights, the heads.

import { announce, asWord, element, prose, replace, withoutWordMarks } from "../lib/dom.js";
import { tint } from "../lib/draw.js";
import { choiceName } from "../read/sentences.js";
import { largest } from "../read/weights.js";
import { headKey } from "./heads_list.js";
import { mapTable, shareWritten } from "./row_list.js";
import { hasText, nameOf, quoted } from "./run_names.js";
import { tokenName } from "./source.js";
import { edgeChip } from "./text_arcs.js";
import { wayOf } from "./ways.js";

const MAX_TEXT_LINES = { short: 8, long: 1 }; // over a text
const MIN_TEXT_LINE = 0.02; // of a weight that has one

/** @param {RunView} view */
export function drawLine(view) {
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
export function drawChips(view) {
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
  const { part, row, also, key, isColumn, live, found } = view;
  const [asks, answers] = [new Map(), new Map()];
  /** @param {Map<number, string>} marks @param {number} token @param {string} mark */
  const add = (marks, token, mark) => marks.set(token, `${marks.get(token) ?? ""} ${mark}`);
  const isOne = part.query.text === part.key.text;
  const ofQueries = isOne ? answers : asks;
  if (row !== null && !isColumn)
    for (const one of [row, ...also]) add(ofQueries, one + part.query.offset, "asking");
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
  replace(legend, "0", element("span.legend-bar", steps), shareWritten(most));
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
  const { run, state } = view;
  const part = run?.reading?.parts.find((one) => one.name === at.part);
  const show = part ? wayOf(state, part) : "head";
  const named = choiceName({ ...at, show });
  const name = named[0].toUpperCase() + named.slice(1);
  // Of regard's own heads it was measured over many sentences, of a run in its own text.
  const does = part ? `usually ${head?.label}` : head?.label;
  const told = head?.label && show === "head" ? `${name} ${does}.` : `${name}.`;
  replace(
    view.notes,
    [...(run?.about.notes ?? []), ...(run?.notes?.() ?? [])].map((note) => element("p", note)),
  );
  replace(view.about, prose(view.live?.isOff(at) ? `${told} It is switched off.` : told));
  if (!peek) announce(withoutWordMarks(marked));
}

/** @param {RunView} view @param {RunLine} line @param {number | null} other */
function statementOf(view, line, other) {
  const { isColumn, row, also, key, layer, state } = view;
  if (isColumn) {
    const asked = quoted(view, "key", key ?? 0);
    if (other === null) return `Nothing looks at ${asked}.`;
    const looks = quoted(view, "query", other);
    return `${asked} is looked at by ${looks}, ${shareWritten(line.weights[other])}`;
  }
  if (row === null) return `All ${(layer.queries * layer.keys).toLocaleString("en")} weights`;
  const asks = [row, ...also].map((one) => quoted(view, "query", one)).join(" and ");
  if (other === null) return `${asks} looks at nothing.`;
  const weight = line.weights[other];
  if (also.length)
    return `${asks} look at ${quoted(view, "key", other)}, ${shareWritten(weight)} on average`;
  if (view.live?.isTurned(row)) return `${asks} is made to look at ${quoted(view, "key", other)}`;
  // What a threshold or a mark left out hides was seen all the same.
  const isWhole = line.known === "all" && !state.get("least") && !state.get("marks");
  const isAlone = isWhole && line.weights.every((one, at) => at === other || one === 0);
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
      "button.step",
      {
        "aria-label": label,
        title: label,
        disabled: to < 0 || to >= most,
        on: { click: () => state.set({ [field]: to, also: null }) },
      },
      name,
    );
  const name = [
    element("b.serif", nameOf(view, side, position)),
    hasText(view) && element("span.quiet", ` (${position.toLocaleString("en")})`),
  ];
  const shift = isColumn ? part.query.offset : 0;
  list.show({
    line: shift ? { ...line, weights: shifted(line.weights, shift) } : line,
    other: before && shift ? { ...before, weights: shifted(before.weights, shift) } : before,
    text,
    aimed: isColumn ? null : key,
    wholeName: !isColumn,
    heading: [
      step("‹", "The token before", position - 1),
      element("span", isColumn ? ["Who looks at ", name] : [name, " looks at"]),
      step("›", "The token after", position + 1),
    ],
  });
}

/** @param {RunView} view */
export async function drawHeads(view) {
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
export function drawMapTable(view) {
  const patch = view.map.patch();
  if (view.table.open && patch)
    replace(
      view.tableBox,
      mapTable(patch, (side, position) => (hasText(view) ? nameOf(view, side, position) : "")),
    );
}
