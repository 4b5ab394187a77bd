// Tokens beside the map: fetched in segments, and cached for the view.

export const SEGMENT = 512; // tokens

// The token at a position, where its segment has been fetched already.
/** @param {MapView} view */
export function nameAt(view, side, position) {
  const segment = view.texts.get(
    `${view.file} ${view.choice.layer} ${side} ${Math.floor(position / SEGMENT)}`,
  );
  return Array.isArray(segment) ? segment[position % SEGMENT] || "" : "";
}

// The segment around a position, fetched once.
/** @param {MapView} view */
export async function segmentAt(view, side, position) {
  if (!view.layer.text) return [];
  const [at, most] = [
    Math.floor(position / SEGMENT),
    side === "key" ? view.layer.keys : view.layer.queries,
  ];
  const key = `${view.file} ${view.choice.layer} ${side} ${at}`;
  if (!view.texts.has(key)) {
    view.texts.set(
      key,
      view.map
        .text(view.choice.layer, side, SEGMENT * at, Math.min(most, SEGMENT * (at + 1)))
        .then((tokens) => {
          view.texts.set(key, tokens);
          view.paint();
          return tokens;
        }),
    );
  }
  return view.texts.get(key);
}

// Names for the axes of a window that is small enough to show them.
/** @param {MapView} view */
export function prefetchNames(view) {
  const { rows, columns } = view.window;
  if (rows[1] - rows[0] > 120) return;
  for (const [side, range] of Object.entries({ query: rows, key: columns })) {
    segmentAt(view, side, range[0]);
    segmentAt(view, side, Math.max(0, range[1] - 1));
  }
}
