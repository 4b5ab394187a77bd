// Words for heads, numbers, distances and positions; those of measures come with the report.

export const ENTROPY = "entropy";

export function headName(head, parts) {
  const part = parts && parts.length > 1 ? `${head.part}, ` : "";
  return `${part}layer ${head.layer}, head ${head.head}`;
}

// Shares as percentages, entropy in nats.
export function shown(measure, value) {
  if (value === undefined || value === null) return "–";
  if (measure === ENTROPY) return value.toFixed(2);
  return value > 0 && value < 0.005 ? "<1%" : `${Math.round(100 * value)}%`;
}

export function bandName(near, far) {
  if (near === 0) return "itself";
  const [low, high] = [Math.abs(near), Math.abs(far)];
  const side = near > 0 ? "before" : "after";
  return low === high ? `${low} ${side}` : `${low} to ${high} ${side}`;
}

export function positionRange(from, to) {
  return from === to ? `${from + 1}` : `${from + 1} to ${to + 1}`;
}
