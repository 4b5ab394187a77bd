// Every head as a small picture, with what it was measured to do: a tab for each part, its heads by
// layer or by what they do.

import { choice, element, replace } from "../lib/dom.js";
import { heatPixels, sized } from "../lib/draw.js";

const MAX_LARGE_THUMBNAILS = 8; // heads beside each other before the pictures get smaller

// handlers: choose(part, layer, head); hover(part, layer, head) while pointing, hover(null) after;
// arrange("layer" or "role"); isExplained: whether what a head is stands above the grid
/** @param {HeadsHandlers} handlers */
export function headsGrid(handlers) {
  const root = element("div", { class: "heads" });
  /** @type {{ parts: Part[] } | null} */
  let shown = null;
  let order = "";
  /** @type {HeadsBox[]} */
  let boxes = [];
  let chosen = ""; // the part of the chosen head, whose tab opens with it
  /** @param {string} name */
  const select = (name) => {
    if (name !== chosen) handlers.choose(name, ...nearestHead(name));
  };
  // The same layer and head, in another part.
  /** @param {string} name @returns {[number, number]} */
  const nearestHead = (name) => {
    const part = shown?.parts.find((one) => one.name === name);
    if (!part) return [0, 0];
    return [Math.min(place[0], part.layers - 1), Math.min(place[1], part.heads - 1)];
  };
  /** @type {[number, number]} */
  let place = [0, 0];
  /** @param {string} name */
  const open = (name) => {
    for (const { part, root: panel, tab } of boxes) {
      panel.hidden = part.name !== name;
      tab.setAttribute("aria-selected", String(part.name === name));
      tab.setAttribute("tabindex", part.name === name ? "0" : "-1");
    }
  };
  return {
    root,
    /**
     * @param {{ parts: Part[] }} reading
     * @param {Pick<Source, "thumbnails">} source
     * @param {HeadChoice} shownHead
     * @param {string} [by]
     */
    async show(reading, source, shownHead, by = "layer") {
      place = [shownHead.layer, shownHead.head];
      if (shown !== reading || by !== order) {
        [shown, order] = [reading, by];
        this.close();
        boxes = reading.parts.map((part) => partBox(part, by, handlers, () => boxes, select));
        replace(
          root,
          handlers.isExplained !== false && explanation(reading.parts[0]),
          boxes.length > 1 &&
            element(
              "div",
              { class: "tabs", role: "tablist", "aria-label": "Which attention" },
              boxes.map((box) => box.tab),
            ),
          reading.parts.some((part) => part.roles) && orderSwitch(by, handlers.arrange),
          boxes.map((box) => box.root),
        );
        open(shownHead.part);
        chosen = shownHead.part;
        for (const box of boxes) markHead(box, shownHead);
        // Another head may be chosen while these are painted, so nothing follows them.
        await Promise.all(boxes.map((box) => paintHeads(box, reading, source)));
        return;
      }
      if (shownHead.part !== chosen) open(shownHead.part);
      chosen = shownHead.part;
      for (const box of boxes) markHead(box, shownHead);
    },
    /** @param {Pick<Source, "thumbnails">} source */
    repaint(source) {
      const reading = shown;
      return reading && Promise.all(boxes.map((box) => paintHeads(box, reading, source)));
    },
    close() {
      for (const box of boxes) box.observer.disconnect();
    },
  };
}

// What stands in the grid, said where it first stands.
/** @param {Part} part */
function explanation({ layers, heads }) {
  return element(
    "p",
    { class: "small explanation" },
    `Each small picture is a head: one way of looking. ${heads} heads work side by side in each ` +
      `of ${layers} layers, each layer on what the one before it wrote. A row of a picture is a ` +
      "word that asks (its query), a column one that answers (its key); the stronger the colour, " +
      "the more weight.",
  );
}

// Arrow keys on a tab open the one beside it.
/**
 * @param {KeyboardEvent} event
 * @param {Part} part
 * @param {HeadsBox[]} boxes
 * @param {(name: string) => void} open
 */
function turnTab(event, part, boxes, open) {
  /** @type {Record<string, number>} */
  const steps = { ArrowLeft: -1, ArrowRight: 1 };
  if (!(event.key in steps)) return;
  const at = boxes.findIndex((one) => one.part === part);
  const next = boxes[(at + steps[event.key] + boxes.length) % boxes.length];
  open(next.part.name);
  next.tab.focus();
}

/**
 * @param {Part} part
 * @param {(event: KeyboardEvent) => void} turn
 * @param {(name: string) => void} select
 */
function partTab(part, turn, select) {
  return element(
    "button",
    {
      type: "button",
      role: "tab",
      id: `tab-${part.name}`,
      "aria-controls": `heads-${part.name}`,
      on: { click: () => select(part.name), keydown: turn },
    },
    part.title,
  );
}

