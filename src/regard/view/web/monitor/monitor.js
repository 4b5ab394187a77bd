// A monitored training: a measure of every head over the steps as a picture, the loss beside it,
// alerts marked, and the curve of the head that is chosen.

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
  const picture = element("canvas", { class: "training-picture", tabindex: 0, role: "img" });
  const slots = {
    about: element("div", { class: "training-about" }),
    controls: element("div", { class: "training-controls" }),
    scale: element("p", { class: "training-scale" }),
    loss: element("div", null),
    steps: element("div", null),
    head: element("section", { class: "training-head", "aria-live": "polite" }),
    alerts: element("section", { class: "training-alerts" }),
  };
  root.append(
    slots.about,
    slots.controls,
    element("div", { class: "training-wide" }, slots.loss, picture, slots.steps),
    slots.scale,
    slots.head,
    slots.alerts,
  );
  const name = () => {
    const asked = state.get("measure", "score");
    return Object.hasOwn(about.measures, asked) ? asked : Object.keys(about.measures)[0];
  };
  const heads = () => about.layers.flatMap((layer) => headsOf(layer));
  const chosen = () =>
    Math.max(0, Math.min(heads().length - 1, state.number("head", mostAlerted())));
  const mostAlerted = () => {
    const first = about.alerts[0];
    return first ? heads().findIndex((head) => isSame(head, first)) : 0;
  };

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
    drawAlerts(slots.alerts, about, (alert) =>
      choose(heads().findIndex((head) => isSame(head, alert))),
    );
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
        element(
          "option",
          { value: one, selected: one === name() },
          `${one}: ${about.measures[one]}`,
        ),
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

/** @param {HeadNumbers} one @param {HeadNumbers} other */
function isSame(one, other) {
  return one.part === other.part && one.layer === other.layer && one.head === other.head;
}

/** @param {HeadNumbers} head */
function headTitle({ part, layer, head }) {
  return `${part} layer ${layer}, head ${head}`;
}

/** @param {HTMLElement} root */
function pictureWidth(root) {
  return Math.max(240, Math.min(1100, root.clientWidth) - LABEL_WIDTH);
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
    element("h1", null, about.name),
    element(
      "p",
      { class: "quiet" },
      `${about.layers.length} layers, ${about.observations} ${what}${left}, one every ` +
        `${about.every} steps${rows}; last step ${about.last ?? "–"}.` +
        (about.damaged ? ` Left out: ${about.damaged} damaged records.` : ""),
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
  const rows = about.layers.flatMap((layer) => headsOf(layer));
  context.fillStyle = accent;
  for (const alert of about.alerts) {
    const head = rows.findIndex((one) => isSame(one, alert));
    const x = LABEL_WIDTH + (stepPlace(alert.step, measure.steps) + 0.5) * across;
    context.beginPath();
    context.arc(x, (head + 0.5) * row, Math.max(2.5, row / 3), 0, 2 * Math.PI);
    context.fill();
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
    element("b", null, `${measure.name}: ${about.measures[measure.name]}. `),
    about.advice[measure.name],
    element(
      "span",
      { class: "quiet" },
      ` Rows are heads, columns observations; from ${low.toPrecision(3)} (light) to ` +
        `${high.toPrecision(3)} (dark). Dots are alerts; click a row for its curve.`,
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
  const alerts = about.alerts.filter((alert) => isSame(alert, head));
  replace(
    slot,
    element("h2", null, `${headTitle(head)}: ${measure.name}`),
    curvePicture(measure.steps, values, {
      limit,
      marks: alerts.map((alert) => alert.step),
      name: measure.name,
    }),
  );
}

/**
 * @param {HTMLElement} slot
 * @param {TrainingAbout} about
 * @param {(alert: TrainingAlert) => void} choose
 */
function drawAlerts(slot, about, choose) {
  const items = about.alerts.map((alert) =>
    element(
      "li",
      null,
      element(
        "button",
        { type: "button", class: "link", on: { click: () => choose(alert) } },
        alert.text,
      ),
    ),
  );
  replace(
    slot,
    element("h2", null, items.length ? "Alerts" : "No alerts"),
    items.length
      ? element("ol", { class: "training-list" }, items)
      : element(
          "p",
          { class: "quiet" },
          "Heads are listed here whose scores grow too large, whose entropy collapses, that " +
            "write nothing, or where NaN or infinity appears first.",
        ),
  );
}
