// A text of any length, its tokens shaded by weights. Only what is in sight is in the page: the
// text is cut into blocks at its line breaks, whose heights are estimated until they are drawn.

import { element, frames, isCalm, replace } from "../lib/dom.js";
import { tint } from "../lib/draw.js";
import { FEEDBACK_MS, MEANING_MS } from "../lib/motion.js";
import { tokenName } from "./source.js";
import { textArcs } from "./text_arcs.js";

const OVERSCAN_PIXELS = 600; // drawn above and below what is in sight
const MAX_BLOCK_TOKENS = 1200; // a longer line is cut at a blank
const MIN_SHADE = 0.0016; // of the largest weight: the first step of the scale
const MAX_PASSES = 4; // of drawing and measuring
const LARGE = { tokens: 64, characters: 280, lines: 3 }; // up to here a text has large letters
const LETTER_CLASSES = [["large"], ["large", "snug"], []];

// handlers: point(token or null), choose(token, event), moved(first, last) tokens in sight,
// key(event), drop(token) where the line of the chosen token may be dragged elsewhere.
// -> { root, show(text, about), shade(model), scrollTo(token), chips(up, down),
//    nearest(token, lines), close() }
/** @param {string} label @param {TextHandlers} handlers */
export function textPane(label, handlers) {
  const body = element("div.text-body", { dir: "auto" });
  const frame = element("div.text-frame");
  const tag = element("div.token-tag", { hidden: true, "aria-hidden": "true" });
  const arcs = textArcs({
    placeOf: (token) => wordPlace(pane, token),
    frame: () => curveFrame(body, frame),
    ...(handlers.drop ? { drop: handlers.drop, aim: (token) => aimAt(pane, token) } : {}),
  });
  const lines = element("div.text-lines", body, arcs.root, tag);
  const [above, below] = ["above", "below"].map((name) =>
    element("div", { class: `text-edge ${name}` }),
  );
  const root = element(
    "div.text-pane.serif",
    {
      tabindex: "0",
      role: "application",
      "aria-label": label,
      "aria-roledescription": "text",
    },
    lines,
  );
  frame.append(root, above, below);
  /** @type {TextState} */
  const pane = {
    ...{ root, frame, body, tag, lines, arcs, handlers },
    text: { segments: [], names: {} },
    about: { generated: null, patches: null },
    starts: [0],
    offsets: [0],
    heights: new Float64Array(0),
    tops: new Float64Array(1),
    measured: new Uint8Array(0),
    drawn: new Map(),
    spans: new Map(),
    model: null,
    width: 0,
    seen: [0, 0],
  };
  const draw = frames(() => drawBlocks(pane));
  root.addEventListener("scroll", draw, { passive: true });
  const resized = new ResizeObserver(() => {
    if (!root.clientWidth || !pane.text.segments.length) return;
    if (root.clientWidth === pane.width && !isShort(pane.text)) drawBlocks(pane);
    else relayout(pane);
  });
  resized.observe(root);
  listenToText(pane);
  return {
    root: frame,
    /** @param {RunText} text @param {TextAbout} about */
    show(text, about) {
      const isNew = pane.text !== text;
      pane.about = about;
      pane.text = text;
      if (isNew) {
        root.scrollTop = 0;
        cutIntoBlocks(pane);
      }
      relayout(pane, isNew ? 0 : pane.seen[0]);
    },
    /** @param {TextModel} model */
    shade(model) {
      const isFirst = !pane.model;
      pane.model = model;
      for (const [token, nodes] of pane.spans)
        for (const node of nodes) shadeToken(pane, token, node);
      placeTag(pane, pane.pointed ?? null);
      const speed = isFirst ? 0 : model.isPeek ? FEEDBACK_MS : MEANING_MS;
      arcs.draw(model.links, speed);
    },
    // What lies above and below what is in sight.
    /** @param {Child[]} up @param {Child[]} down */
    chips(up, down) {
      replace(above, up);
      replace(below, down);
    },
    /** @param {number} token @param {boolean} [isGentle] */
    scrollTo: (token, isGentle = false) => scrollToToken(pane, token, isGentle),
    /** @param {number} token @param {number} lines of text up (below 0) or down */
    nearest: (token, lines) => tokenOnLine(pane, token, lines),
    close() {
      resized.disconnect();
      arcs.close();
    },
  };
}

