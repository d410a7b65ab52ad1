"""Random streams: the published algorithms, and what the traversals rely on."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asynccfr.seeding import Rng, stream

MASK = (1 << 64) - 1
seeds = st.integers(0, MASK)


class SplitMix64:
    """Steele, Lea and Flood 2014, in the words of the reference C code."""

    def __init__(self, state: int) -> None:
        self.state = state

    def next(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)


class Xoshiro256StarStar:
    """Blackman and Vigna 2018, in the words of the reference C code."""

    def __init__(self, state: list[int]) -> None:
        self.s = list(state)

    def next(self) -> int:
        s = self.s
        result = (rotl((s[1] * 5) & MASK, 7) * 9) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotl(s[3], 45)
        return result


def rotl(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & MASK


def reference(seed: int) -> Xoshiro256StarStar:
    mixer = SplitMix64(seed)
    return Xoshiro256StarStar([mixer.next() for _ in range(4)])


def bits(rng: Rng, n: int) -> list[int]:
    return [rng.bits() for _ in range(n)]


def test_the_references_give_the_published_values() -> None:
    mixer = SplitMix64(1234567)
    assert [mixer.next() for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]
    generator = Xoshiro256StarStar([1, 2, 3, 4])
    assert [generator.next() for _ in range(6)] == [
        11520,
        0,
        1509978240,
        1215971899390074240,
        1216172134540287360,
        607988272756665600,
    ]


@given(seeds)
def test_rng_is_xoshiro_seeded_by_splitmix(seed: int) -> None:
    generator = reference(seed)
    assert bits(Rng(seed), 20) == [generator.next() for _ in range(20)]


def test_rng_stays_what_it_was() -> None:
    """A change of these values changes every run and every saved result."""
    assert bits(Rng(0), 2) == [11091344671253066420, 13793997310169335082]
    assert bits(stream(0, (1, 2, 3)), 2) == [1383493764686758422, 8814882476614460954]


@given(seeds)
def test_floats_and_integers_are_cut_from_the_bits(seed: int) -> None:
    generator = reference(seed)
    rng = Rng(seed)
    assert rng.uniform() == (generator.next() >> 11) * 2.0**-53
    assert rng.integer(1000) == ((generator.next() >> 32) * 1000) >> 32


@given(seeds, st.integers(1, 2**31 - 1))
def test_integers_are_in_range(seed: int, n: int) -> None:
    rng = Rng(seed)
    assert all(0 <= rng.integer(n) < n for _ in range(10))
    assert all(0.0 <= rng.uniform() < 1.0 for _ in range(10))
    assert Rng(seed).integer(1) == 0


@pytest.mark.parametrize("n", [0, -3])
def test_an_empty_range_is_refused(n: int) -> None:
    with pytest.raises(ValueError, match=f"n={n}: expected at least 1"):
        Rng(0).integer(n)


@pytest.mark.parametrize("n", [2, 3, 7, 44, 60])
def test_integers_are_unbiased(n: int) -> None:
    rng = Rng(n)
    draws = 200_000
    counts = np.bincount([rng.integer(n) for _ in range(draws)], minlength=n)
    chi_square = ((counts - draws / n) ** 2 / (draws / n)).sum()
    degrees = n - 1
    assert chi_square < degrees + 5 * np.sqrt(2 * degrees), counts


def test_floats_are_uniform() -> None:
    rng = Rng(9)
    values = np.sort([rng.uniform() for _ in range(100_000)])
    steps = np.arange(1, len(values) + 1) / len(values)
    assert np.abs(values - steps).max() < 1.95 / np.sqrt(len(values))  # Kolmogorov, p = 0.001


@given(seeds)
def test_a_clone_goes_on_alike_and_alone(seed: int) -> None:
    rng = Rng(seed)
    bits(rng, 3)
    twin = rng.clone()
    expected = bits(rng, 5)
    assert bits(twin, 5) == expected
    assert bits(rng, 1) == bits(twin, 1)


def test_any_integer_is_a_seed() -> None:
    assert bits(Rng(-1), 3) == bits(Rng(MASK), 3)
    assert bits(Rng(2**64 + 5), 3) == bits(Rng(5), 3)
    assert bits(Rng(np.int64(5)), 3) == bits(Rng(5), 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="integer"):
        Rng(1.5)  # type: ignore[arg-type]


def test_a_name_gives_one_stream() -> None:
    assert bits(stream(3, (1, 2)), 3) == bits(stream(3, [1, 2]), 3)
    assert bits(stream(3), 3) == bits(stream(3, ()), 3)
    with pytest.raises(OverflowError):
        stream(3, (-1,))


def test_different_names_give_different_streams() -> None:
    small = range(12)
    paths: list[tuple[int, ...]] = [(), *((a,) for a in small)]
    paths += [(a, b) for a in small for b in small]
    paths += [(a, b, c) for a in small for b in small for c in small]
    names = [(seed, path) for seed in range(3) for path in paths]
    first = {stream(seed, path).bits() for seed, path in names}
    assert len(first) == len(names)


def test_neighbouring_streams_are_uncorrelated() -> None:
    """First draws of consecutive indices, as the traversals of an iteration use them."""
    n = 50_000
    draws = np.array([stream(1, (1, 5, 0, index)).uniform() for index in range(n)])
    limit = 4 / np.sqrt(n)
    assert abs(draws.mean() - 0.5) < limit / np.sqrt(12)
    for lag in (1, 2, 64):
        assert abs(np.corrcoef(draws[:-lag], draws[lag:])[0, 1]) < limit
    paired = np.array([stream(2, (1, 5, 0, index)).uniform() for index in range(n)])
    assert abs(np.corrcoef(draws, paired)[0, 1]) < limit
