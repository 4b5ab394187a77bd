// The score of a pair as a tree: what was written into query and key, term by term, each to open.

import { element, problem, replace } from "../lib/dom.js";

export function becauseTree(source, reading, choice, link, score) {
  const { part, layer, head } = choice;
  const fields = {
    sentence: reading.sentence,
    part,
    layer,
    head,
    query: link.query,
    key: link.key,
  };
  return branch(`Where does the score of ${score} come from? (because)`, source, fields, []);
}

function branch(title, source, fields, path) {
  const body = element("div", { class: "terms" });
  let asked = false;
  const open = async (event) => {
    if (event.target !== root || !root.open || asked) return;
    asked = true;
    replace(body, element("p", { class: "small quiet" }, "Adding up …"));
    try {
      const response = await source.post("/api/because", { ...fields, path });
      replace(body, termsOf(await response.json(), source, fields, path));
    } catch (error) {
      replace(body, problem(error));
    }
  };
  const root = element(
    "details",
    { class: "because", on: { toggle: open } },
    element("summary", null, title),
    body,
  );
  return root;
}

function termsOf({ terms, total, count, rest }, source, fields, path) {
  const most = Math.max(...terms.map((term) => Math.abs(term.value)), 1e-9);
  const bar = (value) =>
    element("span", {
      class: `bar ${value < 0 ? "below" : ""}`,
      style: { width: `${Math.min(70, Math.max(1, (60 * Math.abs(value)) / most))}px` },
    });
  const items = terms.map((term, at) =>
    element(
      "li",
      null,
      bar(term.value),
      branch(`${signedText(term.value)}  ${term.query} × ${term.key}`, source, fields, [
        ...path,
        at,
      ]),
    ),
  );
  const others = `${signedText(rest)}  the other ${count - terms.length} terms together`;
  return [
    element(
      "p",
      { class: "small quiet" },
      `${signedText(total)} is the sum of ${count} terms: what an earlier part of the model ` +
        "wrote into the query, times what one wrote into the key. Open a term to go further. " +
        "Exact for this sentence, with the norms' scales taken as given.",
    ),
    element(
      "ul",
      null,
      items,
      count > terms.length && element("li", { class: "quiet" }, bar(rest), others),
    ),
  ];
}

function signedText(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
}
