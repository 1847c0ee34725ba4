"""Matrices of SciPy, of GPUs and dense ones as matrices of the library, in place where their types allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from . import _core, _device
from .errors import DimensionError, InvalidArgument, InvalidMatrix

if TYPE_CHECKING:
    from ._types import Real


def value_type(dtype: npt.DTypeLike) -> Real:
    """The type in which Tessera computes with values of `dtype`: float32 for float32 and float16, else float64."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        raise TypeError(f"values of type {dtype}: Tessera computes in real numbers, float32 and float64")
    if dtype.kind not in "biuf":
        raise TypeError(f"values of type {dtype}: numbers are needed")
    return np.float32 if dtype in (np.float32, np.float16) else np.float64


def _csr_of(A: Any) -> Any:
    """`A` itself if it is in compressed sparse rows, else a conversion."""
    if sp.issparse(A):
        return A if A.format == "csr" else A.tocsr()
    dense = np.asarray(A)
    if dense.ndim != 2:
        raise DimensionError(f"A has {dense.ndim} dimensions: a matrix has 2")
    value_type(dense.dtype)
    return sp.csr_array(dense)


def _adopt(A: Any, dtype: Real) -> Any:
    data: Any = np.ascontiguousarray(A.data, dtype=dtype)
    nnz = int(A.indptr[-1]) if len(A.indptr) else 0
    # Room beyond the last entry, which SciPy allows, stays out.
    indices = np.ascontiguousarray(A.indices[:nnz])
    return _core.adopt(A.shape[0], A.shape[1], np.ascontiguousarray(A.indptr), indices, data[:nnz])


def as_matrix(A: Any, dtype: Real | None = None, stream: Any = None) -> Any:
    """`A` for the library.

    Columns and values of a CSR matrix of SciPy stay where they are if the columns have 32 bits and the values are
    float32 or float64; offsets stay if they have 64 bits. The rest is converted. Rows whose columns do not ascend, or
    that repeat a column, are brought in order in a copy; `A` is never changed.

    Parameters
    ----------
    A : sparse matrix or array of SciPy, 2-D array, CSR matrix on a GPU
    dtype : float32 or float64, optional
        Of the values; default: as `value_type`.
    stream : stream of CuPy or PyTorch, or int, optional
        CUDA stream of the work, for a matrix on a GPU. An address must stay valid until the interpreter ends.
    """
    if isinstance(A, (_core.Matrix64, _core.Matrix32)):
        return A
    if _device.is_device_csr(A):
        return _device.adopt_csr(A, stream)
    A = _csr_of(A)
    if A.ndim != 2:
        raise DimensionError(f"A has {A.ndim} dimension: a matrix has 2")
    dtype = value_type(A.dtype) if dtype is None else dtype
    try:
        return _adopt(A, dtype)
    except InvalidMatrix:
        A.check_format(full_check=True)
        if A.has_canonical_format:
            # The flag is SciPy's memory of an earlier look.
            A = type(A)((A.data, A.indices, A.indptr), shape=A.shape)
        if A.has_canonical_format:
            raise
        ordered = A.copy()
        ordered.sum_duplicates()
        return _adopt(ordered, dtype)


def as_csr(arrays: tuple[Any, ...]) -> sp.csr_array:
    """A `scipy.sparse.csr_array` on arrays that the library handed over. Ones where there are no values."""
    rows, cols, indptr, indices, data = arrays
    if data is None:
        data = np.ones(len(indices))
    # SciPy wants one type for both index arrays.
    if len(indices) <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    else:
        indices = indices.astype(np.int64)
    result = sp.csr_array((data, indices, indptr), shape=(rows, cols), copy=False)
    result.has_canonical_format = True
    return result


def dtype_of(core: object) -> Real:
    """The type of the values of an object of the extension."""
    return np.float32 if type(core).__name__.endswith("32") else np.float64


def as_vector(values: Any, size: int, dtype: npt.DTypeLike, name: str, context: _core.Context | None = None) -> Any:
    """A contiguous vector of `size` elements of `dtype`, in place where possible.

    A column vector (size, 1) is taken as a vector. `context` waits for the stream of a vector on a GPU.
    """
    if _device.is_device_array(values):
        return _device.as_vector(values, size, dtype, name, context)
    vector = np.asarray(values)
    if vector.dtype.kind == "c":
        raise TypeError(f"{name} of type {vector.dtype}: Tessera computes in real numbers, float32 and float64")
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise DimensionError(f"{name} has shape {vector.shape}: a vector of {size} elements is needed")
    if len(vector) != size:
        raise DimensionError(f"{name} has {len(vector)} elements, the matrix {size} rows")
    return np.ascontiguousarray(vector, dtype=dtype)


def as_columns(values: Any, size: int, dtype: npt.DTypeLike, name: str) -> npt.NDArray[Any]:
    """Several vectors of `size` elements of `dtype` as the columns of an array without gaps, in place where possible."""
    columns = np.asarray(values)
    if columns.dtype.kind == "c":
        raise TypeError(f"{name} of type {columns.dtype}: Tessera computes in real numbers, float32 and float64")
    if columns.ndim != 2 or columns.shape[0] != size:
        raise DimensionError(f"{name} has shape {columns.shape}: columns of {size} elements are needed")
    columns = np.asarray(columns, dtype=dtype)
    return columns if columns.flags.f_contiguous else np.ascontiguousarray(columns)


def require_word(name: str, word: str, words: Sequence[str]) -> None:
    """Refuses a word that is none of `words`."""
    if word not in words:
        raise InvalidArgument(f'{name} "{word}" is none of {", ".join(words)}')
