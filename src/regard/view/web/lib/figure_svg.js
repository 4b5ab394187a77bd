// A figure for a paper, as SVG in points: words joined by lines, or a matrix with a bar of shades.
// The same drawing as view/figure in Python, here so that a saved page can do without a server.
//
// figure { name, kind: "lines" or "heatmap", title, caption, provenance, axes: [asks, answers],
// what ("weights" or a stage),
//          queries: [names], keys: [names], chosen: [rows], values: numbers row by row }

import { context2d, svgElement } from "./dom.js";

const TEXT = 8;
const SMALL = 6.5;
const MARGIN = 8;
const PITCH = 13;
const INK = "#1a1a1a";
const QUIET = "#6a6a6a";
const ACCENT = "#d9630b";
const FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";
const SCALE = [
  [255, 255, 255],
  [214, 230, 244],
  [143, 191, 224],
  [58, 128, 191],
  [10, 48, 108],
];
const BELOW = [
  [255, 255, 255],
  [252, 226, 204],
  [248, 179, 120],
  [217, 99, 11],
  [115, 45, 2],
];
/** @type {CanvasRenderingContext2D | null} */
let ruler = null;

/** @param {Figure} figure */
export function figureSvg(figure) {
  const drawn = figure.kind === "lines" ? linesFigure(figure) : heatFigure(figure);
  return framedFigure(figure, drawn);
}

/** @param {string} text @param {number} size */
function wide(text, size) {
  if (!ruler) ruler = context2d(document.createElement("canvas"));
  ruler.font = `${10 * size}px ${FONT}`;
  return ruler.measureText(text).width / 10;
}

/** @param {number} x @param {number} y @param {string} text @param {TextLook} [textLook] */
function textMark(
  x,
  y,
  text,
  { size = TEXT, fill = INK, anchor = "start", turn = 0, bold = false } = {},
) {
  return svgElement(
    "text",
    {
      x: round(x),
      y: round(y),
      "font-size": size,
      fill,
      "text-anchor": anchor === "start" ? null : anchor,
      "font-weight": bold ? "bold" : null,
      transform: turn ? `rotate(${turn} ${round(x)} ${round(y)})` : null,
    },
    cleanText(text),
  );
}

/** @param {number} number */
const round = (number) => Math.round(100 * number) / 100;
/** @param {string} text */
const cleanText = (text) => String(text).replace(/\p{Cc}/gu, " ");

/** @param {string} text @param {number} space */
function cutShort(text, space) {
  if (wide(text, TEXT) <= space) return text;
  let characters = [...text];
  while (characters.length && wide(`${characters.join("")}…`, TEXT) > space)
    characters = characters.slice(0, -1);
  return `${characters.join("")}…`;
}

/** @param {Figure} figure */
function linesFigure({ queries, keys, axes, values, chosen }) {
  /** @param {string[]} names @param {string} axis */
  const column = (names, axis) =>
    Math.max(
      Math.min(Math.max(...names.map((name) => wide(name, TEXT))), 110) + 28,
      wide(axis, TEXT),
    );
  const [left, right] = [column(queries, axes[0]), column(keys, axes[1])];
  const tall = Math.max(queries.length, keys.length);
  /** @param {number} count */
  const start = (count) => ((tall - count) / 2) * PITCH + 1.8 * PITCH;
  /** @param {string[]} side @param {number} index */
  const y = (side, index) => start(side.length) + index * PITCH;
  const [from, to] = [left + 4, left + 124];
  /** @type {number[][]} */
  const shown = [];
  queries.forEach((_, q) =>
    keys.forEach((_, k) => {
      if (values[q * keys.length + k] >= 0.01) shown.push([q, k, values[q * keys.length + k]]);
    }),
  );
  shown.sort(
    (a, b) => Number(chosen.includes(a[0])) - Number(chosen.includes(b[0])) || a[2] - b[2],
  );
  const paths = shown.map(([q, k, weight]) => {
    const [a, b, middle] = [round(y(queries, q)), round(y(keys, k)), round((from + to) / 2)];
    return svgElement("path", {
      d: `M${round(from)} ${a}C${middle} ${a} ${middle} ${b} ${round(to)} ${b}`,
      fill: "none",
      stroke: chosen.includes(q) ? ACCENT : "#2a6fb0",
      "stroke-width": round(Math.max(0.15, 7 * weight)),
      "stroke-opacity": chosen.length && !chosen.includes(q) ? 0.12 : 0.75,
    });
  });
  const shares = keys.map(
    (_, k) =>
      chosen.reduce((sum, q) => sum + values[q * keys.length + k], 0) / Math.max(1, chosen.length),
  );
  return {
    width: left + right + 128,
    height: (tall + 1.2) * PITCH,
    left: 0,
    note: values.some((weight) => weight > 0 && weight < 0.01)
      ? "Weights under 1 % are not drawn."
      : "",
    marks: [
      ...paths,
      textMark(from, 0.7 * PITCH, axes[0], { fill: QUIET, anchor: "end" }),
      textMark(to, 0.7 * PITCH, axes[1], { fill: QUIET }),
      ...queries.map((name, q) =>
        textMark(from - 3, y(queries, q) + 2.6, cutShort(name, 110), {
          anchor: "end",
          bold: chosen.includes(q),
          fill: chosen.includes(q) ? ACCENT : INK,
        }),
      ),
      ...keys.map((name, k) => textMark(to + 3, y(keys, k) + 2.6, cutShort(name, 110))),
      ...keys.flatMap((name, k) =>
        shares[k] >= 0.01
          ? [
              textMark(
                to + 7 + Math.min(110, wide(name, TEXT)),
                y(keys, k) + 2.6,
                `${Math.round(100 * shares[k])} %`,
                { fill: ACCENT, bold: true },
              ),
            ]
          : [],
      ),
    ],
  };
}

