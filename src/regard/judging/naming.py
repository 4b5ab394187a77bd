"""The wrong heads of one call get names: what fits their rows, and for which queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from regard.judging import rounding as r
from regard.judging.asked import Asked
from regard.judging.hypotheses import MOST_ROWS, Family, Guess, Head, name_fault
from regard.judging.one_call import CallResult

FAR = 6.0  # a row this many units away is wrong by itself


@dataclass(frozen=True)
class Name:
    """The name of a fault; empty where nothing explains it, and then ``detail`` describes it."""

    text: str
    detail: str = ""  # for which queries
    kind: str = ""
    number: int = -1

    def __str__(self) -> str:
        return (self.text or "unexplained") + self.detail


def name_heads(asked: Asked, result: CallResult, most: int = 8) -> None:
    """Name up to so many wrong heads of a call, the worst first."""
    import torch

    if asked.query is None:
        return
    order = sorted(result.wrong_rows, key=lambda place: -float(result.z[place]))
    known: tuple[Family, ...] = ()
    with torch.no_grad():
        for place in order[:most]:
            head = Head(asked, *place, _some(result.wrong_rows[place]).to(asked.value.device))
            guesses, family = name_fault(head, known)
            if family is not None and family not in known:
                known = (*known, family)
            result.names[place] = _named(head, guesses, result)
    _merge_key_heads(asked, result)


def _some(rows: list[int]) -> Any:
    import torch

    every = torch.tensor(sorted(rows))
    if len(rows) <= MOST_ROWS:
        return every
    return every[torch.linspace(0, len(rows) - 1, MOST_ROWS).long()]


def _named(head: Head, guesses: list[Guess], result: CallResult) -> Name:
    if not guesses:
        return Name("", _description(head, result))
    if len(guesses) > 3:
        texts = " or ".join(guess.name for guess in guesses[:2])
        return Name(f"{texts} (or {len(guesses) - 2} others: they give the same on these rows)")
    text = " or ".join(guess.name for guess in guesses)
    first = guesses[0] if len(guesses) == 1 else Guess("", 0.0, guesses[0].redo)
    return Name(text, _domain(head, first, result), first.kind, first.number)


def _drawn(head: Head, result: CallResult) -> list[int]:
    return sorted(set(result.rows[head.sentence, head.group].tolist()))


def _domain(head: Head, guess: Guess, result: CallResult) -> str:
    """For which queries a name holds, empty where no row speaks against all of them."""
    wrong = set(result.wrong_rows[head.sentence, head.head])
    right = [q for q in _drawn(head, result) if q not in wrong]
    against = [q for q in right if _apart(head, guess, q)]
    if not against:
        return ""
    if max(against) < min(wrong):
        return f", for queries from {_edge(head, max(against), min(wrong))} on"
    if min(against) > max(wrong):
        return f", for queries up to {_edge(head, max(wrong), min(against)) - 1}"
    return f", in {len(wrong)} of {len(wrong) + len(right)} rows, queries {_span(sorted(wrong))}"


def _apart(head: Head, guess: Guess, query: int) -> bool:
    """Whether a query that is right would not be, had the fault touched it."""
    import torch

    row = torch.tensor([query], device=head.rows.device)
    redone = guess.redo(row)
    return not bool(redone.dead) and head.fit(redone, row) > FAR


def _edge(head: Head, low: int, high: int) -> int:
    """The first query of the upper part: one end of the range is wrong and the other is not."""
    import torch

    def wrong(query: int) -> bool:
        row = torch.tensor([query], device=head.rows.device)
        return head.fit(head.redo(row), row) > FAR

    at_low = wrong(low)
    while high - low > 1:
        middle = (low + high) // 2
        if wrong(middle) == at_low:
            low = middle
        else:
            high = middle
    return high


def _span(rows: list[int]) -> str:
    return str(rows[0]) if len(rows) == 1 else f"{rows[0]} to {rows[-1]}"


def _description(head: Head, result: CallResult) -> str:
    """Which rows and features are wrong, and by how much."""
    wrong = sorted(result.wrong_rows[head.sentence, head.head])
    error = head.given(head.rows) - head.truth.output
    if not bool(error.isfinite().all()):
        return f", not finite in {len(wrong)} of {len(_drawn(head, result))} rows"
    relative = float(error.norm() / head.truth.output.norm().clamp_min(1e-300))
    units = r.unit(head.truth, head.rounding)
    features = ((error / units).square().mean(0).sqrt() > 3).nonzero().flatten().tolist()
    width = error.shape[-1]
    few = features and features[-1] - features[0] < width // 2
    where = f", features {_span(features)}" if few else ""
    return (f", {len(wrong)} of {len(_drawn(head, result))} rows, queries {_span(wrong)}{where}, "
            f"off by {relative:.2g} of the output")  # fmt: skip


def _merge_key_heads(asked: Asked, result: CallResult) -> None:
    """Heads that each read another key head: one rule for all of them, where there is one."""
    _, h, g, _, _ = asked.shape
    found = {
        place: name for place, name in result.names.items() if name.kind in ("head", "key head")
    }
    reads = {place: name.number for place, name in found.items() if name.kind == "key head"}
    if len(found) != len(result.wrong_rows) or len(found) < 2:
        return
    wrong = {head for _, head in reads}
    rule = ""
    numbers = {name.number for name in found.values()}
    if len(reads) == len(found) and all(x == head % g for (_, head), x in reads.items()):
        fair = all(head % g == head // (h // g) for head in range(h) if head not in wrong)
        rule = "key heads tiled instead of repeated" if fair else ""
    if not rule and len(numbers) == 1:
        kind = "key head" if reads else "head"
        verb = "reads" if reads else "gives the output of"
        rule = f"every head {verb} {kind} {numbers.pop()}"
    for place in found if rule else ():
        result.names[place] = Name(rule)
