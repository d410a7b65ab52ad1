"""Every random stream of a run, derived from its seed and the place where it is used.

A stream is named by `(seed, path)`, where the path is a tuple of non-negative integers such as
`(ADVANTAGE_TRAVERSAL, iteration, traverser, index)`. Streams of different names are independent, so
no result depends on which traversal ran first, and a resumed run needs no generator state.

Generator: xoshiro256** (Blackman and Vigna 2018), seeded through SplitMix64.
"""

from operator import index

from libc.stdint cimport uint64_t

TRAVERSAL = 1
RESERVOIR = 2
TRAINING = 3
EVALUATION = 4

cdef uint64_t GOLDEN = 0x9E3779B97F4A7C15


cdef inline uint64_t low_bits(seed) except? 0:
    """The low 64 bits of any integer, numpy's included; raises TypeError for anything else."""
    return index(seed) & 0xFFFFFFFFFFFFFFFF


cdef inline uint64_t mix(uint64_t z) noexcept nogil:
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EB
    return z ^ (z >> 31)


cdef inline uint64_t rotate_left(uint64_t x, int k) noexcept nogil:
    return (x << k) | (x >> (64 - k))


cdef class Rng:
    """A small, fast random generator with 256 bits of state; equal seeds give equal streams."""

    def __init__(self, seed=0):
        cdef uint64_t x = low_bits(seed)
        cdef int i
        for i in range(4):
            x += GOLDEN
            self.s[i] = mix(x)

    cdef uint64_t next64(self) noexcept nogil:
        cdef uint64_t result = rotate_left(self.s[1] * 5, 7) * 9
        cdef uint64_t t = self.s[1] << 17
        self.s[2] ^= self.s[0]
        self.s[3] ^= self.s[1]
        self.s[1] ^= self.s[2]
        self.s[0] ^= self.s[3]
        self.s[2] ^= t
        self.s[3] = rotate_left(self.s[3], 45)
        return result

    cdef double next_double(self) noexcept nogil:
        return (self.next64() >> 11) * (1.0 / 9007199254740992.0)

    cdef int next_below(self, int n) noexcept nogil:
        # The high half of a 32 x 32 bit product: its bias, at most n / 2**32, is below any use here.
        return <int>(((self.next64() >> 32) * <uint64_t>n) >> 32)

    cpdef Rng clone(self):
        """An independent generator in the same state."""
        cdef Rng copy = Rng.__new__(Rng)
        copy.s = self.s
        return copy

    def uniform(self):
        """A float in [0, 1)."""
        return self.next_double()

    def integer(self, int n):
        """An integer in [0, n). Raises ValueError for n < 1."""
        if n < 1:
            raise ValueError(f"n={n}: expected at least 1")
        return self.next_below(n)

    def bits(self):
        """64 random bits as a non-negative integer, to seed a generator of another library."""
        return self.next64()


cpdef Rng stream(seed, path=()):
    """The stream named by `seed` and `path`, a tuple of non-negative integers."""
    cdef uint64_t key = mix(low_bits(seed) + GOLDEN)
    for part in path:
        key = mix((key ^ <uint64_t>part) + GOLDEN)
    return Rng(key)
