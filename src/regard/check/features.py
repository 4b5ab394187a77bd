"""What a function claims to know: told by its parameters, and by its author."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from regard.check.calling import Calling
from regard.check.probes import Probe
from regard.errors import ArgumentError

CLAIMS = {
    "causal": "it always hides later words, without being asked",
    "last queries": "with fewer queries than keys, and no offset, the queries are the last words",
    "mask hides": "True in a mask hides",
    "added mask": "a float mask is added to the scores",
    "grouped heads": "there may be fewer key heads than query heads",
}
LEFT_OUT = ("mask", "causal", "offset", "lengths", "softcap", "scale", "window", "empty rows",
            "large scores", "grouped heads")  # fmt: skip


@dataclass(frozen=True)
class Features:
    """The author's claims; 'no ...' leaves a question out."""

    claims: frozenset[str] = frozenset()

    def covers(self, probe: Probe, calling: Calling) -> bool:
        """Whether this question is to be asked in this way."""
        if f"no {probe.name}" in self.claims:
            return False
        return all(self._has(need, calling) for need in probe.needs)

    def _has(self, need: str, calling: Calling) -> bool:
        if f"no {need}" in self.claims:
            return False
        if need == "lengths":
            return calling.batched and (
                calling.roles.has("lengths") or calling.roles.has("padding")
            )
        if need == "added":
            return calling.mask_form == "added" or "added mask" in self.claims
        if need == "grouped heads":
            return calling.roles.has("grouped") or "grouped heads" in self.claims
        return need == "empty rows" or calling.roles.has(need)

    def variants(self, calling: Calling) -> Iterator[Calling]:
        """Every way in which masks, padding and order might be meant, the usual ones first."""
        masks = list(product(*self._masks(calling)))
        pads = ("hides", "bool") if calling.roles.has("padding") else ("hides",)
        for always, last in self._orders(calling):
            for (form, shape), pad in product(masks, pads):
                yield replace(calling, mask_form=form, mask_shape=shape, pad_form=pad,
                              always=always, last=last)  # fmt: skip

    def _masks(self, calling: Calling) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if not calling.roles.has("mask"):
            return ("bool",), ("full",)
        forms = ("hides",) if "mask hides" in self.claims else ("bool", "added", "ones")
        if not calling.batched:
            return forms, ("full",) if not calling.headed else ("full", "qk")
        return forms, ("full", "qk", "b1qk", "bqk") if calling.headed else ("full", "qk")

    def _orders(self, calling: Calling) -> list[tuple[bool, bool]]:
        lasts = (True,) if "last queries" in self.claims else (False, True)
        if "causal" in self.claims:
            return [(True, last) for last in lasts]
        if calling.roles.has("causal"):
            return [
                (False, last) for last in (lasts if not calling.roles.has("offset") else (False,))
            ]
        return [(False, False), *((True, last) for last in lasts)]


def read_features(features: str | Iterable[str]) -> Features:
    """The author's words, checked."""
    if features == "auto":
        return Features()
    words = [features] if isinstance(features, str) else list(features)
    known = [*CLAIMS, *(f"no {name}" for name in LEFT_OUT)]
    for word in words:
        if word not in known:
            raise ArgumentError(f"features needs words of {', '.join(known)}, but has {word!r}.")
    return Features(frozenset(words))
