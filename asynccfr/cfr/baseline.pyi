import numpy as np
import numpy.typing as npt

from asynccfr.cfr.samples import SampleBuffer
from asynccfr.cfr.walk import Walk

class BaselineWalk(Walk):
    histories: SampleBuffer
    is_over: bool
    def write_histories(self, rows: npt.NDArray[np.float32], first: int) -> int: ...
    def read_baselines(self, outputs: npt.NDArray[np.float32], first: int) -> None: ...
