"""Sound kernels of several makes, and faults planted in them, for the tests of the judge."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from regard.judging.asked import Asked
from regard.judging.hypotheses import quantise

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def made(dtype, kind="sink", *, heads=6, groups=2, queries=200, keys=None, width=64, seed=0):
    """Query, key and value of one sentence, as wild as those of real models if ``kind`` says so."""
    random = torch.Generator().manual_seed(seed)
    keys = keys or queries

    def normal(*shape):
        return torch.randn(1, *shape, generator=random)

    query, key = 2 * normal(heads, queries, width), normal(groups, keys, width)
    value = normal(groups, keys, width)
    if kind == "sink":  # most queries look at key 0, which carries little
        query[..., 0] += 3
        key[:, :, 0] *= 4
        key[:, :, 0, 0] += 4
        value[:, :, 0] *= 0.01
    if kind == "outlier":  # a feature of the keys, a feature and a token of the values
        key[..., 3] *= 10
        value[..., 1] *= 30
        value[:, :, min(5, keys - 1)] *= 30
    if kind == "even":  # all weights are the same, and all values far from 0
        query *= 0
        value += 5
    return query.to(dtype), key.to(dtype), value.to(dtype)


def repeated(query, *tensors):
    return [x.repeat_interleave(query.shape[1] // x.shape[1], 1) for x in tensors]


def causal(query, key):
    """True where a query may look: the last query sees every key."""
    q, k = query.shape[2], key.shape[2]
    return torch.ones(q, k, dtype=torch.bool).tril(k - q)


def torch_kernel(backend):
    def run(query, key, value, scale, mask):
        key, value = repeated(query, key, value)
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)

    return run


def eager(query, key, value, scale, mask):
    """As models write it out: scores and weights are in the dtype of the query."""
    key, value = repeated(query, key, value)
    scores = (query @ key.mT) * scale
    scores = scores.masked_fill(~mask, torch.finfo(query.dtype).min)
    weights = torch.softmax(scores, -1, dtype=torch.float32).to(query.dtype)
    return weights @ value


def tiled(query, key, value, scale, mask, *, tile=128, backwards=False, sums=torch.float32,
          cast=None):  # fmt: skip
    """A running maximum and sum over tiles of keys, weights cast before they meet the values."""
    key, value = (x.float() for x in repeated(query, key, value))
    top = torch.full((*query.shape[:3], 1), -math.inf)
    total, output = (
        torch.zeros_like(top),
        torch.zeros(*query.shape[:3], value.shape[-1], dtype=sums),
    )
    starts = range(0, key.shape[2], tile)
    for start in reversed(starts) if backwards else starts:
        part = slice(start, start + tile)
        scores = (query.float() @ key[:, :, part].mT) * scale
        scores = scores.masked_fill(~mask[..., part], -math.inf)
        new = top.maximum(scores.amax(-1, keepdim=True))
        safe = new.masked_fill(new == -math.inf, 0.0)
        exp, fade = (scores - safe).exp(), (top - safe).exp()
        total = total * fade + exp.sum(-1, keepdim=True)
        carried = exp.to(cast or query.dtype).float() @ value[:, :, part]
        output = output * fade.to(sums) + carried.to(sums)
        top = new
    return (output.float() / total).to(query.dtype)


def split(query, key, value, scale, mask, parts=4, weighed=True):
    """Parts of the keys, each with its own sum, joined by their log-sum-exp."""
    key, value = (x.float() for x in repeated(query, key, value))
    outputs, totals = [], []
    for keys in torch.arange(key.shape[2]).chunk(parts):
        scores = (query.float() @ key[:, :, keys].mT) * scale
        scores = scores.masked_fill(~mask[..., keys], -math.inf)
        total = scores.logsumexp(-1, keepdim=True)
        weights = (scores - total.masked_fill(total == -math.inf, 0.0)).exp()
        outputs.append(weights.to(query.dtype).float() @ value[:, :, keys])
        totals.append(total)
    totals = torch.cat(totals, -1)
    each = totals.softmax(-1) if weighed else F.normalize((totals > -math.inf).float(), 1, -1)
    return sum(outputs[i] * each[..., i : i + 1] for i in range(len(outputs))).to(query.dtype)


def exact(query, key, value, scale, mask):
    """float64, rounded once."""
    key, value = (x.double() for x in repeated(query, key, value))
    scores = (query.double() @ key.mT * scale).masked_fill(~mask, -math.inf)
    return (scores.softmax(-1) @ value).to(query.dtype)


SOUND = {
    "flash": torch_kernel(SDPBackend.FLASH_ATTENTION),
    "math": torch_kernel(SDPBackend.MATH),
    "eager": eager,
    "tiles": tiled,
    "tiles backwards": partial(tiled, tile=64, backwards=True),
    "split": split,
    "exact": exact,
}


def asked(query, key, value, output, scale=None, kernel="", **options):
    """The call as its caller meant it: causal, the usual scale."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    options = {"position": key.shape[2] - query.shape[2], "ahead": 0} | options
    return Asked(query, key, value, output, scale, written=kernel == "eager", **options)


