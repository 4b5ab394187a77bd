// Elements, made without ever reading text as markup.
//
// element("button", { class: "word", "aria-pressed": "false", on: { click: f } }, "dog", child)
//   class, id, role, aria-* and every other name: an attribute; true is an empty one, false and
//   null none
//   on: listeners by event; style: CSS properties by name (through the CSSOM, as the page's policy
//   wants)
//   value, checked, disabled, selected, hidden: properties
//   children: elements, strings, numbers, arrays of these; null and false are left out

const SVG_SPACE = "http://www.w3.org/2000/svg";
const AS_PROPERTY = ["value", "checked", "disabled", "selected", "hidden", "open"];

export function element(tag, properties, ...children) {
  return filled(document.createElement(tag), properties, children);
}

export function svgElement(tag, properties, ...children) {
  return filled(document.createElementNS(SVG_SPACE, tag), properties, children);
}

export function replace(parent, ...children) {
  parent.replaceChildren(...flat(children));
  return parent;
}

function filled(made, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === null || value === undefined) continue;
    if (name === "on")
      for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    else if (name === "style")
      for (const [key, one] of Object.entries(value)) made.style.setProperty(key, one);
    else if (AS_PROPERTY.includes(name)) made[name] = value;
    else if (value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...flat(children));
  return made;
}

function flat(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

// A row of choices of which one holds: choices are [value, label, title?].
export function choice(label, choices, chosen, choose) {
  const group = element("div", { class: "choice", role: "group", "aria-label": label });
  const buttons = choices.map(([value, text, title]) =>
    element(
      "button",
      {
        type: "button",
        title,
        "aria-pressed": String(value === chosen),
        on: { click: () => choose(value) },
      },
      text,
    ),
  );
  group.append(...buttons);
  return group;
}

export function labelled(text, ...controls) {
  return element("label", { class: "labelled" }, element("span", null, text), controls);
}

// The head of a table: a heading for each column, null where a corner is empty.
export function tableHead(titles) {
  const cells = titles.map((title) =>
    title === null ? element("td") : element("th", { scope: "col" }, title),
  );
  return element("thead", null, element("tr", null, cells));
}

// Words that a sentence speaks of stand between two marks (the isolates of Unicode, which also part
// writing to the right from writing to the left); the page shows them as quoted words.
export function asWord(name) {
  return `\u2068${name}\u2069`;
}

export function withoutWordMarks(text) {
  return text.replace(/[\u2068\u2069]/g, "");
}

// A sentence of the page as nodes: its words quoted, a number and its % on one line.
export function prose(text) {
  return text
    .split(/\u2068([^\u2069]*)\u2069/)
    .flatMap((part, at) =>
      at % 2 ? element("span", { class: "word-quote" }, part) : shares(part),
    );
}

function shares(text) {
  return text
    .split(/((?:< )?[\d.]+ %)/)
    .map((part, at) => (at % 2 ? element("span", { class: "unbroken" }, part) : part));
}

// Says something to people who listen to the page.
export function announce(sentence) {
  const region = document.getElementById("announcement");
  if (region && region.textContent !== sentence) region.textContent = sentence;
}

export function problem(error) {
  return element(
    "p",
    { class: "problem", role: "alert" },
    error && error.message ? error.message : String(error),
  );
}

export function percent(share) {
  if (share > 0 && share < 0.005) return "< 1 %";
  return `${Math.round(100 * share)} %`;
}

// One picture at a time: drawing waits for the next frame, the latest request wins.
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

// Brings something into sight, gently where the reader has not asked for calm.
export function goTo(node, block = "start") {
  if (node) node.scrollIntoView({ block, behavior: isCalm() ? "auto" : "smooth" });
}
