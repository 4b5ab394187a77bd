// The formulas of the course as MathML, each made of nested parts: a text is a name, a number or a
// sign; [tag, ...parts] is an element around others.

const FORMULA_SPACE = "http://www.w3.org/1998/Math/MathML";

/** @param {FormulaPart} part @returns {Element} */
function mathPart(part) {
  if (typeof part === "string") {
    const name = part.length > 1 ? "mtext" : "mi";
    const tag = /^[\d.,−]+$/.test(part) ? "mn" : /^[\p{L} ]+$/u.test(part) ? name : "mo";
    const leaf = document.createElementNS(FORMULA_SPACE, tag);
    leaf.textContent = part.replaceAll(" ", "\u00a0");
    return leaf;
  }
  const [tag, ...parts] = part;
  const [name, kind] = tag.split(".");
  const made = document.createElementNS(FORMULA_SPACE, name);
  if (kind) made.setAttribute("class", kind);
  made.append(...parts.map(mathPart));
  return made;
}

/** @param {FormulaPart[]} parts */
export function mathFormula(...parts) {
  return mathPart(["math", ["mrow", ...parts]]);
}

/** @type {FormulaPart} */
const POWER = ["msup", "e", ["mrow", "score", "/", ["msqrt", "d"]]];

/** @type {FormulaPart[]} */
const [QUERY, KEY, VALUE] = ["query", "key", "value"].map((x) => [`mi.of-${x}`, x]);

/** @type {Record<string, FormulaPart[]>} */
export const FORMULAS = {
  dot: ["score", "=", QUERY, "·", KEY, "=", "length", "×", "shadow"],
  share: ["share", "=", ["mfrac", POWER, ["mrow", "sum of all ", POWER]]],
  mix: ["output", "=", "sum of all ", ["mrow", "share", "×", VALUE]],
  residual: ["vector", "←", "vector", "+", "what is made"],
};

// A formula that a document writes in letters, such as softmax(Q K^T / √d_k).
/** @param {string} text */
export function writtenFormula(text) {
  /** @type {FormulaPart[]} */
  const parts = [];
  for (const [, root, name, mark, index] of text.matchAll(
    /(√?)([A-Za-z]+|[^\sA-Za-z√])(?:([\^_])(\w+))?/g,
  )) {
    /** @type {FormulaPart} */
    const whole = mark ? [mark === "^" ? "msup" : "msub", name, index] : name;
    parts.push(root ? ["msqrt", whole] : whole);
  }
  return mathFormula(...parts);
}
