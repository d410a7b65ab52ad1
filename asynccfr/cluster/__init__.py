"""One iteration on many machines.

Every game and traversal draws from a random stream named by its number, so any worker may compute
any part of an iteration, and the result is the same. `worker` computes parts and knows no cluster,
`pool` shares parts out and knows no algorithm, `ray_pool` has its workers on a Ray cluster.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from asynccfr.config import NoCluster, ServerDriver, TrainConfig
from asynccfr.errors import ConfigError, needed_by
from asynccfr.solvers.pool import Pool

__all__ = ["pool_of"]


@contextmanager
def pool_of(config: TrainConfig, log: Path | None = None) -> Iterator[Pool | None]:
    """The workers that `config.cluster` asks for, until the block is left; None if it wants none.

    `log` is where a cluster's own messages go. Raises ConfigError, ClusterError or
    MissingPackage.
    """
    if isinstance(config.cluster, NoCluster):
        yield None
        return
    if isinstance(config.inference.driver, ServerDriver):
        raise ConfigError(
            "inference.driver: server: the workers of a cluster are processes already; expected "
            "async or sync"
        )
    with needed_by("cluster.type=ray", "ray"):
        from asynccfr.cluster.ray_pool import ray_pool
    with ray_pool(config, config.cluster, log) as pool:
        yield pool
