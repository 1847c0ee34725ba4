"""Least squares: min ‖A x - b‖² + damp² ‖x‖²."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from . import _core
from ._arguments import assign, count, flag, function, number, require_word
from ._clock import Clock
from ._matrix import as_array, as_vector
from ._plan import Plan
from ._solve import SystemOperator, _first_guess, _limit, _shaped, default_tolerance
from .errors import NotSupported
from .results import Solution

if TYPE_CHECKING:
    from ._types import Fit

_LIMITS = {"time_limit": _limit, "stagnation_window": count, "history_rows": count}
_OPTIONS = {"damp": number, "atol": _limit, "btol": _limit, "conlim": number, "maxiter": count, "history": flag}
_NAMES = (*_OPTIONS, "x0", "precond", "callback", "stream")


def fit(method: str, A: Any, b: Any, x0: Any, precond: str, callback: Any, stream: Any, clock: Clock,
        given: dict[str, Any], limits: dict[str, Any], tolerance: float) -> Solution:
    """Least squares. Options of `given` that are None have their defaults; atol and btol are then `tolerance`, or what
    the type can be expected to reach."""
    require_word("precond", precond, ("none", "jacobi"))
    options = _core.LeastSquaresOptions()
    b, x0 = as_array(b, "b"), None if x0 is None else as_array(x0, "x0")
    system = SystemOperator(A, stream, clock, transpose=True, b=b, x0=x0)
    if isinstance(A, Plan) and not A._core.has_transpose:
        raise NotSupported("least squares need products with the transpose: tessera.Plan(A, transpose=True)")
    options.atol = options.btol = max(tolerance, default_tolerance(system.dtype))
    assign(options, _OPTIONS, {name: value for name, value in given.items() if value is not None})
    assign(options, _LIMITS, limits, _NAMES)
    options.damp = abs(options.damp)
    vector = as_vector(b, system.rows, system.dtype, "b", system.context)
    x, target = _first_guess(x0, b, system.cols, system.dtype, system.context)
    facts = _core.fit(method, system.core, vector, target, options, precond == "jacobi", function("callback", callback))
    return Solution(_shaped(x, b), clock.finish(facts), method, precond, system.kernel)


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
        the same atol asks for more here. Default 1e-6, in float32 1e-5.
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
        ``x, info = ...``; `report` is a `LeastSquaresReport`. Computed in NumPy's common type of A, b and x0.
    """


def _method(name: str, title: str) -> Fit:
    def fitted(A: Any, b: Any, damp: float = 0.0, atol: float | None = None, btol: float | None = None,
               conlim: float = 1e8, maxiter: int | None = None, x0: Any = None, *, precond: str = "none",
               callback: Any = None, history: bool = False, stream: Any = None, **options: Any) -> Solution:
        given = {"damp": damp, "atol": atol, "btol": btol, "maxiter": maxiter, "history": history,
                 "conlim": conlim if number("conlim", conlim) > 0 else math.inf}
        return fit(name, A, b, x0, precond, callback, stream, Clock(), given, options, 1e-6)

    fitted.__name__ = fitted.__qualname__ = name
    fitted.__module__ = "tessera"
    fitted.__doc__ = _DOC.format(title=title)
    return cast("Fit", fitted)


lsmr = _method("lsmr", "LSMR (Fong and Saunders 2011) for least squares: ‖A' r‖ falls with every iteration.")
cgls = _method("cgls", "CGLS (Björck 1996) for least squares: ‖r‖ falls with every iteration.")
