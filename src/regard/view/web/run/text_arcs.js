// Lines over a text, from the token that looks to what it looks at most. The strongest is one and
// the same path whatever it joins: it moves to where the weights are.

import { element, percent, svgElement } from "../lib/dom.js";
import { animate } from "../lib/motion.js";
import { pathThrough, pointsBetween, sampled, wordCurve } from "../read/curves.js";

const LABELLED_SHARE = 0.1; // from here on a line has its number, where there is room for it
const FOOT_PIXELS = 6;
const FIRST_LINE_PIXELS = 24; // of an arc's height over the first line of text

// handlers: placeOf(token) -> WordPlace in pixels of the lines, or null; frame() -> the room for
// curves; drop(token): the foot of the strongest line was dragged there.
// -> { root, draw(links, milliseconds), place(), close() }
/** @param {ArcHandlers} handlers */
export function textArcs(handlers) {
  const root = svgElement("svg.text-arcs", { "aria-hidden": "true" });
  /** @type {ArcLine[]} */
  let lines = [];
  /** @type {TextLink[]} */
  let links = [];
  let frame = handlers.frame();
  let stop = () => {};
  /** @type {{ id: number, token: number | null } | null} */
  let drag = null;
  const foot = svgElement(
    "circle.foot",
    { r: FOOT_PIXELS },
    svgElement("title", "Drag me to another token"),
  );

  /** @param {number} milliseconds */
  function draw(milliseconds) {
    stop();
    frame = handlers.frame();
    const targets = links.flatMap((link) => target(link));
    while (lines.length < targets.length) {
      const path = svgElement("path.arc");
      root.prepend(path);
      lines.push({ path, points: null, width: 0 });
    }
    for (const label of root.querySelectorAll("text")) label.remove();
    foot.remove();
    const moves = lines.map((line, at) => motion(line, targets[at]));
    stop = animate(
      milliseconds,
      (share) => {
        for (const move of moves) move(share);
      },
      () => {
        lines.forEach(({ path }, at) => !targets[at] && path.remove());
        lines = lines.slice(0, targets.length);
        if (frame.isLarge) root.append(...targets.slice(0, 3).flatMap(label));
        if (handlers.drop && targets[0]) {
          foot.setAttribute("cx", String(targets[0].foot.x));
          foot.setAttribute("cy", String(targets[0].foot.y));
          root.append(foot);
        }
      },
    );
  }

  /** @param {TextLink} link */
  function target({ from, to, weight }) {
    const [one, other] = [handlers.placeOf(from), handlers.placeOf(to)];
    if (!one || !other) return [];
    return [{ ...wordCurve(one, other, frame), weight, start: [one.x, one.top - 4] }];
  }

  /** @param {ArcLine} line @param {ReturnType<typeof target>[0] | undefined} goal */
  function motion(line, goal) {
    const most = frame.isLarge ? 9 : 2;
    const width = goal ? 1 + most * goal.weight : 0;
    const to = goal ? sampled(goal.path) : line.points;
    const from = line.points || to?.map(() => goal?.start ?? [0, 0]) || null;
    const before = line.width;
    if (goal) line.path.style.setProperty("opacity", String(0.25 + 0.75 * Math.sqrt(goal.weight)));
    return (/** @type {number} */ share) => {
      if (!from || !to) return;
      line.points = pointsBetween(from, to, share);
      line.width = before + share * (width - before);
      line.path.setAttribute("d", share < 1 || !goal ? pathThrough(line.points) : goal.path);
      line.path.setAttribute("stroke-width", line.width.toFixed(2));
    };
  }

  // Above the first line of text there is room for a number; further down it would lie on words.
  /** @param {ReturnType<typeof target>[0]} goal */
  function label({ apex: { x, y }, weight }) {
    if (weight < LABELLED_SHARE || y > FIRST_LINE_PIXELS) return [];
    return [svgElement("text", { x, y: y - 8, "text-anchor": "middle" }, percent(weight))];
  }

  // The foot is dragged: the line follows, and the token under the pointer is told when it is let
  // go.
  foot.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    event.stopPropagation();
    stop();
    foot.setPointerCapture(event.pointerId);
    drag = { id: event.pointerId, token: null };
  });
  foot.addEventListener("pointermove", (event) => {
    if (!drag || !lines.length) return;
    const under = document
      .elementsFromPoint(event.clientX, event.clientY)
      .find((node) => node instanceof HTMLElement && node.dataset.t !== undefined);
    drag.token = under instanceof HTMLElement ? Number(under.dataset.t) : null;
    const from = handlers.placeOf(links[0].from);
    const over = drag.token === null ? null : handlers.placeOf(drag.token);
    const box = root.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const to = over ?? { x, top: y + 5, bottom: y, line: from?.line ?? y };
    if (!from) return;
    const curve = wordCurve(from, to, frame);
    lines[0].points = sampled(curve.path);
    lines[0].path.setAttribute("d", curve.path);
    foot.setAttribute("cx", String(curve.foot.x));
    foot.setAttribute("cy", String(curve.foot.y));
    handlers.aim?.(drag.token);
  });
  for (const name of /** @type {const} */ (["pointerup", "pointercancel"]))
    foot.addEventListener(name, () => {
      const token = drag?.token ?? null;
      drag = null;
      handlers.aim?.(null);
      if (name === "pointerup" && token !== null && token !== links[0]?.to) handlers.drop?.(token);
      else draw(0);
    });

  return {
    root,
    /** @param {TextLink[]} next the strongest first @param {number} milliseconds */
    draw(next, milliseconds) {
      links = next;
      if (!drag) draw(milliseconds);
    },
    // The text was laid out anew.
    place() {
      if (links.length && !drag) draw(0);
    },
    close: () => stop(),
  };
}

// A way to something that is out of sight, at the edge of the text.
/** @param {"up" | "down"} where @param {Child} text @param {string} kind @param {() => void} go */
export function edgeChip(where, text, kind, go) {
  return element(
    "button",
    { class: `edge-chip ${kind}`, on: { click: go } },
    where === "up" ? "↑ " : "↓ ",
    text,
  );
}
