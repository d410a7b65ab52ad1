"""What a run is made of: frozen structs whose fields carry their own documentation and bounds.

Alternatives are tagged unions (`sampling: {type: outcome, epsilon: 0.6}`): a senseless combination
cannot be written down. `load_config` reads YAML or TOML and applies `--set` overrides.
"""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct

type_tagged = {"frozen": True, "forbid_unknown_fields": True, "kw_only": True, "tag_field": "type"}


def doc(description: str, **bounds: Any) -> Meta:
    return Meta(description=description, **bounds)


class MultilayerPerceptron(Struct, tag="mlp", **type_tagged):
    """A multilayer perceptron with ReLU."""

    width: Annotated[int, doc("units of a hidden layer", ge=1, le=65536)] = 512
    depth: Annotated[int, doc("number of hidden layers", ge=1, le=100)] = 3


class EquivariantNetwork(Struct, tag="equivariant", **type_tagged):
    """One network for all blocks of a symmetric game: colours, suits."""

    width: Annotated[int, doc("units of a block in a hidden layer", ge=1, le=65536)] = 64
    layers: Annotated[int, doc("layers that exchange between blocks", ge=0, le=100)] = 3


Network = MultilayerPerceptron | EquivariantNetwork


class Fit(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a network is fitted to its reservoir."""

    memory: Annotated[int, doc("samples that the reservoir holds, per network", ge=1)] = 1_000_000
    steps: Annotated[int, doc("gradient steps each time the network is fitted", ge=1)] = 1000
    batch: Annotated[int, doc("samples per gradient step", ge=1, le=1_000_000)] = 1024
    learning_rate: Annotated[float, doc("Adam's step size", gt=0)] = 1e-3
    max_gradient_norm: Annotated[float, doc("gradients are scaled down to this norm", gt=0)] = 1.0


class NoBaseline(Struct, tag="none", **type_tagged):
    """Sampled returns as they are."""


class LearnedBaseline(Struct, tag="learned", **type_tagged):
    """A network that values histories (DREAM): less noise, unbiased still, for more forwards."""

    network: MultilayerPerceptron = MultilayerPerceptron(width=128, depth=2)
    fit: Fit = Fit(memory=200_000, steps=200)


class ExternalSampling(Struct, tag="external", **type_tagged):
    """Every action of the traverser, one sampled action of everyone else: for small games."""


class OutcomeSampling(Struct, tag="outcome", **type_tagged):
    """One sampled action everywhere: for games too large to fan out in."""

    epsilon: Annotated[
        float, doc("probability of a uniform action at the traverser's nodes", gt=0, le=1)
    ] = 0.5
    max_weight: Annotated[
        float,
        doc("cap on a sample's weight 1 / own sampling reach: less variance, more bias", ge=1),
    ] = 1e6
    baseline: NoBaseline | LearnedBaseline = NoBaseline()


class DeepCFR(Struct, tag="deep_cfr", **type_tagged):
    """Deep CFR (Brown et al. 2019)."""

    iterations: Annotated[int, doc("iterations; one updates every player once", ge=1)] = 100
    traversals: Annotated[int, doc("traversals for each player in an iteration", ge=1)] = 1000
    sampling: ExternalSampling | OutcomeSampling = OutcomeSampling()
    network: Network = MultilayerPerceptron()
    advantage: Fit = Fit()
    average: Annotated[
        Literal["network", "sd_cfr"],
        doc(
            "network: the agent is a network fitted to everybody's policies (Deep CFR); sd_cfr: it"
            " is the exact mixture of every iteration's advantage networks (Single Deep CFR)"
        ),
    ] = "network"
    average_strategy: Fit = Fit()
    warm_start: Annotated[
        bool, doc("continue from the last advantage network instead of fitting a fresh one")
    ] = False
    all_negative: Annotated[
        Literal["highest", "uniform"],
        doc("what regret matching plays where no advantage is positive"),
    ] = "highest"


class Learning(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a network learns from the fresh decisions of an iteration, with Adam."""

    epochs: Annotated[int, doc("passes over the decisions", ge=1)] = 2
    share: Annotated[
        float,
        doc("share of them that a pass draws, likelier those that teach more", gt=0, le=1),
    ] = 1.0
    batch: Annotated[int, doc("decisions per gradient step, about", ge=1, le=1_000_000)] = 1024
    learning_rate: Annotated[float, doc("Adam's first step size", gt=0)] = 1e-3
    max_gradient_norm: Annotated[float, doc("gradients are scaled down to this norm", gt=0)] = 1.0


class RegretMatching(Struct, tag="regret_matching", **type_tagged):
    """Every action in proportion to its average advantage, where that is positive."""

    least_weight: Annotated[
        float, doc("advantages average with weight 2 / (iteration + 1), but no less", ge=0, le=1)
    ] = 0.1
    clip: Annotated[float, doc("cap on an advantage, in deviations", gt=0)] = 4.0
    plus: Annotated[bool, doc("forget negative averages of advantages, as RM+ does")] = False
    all_negative: Annotated[
        Literal["highest", "uniform"],
        doc("what regret matching plays where no advantage is positive"),
    ] = "highest"


class Escher(
    Fit, tag="escher", tag_field="type", frozen=True, forbid_unknown_fields=True, kw_only=True
):
    """Regret matching on the mean of all advantages so far, from a reservoir: for small games."""

    all_negative: Annotated[
        Literal["highest", "uniform"],
        doc("what regret matching plays where no advantage is positive"),
    ] = "uniform"


class QPolicyGradient(Struct, tag="q_policy_gradient", **type_tagged):
    """PPO's clipped step, with the advantages of all actions in place of a sampled one."""

    ratio_clip: Annotated[float, doc("how far a probability ratio may move from 1", gt=0)] = 0.2
    entropy: Annotated[float, doc("bonus for entropy (nats) at first", gt=0)] = 0.1
    last_entropy: Annotated[float, doc("bonus for entropy once annealed", gt=0)] = 0.01


class LastIterate(Struct, tag="last_iterate", **type_tagged):
    """The agent is the network that plays."""

    greedy: Annotated[
        bool, doc("play the likeliest action always, which an opponent can see through")
    ] = False


class AverageStrategy(
    Fit,
    tag="average_strategy",
    tag_field="type",
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
):
    """The agent is a network fitted to all policies so far, as theory asks."""

    max_weight: Annotated[
        float, doc("cap on a policy's weight 1 / opponent's reach: less variance, more bias", ge=1)
    ] = 1.0


class RegretActorCritic(Struct, tag="regret_actor_critic", **type_tagged):
    """Regret matching on the values of a critic that sees both hands, by self-play."""

    iterations: Annotated[int, doc("rounds of self-play and learning", ge=1)] = 500
    games: Annotated[int, doc("games of self-play in an iteration", ge=1)] = 384
    strategy: RegretMatching | Escher | QPolicyGradient = RegretMatching()
    exploration: Annotated[
        float,
        doc(
            "probability of a uniform action, in both seats; escher: of who does not explore",
            ge=0,
            le=1,
        ),
    ] = 0.03
    trace: Annotated[float, doc("lambda of the critic's targets", ge=0, le=1)] = 0.95
    correction: Annotated[
        float,
        doc("cap on the weight 1 / probability of the critic's error at the chosen action", ge=0),
    ] = 1.0
    anneal: Annotated[
        int, doc("iterations until learning rates are down to a tenth, and entropy's bonus", ge=1)
    ] = 500
    network: Network = MultilayerPerceptron(width=128)
    policy_learning: Learning = Learning()
    critic_learning: Learning = Learning(epochs=1)
    agent: LastIterate | AverageStrategy = LastIterate()


class PPO(Struct, tag="ppo", **type_tagged):
    """Proximal policy optimisation by self-play, with the same critic: the yardstick.

    With `proximity`, and a `clip` that never binds, it is magnetic mirror descent (Sokota et al.
    2023) with the uniform policy, which entropy's bonus draws to, as the magnet.
    """

    iterations: Annotated[int, doc("rounds of self-play and learning", ge=1)] = 500
    games: Annotated[int, doc("games of self-play in an iteration", ge=1)] = 384
    trace: Annotated[float, doc("lambda of advantages and the critic's targets", ge=0, le=1)] = 0.95
    clip: Annotated[float, doc("how far a probability ratio may move from 1", gt=0)] = 0.2
    proximity: Annotated[
        float, doc("weight of the divergence (nats) of the policy from the one that played", ge=0)
    ] = 0.0
    entropy: Annotated[float, doc("bonus for entropy (nats) at first", gt=0)] = 0.1
    last_entropy: Annotated[float, doc("bonus for entropy once annealed", gt=0)] = 0.01
    anneal: Annotated[
        int, doc("iterations until learning rates are down to a tenth, and entropy's bonus", ge=1)
    ] = 500
    network: Network = MultilayerPerceptron(width=128)
    policy_learning: Learning = Learning()
    critic_learning: Learning = Learning(epochs=1)
    agent: LastIterate = LastIterate()


class SyncDriver(Struct, tag="sync", **type_tagged):
    """One traversal at a time, one row per forward: the baseline to measure against."""

    max_batch: ClassVar = 1


class AsyncDriver(Struct, tag="async", **type_tagged):
    """Many traversals at once, their policy calls collected by the batcher."""

    concurrency: Annotated[int, doc("traversals at once", ge=1, le=1_000_000)] = 1024
    max_batch: Annotated[int, doc("rows of the largest forward", ge=1, le=1_000_000)] = 512
    batch_window_us: Annotated[
        int, doc("microseconds the oldest row waits for company; 0: the end of the loop turn", ge=0)
    ] = 0


class ServerDriver(Struct, tag="server", **type_tagged):
    """Traversal processes, each with many traversals at once, whose rows this process answers."""

    processes: Annotated[int, doc("traversal processes", ge=1, le=1024)] = 2
    concurrency: Annotated[int, doc("traversals at once in each process", ge=1, le=1_000_000)] = 512
    max_batch: Annotated[int, doc("rows of the largest batch", ge=1, le=1_000_000)] = 512
    batch_window_us: Annotated[
        int, doc("microseconds the oldest row waits for company; 0: what is there at once", ge=0)
    ] = 0


class Inference(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where and how networks are evaluated."""

    driver: AsyncDriver | ServerDriver | SyncDriver = AsyncDriver()
    device: Annotated[
        str,
        Meta(description="auto, cpu, cuda or cuda:N", pattern=r"^(auto|cpu|cuda(:[0-9]+)?)$"),
    ] = "auto"
    dtype: Annotated[
        Literal["float32", "bfloat16"],
        doc("arithmetic of networks; bfloat16: for GPUs, and for CPUs with AMX"),
    ] = "float32"
    threads: Annotated[int, doc("torch threads; 0 leaves torch's choice", ge=0, le=1024)] = 0
    cache: Annotated[
        int,
        doc("answers remembered for each network, while that pays; 0: none", ge=0, lt=2**30),
    ] = 100_000
    deterministic: Annotated[
        bool, doc("pad every forward to one shape: samples do not depend on the driver")
    ] = False


class NoCluster(Struct, tag="none", **type_tagged):
    """This process, and its driver's."""


class RayCluster(Struct, tag="ray", **type_tagged):
    """Workers on the machines of a Ray cluster play, this process learns (extra: ray)."""

    address: Annotated[
        str, doc("local: a cluster of this machine alone; auto: the one that runs here; host:port")
    ] = "local"
    workers: Annotated[int, doc("workers; 0: as many as there is room for", ge=0, le=100_000)] = 0
    cpus: Annotated[float, doc("processors of a worker", gt=0)] = 1.0
    gpus: Annotated[float, doc("GPUs of a worker", ge=0)] = 0.0
    parts: Annotated[
        int, doc("parts that an iteration is cut into; 0: four per worker", ge=0, le=1_000_000)
    ] = 0


class Evaluation(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The matches that judge an agent while it trains and when it is done."""

    every: Annotated[int, doc("iterations between evaluations; 0: only at the end", ge=0)] = 0
    deals: Annotated[
        int, doc("deals; each is played twice with the seats swapped", ge=2, le=10_000_000)
    ] = 1000
    opponents: Annotated[
        tuple[str, ...], doc("players to meet; empty: every one that knows the game")
    ] = ()
    nash_conv_every: Annotated[
        int,
        doc("iterations between exact evaluations, for games that fit in memory; 0: never", ge=0),
    ] = 0


class Run(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is written while training."""

    checkpoint_every: Annotated[int, doc("iterations between checkpoints", ge=1)] = 1
    tensorboard: Annotated[bool, doc("write TensorBoard events too (extra: tensorboard)")] = False


class TrainConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A training run."""

    game: Annotated[
        str,
        doc(
            "a game with its parameters, as `asynccfr games` lists them, or `package.module:Class`"
        ),
    ]
    seed: Annotated[int, doc("every random stream of the run derives from it", ge=0)] = 0
    solver: DeepCFR | RegretActorCritic | PPO = DeepCFR()
    inference: Inference = Inference()
    cluster: NoCluster | RayCluster = NoCluster()
    evaluation: Evaluation = Evaluation()
    run: Run = Run()