/** @param {RunText} text */
function isShort({ segments }) {
  const whole = segments.length <= LARGE.tokens ? segments.join("") : "";
  return (
    segments.length <= LARGE.tokens &&
    whole.length <= LARGE.characters &&
    whole.trim().split("\n").length <= LARGE.lines
  );
}

// Where a token stands, for lines: over small letters they run between two lines of text.
/** @param {TextState} pane @param {number} token @returns {WordPlace | null} */
function wordPlace(pane, token) {
  const [node] = pane.spans.get(token) ?? [];
  const box = node?.getClientRects()[0];
  if (!box) return null;
  const frame = pane.lines.getBoundingClientRect();
  const middle = (box.top + box.bottom) / 2 - frame.top;
  const { isLarge, gap } = curveFrame(pane.body, pane.frame);
  const x = box.left + box.width / 2 - frame.left;
  const top = isLarge ? box.top - frame.top : middle - gap + 8;
  return { x, top, bottom: box.bottom - frame.top, line: Math.round(middle) };
}

/** @param {HTMLElement} body @param {HTMLElement} frame */
function curveFrame(body, frame) {
  const { lineHeight, fontSize } = getComputedStyle(body);
  const [line, letter] = [parseFloat(lineHeight) || 26, parseFloat(fontSize) || 16];
  const isLarge = frame.classList.contains("large");
  return { height: isLarge ? line - 1.3 * letter : 4, gap: line / 2, margin: -9, isLarge };
}

/** @param {TextState} pane @param {number | null} token */
function aimAt({ spans }, token) {
  for (const [other, nodes] of spans)
    for (const node of nodes) node.classList.toggle("dropped", other === token);
}

// Blocks end after a line break; a token that goes on behind one is cut there.
/** @param {TextState} pane */
function cutIntoBlocks(pane) {
  const { segments } = pane.text;
  const [starts, offsets] = [[0], [0]];
  let count = 0;
  segments.forEach((segment, token) => {
    const end = segment.lastIndexOf("\n") + 1;
    count += 1;
    const isLong = count >= MAX_BLOCK_TOKENS && /^\s/.test(segments[token + 1] ?? "");
    if (!end && !isLong) return;
    const isCut = end > 0 && end < segment.length;
    starts.push(isCut ? token : token + 1);
    offsets.push(isCut ? end : 0);
    count = 0;
  });
  if (starts[starts.length - 1] < segments.length) {
    starts.push(segments.length);
    offsets.push(0);
  }
  pane.starts = starts;
  pane.offsets = offsets;
}

/** @param {TextState} pane @param {number} block */
function blockText({ text, starts, offsets }, block) {
  const [from, to] = [starts[block], starts[block + 1]];
  const pieces = text.segments.slice(from, to);
  if (offsets[block]) pieces[0] = pieces[0].slice(offsets[block]);
  if (offsets[block + 1]) pieces.push(text.segments[to].slice(0, offsets[block + 1]));
  return pieces;
}

// Heights by the number of letters; the token at the top of the pane stays there.
/** @param {TextState} pane @param {number} [top] */
function relayout(pane, top = pane.seen[0]) {
  const { root, frame } = pane;
  // Large letters that do not fit are smaller ones.
  for (const size of isShort(pane.text) ? LETTER_CLASSES : LETTER_CLASSES.slice(-1)) {
    frame.classList.remove(...LETTER_CLASSES.flat());
    frame.classList.add(...size);
    layOut(pane, top);
    if (root.scrollHeight <= root.clientHeight + 4) return;
  }
}

