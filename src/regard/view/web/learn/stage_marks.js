// Marks that several scenes have: the sentence, a name, and the table of what is drawn.

import { withMinus } from "../lib/digits.js";
import { stageRow } from "./learn_stage.js";

export const LARGEST_TYPE = 30;
/** @type {Record<string, string>} */
const NOUN_CLASS = { cat: "of-one", chat: "of-one", mouse: "of-two", souris: "of-two" };

/** @param {string} word @param {Record<string, string>} [classes] */
export function wordClass(word, classes = NOUN_CLASS) {
  return Object.hasOwn(classes, word.toLowerCase()) ? classes[word.toLowerCase()] : "";
}

// The sentence at some part of the height, with the word that asks underlined.
/**
 * @param {string[]} words
 * @param {StageView} view
 * @param {number} down
 * @param {{ asking?: number; pick?(at: number): void; order?: number[]; id?: string }} [options]
 */
export function sentenceMarks(words, view, down, { asking, pick, order, id = "w" } = {}) {
  const shown = order ? order.map((at) => words[at]) : words;
  const { size, middles: slots } = stageRow(shown, view.width, LARGEST_TYPE);
  const middles = order ? words.map((_, at) => slots[order.indexOf(at)]) : slots;
  const y = view.height * down;
  /** @type {StageMark[]} */
  const marks = words.map((word, at) => ({
    id: `${id}${at}`,
    tag: "text",
    at: { x: middles[at], y, "font-size": size },
    text: word,
    class: [
      ...["stage-word", wordClass(word), at === asking && "asking"],
      ...[word[0] === "(" && "mark", pick && "can-pick"],
    ]
      .filter(Boolean)
      .join(" "),
    on: pick && { click: () => pick(at) },
  }));
  return { marks, middles, slots, size, y };
}

/** @param {string[]} words @param {Record<string, number[]>} columns @returns {StageTable} */
export function shareTable(words, columns) {
  return {
    heads: Object.keys(columns),
    rows: words.map((word, at) => [
      word,
      ...Object.values(columns).map((column) => tableNumber(column[at])),
    ]),
  };
}

/** @param {number} value */
export function tableNumber(value) {
  const text = value === 0 ? "0" : Math.abs(value) < 1e-6 ? "< 0.000001" : value.toFixed(6);
  return withMinus(text);
}

/**
 * @param {string} id
 * @param {StageView} view
 * @param {number} y
 * @param {string} text
 * @returns {StageMark}
 */
export function nameMark(id, view, y, text) {
  return { id, tag: "text", at: { x: 0, y, "font-size": 13 }, text, class: "stage-name" };
}
