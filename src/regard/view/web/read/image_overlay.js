// Pictures that a watched model was given, with the weights of the chosen row above them.
//
// Pointing at a word lights the patches it looks at, pointing at a patch the words that look at it.

import { element, replace, svgElement } from "../lib/dom.js";

const MAX_OPACITY = 0.8; // opacity of the largest weight

// handlers: hover("key", position or null), pick("key", position, event); as of the lines
// -> { root, show(model), close() }; model { images, part, grid, chosen, by }
/** @param {Pick<WordHandlers, "hover" | "pick">} handlers */
export function imageOverlay(handlers) {
  const root = element("div", { class: "images" });
  root.hidden = true;
  let made = "";
  /** @type {ReturnType<typeof imageFrame>[]} */
  let frames = [];
  return {
    root,
    /** @param {ImagesModel} imagesModel */
    show({ images, part, grid, chosen, by }) {
      const shown = (images || []).filter((image) => image.parts[part.name]);
      root.hidden = !shown.length;
      const request = JSON.stringify([shown.map((image) => image.picture.length), part.name]);
      if (request !== made) {
        frames = shown.map((image) => imageFrame(image, part.name, handlers));
        replace(root, ...frames.map((frame) => frame.root));
        made = request;
      }
      frames.forEach((frame) => frame.show(grid, chosen, cellColumns(frame.image, part, grid, by)));
    },
    close() {
      root.replaceChildren();
    },
  };
}

// The columns of the grid that are patches of an image, by cell; hidden marks are left out.
/** @param {PageImage} pageImage @param {Part} part @param {Grid} grid @param {string} by */
function cellColumns({ parts }, part, grid, by) {
  const { rows, columns, cells } = parts[part.name];
  const ofCell = new Array(rows * columns).fill(-1);
  const position = new Map((grid.keyPositions || []).map((from, to) => [from, to]));
  cells.forEach((cell, token) => {
    if (cell < 0) return;
    const at = by === "words" ? part.key.word_of_token[token] : token;
    const column = grid.keyPositions ? position.get(at) : at;
    if (column !== undefined) ofCell[cell] = column;
  });
  return ofCell;
}

/**
 * @param {PageImage} image
 * @param {string} name
 * @param {Pick<WordHandlers, "hover" | "pick">} handlers
 */
function imageFrame(image, name, handlers) {
  const { rows, columns } = image.parts[name];
  /** @type {number[]} */
  let ofCell = [];
  const [left, top, right, bottom] = image.area.map((share) => 100 * share);
  const boxes = Array.from({ length: rows * columns }, (_, cell) =>
    svgElement("rect", {
      x: cell % columns,
      y: Math.floor(cell / columns),
      width: 1,
      height: 1,
      "data-cell": cell,
    }),
  );
  /** @param {Event} event */
  const columnUnder = (event) => {
    const cell = event.target instanceof Element ? event.target.getAttribute("data-cell") : null;
    return cell === null ? -1 : ofCell[Number(cell)];
  };
  const grid = svgElement(
    "svg",
    {
      viewBox: `0 0 ${columns} ${rows}`,
      preserveAspectRatio: "none",
      "aria-hidden": "true",
      style: {
        left: `${left}%`,
        top: `${top}%`,
        width: `${right - left}%`,
        height: `${bottom - top}%`,
      },
      on: {
        pointermove: (event) =>
          columnUnder(event) >= 0 && handlers.hover("key", columnUnder(event)),
        pointerleave: () => handlers.hover("key", null),
        click: (event) =>
          columnUnder(event) >= 0 && handlers.pick("key", columnUnder(event), event),
      },
    },
    boxes,
  );
  const caption = element("figcaption", { class: "small quiet" });
  const photo = image.picture
    ? element("img", { src: image.picture, alt: "", width: image.width, height: image.height })
    : element("span", { class: "no-picture" });
  const frame = element(
    "div",
    { class: "image-frame", style: { "aspect-ratio": `${image.width} / ${image.height}` } },
    photo,
    grid,
  );
  return {
    image,
    root: element("figure", { class: "image-overlay" }, frame, caption),
    /** @param {Grid} weights @param {Chosen} chosen @param {number[]} columnsByCell */
    show(weights, chosen, columnsByCell) {
      ofCell = columnsByCell;
      const shares = cellShares(weights, chosen, ofCell);
      const most = Math.max(...shares);
      boxes.forEach((box, cell) => {
        const opacity = most > 0 ? (MAX_OPACITY * shares[cell]) / most : 0;
        box.style.setProperty("fill-opacity", String(opacity));
        box.classList.toggle("chosen", chosen.keys.includes(ofCell[cell]));
      });
      caption.textContent = imageCaption(shares, most, columns, weights, chosen);
    },
  };
}

// The weight of each cell, averaged over the rows that are chosen, or over all.
/** @param {Grid} grid @param {Chosen} chosen @param {number[]} ofCell */
function cellShares(grid, chosen, ofCell) {
  const rows = chosen.queries.length
    ? chosen.queries
    : Array.from({ length: grid.rows }, (_, row) => row);
  return ofCell.map((column) =>
    column < 0
      ? 0
      : rows.reduce((sum, row) => sum + grid.weights[row * grid.columns + column], 0) / rows.length,
  );
}

/**
 * @param {number[]} shares
 * @param {number} most
 * @param {number} columns
 * @param {Grid} grid
 * @param {Chosen} chosen
 */
function imageCaption(shares, most, columns, grid, chosen) {
  const total = shares.reduce((sum, share) => sum + share, 0);
  const cell = shares.indexOf(most);
  /** @param {number} share */
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const who = chosen.queries.length
    ? chosen.queries.map((row) => grid.queries[row]).join(" ")
    : "all rows on average";
  return (
    `${who}: ${percent(total)} on this image, most in row ${Math.floor(cell / columns)}, ` +
    `column ${cell % columns} (${percent(most)}; from 0, at the top left).`
  );
}
