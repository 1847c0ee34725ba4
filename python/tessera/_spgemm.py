"""Products of sparse matrices."""

import numpy as np

from . import _core
from ._matrix import as_csr, as_matrix, dtype_of, value_type
from .report import ProductReport


def _common_type(A, B):
    types = [value_type(each.dtype) if hasattr(each, "dtype") else np.float64 for each in (A, B)]
    return np.float32 if types == [np.float32, np.float32] else np.float64


def spgemm(A, B, *, workflow="auto", memory_limit=0, report=False):
    """C = A B.

    An entry of C exists where at least one product of entries does, even if the sum is 0. C has the same bits for
    every workflow and number of threads.

    Parameters
    ----------
    A, B : sparse matrices of SciPy
        In place where their types allow; float32 only if both are.
    workflow : str
        "auto", "exact", "hll", "cohen", "upper", "sampled", "esc" or "tiles".
    memory_limit : int
        Bytes beside A and B, C included; 0: what the machine has free.
    report : bool
        Also return a `ProductReport`.

    Returns
    -------
    scipy.sparse.csr_array, or (csr_array, ProductReport)
        Its columns and values are memory of the library, not copied.
    """
    dtype = _common_type(A, B)
    left, right = as_matrix(A, dtype), as_matrix(B, dtype)
    if dtype_of(left) is not dtype_of(right):
        raise TypeError("matrices on a GPU have the same type")
    arrays, facts = _core.multiply(left, right, workflow, memory_limit)
    product = as_csr(arrays)
    return (product, ProductReport(**facts)) if report else product
