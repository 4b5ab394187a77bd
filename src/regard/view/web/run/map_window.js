// Which part of a map is in view: moved, enlarged, clipped to the map, and written into the
// address.

const MIN_WINDOW_CELLS = 8; // tokens, or cells, on a side of the smallest window

/** @param {MapSize} mapSize */
export function fullWindow({ queries, keys }) {
  return { rows: [0, queries], columns: [0, keys] };
}

// Enlarge (factor < 1) or shrink about a point given as shares of the window. What lies under the
// point stays there, but where the map ends; at the finest zoom a window stays as it is.
/** @param {MapWindow} view @param {number} factor @param {number[]} about @param {MapSize} size */
export function zoomed(view, factor, [down, across], { queries, keys, least }) {
  return {
    rows: scaled(view.rows, factor, down, queries, least[0]),
    columns: scaled(view.columns, factor, across, keys, least[1]),
  };
}

/** @param {MapWindow} view @param {number[]} shares @param {MapSize} size */
export function moved(view, [down, across], { queries, keys }) {
  /** @param {Span} range @param {number} share @param {number} most */
  const shifted = ([from, to], share, most) => placed(from + share * (to - from), to - from, most);
  return {
    rows: shifted(view.rows, down, queries),
    columns: shifted(view.columns, across, keys),
  };
}

/**
 * @param {Span} range
 * @param {number} factor
 * @param {number} share of the range that stays
 * @param {number} size
 * @param {number} cell the positions of one cell: fewer than eight cells are not shown
 */
function scaled([from, to], factor, share, size, cell) {
  const fewest = Math.min(size, MIN_WINDOW_CELLS * cell);
  const length = Math.min(size, Math.max(fewest, (to - from) * factor));
  return placed(from + share * (to - from - length), length, size);
}

/** @param {number} from @param {number} length @param {number} size */
function placed(from, length, size) {
  const start = Math.min(size - length, Math.max(0, from));
  return [start, start + length];
}

// Whole positions that cover the window.
/** @param {Span} range @param {number} size */
export function outward([from, to], size) {
  return [Math.max(0, Math.floor(from + 1e-6)), Math.min(size, Math.ceil(to - 1e-6))];
}

/** @param {MapWindow} view @param {MapSize} size */
export function writeWindow(view, size) {
  /** @param {Span} range @param {number} most */
  const write = (range, most) => {
    const [from, to] = outward(range, most);
    return from === 0 && to === most ? null : `${from}-${to}`;
  };
  return { rows: write(view.rows, size.queries), columns: write(view.columns, size.keys) };
}

/** @param {State} state @param {MapSize} size */
export function readWindow(state, size) {
  /** @param {string} name @param {number} most */
  const read = (name, most) => {
    const [from, to] = state.get(name).split("-").map(Number);
    return Number.isInteger(from) && Number.isInteger(to) && from >= 0 && to > from && to <= most
      ? [from, to]
      : [0, most];
  };
  return { rows: read("rows", size.queries), columns: read("columns", size.keys) };
}

// Where cell `at` of `count` begins. All are of one size but the last, which may stop short of the
// span.
/** @param {Span} range @param {number} span @param {number} count @param {number} at */
export function cellStart([from, to], span, count, at) {
  return Math.min(to, from + Math.floor((at * span) / count));
}

// Round positions for an axis: at most this many of them.
/** @param {Span} range @param {number} most */
export function axisTicks([from, to], most) {
  const rough = Math.max(1, (to - from) / most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5].map((digit) => digit * power).find((one) => one >= rough) ?? 10 * power;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at < to; at += step) ticks.push(at);
  return ticks;
}
