"""Mutations of real files through both readers: an error that says why, or what can be used.

`pytest -m fuzz tests/storage` runs 100,000 of each; the usual suite a few hundred.
"""

import hashlib
import random
import shutil
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from asynccfr.agents import Agent
from asynccfr.agents.agent import CARD, CHECKSUM, checksum
from asynccfr.errors import CheckpointError, GameError
from asynccfr.games import load_game
from asynccfr.runs import RunFolder
from asynccfr.runs.checkpoints import ARRAYS, MANIFEST, STATE, CheckpointStore, Sealed
from asynccfr.solvers import make_solver
from asynccfr.storage import tensors
from asynccfr.training import Totals, train
from tests.agents.crafted import craft, parameters
from tests.solvers.small import small_config

INTERPRETER = 1 << 20  # bytes that the interpreter itself may take on the way
SECONDS = 10.0
WORDS = [b"0", b"-1", b"1e309", b"NaN", b"null", b"[]", b"{}", b'""', b"9" * 30, b"\x00", b"\xff"]
KINDS = [b"F32", b"F64", b"BF16", b"I64", b"U8", b"BOOL"]

counts = pytest.mark.parametrize(
    "count", [300, pytest.param(100_000, marks=[pytest.mark.fuzz, pytest.mark.timeout(3000)])]
)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """One to four changes: bits, bytes, pieces lost, doubled or moved, numbers and types."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(found) + 1)
        if rng.random() < 0.5:  # the header is small, and what matters
            at = rng.randrange(min(len(found), 600) + 1)
        length = min(rng.choice([1, 2, 8, 100, 1000]), len(found) - at)
        match rng.randrange(7):
            case 0 if at < len(found):
                found[at] ^= 1 << rng.randrange(8)
            case 1 if at < len(found):
                found[at] = rng.randrange(256)
            case 2:
                del found[at : at + length]
            case 3:
                found[at:at] = found[at : at + length]
            case 4:
                found[at : at + length] = rng.choice(WORDS)
            case 5:
                found = bytearray(bytes(found).replace(b"F32", rng.choice(KINDS), 1))
            case 6:
                found[at:] = b""
    return bytes(found)


def resealed(path: Path) -> None:
    """Give a mutated agent the right checksum, as who crafts one would."""
    try:
        arrays, metadata = tensors.read(path)
        sealed = metadata | {CHECKSUM: checksum(metadata.get(CARD, ""), arrays)}
        path.write_bytes(b"".join(tensors.encode(arrays, sealed)))
    except (OSError, ValueError):
        pass


def bounded(read: Callable[[], object], size: int) -> bool:
    """Whether it could be read; in bounded time and memory, and with an error of ours."""
    tracemalloc.reset_peak()
    before, started = tracemalloc.get_traced_memory()[0], time.perf_counter()
    try:
        read()
    except (CheckpointError, GameError):
        return False
    finally:
        assert time.perf_counter() - started < SECONDS
        assert tracemalloc.get_traced_memory()[1] - before < 2 * size + INTERPRETER
    return True


@counts
def test_agents(tmp_path: Path, count: int) -> None:
    rng = random.Random(0)
    path = craft(tmp_path / "agent", parameters())
    original = path.read_bytes()
    Agent.load(path)  # what is imported on the way is not the file's
    tracemalloc.start()
    readable = 0
    for number in range(count):
        path.write_bytes(mutated(original, rng))
        if number % 2:
            resealed(path)
        readable += bounded(lambda: Agent.load(path), len(original))
    tracemalloc.stop()
    assert 0 < readable < count  # resealed numbers play


@counts
async def test_checkpoints(tmp_path: Path, count: int) -> None:
    config = small_config(solver__iterations=1)
    with RunFolder.create(tmp_path / "run", config).lock() as folder:
        async for _ in train(config, folder=folder):
            pass
    original = next((folder.path / "checkpoints").iterdir())
    files = {name: (original / name).read_bytes() for name in (ARRAYS, STATE, MANIFEST)}
    solver = make_solver(config, load_game(config.game))
    rng = random.Random(0)
    store = CheckpointStore(tmp_path / "checkpoints")
    copy = store.path / original.name
    shutil.copytree(original, copy)

    def read() -> None:
        found = store.load(Totals, config)
        assert found is not None
        solver.restore(found.arrays)

    tracemalloc.start()
    readable = 0
    for number in range(count):
        name = rng.choice([ARRAYS, ARRAYS, STATE, MANIFEST])
        (copy / name).write_bytes(mutated(files[name], rng))
        if number % 2:
            reseal(copy)
        readable += bounded(read, sum(map(len, files.values())))
        for each, content in files.items():
            (copy / each).write_bytes(content)
    tracemalloc.stop()
    assert 0 < readable < count


def reseal(folder: Path) -> None:
    """Give the parts of a mutated checkpoint, and its manifest, the right checksums."""
    try:
        sealed = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Sealed)
        manifest = msgspec.json.decode(sealed.manifest)
        for name in (ARRAYS, STATE):
            digest = hashlib.blake2b((folder / name).read_bytes()).hexdigest()
            manifest["blake2b"][name] = digest
        encoded = msgspec.json.encode(manifest)
        again = Sealed(msgspec.Raw(encoded), hashlib.blake2b(encoded).hexdigest())
        (folder / MANIFEST).write_bytes(msgspec.json.encode(again))
    except (msgspec.MsgspecError, ValueError, TypeError, KeyError):
        pass
