"""The device that a configuration names."""

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
