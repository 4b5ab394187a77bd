// The Save menu of every view: SVG, PNG and PDF for papers, JSON and CSV of the numbers, and one
// HTML file.
//
// A view calls describeExport(describe), where describe() gives a Figure (or null), and may add
//   figure.html: { path, fields } to ask the server for a page of its own.

import { context2d, element, problem, replace } from "./dom.js";
import { figureSvg, figureScale } from "./figure_svg.js";

export const FIGURE_AXES = ["query (looks)", "key (is looked at)"];
const USES = {
  "a figure": ["SVG", "PNG", "PDF"],
  "its numbers": ["JSON", "CSV"],
  "this page": ["HTML"],
  "to share": ["card.svg", "card.png"],
};

/** @type {(() => Figure | null) | null} */
let describeShown = null;

/** @param {() => Figure | null} describe */
export function describeExport(describe) {
  describeShown = describe;
}

// The menu in the page's head; the view that is shown next says what is in it.
/** @param {HTMLElement} slot @param {State} state @param {Source} source */
export function exportMenu(slot, state, source) {
  describeShown = null;
  const status = element("p.small", { role: "status" });
  const entries = element("div.export-list", { role: "menu" });
  const summary = element("summary", { title: "Save what is shown" }, "Save");
  const menu = element("details.export-menu", summary, element("div.export-box", entries, status));
  menu.addEventListener("toggle", () => {
    if (!menu.open) return;
    const figure = describeShown && describeShown();
    replace(status, figure ? "" : "There is nothing to save here yet.");
    const formats = figure ? exportFormats(figure, source) : [];
    /** @param {ExportFormat} exportFormat */
    const button = ([name, { title, make }]) =>
      saveButton(name, title, async () => {
        if (!figure) return;
        try {
          replace(status, "…");
          await make();
          replace(status, `Saved as ${fileName(figure, name.toLowerCase())}.`);
        } catch (error) {
          replace(status, problem(error));
        }
      });
    replace(entries, formatGroups(formats, button));
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      menu.open = false;
      summary.focus();
    }
  });
  replace(slot, menu);
}

// The formats in rows, each with what it is for.
/** @param {ExportFormat[]} formats @param {(format: ExportFormat) => HTMLElement} button */
function formatGroups(formats, button) {
  return Object.entries(USES).map(([use, names]) => {
    const offered = formats.filter(([name]) => names.includes(name));
    return (
      offered.length > 0 &&
      element(
        "div",
        { role: "group", "aria-label": use },
        element("span.quiet", { "aria-hidden": "true" }, use),
        offered.map(button),
      )
    );
  });
}

/** @param {string} name @param {string} title @param {() => void} click */
function saveButton(name, title, click) {
  return element("button", { role: "menuitem", title, on: { click } }, name);
}

/** @param {Figure} figure @param {Source} source */
function exportFormats(figure, source) {
  /** @param {string} ending @param {string} content @param {string} kind */
  const save = (ending, content, kind) =>
    saveAs(fileName(figure, ending), new Blob([content], { type: kind }));
  /** @param {string} ending @param {string} path @param {unknown} fields */
  const ask = async (ending, path, fields) =>
    saveAs(fileName(figure, ending), await (await source.ask(path, fields)).blob());
  const { html, card } = figure;
  const cardText = async () =>
    await (await source.ask("/api/export/card", sentFigure(figure))).text();
  const formats = {
    SVG: {
      title: "A drawing that stays sharp",
      make: async () => save("svg", svgText(figure), "image/svg+xml"),
    },
    PNG: {
      title: "An image at 300 dots an inch",
      make: async () => saveAs(fileName(figure, "png"), await figurePng(figure)),
    },
    PDF: source.page.pdf && {
      title: "For a paper: lines and letters that stay sharp",
      make: () => ask("pdf", "/api/export/pdf", sentFigure(figure)),
    },
    JSON: {
      title: "The numbers with their names",
      make: async () => save("json", figureJson(figure), "application/json"),
    },
    CSV: {
      title: "The numbers for a spreadsheet",
      make: async () => save("csv", figureCsv(figure), "text/csv"),
    },
    HTML: source.live &&
      html && {
        title: "One file with this view in it, for any browser, without a network",
        make: () => ask("html", html.path, html.fields),
      },
    "card.svg": source.live &&
      card && {
        title: "A card to share: the sentence, its strongest line, the number",
        make: async () => save("card.svg", await cardText(), "image/svg+xml"),
      },
    "card.png": source.live &&
      card && {
        title: "The same card as an image of 1200 x 630 pixels, as sites show it",
        make: async () =>
          saveAs(fileName(figure, "card.png"), await svgToPng(await cardText(), 1200, 630)),
      },
  };
  return Object.entries(formats).flatMap(([name, format]) =>
    format ? [/** @type {ExportFormat} */ ([name, format])] : [],
  );
}

