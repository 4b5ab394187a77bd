"""What a model is meant to do, compared with what its attention was asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from regard.errors import ArgumentError
from regard.judging.asked import Asked, draw_rows, visibility

if TYPE_CHECKING:
    from regard.watcher.verdict import Verdict

KNOWN = ("scale", "window", "softcap", "causal", "key_heads")
MOST_TOLD = 6


@dataclass
class Specification:
    """Words of a specification; a missing one is not compared."""

    words: Mapping[str, Any]
    config: Any = None
    told: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def of(cls, spec: Any) -> Specification:
        """From a dict of words, or from the config of a model of transformers."""
        if isinstance(spec, Mapping):
            unknown = set(spec) - set(KNOWN)
            if unknown:
                raise ArgumentError(
                    f"spec knows {', '.join(KNOWN)}, got {', '.join(sorted(unknown))}."
                )
            return cls(dict(spec))
        if not hasattr(spec, "num_attention_heads"):
            raise ArgumentError(
                f"spec must be a dict or the config of a decoder or encoder, got {spec!r:.80}."
            )
        return cls({}, spec)

    def of_layer(self, asked: Asked, module: Any) -> dict[str, Any]:
        """What is to be of the layer of a call."""
        return dict(self.words) if self.config is None else _from_config(self.config, asked, module)

    def compare(self, asked: Asked, module: Any, verdict: Verdict) -> None:
        """Tell the verdict what a call was asked for otherwise."""
        if asked.query is None:
            return
        meant = self.of_layer(asked, module)
        for word, value in meant.items():
            found = _OF_CALL[word](asked, value)
            if found is None:
                continue
            if found == "":
                if word not in verdict.agrees_with_spec:
                    verdict.agrees_with_spec.append(word)
                continue
            if (word, found) in self.told or len(verdict.against_spec) >= MOST_TOLD:
                continue
            self.told.add((word, found))
            verdict.against_spec.append(f"{found} (first in {asked.path})")


def _from_config(config: Any, asked: Asked, module: Any) -> dict[str, Any]:
    meant: dict[str, Any] = {}
    width = asked.query.shape[-1]
    scale = getattr(module, "scaling", None)
    pre = getattr(config, "query_pre_attn_scalar", None)
    multiplier = getattr(config, "attention_multiplier", None)
    if multiplier is not None:
        meant["scale"] = float(multiplier)
    elif pre is not None:
        meant["scale"] = float(pre) ** -0.5
    elif scale is None or math.isclose(float(scale), width**-0.5, rel_tol=1e-6):
        meant["scale"] = width**-0.5
    meant["softcap"] = getattr(config, "attn_logit_softcapping", None)
    groups = getattr(config, "num_key_value_heads", None)
    if isinstance(groups, int):
        meant["key_heads"] = groups
    window = getattr(config, "sliding_window", None)
    if not getattr(config, "use_sliding_window", True):
        window = None
    types, index = getattr(config, "layer_types", None), getattr(module, "layer_idx", None)
    if types and isinstance(index, int) and index < len(types):
        meant["window"] = window if "sliding" in types[index] else None
    elif types is None:
        meant["window"] = window
    if getattr(module, "is_causal", None) is True:
        meant["causal"] = True
    return meant


def _scale(asked: Asked, meant: float) -> str:
    if math.isclose(asked.scale, meant, rel_tol=1e-4):
        return ""
    return f"scale {asked.scale:.4g}, spec says {meant:.4g}"


def _softcap(asked: Asked, meant: float | None) -> str:
    if (asked.softcap or None) == (meant or None):
        return ""
    if asked.softcap and meant and math.isclose(asked.softcap, meant, rel_tol=1e-4):
        return ""
    return f"softcap {asked.softcap or 'none'}, spec says {meant or 'none'}"


def _key_heads(asked: Asked, meant: int) -> str:
    """The key heads of a call, which may come repeated for the heads that share each."""
    _, h, g, _, _ = asked.shape
    if g == meant:
        return ""
    if g == h and h % meant == 0:
        apart = asked.key.unflatten(1, (meant, -1))
        if bool((apart == apart[:, :, :1]).all()):
            return ""
        return f"keys of {h} heads that are not {meant} repeated in turn, as spec says"
    return f"{g} key heads, spec says {meant}"


def _ends(asked: Asked) -> tuple[Any, Any] | None:
    """Distance of the farthest key before, and of the nearest behind, that rows of a call see."""
    import torch

    rows = draw_rows(asked, 8, 0, 0)[:, :1].to(asked.value.device)
    one = Asked(
        asked.query, asked.key[:, :1], asked.value[:, :1], asked.output, asked.scale,
        position=asked.position, behind=asked.behind, ahead=asked.ahead, mask=asked.mask,
    )  # fmt: skip
    seen, _ = visibility(one, rows)
    q, k = asked.shape[3], asked.shape[4]
    position = asked.position if asked.position or q == k else k - q
    places = (rows + position)[..., None]
    away = places - torch.arange(k, device=rows.device)
    if seen is None:
        return away.amax(-1), away.amin(-1)
    seen = seen[:, :, : rows.shape[-1]]
    far = away.where(seen, -(10**9)).amax(-1)
    return far, away.where(seen, 10**9).amin(-1)


def _window(asked: Asked, meant: int | None) -> str | None:
    """Whether keys are seen, or hidden, from where the window ends; None where a text is short."""
    ends = _ends(asked)
    if ends is None:
        return None
    farthest = int(ends[0].max())
    k = asked.shape[4]
    if meant is None:
        return None
    if k <= meant:
        return None
    if farthest >= meant:
        return f"a key {farthest} back is seen, spec says a window of {meant}"
    return ""


def _causal(asked: Asked, meant: bool) -> str | None:
    ends = _ends(asked)
    if ends is None or asked.shape[3] < 2:
        return None
    later = int(-ends[1].min())
    if meant and later > 0:
        return f"keys up to {later} later are seen, spec says causal"
    if not meant and later <= 0:
        return "no later key is seen, spec says both sides"
    return ""


_OF_CALL: dict[str, Any] = {
    "scale": _scale, "softcap": _softcap, "key_heads": _key_heads, "window": _window,
    "causal": _causal,
}  # fmt: skip
