// Pictures that a watched model was given, with the weights of the chosen row over them.

import { element, replace, svgElement } from "../lib/dom.js";

const MAX_OPACITY = 0.8; // of the largest weight

// handlers: point(key or null), pick(key)
// -> { root, show(images, part), shade(who, weights, aimed) }
/** @param {{ point(key: number | null): void, pick(key: number): void }} handlers */
export function imageOverlay(handlers) {
  const root = element("div.images", { hidden: true });
  /** @type {ReturnType<typeof imageFrame>[]} */
  let frames = [];
  return {
    root,
    /** @param {PageImage[]} images @param {string} part */
    show(images, part) {
      const shown = images.filter((image) => image.parts[part]);
      root.hidden = !shown.length;
      frames = shown.map((image) => imageFrame(image, part, handlers));
      replace(root, ...frames.map((frame) => frame.root));
    },
    /** @param {string} who @param {Float32Array} weights of keys @param {number | null} aimed */
    shade(who, weights, aimed) {
      for (const frame of frames) frame.shade(who, weights, aimed);
    },
  };
}

// The key of each patch, by its cell.
/** @param {PageImage} image @param {string} part */
function keysOfCells({ parts }, part) {
  const { rows, columns, cells } = parts[part];
  const keys = new Array(rows * columns).fill(-1);
  cells.forEach((cell, key) => {
    if (cell >= 0) keys[cell] = key;
  });
  return keys;
}

// What the patches of a part are called, by their keys; null where it has none.
/** @param {PageImage[]} images @param {string} part */
export function patchNames(images, part) {
  /** @type {Map<number, string>} */
  const names = new Map();
  images.forEach((image, number) => {
    const grid = image.parts[part];
    grid?.cells.forEach((cell, key) => {
      if (cell < 0) return;
      const name = `patch ${Math.floor(cell / grid.columns)},${cell % grid.columns}`;
      names.set(key, images.length > 1 ? `${name} of ${number}` : name);
    });
  });
  return names.size ? names : null;
}

/**
 * @param {PageImage} image
 * @param {string} part
 * @param {{ point(key: number | null): void, pick(key: number): void }} handlers
 */
function imageFrame(image, part, handlers) {
  const { rows, columns } = image.parts[part];
  const keys = keysOfCells(image, part);
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
  const keyUnder = (event) => {
    const cell = event.target instanceof Element ? event.target.getAttribute("data-cell") : null;
    return cell === null ? -1 : keys[Number(cell)];
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
        pointermove: (event) => keyUnder(event) >= 0 && handlers.point(keyUnder(event)),
        pointerleave: () => handlers.point(null),
        click: (event) => keyUnder(event) >= 0 && handlers.pick(keyUnder(event)),
      },
    },
    boxes,
  );
  const caption = element("figcaption.small.quiet");
  const photo = image.picture
    ? element("img", { src: image.picture, alt: "", width: image.width, height: image.height })
    : element("span.no-picture");
  const frame = element(
    "div.image-frame",
    { style: { "aspect-ratio": `${image.width} / ${image.height}` } },
    photo,
    grid,
  );
  return {
    root: element("figure.image-overlay", frame, caption),
    /** @param {string} who @param {Float32Array} weights @param {number | null} aimed */
    shade(who, weights, aimed) {
      const shares = keys.map((key) => (key < 0 ? 0 : (weights[key] ?? 0)));
      const most = Math.max(...shares);
      boxes.forEach((box, cell) => {
        const opacity = most > 0 ? (MAX_OPACITY * shares[cell]) / most : 0;
        box.style.setProperty("fill-opacity", String(opacity));
        box.classList.toggle("chosen", aimed !== null && keys[cell] === aimed);
      });
      caption.textContent = imageCaption(who, shares, most, columns);
    },
  };
}

/** @param {string} who @param {number[]} shares @param {number} most @param {number} columns */
function imageCaption(who, shares, most, columns) {
  const total = shares.reduce((sum, share) => sum + share, 0);
  const cell = shares.indexOf(most);
  /** @param {number} share */
  const written = (share) => `${(100 * share).toFixed(1)} %`;
  return (
    `${who}: ${written(total)} on this image, most in row ${Math.floor(cell / columns)}, ` +
    `column ${cell % columns} (${written(most)}; from 0, at the top left).`
  );
}