/** @param {string} by @param {(order: string) => void} arrange */
function orderSwitch(by, arrange) {
  /** @type {[string, string][]} */
  const orders = [
    ["layer", "by layer"],
    ["role", "by what they do"],
  ];
  return element("div", { class: "small" }, choice("Order of the heads", orders, by, arrange));
}

/**
 * @param {Part} part
 * @param {string} by
 * @param {HeadsHandlers} handlers
 * @param {() => HeadsBox[]} allBoxes
 * @param {(name: string) => void} open
 * @returns {HeadsBox}
 */
function partBox(part, by, handlers, allBoxes, open) {
  const { choose, hover } = handlers;
  const caption = element("p", { class: "role", "aria-hidden": "true" }, part.about);
  /** @type {HTMLButtonElement[]} */
  const buttons = [];
  /** @param {number} layer @param {number} head */
  const headButton = (layer, head) => {
    const role = part.roles ? part.roles[layer][head] : "";
    const described = role && part.described_roles ? part.described_roles[layer][head] : role;
    const title = `layer ${layer}, head ${head}${described ? `: ${described}` : ""}`;
    const button = element("button", {
      type: "button",
      title,
      "aria-label": `${part.title}, ${title}`,
      "data-role": role,
      "data-number": layer * part.heads + head,
      tabindex: buttons.length ? "-1" : "0",
      on: {
        click: () => choose(part.name, layer, head),
        pointerenter: () => {
          caption.textContent = title;
          hover(part.name, layer, head);
        },
        pointerleave: () => {
          caption.textContent = part.about;
          hover(null);
        },
      },
    });
    buttons.push(button);
    return button;
  };
  const isGrouped = by === "role" && part.roles;
  const rows = isGrouped ? groupRows(part, headButton) : layerRows(part, headButton);
  // One canvas for all: every further one costs the browser time in every frame.
  const canvas = element("canvas", { "aria-hidden": "true" });
  /** @type {Record<string, string>} */
  const small =
    part.heads > MAX_LARGE_THUMBNAILS
      ? { "--thumb": smallThumb(part.heads), "--across": String(part.heads) }
      : {};
  const grid = element(
    "div",
    { class: "grid", style: { "--heads": String(part.heads), ...small } },
    canvas,
    rows,
  );
  grid.addEventListener("keydown", (event) => walkHeads(event, buttons));
  const root = element(
    "section",
    { class: "part", id: `heads-${part.name}`, role: "tabpanel", "aria-label": part.title },
    caption,
    grid,
    !isGrouped && roleList(part, buttons, choose),
  );
  const turn = (/** @type {KeyboardEvent} */ event) => turnTab(event, part, allBoxes(), open);
  const tab = partTab(part, turn, open);
  const observer = new ResizeObserver(() => drawThumbnails(box));
  /** @type {HeadsBox} */
  const box = { part, buttons, root, grid, canvas, pictures: null, tab, observer };
  observer.observe(grid);
  return box;
}

/** @param {Part} part @param {(layer: number, head: number) => HTMLElement} headButton */
function layerRows({ layers, heads }, headButton) {
  /** @param {number} total */
  const numbers = (total) => [...Array(total).keys()];
  return numbers(layers).map((layer) =>
    element(
      "div",
      { class: "layer", role: "group", "aria-label": `layer ${layer}` },
      element("span", { class: "number", "aria-hidden": "true" }, layer),
      numbers(heads).map((head) => headButton(layer, head)),
    ),
  );
}

/** @param {Part} part @param {(layer: number, head: number) => HTMLElement} headButton */
function groupRows(part, headButton) {
  return headGroups(part).map(({ role, term, heads }) =>
    element(
      "section",
      { "aria-label": role },
      element(
        "h3",
        { class: "small" },
        `${role} `,
        term && element("span", { class: "quiet" }, `${term} `),
        element("span", { class: "quiet" }, heads.length),
      ),
      element(
        "div",
        { class: "layer kind" },
        heads.map(({ layer, head }) => headButton(layer, head)),
      ),
    ),
  );
}

// As many heads beside each other as the column has room for; more can be scrolled to.
/** @param {number} heads */
function smallThumb(heads) {
  return `max(14px, calc((20rem - ${heads} * 4px) / ${heads}))`;
}

// The chosen head, or all heads of a layer that is averaged.
/** @param {HeadsBox} headsBox @param {HeadChoice} choice */
function markHead({ part, buttons, root }, choice) {
  const isCurrent = part.name === choice.part;
  root.classList.toggle("current", isCurrent);
  buttons.forEach((button) => {
    const at = Number(button.dataset.number);
    const [layer, head] = [Math.floor(at / part.heads), at % part.heads];
    const among = choice.show === "layer" || (choice.show === "head" && head === choice.head);
    if (isCurrent && layer === choice.layer && among) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  });
}

