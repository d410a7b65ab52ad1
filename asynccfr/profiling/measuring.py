"""How everything here is measured: repetitions, arms in turns, medians with spread, the machine.

It does without torch: what the batcher is measured with need not have it.
"""

import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

from msgspec import Struct


class Machine(Struct, frozen=True, kw_only=True):
    """Where and with what a benchmark ran.

    Fields:
        load: the mean of runnable processes of a minute.
        accelerator, torch, torch_threads: None where torch is not used.
    """

    system: str
    processor: str
    cores: int
    load: float
    accelerator: str | None
    python: str
    torch: str | None
    torch_threads: int | None

    def __str__(self) -> str:
        text = (
            f"{self.processor}, {self.cores} cores, {self.accelerator or 'no GPU'}, load "
            f"{self.load:.1f}; {self.system}; Python {self.python}"
        )
        return f"{text}, torch {self.torch}, {self.torch_threads} threads" if self.torch else text


class Spread(Struct, frozen=True, kw_only=True):
    """Repeated measurements of one figure, whose unit the field that holds this names."""

    p05: float
    median: float
    p95: float
    repetitions: int

    def __str__(self) -> str:
        return f"{self.median:.3g} ({self.p05:.3g} to {self.p95:.3g})"


def machine() -> Machine:
    torch: Any = sys.modules.get("torch")
    has_gpu = torch is not None and torch.cuda.is_available()
    return Machine(
        system=platform.platform(),
        processor=processor(),
        cores=os.cpu_count() or 1,
        load=os.getloadavg()[0],
        accelerator=torch.cuda.get_device_name() if has_gpu else None,
        python=platform.python_version(),
        torch=str(torch.__version__) if torch else None,
        torch_threads=torch.get_num_threads() if torch else None,
    )


def processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def spread(values: Sequence[float]) -> Spread:
    """The spread of two or more measurements."""
    cuts = quantiles(values, n=20, method="inclusive")
    return Spread(p05=cuts[0], median=cuts[9], p95=cuts[18], repetitions=len(values))


def alternate(arms: Mapping[str, Callable[[], float]], repetitions: int) -> dict[str, Spread]:
    """Measure the arms in turns, so that a slow spell of the machine hits all of them.

    Each arm returns one measurement; a first one of each is thrown away.
    """
    for arm in arms.values():
        arm()
    measured: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(repetitions):
        for name, arm in arms.items():
            measured[name].append(arm())
    return {name: spread(values) for name, values in measured.items()}


def microseconds(action: Callable[[], object], at_least: float = 2e-3) -> float:
    """Microseconds per call, over as many calls as fill `at_least` seconds."""
    calls, started = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - started) < at_least or not calls:
        action()
        calls += 1
    return elapsed / calls * 1e6
