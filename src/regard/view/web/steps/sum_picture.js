// A sum as a picture: the row and the column that meet, their products as colours, and the sum as
// it grows from term to term; all terms in a table on demand.

import { element, replace, svgElement, tableHead } from "../lib/dom.js";
import { signedColour, signedInk } from "../lib/draw.js";
import { writeNumber } from "../lib/digits.js";
import { largestSize, vectorStrip } from "../lib/strips.js";

const WRITTEN_TERMS = 8; // why.js writes so many in full

// opened: a set that holds "terms" while the table of terms is open.
/** @param {Explained} explained @param {Set<string>} opened */
export function sumPicture({ terms, value }, opened) {
  if (!terms) return null;
  const { left, right, extra = [] } = terms;
  const products = Float64Array.from(left.values, (one, at) => one * right.values[at]);
  if (products.length <= WRITTEN_TERMS) return null;
  const note = element("p", { class: "term-note small" }, `${products.length} products, summed`);
  const strip = ({ name, values }, kind) =>
    element(
      "div",
      { class: `term-strip ${kind}` },
      element("span", { class: "small" }, name),
      vectorStrip(values, `${name}: ${values.length} numbers`),
    );
  const box = element(
    "div",
    { class: "sum-picture" },
    strip(left, "operand"),
    strip(right, "operand"),
    strip({ name: "products", values: products }, "term-products"),
    element(
      "div",
      { class: "term-strip" },
      element("span", { class: "small" }, "sum so far"),
      growingSum(products),
    ),
    note,
  );
  const point = (event) => {
    const target = event.target instanceof Element ? event.target.closest("canvas, svg") : null;
    if (!target) return;
    const frame = target.getBoundingClientRect();
    const share = (event.clientX - frame.left) / frame.width;
    const at = Math.max(0, Math.min(products.length - 1, Math.floor(share * products.length)));
    const numbers = [left.values[at], right.values[at], products[at]].map((x) => writeNumber(x, 3));
    note.textContent = `term ${at}: ${numbers[0]} · ${numbers[1]} = ${numbers[2]}`;
  };
  box.addEventListener("pointermove", point);
  box.addEventListener("pointerdown", point);
  return [box, termsBox(opened, products.length, allTerms(left, right, products, extra, value))];
}

function growingSum(products) {
  let [sum, low, high] = [0, 0, 0];
  const sums = Array.from(products, (one) => {
    sum += one;
    low = Math.min(low, sum);
    high = Math.max(high, sum);
    return sum;
  });
  const span = high - low || 1;
  const down = (one) => (30 * (1 - (one - low) / span) + 1).toFixed(2);
  const across = (at) => ((300 * at) / products.length).toFixed(2);
  const points = sums.map((one, at) => `${across(at + 1)},${down(one)}`).join(" ");
  const size = { viewBox: "0 0 300 32", preserveAspectRatio: "none", "aria-hidden": "true" };
  return svgElement(
    "svg",
    { class: "growing", ...size },
    svgElement("line", { x1: 0, x2: 300, y1: down(0), y2: down(0) }),
    svgElement("polyline", { points: `0,${down(0)} ${points}` }),
  );
}

function allTerms(left, right, products, extra, value) {
  const columns = [left.values, right.values, products];
  const sizes = columns.map(largestSize);
  const cell = (number, most) =>
    element(
      "td",
      { style: { background: signedColour(number, most), color: signedInk(number, most) } },
      writeNumber(number, 3),
    );
  const line = (_, at) =>
    element(
      "tr",
      null,
      element("th", { scope: "row" }, at),
      columns.map((values, column) => cell(values[at], sizes[column])),
    );
  const more = extra.map(([name, number]) => `, ${name} ${writeNumber(number, 3)}`).join("");
  const total = Array.from(products).reduce((sum, one) => sum + one, 0);
  const sums = `Sum of the products: ${writeNumber(extra.length ? total : value, 3)}${more}`;
  return () => [
    element(
      "table",
      { class: "terms" },
      tableHead([null, left.name, right.name, "product"]),
      element("tbody", null, Array.from(products, line)),
    ),
    element("p", { class: "small" }, sums),
  ];
}

// The table is made when it is opened, and stays open from cell to cell.
function termsBox(opened, count, make) {
  const table = element("div", { class: "all-terms" });
  const box = element(
    "details",
    { class: "terms-of-sum", open: opened.has("terms") },
    element("summary", null, `All ${count} terms`),
    table,
  );
  if (box.open) replace(table, make());
  box.addEventListener("toggle", () => {
    if (box.open) opened.add("terms");
    else opened.delete("terms");
    if (box.open && !table.firstChild) replace(table, make());
  });
  return box;
}
