// Why a weight is what it is, as bars that become one another: scores, divided by the root of d,
// and shares of 100 %. The formula stands above; each of its symbols lights the bars that it makes.

import { signedNumber } from "../lib/digits.js";
import { choice, element, mathElement, percent, prose, replace } from "../lib/dom.js";
import { animate, MEANING_MS } from "../lib/motion.js";
import { OPEN_SENTENCE } from "./examples.js";

const BAR_PIXELS = 84; // of the longest
const SURE_WEIGHT = 0.995;
const STAGE_PAUSE_MS = 900;

/** @type {[string, string][]} */
const BAR_STAGES = [
  ["scores", "1. scores"],
  ["scaled", "2. divided"],
  ["weights", "3. shares"],
];

// names: of the tokens that can be seen; onSentence reads another sentence.
/**
 * @param {WeightParts} parts
 * @param {string[]} names
 * @param {string} asks
 * @param {(sentence: string) => void} onSentence
 */
export function whyBars(parts, names, asks, onSentence) {
  const bars = names.map((name, at) => barColumn(name, at === parts.key));
  const told = element("p", { class: "bars-told" });
  const steps = element("div", { class: "bars-steps" });
  const formula = element("p", { class: "bars-formula" });
  let stop = () => {};
  let timer = 0;
  /** @param {string} stage */
  const show = (stage) => {
    stop();
    clearTimeout(timer);
    const values = parts[/** @type {"scores"} */ (stage)];
    const most = Math.max(...values.map(Math.abs), 1e-9);
    replace(formula, formulaOf(parts.width, stage));
    replace(
      steps,
      choice("Step of the sum", BAR_STAGES, stage, (next) => show(next)),
    );
    replace(told, prose(saidOf(stage, parts, asks)));
    const before = bars.map(({ height }) => height);
    for (const { number } of bars) number.textContent = "";
    stop = animate(
      MEANING_MS,
      (share) =>
        bars.forEach((bar, at) => {
          const target = (BAR_PIXELS * values[at]) / most;
          bar.height = before[at] + share * (target - before[at]);
          bar.fill.style.setProperty("height", `${Math.abs(bar.height).toFixed(1)}px`);
          bar.fill.classList.toggle("below", bar.height < 0);
        }),
      () => bars.forEach(({ number }, at) => (number.textContent = barNumber(stage, values[at]))),
    );
    const next = BAR_STAGES[BAR_STAGES.findIndex(([name]) => name === stage) + 1];
    if (next && isFirst) timer = setTimeout(() => show(next[0]), MEANING_MS + STAGE_PAUSE_MS);
    else isFirst = false;
  };
  let isFirst = true;
  steps.addEventListener("pointerdown", () => {
    isFirst = false;
  });
  show("scores");
  return element(
    "div",
    { class: "why-bars" },
    formula,
    steps,
    told,
    element(
      "div",
      {
        class: "bars",
        role: "img",
        "aria-label": "A bar for each word; the table has the numbers",
      },
      bars.map(({ root }) => root),
    ),
    parts.weights[parts.key] >= SURE_WEIGHT && sureNote(parts, onSentence),
  );
}

/** @param {string} name @param {boolean} isChosen */
function barColumn(name, isChosen) {
  const fill = element("span", { class: "bar-fill" });
  const number = element("span", { class: "bar-number" });
  const root = element(
    "span",
    { class: `bar-column${isChosen ? " chosen" : ""}` },
    element("span", { class: "bar-room" }, number, fill),
    element("span", { class: "serif" }, name),
  );
  return { root, fill, number, height: 0 };
}

/** @param {string} stage @param {number} value */
function barNumber(stage, value) {
  return stage === "weights" ? percent(value) : signedNumber(value, 1);
}

/** @param {string} stage @param {WeightParts} parts @param {string} asks */
function saidOf(stage, { width }, asks) {
  if (stage === "scores")
    return `The query of ${asks} meets the key of each word: ${width} products, added up.`;
  if (stage === "scaled")
    return `Every score is divided by √${width}, so that long vectors do not shout.`;
  return "e to the power of each, divided by the sum of all: shares that add up to 100 %.";
}

// softmax(q · k / √d), with what is shown now lit.
/** @param {number} width @param {string} stage */
function formulaOf(width, stage) {
  /** @param {string} name @param {string} tag @param {string} text */
  const symbol = (name, tag, text) => mathElement(tag, { class: name }, text);
  const score = mathElement(
    "mrow",
    { class: stage === "scores" ? "lit" : "" },
    symbol("of-query", "mi", "q"),
    mathElement("mo", null, "·"),
    symbol("of-key", "mi", "k"),
  );
  const root = mathElement(
    "msqrt",
    { class: stage === "scaled" ? "lit" : "" },
    mathElement("mn", null, String(width)),
  );
  return mathElement(
    "math",
    { display: "block" },
    mathElement(
      "mrow",
      null,
      mathElement("mi", { class: stage === "weights" ? "lit" : "" }, "softmax"),
      mathElement("mo", null, "("),
      mathElement("mfrac", null, score, root),
      mathElement("mo", null, ")"),
    ),
  );
}

// Where a head is sure the shares hide what softmax does: another sentence shows it.
/** @param {WeightParts} parts @param {(sentence: string) => void} onSentence */
function sureNote({ scaled, key }, onSentence) {
  const next = Math.max(...scaled.filter((_, at) => at !== key));
  return element(
    "p",
    { class: "small quiet" },
    `This head is sure: the next word has e`,
    element("sup", null, signedNumber(scaled[key] - next, 0)),
    " times less. In ",
    element(
      "button",
      { type: "button", class: "link", on: { click: () => onSentence(OPEN_SENTENCE) } },
      OPEN_SENTENCE,
    ),
    " it hesitates, and the bars show more.",
  );
}
