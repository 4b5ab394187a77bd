// Names of tokens and positions of the run that is shown.

import { asWord } from "../lib/dom.js";
import { tokenName } from "./source.js";

// Whether positions are tokens of the texts: in layers of other sizes they are not.
/** @param {RunView} view */
export function hasText({ layer, part, texts }) {
  const asks = (texts.query?.segments.length ?? -1) === layer.queries + part.query.offset;
  return asks && (texts.key?.segments.length ?? -1) === layer.keys;
}

/** @param {RunView} view @param {SideName} side @param {number} position */
export function nameOf(view, side, position) {
  const { part, texts } = view;
  if (!hasText(view)) return `${side} ${position.toLocaleString("en")}`;
  return tokenName(texts[side], position + (side === "query" ? part.query.offset : 0));
}

// The same in a sentence: tokens are quoted, positions are not.
/** @param {RunView} view @param {SideName} side @param {number} position */
export function quoted(view, side, position) {
  const name = nameOf(view, side, position);
  return hasText(view) ? asWord(name) : name;
}
