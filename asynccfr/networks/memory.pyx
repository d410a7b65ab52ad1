"""Tensors' memory for kernels."""

from libc.stdint cimport uintptr_t

import torch


cdef float* address(tensor, tuple shape) except? NULL:
    """Where a contiguous float32 tensor on the CPU is; ValueError for another, or another shape."""
    plain = tensor.dtype is torch.float32 and tensor.is_contiguous() and tensor.is_cpu
    if tensor.shape != shape or not plain:
        raise ValueError(
            f"got {tensor.dtype} {list(tensor.shape)} on {tensor.device}, expected contiguous float32 "
            f"{list(shape)} on cpu"
        )
    return <float*><uintptr_t>tensor.data_ptr()


cdef float* zeros(list memory, Py_ssize_t size) except? NULL:
    """Fresh memory that lives as long as the list, aligned for any vector."""
    memory.append(torch.zeros(size))
    return address(memory[-1], (size,))
