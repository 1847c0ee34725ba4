"""Solutions of A x = b."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from . import _core, _device
from ._arguments import assign, count, flag, function, number, require_word, text
from ._clock import Clock
from ._matrix import Matrix, as_array, as_columns, as_known, as_matrix, as_vector, dtype_of, refuse_stream, value_type
from ._plan import Plan, _Operator
from ._precond import Preconditioner, function_operator
from .errors import DimensionError, InvalidArgument, NotSupported, OptionError
from .report import table
from .results import Solution, Solutions

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._types import (Callback, Iteration, MatrixLike, OneSide, OtherSide, Sides, SolveOptions, SolverOptions, VectorLike)

METHODS: dict[str, Any] = _core.methods()  # with a line and their own options
RUNGS = ("cg", "bicgstab", "gmres", "idr")  # of the ladder
MIXED = ("cg", "bicgstab", "gmres", "richardson")  # with corrections in single precision
LEAST_SQUARES = ("lsmr", "cgls")
_WORDS = ("auto", *METHODS, "direct", *LEAST_SQUARES)


def _limit(name: str, value: Any) -> float:
    return number(name, value, 0.0)


_OPTIONS = {"rtol": _limit, "atol": _limit, "maxiter": count, "history": flag, "time_limit": _limit,
            "divergence_tolerance": number, "stagnation_window": count, "breakdown_restarts": count,
            "replacement_interval": count, "restart": count, "side": text, "spectrum_low": number,
            "spectrum_high": number, "seed": count, "history_rows": count}


def methods() -> dict[str, str]:
    """Names of methods for `solve`, with a line about each.

    Examples
    --------
    >>> import tessera
    >>> tessera.methods()["cg"]
    'conjugate gradients, for symmetric positive definite matrices'
    """
    return {
        "auto": "tries methods and preconditioners in the order of what they should cost",
        **{name: line for name, (line, _) in METHODS.items()},
        "direct": "sparse direct factors with iterative refinement, on the host",
        "lsmr": "least squares, for matrices of any shape",
        "cgls": "least squares by conjugate gradients, for matrices of any shape",
    }


def default_tolerance(dtype: Any) -> float:
    """rtol where none is given."""
    return _core.default_tolerance32 if dtype == np.float32 else _core.default_tolerance64


def _require_owned(method: str, options: dict[str, Any]) -> None:
    """Refuses options that the method does not use."""
    for name in options:
        owners = [each for each, (_, own) in METHODS.items() if name in own]
        if owners and method not in owners and (method != "auto" or name not in ("restart", "seed")):
            raise OptionError(f'{name} does not apply to "{method}": it belongs to {", ".join(owners)}')


def _options(method: str, dtype: Any, rtol: float | None, atol: float, maxiter: int | None, history: bool,
             extra: dict[str, Any], known: Sequence[str] = ("M", "x0", "callback")) -> _core.SolverOptions:
    """The options of a method; "auto" is the ladder, whose rungs have some of several methods."""
    options = _core.SolverOptions()
    given = {"rtol": rtol if rtol is not None else default_tolerance(dtype), "atol": atol, "history": history, **extra}
    if maxiter is not None:
        given["maxiter"] = maxiter
    assign(options, _OPTIONS, given, known)
    _require_owned(method, extra)
    return options


def is_function(A: Any) -> bool:
    """Whether `A` has products alone, and is none of the extension."""
    return hasattr(A, "matvec") and not isinstance(A, _Operator) and not sp.issparse(A)


def _shape_of(A: Any) -> Any:
    return (A.rows, A.cols) if isinstance(A, Matrix) else A.shape


class SystemOperator:
    """A as an operator of the extension, in the type in which NumPy would compute with A, b and x0."""

    def __init__(self, A: Any, stream: Any = None, clock: Clock | None = None, transpose: bool = False,
                 **vectors: Any) -> None:
        A = as_known(A)
        if _device.is_device_csr(A):
            A = as_matrix(A, stream=stream)
        else:
            refuse_stream(stream)
        types = {name: each.dtype for name, each in vectors.items()
                 if each is not None and not _device.is_device_array(each)}
        own = value_type(dtype_of(A) if isinstance(A, Matrix) else A.dtype or np.float64, "A")
        if isinstance(A, (Matrix, _Operator)):
            require_type(f"A is a {type(A).__name__}", own, types)
        self.dtype = own if isinstance(A, (Matrix, _Operator)) else value_type(np.result_type(own, *types.values()))
        self.is_function = is_function(A)
        if isinstance(A, _Operator):
            self.core, self.kernel, self.kept = A._core, A.info.kernel if isinstance(A, Plan) else A.kind, A
        elif self.is_function:
            self.core, self.kernel, self.kept = function_operator(A, self.dtype), "function", A
        else:
            self.kept = Plan(as_matrix(A, self.dtype, stream), transpose=transpose, stream=stream)
            self.core, self.kernel = self.kept._core, self.kept.info.kernel
            if clock is not None:
                clock.lap("plan")
        self.context = getattr(self.kept, "_context", None)
        self.rows, self.cols = self.core.rows, self.core.cols

    def require_square(self) -> None:
        """Refuses other shapes."""
        if self.rows != self.cols:
            raise DimensionError(f"A is {self.rows} x {self.cols}: A x = b needs a square matrix; tessera.lsmr solves least "
                                 "squares")


def require_type(what: str, dtype: Any, types: dict[str, Any]) -> None:
    """Refuses vectors with which NumPy would compute in another type."""
    for name, each in types.items():
        if value_type(np.result_type(dtype, each), name) != dtype:
            raise InvalidArgument(f"{what} of type {np.dtype(dtype)}, {name} of type {each}: pass {name}.astype(np.float32), "
                                  "or A.astype(np.float64)")


def _inverse(M: Any, system: SystemOperator, clock: Clock | None = None) -> tuple[Any, str, Any]:
    """`M` for a solver, its name, and what has to stay alive."""
    if M is None or (isinstance(M, str) and M == "none"):
        return None, "none", None
    if isinstance(M, str):
        if not isinstance(system.kept, Plan):
            raise InvalidArgument(f'preconditioner "{M}" needs the entries of A, which is a function here')
        M = Preconditioner(system.kept, M)
        if clock is not None:
            clock.lap("preconditioner")
    M = as_known(M, "M")
    if isinstance(M, _Operator):
        if M.dtype != system.dtype:
            raise InvalidArgument(f"M is of type {M.dtype}, A x = b of type {np.dtype(system.dtype)}")
        return M._core, getattr(M, "_name", "plan"), M
    if is_function(M):
        return function_operator(M, system.dtype), "function", M
    plan = Plan(as_matrix(M, system.dtype, name="M"))
    if clock is not None:
        clock.lap("preconditioner")
    return plan._core, "matrix", plan


def _first_guess(x0: Any, b: Any, size: int, dtype: Any, context: _core.Context | None) -> tuple[Any, Any]:
    """x to begin with, which the solver overwrites: the array to return, and that for the extension."""
    if _device.is_device_array(b):
        x = _device.new_like(b, size, "zeros" if x0 is None else "empty")
        if x0 is not None:
            x[:] = x0
        return x, _device.as_vector(x, size, dtype, "x0", context)
    x = np.zeros(size, dtype) if x0 is None else as_vector(x0, size, dtype, "x0").copy()
    return x, x


def _shaped(x: Any, b: Any) -> Any:
    """x in the shape of b, which may be a column."""
    return x.reshape(-1, 1) if isinstance(b, np.ndarray) and b.ndim == 2 else x


class Solver:
    """A method for A x = b with many right-hand sides, one after the other: time steps, Newton steps.

    From the second solve on nothing is allocated but the result. Solves of several threads take turns; one by the
    callback of another is refused.

    Parameters
    ----------
    A : Plan, or what `Plan` takes, or a LinearOperator of SciPy
    method : str
        "cg", "bicgstab", "gmres", "idr", "minres", "chebyshev" or "richardson".
    M : Preconditioner, str, LinearOperator or matrix, optional
        An approximate inverse of A. It is applied from the right by "bicgstab", "gmres" and "idr"; by "gmres" with
        ``side="left"`` from the left.
    rtol, atol : float
        Converged when ‖b - A x‖₂ ≤ max(rtol ‖b‖₂, atol). Default of rtol: 1e-8, in float32 1e-5.
    maxiter : int, optional
        Default 10000.
    history : bool
        Record residuals.
    callback : callable, optional
        Called after every iteration with an object of `iteration`, `max_iterations`, `residual`, `target` and
        `seconds`; what it returns, if true, ends the solve with the status "interrupted".
    **options
        `restart` and `side` ("right", "left") of gmres, `spectrum_low` and `spectrum_high` of chebyshev (bounds of the
        eigenvalues of M A), `seed` of bicgstab and idr; of all methods `time_limit` (seconds), `divergence_tolerance`,
        `stagnation_window`, `breakdown_restarts`, `replacement_interval`, `history_rows`. Those of other methods are
        refused.

    Attributes
    ----------
    times_ms : dict
        Wall-clock milliseconds of "plan" and "preconditioner"; None for what existed before.
    """

    def __init__(self, A: MatrixLike, method: str = "cg", *, M: str | MatrixLike | None = None,
                 rtol: float | None = None, atol: float = 0.0, maxiter: int | None = None, history: bool = False,
                 callback: Callback | None = None, stream: Any = None, **options: Unpack[SolverOptions]) -> None:
        require_word("method", method, METHODS)
        clock = Clock()
        system = SystemOperator(A, stream, clock)
        settings = _options(method, system.dtype, rtol, atol, maxiter, history, {**options})
        self._given: dict[str, Any] = {"rtol": rtol, "atol": atol, "maxiter": maxiter, "history": history,
                                       "callback": callback, **options}
        self._set_up(system, method, _inverse(M, system, clock), settings, callback)
        self.times_ms = {"plan": None, "preconditioner": None, **clock.times_ms}

    def _set_up(self, system: SystemOperator, method: str, inverse: tuple[Any, str, Any], settings: _core.SolverOptions,
                callback: Callback | None) -> None:
        M, self._precond, self._M = inverse
        kind = _core.Solver64 if system.dtype is np.float64 else _core.Solver32
        self._core = kind(method, system.core, M, settings, function("callback", callback))
        self._system, self._method = system, method

    @overload
    def solve(self, b: OneSide, x0: VectorLike | None = None) -> Solution: ...
    @overload
    def solve(self, b: OtherSide, x0: VectorLike | None = None) -> Solution[Any]: ...
    def solve(self, b: Any, x0: Any = None) -> Solution[Any]:
        """Solves A x = b.

        Parameters
        ----------
        b : array of n elements
        x0 : array of n elements, optional
            Default zeros.

        Returns
        -------
        Solution
            `report.times_ms` has the time of this solve; `times_ms` of the solver those of its set-up.
        """
        return self._timed(b, x0, False)

    @overload
    def solve_transposed(self, b: OneSide, x0: VectorLike | None = None) -> Solution: ...
    @overload
    def solve_transposed(self, b: OtherSide, x0: VectorLike | None = None) -> Solution[Any]: ...
    def solve_transposed(self, b: Any, x0: Any = None) -> Solution[Any]:
        """Solves Aᵀ x = b by M as it was set up, transposed: no new factors, no new hierarchy.

        The first call forms Aᵀ and vectors: the memory of A and of the solver once more, O(nnz) work. What M then makes is
        in docs/solving.md.

        Parameters
        ----------
        b : array of n elements
        x0 : array of n elements, optional
            Default zeros.

        Returns
        -------
        Solution
            Its residual is that of b - Aᵀ x.

        Raises
        ------
        NotSupported
            Where A or M is an operator without `rmatvec`, or M has no transpose: with the K-cycle of "amg" for A that is
            not symmetric, and on a GPU incomplete LU factors and "amg" for such A.
        """
        for name, each in (("A", self._system.kept), ("M", self._M)):
            if isinstance(each, Plan):
                each._core.prepare_transpose()
            elif each is not None and not hasattr(each, "rmatvec"):
                raise NotSupported(f"{name} has no rmatvec, which multiplies by its transpose")
        return self._timed(b, x0, True)

    def __repr__(self) -> str:
        M = "" if self._M is None else f", M={self._M!r}"
        return f"Solver({self._method}, {self._system.kept!r}{M})"

    def _repr_html_(self) -> str:
        return table([("method", self._method), ("A", repr(self._system.kept)),
                      ("M", self._precond if self._M is None else repr(self._M))])

    def __reduce__(self) -> tuple[Any, ...]:
        """A, M and the options: a copy is set up anew."""
        return functools.partial(type(self), M=self._M, **self._given), (self._system.kept, self._method)

    def _timed(self, b: Any, x0: Any, transposed: bool) -> Solution[Any]:
        begin = time.perf_counter()
        solution = self._solve(as_array(b, "b"), None if x0 is None else as_array(x0, "x0"), transposed)
        solution._facts["total_ms"] = 1e3 * (time.perf_counter() - begin)
        return solution

    def _solve(self, b: Any, x0: Any, transposed: bool = False) -> Solution[Any]:
        system = self._system
        for name, each in (("b", b), ("x0", x0)):
            if each is not None and each.dtype != system.dtype and not _device.is_device_array(each):
                require_type("A is", system.dtype, {name: each.dtype})
        vector = as_vector(b, system.rows, system.dtype, "b", system.context)
        x, target = _first_guess(x0, b, system.rows, system.dtype, system.context)
        facts = self._core.solve(vector, target, transposed)
        return Solution(_shaped(x, b), facts, self._method, self._precond, system.kernel)


def _has_columns(b: Any) -> bool:
    """Whether b holds several right-hand sides. (n, 1) is one."""
    return not _device.is_device_array(b) and b.ndim == 2 and b.shape[1] != 1


def _columns(system: SystemOperator, b: Any, x0: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """b and x to begin with, as columns."""
    b = as_columns(b, system.rows, system.dtype, "b")
    if x0 is None:
        return b, np.zeros_like(b)
    x = as_columns(x0, system.rows, system.dtype, "x0").copy(order="K")
    if x.shape != b.shape:
        raise DimensionError(f"x0 has shape {x.shape}, b {b.shape}")
    return b, x


def _inverse_in_time(M: Any, system: SystemOperator, settings: _core.SolverOptions, clock: Clock) -> tuple[Any, str, Any]:
    """`_inverse`, to which the limit of time applies, too: after it nothing is iterated."""
    inverse = _inverse(M, system, clock)
    settings.time_limit = max(0.0, settings.time_limit - clock.total_ms / 1e3)
    if settings.time_limit == 0 and "preconditioner" in clock.times_ms:
        settings.maxiter = 0
    return inverse


def _finish(facts: dict[str, Any], settings: _core.SolverOptions, clock: Clock | None = None) -> dict[str, Any]:
    """The facts of a solve after `_inverse_in_time`."""
    if settings.time_limit == settings.maxiter == 0 and facts["status"] == "max_iterations":
        facts["status"] = "time_limit"
        facts["reason"] = "time limit passed while the preconditioner was set up" + facts["reason"][facts["reason"].find(";"):]
    return facts if clock is None else clock.finish(facts)


def _iterate_columns(method: str, system: SystemOperator, b: Any, x0: Any, M: Any, settings: _core.SolverOptions, callback: Any,
                     clock: Clock, names: tuple[str, str] | None = None) -> Solutions:
    inverse, precond, M = _inverse_in_time(M, system, settings, clock)
    b, x = _columns(system, b, x0)
    facts = _core.solve_all(method, system.core, inverse, b, x, settings, function("callback", callback))
    clock.lap("solve")
    names = names or (method, precond)
    solutions = [Solution(x[:, j], _finish(each, settings), *names, system.kernel) for j, each in enumerate(facts)]
    return Solutions(x, solutions, clock.times_ms, clock.total_ms)


def _iterate(method: str, system: SystemOperator, b: Any, x0: Any, M: Any, settings: _core.SolverOptions, callback: Any,
             clock: Clock, names: tuple[str, str] | None = None) -> Solution[Any] | Solutions:
    """Solves by a method; `names` of method and preconditioner are for the report."""
    if _has_columns(b):
        return _iterate_columns(method, system, b, x0, M, settings, callback, clock, names)
    solver = Solver.__new__(Solver)
    solver._set_up(system, method, _inverse_in_time(M, system, settings, clock), settings, callback)
    solver._method, solver._precond = names or (method, solver._precond)
    solution = solver._solve(b, x0)
    _finish(solution._facts, settings, clock)
    return solution


_ITERATE_DOC = """{title}

    Parameters
    ----------
    A : sparse matrix of SciPy, Plan, LinearOperator, dense matrix, CSR matrix on a GPU
        {a}
    b : array of n elements
    x0 : array of n elements, optional
        First guess; default zeros.
    rtol, atol : float
        Converged when ‖b - A x‖₂ ≤ max(rtol ‖b‖₂, atol), which is computed from the returned x. Default of rtol: 1e-8, in
        float32 1e-5.
    maxiter : int, optional
        Default 10000.
    M : Preconditioner, str, LinearOperator or matrix, optional
        Approximate inverse of A.
    callback : callable, optional
        Gets an object of `iteration`, `residual`, `target`, `seconds`, not x; a true answer stops the solve.
    history : bool
        Record residuals.
    **options
        As `Solver`.

    Returns
    -------
    Solution
        ``x, info = ...`` as with SciPy; `report` says how the solve ended. Computed in NumPy's common type of A, b and x0.
        For b of shape (n, k), in the order of C or of Fortran: `Solutions`, with x of that shape and a report per
        column. Columns of "cg", "bicgstab" and "gmres" share each product with A; NumPy arrays alone.
    """


def _method(name: str, title: str, a: str = "Any square matrix.") -> Iteration:
    def solver(A: Any, b: Any, x0: Any = None, *, rtol: float | None = None, atol: float = 0.0,
               maxiter: int | None = None, M: Any = None, callback: Callback | None = None, history: bool = True,
               stream: Any = None, **options: Any) -> Solution[Any] | Solutions:
        clock = Clock()
        b, x0 = as_array(b, "b"), None if x0 is None else as_array(x0, "x0")
        system = SystemOperator(A, stream, clock, b=b, x0=x0)
        settings = _options(name, system.dtype, rtol, atol, maxiter, history, options)
        return _iterate(name, system, b, x0, M, settings, callback, clock)

    solver.__name__ = solver.__qualname__ = name
    solver.__module__ = "tessera"
    solver.__doc__ = _ITERATE_DOC.format(title=title, a=a)
    return cast("Iteration", solver)


cg = _method("cg", "Conjugate gradients (Hestenes and Stiefel 1952).", "Symmetric positive definite; so is M.")
bicgstab = _method("bicgstab", "BiCGSTAB (van der Vorst 1992), preconditioned from the right.")
gmres = _method("gmres", "GMRES(m) (Saad and Schultz 1986), flexible (Saad 1993) and preconditioned from the right; from the "
                "left with `side=\"left\"`, as SciPy's.")
idr = _method("idr", "IDR(4) (Sonneveld and van Gijzen 2008), preconditioned from the right.")
minres = _method("minres", "MINRES (Paige and Saunders 1975).",
                 "Symmetric, indefinite or singular too; M is symmetric positive definite.")
chebyshev = _method("chebyshev", "Chebyshev iteration; `spectrum_low` and `spectrum_high` bound the eigenvalues of M A.",
                    "Symmetric positive definite; so is M.")
richardson = _method("richardson", "Richardson iteration x = x + M (b - A x).")


def _climb(system: SystemOperator, b: Any, x0: Any, method: str, options: _core.SolverOptions, callback: Any,
           clock: Clock | None = None) -> Solution[Any]:
    began = time.perf_counter()
    vector = as_vector(b, system.rows, system.dtype, "b", system.context)
    x, target = _first_guess(x0, b, system.rows, system.dtype, system.context)
    facts = _core.climb(system.core, vector, target, options, method, function("callback", callback))
    rungs = facts["rungs"]
    best = rungs[facts["rung"]] if rungs else {"method": "none", "precond": "none"}
    spent = 1e3 * (time.perf_counter() - began)
    times = facts["times_ms"]
    times["preconditioner"], times["solve"] = (sum(rung[each] for rung in rungs) for each in ("setup_ms", "solve_ms"))
    times["analysis"] = spent - times["preconditioner"] - times["solve"]
    facts["total_ms"] = spent
    if clock is not None:
        clock.finish(facts)
    return Solution(_shaped(x, b), facts, best["method"], best["precond"], system.kernel)


def _climb_columns(system: SystemOperator, b: Any, x0: Any, method: str, settings: _core.SolverOptions, callback: Any,
                   clock: Clock) -> Solutions:
    """The ladder for the first column; its rung for all others, and the ladder for those that it does not solve."""
    b, guess = _columns(system, b, x0)
    if b.shape[1] == 0:
        return Solutions(b.copy(), [], clock.times_ms, clock.total_ms)
    times = clock.times_ms

    def add(more: dict[str, float | None]) -> None:
        for phase, ms in more.items():
            if ms is not None:
                times[phase] = (times.get(phase) or 0.0) + ms

    def climb(j: int, start: Any) -> Solution[Any]:
        solution = _climb(system, b[:, j], start, method, settings, callback)
        add(solution._facts["times_ms"])
        return solution

    found = [climb(0, guess[:, 0])]
    first = found[0].report
    if first.converged and first.method in METHODS and b.shape[1] > 1:
        own = Clock()
        rest = _iterate_columns(first.method, system, b[:, 1:], guess[:, 1:], first.precond, settings, callback, own)
        add(own.times_ms)
        for j, each in enumerate(rest.solutions, 1):
            found.append(each if each.converged or each.report.status == "interrupted" else climb(j, each.x))
    else:
        found += [climb(j, guess[:, j]) for j in range(1, b.shape[1])]
    x = np.empty_like(b)
    for j, each in enumerate(found):
        x[:, j] = each.x
        each.x = x[:, j]
    return Solutions(x, found, times, clock.total_ms)


def _chosen_method(plan: Plan, inverse: Any) -> str:
    """CG where A is symmetric with a positive diagonal and M is symmetric, else GMRES."""
    symmetric = not isinstance(inverse, Preconditioner) or inverse.info["is_symmetric"]
    return "cg" if symmetric and plan._core.suits_cg() else "gmres"


def _solve_mixed(A: Any, b: Any, x0: Any, method: str, precond: Any, settings: _core.SolverOptions, callback: Any,
                 stream: Any, clock: Clock) -> Solution[Any]:
    if isinstance(A, _Operator) or not hasattr(A, "astype"):
        raise InvalidArgument("mixed precision makes two plans: A has to be a matrix, which astype() rounds")
    system = SystemOperator(A, stream, clock, b=b, x0=x0)
    if system.dtype != np.float64:
        raise InvalidArgument(f"mixed precision is for systems of type float64, this one is of type {np.dtype(system.dtype)}")
    system.require_square()
    single = SystemOperator(A.astype(np.float32), stream, clock)
    if isinstance(precond, str) and precond == "auto":
        precond = "jacobi"
    inverse, name, _kept = _inverse_in_time(precond, single, settings, clock)
    if method == "auto":
        method = "cg" if _chosen_method(system.kept, _kept) == "cg" else "bicgstab"
    vector = as_vector(b, system.rows, np.float64, "b", system.context)
    x, target = _first_guess(x0, b, system.rows, np.float64, system.context)
    facts = _core.solve_mixed(method, system.core, single.core, inverse, vector, target, settings,
                              function("callback", callback))
    return Solution(_shaped(x, b), _finish(facts, settings, clock), method, name, single.kernel)


@overload
def solve(A: MatrixLike, b: OneSide, **options: Unpack[SolveOptions]) -> Solution: ...
@overload
def solve(A: MatrixLike, b: Sides, **options: Unpack[SolveOptions]) -> Solutions: ...  # type: ignore[overload-overlap]
@overload
def solve(A: MatrixLike, b: OtherSide, **options: Unpack[SolveOptions]) -> Solution[Any]: ...
def solve(A: Any, b: Any, *, method: str = "auto", precond: Any = "auto", precision: str = "matrix",
          rtol: float | None = None, atol: float = 0.0, maxiter: int | None = None, x0: Any = None,
          callback: Callback | None = None, history: bool = True, stream: Any = None,
          **options: Any) -> Solution[Any] | Solutions:
    """Solves A x = b.

    With precond "auto" it tries methods in the order of what they should cost: Jacobi, multigrid, sparse direct
    factors, incomplete factors after matching and scaling, until one gives an x that can be trusted.

    Parameters
    ----------
    A : sparse matrix of SciPy, dense matrix, Plan, CSR matrix on a GPU
        In place where its types allow, and never changed. A LinearOperator of SciPy with a named method and M. With
        method "auto" and another number of rows than of columns it is solved in the sense of least squares, by `lsmr`.
    b : array of n elements, or (n, 1); or (n, k): k right-hand sides, in the order of C or of Fortran
    method : str
        A name of `tessera.methods()`.
    precond : str or Preconditioner
        "auto", a name of `tessera.preconditioners()`, with parameters as in "ilut:1e-3:20", or M itself.
    precision : str
        "matrix", the type of A, or "mixed": iterations and preconditioner in float32, residuals and x in float64, with
        "cg", "bicgstab", "gmres" or "richardson" and "jacobi" where `precond` is "auto", for one right-hand side
        (docs/mixed-precision.md).
    rtol, atol : float
        Converged when ‖b - A x‖₂ ≤ max(rtol ‖b‖₂, atol). Default of rtol: 1e-8, in float32 1e-5.
    maxiter : int, optional
        Of all attempts together; default 10000.
    x0 : array of n elements, optional
        First guess; default zeros.
    callback : callable, optional
        As in `cg`.
    history : bool
        Record residuals.
    stream : stream of CuPy or PyTorch, or int, optional
        CUDA stream of the work, for a matrix on a GPU; default: that of its arrays. An address must stay valid until
        the interpreter ends.
    **options
        As `Solver`.

    Returns
    -------
    Solution
        `x`, for every status the best iterate, and `report`. Not to converge is a status, no exception.
        For b of shape (n, k) `Solutions`: x of that shape and a report per column. The attempts of "auto" are made for
        the first column; the one that solved it serves the others, and columns that it does not solve make their own.

    Raises
    ------
    DimensionError, InvalidMatrix, InvalidArgument, OutOfMemory
        For input that cannot be worked with.

    Examples
    --------
    >>> import numpy as np, tessera
    >>> A = tessera.testing.generate("poisson2d:30")
    >>> tessera.solve(A, A @ np.ones(900)).report.status
    'converged'
    """
    require_word("method", method, _WORDS)
    require_word("precision", precision, ("matrix", "mixed"))
    clock = Clock()
    A, b, x0 = as_known(A), as_array(b, "b"), None if x0 is None else as_array(x0, "x0")
    word = precond if isinstance(precond, str) else None

    def settings_for(method: str, dtype: Any) -> _core.SolverOptions:
        return _options(method, dtype, rtol, atol, maxiter, history, options, ("precond", "x0", "callback", "stream"))

    if precision == "mixed":
        if method not in ("auto",) + MIXED:
            raise InvalidArgument(f'precision "mixed" is for "cg", "bicgstab", "gmres" and "richardson", not "{method}"')
        if _has_columns(b):
            raise InvalidArgument(f'precision "mixed" is for one right-hand side, b has shape {b.shape}')
        settings = settings_for(method, np.float64)
        return _solve_mixed(A, b, x0, method, precond, settings, callback, stream, clock)
    if method in LEAST_SQUARES or method == "auto" and _shape_of(A)[0] != _shape_of(A)[1]:
        from . import _least_squares

        method = "lsmr" if method == "auto" else method
        if number("atol", atol):
            raise OptionError(f'atol does not apply to "{method}", which solves least squares; that of tessera.{method} has '
                              "another meaning")
        rtol = None if rtol is None else _limit("rtol", rtol)
        return _least_squares.fit(method, A, b, x0, "none" if word == "auto" else precond, callback, stream, clock,
                                  {"atol": rtol, "btol": rtol, "maxiter": maxiter, "history": history}, options, 0.0)
    system = SystemOperator(A, stream, clock, b=b, x0=x0)
    system.require_square()
    is_plan = isinstance(system.kept, Plan)
    if word == "auto" and method in ("auto",) + RUNGS and is_plan:
        climb = _climb_columns if _has_columns(b) else _climb
        return climb(system, b, x0, method, settings_for(method, system.dtype), callback, clock)
    if method == "auto" and not is_plan:
        raise InvalidArgument("A is a function: name a method, since nothing can be found out about A")
    is_direct = method == "direct" or method == "auto" and word == "direct"
    if is_direct and word not in ("auto", "direct"):
        raise OptionError('precond does not apply to "direct": method="richardson" iterates a preconditioner')
    settings = settings_for("direct" if is_direct else method, system.dtype)
    if is_direct:  # refined, as by the command
        method, precond, settings.maxiter = "richardson", "direct", min(settings.maxiter, 10)
        settings.stagnation_window = settings.stagnation_window or 3
    elif word == "auto":
        precond = "jacobi" if is_plan and (method != "minres" or system.core.suits_cg()) else "none"
        clock.lap("analysis")
    if method == "auto":
        if isinstance(precond, str) and precond != "none":
            precond = Preconditioner(system.kept, precond)
            clock.lap("preconditioner")
        method = _chosen_method(system.kept, precond)
        clock.lap("analysis")
        _require_owned(method, options)
    return _iterate(method, system, b, x0, precond, settings, callback, clock, ("direct", "none") if is_direct else None)
