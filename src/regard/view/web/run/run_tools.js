// Which run is shown, and above its text: which part, who looks at whom, a search, the shades in
// numbers.

import { choice, element, labelled, replace } from "../lib/dom.js";
import { drawLine } from "./run_draw.js";
import { hasText } from "./run_names.js";
import { WAY_FIELDS, wayTools } from "./ways.js";

// What is chosen of a run means nothing in another one.
const UNCHOSEN = {
  ...{ part: null, layer: null, head: null, row: null, also: null, key: null, at: null },
  ...{ rows: null, columns: null, direction: null, find: null },
};

// Which run, and of which size.
/** @param {RunView} view @param {RunSource} run */
export function drawRunTitle(view, run) {
  const { state, source, live } = view;
  const files = source.page.files || [];
  const heads = run.about.parts.reduce(
    (sum, part) => sum + part.layers.reduce((all, layer) => all + layer.heads.length, 0),
    0,
  );
  const tokens = run.about.texts.length
    ? `${run.about.texts.map((count) => count.toLocaleString("en")).join(" + ")} tokens`
    : `${run.about.parts[0].layers[0].queries.toLocaleString("en")} queries`;
  /** @param {string} label @param {string[]} names @param {number} chosen @param {string} field */
  const select = (label, names, chosen, field) =>
    element(
      "select",
      {
        "aria-label": label,
        on: {
          change: ({ target }) =>
            state.set({ [field]: target.value === "0" ? null : target.value, ...UNCHOSEN }, true),
        },
      },
      names.map((text, at) => element("option", { value: at, selected: at === chosen }, text)),
    );
  const batch = Array.from({ length: run.about.sentences }, (_, at) => `sentence ${at}`);
  replace(
    view.title,
    !live && files.length > 1
      ? select("File", files, state.number("file", 0), "file")
      : element("b", run.about.name),
    batch.length > 1 && select("Sentence", batch, state.number("batch", 0), "batch"),
    element(
      "span.quiet",
      `${tokens} · ${heads.toLocaleString("en")} ${heads === 1 ? "head" : "heads"}`,
    ),
    run.reading &&
      source.views.includes("read") &&
      element("button.link", { on: { click: () => toSentence(view) } }, "In the sentence"),
  );
}

// The chosen word and head, in Look.
/** @param {RunView} view */
function toSentence({ state, run, part, choice: at, row }) {
  const side = run?.reading?.parts.find(({ name }) => name === part.name)?.query;
  const q = row === null ? null : (side?.word_of_token[row] ?? null);
  state.go("read", {
    ...at,
    q,
    ...{ row: null, also: null, key: null, show: null, as: null, marks: null },
  });
}

// Above the text: which part, who looks at whom, a search, and the shades in numbers.
/** @param {RunView} view @param {RunSource} run */
export function drawTools(view, run) {
  const { state, part, layer, tools } = view;
  const { parts } = run.about;
  const drawn = JSON.stringify([
    parts.map((x) => x.name),
    part.name,
    layer.exact,
    view.isColumn,
    hasText(view),
    ...WAY_FIELDS.map((field) => field !== "least" && state.get(field)),
  ]);
  if (tools.dataset.drawn === drawn) return;
  tools.dataset.drawn = drawn;
  const names = parts.map((one) => /** @type {const} */ ([one.name, one.name, one.about]));
  const search = element("input.find", {
    type: "search",
    placeholder: "Find in the text",
    "aria-label": "Find in the text",
    value: state.get("find"),
    on: {
      input: ({ target }) => state.set({ find: target.value }),
      keydown: (event) => {
        if (event.key === "Enter") findText(view, true, event.shiftKey);
      },
    },
  });
  view.findCount = element("span.quiet", { role: "status" });
  const ofSentence = run.reading?.parts.find(({ name }) => name === part.name);
  const reason = layer.exact ? "" : "This needs query and key of the layer, which were not kept";
  replace(
    tools,
    parts.length > 1 &&
      choice("Which attention", names, part.name, (name) =>
        state.set({ ...UNCHOSEN, part: name }, true),
      ),
    hasText(view) && part.query.text === part.key.text
      ? choice(
          "Shades",
          /** @type {[string, string, string | null, string?][]} */ ([
            ["out", "what it looks at", "Shade the text by the weights of the chosen token"],
            ["in", "what looks at it", "Shade the text by who looks at the chosen token", reason],
          ]),
          state.get("direction") === "in" ? "in" : "out",
          (name) => turn(view, name),
        )
      : null,
    ofSentence ? wayTools(view, ofSentence) : hasText(view) && labelled("", search, view.findCount),
    hasText(view) && view.legend,
  );
}

// The token that is chosen stays chosen when the view turns round.
/** @param {RunView} view @param {string} to */
function turn(view, to) {
  const { state, part, row, key } = view;
  const offset = part.query.offset;
  view.tools.dataset.drawn = "";
  if (to === "in") state.set({ direction: "in", key: (row ?? 0) + offset, row: null, also: null });
  else state.set({ direction: null, row: Math.max(0, (key ?? 0) - offset), key: null });
  if (view.run) drawTools(view, view.run);
}

// Finding, since the browser can search only what is in the page.
/** @param {RunView} view @param {boolean} isNext @param {boolean} [isBack] */
export function findText(view, isNext, isBack = false) {
  const { state, texts, panes } = view;
  const wanted = state.get("find").toLowerCase();
  const text = texts.key;
  view.found = null;
  if (!text || !wanted) {
    replace(view.findCount);
    drawLine(view);
    return;
  }
  if (view.searched?.text !== text) {
    const ends = new Float64Array(text.segments.length);
    let end = 0;
    text.segments.forEach((segment, at) => {
      end += segment.length;
      ends[at] = end;
    });
    view.searched = { text, whole: text.segments.join("").toLowerCase(), ends, at: 0 };
  }
  const { whole, ends } = view.searched;
  const starts = [];
  for (
    let at = whole.indexOf(wanted);
    at >= 0 && starts.length < 10000;
    at = whole.indexOf(wanted, at + 1)
  )
    starts.push(at);
  view.searched.at = isNext
    ? (view.searched.at + (isBack ? starts.length - 1 : 1)) % Math.max(1, starts.length)
    : 0;
  replace(
    view.findCount,
    starts.length
      ? `${view.searched.at + 1} of ${starts.length.toLocaleString("en")}`
      : "not found",
  );
  const start = starts[view.searched.at];
  if (start !== undefined) {
    const first = firstBeyond(ends, start);
    view.found = [first, firstBeyond(ends, start + wanted.length - 1) + 1];
    panes.key.scrollTo(first);
  }
  drawLine(view);
}

/** @param {Float64Array} ends @param {number} at */
function firstBeyond(ends, at) {
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > at) high = middle;
    else low = middle + 1;
  }
  return low;
}
