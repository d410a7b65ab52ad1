import numpy as np
import numpy.typing as npt

def action_value_targets(
    values: npt.NDArray[np.float32],
    policy: npt.NDArray[np.float32],
    chosen: npt.NDArray[np.int16],
    sampled: npt.NDArray[np.float32],
    players: npt.NDArray[np.int8],
    last: npt.NDArray[np.uint8],
    outcomes: npt.NDArray[np.float32],
    trace: float,
) -> npt.NDArray[np.float32]: ...
def generalised_advantages(
    values: npt.NDArray[np.float32],
    players: npt.NDArray[np.int8],
    last: npt.NDArray[np.uint8],
    outcomes: npt.NDArray[np.float32],
    trace: float,
) -> npt.NDArray[np.float32]: ...
