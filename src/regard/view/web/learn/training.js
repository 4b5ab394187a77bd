// The tiny transformer (tiny_transformer.js) trained before the reader's eyes: the loss as a curve,
// the weights of one row of letters as shaded squares, and what it writes.

import {
  announce,
  element,
  percent,
  replace,
  svgElement,
  tableHead,
  tableRow,
} from "../lib/dom.js";
import { shade } from "../lib/draw.js";
import { optionButtons } from "./knobs.js";
import {
  randomNumbers,
  taskBatch,
  TINY_TASKS,
  tinyForward,
  tinyStep,
  tinyTransformer,
} from "./tiny_transformer.js";

const ALPHABET = [..."abcdefgh"];
const FIRST_LETTERS = "beagchdf"; // every letter once: each row has one right key
const TASK_NAMES = Object.keys(TINY_TASKS);
const BATCH_SIZE = 16;
const SEED = 7;
const MAX_TRAINING_STEPS = 240;
const FRAME_BUDGET_MS = 12; // milliseconds of a frame that steps may take
const CURVE = { width: 320, height: 84, left: 26, bottom: 16 };

/** @param {boolean} open whether the question is answered: before that nothing is trained */
export function trainingPicture(open) {
  /** @type {Trainer} */
  const trainer = {
    model: tinyTransformer(),
    losses: [],
    random: randomNumbers(SEED),
    running: 0,
    task: 0,
    letters: numbersOf(FIRST_LETTERS),
    button: element("button.button.primary.train", "Train"),
    again: element("button.button", "Start again"),
    status: element("p.number.training-status"),
    curve: element("div.loss-curve"),
    grid: element("div"),
    written: element("p.serif.letters"),
    tasks: element("div"),
  };
  const stop = () => {
    cancelAnimationFrame(trainer.running);
    trainer.running = 0;
  };
  const restart = () => {
    stop();
    Object.assign(trainer, { model: tinyTransformer(), losses: [], random: randomNumbers(SEED) });
    drawTrainer(trainer);
  };
  trainer.button.addEventListener("click", () => {
    if (trainer.running) stop();
    else if (trainer.model.steps < MAX_TRAINING_STEPS)
      trainer.running = requestAnimationFrame(frame);
    drawTrainer(trainer);
  });
  trainer.again.addEventListener("click", restart);
  const frame = () => {
    const { model, losses, random, task } = trainer;
    const end = performance.now() + FRAME_BUDGET_MS;
    do {
      losses.push(tinyStep(model, taskBatch(random, BATCH_SIZE, TASK_NAMES[task])));
    } while (performance.now() < end && losses.length < MAX_TRAINING_STEPS);
    trainer.running = 0;
    if (losses.length < MAX_TRAINING_STEPS) trainer.running = requestAnimationFrame(frame);
    else announce(`Trained: ${lossText(trainer)}`);
    drawTrainer(trainer);
  };
  const drawTasks = () => {
    const held = trainer.tasks.contains(document.activeElement);
    /** @param {number} task */
    const choose = (task) => {
      trainer.task = task;
      drawTasks();
      restart();
    };
    replace(trainer.tasks, optionButtons("Task", TASK_NAMES, trainer.task, choose));
    if (held) trainer.tasks.querySelectorAll("button")[trainer.task].focus();
  };
  drawTasks();
  restart();
  return {
    root: element(
      "div.training",
      open && [
        trainer.tasks,
        lettersField(trainer),
        element("p.training-buttons", trainer.button, trainer.again),
        trainer.status,
        trainer.curve,
      ],
      trainer.written,
      trainer.grid,
    ),
    close: stop,
  };
}

/** @param {string} text */
function numbersOf(text) {
  return [...text].map((letter) => ALPHABET.indexOf(letter));
}

