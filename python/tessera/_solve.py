"""Solutions of A x = b."""

import numpy as np
import scipy.sparse as sp

from . import _core, _device
from ._matrix import as_columns, as_vector, dtype_of, require_word
from ._plan import Plan, _Operator, as_plan
from ._precond import Preconditioner, function_operator
from .errors import DimensionError, InvalidArgument
from .results import Solution, Solutions

METHODS = tuple(_core.methods())
RUNGS = ("cg", "bicgstab", "gmres", "idr")  # of the ladder
MIXED = ("cg", "bicgstab", "gmres", "richardson")  # with corrections in single precision


def _options(rtol, atol, maxiter, history, extra):
    options = _core.SolverOptions()
    options.rtol, options.atol, options.history = rtol, atol, history
    if maxiter is not None:
        options.maxiter = maxiter
    for name, value in extra.items():
        if not hasattr(options, name):
            raise TypeError(f'unexpected keyword argument "{name}"')
        setattr(options, name, value)
    return options


def _operator(A, stream=None):
    """`A` for a solver, the name of its kernel, and what has to stay alive."""
    if isinstance(A, _Operator):
        return A._core, A.info.kernel if isinstance(A, Plan) else A.kind, A
    if not sp.issparse(A) and not _device.is_device_csr(A) and (hasattr(A, "matvec")):
        dtype = np.float32 if getattr(A, "dtype", None) == np.float32 else np.float64
        return function_operator(A, dtype), "function", A
    plan = as_plan(A, stream)
    return plan._core, plan.info.kernel, plan


def _inverse(M, A, dtype):
    """`M` for a solver, and its name."""
    if M is None or (isinstance(M, str) and M == "none"):
        return None, "none", None
    if isinstance(M, str):
        if not isinstance(A, Plan):
            raise InvalidArgument(f'preconditioner "{M}" needs the entries of A, which is a function here')
        M = Preconditioner(A, M)
    if isinstance(M, _Operator):
        if M.dtype != dtype:
            raise InvalidArgument(f"M is of type {M.dtype}, A of type {np.dtype(dtype)}")
        return M._core, getattr(M, "_name", "plan"), M
    if hasattr(M, "matvec"):
        return function_operator(M, dtype), "function", M
    plan = as_plan(M)
    if plan.dtype != dtype:
        return function_operator(M, dtype), "function", M
    return plan._core, "matrix", plan


def _first_guess(x0, b, size, dtype, context):
    """x to begin with, which the solver overwrites: the array to return, and that for the extension."""
    if _device.is_device_array(b):
        x = _device.new_like(b, size, "zeros" if x0 is None else "empty")
        if x0 is not None:
            x[:] = x0
        return x, _device.as_vector(x, size, dtype, "x0", context)
    x = np.zeros(size, dtype) if x0 is None else as_vector(x0, size, dtype, "x0").copy()
    return x, x


def _shaped(x, b):
    """x in the shape of b: SciPy gives a column where it got one."""
    return x.reshape(-1, 1) if isinstance(b, np.ndarray) and b.ndim == 2 else x


class Solver:
    """A method for A x = b with many right-hand sides, one after the other: time steps, Newton steps.

    From the second solve on nothing is allocated but the result.

    Parameters
    ----------
    A : Plan, or what `Plan` takes, or a LinearOperator of SciPy
    method : str
        "cg", "bicgstab", "gmres", "idr", "minres", "chebyshev" or "richardson".
    M : Preconditioner, str, LinearOperator or matrix, optional
        An approximate inverse of A. It is applied from the right by "bicgstab", "gmres" and "idr"; by "gmres" with
        ``side="left"`` from the left.
    rtol, atol : float
        Converged when ‖b - A x‖₂ ≤ max(rtol ‖b‖₂, atol).
    maxiter : int, optional
        Default 10000.
    history : bool
        Record residuals.
    callback : callable, optional
        Called after every iteration with an object of `iteration`, `max_iterations`, `residual`, `target` and
        `seconds`; what it returns, if true, ends the solve with the status "interrupted".
    **options
        `restart` and `side` ("right", "left") of gmres, `spectrum_low` and `spectrum_high` (of chebyshev: bounds of the eigenvalues of M A),
        `time_limit` (seconds), `seed`, `divergence_tolerance`, `stagnation_window`,
        `breakdown_restarts`, `replacement_interval`, `history_rows`.
    """

    def __init__(self, A, method="cg", *, M=None, rtol=1e-8, atol=0.0, maxiter=None, history=False, callback=None,
                 stream=None, **options):
        require_word("method", method, METHODS)
        core, self._kernel, self._A = _operator(A, stream)
        self._dtype = dtype_of(core)
        self._context = getattr(self._A, "_context", None)
        inverse, self._precond, self._M = _inverse(M, self._A, self._dtype)
        kind = _core.Solver64 if self._dtype is np.float64 else _core.Solver32
        self._core = kind(method, core, inverse, _options(rtol, atol, maxiter, history, options), callback)
        self._method, self._size = method, core.rows

    def solve(self, b, x0=None):
        """Solves A x = b.

        Parameters
        ----------
        b : array of n elements
        x0 : array of n elements, optional
            Default zeros.

        Returns
        -------
        Solution
        """
        vector = as_vector(b, self._size, self._dtype, "b", self._context)
        x, target = _first_guess(x0, b, self._size, self._dtype, self._context)
        facts = self._core.solve(vector, target)
        return Solution(_shaped(x, b), facts, self._method, self._precond, self._kernel)


