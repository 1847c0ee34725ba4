"""Matrices of SciPy, of GPUs and dense ones as matrices of the library, in place where their types allow."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from . import _core, _device
from ._arguments import kind_of, shown
from ._readonly import lend, nothing
from .errors import DimensionError, InvalidArgument, InvalidMatrix, OptionError

if TYPE_CHECKING:
    from ._types import Real


Matrix = (_core.Matrix64, _core.Matrix32)


def value_type(dtype: npt.DTypeLike, name: str = "values") -> Real:
    """The type in which Tessera computes with values of `dtype`: float32 for float32 and float16, else float64."""
    try:
        dtype = np.dtype(dtype)
    except TypeError as error:
        raise OptionError(f"{name}: {error}") from None
    if dtype.kind == "c":
        raise OptionError(f"{name} of type {dtype}: Tessera computes in real numbers, float32 and float64")
    if dtype.kind not in "biuf":
        raise OptionError(f"{name} of type {dtype}: numbers are needed")
    return np.float32 if dtype in (np.float32, np.float16) else np.float64


def is_single(dtype: npt.DTypeLike) -> bool:
    """Whether `dtype` is float32; another one than float64 is refused."""
    kind = value_type(dtype, "dtype")
    if np.dtype(dtype) != kind:
        raise OptionError(f"dtype: expected float64 or float32, got {np.dtype(dtype)}")
    return kind is np.float32


_FOREIGN: tuple[tuple[Callable[[Any], bool], str], ...] = (  # what is often given instead of a matrix, and how it becomes one
    (lambda A: isinstance(A, (str, os.PathLike)), "a path: tessera.read reads matrices"),
    (lambda A: isinstance(A, (list, tuple)),
     "with tuples: edges are for networkx.DiGraph, their files for tessera.read_edges; a dense matrix is a list of lists"),
    (lambda A: hasattr(A, "adj"), "a graph: networkx.to_scipy_sparse_array(graph) is its matrix"),
    (lambda A: hasattr(A, "get_adjacency_sparse"), "a graph: graph.get_adjacency_sparse() is its matrix"),
    (lambda A: type(A).__name__ == "SuperLU", "factors: LinearOperator(lu.shape, matvec=lu.solve) of SciPy is an M"),
    (lambda A: hasattr(A, "aspreconditioner"), "a hierarchy: its aspreconditioner() is an M"),
    (lambda A: callable(A) and not hasattr(A, "__len__"),
     "a function: LinearOperator(shape, matvec=function) of SciPy has a shape, too"),
    (lambda A: True, "no matrix that is known here"),
)


def is_array(values: object) -> bool:
    """Whether NumPy can make an array of `values`, and not item by item."""
    if isinstance(values, (Sequence, memoryview)):
        return not isinstance(values, (str, bytes))
    return any(hasattr(values, name) for name in ("__array__", "__array_interface__", "__array_struct__"))


def as_known(A: Any, name: str = "A") -> Any:
    """`A` itself if it is a sparse matrix, an operator or on a GPU, else a 2-D array."""
    if sp.issparse(A) or isinstance(A, Matrix) or _device.is_device_csr(A):
        return A
    if hasattr(A, "matvec") and hasattr(A, "shape"):
        return A
    if not is_array(A) or isinstance(A, (list, tuple)) and any(isinstance(row, tuple) for row in A):
        raise OptionError(f"{name} is {shown(A)}, {next(advice for is_it, advice in _FOREIGN if is_it(A))}")
    dense = _asarray(A, name)
    if dense.ndim != 2:
        raise DimensionError(f"{name} has shape {dense.shape}: a matrix has 2 dimensions")
    return dense


def _asarray(values: Any, name: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:  # rows of different lengths
        raise InvalidArgument(f"{name}: {error}") from None
    value_type(array.dtype, name)
    return array


def as_array(values: Any, name: str) -> Any:
    """Elements of vectors: an array of NumPy, or on a GPU as it is."""
    if type(values) is np.ndarray and values.dtype.kind == "f" or _device.is_device_array(values):
        return values
    if sp.issparse(values):
        raise OptionError(f"{name} is a sparse matrix of shape {values.shape}: {name}.toarray() is dense")
    if not is_array(values) or len(np.shape(values)) == 0:
        raise OptionError(f"{name} is {shown(values)}: an array is needed")
    return _asarray(values, name)


def refuse_stream(stream: Any) -> None:
    """Refuses a stream for what adopts no matrix on a GPU."""
    if stream is not None:
        raise OptionError("stream is for a matrix that lies on a GPU")


def _csr_of(A: Any) -> Any:
    """`A` itself if it is in compressed sparse rows, else a conversion."""
    if sp.issparse(A):
        return A if A.format == "csr" else A.tocsr()
    return sp.csr_array(A)


def _adopt(A: Any, dtype: Real) -> Any:
    nnz = int(A.indptr[-1]) if len(A.indptr) else 0
    # Room beyond the last entry, which SciPy allows, stays out.
    lent = [
        lend(array, size) if array.dtype == in_place and array.flags.c_contiguous else
        (np.ascontiguousarray(array[:size], copied), nothing)
        for array, size, in_place, copied in ((A.indptr, len(A.indptr), np.int64, None),
                                              (A.indices, nnz, np.int32, None), (A.data, nnz, dtype, dtype))
    ]
    try:
        matrix: Any = _core.adopt(*A.shape, *(view for view, _ in lent))
    except Exception:
        for _, let_write in lent:  # a traceback may keep the views
            let_write()
        raise
    matrix.let_values_be_written = lent[2][1]
    return matrix


def as_matrix(A: Any, dtype: Real | None = None, stream: Any = None, name: str = "A") -> Any:
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
    name : str
        Of `A` in messages.
    """
    A = as_known(A, name)
    if isinstance(A, Matrix):
        return A
    if hasattr(A, "matvec"):
        raise OptionError(f"{name} is {kind_of(A)}, an operator: a matrix is needed, with its entries")
    if _device.is_device_csr(A):
        return _device.adopt_csr(A, stream)
    refuse_stream(stream)
    A = _csr_of(A)
    if A.ndim != 2:
        raise DimensionError(f"{name} has shape {A.shape}: a matrix has 2 dimensions")
    own = value_type(A.dtype, name)
    dtype = own if dtype is None else dtype
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
    vector = as_array(values, name)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise DimensionError(f"{name} has shape {vector.shape}: a vector of {size} elements is needed")
    if len(vector) != size:
        raise DimensionError(f"{name} has {len(vector)} elements, the matrix {size} rows")
    return np.ascontiguousarray(vector, dtype=dtype)


def as_columns(values: Any, size: int, dtype: npt.DTypeLike, name: str) -> npt.NDArray[Any]:
    """Several vectors of `size` elements of `dtype` as the columns of an array without gaps, in place where possible."""
    columns = as_array(values, name)
    if columns.ndim != 2 or columns.shape[0] != size:
        raise DimensionError(f"{name} has shape {columns.shape}: columns of {size} elements are needed")
    columns = np.asarray(columns, dtype=dtype)
    return columns if columns.flags.f_contiguous else np.ascontiguousarray(columns)
