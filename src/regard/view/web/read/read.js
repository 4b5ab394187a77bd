// The Read view: a sentence, its translation, and what every head looked at.
//
// Fields of the address: sentence, part, layer, head, show (head, layer, all, rollout), as (lines,
// map, flow, space), by (words, tokens), least (threshold in percent), marks (shown, hidden), q and
// k (chosen positions, "1-3.7"; "-" is none), step (token_steps.js), order (of the heads: layer,
// role), changes (experiments, changes.js), effects and against (effect_grid.js), beside (what is
// compared, beside.js), why (whether the sum behind a weight is unfolded), because
// (because_tree.js), file (a watched run in place of a sentence).

import { FIRST_SENTENCE } from "./headline.js";
import { drawControls, drawNotes } from "./read_controls.js";
import { arrangeRead } from "./read_layout.js";
import { redraw } from "./read_redraw.js";
import { chooseTable, readSentence, runChanges } from "./read_requests.js";
import { describeExport } from "../lib/export.js";
import { readFigure } from "../lib/figures.js";
import { touches } from "../lib/state.js";

const TABLE_FIELDS = [
  ...["sentence", "part", "layer", "head", "show"],
  ...["as", "by", "marks", "least", "order", "step"],
];
const PINNED_FIELDS = ["q", "k", "why", "beside", "effects", "against"];

// A file in place of a sentence has another head: the view is then made anew.
export async function showRead(root, state, source) {
  let close = await openRead(root, state, source);
  state.follow(async (changed) => {
    if (!changed.has("file")) return;
    close();
    root.replaceChildren();
    close = await openRead(root, state, source);
  });
  return () => close();
}

async function openRead(root, state, source) {
  /** @type {ReadView} */
  const view = {
    state,
    source,
    root,
    reading: null,
    grid: null,
    hovered: null,
    anchor: null,
    peek: null,
    turn: 0,
  };
  arrangeRead(view, root);
  const recolour = () => {
    view.heads.repaint(source);
    redraw(view);
  };
  window.addEventListener("colours", recolour);
  const deaf = state.follow((changed) => {
    if (!changed.has("file")) follow(view, changed);
  });
  describeExport(() => readFigure(view));
  await readSentence(view);
  return () => {
    deaf();
    view.turn += 1;
    window.removeEventListener("colours", recolour);
    const { beside, heads, images, top } = view;
    for (const part of [...Object.values(view.pictures), beside, heads, images, top]) part.close();
    if (view.pending) view.pending.abort();
  };
}

// Words that are pinned change the picture and what is said about it; all else may change the
// table.
/** @param {ReadView} view */
function follow(view, changed) {
  const sentence = view.state.get("sentence", FIRST_SENTENCE);
  if (sentence !== view.sentence) readSentence(view);
  else if (changed.has("changes") && view.base) runChanges(view, ++view.turn);
  else if (touches(changed, TABLE_FIELDS) && view.reading) chooseTable(view);
  else if (touches(changed, PINNED_FIELDS) && view.grid) {
    if (changed.has("beside")) drawControls(view);
    else drawNotes(view);
    redraw(view);
  }
}
