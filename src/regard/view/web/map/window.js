// Which part of a map is in view: moved, enlarged, clipped to the map, and written into the
// address.

export const MIN_WINDOW_CELLS = 8; // tokens, or cells, on a side of the smallest window

/** @param {MapSize} mapSize */
export function fullWindow({ queries, keys }) {
  return { rows: [0, queries], columns: [0, keys] };
}

// Enlarge (factor < 1) or shrink about a point given as shares of the window.
/**
 * @param {MapWindow} view
 * @param {number} factor
 * @param {number[]} about
 * @param {{ queries: number, keys: number, least?: number[] }} size
 */
export function zoomed(view, factor, [down, across], size) {
  const { least = [MIN_WINDOW_CELLS, MIN_WINDOW_CELLS] } = size;
  // At the finest zoom a window stays as it is: made smaller and widened again it would wander.
  /** @param {number[]} range @param {number} fewest */
  const bounded = ([from, to], fewest) => Math.max(factor, Math.min(1, fewest / (to - from)));
  return fitted(
    {
      rows: scaled(view.rows, bounded(view.rows, least[0]), down),
      columns: scaled(view.columns, bounded(view.columns, least[1]), across),
    },
    size,
  );
}

/**
 * @param {MapWindow} view
 * @param {number[]} shares
 * @param {{ queries: number, keys: number, least?: number[] }} size
 */
export function moved(view, [down, across], size) {
  /** @param {number[]} range @param {number} share */
  const shifted = ([from, to], share) => [from + share * (to - from), to + share * (to - from)];
  return fitted({ rows: shifted(view.rows, down), columns: shifted(view.columns, across) }, size);
}

/** @param {number[]} range @param {number} factor @param {number} share */
function scaled([from, to], factor, share) {
  const fixed = from + share * (to - from);
  return [fixed - (fixed - from) * factor, fixed + (to - fixed) * factor];
}

// least: how few queries and keys a window may have; where cells are coarse, eight of them.
/** @param {MapWindow} mapWindow @param {MapSize} mapSize */
function fitted(
  { rows, columns },
  { queries, keys, least = [MIN_WINDOW_CELLS, MIN_WINDOW_CELLS] },
) {
  return { rows: within(rows, queries, least[0]), columns: within(columns, keys, least[1]) };
}

/** @param {number[]} range @param {number} size @param {number} least */
function within([from, to], size, least) {
  const length = Math.min(size, Math.max(Math.min(least, size), to - from));
  const middle = (from + to) / 2;
  const start = Math.min(size - length, Math.max(0, middle - length / 2));
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
