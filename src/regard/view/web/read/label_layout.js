// Labels beside the dots of a scatter plot, none over another.

const LETTER_WIDTH = 0.56; // of the type size: the mean width of a letter
const LINE_HEIGHT = 1.15; // of the type size: the height of a line
const LABEL_GAP = 8; // pixels from the middle of a dot to its label

// points: [{ x, y, text }], the most important first; -> for each { x, y, anchor } of its text, or
// null where no side of the dot is free.
export function labelLayout(points, { width, height, size }) {
  const taken = points.map(({ x, y }) => boxAround(x, y, LABEL_GAP - 2, LABEL_GAP - 2));
  return points.map((point) => {
    const wide = LETTER_WIDTH * size * point.text.length;
    for (const label of sidesOf(point, size)) {
      const box = labelBox(label, wide, size);
      const isInside = box.left >= 0 && box.top >= 0 && box.right <= width && box.bottom <= height;
      if (!isInside || taken.some((other) => overlaps(box, other))) continue;
      taken.push(box);
      return label;
    }
    return null;
  });
}

// Right, left, above, below.
function sidesOf({ x, y }, size) {
  return [
    { x: x + LABEL_GAP, y: y + 0.3 * size, anchor: "start" },
    { x: x - LABEL_GAP, y: y + 0.3 * size, anchor: "end" },
    { x, y: y - LABEL_GAP, anchor: "middle" },
    { x, y: y + LABEL_GAP + 0.75 * size, anchor: "middle" },
  ];
}

function labelBox({ x, y, anchor }, wide, size) {
  const left = { start: x, end: x - wide, middle: x - wide / 2 }[anchor];
  return {
    left,
    right: left + wide,
    top: y - 0.85 * size,
    bottom: y + (LINE_HEIGHT - 0.85) * size,
  };
}

function boxAround(x, y, half, tall) {
  return { left: x - half, right: x + half, top: y - tall, bottom: y + tall };
}

function overlaps(one, other) {
  return (
    one.left < other.right &&
    other.left < one.right &&
    one.top < other.bottom &&
    other.top < one.bottom
  );
}
