"""What a judged run keeps to be compared with another: rows of each attention, and its rounding.

How far the dtype of a run moves its numbers is not estimated: the first call of the model is
repeated with its parameters in a wider dtype, and the rows of both are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from regard.judging import rounding as r
from regard.judging.asked import Asked, redo
from regard.judging.one_call import rounding_of
from regard.judging.reading import asked_of
from regard.watcher.capture.modules import attach_hook
from regard.watcher.trace import Trace, TracedLayer, distance

ROWS = 32  # of each attention, over all sentences
NUMBERS = 64  # of each parameter


class Tracer:
    """A reader of the seam that keeps rows of the first call of each attention."""

    def __init__(self) -> None:
        self.layers: dict[str, TracedLayer] = {}

    def read(self, call: Any) -> None:
        self.take(asked_of(call))

    def take(self, asked: Asked | str, path: str = "", module: Any = None) -> None:
        import torch

        if isinstance(asked, str) or asked.path in self.layers or 0 in asked.shape:
            return
        with torch._C.DisableTorchFunction(), torch.no_grad():
            self.layers[asked.path] = traced(asked)


def traced(asked: Asked) -> TracedLayer:
    """Evenly spaced rows of a call, the same in every run of its shape."""
    import torch

    b, _, g, q, k = asked.shape
    few = max(1, ROWS // b)
    at_q, at_k = (torch.linspace(0, n - 1, min(n, few)).long() for n in (q, k))
    places = {"query": at_q, "key": at_k, "value": at_k, "output": at_q}
    rows = {}
    for name, at in places.items():
        tensor = getattr(asked, name)
        if tensor is not None:
            picked = tensor[:, :, at.to(tensor.device)].transpose(1, 2).flatten(0, 1)
            rows[name] = picked.float().cpu().numpy()
    asks = {"scale": asked.scale, "softcap": asked.softcap, "sinks": asked.sinks is not None}
    queries = at_q.repeat(b).numpy()
    if asked.query is None:
        return TracedLayer(rows, queries, np.zeros(len(queries), np.int64), asks)
    redone = redo(asked, at_q.to(asked.value.device).expand(b, g, -1))
    # Heads of a group follow each other: the first of them stands for all.
    first = slice(0, len(at_q))
    visible = (redone.scores[:, 0, first] > -torch.inf).sum(-1).flatten()
    dead = redone.dead[:, 0, first].flatten().cpu().numpy()
    rows["output"][dead] = np.nan
    sizes = redone.output.norm(dim=-1).clamp_min(1e-300)
    units = (r.unit(redone, rounding_of(asked)).double().norm(dim=-1) / sizes)[~redone.dead]
    unit = float(units.median()) if units.numel() else 0.0
    return TracedLayer(rows, queries, visible.cpu().numpy(), asks, unit)


class FirstCall:
    """The first call of a model in a block: what went in, and the logits of the next token."""

    def __init__(self, model: Any) -> None:
        self.model, self.arguments = model, ()
        self.keywords: dict[str, Any] = {}
        self.logits: Any = None
        self.repeatable = self.seen = False

    def attach(self) -> Callable[[], None]:
        before = attach_hook(self.model, "forward_pre", self._begins, with_kwargs=True)
        after = attach_hook(self.model, "forward", self._ended)

        def remove() -> None:
            before()
            after()

        return remove

    def _begins(self, model: Any, arguments: Any, keywords: dict[str, Any]) -> None:
        if self.seen:
            return
        self.seen = True
        cache = keywords.get("past_key_values")
        filled = cache is not None and getattr(cache, "get_seq_length", lambda: 1)() > 0
        names = {type(x).__name__.lower() for x in model.modules() if x.training}
        chance = any(word in name for name in names for word in ("drop", "batchnorm"))
        self.repeatable = not (filled or chance)
        self.arguments = arguments
        self.keywords = {x: y for x, y in keywords.items() if x != "past_key_values"}
        if "use_cache" in self.keywords:
            self.keywords["use_cache"] = False

    def _ended(self, model: Any, arguments: Any, output: Any) -> None:
        logits: Any = getattr(output, "logits", None)
        if self.logits is not None or getattr(logits, "ndim", 0) != 3:
            return
        mask: Any = self.keywords.get("attention_mask")
        last = -1
        if getattr(mask, "ndim", 0) == 2 and mask.shape[1] == logits.shape[1]:
            last = int(mask[0].nonzero().max())
        self.logits = logits[0, last].detach().float().cpu().numpy()

    def again(self, dtype: Any, wide: Any, cast: bool) -> None:
        """The same call with the tensors of a dtype in a wider one, or as before a cast to it."""
        import torch

        random = torch.Generator().manual_seed(0)

        def widened(x: Any) -> Any:
            return x.to(wide) if isinstance(x, torch.Tensor) and x.dtype == dtype else x

        def before(x: Any) -> Any:
            wider = widened(x.detach())
            if not cast or x.dtype != dtype:
                return wider
            part = torch.rand(x.shape, generator=random, dtype=wide).to(x.device) - 0.5
            return wider + part * r.ulp(wider, dtype)

        parameters = {name: before(x) for name, x in self.model.named_parameters()}
        tensors = parameters | {name: widened(x) for name, x in self.model.named_buffers()}
        keywords = {name: widened(x) for name, x in self.keywords.items()}
        with torch.no_grad(), torch.random.fork_rng():
            arguments = tuple(map(widened, self.arguments))
            torch.func.functional_call(self.model, tensors, arguments, keywords)


def trace_of(
    model: Any,
    layers: dict[str, TracedLayer],
    first: FirstCall,
    attached: Callable[[Any, Any], Any],
) -> Trace:
    """The trace of a block; ``attached`` is a block in which a reader sees the model attend."""
    import torch

    parameters = dict(model.named_parameters())
    dtype = next((x.dtype for x in parameters.values() if x.is_floating_point()), torch.float32)
    trace = Trace(str(dtype)[6:], r.step(dtype), layers, logits=first.logits)
    for name, parameter in parameters.items():
        flat = parameter.detach().flatten()
        some = flat[:: max(1, len(flat) // NUMBERS)][:NUMBERS]
        trace.parameters[name] = some.float().cpu().numpy()

    def measure() -> None:
        wide = torch.float64 if dtype == torch.float32 else torch.float32
        same, exact, uncast = Tracer(), Tracer(), Tracer()
        try:  # the same again too: it may have a fault no more by now
            for tracer, kind in ((same, dtype), (exact, wide), (uncast, wide)):
                with attached(model, tracer):
                    first.again(dtype, kind, cast=tracer is uncast)
        except (RuntimeError, TypeError, ValueError, AttributeError):
            return  # a kernel of one dtype: what its rounding does stays unknown
        for path in layers.keys() & exact.layers.keys():
            own, wider, other = (x.layers[path].rows for x in (same, exact, uncast))
            layers[path].rounding = {x: distance(own[x], y) for x, y in wider.items()}
            layers[path].cast = {x: distance(other[x], y) for x, y in wider.items()}

    if first.repeatable and dtype != torch.float64:
        trace.measure = measure
    return trace
