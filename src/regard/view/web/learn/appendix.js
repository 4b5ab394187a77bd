// The appendix: rows of the published introductions, as printed and as computed, in tables.

import { element, tableHead, tableRow } from "../lib/dom.js";

/** @type {Record<string, (facts: Facts) => HTMLElement>} */
export const APPENDIX = {
  printed: (facts) =>
    rowsTable(
      "The row of robots",
      ["share", "as printed", "value", "as printed · value"],
      facts.words,
      [
        numberRow(facts.true).map(shareCell),
        numberRow(facts.document).map(shareCell),
        numberRow(facts.values).map((one) => one.toFixed(0)),
        numberRow(facts.document).map((one, at) => (one * numberRow(facts.values)[at]).toFixed(2)),
      ],
      [
        total(numberRow(facts.true)),
        total(numberRow(facts.document)),
        "",
        Number(facts.followed).toFixed(2),
      ],
    ),
  order: (facts) =>
    rowsTable(
      `The row of ${facts.word}`,
      ["divided before", "divided after"],
      facts.words,
      [numberRow(facts.before).map(shareCell), numberRow(facts.after).map(shareCell)],
      [facts.sum_before.toFixed(3), facts.sum_after.toFixed(3)],
    ),
  batch: (facts) =>
    element(
      "div.side-by-side",
      rowsTable(
        "cat, in its own sentence",
        ["share"],
        facts.words,
        [facts.own.map(shareCell)],
        [total(facts.own)],
      ),
      rowsTable(
        "cat, in the other sentence",
        ["share"],
        facts.others,
        [facts.stray.map(shareCell)],
        [facts.stray_sum.toFixed(3)],
      ),
    ),
};

/**
 * @param {string} caption
 * @param {string[]} heads
 * @param {string[]} words
 * @param {Child[][]} columns
 * @param {string[]} sums
 */
function rowsTable(caption, heads, words, columns, sums) {
  return element(
    "div.wide",
    element(
      "table.numbers.lesson",
      element("caption", caption),
      tableHead([null, ...heads]),
      element(
        "tbody",
        words.map((word, at) =>
          tableRow(
            word,
            columns.map((column) => column[at]),
          ),
        ),
      ),
      element("tfoot", tableRow("sum", sums)),
    ),
  );
}

/** @param {unknown} fact */
function numberRow(fact) {
  return /** @type {number[]} */ (fact);
}

/** @param {number} share */
function shareCell(share) {
  return element(
    "span.share",
    element("span.bar", { style: { width: `calc(${share} * (100% - 3.4rem))` } }),
    element("span.number", share.toFixed(3)),
  );
}

/** @param {number[]} shares */
function total(shares) {
  return shares.reduce((a, b) => a + b, 0).toFixed(3);
}
