// The Check view: pasted attention code, and the first wrong step that regard.check finds in it.
// The code runs in the worker, sandboxed by the browser; one that takes too long is ended with it.

import { element, problem, replace } from "../lib/dom.js";

const CHECK_SECONDS = 30;
// Line by line: the bundle drops the indentation of its own lines, also inside a template.
const FIRST_CODE = [
  "import numpy as np",
  "",
  "def attention(q, k, v):",
  "    scores = q @ k.swapaxes(-1, -2)",
  "    e = np.exp(scores - scores.max(axis=-1, keepdims=True))",
  "    return e / e.sum(axis=-1, keepdims=True) @ v",
  "",
].join("\n");

/**
 * @param {(reason: Error) => Promise<void>} restart  ends the worker and starts another
 * @returns {ShowView}
 */
export function checkView(restart) {
  return async (root, state, source) => {
    const code = element("textarea", { class: "check-code", rows: 12, spellcheck: false });
    code.setAttribute("aria-label", "Attention in NumPy");
    code.value = state.get("code", FIRST_CODE);
    const report = element("div", { role: "status" });
    const button = element("button", { type: "button" }, "Check");
    button.addEventListener("click", async () => {
      state.set({ code: code.value === FIRST_CODE ? null : code.value });
      button.disabled = true;
      replace(report, "Checking …");
      const late = new Error(`The code was ended after ${CHECK_SECONDS} s: does it have a loop?`);
      const timer = setTimeout(() => restart(late), 1000 * CHECK_SECONDS);
      try {
        const answer = await source.ask("/api/check", { code: code.value });
        replace(report, element("pre", {}, (await answer.json()).text));
      } catch (error) {
        replace(report, problem(error));
      } finally {
        clearTimeout(timer);
        button.disabled = false;
      }
    });
    root.append(
      element("h1", {}, "Check attention code"),
      element("p", {}, "Paste a function of q, k and v in NumPy: its first wrong step is named."),
      code,
      element("p", {}, button),
      report,
    );
    return undefined;
  };
}