/** @param {Figure} figure */
function heatFigure({ queries, keys, axes, values, chosen, what }) {
  const [rows, columns] = [queries.length, keys.length];
  const cell = Math.min(22, 300 / Math.max(rows, columns));
  const numbered = [...queries, ...keys].every((name) => /^[\d,]+$/.test(name));
  const size = numbered ? TEXT : Math.min(TEXT, Math.max(4.5, 0.95 * cell));
  /** @param {string[]} names */
  const longest = (names) => Math.min(80, Math.max(...names.map((name) => wide(name, size)), 0));
  const turn = numbered || longest(keys) <= cell - 3 ? 0 : cell >= 1.4 * size ? -45 : -90;
  const [left, top] = [
    longest(queries) + 20,
    { 0: 10, "-45": 0.71 * longest(keys), "-90": longest(keys) }[turn] + 18,
  ];
  const finite = [...values].filter(Number.isFinite);
  const { most, sqrt, beyond } = figureScale({ queries, keys, values, what });
  /** @param {number} value */
  const colour = (value) => shadeAt(sqrt ? Math.sqrt(Math.max(0, value) / most) : value / most);
  /** @param {number} space */
  const every = (space) =>
    [1, 2, 5, 10, 20, 50, 100, 200, 500].find((step) => step * cell >= space) || 1000;
  /** @type {Child[]} */
  const marks = [
    svgElement("rect", {
      x: round(left - 0.4),
      y: round(top - 0.4),
      width: round(columns * cell + 0.8),
      height: round(rows * cell + 0.8),
      fill: "#c8c8c8",
    }),
  ];
  if (Math.max(rows, columns) > 48)
    marks.push(
      pixelImage(
        rows,
        columns,
        (r, c) => colour(values[r * columns + c]),
        left,
        top,
        columns * cell,
        rows * cell,
      ),
    );
  else
    queries.forEach((_, r) =>
      keys.forEach((_, c) =>
        marks.push(
          ...cellMarks(
            values[r * columns + c],
            left + c * cell,
            top + r * cell,
            cell,
            colour,
            most,
            Math.max(rows, columns) <= 14,
            what,
          ),
        ),
      ),
    );
  queries.forEach((name, r) => {
    if (r % every(numbered ? 24 : size) === 0)
      marks.push(
        textMark(left - 4, top + (r + 0.5) * cell + 0.36 * size, cutShort(name, 80), {
          size: round(size),
          anchor: "end",
          bold: chosen.includes(r),
          fill: chosen.includes(r) ? ACCENT : INK,
        }),
      );
  });
  keys.forEach((name, c) => {
    if (c % every(turn ? size : longest(keys) + 4) === 0)
      marks.push(
        textMark(
          left + (c + 0.5) * cell + { 0: 0, "-45": 2, "-90": 0.36 * size }[turn],
          top - 4,
          cutShort(name, 80),
          { size: round(size), anchor: turn ? "start" : "middle", turn },
        ),
      );
  });
  marks.push(
    textMark(8, top + (rows * cell) / 2, axes[0], { fill: QUIET, anchor: "middle", turn: -90 }),
    textMark(left + (columns * cell) / 2, 8, axes[1], { fill: QUIET, anchor: "middle" }),
  );
  const bar =
    left +
    columns * cell +
    Math.max(12, turn === -45 ? 0.71 * wide(keys[columns - 1], size) - cell : 0);
  const low = finite.some((value) => value < 0) ? -1 : 0;
  const height = Math.min(90, Math.max(40, rows * cell));
  /** @param {number} value */
  const label = (value) =>
    what === "weights"
      ? `${Number((100 * value).toPrecision(3))} %`
      : `${Number(value.toPrecision(3))}`;
  marks.push(
    pixelImage(64, 1, (r) => shadeAt(1 - (r / 63) * (1 - low)), bar, top, 8, height),
    textMark(bar + 11, top + 6.4, `${label(most)}${beyond ? " +" : ""}`, {
      size: SMALL,
      fill: QUIET,
    }),
    sqrt
      ? textMark(bar + 11, top + height / 2 + 2.3, label(most / 4), { size: SMALL, fill: QUIET })
      : null,
    textMark(bar + 11, top + height, label(low * most), { size: SMALL, fill: QUIET }),
  );
  return { width: bar + 40, height: top + Math.max(40, rows * cell), marks, note: "" };
}

