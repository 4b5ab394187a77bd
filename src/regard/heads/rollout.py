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
    dead: set[tuple[int, int]] = set()  # nodes from which the sink cannot be reached any more

    def neighbours(level: int, token: int) -> list[tuple[int, int, float]]:
        found = []
        further = distance_ln[level, token] + 1
        if level > 0:
            rooms_k = room_lqk[level - 1, token]
            for other in np.flatnonzero(
                (rooms_k > FULL_EDGE) & (distance_ln[level - 1] == further)
            ):
                found.append((level - 1, int(other), float(rooms_k[other])))
        if level < layers:
            flow_q = capacities_lqk[level][:, token] - room_lqk[level][:, token]
            for other in np.flatnonzero((flow_q > FULL_EDGE) & (distance_ln[level + 1] == further)):
                found.append((level + 1, int(other), float(flow_q[other])))
        return found

    def push(level: int, token: int, most: float) -> float:
        if (level, token) == (0, key):
            return most
        pushed = 0.0
        for at, other, room in neighbours(level, token):
            if (at, other) in dead:
                continue
            part = push(at, other, min(most - pushed, room))
            if at < level:
                room_lqk[at, token, other] -= part
            else:
                room_lqk[level, other, token] += part
            pushed += part
            if most - pushed <= FULL_EDGE:
                return pushed
        dead.add((level, token))
        return pushed

    return push(layers, query, np.inf)
