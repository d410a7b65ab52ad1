from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

class Rule(IntEnum):
    SOFTMAX = ...
    REGRET_MATCHING_HIGHEST = ...
    REGRET_MATCHING_UNIFORM = ...

def policy_rows(
    outputs: npt.NDArray[np.float32], masks: npt.NDArray[Any], rule: Rule
) -> npt.NDArray[np.float64]: ...
