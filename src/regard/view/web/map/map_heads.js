// All heads of a file beside the map: a grid to choose from.

import { headsGrid } from "../read/heads_grid.js";

// -> { root, show(view), close() }
/** @param {State} state */
export function mapHeads(state) {
  const grid = headsGrid({
    choose(part, layer, head) {
      const named = reading.isNamed ? { part } : {};
      state.set({ ...named, layer, head, row: null }, true);
    },
    hover() {},
    isExplained: false,
    arrange: (order) => state.set({ order: order === "layer" ? null : order }),
  });
  let reading = { isNamed: false, parts: [] };
  let of = null;
  return {
    root: grid.root,
    repaint: () => of && grid.repaint(of),
    close: () => grid.close(),
    /** @param {MapView} view */
    async show(view) {
      const { map, layer, choice } = view;
      if (of !== map) {
        of = map;
        const { parts } = await map.heads();
        if (of !== map) return;
        const isNamed = map.about.layers.some((one) => one.name.includes(" layer "));
        reading = { isNamed, parts };
      }
      const heads = reading.parts.reduce((sum, part) => sum + part.layers * part.heads, 0);
      grid.root.hidden = heads < 2;
      if (grid.root.hidden) return;
      const [name] = layer.name.split(" layer ");
      const part = reading.parts.find((one) => one.name === name) || reading.parts[0];
      const first = map.about.layers.findIndex((one) => one.name.startsWith(`${part.name} layer `));
      const number = choice.layer - Math.max(0, first);
      const now = { part: part.name, show: "head", layer: number, head: choice.head };
      await grid.show(reading, map, now, state.get("order", "layer"));
    },
  };
}