// The darkest shade. In a large map few weights are large and all count: shades follow the root
// there, and a few of the largest may lie beyond the scale.
/** @param {Pick<Figure, "queries" | "keys" | "values" | "what">} figure */
export function figureScale({ queries, keys, values, what }) {
  const finite = Float64Array.from([...values].filter(Number.isFinite));
  const largest = finite.reduce((a, b) => Math.max(a, Math.abs(b)), 0) || 1;
  const sqrt = what === "weights" && Math.max(queries.length, keys.length) > 48;
  const some = sqrt ? finite.filter((value) => value > 0).sort() : [];
  const most = some.length > 500 ? some[Math.floor(0.996 * (some.length - 1))] : largest;
  return { most, sqrt, beyond: largest > most };
}

/**
 * @param {number} value
 * @param {number} x
 * @param {number} y
 * @param {number} cell
 * @param {(value: number) => Rgb} colour
 * @param {number} most
 * @param {boolean} numbered
 * @param {string} what
 */
function cellMarks(value, x, y, cell, colour, most, numbered, what) {
  const [r, g, b] = colour(value);
  const gap = cell > 8 ? 0.4 : 0;
  const box = svgElement("rect", {
    x: round(x),
    y: round(y),
    width: round(cell - gap),
    height: round(cell - gap),
    fill: `rgb(${r},${g},${b})`,
  });
  if (!numbered) return [box];
  const text = !Number.isFinite(value)
    ? "-∞"
    : what === "weights"
      ? String(Math.round(100 * value))
      : value.toFixed(2);
  const size = Math.min(SMALL, (SMALL * 18) / Math.max(1, wide(text, SMALL)));
  return [
    box,
    textMark(x + cell / 2, y + cell / 2 + 0.36 * size, text, {
      size: round(size),
      anchor: "middle",
      fill: Math.abs(value) / most > 0.55 ? "#ffffff" : INK,
    }),
  ];
}

/** @param {number} share */
function shadeAt(share) {
  if (!Number.isFinite(share)) return [235, 235, 235];
  const stops = share < 0 ? BELOW : SCALE;
  const at = Math.min(3.9999, Math.abs(share) * 4);
  return stops[Math.floor(at)].map((band, index) =>
    Math.round(band + (stops[Math.floor(at) + 1][index] - band) * (at % 1)),
  );
}

/**
 * @param {number} rows
 * @param {number} columns
 * @param {(row: number, column: number) => Rgb} colourAt
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
function pixelImage(rows, columns, colourAt, x, y, width, height) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [columns, rows];
  const context = context2d(canvas);
  const image = context.createImageData(columns, rows);
  for (let at = 0; at < rows * columns; at++)
    image.data.set([...colourAt(Math.floor(at / columns), at % columns), 255], 4 * at);
  context.putImageData(image, 0, 0);
  return svgElement("image", {
    x: round(x),
    y: round(y),
    width: round(width),
    height: round(height),
    preserveAspectRatio: "none",
    "image-rendering": "pixelated",
    href: canvas.toDataURL(),
  });
}

/** @param {Figure} figure @param {DrawnFigure} drawnFigure */
function framedFigure({ title, caption, provenance }, { width, height, marks, note }) {
  const space = Math.max(width, 200);
  const heading = wrapText(title, TEXT + 1, space);
  const top = MARGIN + 12 * heading.length + 6;
  const lines = heading.map((text, at) =>
    textMark(MARGIN, MARGIN + 9 + 12 * at, text, { size: TEXT + 1, bold: true }),
  );
  let y = top + height + 4;
  for (const { text, size, fill, pitch } of [
    { text: [caption, note].filter(Boolean).join(" "), size: TEXT, fill: INK, pitch: 11 },
    { text: provenance, size: SMALL, fill: QUIET, pitch: 9 },
  ]) {
    for (const line of wrapText(text, size, space))
      lines.push(textMark(MARGIN, (y += pitch), line, { size, fill }));
    y += text ? 3 : 0;
  }
  const [across, down] = [round(space + 2 * MARGIN), round(y + MARGIN)];
  return svgElement(
    "svg",
    {
      width: `${round((across * 25.4) / 72)}mm`,
      height: `${round((down * 25.4) / 72)}mm`,
      viewBox: `0 0 ${across} ${down}`,
      "font-family": FONT,
      role: "img",
    },
    svgElement("title", cleanText(title)),
    svgElement("desc", cleanText(`${caption} ${provenance}`)),
    svgElement("rect", { width: "100%", height: "100%", fill: "#ffffff" }),
    svgElement(
      "g",
      { transform: `translate(${round((space - width) / 2 + MARGIN)} ${round(top)})` },
      marks,
    ),
    lines,
  );
}

/** @param {string} text @param {number} size @param {number} space */
function wrapText(text, size, space) {
  /** @type {string[]} */
  const lines = [];
  for (const word of cleanText(text).split(/\s+/).filter(Boolean)) {
    const longer = lines.length ? `${lines[lines.length - 1]} ${word}` : word;
    if (lines.length && wide(longer, size) <= space) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