// The roles that occur, each lighting up its heads; a click chooses the strongest of them, another
// the next.
/**
 * @param {Part} part
 * @param {HTMLButtonElement[]} buttons
 * @param {HeadsHandlers["choose"]} choose
 */
function roleList(part, buttons, choose) {
  if (!part.roles) return null;
  const count = new Map();
  for (const role of part.roles.flat()) if (role) count.set(role, (count.get(role) || 0) + 1);
  /** @param {string | null} role */
  const light = (role) => {
    for (const button of buttons)
      button.classList.toggle("dim", role !== null && button.dataset.role !== role);
  };
  const items = [...count]
    .sort((a, b) => b[1] - a[1])
    .map(([role, times]) => {
      const [on, off] = [() => light(role), () => light(null)];
      const click = () => chooseNext(part, role, buttons, choose);
      const attributes = { type: "button", title: "Show one of these heads; again for the next" };
      const listeners = { click, pointerenter: on, pointerleave: off, focus: on, blur: off };
      const label = [`${role} `, element("span", null, times)];
      return element("li", null, element("button", { ...attributes, on: listeners }, ...label));
    });
  return element(
    "ul",
    { class: "roles", "aria-label": "Roles, with how many heads have them" },
    items,
  );
}

/**
 * @param {Part} part
 * @param {string} role
 * @param {HTMLButtonElement[]} buttons
 * @param {HeadsHandlers["choose"]} choose
 */
function chooseNext(part, role, buttons, choose) {
  const all = headGroups(part).flatMap((group) => group.heads);
  const such = all.filter(({ layer, head }) => part.roles?.[layer][head] === role);
  /** @param {{ layer: number; head: number }} place */
  const isShown = ({ layer, head }) =>
    buttons[layer * part.heads + head].hasAttribute("aria-current");
  const { layer, head } = such[(such.findIndex(isShown) + 1) % such.length];
  choose(part.name, layer, head);
}

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

/**
 * @param {HeadsBox} box
 * @param {{ parts: Part[] }} reading
 * @param {Pick<Source, "thumbnails">} source
 */
async function paintHeads(box, reading, source) {
  const { rows, columns, weights } = await source.thumbnails(reading, box.part.name);
  if (!weights.length) return;
  const size = rows * columns;
  box.pictures = Array.from(box.buttons, (_, at) =>
    heatPixels(
      document.createElement("canvas"),
      rows,
      columns,
      (row, column) => weights[at * size + row * columns + column],
    ),
  );
  drawThumbnails(box);
}

/** @param {HeadsBox} headsBox */
function drawThumbnails({ grid, canvas, buttons, pictures }) {
  if (!pictures || !grid.clientWidth) return;
  const context = sized(canvas, grid.clientWidth, grid.clientHeight);
  context.imageSmoothingEnabled = false;
  buttons.forEach(({ dataset, offsetLeft, offsetTop, offsetWidth, offsetHeight }) =>
    context.drawImage(
      pictures[Number(dataset.number)],
      offsetLeft,
      offsetTop,
      offsetWidth,
      offsetHeight,
    ),
  );
}

// Heads ordered by what they do: groups of the same measured role, the strongest head first.

// A role as it is written, and the field's word for it. Roles of one token each are one group.
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
const ONE_TOKEN = "rests on one token";
const SPREAD = /^(picks|mixes|spreads)/; // named by their spread alone: they come last

// -> [{ role, term, heads: [{ layer, head, strength }] }]; every head of the part is in one group.
/** @param {Part} part */
function headGroups(part) {
  /** @type {Map<string, { layer: number, head: number, strength: number }[]>} */
  const groups = new Map();
  (part.roles || []).forEach((row, layer) =>
    row.forEach((role, head) => {
      const name = groupName(role);
      const heads = groups.get(name) || [];
      groups.set(name, heads);
      const described = part.described_roles ? part.described_roles[layer][head] : "";
      heads.push({ layer, head, strength: roleStrength(described) });
    }),
  );
  return [...groups]
    .map(([role, heads]) => ({
      role,
      term: fieldTerm(role),
      heads: heads.sort((one, other) => other.strength - one.strength),
    }))
    .sort((one, other) => groupRank(one.role) - groupRank(other.role));
}

/** @param {string} role */
function groupName(role) {
  if (!role) return "not named";
  if (/^rests on ['"]/.test(role)) return ONE_TOKEN;
  return role.replace(/, above all .*/, ""); // each head's own title has the kind of words
}

/** @param {string} role */
export function fieldTerm(role) {
  const term = TERMS.find(([pattern]) => pattern.test(role));
  return term ? term[1] : "";
}

/** @param {string} role */
function groupRank(role) {
  const rank = TERMS.findIndex(([pattern]) => pattern.test(role));
  if (rank < 0) return role === "not named" ? 2 * TERMS.length : TERMS.length - 4;
  return SPREAD.test(role) ? TERMS.length + rank : rank;
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
