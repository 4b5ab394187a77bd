// Attention followed through the layers (Abnar and Zuidema 2020): rolled out, and as a flow.
//
// An edge leads from a token after a layer to a token before it; it is as wide as half their mean
// weight over the heads, and half a token's vector comes straight from below (the residual path).
// steps: Float64Array (size * size) for each layer, the first layer first; rows sum to 1.

const EMPTY = 1e-9; // what is left of an edge that is full

export function residualStep(weights, size) {
  const step = Float64Array.from(weights, (weight) => weight / 2);
  for (let token = 0; token < size; token++) step[token * size + token] += 0.5;
  return step;
}

// What reaches each level from one token after the last layer: masses[0] is before the first layer.
export function massesFrom(steps, size, token) {
  const masses = Array.from({ length: steps.length + 1 }, () => new Float64Array(size));
  masses[steps.length][token] = 1;
  for (let layer = steps.length - 1; layer >= 0; layer--) {
    for (let q = 0; q < size; q++) {
      const mass = masses[layer + 1][q];
      if (!mass) continue;
      for (let k = 0; k < size; k++) masses[layer][k] += mass * steps[layer][q * size + k];
    }
  }
  return masses;
}

export function rolledOut(steps, size) {
  const made = new Float32Array(size * size);
  for (let token = 0; token < size; token++)
    made.set(massesFrom(steps, size, token)[0], token * size);
  return made;
}

// The most that can flow from a token after the last layer to one before the first, where an edge
// carries no more than its width: Dinic's algorithm on the graph of the layers.
export function maxFlow(steps, size, from, to) {
  const layers = steps.length;
  const graph = { size, layers, left: steps.map((step) => Float64Array.from(step)), steps };
  const [source, sink] = [layers * size + from, to];
  let total = 0;
  for (;;) {
    const level = levelsOf(graph, source);
    if (level[sink] < 0) return total;
    const next = new Int32Array(level.length);
    for (;;) {
      const pushed = push(graph, { level, next, sink }, source, Infinity);
      if (pushed <= EMPTY) break;
      total += pushed;
    }
  }
}

// Neighbours of a node: those of the level below, then those of the level above.
function neighbour({ size }, node, at) {
  const level = Math.floor(node / size);
  return at < size ? (level - 1) * size + at : (level + 1) * size + (at - size);
}

// What an edge can still take; back along an edge, what flows there.
function roomOf({ size, layers, left, steps }, node, at) {
  const [level, token] = [Math.floor(node / size), node % size];
  if (at < size) return level > 0 ? left[level - 1][token * size + at] : 0;
  if (level === layers) return 0;
  const edge = (at - size) * size + token;
  return steps[level][edge] - left[level][edge];
}

function take({ size, left }, node, at, amount) {
  const [level, token] = [Math.floor(node / size), node % size];
  if (at < size) left[level - 1][token * size + at] -= amount;
  else left[level][(at - size) * size + token] += amount;
}

function levelsOf(graph, source) {
  const level = new Int32Array((graph.layers + 1) * graph.size).fill(-1);
  level[source] = 0;
  const queue = [source];
  for (let head = 0; head < queue.length; head++) {
    const node = queue[head];
    for (let at = 0; at < 2 * graph.size; at++) {
      if (roomOf(graph, node, at) <= EMPTY) continue;
      const other = neighbour(graph, node, at);
      if (level[other] >= 0) continue;
      level[other] = level[node] + 1;
      queue.push(other);
    }
  }
  return level;
}

function push(graph, search, node, most) {
  const { level, next, sink } = search;
  if (node === sink) return most;
  for (; next[node] < 2 * graph.size; next[node]++) {
    const at = next[node];
    const room = roomOf(graph, node, at);
    if (room <= EMPTY) continue;
    const other = neighbour(graph, node, at);
    if (level[other] !== level[node] + 1) continue;
    const pushed = push(graph, search, other, Math.min(most, room));
    if (pushed <= EMPTY) continue;
    take(graph, node, at, pushed);
    return pushed;
  }
  return 0;
}
