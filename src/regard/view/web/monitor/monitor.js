// A monitored training: what happened, one line an event; a measure of every head over the steps as
// a picture, events framed, the loss above it; and the curve of the head that is chosen.

import { readNumbers } from "../lib/api.js";
import { announce, element, labelled, pageElement, problem, replace } from "../lib/dom.js";
import { colours, sized } from "../lib/draw.js";
import { curvePicture, lossPicture, stepPicture, stepPlace } from "./curves.js";

const REFRESH_MS = 2000;
const LABEL_WIDTH = 96;
const [LEAST_ROW, MOST_ROW] = [3, 16]; // pixels

/** @type {ShowView} */
export async function showTraining(root, state, source) {
  /** @type {TrainingAbout} */
  let about = await (await source.ask("/api/monitor/about", {})).json();
  /** @type {TrainingMeasure | null} */
  let measure = null;
  const picture = element("canvas.training-picture", { tabindex: 0, role: "img" });
  const slots = {
    about: element("div.training-about"),
    controls: element("div.training-controls"),
    scale: element("p.training-scale"),
    loss: element("div"),
    steps: element("div"),
    head: element("section.training-head", { "aria-live": "polite" }),
    alerts: element("section.training-alerts"),
  };
  const name = () => {
    const asked = state.get("measure", "score");
    return Object.hasOwn(about.measures, asked) ? asked : Object.keys(about.measures)[0];
  };
  const heads = () => about.layers.flatMap((layer) => headsOf(layer));
  const chosen = () =>
    Math.max(0, Math.min(heads().length - 1, state.number("head", mostAlerted())));
  const mostAlerted = () => about.alerts.find((alert) => alert.heads.length)?.heads[0] ?? 0;

  async function load() {
    const response = await source.ask("/api/monitor/measure", { measure: name() });
    const steps = JSON.parse(response.headers.get("X-Regard-Shown") || "[]");
    const { shape, values } = await readNumbers(response);
    measure = { name: name(), steps, heads: shape[1], values };
  }

  function draw() {
    if (!measure) return;
    drawAbout(slots.about, about);
    drawControls();
    const range = drawMeasure(picture, about, measure, chosen(), pictureWidth(root));
    replace(slots.scale, scaleText(about, measure, range));
    replace(slots.loss, lossPicture(about, measure.steps, LABEL_WIDTH, pictureWidth(root)));
    replace(slots.steps, stepPicture(measure.steps, LABEL_WIDTH, pictureWidth(root)));
    drawHead(slots.head, about, measure, heads()[chosen()], chosen());
    drawEvents(slots.alerts, about, heads(), choose);
    announce(`${headTitle(heads()[chosen()])}, ${measure.name}.`);
  }

  /** @param {number} index */
  function choose(index) {
    if (index >= 0) state.set({ head: index });
  }

  function drawControls() {
    /** @type {HTMLSelectElement} */
    const select = element(
      "select",
      { id: "training-measure", on: { change: () => state.set({ measure: select.value }) } },
      Object.keys(about.measures).map((one) =>
        element("option", { value: one, selected: one === name() }, one.replaceAll("_", " ")),
      ),
    );
    /** @type {HTMLSelectElement} */
    const head = element(
      "select",
      { id: "training-head", on: { change: () => choose(Number(head.value)) } },
      heads().map((one, index) =>
        element("option", { value: index, selected: index === chosen() }, headTitle(one)),
      ),
    );
    replace(slots.controls, labelled("Measure", select), labelled("Head", head));
  }

  picture.addEventListener("mousemove", (event) => {
    if (measure) picture.title = cellText(picture, event, about, measure, heads());
  });
  picture.addEventListener("click", (event) => choose(rowAt(picture, event, about)));
  picture.addEventListener("keydown", (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!move) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(heads().length - 1, chosen() + move)));
  });

  const refresh = async () => {
    if (document.hidden) return;
    try {
      const now = await (await source.ask("/api/monitor/about", {})).json();
      if (now.observations === about.observations && now.alerts.length === about.alerts.length)
        return;
      about = now;
      await load();
      draw();
    } catch (error) {
      clearInterval(timer); // the server has gone: said once
      slots.about.append(problem(error));
    }
  };
  const timer = setInterval(refresh, REFRESH_MS);
  state.follow(async (changed) => {
    if (changed.has("measure")) await load();
    draw();
  });
  window.addEventListener("resize", draw);
  window.addEventListener("colours", draw);
  replace(pageElement("export"));
  await load();
  root.append(
    slots.about,
    slots.alerts,
    slots.controls,
    element("div", slots.loss, picture, slots.steps),
    element("div.training-below", slots.head, slots.scale),
  );
  draw();
  return () => {
    clearInterval(timer);
    window.removeEventListener("resize", draw);
    window.removeEventListener("colours", draw);
  };
}

