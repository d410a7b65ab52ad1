from asynccfr.exact.private_rules cimport Node, PrivateRules


cdef struct Tree:
    # One player's tables, as the walk sees them.
    int player
    const int* first
    const int* base
    const double* plan
    double* gain


cdef class NodeStack:
    cdef Node* nodes
    cdef Py_ssize_t size, capacity

    cdef Node* push(self) except NULL
    cdef bint pop(self, Node* node) noexcept


cdef class PrivateTree:
    cdef readonly PrivateRules rules
    cdef readonly int player, num_starts, num_rows, num_sequences
    cdef readonly object first, parent, base, plan, gain
    cdef int[::1] first_, parent_, base_
    cdef double[::1] plan_, gain_
    cdef int rows_made, sequences_made

    cdef int start(self, NodeStack stack, bint making) except -1
    cdef int expand(self, const Node* node, NodeStack stack, bint making) except -1
    cdef Tree tables(self)
    cdef void make_row(self, const Node* node, int parent) noexcept
    cdef NodeBatch take(self, NodeStack stack, int size)


cdef class NodeBatch:
    cdef readonly PrivateTree tree
    cdef NodeStack nodes
