// Pointing and clicking outside the picture: words of the sentence, heads of the grid.

import { goTo } from "../lib/dom.js";
import { choiceOf } from "./read_choice.js";
import { redraw } from "./read_redraw.js";
import { chooseTable } from "./read_requests.js";

// Milliseconds over a small picture before the large one follows.
const LINGER = { come: 60, go: 120 };
const NARROW = "(max-width: 900px)"; // one column, as in read.css

// Pointing at a French word shows where the English words it came from stand in the picture.
/** @param {ReadView} view */
export function lightEnglish(view, positions) {
  if (!view.grid) return;
  const { part, grid, state } = view;
  const shown =
    part.key.language === "English" && !grid.hidden && state.get("by", "words") === "words";
  const side = part.name === "encoder" ? "queries" : "keys";
  view.hovered =
    positions && positions.length && shown ? { queries: [], keys: [], [side]: positions } : null;
  redraw(view);
}

// A word of the typed sentence that is clicked becomes the one that looks, or that is looked at
// where French looks at English.
/** @param {ReadView} view */
export function pickEnglish(view, position) {
  if (!view.grid || view.grid.hidden || view.state.get("by", "words") !== "words") return;
  if (view.part.key.language !== "English") return;
  view.state.set(view.part.name === "encoder" ? { q: position, k: null } : { q: "-", k: position });
}

/** @param {ReadView} view */
export function pickHead(view, part, layer, head) {
  view.peek = null;
  const same = part === choiceOf(view).part;
  view.state.set(
    { part, layer, head, show: null, ...(same ? {} : { q: "-", k: null, step: null }) },
    true,
  );
  // In one column the heads stand below: the picture comes into sight again.
  if (matchMedia(NARROW).matches && !isInSight(view.shown)) goTo(view.shown);
}

function isInSight(node) {
  const { top, bottom } = node.getBoundingClientRect();
  return bottom > 120 && top < window.innerHeight - 120;
}

// Pointing at a small picture shows it large; leaving it brings the chosen one back.
/** @param {ReadView} view */
export function peekAt(view, part, layer, head) {
  clearTimeout(view.peeking);
  view.peeking = setTimeout(
    () => {
      if (!view.reading) return;
      const isPart = part && view.reading.parts.some((one) => one.name === part);
      view.peek = isPart ? { part, layer, head } : null;
      chooseTable(view);
    },
    part ? LINGER.come : LINGER.go,
  );
}
