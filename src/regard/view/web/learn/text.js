// The course's small language: {facts}, *words*, `code`. Everything ends as text.

import { withMinus } from "../lib/digits.js";
import { element, percent, prose } from "../lib/dom.js";

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** @param {string} text @param {Facts} facts */
export function filledText(text, facts) {
  return text
    .split(/(\*[^*]+\*|`[^`]+`)/)
    .filter(Boolean)
    .flatMap((piece) => {
      const inside = piece.slice(1, -1);
      if (piece[0] === "*" && piece.length > 2) return element("em.serif", valuesIn(inside, facts));
      if (piece[0] === "`" && piece.length > 2) return element("code", inside);
      return prose(valuesIn(piece, facts));
    });
}

/** @param {string} text @param {Facts} facts */
function valuesIn(text, facts) {
  return text.replace(/\{([\w.]+)(?:\|([%e\d]))?\}/g, (_, name, form) => {
    const value = name.split(".").reduce(
      /** @param {unknown} inside @param {string} key */
      (inside, key) => /** @type {Fields} */ (inside)[key],
      facts,
    );
    /** @param {unknown} one */
    const written = (one) => withMinus(writtenValue(one, form));
    return Array.isArray(value) ? value.map(written).join(", ") : written(value);
  });
}

/** @param {unknown} value @param {string | undefined} form */
function writtenValue(value, form) {
  if (form === undefined) return String(value);
  if (form === "%") return percent(Number(value));
  return form === "e" ? powerOfTen(Number(value)) : Number(value).toFixed(Number(form));
}

/** @param {number} value */
function powerOfTen(value) {
  const [written, exponent] = value.toExponential(1).split("e");
  const raised = [...exponent.replace(/^\+/, "")].map((one) => RAISED[Number(one)] || "⁻");
  return `${written} × 10${raised.join("")}`;
}
