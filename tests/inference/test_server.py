"""The server driver: the samples of the other drivers, errors of its processes, no leftovers."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from asynccfr.cfr.plan import TraversalPlan
from asynccfr.cfr.query import Query
from asynccfr.config import ExternalSampling, OutcomeSampling, ServerDriver, SyncDriver
from asynccfr.errors import ConfigError, TraversalProcessDied
from asynccfr.games import load_game
from asynccfr.games.kuhn import KuhnPoker
from asynccfr.inference.channel import Setup, anonymous_file
from asynccfr.inference.drivers import traverse
from asynccfr.inference.evaluator import Evaluator
from asynccfr.inference.server import TraversalProcesses
from asynccfr.inference.traversal_process import TraversalProcess

GAME = load_game("leduc_poker")


def evaluator(network=None, max_batch=64):
    generator = torch.Generator().manual_seed(0)
    size = GAME.information_state_tensor_size
    weights = [torch.randn(size, GAME.num_actions, generator=generator) for _ in range(2)]
    networks = [network] * 2 if network else [lambda rows, w=w: rows @ w for w in weights]
    cpu = torch.device("cpu")
    return Evaluator(networks, GAME, device=cpu, max_batch=max_batch, deterministic=True)


def plan(traversals=60, sampling=OutcomeSampling()):  # noqa: B008
    return TraversalPlan(
        seed=0,
        iteration=1,
        traverser=1,
        traversals=traversals,
        sampling=sampling,
        all_negative="highest",
    )


class Digests:
    """The samples of each walk, in the order in which they were collected."""

    def __init__(self):
        self.found = []

    def __call__(self, walk):
        self.found.append((walk.nodes, walk.advantages.digest(), walk.strategies.digest()))


async def blocking(plan):
    digests = Digests()
    walks = plan.walks(GAME, range(plan.traversals), [])
    await traverse(SyncDriver(), plan.scheme, walks, evaluator(), digests)
    return digests.found


@pytest.fixture
def processes():
    """Makes sets of traversal processes, which are closed in the end."""
    made = []

    def make(**options):
        made.append(TraversalProcesses(ServerDriver(**options), GAME))
        return made[-1]

    yield make
    for each in made:
        each.close()


async def served(processes, plan, evaluate=None):
    digests = Digests()
    await processes.traverse(plan, evaluate or evaluator(), digests)
    return digests.found


@pytest.mark.parametrize("concurrency", [1, 7])
async def test_the_same_samples_in_the_same_order(processes, concurrency):
    servers = processes(processes=3, concurrency=concurrency, max_batch=8)
    for sampling in (OutcomeSampling(), ExternalSampling()):
        asked = plan(40, sampling)
        assert await served(servers, asked) == await blocking(asked)


async def test_batches_are_bounded_and_counted(processes):
    blocked = evaluator()
    walks = await served(processes(processes=3, concurrency=1), plan(), blocked)
    assert max(blocked.tally.batch_sizes) <= 3
    assert sum(blocked.tally.batch_sizes) == sum(nodes for nodes, _, _ in walks)
    assert sum(blocked.tally.group_counts) == len(blocked.tally.batch_sizes)
    assert set(blocked.tally.group_counts) <= {1, 2}
    waiting = evaluator()
    await served(processes(processes=2, concurrency=30), plan(), waiting)
    assert max(waiting.tally.batch_sizes) > 3


async def test_no_batch_waits_once_every_process_does(processes):
    patient = processes(processes=3, concurrency=1, max_batch=64, batch_window_us=2_000_000)
    blocked = evaluator()
    await asyncio.wait_for(served(patient, plan(60), blocked), timeout=30)
    batches = np.add.reduceat(
        blocked.tally.batch_sizes, np.cumsum([0, *blocked.tally.group_counts[:-1]])
    )
    assert np.median(batches) == 3


async def test_networks_may_change_between_traversals(processes):
    servers = processes(processes=2, concurrency=4)
    first = await served(servers, plan())
    zeros = evaluator(lambda rows: torch.zeros(len(rows), GAME.num_actions))
    assert await served(servers, plan(), zeros) != first
    assert await served(servers, plan()) == first


async def test_fewer_traversals_than_processes(processes):
    asked = plan(2)
    assert await served(processes(processes=3, concurrency=4), asked) == await blocking(asked)


async def test_a_killed_process_ends_the_traversal_and_is_replaced(processes):
    servers = processes(processes=2, concurrency=4)

    def kill(rows):
        os.kill(servers.processes[1].popen.pid, signal.SIGKILL)
        return torch.zeros(len(rows), GAME.num_actions)

    with pytest.raises(TraversalProcessDied, match=r"process 2 of 2 .* was killed by SIGKILL"):
        await served(servers, plan(10**6), evaluator(kill))
    assert all(process.popen is None for process in servers.processes)
    assert await served(servers, plan()) == await blocking(plan())


async def test_a_process_killed_between_traversals_is_replaced(processes):
    servers = processes(processes=2, concurrency=4)
    first = await served(servers, plan())
    servers.processes[0].popen.kill()
    servers.processes[0].popen.wait()
    assert await served(servers, plan()) == first


async def test_a_failing_forward_surfaces_as_itself(processes):
    def broken(rows):
        raise MemoryError("out of memory on the device")

    with pytest.raises(MemoryError, match="on the device"):
        await served(processes(processes=2, concurrency=4), plan(), evaluator(broken))
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_cancelling_leaves_no_process_and_no_task(processes):
    started = asyncio.Event()

    def network(rows):
        started.set()
        return torch.zeros(len(rows), GAME.num_actions)

    servers = processes(processes=2, concurrency=4)
    task = asyncio.create_task(served(servers, plan(10**6), evaluator(network)))
    await started.wait()
    pids = [process.popen.pid for process in servers.processes]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert not any(map(alive, pids))


async def test_a_slot_whose_request_fails_is_free_again():
    memory = anonymous_file()
    setup = Setup(str(GAME), concurrency=1, first_slot=0, slots=1, slot_rows=2, memory_rows=2)
    process = TraversalProcess(None, setup, memory)
    os.close(memory)
    too_many = [Query(GAME.new_state(0)) for _ in range(3)]
    for _ in range(2):
        with pytest.raises(ValueError, match="array of 2x.*: expected at least 3 rows"):
            await process.ask(too_many)


def test_a_game_that_other_processes_cannot_load_is_refused():
    class Unregistered(KuhnPoker):
        def __str__(self):
            return "my_own_game"

    with pytest.raises(ConfigError, match="my_own_game.* use async"):
        TraversalProcesses(ServerDriver(), Unregistered())


PARENT = """
from tests.inference.test_server import *
processes = TraversalProcesses(ServerDriver(processes=2, concurrency=4), GAME)
def network(rows):
    if network.first:
        network.first = False
        print(*(process.popen.pid for process in processes.processes), flush=True)
    return torch.zeros(len(rows), GAME.num_actions)
network.first = True
asyncio.run(served(processes, plan(10**6), evaluator(network)))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_processes_do_not_outlive_the_program(number):
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as parent:
        pids = list(map(int, parent.stdout.readline().split()))
        assert len(pids) == 2
        parent.send_signal(number)
        parent.wait()
    deadline = time.monotonic() + 10
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(alive, pids))


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")  # a zombie waits for its parent, and is not alive
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"
