"""Products of sparse matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from . import _core
from ._arguments import by_name, count, text
from ._clock import Clock
from ._matrix import as_csr, as_matrix, dtype_of, value_type
from .errors import OptionError
from .report import ProductReport

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from ._types import MatrixLike, Real


def _common_type(A: Any, B: Any) -> Real:
    types = [value_type(each.dtype) if hasattr(each, "dtype") else np.float64 for each in (A, B)]
    return np.float32 if types == [np.float32, np.float32] else np.float64


@overload
def spgemm(A: MatrixLike, B: MatrixLike, *, workflow: str = ..., memory_limit: int = ...,
           report: Literal[False] = ...) -> csr_array: ...
@overload
def spgemm(A: MatrixLike, B: MatrixLike, *, workflow: str = ..., memory_limit: int = ...,
           report: Literal[True]) -> tuple[csr_array, ProductReport]: ...
@by_name
def spgemm(A: MatrixLike, B: MatrixLike, *, workflow: str = "auto", memory_limit: int = 0,
           report: bool = False) -> csr_array | tuple[csr_array, ProductReport]:
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
    clock = Clock()
    dtype = _common_type(A, B)
    left, right = as_matrix(A, dtype), as_matrix(B, dtype, name="B")
    if dtype_of(left) is not dtype_of(right):
        raise OptionError("matrices on a GPU have the same type")
    arrays, facts = _core.multiply(left, right, text("workflow", workflow), count("memory_limit", memory_limit))
    product = as_csr(arrays)
    facts["total_ms"] = clock.total_ms
    return (product, ProductReport(**facts)) if report else product
