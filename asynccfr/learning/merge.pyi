from typing import Any

import numpy as np
import numpy.typing as npt

def merge(
    features: npt.NDArray[Any],
    actions: npt.NDArray[np.int16],
    values: npt.NDArray[np.float32],
    weights: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Merge samples with equal features and actions.

    `features` is a C-contiguous array [n, D] of any type, `actions` int16 [n, K], `values` float32
    [n, K], `weights` float64 [n], not negative. Returns the first sample of each kind, int64 [m],
    their total weights, float64 [m], and their weighted mean values, float64 [m, K].
    """
