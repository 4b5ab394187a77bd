// The Read view drawn from what is known: the weights, and the words that are chosen or pointed at.

import { announce, prose, replace, withoutMarksOfWords } from "../lib/dom.js";
import { sendSelection } from "../lib/host_frame.js";
import { drawEffects } from "./effect_grid.js";
import { hasFlow } from "./flow_picture.js";
import { drawQuestions } from "./questions.js";
import { isHighlight, pinnedOf, shadesOf } from "./read_choice.js";
import { highlightSentence, sentenceOf } from "./sentences.js";
import { hasSpace } from "./space_picture.js";
import { writtenUntil } from "./token_steps.js";
import { generatedAmong } from "./weights.js";
import { weightsTable } from "./weights_table.js";
import { drawWhy } from "./why_weight.js";

/** @param {ReadView} view */
export function redraw(view) {
  const { grid, state, part } = view;
  if (!grid) return;
  const pinned = pinnedOf(view);
  const requested = view.hovered || pinned;
  const within = (positions, size) => positions.filter((position) => position < size);
  const chosen = {
    queries: within(requested.queries, grid.rows),
    keys: within(requested.keys, grid.columns),
  };
  view.chosen = chosen;
  const statement = drawStatement(view, pinned);
  drawQuestions(view);
  view.steps.show(view);
  drawWhy(view);
  drawEffects(view);
  view.top.shade(...shadesOf(view));
  const picture = pictureOf(view);
  if (view.picture.firstChild !== picture.root) replace(view.picture, picture.root);
  const by = state.get("by", "words");
  const titles = [part.query.language || "a word", part.key.language || "a word"];
  picture.show({
    grid,
    chosen,
    pinned,
    threshold: state.number("least", 0) / 100,
    titles,
    statement,
    until: writtenUntil(view),
    generated: {
      query: generatedAmong(part.query, by, grid.queryPositions),
      key: generatedAmong(part.key, by, grid.keyPositions),
    },
  });
  view.images.show({ images: view.reading.images, part, grid, chosen, by });
  view.beside.show(view);
  if (!view.hovered && !view.peek) sendSelection({ ...view.choice, ...chosen });
  if (view.table.open && view.tabled !== grid) {
    replace(view.table.lastChild, weightsTable(grid));
    view.tabled = grid;
  }
}

/** @param {ReadView} view */
function pictureOf(view) {
  const { state, pictures, part } = view;
  const name = state.get("as", "lines");
  const isServed = (name !== "flow" || hasFlow(part)) && (name !== "space" || hasSpace(view));
  return (isServed && pictures[name]) || pictures.lines;
}

/** @param {ReadView} view */
function drawStatement(view, pinned) {
  const { reading, grid, chosen, choice } = view;
  const marked =
    !view.hovered && isHighlight(view, pinned)
      ? highlightSentence(reading.highlight)
      : sentenceOf(grid, chosen, choice);
  const plain = withoutMarksOfWords(marked);
  replace(view.statement, prose(marked));
  if (!view.hovered) announce(plain);
  return plain;
}
