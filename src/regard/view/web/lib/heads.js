// Heads: the field's words for what they do, and a walk among their buttons by arrow keys.

// Arrow keys among buttons: to the next one, or to the nearest in the row above or below.
/** @param {KeyboardEvent} event @param {HTMLButtonElement[]} buttons */
export function walkHeads(event, buttons) {
  const at = buttons.findIndex((button) => button === event.target);
  /** @type {Record<string, number>} */
  const sideways = { ArrowLeft: -1, ArrowRight: 1 };
  /** @type {Record<string, number>} */
  const upright = { ArrowUp: -1, ArrowDown: 1 };
  if (at < 0 || !(event.key in sideways || event.key in upright)) return;
  event.preventDefault();
  const next =
    event.key in sideways
      ? buttons[at + sideways[event.key]]
      : nearestInRow(buttons, buttons[at], upright[event.key]);
  if (!next) return;
  buttons[at].setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

/**
 * @param {HTMLButtonElement[]} buttons
 * @param {HTMLButtonElement} from
 * @param {number} direction
 */
function nearestInRow(buttons, from, direction) {
  const own = from.getBoundingClientRect();
  /** @type {HTMLButtonElement | undefined} */
  let best;
  let least = Infinity;
  for (const button of buttons) {
    const { left, top } = button.getBoundingClientRect();
    const below = (top - own.top) * direction;
    const far = 1000 * below + Math.abs(left - own.left);
    if (below > own.height / 2 && far < least) [best, least] = [button, far];
  }
  return best;
}

// A role as it is written, and the field's word for it.
/** @type {[RegExp, string][]} */
const TERMS = [
  [/^(finds what a pronoun|links)/, "coreference"],
  [/^(finds|looks past) the English|it translates/, "alignment"],
  [/ from an? .* to /, "syntax"],
  [/the (token|word) before/, "previous token"],
  [/the (token|word) after/, "next token"],
  [/follows the same token/, "induction"],
  [/the same (token|word)/, "duplicate token"],
  [/the (token|word) itself/, "self"],
  [/rests on the first|looks at the first/, "first token, sink"],
  [/rests on the end/, "end of sentence, sink"],
  [/^rests on/, "sink"],
  [/^picks/, "low entropy"],
  [/^mixes/, "medium entropy"],
  [/^spreads/, "broad, high entropy"],
];

/** @param {string} role */
export function fieldTerm(role) {
  const term = TERMS.find(([pattern]) => pattern.test(role));
  return term ? term[1] : "";
}

// The share that a role rests on, "…: 80 % (evenly 10 %)"; of a spread, the fewer nats the
// stronger.
/** @param {string} described */
export function roleStrength(described) {
  const share = /: (\d+) %/.exec(described);
  if (share) return Number(share[1]) / 100;
  const nats = /: ([\d.]+) nats/.exec(described);
  return nats ? -Number(nats[1]) : 0;
}
