// Elements, made without ever reading text as markup.
//
// element("button.word", { "aria-pressed": "false", on: { click: f } }, "dog", child)
//   the tag with its classes, then, where there are any, the properties:
//   class (one that depends on something), id, role, aria-* and every other name: an attribute;
//   true is an empty one, false and null none
//   on: listeners by event; style: CSS properties by name (through the CSSOM, as the page's policy
//   wants)
//   value, checked, disabled, selected, hidden: properties
//   children: elements, strings, numbers, arrays of these; null and false are left out

const SVG_SPACE = "http://www.w3.org/2000/svg";
const AS_PROPERTY = ["value", "checked", "disabled", "selected", "hidden", "open"];

/**
 * @template {string} T
 * @param {T} kind
 * @param {[Properties<HtmlOf<T>>, ...Child[]] | Child[]} content
 * @returns {HtmlOf<T>}
 */
export function element(kind, ...content) {
  const [tag, ...classes] = kind.split(".");
  const made = document.createElement(tag);
  if (made instanceof HTMLButtonElement) made.type = "button";
  return /** @type {HtmlOf<T>} */ (filled(made, classes, content));
}

/**
 * @template {string} T
 * @param {T} kind
 * @param {[Properties<SvgOf<T>>, ...Child[]] | Child[]} content
 * @returns {SvgOf<T>}
 */
export function svgElement(kind, ...content) {
  const [tag, ...classes] = kind.split(".");
  return /** @type {SvgOf<T>} */ (
    filled(document.createElementNS(SVG_SPACE, tag), classes, content)
  );
}

const MATH_SPACE = "http://www.w3.org/1998/Math/MathML";

// A formula, as browsers set it: mathElement("mfrac", null, above, below).
/**
 * @param {string} tag
 * @param {Record<string, string> | null} attributes
 * @param {Child[]} children
 */
