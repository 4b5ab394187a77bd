"""Type aliases shared by every folder."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""A NumPy array of any dtype."""

Float64Array = NDArray[np.float64]
"""A NumPy array of float64, as the specification computes in."""
