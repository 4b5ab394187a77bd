"""Attention followed through the layers: rollout and flow (Abnar and Zuidema, 2020).

Both take the mean weights of each layer, the first layer first, with half of every vector coming
straight from below (the residual path).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from regard.typing import Array

ROLLOUT_EXPLANATION = (
    "The mean over heads, followed from the last layer down to the words, with half of every "
    "vector taken as coming straight from below (the residual path). It takes mixing for adding up "
    "shares, which the layers between do not."
)
FULL_EDGE = 1e-9  # an edge with less room than this carries no more flow


def rolled_out(means_lqk: Iterable[Array]) -> Array:
    """Mean weights of the layers, the first first, multiplied with half the identity added.

    >>> rolled_out([np.array([[1.0, 0.0], [1.0, 0.0]])]).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    mixed_qk: Array = np.eye(1)
    for number, mean_qk in enumerate(means_lqk):
        identity = np.eye(len(mean_qk))
        mixed_qk = (0.5 * mean_qk + 0.5 * identity) @ (mixed_qk if number else identity)
    return mixed_qk


def flow_row(means_lqk: Sequence[Array], query: int) -> Array:
    """The most that can flow from a token after the last layer to each one before the first, (k,).

    An edge carries no more than half its mean weight, and half more between a token and itself.

    >>> flow_row([np.array([[1.0, 0.0], [1.0, 0.0]])], 1).tolist()
    [0.5, 0.5]
    """
    keys = len(means_lqk[0])
    capacities_lqk = np.stack([0.5 * mean_qk + 0.5 * np.eye(keys) for mean_qk in means_lqk])
    return np.array([_max_flow(capacities_lqk, query, key) for key in range(keys)])


def _max_flow(capacities_lqk: Array, query: int, key: int) -> float:
    """Maximal flow by Dinic's algorithm on the graph of the layers.

    A node is (level, token); level 0 is below the first layer. Room downwards is what an edge can
    still carry, room upwards what already flows along it.
    """
    room_lqk = capacities_lqk.astype(np.float64)
    total = 0.0
    while True:
        distance_ln = _distances(room_lqk, capacities_lqk, query)
        if distance_ln[0, key] < 0:
            return total
        total += _blocking_flow(room_lqk, capacities_lqk, distance_ln, query, key)


def _distances(room_lqk: Array, capacities_lqk: Array, query: int) -> Array:
    """Steps from the source to each node along edges with room, (levels, tokens); -1 unreached."""
    layers, tokens = room_lqk.shape[:2]
    distance_ln = np.full((layers + 1, tokens), -1)
    distance_ln[layers, query] = 0
    step, grows = 0, True
    while grows:
        grows = False
        front_ln = distance_ln == step
        step += 1
        for level in range(layers + 1):
            reached_n = np.zeros(tokens, bool)
            if level < layers:  # from above
                reached_n |= (room_lqk[level][front_ln[level + 1]] > FULL_EDGE).any(axis=0)
            if level > 0:  # from below, against the flow
                flow_qk = capacities_lqk[level - 1] - room_lqk[level - 1]
                reached_n |= (flow_qk[:, front_ln[level - 1]] > FULL_EDGE).any(axis=1)
            new_n = reached_n & (distance_ln[level] < 0)
            distance_ln[level, new_n] = step
            grows = grows or bool(new_n.any())
    return distance_ln


def _blocking_flow(
    room_lqk: Array, capacities_lqk: Array, distance_ln: Array, query: int, key: int
) -> float:
    """Push along shortest paths until each has a full edge; ``room_lqk`` is changed."""
    layers = len(room_lqk)
    # Edges of a node that may still lead to the sink: one that is left out is not tried again.
    edges: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def listed(level: int, token: int) -> list[tuple[int, int]]:
        further, found = distance_ln[level, token] + 1, []
        if level < layers:
            flow_q = capacities_lqk[level][:, token] - room_lqk[level][:, token]
            above = (flow_q > FULL_EDGE) & (distance_ln[level + 1] == further)
            found += [(level + 1, other) for other in np.flatnonzero(above).tolist()]
        if level > 0:
            below = (room_lqk[level - 1, token] > FULL_EDGE) & (distance_ln[level - 1] == further)
            found += [(level - 1, other) for other in np.flatnonzero(below).tolist()]
        return found

    def push(node: tuple[int, int], most: float) -> float:
        level, token = node
        if level == 0 and token == key:
            return most
        if node not in edges:
            edges[node] = listed(level, token)
        own, pushed = edges[node], 0.0
        while own:
            at, other = own[-1]
            if at < level:
                room = room_lqk[at, token, other]
            else:
                room = capacities_lqk[level, other, token] - room_lqk[level, other, token]
            part = push((at, other), min(most - pushed, room)) if room > FULL_EDGE else 0.0
            if at < level:
                room_lqk[at, token, other] -= part
            else:
                room_lqk[level, other, token] += part
            pushed += part
            if most - pushed <= FULL_EDGE:
                return pushed
            own.pop()  # the edge is full, or nothing more gets through behind it
        return pushed

    return push((layers, query), np.inf)