export function mathElement(tag, attributes, ...children) {
  const made = document.createElementNS(MATH_SPACE, tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  made.append(...flat(children));
  return made;
}

// New children in place of the old ones. What had the focus has it again afterwards: the element
// of the same kind at the same place, where there is one.
/** @template {Element} T @param {T} parent @param {Child[]} children @returns {T} */
export function replace(parent, ...children) {
  const { activeElement: focused } = /** @type {Document | ShadowRoot} */ (parent.getRootNode());
  const path = focused && parent.contains(focused) ? pathTo(parent, focused) : [];
  parent.replaceChildren(...flat(children));
  if (!path.length || !(focused instanceof HTMLElement)) return parent;
  /** @type {Element | undefined} */
  let now = parent;
  for (const at of path) now = now?.children[at];
  if (focused.isConnected) now = focused; // it was put in again, which takes the focus from it
  if (now instanceof HTMLElement && now.tagName === focused.tagName)
    now.focus({ preventScroll: true });
  return parent;
}

// The way down from an element to a descendant: which child at each step.
/** @param {Element} from @param {Element} to @returns {number[]} */
function pathTo(from, to) {
  const above = to.parentElement;
  if (to === from || !above) return [];
  return [...pathTo(from, above), [...above.children].indexOf(to)];
}

/** @param {Element} made @param {string[]} classes @param {any[]} content */
function filled(made, classes, content) {
  if (classes.length) made.setAttribute("class", classes.join(" "));
  const [first, ...others] = content;
  const hasProperties = first?.constructor === Object;
  if (hasProperties) setProperties(made, first);
  made.append(...flat(hasProperties ? others : content));
  return made;
}

/** @param {any} made @param {Properties<any>} properties */
function setProperties(made, { on, style, ...others }) {
  for (const [event, listener] of Object.entries(on || {})) made.addEventListener(event, listener);
  for (const [key, one] of Object.entries(style || {})) made.style.setProperty(key, String(one));
  for (const [name, value] of Object.entries(others)) {
    if (value === null || value === undefined) continue;
    if (AS_PROPERTY.includes(name)) made[name] = value;
    else if (value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
}

/** @param {readonly Child[]} children @returns {(Node | string)[]} */
function flat(children) {
  return children.flatMap((child) => {
    if (child === null || child === undefined || child === false) return [];
    if (typeof child === "object" && !(child instanceof Node)) return flat(child);
    return [child instanceof Node ? child : String(child)];
  });
}

// A row of choices of which one holds: choices are [value, label, title?, reason?]; one with a
// reason why not cannot be chosen.
/**
 * @template V
 * @param {string} label
 * @param {readonly (readonly [V, string, (string | null)?, string?])[]} choices
 * @param {V | null} chosen
 * @param {(value: V) => void} choose
 */
export function choice(label, choices, chosen, choose) {
  const group = element("div.choice", { role: "group", "aria-label": label });
  const buttons = choices.map(([value, text, title, reason]) =>
    element(
      "button",
      {
        title: reason || title,
        disabled: Boolean(reason),
        "aria-pressed": String(value === chosen),
        on: { click: () => choose(value) },
      },
      text,
    ),
  );
  group.append(...buttons);
  return group;
}

/** @param {Child} text @param {Child[]} controls */
export function labelled(text, ...controls) {
  return element("label.labelled", element("span", text), controls);
}

// The head of a table: a heading for each column, null where a corner is empty.
/** @param {Child[]} titles */
export function tableHead(titles) {
  const cells = titles.map((title) =>
    title === null ? element("td") : element("th", { scope: "col" }, title),
  );
  return element("thead", element("tr", cells));
}

// A row of a table: its name, and cells, made of what is none yet.
/** @param {Child} name @param {readonly Child[]} cells @param {string | null} [kind] */
export function tableRow(name, cells, kind = null) {
  const made = cells.map((cell) =>
    cell instanceof HTMLTableCellElement ? cell : element("td", cell),
  );
  return element("tr", { class: kind }, element("th", { scope: "row" }, name), made);
}

// Words that a sentence speaks of stand between two marks (the isolates of Unicode, which also part
// writing to the right from writing to the left); the page shows them as quoted words.
/** @param {string} name */
export function asWord(name) {
  return `\u2068${name}\u2069`;
}

/** @param {string} text */
export function withoutWordMarks(text) {
  return text.replace(/[\u2068\u2069]/g, "");
}

// A sentence of the page as nodes: its words quoted, a number and its % on one line.
/** @param {string} text @returns {Child[]} */
export function prose(text) {
  return text
    .split(/\u2068([^\u2069]*)\u2069/)
    .flatMap((part, at) => (at % 2 ? element("span.word-quote", part) : shares(part)));
}

/** @param {string} text @returns {Child[]} */
function shares(text) {
  return text
    .split(/((?:< )?[\d.]+ %)/)
    .map((part, at) => (at % 2 ? element("span.unbroken", part) : part));
}

// An element that the page's HTML has.
/** @param {string} id */
export function pageElement(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no element #${id}.`);
  return found;
}

// The context of a canvas; every browser that runs modules has one.
/** @param {HTMLCanvasElement} canvas */
export function context2d(canvas) {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("This browser cannot draw on a canvas.");
  return context;
}

// Whether a request was aborted by the view that made it.
/** @param {unknown} error */
export function isAborted(error) {
  return error instanceof Error && error.name === "AbortError";
}

// Says something to people who listen to the page.
/** @param {string} sentence */
export function announce(sentence) {
  const region = document.getElementById("announcement");
  if (region && region.textContent !== sentence) region.textContent = sentence;
}

/** @param {unknown} error */
export function problem(error) {
  const text = error instanceof Error && error.message ? error.message : String(error);
  return element("p.problem", { role: "alert" }, text);
}

/** @param {number} share */
export function percent(share) {
  if (share > 0 && share < 0.005) return "< 1 %";
  return `${Math.round(100 * share)} %`;
}

// One picture at a time: drawing waits for the next frame, the latest request wins.
/** @param {() => void} draw */
export function frames(draw) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  };
}

// Whether the reader has asked for calm: then nothing moves.
export function isCalm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

// Arrow keys in a drawing: the one before or after what is chosen.
/**
 * @param {KeyboardEvent} event
 * @param {number} at
 * @param {number} size
 * @param {(to: number) => void} choose
 */
export function walkList(event, at, size, choose) {
  const steps = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 };
  const to = at + (steps[/** @type {keyof typeof steps} */ (event.key)] ?? 0);
  if (to === at || to < 0 || to >= size) return;
  event.preventDefault();
  choose(to);
}

// Brings something into sight, gently where the reader has not asked for calm.
/** @param {Element | null} node @param {ScrollLogicalPosition} [block] */
export function goTo(node, block = "start") {
  if (node) node.scrollIntoView({ block, behavior: isCalm() ? "auto" : "smooth" });
}
