// Check: attention code in a box, and the first wrong step that regard.check finds in it. In Learn
// and in a view of its own. The code runs in the worker, where the browser's sandbox contains it.

import { element, problem, replace } from "../lib/dom.js";

const CHECK_SECONDS = 30;
const SCORES_LINE = "scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])";
const OUTPUT_LINE = "return e / e.sum(axis=-1, keepdims=True) @ v";
// What each example changes in attention as it should be.
const CHECKED_CODE = /** @type {[string, string, string][]} */ ([
  ["Example 1", SCORES_LINE, "scores = q @ k.swapaxes(-1, -2)"],
  ["Example 2", OUTPUT_LINE, "return e / e.sum(axis=-2, keepdims=True) @ v"],
  ["Example 3", "q @ k.swapaxes(-1, -2)", "k @ q.swapaxes(-1, -2)"],
  ["Correct", "", ""],
]);

// Line by line: the bundle drops the indentation of its own lines, also inside a template.
/** @param {string} step @param {string} changed */
function exampleCode(step, changed) {
  const code = [
    "import numpy as np",
    "",
    "def attention(q, k, v):",
    `    ${SCORES_LINE}`,
    "    e = np.exp(scores - scores.max(axis=-1, keepdims=True))",
    `    ${OUTPUT_LINE}`,
    "",
  ];
  return code.join("\n").replace(step, changed);
}

/** @param {CheckAsk} ask @returns {ShowView} */
export function checkView(ask) {
  return async (root, state) => {
    root.append(
      element("h1", {}, "Is my attention right?"),
      element(
        "p",
        {},
        "Paste a NumPy function of q, k and v. regard runs it on small inputs and names its " +
          "first wrong step. The code stays in this browser.",
      ),
      checkBox(ask, state.get("code"), (code) => state.set({ code })),
    );
    return undefined;
  };
}

/** @param {CheckAsk} ask */
export function practice(ask) {
  return element(
    "details.teachers",
    element("summary", {}, "Write it yourself"),
    element(
      "p",
      {},
      "Attention in three lines, with one step of the course left out. Check it, then fix it.",
    ),
    checkBox(ask, "", () => null),
  );
}

/** @param {CheckAsk} ask @param {string} code @param {(code: string | null) => void} keep */
function checkBox(ask, code, keep) {
  const [, ...first] = CHECKED_CODE[0];
  const box = element("textarea", {
    ...{ class: "check-code", rows: 8, spellcheck: "false", autocapitalize: "off" },
    ...{ "aria-label": "Attention in NumPy", value: code || exampleCode(...first) },
  });
  const report = element("div.check-report", { role: "status" });
  const check = async () => {
    keep(box.value === exampleCode(...first) ? null : box.value);
    button.disabled = true;
    replace(report, "Checking …");
    try {
      const answer = await ask({ code: box.value }, { seconds: CHECK_SECONDS });
      replace(report, reportParts(await answer.json()));
    } catch (error) {
      replace(report, problem(error));
    } finally {
      button.disabled = false;
    }
  };
  const button = element("button.button.primary", { on: { click: check } }, "Check");
  const examples = CHECKED_CODE.map(([name, ...change]) => {
    const show = () => {
      box.value = exampleCode(...change);
      replace(report);
    };
    return element("button.button", { on: { click: show } }, name);
  });
  return element("div.check-box", box, element("p.check-buttons", button, examples), report);
}

/** @param {CheckReport} report @returns {Child[]} */
function reportParts({ verdict, mistakes, called, findings, diagnosis, others, tried, notes }) {
  const right = verdict.startsWith("right");
  const named = mistakes.length ? `: ${mistakes.join(" and ")}` : "";
  return [
    element("h2", { class: right ? "is-right" : "is-wrong" }, `${verdict}${named}`),
    diagnosis.map(({ about, fix }) => [
      element("p", {}, about),
      element("p", {}, "The fix:"),
      element("pre", {}, fix),
    ]),
    others.length > 0 && element("p", {}, `${others.join(" or ")} would explain it as well.`),
    tried.map((text) => element("p", {}, text)),
    notes.map((text) => element("p", {}, `Note: ${text}`)),
    findings.length > 0 &&
      element(
        "details",
        { open: !right && !diagnosis.length },
        element("summary", {}, "What was tested"),
        element("p.small", `Called as ${called}.`),
        element("table.check-findings.small", findings.map(findingRow)),
      ),
  ];
}

/** @param {CheckFinding} finding */
function findingRow({ name, status, detail, wrong, right, element: at, input }) {
  const number = (/** @type {number | string} */ x) =>
    typeof x === "number" ? x.toPrecision(4) : x;
  const lines = [
    detail,
    wrong !== null && right !== null && `${at} is ${number(wrong)}, should be ${number(right)}`,
    input && `input: ${input}`,
  ];
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, name),
    element("td", { class: status === "FAIL" ? "is-wrong" : null }, status),
    element(
      "td",
      {},
      lines.filter(Boolean).map((line) => element("p", {}, line)),
    ),
  );
}