def _has_columns(b):
    """Whether b holds several right-hand sides. (n, 1) is one."""
    return not _device.is_device_array(b) and np.ndim(b) == 2 and np.shape(b)[1] != 1


def _iterate_columns(method, A, b, x0, M, settings, callback, stream=None):
    require_word("method", method, METHODS)
    core, kernel, A = _operator(A, stream)
    dtype = dtype_of(core)
    inverse, precond, M = _inverse(M, A, dtype)
    b = as_columns(b, core.rows, dtype, "b")
    if x0 is None:
        x = np.zeros_like(b)
    else:
        x = as_columns(x0, core.rows, dtype, "x0").copy(order="K")
        if x.shape != b.shape:
            raise DimensionError(f"x0 has shape {x.shape}, b {b.shape}")
    facts = _core.solve_all(method, core, inverse, b, x, settings, callback)
    return Solutions(x, [Solution(x[:, j], each, method, precond, kernel) for j, each in enumerate(facts)])


def _iterate(method, A, b, x0, M, rtol, atol, maxiter, callback, history, options):
    if _has_columns(b):
        return _iterate_columns(method, A, b, x0, M, _options(rtol, atol, maxiter, history, options), callback)
    solver = Solver(A, method, M=M, rtol=rtol, atol=atol, maxiter=maxiter, history=history, callback=callback, **options)
    return solver.solve(b, x0)


_ITERATE_DOC = """{title}

    Parameters
    ----------
    A : sparse matrix of SciPy, Plan, LinearOperator, dense matrix, CSR matrix on a GPU
        {a}
    b : array of n elements
    x0 : array of n elements, optional
        First guess; default zeros.
    rtol, atol : float
        Converged when ‖b - A x‖₂ ≤ max(rtol ‖b‖₂, atol), which is computed from the returned x.
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
        ``x, info = ...`` as with SciPy; `report` says how the solve ended. Computed in the type of A.
        For b of shape (n, k), in the order of C or of Fortran: `Solutions`, with x of that shape and a report per
        column. Columns of "cg", "bicgstab" and "gmres" share each product with A; NumPy arrays alone.
    """


def _method(name, title, a="Any square matrix."):
    def function(A, b, x0=None, *, rtol=1e-8, atol=0.0, maxiter=None, M=None, callback=None, history=True, **options):
        return _iterate(name, A, b, x0, M, rtol, atol, maxiter, callback, history, options)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "tessera"
    function.__doc__ = _ITERATE_DOC.format(title=title, a=a)
    return function


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


def _climb(A, b, x0, method, options, callback, stream):
    plan = as_plan(A, stream)
    vector = as_vector(b, plan.shape[0], plan.dtype, "b", plan._context)
    x, target = _first_guess(x0, b, plan.shape[0], plan.dtype, plan._context)
    facts = _core.climb(plan._core, vector, target, options, method, callback)
    rungs = facts["rungs"]
    best = rungs[facts["rung"]] if rungs else {"method": "none", "precond": "none"}
    return Solution(_shaped(x, b), facts, best["method"], best["precond"], plan.info.kernel)


def _climb_columns(A, b, x0, method, settings, callback, stream):
    """The ladder for the first column; its rung for all others, and the ladder for those that it does not solve."""
    plan = as_plan(A, stream)
    b = as_columns(b, plan.shape[0], plan.dtype, "b")
    guess = np.zeros_like(b) if x0 is None else as_columns(x0, plan.shape[0], plan.dtype, "x0")
    if guess.shape != b.shape:
        raise DimensionError(f"x0 has shape {guess.shape}, b {b.shape}")
    if b.shape[1] == 0:
        return Solutions(b.copy(), [])

    def climb(j, start):
        return _climb(plan, b[:, j], start, method, settings, callback, None)

    found = [climb(0, guess[:, 0])]
    first = found[0].report
    if first.converged and first.method in METHODS:
        rest = _iterate_columns(first.method, plan, b[:, 1:], guess[:, 1:], first.precond, settings, callback)
        for j, each in enumerate(rest.solutions, 1):
            found.append(each if each.converged or each.report.status == "interrupted" else climb(j, each.x))
    else:
        found += [climb(j, guess[:, j]) for j in range(1, b.shape[1])]
    x = np.empty_like(b)
    for j, each in enumerate(found):
        x[:, j] = each.x
        each.x = x[:, j]
    return Solutions(x, found)


