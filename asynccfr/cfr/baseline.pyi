import numpy as np
import numpy.typing as npt

from asynccfr.cfr.samples import SampleBuffer
from asynccfr.cfr.walk import Walk

class BaselineWalk(Walk):
    """An outcome-sampling walk that remembers its histories, for a baseline to value them.

    When the game is over, `write_histories` and `read_baselines` carry them to a network and back;
    then `back_up` writes the regrets, and completes `histories`: samples of what the baseline should
    have said of each sampled action.
    """

    histories: SampleBuffer
    is_over: bool
    def write_histories(self, rows: npt.NDArray[np.float32], first: int) -> int:
        """Write every history into a row, from `first` on; return how many there are."""
    def read_baselines(self, outputs: npt.NDArray[np.float32], first: int) -> None:
        """Take the baseline's outputs [>= first + histories, num_actions] for `write_histories`."""
