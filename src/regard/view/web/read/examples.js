// Sentences to begin with: each has two endings, and the word that a pronoun stands for depends on
// which of them it is.

/** @type {TwoEndings[]} */
export const EXAMPLES = [
  example("A dog ate the food because it was", { hungry: "dog", delicious: "food" }),
  example("The trophy does not fit in the suitcase because it is too", {
    big: "trophy",
    small: "suitcase",
  }),
  example("The monkey ate the banana because it was", { hungry: "monkey", ripe: "banana" }),
  example("The stone broke the glass because it was", { heavy: "stone", fragile: "glass" }),
  example("The ball broke the window because it was", { heavy: "ball", fragile: "window" }),
  example("The animal did not cross the street because it was too", {
    tired: "animal",
    wide: "street",
  }),
  // Here the head is wrong about the first ending, and the page says so.
  example("The horse drank the water because it was", { thirsty: "horse", fresh: "water" }),
];

// Of every view, as of the command.
export const FIRST_SENTENCE = sentenceWith(EXAMPLES[0], 0);

// Two of one kind, so that a head can hesitate; the sentence of the course.
export const OPEN_SENTENCE = "The cat saw the mouse. It was slow.";

/** @param {string} start @param {Record<string, string>} meant each ending, and what is meant */
function example(start, meant) {
  return { start, endings: Object.keys(meant), meant: Object.values(meant) };
}

/** @param {TwoEndings} example @param {number} at */
export function sentenceWith({ start, endings }, at) {
  return `${start} ${endings[at]}`;
}

// The example that a sentence is one of, and which of its endings it has; null for all others.
/** @param {string} sentence */
export function exampleOf(sentence) {
  for (const [number, one] of EXAMPLES.entries()) {
    const at = one.endings.findIndex((_, ending) => sentenceWith(one, ending) === sentence.trim());
    if (at >= 0) return { ...one, number, at };
  }
  return null;
}