// Letters of one's own: as many as the model was made for, of those it knows.
/** @param {Trainer} trainer */
function lettersField(trainer) {
  const length = FIRST_LETTERS.length;
  const hint = element("span.small.quiet", { role: "status" });
  const field = element("input", {
    ...{
      type: "text",
      class: "serif own-letters",
      maxlength: String(length),
      value: FIRST_LETTERS,
    },
    ...{ spellcheck: "false", autocomplete: "off", autocapitalize: "off" },
  });
  field.addEventListener("input", () => {
    const letters = numbersOf(field.value.toLowerCase());
    const fits = letters.length === length && letters.every((letter) => letter >= 0);
    hint.textContent = fits ? "" : `${length} letters from a to ${ALPHABET[ALPHABET.length - 1]}`;
    if (!fits) return;
    trainer.letters = letters;
    drawTrainer(trainer);
  });
  return element("label.labelled.knob", element("span.small", "Your letters"), field, hint);
}

/** @param {Trainer} trainer */
function lossText({ losses }) {
  return losses.length
    ? `step ${losses.length}, loss ${losses[losses.length - 1].toFixed(3)}`
    : `step 0, a guess: loss about ${Math.log(ALPHABET.length).toFixed(3)}`;
}

/** @param {Trainer} trainer */
function drawTrainer(trainer) {
  const { model, losses, running, letters, task } = trainer;
  const done = losses.length >= MAX_TRAINING_STEPS;
  trainer.button.textContent = running ? "Pause" : losses.length && !done ? "Go on" : "Train";
  trainer.button.disabled = done;
  trainer.status.textContent = lossText(trainer);
  replace(trainer.curve, lossCurve(losses));
  const { weights, probabilities } = tinyForward(model, letters);
  /** @param {Matrix} matrix */
  const rows = (matrix) =>
    letters.map((_, row) =>
      Array.from(matrix.values.subarray(row * matrix.columns, (row + 1) * matrix.columns)),
    );
  const names = letters.map((letter) => ALPHABET[letter]);
  const target = TINY_TASKS[TASK_NAMES[task]](letters);
  const written = rows(probabilities).map((row) => row.indexOf(Math.max(...row)));
  replace(
    trainer.written,
    `${names.join(" ")} → `,
    written.map((letter, at) => {
      const right = letter === target[at] ? "right" : "wrong";
      return [element("span", { class: right, title: right }, ALPHABET[letter]), " "];
    }),
  );
  replace(trainer.grid, letterGrid(names, rows(weights)));
}

// Rows look, columns are looked at; a square is as dark as its share, which it also says.
/** @param {string[]} names @param {number[][]} weights */
function letterGrid(names, weights) {
  /** @param {number} weight */
  const cell = (weight) =>
    element(
      "td",
      { style: { background: shade(weight) }, title: percent(weight) },
      element("span.only-read", String(Math.round(100 * weight))),
    );
  return element(
    "table.letter-grid",
    element("caption", "Where each letter looks: rows look, columns are looked at"),
    tableHead([null, ...names]),
    element(
      "tbody",
      names.map((name, row) => tableRow(name, weights[row].map(cell))),
    ),
  );
}

/** @param {number[]} losses */
function lossCurve(losses) {
  const { width, height, left, bottom } = CURVE;
  const most = Math.max(Math.log(ALPHABET.length) * 1.1, ...losses);
  /** @param {number} step */
  const across = (step) => left + (step / (MAX_TRAINING_STEPS - 1)) * (width - left);
  /** @param {number} loss */
  const down = (loss) => (height - bottom) * (1 - loss / most);
  const points = losses.map((loss, step) => `${across(step).toFixed(1)},${down(loss).toFixed(1)}`);
  /** @param {number} x @param {number} y @param {string} words @param {string} anchor */
  const text = (x, y, words, anchor) =>
    svgElement("text.curve-text", { x, y, "text-anchor": anchor }, words);
  return svgElement(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "The loss, step by step" },
    svgElement("path.curve-axis", { d: `M${left} 0V${height - bottom}H${width}` }),
    text(width, 10, "loss", "end"),
    text(width, height - 3, `${MAX_TRAINING_STEPS} steps`, "end"),
    text(left - 4, height - bottom, "0", "end"),
    svgElement("polyline.curve-line", { points: points.join(" ") }),
  );
}
