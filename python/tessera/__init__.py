"""Tessera in Python: sparse systems, ranks of graphs and sparse products, on matrices of SciPy without a copy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy.typing as npt

from . import _core, errors, report, results, testing
from ._arguments import by_name as _by_name, count as _count, path as _path
from ._centrality import hits, katz
from ._core import IterationInfo
from ._least_squares import cgls, lsmr
from ._matrix import as_csr as _as_csr, is_single as _is_single
from ._pagerank import pagerank
from ._plan import Plan, export_measured_choices, forget_measured_choices, import_measured_choices, kernels
from ._precond import Preconditioner, preconditioners
from ._solve import Solver, bicgstab, cg, chebyshev, gmres, idr, methods, minres, richardson, solve
from ._spgemm import spgemm
from .errors import (BudgetExceeded, CudaError, DeviceUnavailable, DimensionError, Error, InvalidArgument, InvalidMatrix,
                     IoError, NotSupported, OptionError, OutOfMemory, ParseError, SingularMatrix)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

generate = testing.generate
__version__ = _core.build_info()["version"]

__all__ = [
    "BudgetExceeded", "CudaError", "DeviceUnavailable", "DimensionError", "Error", "InvalidArgument",
    "InvalidMatrix", "IoError", "IterationInfo", "NotSupported", "OptionError", "OutOfMemory", "ParseError", "Plan",
    "Preconditioner", "SingularMatrix", "Solver", "bicgstab", "build_info", "cg", "cgls", "chebyshev", "errors",
    "export_measured_choices", "forget_measured_choices", "generate", "get_num_threads", "gmres", "hits", "idr",
    "import_measured_choices", "katz", "kernels", "lsmr", "methods", "minres", "pagerank", "preconditioners",
    "read", "read_edges", "report", "results", "richardson", "set_num_threads", "solve", "spgemm", "testing",
]


def build_info() -> dict[str, str]:
    """Version, commit, compiler and CUDA toolkit of the library."""
    return _core.build_info()


def get_num_threads() -> int:
    """Threads of the host that new work takes: as many as this process may run at once, at most OMP_NUM_THREADS, unless
    `set_num_threads` said otherwise."""
    return _core.get_num_threads()


def set_num_threads(n: int) -> None:
    """Fixes the threads of the host for this process, whatever OMP_NUM_THREADS says.

    Plans, and what is made from them, keep the number that held when their matrix was taken.

    Parameters
    ----------
    n : int
        From 1 to 4096.
    """
    _core.set_num_threads(min(_count("n", n, 1), 2**31 - 1))


@_by_name
def read(path: str | os.PathLike[str], dtype: npt.DTypeLike = "float64") -> csr_array:
    """Reads a matrix of any format that `solve list formats` names; the content of the file decides which.

    Matrix Market, binary files of Tessera, lists of edges, SciPy's `.npz`, NumPy's `.npy`, MATLAB's `.mat`,
    Rutherford-Boeing, PETSc's and AMGX's binary files; gzip and zstd are inflated.

    Parameters
    ----------
    path : str or os.PathLike
        Of a MATLAB file also `"A.mat:NAME"` with the variable that is meant.
    dtype : "float64" or "float32"

    Returns
    -------
    scipy.sparse.csr_array
        Symmetric files are expanded, repeated positions summed; files without values have ones.

    Raises
    ------
    ParseError
        With `file`, `line` and `column`.
    IoError
        With the reason of the system.
    """
    make = _core.read32 if _is_single(dtype) else _core.read64
    return _as_csr(make(_path("path", path)))


@_by_name
def read_edges(path: str | os.PathLike[str], dtype: npt.DTypeLike = "float64") -> tuple[csr_array, list[str]]:
    """Reads a graph from a list of edges: lines "from to" or "from to weight", separated by commas, semicolons, tabs or
    blanks, plain or compressed.

    Parameters
    ----------
    path : str or os.PathLike
    dtype : "float64" or "float32"

    Returns
    -------
    (scipy.sparse.csr_array, list of str)
        Row i holds the out-links of vertex i, whose id is the i-th of the list. Vertices are in the order of their ids
        if all are whole numbers, else in the order of their first appearance.

    Raises
    ------
    ParseError
        With `file`, `line` and `column`.
    IoError
        With the reason of the system.
    """
    make = _core.read_edges32 if _is_single(dtype) else _core.read_edges64
    arrays, labels = make(_path("path", path))
    return _as_csr(arrays), labels