/** @param {TextState} pane @param {number} top */
function layOut(pane, top) {
  const { root, starts } = pane;
  pane.width = root.clientWidth;
  const { line, letter } = measureLetters(pane);
  const across = Math.max(8, (pane.body.clientWidth || pane.width) / letter);
  const blocks = starts.length - 1;
  pane.heights = new Float64Array(blocks);
  pane.measured = new Uint8Array(blocks);
  for (let block = 0; block < blocks; block++) {
    const length = blockText(pane, block).join("");
    const rows = length.replace(/\n$/, "").split("\n");
    for (const row of rows)
      pane.heights[block] += line * Math.max(1, Math.ceil(row.length / across));
  }
  for (const node of pane.drawn.values()) node.remove();
  pane.drawn.clear();
  pane.spans.clear();
  sumHeights(pane);
  if (top > 0) scrollToToken(pane, top, false, 0);
  else drawBlocks(pane);
}

/** @param {TextState} pane */
function measureLetters({ body, text }) {
  const style = getComputedStyle(body);
  const context = document.createElement("canvas").getContext("2d");
  const sample = text.segments.slice(0, 600).join("").replace(/\s+/g, " ") || "a";
  if (context) context.font = style.font;
  const letter = (context?.measureText(sample).width ?? 8 * sample.length) / sample.length;
  return { line: parseFloat(style.lineHeight) || 26, letter: letter || 8 };
}

/** @param {TextState} pane */
function sumHeights(pane) {
  const { heights } = pane;
  pane.tops = new Float64Array(heights.length + 1);
  for (let at = 0; at < heights.length; at++) pane.tops[at + 1] = pane.tops[at] + heights[at];
}

// The last block that begins at or above a height.
/** @param {Float64Array | number[]} tops @param {number} height */
function lastAtMost(tops, height) {
  let [low, high] = [0, tops.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (tops[middle] <= height) low = middle;
    else high = middle - 1;
  }
  return low;
}

// Draws what is in sight, measures it, and draws again where the estimate was too far off; what the
// reader sees stays where it is.
/** @param {TextState} pane */
function drawBlocks(pane) {
  const { root, body, drawn } = pane;
  const blocks = pane.heights.length;
  if (!blocks || !root.clientHeight) return;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const top = root.scrollTop;
    const first = Math.min(blocks - 1, lastAtMost(pane.tops, top - OVERSCAN_PIXELS));
    const bottom = top + root.clientHeight + OVERSCAN_PIXELS;
    const last = Math.min(blocks - 1, lastAtMost(pane.tops, bottom));
    for (const [block, node] of drawn) {
      if (block >= first && block <= last) continue;
      forgetBlock(pane, block, node);
    }
    addBlocks(pane, first, last);
    body.style.setProperty("padding-top", `${pane.tops[first]}px`);
    body.style.setProperty("padding-bottom", `${pane.tops[blocks] - pane.tops[last + 1]}px`);
    if (!measureBlocks(pane, top)) break;
  }
  tellWindow(pane);
  pane.arcs.place();
}

/** @param {TextState} pane @param {number} first @param {number} last */
function addBlocks(pane, first, last) {
  const { body, drawn } = pane;
  /** @type {Node | null} */
  let next = null;
  for (let block = last; block >= first; block--) {
    let node = drawn.get(block);
    if (!node) {
      node = makeBlock(pane, block);
      drawn.set(block, node);
      body.insertBefore(node, next);
    }
    next = node;
  }
}

/** @param {TextState} pane @param {number} block @param {HTMLElement} node */
function forgetBlock({ drawn, spans }, block, node) {
  for (const span of node.querySelectorAll("[data-t]")) {
    const token = Number(span.getAttribute("data-t"));
    const others = (spans.get(token) ?? []).filter((one) => one !== span);
    if (others.length) spans.set(token, others);
    else spans.delete(token);
  }
  node.remove();
  drawn.delete(block);
}

