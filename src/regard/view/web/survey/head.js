// One head: what it does, how that varies, how far it looks, and documents where it does so most
// and least.

import { element, svgElement, tableHead, tableRow } from "../lib/dom.js";

/**
 * @param {SurveyReport} report
 * @param {SurveyHead} head
 * @param {(head: HeadNumbers) => void} choose
 */
export function showHead(report, head, choose) {
  return element(
    "article.survey-head",
    { "aria-label": headName(head) },
    element("h2", headName(head).replace(/^l/, "L")),
    element("p.statement", roleSentence(report, head)),
    measuresTable(report, head),
    bars(
      "How far it looks",
      "Share of the weight by distance, in tokens.",
      head.distance
        .map((share, index) => ({
          name: bandName(report.bands[index]),
          value: share,
          text: shown("share", share),
        }))
        .filter((row) => row.value > 0.00005),
    ),
    bars(
      "Entropy by position",
      "Of the token that asks, in nats.",
      byPosition(report, head.entropy_by_position, 2),
    ),
    bars(
      "Received by position",
      "By a token at that position, from all queries together.",
      byPosition(report, head.received_by_position, 2),
    ),
    closest(head, choose),
    head.examples.most ? examples(head, "most", "Documents where it does so most") : null,
    head.examples.least ? examples(head, "least", "Documents where it does so least") : null,
  );
}

/** @param {SurveyReport} report @param {SurveyHead} head */
function roleSentence(report, head) {
  const { measure, mean, baseline } = head.role;
  if (!measure) return "Nothing was measured.";
  const stands = mean > baseline ? "Stands out most by giving" : "Looks evenly; at most it gives";
  const { target } = report.measures[measure];
  const even = shown(measure, baseline);
  return `${stands} ${shown(measure, mean)} to ${target}; uniform attention gives ${even}.`;
}

/** @param {SurveyReport} report @param {SurveyHead} head */
function measuresTable(report, head) {
  const titles = ["", "mean", "deviation", "even", "over documents"];
  const rows = Object.entries(head.measures).map(([name, one]) =>
    tableRow(report.measures[name].name, [
      ...(one.documents
        ? [one.mean, one.deviation, one.baseline].map((value) => shown(name, value))
        : [element("td", { colspan: 3 }, "none")]),
      element(
        "td.survey-spread",
        one.documents ? spread(one, report.measures[name].largest, name) : "",
      ),
    ]),
  );
  return element(
    "div.wide",
    element("table.numbers", tableHead(titles), element("tbody", rows)),
    element(
      "p.quiet.small",
      "Over documents: the line reaches from the 5 % to the 95 % quantile, its thick part holds " +
        "the middle half, the stroke is the median.",
    ),
  );
}

// A line from the 5 % to the 95 % quantile, thick from a quarter to three quarters, a stroke at the
// middle.
/** @param {SurveyMeasure} one @param {number} largest @param {string} name */
function spread(one, largest, name) {
  /** @param {string} share */
  const at = (share) => (100 * one.quantiles[share]) / largest;
  const label = ["0.05", "0.25", "0.5", "0.75", "0.95"]
    .map((share) => shown(name, one.quantiles[share]))
    .join(", ");
  /** @param {number} from @param {number} to @param {string} kind */
  const line = (from, to, kind) =>
    svgElement("line", { x1: from, x2: to, y1: 5, y2: 5, class: kind });
  return svgElement(
    "svg",
    {
      viewBox: "0 0 100 10",
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `quantiles ${label}`,
    },
    svgElement("title", label),
    line(0, 100, "range"),
    line(at("0.05"), at("0.95"), "thin"),
    line(at("0.25"), at("0.75"), "thick"),
    svgElement("line.middle", { x1: at("0.5"), x2: at("0.5"), y1: 0, y2: 10 }),
  );
}

/** @param {SurveyReport} report @param {(number | null)[]} values @param {number} digits */
function byPosition(report, values, digits) {
  return values.map((value, index) => ({
    name: positionRange(report.positions[index]),
    value: value ?? 0,
    text: value === null ? "–" : value.toFixed(digits),
  }));
}

/**
 * @param {string} title
 * @param {string} saying
 * @param {{ name: string, value: number, text: string }[]} rows
 */
function bars(title, saying, rows) {
  // At least 0.05, so that what is next to nothing looks like it.
  const largest = Math.max(...rows.map((row) => row.value), 0.05);
  return element(
    "section",
    element("h3", title),
    element("p.quiet.small", saying),
    element(
      "table.survey-bars",
      element(
        "tbody",
        rows.map(({ name, value, text }) =>
          element(
            "tr",
            element("th", { scope: "row" }, name),
            element("td", text),
            element(
              "td.survey-bar",
              element("span", { style: { width: `${(100 * value) / largest}%` } }),
            ),
          ),
        ),
      ),
    ),
  );
}

/** @param {SurveyHead} head @param {(head: HeadNumbers) => void} choose */
function closest(head, choose) {
  return element(
    "section",
    element("h3", "Looks most like"),
    element(
      "ul.survey-ranked",
      head.alike.map((one) =>
        element(
          "li",
          element("button.link", { on: { click: () => choose(one) } }, headName(one)),
          ` cosine ${one.cosine.toFixed(3)}`,
        ),
      ),
    ),
  );
}

/** @param {SurveyHead} head @param {string} kind @param {string} title */
function examples(head, kind, title) {
  const { measure } = head.role;
  const unit = measure === ENTROPY ? " nats" : "";
  return element(
    "section",
    element("h3", title),
    element(
      "ul.survey-examples",
      head.examples[kind].map((one) =>
        element(
          "li",
          element("p.serif", one.text),
          element(
            "p.quiet.small",
            `${shown(measure || "", one.value)}${unit} · ${one.source}, ${one.entry}`,
          ),
        ),
      ),
    ),
  );
}

// Words for heads, numbers, distances and positions; those of measures come with the report.

export const ENTROPY = "entropy";

/** @param {HeadNumbers} head @param {string[]} [parts] */
export function headName(head, parts) {
  const part = parts && parts.length > 1 ? `${head.part}, ` : "";
  return `${part}layer ${head.layer}, head ${head.head}`;
}

// Shares as percentages, entropy in nats.
/** @param {string} measure @param {number | null | undefined} value */
export function shown(measure, value) {
  if (value === undefined || value === null) return "–";
  if (measure === ENTROPY) return value.toFixed(2);
  return value > 0 && value < 0.005 ? "<1%" : `${Math.round(100 * value)}%`;
}

/** @param {[number, number]} band */
function bandName([near, far]) {
  if (near === 0) return "itself";
  const [low, high] = [Math.abs(near), Math.abs(far)];
  const side = near > 0 ? "before" : "after";
  return low === high ? `${low} ${side}` : `${low} to ${high} ${side}`;
}

/** @param {[number, number]} range */
function positionRange([from, to]) {
  return from === to ? `${from + 1}` : `${from + 1} to ${to + 1}`;
}
