"""regard.judge: every attention of a running program against exact arithmetic.

>>> torch = __import__("torch")
>>> attend = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
>>> x_bte = torch.arange(24.0).reshape(1, 3, 8) / 24
>>> with judge(attend) as verdict:
...     output, _ = attend(x_bte, x_bte, x_bte)
>>> verdict.ok, verdict.heads, verdict.rows
(True, 2, 6)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from regard.errors import ArgumentError
from regard.judging.asked import Asked
from regard.judging.reading import asked_of
from regard.watcher.verdict import Verdict

if TYPE_CHECKING:
    from regard.judging.tracing import Tracer
    from regard.watcher.seam.call import AttentionCall
    from regard.watcher.seen import Seen

MOST_NAMED = 64  # heads of one verdict that the catalogue is searched for


class Judge:
    """Judges one call of attention after the other, and keeps the verdict.

    ``read`` is a reader of the watcher's seam; whoever has one of his own gives it each call.
    """

    def __init__(
        self,
        rows: int = 32,
        calls: int = 1,
        seed: int = 0,
        spec: Any = None,
        dense: bool = False,
    ) -> None:
        from regard.judging.specification import Specification

        for name, number in (("rows", rows), ("calls", calls)):
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise ArgumentError(f"{name} must be a whole number from 1, got {number!r}.")
        self.rows, self.calls, self.seed, self.dense = rows, calls, seed, dense
        self.spec = None if spec is None else Specification.of(spec)
        self.verdict = Verdict()
        self.seen: Counter[str] = Counter()  # calls by path
        self.paths: dict[str, int] = {}
        self.named = 0
        self.tracer: Tracer | None = None  # where a run keeps what it can be compared by

    def read(self, call: AttentionCall) -> None:
        """Judge one call of the seam."""
        self.take(asked_of(call), call.place.path, call.place.module)

    def take(self, asked: Asked | str, path: str = "", module: Any = None) -> None:
        """Judge a call, or note why it cannot be judged; no block of regard sees how."""
        import torch

        with torch._C.DisableTorchFunction(), torch.no_grad():
            self._take(asked, path, module)

    def _take(self, asked: Asked | str, path: str, module: Any) -> None:
        from regard.judging.dense import dense_shares
        from regard.judging.naming import name_heads
        from regard.judging.one_call import CallResult, judge_call

        if self.tracer is not None:
            self.tracer.take(asked)
        path = asked.path if isinstance(asked, Asked) else path
        order = self.paths.setdefault(path, len(self.paths))
        self.seen[path] += 1
        count = self.seen.total()
        if (self.seen[path] - 1 + order) % self.calls:  # other layers in each forward
            self.verdict.skipped_calls += 1
            return
        if isinstance(asked, str):
            self.verdict.add(CallResult(path, "", "", (0, 0, 0, 0, 0), reason=asked), count)
            return
        if self.spec is not None:
            self.spec.compare(asked, module, self.verdict)
        result = judge_call(asked, self.rows, self.seed, count)
        if self.dense and not result.reason and asked.query is not None:
            result.dense = dense_shares(asked, result.rows.to(asked.value.device))
        if not result.ok:
            known = {(fault.path, fault.head) for fault in self.verdict.faults}
            new = any((path, head) not in known for _, head in result.wrong_rows)
            if new and self.named < MOST_NAMED:
                name_heads(asked, result)
                self.named += len(result.names)
        self.verdict.add(result, count)


class Judging:
    """The block of ``regard.judge``; ``seen`` is the watched run around it, if there is one."""

    def __init__(
        self, model: Any, judge: Judge, kernels: tuple[Any, ...], keep: bool, seen: Seen | None
    ) -> None:
        self.model, self.judge, self.kernels = model, judge, kernels
        self.keep, self.seen = keep, seen
        self._stack = ExitStack()

    def __enter__(self) -> Verdict:
        from regard.watcher.other_layers import LayerLists

        self.layers = LayerLists(self.model)
        with ExitStack() as stack:
            stack.enter_context(self.layers.attached())
            if self.keep:
                stack.callback(self._trace())
            stack.enter_context(self._reading(self.model, self.judge))
            self._stack = stack.pop_all()
        return self.judge.verdict

    @contextmanager
    def _reading(self, model: Any, reader: Any) -> Iterator[None]:
        """A block in which a reader sees every attention and every contract of a model."""
        from regard.judging.contracts import Contracts
        from regard.watcher.seam.source import AttentionSource

        contracts = Contracts(reader, model, self.kernels)
        source = contracts.source = AttentionSource(model, contracts.read)
        with source.attached(), contracts.attached():
            yield

    def _trace(self) -> Callable[[], None]:
        """Follow what two runs are compared by; the function returned gives it to the verdict."""
        from regard.judging.tracing import FirstCall, Tracer, trace_of

        tracer, first = Tracer(), FirstCall(self.model)
        self.judge.tracer, remove = tracer, first.attach()

        def keep() -> None:
            remove()
            self.judge.verdict.trace = trace_of(self.model, tracer.layers, first, self._reading)

        return keep

    def __exit__(self, *error: Any) -> None:
        self._stack.close()
        if self.seen is not None:
            self.seen._source.verdict = self.judge.verdict
            self.judge.verdict.name_tokens(self.seen._source.tokenizer)
        if self.model is not None:
            paths = list(self.judge.seen)
            self.judge.verdict.unseen = _unseen(self.model, paths)
            self.judge.verdict.other_layers = [str(x) for x in self.layers.others(paths)]


def _unseen(model: Any, paths: list[str]) -> list[str]:
    """Modules named attention in which nothing attended: of another kind, or not run."""
    found: list[str] = []
    for name, module in model.named_modules():
        if "attention" not in type(module).__name__.lower():
            continue
        inside = any(path == name or path.startswith(f"{name}.") for path in paths)
        within = any(name.startswith(f"{path.split('#')[0]}.") for path in (*paths, *found))
        if not inside and not within:
            found.append(name)
    return found


def judge(
    model: Any = None,
    *,
    rows: int = 32,
    calls: int = 1,
    seed: int = 0,
    spec: Any = None,
    kernel: Any = (),
    keep: bool = False,
    dense: bool = False,
) -> Judging:
    """Say of each head whether its attention is right, wrong and how, or not judged and why.

    Inside the block, chosen rows of every attention are redone in float64 from the program's own
    query, key, value, mask and scale, and compared with its output. An error is measured in units
    of the rounding that a sound kernel makes, which is derived, so that nothing is to be set.

    Parameters
    ----------
    model : any torch.nn.Module, or None for whatever runs in the block; or the ``seen`` of a block
        of ``regard.watch`` around it, which then has the verdict, and keeps it in its file.
    rows : queries of each head that are redone at each call, others each time.
    calls : judge one call of so many of each module.
    seed : of the rows that are drawn.
    spec : what the model is meant to do: its config, or a dict with any of ``scale``, ``window``,
        ``softcap``, ``causal`` and ``key_heads``. What each call was asked for is compared with it.
    kernel : a function that computes attention, or several, to be judged by their arguments. They
        need query, key and value, and may have the mask, scale and other options of torch's
        scaled_dot_product_attention or of flash-attn, by the names used there. Each is replaced
        wherever a module's name is bound to it, and put back.
    keep : keep what another run on the same text can be compared by, 32 rows of what each attention
        was given and gave, for ``verdict.compare`` and ``verdict.save``. Always so of a ``seen``.
    dense : also measure, on the same rows, how much of the weight of dense attention lies on the
        keys that a head sees through its window or mask, and how much on the best as many.

    Returns
    -------
    block : its ``with`` gives the ``Verdict``, which is complete when the block ends.

    Notes
    -----
    It proves that a call did what its arguments asked for. A wrong mask or rotation that is handed
    to a kernel is right by this test; ``spec=`` compares what can be known of it.

    Examples
    --------
    >>> torch = __import__("torch")
    >>> query = key = value = torch.eye(3)[None, None]
    >>> with judge() as verdict:
    ...     _ = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    >>> verdict.ok
    True
    """
    kernels = tuple(kernel) if isinstance(kernel, list | tuple) else (kernel,)
    for function in kernels:
        if not callable(function):
            raise ArgumentError(f"kernel must be a function, got {function!r:.100}.")
    from regard.watcher.seen import Seen

    seen = model if isinstance(model, Seen) else None
    model = model if seen is None else seen._model_recorder().model
    if keep and model is None:
        raise ArgumentError("keep needs a model: regard.judge(model, keep=True).")
    judge = Judge(rows, calls, seed, spec, dense)
    return Judging(model, judge, kernels, keep or seen is not None, seen)
