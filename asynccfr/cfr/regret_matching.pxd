cpdef enum Rule:
    SOFTMAX
    REGRET_MATCHING_HIGHEST
    REGRET_MATCHING_UNIFORM
    GREEDY

cdef void policy_from_outputs(Rule rule, const float* outputs, int n, double* policy) noexcept nogil
