"""Every measurement of a configuration, one after the other."""

import os
from collections.abc import Callable

from msgspec import Struct

from asynccfr.config import Inference, TrainConfig
from asynccfr.profiling import (
    boundary,
    calibration,
    contention,
    forward,
    gather,
    placement,
    step,
    whole_run,
)
from asynccfr.profiling.forward import torch_threads
from asynccfr.profiling.measuring import Machine, machine
from asynccfr.profiling.subject import GPU, QUICK, Scale, Subject


class Profile(Struct, frozen=True, kw_only=True):
    """What `asynccfr profile` writes as JSON; see each record for its units."""

    machine: Machine
    game: str
    inference: Inference
    scale: Scale
    boundary: list[boundary.BoundaryCall]
    forwards: list[forward.ForwardProfile]
    gathers: list[gather.Gather]
    step: step.StepCost
    contention: contention.Contention
    whole_run: whole_run.WholeRun
    calibration: calibration.Calibration
    placement: placement.Placement


def profile(
    config: TrainConfig,
    quick: bool = False,
    progress: Callable[[str], None] = lambda phase: None,
) -> Profile:
    """Measure a configuration; under five minutes, or with `quick` well under one.

    `progress` is told what is being measured.
    """
    subject = Subject(config)
    scale = QUICK if quick else GPU if subject.device.type == "cuda" else Scale()
    with torch_threads(config.inference.threads or os.cpu_count() or 1):
        progress("the policy boundary")
        calls = boundary.measure(subject, 200 if quick else 2000)
        forwards = []
        counts = sorted({1, os.cpu_count() or 1})
        for way in forward.ways(subject, counts, compiled=not quick):
            progress(f"the forward: {way}")
            forwards.append(forward.measure(subject, scale, way))
        progress("gathering rows")
        gathers = gather.measure(subject, scale)
        progress("a step of the batcher")
        steps = step.measure(subject, scale)
        progress("walks and forwards at once")
        contended = contention.measure(subject, scale)
        progress("a whole run")
        whole = whole_run.measure(subject, scale, steps)
        progress("the model, against a grid of settings")
        calibrated = calibration.measure(subject, scale)
        progress("two evaluators")
        placed = placement.measure(subject, scale)
        return Profile(
            machine=machine(),
            game=config.game,
            inference=config.inference,
            scale=scale,
            boundary=calls,
            forwards=forwards,
            gathers=gathers,
            step=steps,
            contention=contended,
            whole_run=whole,
            calibration=calibrated,
            placement=placed,
        )
