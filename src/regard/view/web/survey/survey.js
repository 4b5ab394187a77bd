// The report of a survey: a grid of layers x heads, and the head that is chosen. The state is in
// the address.

import { announce, choice, element, pageElement, replace } from "../lib/dom.js";
import { ENTROPY, headName, showHead, shown } from "./head.js";

/** @type {SurveyReport} */
const report = JSON.parse(pageElement("report").textContent);
const measures = Object.keys(report.measures);
const parts = [...new Set(report.heads.map((head) => head.part))];

function startSurvey() {
  window.addEventListener("hashchange", drawSurvey);
  drawSurvey();
}

/** @returns {SurveyChoice} */
function chosenNow() {
  const given = new URLSearchParams(location.hash.slice(1));
  const asked = given.get("measure") || "";
  const measure = measures.includes(asked) ? asked : strongest();
  const named = report.heads.findIndex((head) => headKey(head) === given.get("head"));
  return { measure, head: named >= 0 ? named : (ranked(measure)[0] ?? 0) };
}

// The measure by which some head stands out most.
function strongest() {
  const role = report.heads
    .map((head) => head.role)
    .filter((one) => one.measure)
    .sort((a, b) => b.mean - b.baseline - (a.mean - a.baseline))[0];
  return role?.measure || ENTROPY;
}

/** @param {HeadNumbers} head */
function headKey(head) {
  return `${head.part}.${head.layer}.${head.head}`;
}

/** @param {string} measure @param {number} head */
function choose(measure, head) {
  location.hash = String(new URLSearchParams({ measure, head: headKey(report.heads[head]) }));
}

/** @param {string} measure */
function ranked(measure) {
  return report.ranked[measure].map((one) =>
    report.heads.findIndex((head) => headKey(head) === headKey(one)),
  );
}

function drawSurvey() {
  const now = chosenNow();
  const focused = document.activeElement && document.activeElement.id;
  replace(
    pageElement("view"),
    heading(),
    element(
      "div.survey",
      element(
        "div",
        measureChoice(now),
        parts.map((part) => grid(part, now)),
        rankedList(now),
        similarHeads(now),
      ),
      showHead(report, report.heads[now.head], (head) => choose(now.measure, indexOf(head))),
    ),
  );
  const again = focused && document.getElementById(focused);
  if (again) again.focus();
  announce(`${headName(report.heads[now.head], parts)} is shown.`);
}

/** @param {HeadNumbers} head */
function indexOf(head) {
  return report.heads.findIndex((one) => headKey(one) === headKey(head));
}

function heading() {
  const { documents, tokens, failed, cut, windows } = report.corpus;
  /** @param {number} value */
  const number = (value) => value.toLocaleString("en");
  const left = failed ? `Not read: ${number(failed)} (failed.parquet says why). ` : "";
  const cuts = cut
    ? `Longer than ${number(report.model.window)} tokens and cut: ${number(cut)}, ` +
      `which gave ${number(windows)} windows in all. `
    : "";
  return element(
    "div.survey-about",
    element("h1", `${number(report.heads.length)} heads over ${number(documents)} documents`),
    element("p.quiet", `${number(tokens)} tokens, read by ${report.model.about}. ${left}${cuts}`),
  );
}

/** @param {SurveyChoice} now */
function measureChoice(now) {
  return element(
    "div.survey-measure",
    choice(
      "Measure",
      measures.map((name) => [name, report.measures[name].name]),
      now.measure,
      (name) => choose(name, now.head),
    ),
    element(
      "p.quiet.small",
      `${capital(report.measures[now.measure].meaning)}: ${report.how.mean}. ` +
        "Rows are layers, columns are heads; both count from 0.",
    ),
  );
}

/** @param {string} text */
function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

