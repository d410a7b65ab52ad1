"""Durations in constant memory: 32 buckets to every doubling, so a percentile is within 2 %.

From 1 ns to more than an hour. Two snapshots of one histogram can be subtracted.
"""

from libc.string cimport memcpy

cdef enum:
    BUCKETS = 1280
    PER_DOUBLING = 32


cdef inline int bucket_of(int64_t ns) noexcept:
    cdef int shift = 0
    while ns >> shift >= 2 * PER_DOUBLING:
        shift += 1
    return min(BUCKETS - 1, shift * PER_DOUBLING + <int>(ns >> shift))


cdef inline double middle_us(int bucket) noexcept:
    if bucket < 2 * PER_DOUBLING:
        return bucket * 1e-3
    cdef int shift = bucket // PER_DOUBLING - 1
    cdef int64_t low = <int64_t>(bucket - shift * PER_DOUBLING) << shift
    return (low + 0.5 * (<int64_t>1 << shift)) * 1e-3


cdef class Histogram:
    """How long something took; every attribute but `count` is in microseconds."""

    cdef void add(self, double seconds) noexcept:
        self.buckets[bucket_of(<int64_t>(max(seconds, 0.0) * 1e9))] += 1
        self.count += 1
        self.total += seconds

    cdef double quantile(self, double q) noexcept:
        cdef int64_t left = max(<int64_t>1, <int64_t>(q * self.count + 0.999999))
        cdef int bucket
        if self.count == 0:
            return 0.0
        for bucket in range(BUCKETS):
            left -= self.buckets[bucket]
            if left <= 0:
                return middle_us(bucket)
        return middle_us(BUCKETS - 1)

    def copy(self):
        """A snapshot."""
        cdef Histogram snapshot = Histogram.__new__(Histogram)
        memcpy(snapshot.buckets, self.buckets, sizeof(self.buckets))
        snapshot.count = self.count
        snapshot.total = self.total
        return snapshot

    def __sub__(self, Histogram earlier not None):
        cdef Histogram difference = self.copy()
        cdef int bucket
        for bucket in range(BUCKETS):
            difference.buckets[bucket] -= earlier.buckets[bucket]
        difference.count -= earlier.count
        difference.total -= earlier.total
        return difference

    def percentile(self, double percent):
        """The smallest duration that `percent` of all do not exceed; 0.0 if there are none."""
        return self.quantile(percent / 100)

    def cumulative(self, bounds_us):
        """How many durations are at most each of the ascending bounds, for Prometheus."""
        cdef int64_t below = 0
        cdef int bucket = 0
        counts = []
        for bound in bounds_us:
            while bucket < BUCKETS and middle_us(bucket) <= <double>bound:
                below += self.buckets[bucket]
                bucket += 1
            counts.append(below)
        return counts

    @property
    def mean(self):
        return self.total * 1e6 / self.count if self.count else 0.0

    @property
    def p50(self):
        return self.quantile(0.50)

    @property
    def p95(self):
        return self.quantile(0.95)

    @property
    def p99(self):
        return self.quantile(0.99)

    @property
    def max(self):
        return self.quantile(1.0)

    def __repr__(self):
        return (
            f"<Histogram {self.count} times, p50 {self.p50:.1f} us, p95 {self.p95:.1f} us, "
            f"p99 {self.p99:.1f} us>"
        )
