"""Arrays on the CPU and tensors on a GPU: how each kind is taken, measured and shared."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from regard.self_attention.backends.ring.device_share import (
    DeviceShare,
    measure_on_device,
    whole_call,
)
from regard.self_attention.backends.ring.share import Share
from regard.self_attention.backends.tensors import as_array, unless_tensor
from regard.self_attention.tiles.arguments import Extent, hold, measure

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """What differs between them; the ring itself does not ask."""

    taken: Callable[[Any], Any]
    beside: Callable[[Any], Any]  # a mask or lengths
    measure: Callable[[Arrays, dict[str, Any]], Extent]
    hold: Callable[[Arrays, Extent, dict[str, Any]], Any]
    share: type[Share]


ON_CPU = Kind(as_array, unless_tensor, lambda arrays, _: measure(arrays), hold, Share)
ON_DEVICE = Kind(lambda x: x, lambda x: x, measure_on_device, whole_call, DeviceShare)
