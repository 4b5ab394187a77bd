// Motion that explains: what means something moves in 600 ms, what answers a hand in 150 ms; for
// readers who asked for calm everything is at its end at once.

import { isCalm } from "./dom.js";

export const MEANING_MS = 600;
export const FEEDBACK_MS = 150;

// step(share) from 0 to 1, eased; done() once, at the end. Returns a function that stops it.
/** @param {number} milliseconds @param {(share: number) => void} step @param {() => void} [done] */
export function animate(milliseconds, step, done = () => {}) {
  if (isCalm() || milliseconds <= 0) {
    step(1);
    done();
    return () => {};
  }
  const begun = performance.now();
  let frame = requestAnimationFrame(next);
  /** @param {number} now */
  function next(now) {
    const share = Math.min(1, Math.max(0, (now - begun) / milliseconds));
    step(share < 0.5 ? 4 * share ** 3 : 1 - (2 - 2 * share) ** 3 / 2);
    if (share < 1) frame = requestAnimationFrame(next);
    else done();
  }
  return () => cancelAnimationFrame(frame);
}
