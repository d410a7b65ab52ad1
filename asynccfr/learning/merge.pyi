from typing import Any

import numpy as np
import numpy.typing as npt

def merge(
    features: npt.NDArray[Any],
    actions: npt.NDArray[np.int16],
    values: npt.NDArray[np.float32],
    weights: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
