"""The same runs on a real Ray cluster: equal digests, whatever dies."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from msgspec.structs import replace

pytest.importorskip("ray", reason="a cluster takes the extra: pip install '.[test,ray]'")

from ray.cluster_utils import Cluster

from asynccfr.cluster.ray_pool import RemoteWorker
from asynccfr.config import RayCluster, TrainConfig
from asynccfr.errors import ClusterError
from asynccfr.runs import RunFolder
from asynccfr.training import train
from tests.cluster.configs import CONFIGS
from tests.solvers.small import digests

pytestmark = [pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two nodes of two processors each."""
    started = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    started.add_node(num_cpus=2)
    yield started
    started.shutdown()


def on(cluster: Cluster, config: TrainConfig, **options: int) -> TrainConfig:
    """The run on that cluster."""
    return replace(config, cluster=RayCluster(address=cluster.address, **options))


def pids_of_workers() -> list[int]:
    """The processes of all workers."""
    out = subprocess.run(
        ["pgrep", "-f", f"ray::{RemoteWorker.__name__}"], capture_output=True, text=True
    )
    return [int(pid) for pid in out.stdout.split()]


@pytest.mark.parametrize(
    ("name", "workers", "parts"),
    [("outcome", 1, 0), ("external", 2, 3), ("baseline", 3, 11), ("ppo", 3, 5)],
)
async def test_workers_and_parts_change_nothing(
    name: str, workers: int, parts: int, cluster: Cluster
) -> None:
    config = CONFIGS[name]
    there = on(cluster, config, workers=workers, parts=parts)
    assert await digests(there) == await digests(config)


async def test_killed_workers_change_nothing(cluster: Cluster) -> None:
    """Workers that have begun die of SIGKILL at random moments, twenty of them in a run."""
    config = replace(CONFIGS["ppo"], solver=replace(CONFIGS["ppo"].solver, iterations=400))
    alone = digests(config)
    chance = random.Random(0)
    killed: set[int] = set()
    loop = asyncio.get_running_loop()
    seen = []
    async with aclosing(train(on(cluster, config, workers=4, parts=8))) as reports:
        async for report in reports:
            seen.append(report.sample_digest)
            begun = {int(worker.worker.rpartition(":")[2]) for worker in report.workers}
            if len(killed) == 20:
                break
            if fresh := sorted(begun & set(pids_of_workers()) - killed):
                victim = chance.choice(fresh)
                loop.call_later(chance.uniform(0, 0.03), os.kill, victim, signal.SIGKILL)
                killed.add(victim)
    assert len(killed) == 20
    assert seen == (await alone)[: len(seen)]


async def test_a_lost_node_changes_nothing(
    cluster: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nor is it printed: the run's folder has what Ray says of it."""
    config = replace(
        CONFIGS["ppo"], solver=replace(CONFIGS["ppo"].solver, iterations=12, games=200)
    )
    alone = await digests(config)
    node = cluster.add_node(num_cpus=2)
    seen = []
    there = on(cluster, config, workers=6, parts=12)
    with RunFolder.create(tmp_path / "run", there).lock() as folder:
        async for report in train(there, folder=folder):
            seen.append(report.sample_digest)
            if report.iteration == 4:
                cluster.remove_node(node, allow_graceful=False)
                capfd.readouterr()
        assert "raylet" in (folder.path / "cluster.log").read_text()
    assert seen == alone
    assert "raylet" not in "".join(capfd.readouterr())


async def test_resuming_with_and_without_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    config = CONFIGS["outcome"]
    alone = await digests(config)
    solver = config.solver
    first = on(cluster, replace(config, solver=replace(solver, iterations=1)), workers=2)
    with RunFolder.create(tmp_path / "run", first).lock() as folder:
        seen = await digests(first, folder=folder)
        for config_then in (
            replace(config, solver=replace(solver, iterations=2)),
            on(cluster, config, workers=1),
        ):
            folder.reconfigure(config_then)
            seen += await digests(config_then, folder=folder)
    assert seen == alone


async def test_reports_tell_who_worked(cluster: Cluster) -> None:
    config = CONFIGS["outcome"]
    async for report in train(on(cluster, config, workers=2, parts=4)):
        assert sum(worker.parts for worker in report.workers) == 4 * 2
        assert all(worker.processor and worker.nbytes for worker in report.workers)


async def test_too_few_processors_are_told_at_once(cluster: Cluster) -> None:
    with pytest.raises(ClusterError, match=r"cluster.workers=99: expected at most"):
        await digests(on(cluster, CONFIGS["outcome"], workers=99))


async def test_no_cluster_there() -> None:
    config = replace(CONFIGS["outcome"], cluster=RayCluster(address="127.0.0.1:1"))
    with pytest.raises(ClusterError, match=r"cluster.address=127.0.0.1:1: no cluster"):
        await asyncio.wait_for(digests(config), 10)


def test_nothing_is_imported_without_a_cluster() -> None:
    code = (
        "import asyncio, sys\n"
        "from tests.cluster.configs import CONFIGS\n"
        "from tests.solvers.small import digests\n"
        "asyncio.run(digests(CONFIGS['outcome']))\n"
        "print([name for name in ('ray', 'zstandard') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.strip() == "[]"