def soft(query, key, value, scale, mask, *, cap=None, sink=None, bias=None, kept=None):
    """The definition in float32, with what a kernel may add to it by mistake."""
    key, value = (x.float() for x in repeated(query, key, value))
    scores = (query.float() @ key.mT) * scale
    scores = scores if cap is None else cap * (scores / cap).tanh()
    scores = scores if bias is None else scores + bias
    scores = scores.masked_fill(~mask, -math.inf)
    top = scores.amax(-1, keepdim=True)
    exp = (scores - top).exp()
    total = exp.sum(-1, keepdim=True)
    total = total if sink is None else total + (sink - top).exp()
    total = total if kept is None else (exp * kept).sum(-1, keepdim=True)
    return ((exp.to(query.dtype).float() @ value) / total).to(query.dtype)


def _replaced(x, page, source, size):
    x = x.clone()
    x[:, :, page * size : (page + 1) * size] = x[:, :, source * size : (source + 1) * size].clone()
    return x


def _held(x, bits, axes):
    return quantise(x.float(), bits, axes).to(x.dtype)


def _float8(x, dtype):
    scale = x.float().abs().amax() / torch.finfo(dtype).max
    return ((x.float() / scale).to(dtype).float() * scale).to(x.dtype)


def faults(run, query, key, value):
    """Each fault: the output of a kernel that has it, and words of the name it must get."""
    q, k, scale = query.shape[2], key.shape[2], query.shape[-1] ** -0.5
    mask, keys = causal(query, key), torch.arange(k)
    places = torch.arange(q)[:, None] + k - q
    away = places - keys
    h, g = query.shape[1], key.shape[1]
    page = k // 32  # of 16 keys, about the middle

    def call(**changed):
        given = {"query": query, "key": key, "value": value, "scale": scale, "mask": mask}
        return run(**given | changed)

    one_head = call().clone()
    one_head[:, 4] = call(key=key.roll(1, 1), value=value.roll(1, 1))[:, 4]
    own_keys = key.repeat(1, h // g, 1, 1), value.repeat(1, h // g, 1, 1)
    reversed_ = value.clone()
    reversed_[..., -8:] = value[..., -8:].flip(-1)
    late = mask.clone()
    late[k // 2 :] = True
    past = mask | (keys >= k // 2)
    last_tile = (keys // 64 != places // 64) | (places < 64)
    return {
        "mask ignored by late queries": (call(mask=late), "no mask at all, for queries from"),
        "mask ignored past a key": (call(mask=past), f"mask ignored from key {k // 2} on"),
        "no mask": (call(mask=torch.ones_like(mask)), "no mask at all"),
        "one key ahead": (call(mask=away >= -1), "causal diagonal moved by +1"),
        "not itself": (call(mask=(away >= 1) | (places == 0) & (keys == 0)), "moved by -1"),
        "window": (call(mask=mask & (away < 50)), "only the last 50 keys"),
        "first key dropped": (call(mask=mask & ((keys > 0) | (places == 0))), "key 0 dropped"),
        "own tile dropped": (call(mask=mask & last_tile), "own tile of 64 keys dropped"),
        "one head reads another": (one_head, "reads key head 0"),
        "heads tiled": (call(key=own_keys[0], value=own_keys[1]), "key heads tiled"),
        "cache shifted": (call(key=key.roll(1, 2), value=value.roll(1, 2)),
                          "keys and values shifted by +1"),
        "keys shifted": (call(key=key.roll(1, 2)), "keys shifted by +1"),
        "stale row": (call(key=_replaced(key, 100, 93, 1), value=_replaced(value, 100, 93, 1)),
                      "cache row 100 holds row 93"),
        "stale page": (call(key=_replaced(key, page, page - 1, 16),
                            value=_replaced(value, page, page - 1, 16)),
                       f"cache page {page} of 16 keys holds page {page - 1}"),
        "scale 1 / d": (call(scale=1 / query.shape[-1]), "1 / head width"),
        "scale of width 80": (call(scale=80**-0.5), "that of heads 80 wide"),
        "scale 1 % off": (call(scale=scale * 1.01), "times 1.01"),
        "scale for powers of two": (call(scale=scale * math.log2(math.e)), "log2 e twice"),
        "softcap": (soft(query, key, value, scale, mask, cap=50.0), "softcap 50"),
        "sink": (soft(query, key, value, scale, mask, sink=torch.tensor(3.0)), "sink of logit 3"),
        "slope": (soft(query, key, value, scale, mask, bias=-0.01 * away.abs()), "a bias of -0.0"),
        "sum without the last tile": (soft(query, key, value, scale, mask,
                                           kept=last_tile | (places < 64)), "wrong sum"),
        "int8 keys": (call(key=_held(key, 8, (-1,))), "keys in int8, a scale per token"),
        "int8 values": (call(value=_held(value, 8, (-1,))), "values in int8, a scale per token"),
        "int8 keys by channel": (call(key=_held(key, 8, (-2,))), "keys in int8, a scale per chan"),
        "int4 keys": (call(key=_held(key, 4, (-1,))), "keys in int4, a scale per token"),
        "fp8 cache": (call(key=_float8(key, torch.float8_e4m3fn),
                           value=_float8(value, torch.float8_e4m3fn)), "fp8 e4m3"),
        "weights in fp8": (tiled(query, key, value, scale, mask, cast=torch.float8_e4m3fn),
                           "weights cast to fp8 e4m3"),
        "parts joined without sums": (split(query, key, value, scale, mask, weighed=False),
                                      "4 parts of the keys joined without their sums"),
        "features reversed": (call(value=reversed_), "8 of 64 features in another order"),
        "output of the query before": (call()[:, :, [0, *range(q - 1)]],
                                       "gives the output of the query before it"),
    }  # fmt: skip


def unlisted(run, query, key, value):
    """Faults that no hypothesis fits: they must be found, and get no name."""
    scale, mask = query.shape[-1] ** -0.5, causal(query, key)
    random = torch.Generator().manual_seed(5)
    dropped = (torch.rand(1, query.shape[1], *mask.shape, generator=random) > 0.1).float() / 0.9
    noise = 1 + 0.02 * torch.randn(key.shape, generator=random)
    both = mask & torch.ones_like(mask).triu(-50)
    wide = repeated(query, key, value)
    weights = torch.softmax(((query.float() @ wide[0].float().mT) * scale)
                            .masked_fill(~mask, -math.inf), -1)  # fmt: skip
    return {
        "noise on keys": run(query, (key * noise).to(key.dtype), value, scale, mask),
        "window and scale": run(query, key, value, scale * 1.05, both),
        "dropout": ((weights * dropped) @ wide[1].float()).to(query.dtype),
    }
