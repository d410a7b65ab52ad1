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
) -> npt.NDArray[np.float32]:
    """Targets float32 [N] for the values of the chosen actions under `policy`: Retrace(lambda).

    At a decision with chosen action a, sampled with probability b, and the next one marked by ':
    target = v' + trace * min(1, policy'(a') / b') * (target' - q'(a')), with v' = sum policy' q',
    negated where the next decision is the opponent's; the outcome at the last one. `values` are the
    critic's q float32 [N, max_legal]; the other arguments are columns of `Decisions`. Munos et al.
    (2016); where play is on-policy it differs from TD(lambda) by an expectation over actions, which
    saves variance.
    """

def generalised_advantages(
    values: npt.NDArray[np.float32],
    players: npt.NDArray[np.int8],
    last: npt.NDArray[np.uint8],
    outcomes: npt.NDArray[np.float32],
    trace: float,
) -> npt.NDArray[np.float32]:
    """Advantages float32 [N] of the chosen actions: GAE(lambda), Schulman et al. (2016), undiscounted.

    `values` float32 [N] are the critic's values of the histories; the rest are columns of `Decisions`.
    """
