cdef float* address(tensor, tuple shape) except? NULL
cdef float* zeros(list memory, Py_ssize_t size) except? NULL
