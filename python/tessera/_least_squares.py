"""Least squares: min ‖A x - b‖² + damp² ‖x‖²."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from . import _core
from ._matrix import as_vector, dtype_of, require_word
from ._plan import Plan
from ._precond import function_operator
from ._solve import _first_guess, _shaped
from .errors import NotSupported
from .results import Solution

if TYPE_CHECKING:
    from ._types import Fit


def _with_transpose(A: Any, stream: Any) -> tuple[Any, str, Any]:
    """`A` as an operator with transposed products, and the name of its kernel."""
    if isinstance(A, Plan):
        if not A._core.has_transpose:
            raise NotSupported("least squares need products with the transpose: tessera.Plan(A, transpose=True)")
        return A._core, A.info.kernel, A
    if hasattr(A, "matvec") and hasattr(A, "rmatvec"):
        dtype = np.float32 if getattr(A, "dtype", None) == np.float32 else np.float64
        return function_operator(A, dtype, transposed=True), "function", A
    plan = Plan(A, transpose=True, stream=stream)
    return plan._core, plan.info.kernel, plan


def _fit(method: str, A: Any, b: Any, damp: float, atol: float, btol: float, conlim: float, maxiter: int | None, x0: Any,
         precond: str, callback: Any, history: bool, stream: Any, extra: dict[str, Any]) -> Solution:
    require_word("precond", precond, ("none", "jacobi"))
    options = _core.LeastSquaresOptions()
    options.damp, options.atol, options.btol, options.history = abs(damp), atol, btol, history
    options.conlim = conlim if conlim > 0 else math.inf
    if maxiter is not None:
        options.maxiter = maxiter
    for name, value in extra.items():
        if not hasattr(options, name):
            raise TypeError(f'unexpected keyword argument "{name}"')
        setattr(options, name, value)
    core, kernel, kept = _with_transpose(A, stream)
    dtype, context = dtype_of(core), getattr(kept, "_context", None)
    vector = as_vector(b, core.rows, dtype, "b", context)
    x, target = _first_guess(x0, b, core.cols, dtype, context)
    facts = _core.fit(method, core, vector, target, options, precond == "jacobi", callback)
    return Solution(_shaped(x, b), facts, method, precond, kernel)


_DOC = """{title}

    Minimises ‖A x - b‖² + damp² ‖x‖² for A of any shape and rank. From x0 = 0 and without a preconditioner, x is the
    solution of least norm where there are several.

    Parameters
    ----------
    A : sparse matrix of SciPy, dense matrix, Plan with transpose, LinearOperator with rmatvec, CSR matrix on a GPU; m x n
    b : array of m elements
    damp : float
    atol, btol : float
        With r = (b - A x, -damp x): converged when ‖A' r‖ ≤ atol ‖A‖ ‖r‖ or ‖r‖ ≤ btol ‖b‖, which are computed from the
        returned x. ‖A‖ is a lower bound of the 2-norm from the iteration; that of SciPy estimates the Frobenius norm, so
        the same atol asks for more here.
    conlim : float
        Ends, as "stagnated", when a lower bound of cond(A) exceeds it; 0: never.
    maxiter : int, optional
        Default 10000.
    x0 : array of n elements, optional
        First guess; default zeros. With damp it is one for the damped problem.
    precond : str
        "none", or "jacobi": columns scaled to norm 1 (the norms above are then of the scaled problem).
    callback : callable, optional
        As in `cg`; `residual` is ‖A' r‖.
    history : bool
        Record ‖A' r‖.
    stream : optional
        As in `solve`.
    **options
        `time_limit` (seconds), `stagnation_window`, `history_rows`.

    Returns
    -------
    Solution
        ``x, info = ...``; `report` is a `LeastSquaresReport`. Computed in the type of A.
    """


def _method(name: str, title: str) -> Fit:
    def function(A: Any, b: Any, damp: float = 0.0, atol: float = 1e-6, btol: float = 1e-6, conlim: float = 1e8,
                 maxiter: int | None = None, x0: Any = None, *, precond: str = "none", callback: Any = None,
                 history: bool = False, stream: Any = None, **options: Any) -> Solution:
        return _fit(name, A, b, damp, atol, btol, conlim, maxiter, x0, precond, callback, history, stream, options)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "tessera"
    function.__doc__ = _DOC.format(title=title)
    return cast("Fit", function)


lsmr = _method("lsmr", "LSMR (Fong and Saunders 2011) for least squares: ‖A' r‖ falls with every iteration.")
cgls = _method("cgls", "CGLS (Björck 1996) for least squares: ‖r‖ falls with every iteration.")
