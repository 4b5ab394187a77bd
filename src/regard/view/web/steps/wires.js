// Lines between the cards of the overview: from each stage to the stages that are made from it.

import { replace, svgElement } from "../lib/dom.js";

const BEND = 10; // pixels that a line runs straight before it turns

// pairs: [from, to, kind], elements that stand somewhere in root; kind "around" goes below the
// cards between the two, as what is added without passing through them; "wedge"
// opens the first out into the second.
/** @param {HTMLElement} root @param {SVGElement} picture @param {any[]} pairs */
export function drawWires(root, picture, pairs) {
  const frame = root.getBoundingClientRect();
  picture.setAttribute("viewBox", `0 0 ${Math.round(frame.width)} ${Math.round(frame.height)}`);
  const paths = pairs.map(([from, to, kind]) => {
    const [a, b] = [boxIn(from, frame), boxIn(to, frame)];
    if (!a.width || !b.width) return null;
    return svgElement("path", { d: routeOf(a, b, kind), class: kind });
  });
  replace(picture, paths);
}

function boxIn(node, frame) {
  const box = node.getBoundingClientRect();
  return {
    left: box.left - frame.left,
    right: box.right - frame.left,
    top: box.top - frame.top,
    bottom: box.bottom - frame.top,
    middle: box.left - frame.left + box.width / 2,
    height: box.top - frame.top + box.height / 2,
    width: box.width,
  };
}

function routeOf(a, b, kind) {
  if (kind === "wedge")
    return (
      `M${a.left} ${a.bottom}L${b.left + BEND} ${b.top}` +
      `H${b.right - BEND}L${a.right} ${a.bottom}`
    );
  const sameRow = b.left >= a.right - 1 && Math.abs(b.height - a.height) < 140;
  if (kind === "around" && sameRow) return below(a, b);
  if (sameRow) {
    const turn = b.left - Math.min(BEND, (b.left - a.right) / 2);
    return `M${a.right} ${a.height}H${turn}V${b.height}H${b.left}m-5 -3l5 3l-5 3`;
  }
  if (b.top >= a.bottom - 1) {
    const turn = b.top - Math.min(BEND, (b.top - a.bottom) / 2);
    return `M${a.middle} ${a.bottom}V${turn}H${b.middle}V${b.top}m-3 -5l3 5l3 -5`;
  }
  return "";
}

function below(a, b) {
  const deep = Math.max(a.bottom, b.bottom) + BEND;
  return `M${a.middle} ${a.bottom}V${deep}H${b.middle}V${b.bottom}m-3 5l3 -5l3 5`;
}
