from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

class Rule(IntEnum):
    SOFTMAX = ...
    REGRET_MATCHING_HIGHEST = ...
    REGRET_MATCHING_UNIFORM = ...
    GREEDY = ...

def policy_rows(
    outputs: npt.NDArray[np.float32], masks: npt.NDArray[Any], rule: Rule
) -> npt.NDArray[np.float64]:
    """The policies of many information states.

    `outputs` is float32 [n, num_actions], `masks` uint8 or bool [n, num_actions] with the legal actions
    set (at least one a row). Returns float64 [n, num_actions], 0 at illegal actions.
    """