/** @param {{ part: string, layer: number, heads: number }} layer @returns {HeadNumbers[]} */
function headsOf({ part, layer, heads }) {
  return Array.from({ length: heads }, (_, head) => ({ part, layer, head }));
}

/** @param {HeadNumbers} head */
function headTitle({ part, layer, head }) {
  return `${part} layer ${layer}, head ${head}`;
}

/** @param {HTMLElement} root */
function pictureWidth(root) {
  return Math.max(160, root.clientWidth - LABEL_WIDTH);
}

/** @param {TrainingAbout} about */
function rowHeight(about) {
  const rows = about.layers.reduce((sum, layer) => sum + layer.heads, 0);
  return Math.max(LEAST_ROW, Math.min(MOST_ROW, Math.floor(480 / Math.max(1, rows))));
}

/** @param {HTMLCanvasElement} canvas @param {MouseEvent} event @param {TrainingAbout} about */
function rowAt(canvas, event, about) {
  const rows = about.layers.reduce((sum, layer) => sum + layer.heads, 0);
  const down = event.clientY - canvas.getBoundingClientRect().top;
  return Math.max(0, Math.min(rows - 1, Math.floor(down / rowHeight(about))));
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {MouseEvent} event
 * @param {TrainingAbout} about
 * @param {TrainingMeasure} measure
 * @param {HeadNumbers[]} heads
 */
function cellText(canvas, event, about, measure, heads) {
  const head = rowAt(canvas, event, about);
  const box = canvas.getBoundingClientRect();
  const share = (event.clientX - box.left - LABEL_WIDTH) / (box.width - LABEL_WIDTH);
  const at = Math.min(measure.steps.length - 1, Math.floor(share * measure.steps.length));
  if (at < 0) return headTitle(heads[head]);
  const value = measure.values[at * measure.heads + head];
  const number = Number.isFinite(value) ? value.toPrecision(4) : "not known";
  return `${headTitle(heads[head])}, step ${measure.steps[at]}: ${measure.name} ${number}`;
}

/** @param {HTMLElement} slot @param {TrainingAbout} about */
function drawAbout(slot, about) {
  const rows = about.rows === null ? "" : `, ${about.rows} sampled queries of each sentence`;
  const left = about.shown < about.observations ? `, ${about.shown} of them shown` : "";
  const what = about.probe ? "observations of a fixed batch" : "observations";
  replace(
    slot,
    element("h1", { title: about.name }, about.name.split(/[\\/]/).at(-1)),
    element(
      "p.quiet",
      `${about.layers.length} layers, ${about.observations} ${what}${left}, one every ` +
        `${about.every} steps${rows}; last step ${about.last ?? "–"}.` +
        (about.damaged ? ` Left out: ${about.damaged} damaged records.` : "") +
        (about.missing ? ` Missing: at least ${about.missing} records; a file was cut.` : ""),
    ),
  );
}

// Rows are heads, layer below layer; columns are observations.
/**
 * @param {HTMLCanvasElement} canvas
 * @param {TrainingAbout} about
 * @param {TrainingMeasure} measure
 * @param {number} chosen
 * @param {number} width
 */
function drawMeasure(canvas, about, measure, chosen, width) {
  const finite = [...measure.values].filter(Number.isFinite);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  const high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const { scale, line, ink, accent, soft } = colours();
  const row = rowHeight(about);
  const context = sized(canvas, LABEL_WIDTH + width, row * measure.heads);
  const across = width / Math.max(1, measure.steps.length);
  for (let head = 0; head < measure.heads; head++) {
    for (let at = 0; at < measure.steps.length; at++) {
      const value = measure.values[at * measure.heads + head];
      const share = high > low ? (value - low) / (high - low) : 0;
      context.fillStyle = Number.isFinite(value)
        ? scale[Math.round(share * (scale.length - 1))]
        : line;
      context.fillRect(LABEL_WIDTH + at * across, head * row, Math.ceil(across), row);
    }
  }
  context.font = "12px sans-serif";
  context.textBaseline = "top";
  let top = 0;
  for (const layer of about.layers) {
    context.fillStyle = soft;
    if (layer.heads * row >= 16)
      context.fillText(`${layer.part} ${layer.layer}`, 0, top * row + 4, LABEL_WIDTH - 6);
    context.fillStyle = ink;
    context.fillRect(0, top * row, LABEL_WIDTH + width, 1);
    top += layer.heads;
  }
  context.fillStyle = context.strokeStyle = accent;
  context.lineWidth = 1;
  for (const { first, last, heads } of about.alerts) {
    if (!heads.length) continue;
    const [from, to] = [first, last ?? first].map((step) => stepPlace(step, measure.steps));
    const [left, wide] = [LABEL_WIDTH + from * across, (to - from + 1) * across];
    const [top, bottom] = [Math.min(...heads) * row, (Math.max(...heads) + 1) * row];
    context.strokeRect(left, top + 0.5, wide, bottom - top - 1);
    for (const head of heads) {
      context.beginPath();
      context.arc(left + across / 2, (head + 0.5) * row, Math.max(2, row / 5), 0, 2 * Math.PI);
      context.fill();
    }
  }
  context.strokeStyle = accent;
  context.lineWidth = 2;
  context.strokeRect(LABEL_WIDTH, chosen * row, width, row);
  canvas.setAttribute(
    "aria-label",
    `${measure.name} of ${measure.heads} heads over ${measure.steps.length} observations; arrow ` +
      "keys choose a head.",
  );
  return [low, high];
}

/** @param {TrainingAbout} about @param {TrainingMeasure} measure @param {number[]} range */
function scaleText(about, measure, [low, high]) {
  if (!Number.isFinite(low)) return `${measure.name} was not seen in this training.`;
  return [
    element("b", `${measure.name}: ${about.measures[measure.name]}. `),
    about.advice[measure.name],
    element(
      "span.quiet",
      ` Rows are heads, columns observations; from ${low.toPrecision(3)} (light) to ` +
        `${high.toPrecision(3)} (dark). A frame is an event, a dot a head in it; click a row for ` +
        "its curve.",
    ),
  ];
}

/**
 * @param {HTMLElement} slot
 * @param {TrainingAbout} about
 * @param {TrainingMeasure} measure
 * @param {HeadNumbers} head
 * @param {number} index
 */
function drawHead(slot, about, measure, head, index) {
  const values = measure.steps.map((_, at) => measure.values[at * measure.heads + index]);
  const limit = measure.name === "score" || measure.name === "bound" ? about.threshold : null;
  const alerts = about.alerts.filter((alert) => alert.heads.includes(index));
  replace(
    slot,
    element("h2", `${headTitle(head)}: ${measure.name}`),
    curvePicture(measure.steps, values, {
      limit,
      marks: alerts.map((alert) => alert.first),
      name: measure.name,
    }),
  );
}

// One line an event, with its heads behind it; what is unfolded stays while a training is followed.
/**
 * @param {HTMLElement} slot
 * @param {TrainingAbout} about
 * @param {HeadNumbers[]} heads
 * @param {(head: number) => void} choose
 */
function drawEvents(slot, about, heads, choose) {
  const open = new Set(
    [...slot.querySelectorAll("details[open]")].map((one) => one.getAttribute("data-first")),
  );
  /** @param {string} text @param {number | undefined} head */
  const link = (text, head) =>
    element("button.link", { on: { click: () => head !== undefined && choose(head) } }, text);
  const items = about.alerts.map(({ first, severity, line, heads: rows }) =>
    element(
      "li",
      { class: severity },
      link(line, rows[0]),
      rows.length > 1 &&
        element(
          "details",
          { "data-first": first, open: open.has(String(first)) },
          element("summary.small.quiet", `${rows.length} heads`),
          element(
            "p.training-heads.small",
            rows.map((row) => link(`${heads[row].layer}.${heads[row].head}`, row)),
          ),
        ),
    ),
  );
  replace(
    slot,
    items.length
      ? element("ol.training-list", items)
      : element(
          "p.quiet",
          "Faults are listed here: NaN or infinity, scores that are too large or change at " +
            "once, attention that collapses, heads that write nothing, settings that change.",
        ),
  );
}
