// Experiments in the address: "redirect.6.4.encoder.3.6~knock_out.1" is a list of changes as the
// server takes them (view/page/page_changes.py). Words, layers and heads are numbers from 0.

import { asWord } from "../lib/dom.js";

const FIELDS = {
  redirect: ["word", "to", "part", "layer", "head"],
  knock_out: ["word"],
  ablate: ["part", "layer", "head"],
};

export function writeChanges(changes) {
  return changes
    .map((one) => [one.change, ...FIELDS[one.change].map((name) => one[name])].join("."))
    .join("~");
}

// What cannot be read is left out.
export function readChanges(text) {
  return text
    .split("~")
    .map((one) => {
      const [change, ...values] = one.split(".");
      const names = Object.hasOwn(FIELDS, change) ? FIELDS[change] : null;
      if (!names || values.length !== names.length) return null;
      const entries = names.map((name, at) => [
        name,
        name === "part" ? values[at] : Number(values[at]),
      ]);
      const isRight = entries.every(([name, value]) =>
        name === "part" ? /^[a-z]+$/.test(value) : Number.isInteger(value) && value >= 0,
      );
      return isRight ? { change, ...Object.fromEntries(entries) } : null;
    })
    .filter(Boolean);
}

// The question that a change asks, in a learner's words, with the field's word for it.
export function questionOf(change, reading) {
  const part = reading.parts.find((one) => one.name === (change.part || "encoder"));
  const name = (side, at) => asWord(part[side].words[at]);
  if (change.change === "redirect")
    return [
      `What if ${name("query", change.word)} looked at ${name("key", change.to)}?`,
      "redirect",
    ];
  if (change.change === "knock_out") return [`Cover ${name("key", change.word)}`, "knock out"];
  return ["Switch this head off", "ablate"];
}