// A sentence, and behind it the head that the figure is of.
const MAX_NAME_CHARACTERS = 96;

/** @param {{ name: string }} figure @param {string} ending */
function fileName({ name }, ending) {
  const plain = name
    .normalize("NFKD")
    .replace(/[^\w]+/g, "-")
    .slice(0, MAX_NAME_CHARACTERS)
    .replace(/^-+|-+$/g, "")
    .toLowerCase();
  return `${plain || "attention"}.${ending}`;
}

/** @param {Figure} figure */
function svgText(figure) {
  return new XMLSerializer().serializeToString(figureSvg(figure));
}

/** @param {Figure} figure */
async function figurePng(figure) {
  const svg = figureSvg(figure);
  const [, , across, down] = (svg.getAttribute("viewBox") || "").split(" ").map(Number);
  /** @param {number} points */
  const dots = (points) => Math.round((points * 300) / 72);
  return svgToPng(new XMLSerializer().serializeToString(svg), dots(across), dots(down));
}

/** @param {string} text @param {number} width @param {number} height */
async function svgToPng(text, width, height) {
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    const image = await new Promise((resolve, reject) => {
      const made = new Image();
      made.onload = () => resolve(made);
      made.onerror = () =>
        reject(new Error("This browser could not draw the picture: save it as SVG."));
      made.src = address;
    });
    const canvas = element("canvas", { width, height });
    context2d(canvas).drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => {
      canvas.toBlob(resolve);
    });
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** @param {Figure} figure */
function figureJson({ title, caption, provenance, axes, what, queries, keys, values }) {
  const rows = queries.map((_, q) =>
    Array.from(values.slice(q * keys.length, (q + 1) * keys.length), (value) =>
      Number.isFinite(value) ? value : String(value),
    ),
  );
  const figure = { title, caption, provenance, axes, queries, keys, what, weights: rows };
  return `${JSON.stringify(figure)}\n`;
}

/** @param {Figure} figure */
function figureCsv({ queries, keys, values }) {
  /** @param {string} text */
  const quoted = (text) => {
    // No spreadsheet runs it as a formula.
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return `"${safe.replaceAll('"', '""')}"`;
  };
  const rows = queries.map((name, q) =>
    [quoted(name), ...values.slice(q * keys.length, (q + 1) * keys.length)].join(","),
  );
  return [["", ...keys.map(quoted)].join(","), ...rows, ""].join("\n");
}

// Numbers travel in steps of the largest, so that any figure fits one request: two bytes each, and
// of a large map, whose shades follow the root, one byte.
/** @param {Figure} shown */
function sentFigure(shown) {
  const figure = { ...shown, name: undefined, html: undefined, card: undefined };
  const { most, sqrt } = figureScale(figure);
  /** @param {number} value */
  const step = (value) =>
    sqrt
      ? Math.round(255 * Math.sqrt(Math.min(1, value / most)))
      : Number.isFinite(value)
        ? Math.round((value / most) * 32767)
        : -32768;
  const bytes = new Uint8Array(
    (sqrt ? Uint8Array.from(figure.values, step) : Int16Array.from(figure.values, step)).buffer,
  );
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return { ...figure, values: undefined, most, sqrt, steps: btoa(text) };
}

/** @param {string} name @param {Blob} blob */
function saveAs(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
