// Hands on the map: wheel, drag, pinch, click and keys. view.window is what is seen, view.layout
// where it lies on the canvas.

import { fullWindow, moved } from "./map_window.js";

/** @param {MapPanelState} view @param {MapMoves} mapMoves */
export function listenToMap(view, { moveTo, zoom, pick, point }) {
  const { canvas } = view;
  /** @param {MouseEvent} event */
  const shares = (event) => {
    const box = canvas.getBoundingClientRect();
    const { left, top, side, down } = view.layout;
    return [(event.clientY - box.top - top) / down, (event.clientX - box.left - left) / side];
  };
  /** @param {number[]} shares */
  const inside = ([down, across]) => down >= 0 && down < 1 && across >= 0 && across < 1;
  /** @param {number[]} shares */
  const positionAt = ([down, across]) => {
    const { rows, columns } = view.window;
    return [
      Math.floor(rows[0] + down * (rows[1] - rows[0])),
      Math.floor(columns[0] + across * (columns[1] - columns[0])),
    ];
  };
  /** @type {{ at: number[], from: MapWindow, far: boolean } | null} */
  let dragged = null;
  /** @type {Map<number, number[]>} */
  const touching = new Map(); // the shares of each finger, where there are two
  const pinch = () => {
    const [one, other] = [...touching.values()];
    return {
      far: Math.hypot(one[0] - other[0], one[1] - other[1]),
      middle: [(one[0] + other[0]) / 2, (one[1] + other[1]) / 2],
    };
  };
  /** @param {PointerEvent} event */
  const lift = (event) => {
    touching.delete(event.pointerId);
  };
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (!view.window || !inside(shares(event))) return;
      event.preventDefault();
      zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 240))), shares(event));
      point(positionAt(shares(event)));
    },
    { passive: false },
  );
  canvas.addEventListener("pointerdown", (event) => {
    if (view.window && inside(shares(event))) {
      canvas.setPointerCapture(event.pointerId);
      touching.set(event.pointerId, shares(event));
      dragged = touching.size > 1 ? null : { at: shares(event), from: view.window, far: false };
    }
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!view.window) return;
    const at = shares(event);
    if (touching.size === 2 && touching.has(event.pointerId)) {
      const before = pinch();
      touching.set(event.pointerId, at);
      const after = pinch();
      if (after.far > 0.01) zoom(before.far / after.far, after.middle);
      return;
    }
    if (dragged) {
      const move = [dragged.at[0] - at[0], dragged.at[1] - at[1]];
      dragged.far ||= Math.hypot(...move) > 0.01;
      if (dragged.far) moveTo(moved(dragged.from, move, view.size));
      return;
    }
    point(inside(at) ? positionAt(at) : null);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (dragged && !dragged.far && touching.size < 2) pick(positionAt(shares(event)));
    lift(event);
    dragged = null;
  });
  canvas.addEventListener("pointercancel", (event) => {
    lift(event);
    dragged = null;
  });
  canvas.addEventListener("pointerleave", () => {
    if (!dragged) point(null);
  });
  canvas.addEventListener("dblclick", (event) => {
    if (inside(shares(event))) zoom(0.25, shares(event));
  });
  canvas.addEventListener("keydown", (event) => {
    /** @type {Record<string, number[]>} */
    const moves = {
      ArrowUp: [-0.25, 0],
      ArrowDown: [0.25, 0],
      ArrowLeft: [0, -0.25],
      ArrowRight: [0, 0.25],
    };
    if (event.key in moves) moveTo(moved(view.window, moves[event.key], view.size));
    else if (event.key === "+" || event.key === "=") zoom(0.5);
    else if (event.key === "-") zoom(2);
    else if (event.key === "0") moveTo(fullWindow(view.size));
    else if (event.key === "Enter") pick(positionAt([0.5, 0.5]));
    else return;
    event.preventDefault();
  });
}
