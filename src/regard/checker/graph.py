"""Traces: what a function computes from its arrays, recorded operation by operation.

The adapter of each array library records in its own way; all give the same graph: a ``Node`` for
every result, with the inputs that it depends on, and for every matrix product its two operands.
Nothing in it is told by names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from regard.typing import Array


@dataclass(frozen=True, eq=False)
class Product:
    """A matrix product: left (n, rows, d) by right (n, d, columns), and the nodes of both."""

    left: Array
    right: Array
    nodes: tuple[Node, Node]
    bias: Array | None = None


@dataclass(frozen=True, eq=False)
class Fused:
    """An attention in one operation: its arrays (b, h, t, d), its scale, the node of its mask."""

    query: Array
    key: Array
    value: Array
    scale: float | None = None
    bias: Node | None = None


@dataclass(frozen=True, eq=False)
class Node:
    """One recorded result: its inputs, and the arguments of the call that it depends on.

    ``depth``: how many products of two results lie on the way to it. ``factor``: the number that
    the operation multiplies its input with. ``curved``: it is no linear function of its inputs.
    ``learned``: it depends on no argument, but on a parameter that training changes.
    """

    inputs: tuple[Node, ...] = ()
    sources: frozenset[int] = frozenset()
    depth: int = 0
    factor: float = 1.0
    curved: bool = False
    product: Product | None = None
    learned: bool = False
    fused: Fused | None = None
    constant: Array | None = None  # the numbers of a result that depends on no argument
    value: Callable[[], Array] | None = None

    @property
    def is_projection(self) -> bool:
        """Whether this is a product of a result with constants: a linear layer."""
        return self.product is not None and not all(x.sources for x in self.product.nodes)

    @property
    def mixes(self) -> bool:
        """Whether this is a product of two results, such as query and key."""
        both = self.product is not None and all(x.sources for x in self.product.nodes)
        return both or self.fused is not None


@dataclass
class Trace:
    """The nodes of one call in order, and what came back."""

    nodes: list[Node] = field(default_factory=list)
    returned: Any = None
    outputs: tuple[Node, ...] = ()

    def add(self, inputs: Iterable[Node], **fields: Any) -> Node:
        inputs = tuple(inputs)
        sources = frozenset().union(*(node.sources for node in inputs))
        node = Node(inputs, sources, max((x.depth for x in inputs), default=0), **fields)
        if node.mixes:
            node = replace(node, depth=node.depth + 1)
        self.nodes.append(node)
        return node


def scalar_of(node: Node) -> float | None:
    """The number that a constant stands for; None for anything else."""
    if node.constant is None or node.constant.size == 0:
        return None
    first = float(np.ravel(node.constant)[0])
    return first if node.constant.size == 1 or (node.constant == first).all() else None


def scale_factor(inputs: tuple[Node, ...], divides: bool) -> float:
    """The factor of a multiplication or division by one number; 1 where there is none."""
    dependent = [node for node in inputs if node.sources]
    numbers = [scalar_of(node) for node in inputs if not node.sources]
    if len(dependent) != 1 or len(inputs) != 2 or numbers[0] is None or not numbers[0]:
        return 1.0
    return 1 / numbers[0] if divides and inputs[0].sources else numbers[0]


def matrices_of(subscripts: str, left: Array, right: Array) -> tuple[Array, Array] | None:
    """The operands of a product in einsum notation as (n, rows, d) and (n, d, columns).

    >>> left, right = matrices_of("bthd,bshd->bhts", np.ones((2, 5, 3, 4)), np.ones((2, 7, 3, 4)))
    >>> left.shape, right.shape
    ((6, 5, 4), (6, 4, 7))
    """
    terms, _, out = subscripts.replace(" ", "").partition("->")
    one, two = terms.split(",")
    if "." in subscripts or len(set(one)) < len(one) or len(set(two)) < len(two):
        return None
    batch = [x for x in out if x in one and x in two]
    summed = [x for x in one if x in two and x not in out]
    rows = [x for x in one if x not in two and x in out]
    columns = [x for x in two if x not in one and x in out]
    if len(batch) + len(summed) + len(rows) != len(one) or not summed:
        return None
    if len(batch) + len(summed) + len(columns) != len(two):
        return None
    size = dict(zip(one + two, left.shape + right.shape, strict=True))

    def arranged(array: Array, letters: str, *groups: list[str]) -> Array:
        order = [letters.index(x) for group in groups for x in group]
        shape = [math.prod(size[x] for x in group) for group in groups]
        return array.transpose(order).reshape(shape)

    return arranged(left, one, batch, rows, summed), arranged(right, two, batch, summed, columns)


def stacked(left: Array, right: Array) -> tuple[Array, Array]:
    """The operands of a matmul with its leading axes made one."""
    left = left[None] if left.ndim == 1 else left
    right = right[:, None] if right.ndim == 1 else right
    lead = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left = np.broadcast_to(left, (*lead, *left.shape[-2:]))
    right = np.broadcast_to(right, (*lead, *right.shape[-2:]))
    return left.reshape(-1, *left.shape[-2:]), right.reshape(-1, *right.shape[-2:])
