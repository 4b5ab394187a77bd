// Heads ordered by what they do: groups of the same measured role, the strongest head first.

// A role as it is written, and the field's word for it. Roles of one token each are one group.
/** @type {[RegExp, string][]} */
const TERMS = [
  [/^(finds|links)/, "coreference"],
  [/^(aligns|translates)/, "alignment"],
  [/the (token|word) before/, "previous token"],
  [/the (token|word) after/, "next token"],
  [/follows the same token/, "induction"],
  [/the same (token|word)/, "duplicate token"],
  [/the (token|word) itself/, "self"],
  [/rests on the first|looks at the first/, "first token, sink"],
  [/rests on the end/, "end of sentence, sink"],
  [/^rests on/, "sink"],
  [/^picks/, "low entropy"],
  [/^mixes/, "medium entropy"],
  [/^spreads/, "broad, high entropy"],
];
const ONE_TOKEN = "rests on one token";
const SPREAD = /^(picks|mixes|spreads)/; // named by their spread alone: they come last

// -> [{ role, term, heads: [{ layer, head, strength }] }]; every head of the part is in one group.
/** @param {Part} part */
export function headGroups(part) {
  const groups = new Map();
  part.roles.forEach((row, layer) =>
    row.forEach((role, head) => {
      const name = groupName(role);
      if (!groups.has(name)) groups.set(name, []);
      const described = part.described_roles ? part.described_roles[layer][head] : "";
      groups.get(name).push({ layer, head, strength: strengthOf(described) });
    }),
  );
  return [...groups]
    .map(([role, heads]) => ({
      role,
      term: termOf(role),
      heads: heads.sort((one, other) => other.strength - one.strength),
    }))
    .sort((one, other) => rankOf(one.role) - rankOf(other.role));
}

function groupName(role) {
  if (!role) return "not named";
  return /^rests on '/.test(role) || /^rests on "/.test(role) ? ONE_TOKEN : role;
}

export function termOf(role) {
  const term = TERMS.find(([pattern]) => pattern.test(role));
  return term ? term[1] : "";
}

function rankOf(role) {
  const rank = TERMS.findIndex(([pattern]) => pattern.test(role));
  if (rank < 0) return role === "not named" ? 2 * TERMS.length : TERMS.length - 4;
  return SPREAD.test(role) ? TERMS.length + rank : rank;
}

// The share that a role rests on, "…: 80 % (evenly 10 %)"; of a spread, the fewer nats the
// stronger.
function strengthOf(described) {
  const share = /: (\d+) %/.exec(described);
  if (share) return Number(share[1]) / 100;
  const nats = /: ([\d.]+) nats/.exec(described);
  return nats ? -Number(nats[1]) : 0;
}
