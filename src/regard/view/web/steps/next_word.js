// The end of the path: how likely each token is to come next, at any position of the French.
//
// NextWords (source.nextWords): tokens (what the decoder was given), names and ids of the tokens
// that are likely somewhere, candidates (for each position, the likeliest first), chosen (what the
// translation went on with), logsumexp (for each position, over the whole vocabulary)
//   matrices: last (output of the last decoder layer);  parameter: last_norm_gain and _bias,
//   vectors (rows of the embedding table, which also tell the likely tokens apart)

import { withMinus } from "../lib/digits.js";
import { element } from "../lib/dom.js";
import { normalised, requiredParameter } from "./layer_path.js";
import { operandNumbers } from "./path_why.js";
import { exact, joinedTerms, labels, summed, writtenCell } from "./why.js";

/** @type {WeakMap<NextWords, Matrix>} */
const finals = new WeakMap();

// The last decoder's vectors after the last norm: what each token's vector is multiplied with.
/** @param {NextWords} next @returns {Matrix} */
function finalVectors(next) {
  let final = finals.get(next);
  if (!final) {
    const [gain, bias] = ["gain", "bias"].map((name) =>
      requiredParameter(next, `last_norm_${name}`),
    );
    final = normalised(next.matrices.last, gain, bias, { layer: next });
    finals.set(next, final);
  }
  return final;
}

// The candidates at a position: { name, id, logit, probability, chosen }.
/** @param {NextWords} next @param {number} row */
export function candidatesAt(next, row) {
  const vectors = requiredParameter(next, "vectors");
  const final = operandNumbers(finalVectors(next), { row, column: null });
  return next.candidates[row].map((index) => {
    const vector = operandNumbers(vectors, { row: index, column: null });
    const logit = summed(Array.from(final, (one, at) => one * vector[at]));
    return {
      index,
      name: next.names[index],
      id: next.ids[index],
      logit,
      probability: Math.exp(logit - next.logsumexp[row]),
      chosen: next.chosen[row] === index,
    };
  });
}

/** @param {NextWords} next @param {number} row @param {number} column @returns {Explained} */
export function explainNext(next, row, column) {
  const candidates = candidatesAt(next, row);
  const { index, name, logit } = candidates[Math.min(column, candidates.length - 1)];
  const position = labels(next.tokens)[row];
  const left = operandNumbers(finalVectors(next), { row, column: null });
  const right = operandNumbers(requiredParameter(next, "vectors"), { row: index, column: null });
  /** @template T @param {T[]} list */
  const pairs = (list) => Array.from(left, (_, at) => [list[2 * at], list[2 * at + 1]]);
  /** @type {Expression} */
  const made = {
    formula: "last vector · the token's row of the embedding table",
    operands: Array.from(left).flatMap((one, at) => [one, right[at]].map(exact)),
    operandCells: [],
    rule: (list) => summed(pairs(list).map(([a, b]) => a * b)),
    write: (list) => joinedTerms(pairs(list).map(([a, b]) => `${a} · ${b}`)),
  };
  return {
    ...writtenCell(`logit[${name} after ${position}]`, exact(logit), made),
    terms: {
      left: { name: `last norm: ${position}`, values: left },
      right: { name: `embedding: ${name}`, values: right },
    },
  };
}

// The softmax of a logit in full: e^logit over the sum of e^logit of all tokens.
/** @param {NextWords} next @param {number} row @param {number} column */
export function explainShare(next, row, column) {
  const candidates = candidatesAt(next, row);
  const { name, logit, probability } = candidates[Math.min(column, candidates.length - 1)];
  const sum = `e^${next.logsumexp[row].toFixed(3)}`;
  /** @type {Expression} */
  const made = {
    formula: "e^logit / sum of e^logit over the vocabulary",
    operands: [exact(logit), exact(next.logsumexp[row])],
    operandCells: [],
    rule: ([a, b]) => Math.exp(a - b),
    write: ([a, b]) => `e^${a} / e^${b}`,
    note: `${sum} is the sum over all ${next.vocabulary.toLocaleString("en")} tokens`,
  };
  return writtenCell(`probability[${name}]`, exact(probability), made).line;
}

// Where in the French, and the ten likeliest tokens there as bars.
/**
 * @param {NextWords} next
 * @param {number} row
 * @param {number} column
 * @param {(row: number, column: number) => void} go
 */
export function nextWordPanel(next, row, column, go) {
  const names = labels(next.tokens);
  const candidates = candidatesAt(next, row);
  const most = Math.max(...candidates.map(({ probability }) => probability));
  return [
    element("p.small.quiet", "The French so far; choose after which token:"),
    element(
      "div.choice.so-far",
      { role: "group", "aria-label": "Position in the French" },
      names.map((name, at) =>
        element(
          "button",
          {
            class: at > row ? "later" : null,
            "aria-pressed": String(at === row),
            on: { click: () => go(at, 0) },
          },
          name,
        ),
      ),
    ),
    element(
      "ol.likely",
      { "aria-label": "The likeliest next tokens" },
      candidates.map((one, at) =>
        element(
          "li",
          element(
            "button",
            {
              "aria-pressed": String(at === column),
              class: one.chosen ? "taken" : null,
              title: one.chosen ? "The translation went on with it" : null,
              on: { click: () => go(row, at) },
            },
            element("span.serif", one.name),
            element(
              "span.track",
              element("span.length", {
                "data-bar": `next ${one.id}`,
                style: { left: "0%", width: `${((100 * one.probability) / most).toFixed(2)}%` },
              }),
            ),
            element("span.likely-share", shareText(one.probability)),
            element("span.quiet.small.logit", withMinus(one.logit.toFixed(2))),
          ),
        ),
      ),
    ),
    element(
      "p.small.quiet",
      "The outlined token is the one that the translation went on with; the grey number is its " +
        "logit. A search over several translations chooses, so it need not be the likeliest here.",
    ),
  ];
}

/** @param {number} share */
export function shareText(share) {
  return share >= 0.0995 ? `${(100 * share).toFixed(0)} %` : `${(100 * share).toPrecision(2)} %`;
}
