"""JAX: a call is its jaxpr, evaluated equation by equation; layers of Flax and Equinox."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from regard.checker.adapters import Layer
from regard.checker.graph import Node, Product, Trace, matrices_of, scale_factor
from regard.engine.tensors import to_float64

MAX_CONSTANT = 2**16
LOOPS = ("scan", "while", "cond")


def made_values(package: str, name: str) -> list[Any]:
    """What a constructor's parameter is given by Flax (``rngs``) or Equinox (``key``)."""
    import jax

    if package == "flax" and name == "rngs":
        from flax import nnx

        return [nnx.Rngs(0)]
    return [jax.random.PRNGKey(0)] if package == "equinox" and name == "key" else []


def as_layer(instance: Any) -> Layer | None:
    """A layer of Flax (linen or nnx) or Equinox; None for anything else."""
    bases = {f"{base.__module__}.{base.__name__}" for base in type(instance).__mro__}
    if "flax.linen.module.Module" in bases:
        return _linen_layer(instance)
    if any(base.startswith("flax.nnx") and base.endswith(".Module") for base in bases):
        return _nnx_layer(instance)
    if "equinox._module._module.Module" in bases or "equinox._module.Module" in bases:
        return _equinox_layer(instance)
    return None


def _layer(function: Callable[..., Any], called: Callable[..., Any], arrays: Any) -> Layer:
    return Layer(function, function, called, "jax", "float32", tuple(arrays), "float32")


def _linen_layer(module: Any) -> Layer:
    """A linen module with the parameters that its first call gives it."""
    import jax

    variables: dict[str, Any] = {}

    def function(*args: Any, **keywords: Any) -> Any:
        if not variables:
            made = module.init(jax.random.PRNGKey(0), *args, **keywords)
            variables.update(jax.tree_util.tree_map(_usable, made))
        return module.apply(variables, *args, **keywords)

    # Its width is that of its first input: any will do, or one that it was told.
    sizes = [n for n in vars(module).values() if isinstance(n, int) and n > 3]
    return _layer(function, module.__call__, [np.zeros((1, n)) for n in sizes or [12]])


def _nnx_layer(module: Any) -> Layer:
    import jax
    from flax import nnx

    with suppress(Exception):  # a module without dropout and caches has no such attributes
        module.eval()
        module.set_attributes(decode=False, deterministic=True, raise_if_not_found=False)
    state = nnx.state(module, nnx.Param)
    nnx.update(module, jax.tree_util.tree_map(_usable, state))
    return _layer(module, module.__call__, jax.tree_util.tree_leaves(nnx.state(module, nnx.Param)))


def _equinox_layer(module: Any) -> Layer:
    import equinox
    import jax

    module = equinox.nn.inference_mode(module)
    arrays, rest = equinox.partition(module, equinox.is_inexact_array)
    module = equinox.combine(jax.tree_util.tree_map(_usable, arrays), rest)
    leaves = jax.tree_util.tree_leaves(equinox.filter(module, equinox.is_inexact_array))
    return _layer(module, module.__call__, leaves)


def _usable(array: Any) -> Any:
    """An array of parameters; one that is zero, constant or not finite is drawn anew."""
    import jax.numpy as jnp

    numbers = np.asarray(array, np.float64)
    fine = numbers.std() > 1e-6 or (numbers.size == 1 and numbers.any())
    if fine and np.isfinite(numbers).all():
        return array
    around = 1.0 if numbers.size and (numbers == 1).all() else 0.0
    spread = 0.2 if numbers.ndim <= 1 else numbers.shape[-1] ** -0.5
    drawn = np.random.default_rng(7).standard_normal(numbers.shape)
    return jnp.asarray(around + spread * drawn, array.dtype)


def trace(function: Callable[..., Any], arrays: Sequence[Any]) -> Trace:
    """The trace of a call with JAX arrays."""
    import jax

    record = Trace()
    function(*arrays)  # layers get their parameters in a first call, which is not traced
    closed, shape = jax.make_jaxpr(function, return_shape=True)(*arrays)
    nodes = [Node(sources=frozenset([i])) for i in range(len(arrays))]
    outputs = list(_evaluate(closed.jaxpr, closed.consts, arrays, nodes, record))
    record.outputs = tuple(node for _, node in outputs)
    structure = jax.tree_util.tree_structure(shape)
    record.returned = jax.tree_util.tree_unflatten(structure, [array for array, _ in outputs])
    return record


def _evaluate(
    jaxpr: Any, consts: Any, arrays: Any, nodes: Any, record: Trace
) -> list[tuple[Any, Node]]:
    known: dict[Any, tuple[Any, Node]] = {}
    for var, array in zip(jaxpr.constvars, consts, strict=True):
        known[var] = (array, _constant(array))
    for var, array, node in zip(jaxpr.invars, arrays, nodes, strict=True):
        known[var] = (array, node)

    def read(var: Any) -> tuple[Any, Node]:
        return (var.val, _constant(var.val)) if hasattr(var, "val") else known[var]

    for equation in jaxpr.eqns:
        pairs = [read(var) for var in equation.invars]
        inner = next((equation.params[x] for x in ("jaxpr", "call_jaxpr", "fun_jaxpr")
                      if x in equation.params), None)  # fmt: skip
        if inner is not None and equation.primitive.name not in LOOPS:
            values, above = [a for a, _ in pairs], [n for _, n in pairs]
            body, consts = getattr(inner, "jaxpr", inner), getattr(inner, "consts", ())
            found = _evaluate(body, consts, values, above, record)
        else:
            found = _equation(equation, pairs, record)
        known |= dict(zip(equation.outvars, found, strict=True))
    return [read(var) for var in jaxpr.outvars]


def _constant(array: Any) -> Node:
    numbers = "key" not in str(getattr(array, "dtype", "")) and np.size(array) < MAX_CONSTANT
    return Node(constant=np.asarray(array, np.float64) if numbers else None)


def _equation(
    equation: Any, pairs: list[tuple[Any, Node]], record: Trace
) -> list[tuple[Any, Node]]:
    name, arrays, nodes = equation.primitive.name, [a for a, _ in pairs], tuple(n for _, n in pairs)
    result = equation.primitive.bind(*arrays, **equation.params)
    results = result if equation.primitive.multiple_results else [result]
    fields: dict[str, Any] = {}
    if name == "dot_general":
        pair = _operands(equation.params["dimension_numbers"], *map(to_float64, arrays))
        fields = (
            {} if pair is None else {"product": Product(pair[0], pair[1], (nodes[0], nodes[1]))}
        )
    elif name in ("mul", "div"):
        curved = all(x.sources for x in nodes)
        fields = {"factor": scale_factor(nodes, name == "div"), "curved": curved}
    elif name in ("rsqrt", "sqrt"):
        fields = {"curved": True}
    found = []
    for array in results:
        node = record.add(nodes, value=lambda x=array: to_float64(x), **fields)
        found.append((array, node if node.sources else _constant(array)))
    return found


def _operands(numbers: Any, left: Any, right: Any) -> Any:
    """The operands of a dot_general as (n, rows, d) and (n, d, columns)."""
    (one, two), (batch_one, batch_two) = numbers
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    first, second = ([next(letters) for _ in array.shape] for array in (left, right))
    for i, j in zip((*one, *batch_one), (*two, *batch_two), strict=True):
        second[j] = first[i]
    summed, out = [first[i] for i in one], [first[i] for i in batch_one]
    out += [x for x in dict.fromkeys(first + second) if x not in summed and x not in out]
    return matrices_of(f"{''.join(first)},{''.join(second)}->{''.join(out)}", left, right)