/** @param {string} part @param {SurveyChoice} now */
function grid(part, now) {
  const heads = report.heads.filter((head) => head.part === part);
  const layers = [...new Set(heads.map((head) => head.layer))];
  const numbers = [...new Set(heads.map((head) => head.head))];
  const largest = Math.max(...heads.map((head) => head.measures[now.measure].mean ?? 0), 1e-9);
  const top = element(
    "tr",
    element("td"),
    numbers.map((one) => element("th", { scope: "col" }, one)),
  );
  const rows = layers.map((layer) =>
    element(
      "tr",
      element("th", { scope: "row" }, layer),
      numbers.map((number) =>
        cell(
          heads.find((head) => head.layer === layer && head.head === number),
          now,
          largest,
        ),
      ),
    ),
  );
  return element(
    "div.wide",
    element(
      "table.survey-heads",
      element("caption.only-read", `${part}: ${report.measures[now.measure].name}`),
      element("thead", top),
      element("tbody", rows),
    ),
  );
}

/** @param {SurveyHead | undefined} head @param {SurveyChoice} now @param {number} largest */
function cell(head, now, largest) {
  if (!head) return element("td");
  const index = indexOf(head);
  const mean = head.measures[now.measure].mean;
  const step = mean === undefined ? 0 : Math.min(5, Math.round((5 * mean) / largest));
  return element(
    "td",
    element(
      "button",
      {
        id: `cell-${index}`,
        class: `survey-cell survey-step-${step}`,
        "aria-pressed": String(index === now.head),
        title: headName(head, parts),
        on: { click: () => choose(now.measure, index), keydown: walk },
      },
      mean === undefined ? "–" : shown(now.measure, mean),
    ),
  );
}

// Rows and columns that an arrow key goes on by.
/** @type {Record<string, number[]>} */
const CELL_MOVES = {
  ArrowDown: [1, 0],
  ArrowUp: [-1, 0],
  ArrowRight: [0, 1],
  ArrowLeft: [0, -1],
};

// Arrow keys go from cell to cell.
/** @param {KeyboardEvent & { currentTarget: HTMLElement }} event */
function walk(event) {
  if (!Object.hasOwn(CELL_MOVES, event.key)) return;
  const [down, right] = CELL_MOVES[event.key];
  event.preventDefault();
  const cell = event.currentTarget.closest("td");
  const row = event.currentTarget.closest("tr");
  if (!cell || !row) return;
  const rows = [...(row.parentElement?.children || [])];
  const next = rows[row.sectionRowIndex + down]?.children[cell.cellIndex + right];
  next?.querySelector("button")?.focus();
}

/** @param {SurveyChoice} now */
function rankedList(now) {
  const first = now.measure === ENTROPY ? "Sharpest first" : "Most first";
  return element(
    "section",
    element("h2", `Ranked by ${report.measures[now.measure].name}`),
    element("p.quiet.small", `${first}; beside each what uniform attention gives.`),
    element(
      "ol.survey-ranked",
      ranked(now.measure)
        .slice(0, 10)
        .map((index) => {
          const { mean, baseline } = report.heads[index].measures[now.measure];
          return element(
            "li",
            link(index, now),
            ` ${shown(now.measure, mean)} `,
            element("span.quiet", `(even: ${shown(now.measure, baseline)})`),
          );
        }),
    ),
  );
}

/** @param {number} index @param {SurveyChoice} now */
function link(index, now) {
  return element(
    "button.link",
    { on: { click: () => choose(now.measure, index) } },
    headName(report.heads[index], parts),
  );
}

/** @param {SurveyChoice} now */
function similarHeads(now) {
  const pairs = report.alike.slice(0, 12);
  const none = element("p.quiet.small", "No two heads have weights with a cosine of 0.9 or more.");
  return element(
    "section",
    element("h2", "Heads that duplicate each other"),
    pairs.length ? element("p.quiet.small", `By ${report.how.alike}.`) : none,
    element(
      "ol.survey-ranked",
      pairs.map((pair) =>
        element(
          "li",
          link(indexOf(pair.one), now),
          " and ",
          link(indexOf(pair.other), now),
          ` ${pair.cosine.toFixed(3)}`,
        ),
      ),
    ),
  );
}

startSurvey();
