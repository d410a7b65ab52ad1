"""The device that a configuration names, and what its arithmetic is."""

from pathlib import Path

import torch

from asynccfr.errors import ConfigError


def resolve_device(name: str) -> torch.device:
    """The device of that name; `auto` is CUDA where there is one. Raises ConfigError."""
    count = torch.cuda.device_count()
    device = torch.device(("cuda" if count else "cpu") if name == "auto" else name)
    if device.type == "cuda" and (device.index or 0) >= count:
        raise ConfigError(
            f"inference.device: {name!r}: {count} CUDA devices found; use auto or cpu"
        )
    return device


def multiplies_bfloat16() -> bool:
    """Whether there is hardware for bfloat16; without it torch emulates, several times slower."""
    if torch.cuda.is_available():
        return True
    flags = Path("/proc/cpuinfo")
    return flags.exists() and "bf16" in flags.read_text()
