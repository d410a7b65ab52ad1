"""Workers on the machines of a Ray cluster: the one module that imports Ray.

Weights go into the object store once an iteration, and to each node once. Columns come back through
it: without a copy within a node, compressed from another.
"""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
from ray._private import worker as worker_module
from ray.exceptions import RayError, RayTaskError

from asynccfr import __version__
from asynccfr.cluster.pool import WorkerLost, WorkerPool
from asynccfr.cluster.worker import PackedReply, Reply, Worker
from asynccfr.config import RayCluster, TrainConfig
from asynccfr.errors import ClusterError
from asynccfr.solvers.pool import Part, Weights

# A link that is cut is noticed within seconds, not after Ray's minute.
HEALTH = {
    "health_check_initial_delay_ms": 2000,
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 5,
}

REACH_SECONDS = 5.0


@contextmanager
def ray_pool(config: TrainConfig, cluster: RayCluster, log: Path | None) -> Iterator[WorkerPool]:
    """Workers on a cluster, until the block is left; what Ray says goes to the file `log`.

    Raises ClusterError if the cluster cannot be reached or has too little room.
    """
    with connected(cluster, log):
        room = room_for_workers(cluster)
        workers = cluster.workers or room
        if workers > room or not room:
            raise ClusterError(
                f"cluster.workers={workers}: expected at most {room}, as the cluster at "
                f"{cluster.address} has room for so many of {cluster.cpus:g} CPUs and "
                f"{cluster.gpus:g} GPUs; ask for less, or let more machines join"
            )
        office = Office(config, cluster)
        yield WorkerPool([RaySeat(office) for _ in range(workers)], cluster.parts)


@contextmanager
def connected(cluster: RayCluster, log: Path | None) -> Iterator[None]:
    """A connection to the cluster, which is started if it is a local one."""
    logger = logging.getLogger("ray")
    handler = logging.FileHandler(log, delay=True) if log is not None else logging.NullHandler()
    logger.handlers = [handler]
    logger.propagate = False
    private = logging.getLogger("ray._private")
    private.addHandler(handler)  # ray.init clears the other, and still has something to say
    private.propagate = False
    options: dict[str, Any] = {"configure_logging": False, "log_to_driver": False}
    if cluster.address == "local":
        options |= {"include_dashboard": False, "_system_config": HEALTH}
    try:
        connect(cluster.address, options)
        logger.addHandler(handler)
        with raylets_say_to(logger):
            yield
    finally:
        ray.shutdown()
        logger.removeHandler(handler)
        private.removeHandler(handler)
        handler.close()


def connect(address: str, options: dict[str, Any]) -> None:
    try:
        check_reachable(address)
        ray.init(address, **options)
    except (RuntimeError, ValueError, OSError, RayError) as error:
        raise ClusterError(
            f"cluster.address={address}: no cluster can be reached there: {error}; start "
            "one with `ray start --head`, or use address: local"
        ) from error


@contextmanager
def raylets_say_to(logger: logging.Logger) -> Iterator[None]:
    """Have the logger told what Ray prints of dead workers and nodes, over any display."""
    printer = getattr(worker_module, "print_to_stdstream", None)

    def say(data: dict[str, Any], ignore_prefix: bool) -> None:
        logger.warning("%s: %s", data["pid"], "\n".join(data["lines"]))

    if printer is not None:  # it is private, and there is no other way
        worker_module.print_to_stdstream = say
    try:
        yield
    finally:
        if printer is not None:
            worker_module.print_to_stdstream = printer


def check_reachable(address: str) -> None:
    """Raises OSError or ValueError if nobody listens at host:port; Ray would retry for minutes."""
    host, colon, port = address.rpartition(":")
    if colon:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_SECONDS).close()


def room_for_workers(cluster: RayCluster) -> int:
    """How many workers the cluster has room for."""
    there = ray.cluster_resources()
    wanted = {"CPU": cluster.cpus, "GPU": cluster.gpus}
    return min(int(there.get(kind, 0) / each) for kind, each in wanted.items() if each)


class Office:
    """What all seats share: how to hire a worker, and the weights in the object store."""

    def __init__(self, config: TrainConfig, cluster: RayCluster) -> None:
        self.actor = ray.remote(
            num_cpus=cluster.cpus, num_gpus=cluster.gpus, max_restarts=0, max_task_retries=0
        )(RemoteWorker)
        self.config = ray.put(config)
        self.home = ray.get_runtime_context().get_node_id()
        self.version: int | None = None
        self.reference: Any = None

    def hire(self) -> Any:
        return self.actor.remote(self.config, self.home)

    def stored(self, weights: Weights) -> Any:
        """The weights, put into the object store when they are new."""
        if self.version != weights.version:
            self.version, self.reference = weights.version, ray.put(weights)
        return self.reference


class RaySeat:
    """A worker in a process of the cluster."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.worker: Any = None
        self.hello: Any = None

    async def occupied(self) -> None:
        if self.worker is None:
            self.worker = self.office.hire()
            self.hello = self.worker.version.remote()
        if self.hello is not None:  # it has not begun yet, and may have to wait for a machine
            theirs = await self.answer(self.hello)
            self.hello = None
            if theirs != __version__:
                raise ClusterError(
                    f"a worker has asynccfr {theirs}, expected {__version__} as here; install the "
                    "same version on every machine"
                )

    async def compute(self, part: Part, weights: Weights) -> Reply:
        stored = self.office.stored(weights)
        reply = await self.answer(self.worker.compute.remote(part, stored))
        return reply.unpacked() if isinstance(reply, PackedReply) else reply

    async def answer(self, reference: Any) -> Any:
        """What the worker answers. Raises what it raised, or WorkerLost."""
        try:
            return await reference
        except RayTaskError as error:
            raise error.cause from None
        except RayError as error:
            self.dismiss()
            raise WorkerLost(str(error).partition("\n")[0]) from error

    def dismiss(self) -> None:
        if self.worker is not None:
            ray.kill(self.worker)
            self.worker = None


class RemoteWorker:
    """A worker as Ray calls it."""

    def __init__(self, config: TrainConfig, home: str) -> None:
        self.is_far = ray.get_runtime_context().get_node_id() != home
        address = ray.util.get_node_ip_address()
        self.worker = Worker(config, f"{address}:{os.getpid()}")

    def version(self) -> str:
        """The version of this package where the worker is."""
        return __version__

    def compute(self, part: Part, weights: Weights) -> Reply | PackedReply:
        reply = self.worker.compute(part, weights)
        return reply.packed() if self.is_far else reply
