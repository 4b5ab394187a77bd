// A tiny transformer (tiny_transformer.js) trained before the reader's eyes: the loss as a curve,
// the weights of one row of letters as a grid, and what it writes.

import { announce, element, replace, svgElement } from "../lib/dom.js";
import { weightsGrid } from "./scene_pictures.js";
import {
  randomNumbers,
  reversedBatch,
  tinyForward,
  tinyStep,
  tinyTransformer,
} from "./tiny_transformer.js";

const ALPHABET = [..."abcdefgh"];
const SHOWN_LETTERS = [1, 4, 0, 6, 2, 7, 3, 5]; // every letter once: each row has one right key
const BATCH_SIZE = 16;
const SEED = 7;
const MAX_TRAINING_STEPS = 240;
const FRAME_BUDGET_MS = 12; // milliseconds of a frame that steps may take
const CURVE = { width: 320, height: 110, left: 26, bottom: 16 };

export function trainingPicture() {
  /** @type {Trainer} */
  const trainer = {
    model: tinyTransformer(),
    losses: [],
    random: randomNumbers(SEED),
    running: 0,
    button: element("button", { type: "button", class: "button primary train" }, "Train"),
    again: element("button", { type: "button", class: "button" }, "Start again"),
    status: element("p", { class: "number training-status" }),
    curve: element("div", { class: "loss-curve" }),
    grid: element("div"),
    written: element("p", { class: "serif letters" }),
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
    const end = performance.now() + FRAME_BUDGET_MS;
    do {
      trainer.losses.push(tinyStep(trainer.model, reversedBatch(trainer.random, BATCH_SIZE)));
    } while (performance.now() < end && trainer.losses.length < MAX_TRAINING_STEPS);
    trainer.running = 0;
    if (trainer.losses.length < MAX_TRAINING_STEPS) trainer.running = requestAnimationFrame(frame);
    else announce(`Trained: ${lossText(trainer)}`);
    drawTrainer(trainer);
  };
  restart();
  return {
    root: element(
      "div",
      { class: "stacked training" },
      element("p", { class: "training-buttons" }, trainer.button, trainer.again),
      trainer.status,
      trainer.curve,
      trainer.written,
      trainer.grid,
    ),
    close: stop,
  };
}

/** @param {Trainer} trainer */
function lossText({ losses }) {
  return losses.length
    ? `step ${losses.length}, loss ${losses[losses.length - 1].toFixed(3)}`
    : `step 0, a guess: loss about ${Math.log(ALPHABET.length).toFixed(3)}`;
}

/** @param {Trainer} trainer */
function drawTrainer(trainer) {
  const { model, losses, running } = trainer;
  const done = losses.length >= MAX_TRAINING_STEPS;
  trainer.button.textContent = running ? "Pause" : losses.length && !done ? "Go on" : "Train";
  trainer.button.disabled = done;
  trainer.status.textContent = lossText(trainer);
  replace(trainer.curve, lossCurve(losses));
  const { weights, probabilities } = tinyForward(model, SHOWN_LETTERS);
  /** @param {Matrix} matrix */
  const rows = (matrix) =>
    SHOWN_LETTERS.map((_, row) =>
      Array.from(matrix.values.subarray(row * matrix.columns, (row + 1) * matrix.columns)),
    );
  const names = SHOWN_LETTERS.map((letter) => ALPHABET[letter]);
  const written = rows(probabilities).map((row) => row.indexOf(Math.max(...row)));
  replace(
    trainer.written,
    `${names.join(" ")} → `,
    written.map((letter, at) => {
      const right = letter === SHOWN_LETTERS[SHOWN_LETTERS.length - 1 - at];
      return [
        element(
          "span",
          { class: right ? "right" : "wrong", title: right ? "right" : "wrong" },
          ALPHABET[letter],
        ),
        " ",
      ];
    }),
  );
  replace(trainer.grid, weightsGrid("Its attention, in percent", names, names, rows(weights)));
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
    svgElement("text", { x, y, "text-anchor": anchor, class: "curve-text" }, words);
  return svgElement(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "The loss, step by step" },
    svgElement("path", {
      d: `M${left} 0V${height - bottom}H${width}`,
      class: "curve-axis",
    }),
    text(width, 10, "loss", "end"),
    text(width, height - 3, `${MAX_TRAINING_STEPS} steps`, "end"),
    text(left - 4, height - bottom, "0", "end"),
    svgElement("polyline", { points: points.join(" "), class: "curve-line" }),
  );
}
