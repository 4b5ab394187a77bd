"""Faults of structure: what inputs and parameters act on, as the stages of ``structure`` find it.

They have no stages of their own: nobody can tell them from the answers of plain attention.
"""

from __future__ import annotations

from regard.checker.mistakes.entry import Mistake

# The step and the name of each; what it does; the fix.
TABLE = """
result: a parameter is never used
    A change of it changes nothing: it is never trained, or what it makes is thrown away.
    > use its result, or remove it
result: a part of a parameter is never used
    Some of its rows or columns change nothing: a slice starts or ends at the wrong place.
    > q, k, v = qkv.split(width, axis=-1)
result: a result is never used
    It is computed, and nothing reads it: what it was made for does not happen.
    > scores = scores + bias
result: an input is never used
    A change of it changes nothing: cross-attention has become self-attention.
    > key, value = w_k(context), w_v(context)
result: sentences mixed
    What comes back for one sentence depends on another one in its batch.
    > x.reshape(batch, tokens, -1)  # the batch stays the first axis
heads: heads and words mixed
    A head gets pieces of several words: axes were reshaped that had to be swapped.
    > x.reshape(b, t, heads, d).swapaxes(1, 2)
scores: words mixed before the attention
    A query, key or value is made of several words.
    > each row of query, key and value comes from one word
scores: queries in another order than the words
    The query of a word was made of another word.
    > query = w_q(x)
scores: inputs exchanged
    An argument serves as something else than its name says.
    > attention(query, key, value)
scores: keys and values of different words
    The weight of one word gets the value of another.
    > key, value = w_k(context), w_v(context)
scores: keys and values from different sources
    Keys and values do not come from the same vectors.
    > key, value = w_k(context), w_v(context)
scores: queries and keys from different sources
    In self-attention query and key come from the same vectors.
    > h = norm(x)
    > query, key, value = w_q(h), w_k(h), w_v(h)
scores: the context asks
    Queries come from the context, keys and values from the sentence: the answer belongs to
    the wrong words.
    > query, key, value = w_q(x), w_k(context), w_v(context)
scores: roles swapped
    A layer that is called after one of query, key and value makes another.
    > q, k, v = qkv.chunk(3, axis=-1)
scores: one layer for two roles
    The same layer makes two of query, key and value.
    > query, key, value = w_q(x), w_k(x), w_v(x)
heads: heads cut differently
    Query, key and value are divided into heads in different ways, so that a head compares
    other features.
    > q, k, v = (x.reshape(b, t, heads, d).swapaxes(1, 2) for x in (q, k, v))
heads: heads in another order
    The queries of a head meet the keys of another.
    > q, k, v = (x.reshape(b, t, heads, d).swapaxes(1, 2) for x in (q, k, v))
heads: heads overlap
    Features belong to more than one head.
    > x.reshape(b, t, heads, d)  # heads * d is the width
heads: a head gets no rows
    No feature belongs to this head.
    > x.reshape(b, t, heads, d)  # heads * d is the width
heads: heads of unequal width
    Some heads have more features than others.
    > x.reshape(b, t, heads, d)  # heads * d is the width
heads: a head never reaches the output
    What a head computes is thrown away.
    > joined = heads.swapaxes(1, 2).reshape(b, t, -1)
heads: heads joined in another order than cut
    The output layer gets the features of the heads in another order than the one in which
    they were cut.
    > joined = heads.swapaxes(1, 2).reshape(b, t, -1)
scores: query or key alone normalised
    Only one of query and key is normalised.
    > query, key = norm_q(query), norm_k(key)
scores: a weight is used transposed
    A layer is applied as the transpose of what it is.
    > key = w_k(x)
scores: values depend on their place
    Values are turned by position; only query and key are.
    > query, key = rotate(query), rotate(key)
scores: rotary positions on one of query and key
    Only one of query and key is turned, so that scores do not depend on the distance alone.
    > query, key = rotate(query), rotate(key)
scores: rotary positions of query and key do not match
    Query and key are turned in different ways, so that scores do not depend on the distance
    alone.
    > query, key = rotate(query, cos, sin), rotate(key, cos, sin)
scores: rotated by something that is not the place
    Query or key is turned by the head or by something else, the same for every word.
    > angles have the axes (token, feature)
scores: positions added to one of query and key
    Positions are added to one of query and key alone.
    > query, key = w_q(x + positions), w_k(x + positions)
scores: a scale that contradicts its docstring
    The docstring says how scores are scaled, and the code does otherwise.
    > scaled = scores / np.sqrt(d)
scores: a scale that is never used
    The layer has a number for it, and the scores are not multiplied with it.
    > scaled = scores * self.scale
softmax: weights changed after the softmax
    What meets the values is not what the softmax gave: a mask or a factor comes too late.
    > scores = np.where(mask, scores, -np.inf)  # before the softmax
softmax: weights do not sum to 1
    The weights of a query do not sum to 1, and no learned sink explains it.
    > weights = e / e.sum(axis=-1, keepdims=True)
mask: window of another size
    A word sees more or fewer words than the window that is asked for.
    > distance = np.arange(q)[:, None] - np.arange(k)
    > visible = (distance >= 0) & (distance < window)
heads: heads all alike
    All heads have the same queries, keys and values: they share matrices, and only one is learned.
    > heads = [Head(width) for _ in range(number)]  # not [Head(width)] * number
heads: another number of heads
    The layer says how many heads it has, and its words are cut into more or fewer.
    > query = query.reshape(b, t, heads, width // heads)
scores: normalised over the heads
    Query or key is normalised along the axis of heads, not along that of its features.
    > query = query / np.linalg.norm(query, axis=-1, keepdims=True)
scores: sine and cosine of different angles
    A position is told by sines and cosines of the same angles, and these differ.
    > positions = np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)
scores: relative positions that change with the length
    What a distance of two words adds to their score depends on how many words there are.
    > distance = np.arange(q)[:, None] - np.arange(k)
    > scores = scores + table[distance + longest]
scores: positions start again after the cache
    New words are turned as if they were the first, and not as those after the cached ones.
    > query, key = rotate(query, start), rotate(key, start)  # start: the number of cached words
scores: pairs of words exchanged
    What is added to the score of a query and a key is read from the place of key and query.
    > scores = scores + bias  # (query, key)
result: a gate of other words
    The gate of a word depends on another word.
    > output = gate(x) * output
"""


def _entries() -> dict[str, tuple[str, Mistake]]:
    """The step and the entry of each fault by its name."""
    made: dict[str, tuple[str, list[str], list[str]]] = {}
    name = ""
    for line in TABLE.strip().splitlines():
        text = line.strip()
        if line == text:
            step, _, name = line.partition(": ")
            made[name] = step, [], []
        elif text.startswith("> "):
            made[name][2].append(text[2:])
        else:
            made[name][1].append(text)
    return {
        name: (step, Mistake(name, " ".join(about), "\n".join(fix), unnamed=True))
        for name, (step, about, fix) in made.items()
    }


ENTRIES = _entries()
STRUCTURAL = tuple(entry for _, entry in ENTRIES.values())
STEPS = {name: step for name, (step, _) in ENTRIES.items()}