// Whether any height was another than it was taken for.
/** @param {TextState} pane @param {number} top */
function measureBlocks(pane, top) {
  const { root, drawn, heights, measured } = pane;
  const anchor = Math.min(heights.length - 1, lastAtMost(pane.tops, top));
  const within = top - pane.tops[anchor];
  let isChanged = false;
  for (const [block, node] of drawn) {
    if (measured[block]) continue;
    measured[block] = 1;
    const height = node.getBoundingClientRect().height;
    if (Math.abs(height - heights[block]) < 0.1) continue;
    heights[block] = height;
    isChanged = true;
  }
  if (!isChanged) return false;
  sumHeights(pane);
  const first = Math.min(...drawn.keys());
  pane.body.style.setProperty("padding-top", `${pane.tops[first]}px`);
  const wanted = pane.tops[anchor] + within;
  if (Math.abs(wanted - root.scrollTop) > 0.5) root.scrollTop = wanted;
  return true;
}

/** @param {TextState} pane @param {number} block */
function makeBlock(pane, block) {
  const { starts } = pane;
  const line = document.createElement("div");
  blockText(pane, block).forEach((piece, at) => {
    const token = starts[block] + at;
    const node = makeToken(pane, token, piece);
    if (!node) return;
    const [blank] = /^[ \t]+(?=\S)/.exec(piece) ?? [""];
    if (blank) line.append(blank);
    line.append(node);
    const others = pane.spans.get(token);
    if (others) others.push(node);
    else pane.spans.set(token, [node]);
    shadeToken(pane, token, node);
  });
  if (!line.hasChildNodes()) line.append("\u200b");
  return line;
}

/** @param {TextState} pane @param {number} token @param {string} piece */
function makeToken({ text, about }, token, piece) {
  const patch = about.patches?.get(token);
  const isNamed = !text.segments[token];
  if (isNamed && !patch && !(token in text.names)) return null;
  const name = text.names[token] ?? "";
  if (isNamed && name === "…" && !patch) return null; // bytes of the character before it
  const node = document.createElement("span");
  node.dataset.t = String(token);
  const kinds = ["t"];
  if (about.generated !== null && token >= about.generated) kinds.push("written");
  if (patch) {
    kinds.push("patch");
    node.title = patch;
  } else if (isNamed) {
    kinds.push("special");
    node.textContent = name;
  } else {
    if (/\n/.test(piece)) kinds.push("break");
    else if (!piece.trim()) kinds.push("blank");
    node.textContent = piece.replace(/^[ \t]+(?=\S)/, "");
  }
  node.className = kinds.join(" ");
  return node;
}

// Shades and marks of one token.
/** @param {TextState} pane @param {number} token @param {HTMLElement} node */
function shadeToken({ model }, token, node) {
  const share = model?.weights ? (model.weights[token] ?? 0) / (model.most || 1) : 0;
  if (share < MIN_SHADE) node.style.removeProperty("background-color");
  else node.style.setProperty("background-color", tint(Math.min(1, share)));
  const marks = model?.marks.get(token) ?? "";
  for (const mark of TOKEN_MARKS) node.classList.toggle(mark, marks.includes(mark));
}

const TOKEN_MARKS = ["asking", "aimed", "struck", "changed", "found"];

// Scrolling.

/** @param {TextState} pane @param {number} token */
function blockOf({ starts }, token) {
  return Math.max(0, Math.min(starts.length - 2, lastAtMost(starts, token)));
}

/**
 * @param {TextState} pane
 * @param {number} token
 * @param {boolean} isGentle
 * @param {number} [share] of the pane above it
 */
