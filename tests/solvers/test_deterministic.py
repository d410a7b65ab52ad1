"""One seed, one set of samples: whatever drives the traversals, and however many at once."""

import asyncio

import pytest
import uvloop

from .small import digests, small_config

MLP = {"type": "mlp", "width": 16, "depth": 2}
EQUIVARIANT = {"type": "equivariant", "width": 16, "layers": 2}
SETTINGS = [
    {"game": "leduc_poker", "solver__network": MLP},
    {
        "game": "lost_cities(colors=2, numbers=3, wagers=1, hand_size=2)",
        "solver__network": EQUIVARIANT,
    },
]
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


def run(config, loop="asyncio"):
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        return runner.run(digests(config))


@pytest.fixture(scope="module", params=SETTINGS, ids=lambda settings: settings["game"])
def settings_and_truth(request):
    """A game with its network, and its digests under the sync driver."""
    config = small_config(**request.param, inference__driver={"type": "sync"})
    return request.param, run(config)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("concurrency", "max_batch"), [(1, 1), (16, 5), (16, 64), (256, 512)])
def test_driver_and_concurrency_change_nothing(settings_and_truth, concurrency, max_batch, loop):
    settings, truth = settings_and_truth
    driver = {"type": "async", "concurrency": concurrency, "max_batch": max_batch}
    assert run(small_config(**settings, inference__driver=driver), loop) == truth


def test_traversal_processes_change_nothing(settings_and_truth):
    settings, truth = settings_and_truth
    driver = {"type": "server", "processes": 2, "concurrency": 16, "max_batch": 20}
    assert run(small_config(**settings, inference__driver=driver)) == truth


def test_external_sampling_too():
    sync, batched = (
        run(small_config(solver__sampling={"type": "external"}, inference__driver=driver))
        for driver in ({"type": "sync"}, {"type": "async", "concurrency": 16})
    )
    assert sync == batched


def test_another_seed_gives_other_samples():
    assert not set(run(small_config())) & set(run(small_config(seed=1)))
