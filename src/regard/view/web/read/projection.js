// Vectors in the plane in which they differ most: principal components, by the eigenvectors of the
// products between the centred vectors (as many as there are vectors, whatever their width).

const SWEEPS = 60; // of Jacobi's method, which needs about ten
const SMALLEST = 1e-14; // of all squares, beside the diagonal, when it is done

// -> { points: [[x, y]] of each vector, share: what part of the variance the plane holds }
export function principalPlane(vectors) {
  const size = vectors.length;
  const products = centredProducts(vectors);
  const { values, columns } = symmetricEigen(products, size);
  const order = [...values.keys()].sort((one, other) => values[other] - values[one]);
  const axes = order.slice(0, 2).map((at) => {
    const long = Math.sqrt(Math.max(0, values[at]));
    return Float64Array.from({ length: size }, (_, row) => long * columns[row * size + at]);
  });
  const total = values.reduce((sum, value) => sum + Math.max(0, value), 0);
  const held = order.slice(0, 2).reduce((sum, at) => sum + Math.max(0, values[at]), 0);
  const points = vectors.map((_, at) => [axes[0][at], axes[1] ? axes[1][at] : 0]);
  return { points, share: total > 0 ? held / total : 1 };
}

function centredProducts(vectors) {
  const [size, width] = [vectors.length, vectors[0].length];
  const mean = new Float64Array(width);
  for (const vector of vectors) vector.forEach((value, at) => (mean[at] += value / size));
  const centred = vectors.map((vector) =>
    Float64Array.from(vector, (value, at) => value - mean[at]),
  );
  const products = new Float64Array(size * size);
  centred.forEach((one, row) =>
    centred.forEach((other, column) => {
      products[row * size + column] = one.reduce((sum, value, at) => sum + value * other[at], 0);
    }),
  );
  return products;
}

// Jacobi's method: rotate every pair of axes until nothing is left beside the diagonal.
function symmetricEigen(matrix, size) {
  const values = Float64Array.from(matrix);
  const columns = Float64Array.from(matrix, (_, at) => (at % (size + 1) === 0 ? 1 : 0));
  const all = values.reduce((sum, value) => sum + value * value, 0);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    let beside = 0;
    for (let p = 0; p < size; p++)
      for (let q = p + 1; q < size; q++) beside += values[p * size + q] ** 2;
    if (beside <= SMALLEST * all) break;
    for (let p = 0; p < size; p++)
      for (let q = p + 1; q < size; q++) rotate(values, columns, size, p, q);
  }
  return { values: Array.from({ length: size }, (_, at) => values[at * (size + 1)]), columns };
}

function rotate(values, columns, size, p, q) {
  const off = values[p * size + q];
  if (off === 0) return;
  const theta = (values[q * size + q] - values[p * size + p]) / (2 * off);
  const tangent = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const cosine = 1 / Math.sqrt(tangent * tangent + 1);
  const sine = tangent * cosine;
  const turn = (table, one, other) => {
    const [a, b] = [table[one], table[other]];
    table[one] = cosine * a - sine * b;
    table[other] = sine * a + cosine * b;
  };
  for (let at = 0; at < size; at++) turn(values, at * size + p, at * size + q);
  for (let at = 0; at < size; at++) turn(values, p * size + at, q * size + at);
  for (let at = 0; at < size; at++) turn(columns, at * size + p, at * size + q);
}