function scrollToToken(pane, token, isGentle, share = 0.4) {
  const { root } = pane;
  const height = root.clientHeight;
  const start = root.scrollTop;
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const [node] = pane.spans.get(token) ?? [];
    const frame = root.getBoundingClientRect();
    const wanted = node
      ? root.scrollTop + node.getBoundingClientRect().top - frame.top - share * height
      : pane.tops[blockOf(pane, token)] - share * height;
    const before = root.scrollTop;
    root.scrollTop = Math.max(0, wanted);
    drawBlocks(pane);
    if (node && Math.abs(root.scrollTop - before) < 1) break;
  }
  // A short way is walked, so that the eye can follow.
  const end = root.scrollTop;
  if (!isGentle || isCalm() || Math.abs(end - start) > 2 * height || end === start) return;
  root.scrollTop = start;
  root.scrollTo({ top: end, behavior: "smooth" });
}

// The first and the last token in sight.
/** @param {TextState} pane */
function tellWindow(pane) {
  const { root, spans, seen } = pane;
  const { top, bottom } = root.getBoundingClientRect();
  let [first, last] = [Infinity, -1];
  for (const [token, [node]] of spans) {
    const box = node.getBoundingClientRect();
    if (box.bottom <= top + 2 || box.top >= bottom - 2) continue;
    if (token < first) first = token;
    if (token > last) last = token;
  }
  if (last < 0 || (seen[0] === first && seen[1] === last + 1)) return;
  pane.seen = [first, last + 1];
  pane.handlers.moved(first, last + 1);
}

// Hands.

/** @param {TextState} pane */
function listenToText(pane) {
  const { root, handlers } = pane;
  /** @param {Event} event */
  const under = (event) => {
    const node = event.target instanceof Element ? event.target.closest("[data-t]") : null;
    return node ? Number(node.getAttribute("data-t")) : null;
  };
  root.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse") return;
    const token = under(event);
    placeTag(pane, token);
    handlers.point(token);
  });
  root.addEventListener("pointerleave", () => {
    placeTag(pane, null);
    handlers.point(null);
  });
  root.addEventListener("mousedown", (event) => {
    if (event.shiftKey) event.preventDefault(); // it would select the text in between
  });
  root.addEventListener("click", (event) => {
    const token = under(event);
    if (token === null || String(getSelection() ?? "")) return; // text that is being copied
    handlers.choose(token, event);
  });
  root.addEventListener("keydown", (event) => handlers.key(event));
}

// The weight of the token under the pointer, above it.
/** @param {TextState} pane @param {number | null} token */
function placeTag(pane, token) {
  const { tag, lines, model, text } = pane;
  pane.pointed = token;
  const [node] = token === null ? [] : (pane.spans.get(token) ?? []);
  const told = node && token !== null ? model?.tell(token) : "";
  tag.hidden = !told;
  if (!node || !told || token === null) return;
  tag.textContent = node.classList.contains("break") ? `${tokenName(text, token)} ${told}` : told;
  const [frame, box] = [lines.getBoundingClientRect(), node.getBoundingClientRect()];
  const left = Math.min(frame.width - tag.offsetWidth, Math.max(0, box.left - frame.left));
  tag.style.setProperty("left", `${left}px`);
  tag.style.setProperty("top", `${box.top - frame.top - tag.offsetHeight - 2}px`);
}

// The token above or below, in another line of the text.
/** @param {TextState} pane @param {number} token @param {number} lines */
function tokenOnLine(pane, token, lines) {
  const [own] = pane.spans.get(token) ?? [];
  if (!own) return token;
  const here = own.getBoundingClientRect();
  const goal =
    (here.top + here.bottom) / 2 + lines * (parseFloat(getComputedStyle(own).lineHeight) || 26);
  let [best, least] = [token, Infinity];
  for (const [other, [node]] of pane.spans) {
    const box = node.getBoundingClientRect();
    const isBeyond = lines < 0 ? box.bottom < here.top + 4 : box.top > here.bottom - 4;
    const far = 8 * Math.abs((box.top + box.bottom) / 2 - goal) + Math.abs(box.left - here.left);
    if (isBeyond && far < least) [best, least] = [other, far];
  }
  return best;
}