def _chosen_method(plan, inverse):
    """CG where A is symmetric with a positive diagonal and M is symmetric, else GMRES."""
    symmetric = not isinstance(inverse, Preconditioner) or inverse.info["is_symmetric"]
    return "cg" if symmetric and plan._core.suits_cg() else "gmres"


def _solve_mixed(A, b, x0, method, precond, settings, callback, stream):
    if isinstance(A, Plan) or not hasattr(A, "astype"):
        raise InvalidArgument("mixed precision makes two plans: A has to be a matrix, which astype() rounds")
    plan = as_plan(A, stream)
    if plan.dtype != np.float64:
        raise InvalidArgument(f"mixed precision is for matrices of type float64, A is of type {plan.dtype}")
    if plan.shape[0] != plan.shape[1]:
        raise DimensionError(f"A is {plan.shape[0]} x {plan.shape[1]}: A x = b needs a square matrix")
    single = as_plan(A.astype(np.float32), stream)
    if isinstance(precond, str) and precond == "auto":
        precond = "jacobi"
    inverse, name, _kept = _inverse(precond, single, np.float32)
    if method == "auto":
        method = "cg" if _chosen_method(plan, _kept) == "cg" else "bicgstab"
    size = plan.shape[0]
    vector = as_vector(b, size, np.float64, "b", plan._context)
    x, target = _first_guess(x0, b, size, np.float64, plan._context)
    facts = _core.solve_mixed(method, plan._core, single._core, inverse, vector, target, settings, callback)
    return Solution(_shaped(x, b), facts, method, name, single.info.kernel)


def solve(A, b, *, method="auto", precond="auto", precision="matrix", rtol=1e-8, atol=0.0, maxiter=None, x0=None,
          callback=None, history=True, stream=None, **options):
    """Solves A x = b.

    With precond "auto" it tries methods in the order of what they should cost: Jacobi, multigrid, sparse direct
    factors, incomplete factors after matching and scaling, until one gives an x that can be trusted.

    Parameters
    ----------
    A : sparse matrix of SciPy, dense matrix, Plan, CSR matrix on a GPU; square
        In place where its types allow, and never changed. A LinearOperator of SciPy with a named method and M.
    b : array of n elements, or (n, 1); or (n, k): k right-hand sides, in the order of C or of Fortran
    method : str
        "auto", "cg", "bicgstab", "gmres", "idr", "minres", "chebyshev", "richardson" or "direct".
    precond : str or Preconditioner
        "auto", "none", "jacobi", "amg", "ilu0", "iluk:K", "ilut:TAU:P", "ilutp:TAU:P", "ic0", "ict:TAU:P",
        "fsai:K:TAU", "spai:LEVEL", or M itself.
    precision : str
        "matrix", the type of A, or "mixed": iterations and preconditioner in float32, residuals and x in float64, with
        "cg", "bicgstab", "gmres" or "richardson" and "jacobi" where `precond` is "auto", for one right-hand side
        (docs/mixed-precision.md).
    rtol, atol : float
        Converged when ‖b - A x‖₂ ≤ max(rtol ‖b‖₂, atol).
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
    require_word("method", method, ("auto", "direct") + METHODS)
    require_word("precision", precision, ("matrix", "mixed"))
    if precision == "mixed":
        if method not in ("auto",) + MIXED:
            raise InvalidArgument(f'precision "mixed" is for "cg", "bicgstab", "gmres" and "richardson", not "{method}"')
        if _has_columns(b):
            raise InvalidArgument(f'precision "mixed" is for one right-hand side, b has shape {np.shape(b)}')
        settings = _options(rtol, atol, maxiter, history, options)
        return _solve_mixed(A, b, x0, method, precond, settings, callback, stream)
    by_ladder = isinstance(precond, str) and precond == "auto" and method in ("auto",) + RUNGS
    if by_ladder and not (hasattr(A, "matvec") and not isinstance(A, Plan)):
        settings = _options(rtol, atol, maxiter, history, options)
        if _has_columns(b):
            return _climb_columns(A, b, x0, method, settings, callback, stream)
        return _climb(A, b, x0, method, settings, callback, stream)
    if hasattr(A, "matvec") and not isinstance(A, Plan):
        if method == "auto":
            raise InvalidArgument("A is a function: name a method, since nothing can be found out about A")
        precond = None if isinstance(precond, str) and precond == "auto" else precond
    else:
        A = as_plan(A, stream)
        if A.shape[0] != A.shape[1]:
            raise DimensionError(f"A is {A.shape[0]} x {A.shape[1]}: A x = b needs a square matrix; "
                                 "tessera.lsmr solves least squares")
        if method == "direct" or precond == "direct":
            method, precond = "richardson" if method in ("auto", "direct") else method, Preconditioner(A, "direct")
        elif isinstance(precond, str) and precond == "auto":
            precond = "jacobi" if method != "minres" or A._core.suits_cg() else "none"
        if isinstance(precond, str) and precond != "none":
            precond = Preconditioner(A, precond)
        if method == "auto":
            method = _chosen_method(A, precond)
    return _iterate(method, A, b, x0, precond, rtol, atol, maxiter, callback, history, options)
