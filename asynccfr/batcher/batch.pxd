from asynccfr.batcher.call cimport Call


cdef class Batch:
    cdef readonly object key
    cdef readonly list calls
    cdef readonly str reason
    cdef readonly Py_ssize_t size
    cdef public Py_ssize_t failed
    cdef public object error
    cdef readonly double started, seconds, oldest
    cdef public Py_ssize_t wanted
