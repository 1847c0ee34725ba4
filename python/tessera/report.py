"""Reports of solves, ranks and products, as dataclasses that print well and show themselves in notebooks."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class History:
    """Residuals of a solve, one element per recorded iteration.

    Attributes
    ----------
    iteration : ndarray of int64
    seconds : ndarray
        Since the solve began.
    residual : ndarray
        Norm of the recurrence's residual; of PageRank, change of the ranks.
    true_residual : ndarray
        ‖b - A x‖₂ where it was computed, else NaN.
    """

    iteration: npt.NDArray[np.int64]
    seconds: npt.NDArray[np.float64]
    residual: npt.NDArray[np.float64]
    true_residual: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.iteration)

    def __repr__(self) -> str:
        return f"History({counted(len(self), 'row')})"


def counted(count: int, one: str, many: str = "") -> str:
    """"1 iteration", "2 iterations"."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def table(rows: Iterable[tuple[str, object]]) -> str:
    """Rows of names and values as HTML."""
    cells = "".join(f"<tr><th style='text-align:left'>{html.escape(str(name))}</th>"
                    f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>"


def _plain(value: Any) -> Any:
    """`value` of what JSON knows: arrays as lists, numbers that are not finite as None."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Facts:
    """Base of objects that show themselves as tables, of the rows that their `_rows` names."""

    def _rows(self) -> Iterator[tuple[str, object]]:
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join(f"{name:<11} {value}" for name, value in self._rows())

    def _repr_html_(self) -> str:
        return table(self._rows())

    def to_dict(self) -> dict[str, Any]:
        """All fields for `json.dumps`: arrays are lists, and numbers that are not finite None."""
        fields: dict[str, Any] = _plain(dataclasses.asdict(self))  # type: ignore[call-overload]
        return fields


class _Report(_Facts):
    """Base of reports of iterations."""

    status: str
    iterations: int
    history: History | None
    _curve_label = "residual"

    def _target(self) -> float | None:
        return None

    @property
    def converged(self) -> bool:
        """Whether the tolerance holds."""
        return self.status == "converged"

    def ending(self) -> str:
        """"converged after 7 iterations"."""
        return f"{self.status} after {counted(self.iterations, 'iteration')}"

    def _repr_html_(self) -> str:
        curve = ""
        if self.history is not None:
            curve = _svg.convergence(self.history.iteration, self.history.residual, self._target(), self._curve_label)
        return super()._repr_html_() + curve

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draws the curve of convergence with matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Default: the current ones.
        **style
            For `Axes.semilogy`.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            Without matplotlib.
        ValueError
            Without a history: the solve was asked for none.
        """
        if self.history is None:
            raise ValueError("no history was kept: solve with history=True")
        from matplotlib import pyplot

        ax = pyplot.gca() if ax is None else ax
        ax.semilogy(self.history.iteration, self.history.residual, **style)
        if self._target():
            ax.axhline(self._target(), linestyle="--", linewidth=1, color="tab:red")
        ax.set_xlabel("iteration")
        ax.set_ylabel(self._curve_label)
        return ax


def _ms(ms: float) -> str:
    return f"{ms:.3g} ms" if ms < 1000 else f"{ms:.0f} ms"


def _times(times_ms: dict[str, float | None], total_ms: float | None) -> str:
    known = [(name, ms) for name, ms in (*times_ms.items(), ("total", total_ms)) if ms is not None]
    return ", ".join(f"{name} {_ms(ms)}" for name, ms in known)


@dataclasses.dataclass(frozen=True)
class SolveReport(_Report):
    """How a solve ended.

    Attributes
    ----------
    status : str
        "converged", "max_iterations", "time_limit", "breakdown", "diverged", "stagnated", "not_finite" or
        "interrupted". "converged" is said only after ‖b - A x‖₂ was computed from the returned x.
    reason : str
        The inequality that ended the solve, with numbers.
    method, precond, kernel : str
        What was used.
    iterations, products, restarts : int
        Iterations, products with A, restarts after breakdowns.
    residual, recurrence_residual : float
        ‖b - A x‖₂, and the norm that the recurrence believes in.
    b_norm, r0_norm, target : float
        ‖b‖₂, ‖b - A x₀‖₂, and what the residual had to reach.
    breakdown : str
        The quantity that vanished, or "none".
    backward_error : float or None
        Componentwise (Oettli and Prager); only of `solve` with method and precond "auto".
    history : History or None
    times_ms : dict
        Wall-clock milliseconds of the call by phase: "plan" (of A, with conversions), "preconditioner", "solve", and of
        the ladder, whose rungs are summed up, "analysis". None: the phase is not part of the call, or not measured.
    total_ms : float or None
        Wall-clock milliseconds of the whole call; None for a column of several right-hand sides.
    rungs : tuple of dict
        What `solve` tried, in order.
    proof : str
        Why the matrix has no inverse, where that was found.
    single_iterations : int
        Of `iterations`, those in single precision; only with precision "mixed".
    fallback : str
        Why double precision took over from single; empty where it did not.
    """

    status: str
    reason: str
    method: str
    precond: str
    kernel: str
    iterations: int
    products: int
    restarts: int
    residual: float
    recurrence_residual: float
    b_norm: float
    r0_norm: float
    target: float
    breakdown: str = "none"
    backward_error: float | None = None
    history: History | None = None
    times_ms: dict[str, float | None] = dataclasses.field(default_factory=dict)
    total_ms: float | None = None
    rungs: tuple[dict[str, Any], ...] = ()
    proof: str = ""
    single_iterations: int = 0
    fallback: str = ""

    @property
    def info(self) -> int:
        """As SciPy's `info`: 0 converged, above 0 the iterations of a solve that reached a limit or was stopped, -1
        for every other end."""
        if self.converged:
            return 0
        return max(self.iterations, 1) if self.status in ("max_iterations", "time_limit", "interrupted") else -1

    def _target(self) -> float:
        return self.target

    def _rows(self) -> Iterator[tuple[str, object]]:
        yield "status", f"{self.ending()}, {counted(self.products, 'product')}"
        yield "method", f"{self.method}, precond {self.precond}, kernel {self.kernel}"
        yield "residual", f"{self.residual:.3g}, target {self.target:.3g}, ‖b‖ {self.b_norm:.3g}"
        yield "reason", self.reason
        if self.backward_error is not None:
            yield "backward", f"componentwise {self.backward_error:.2g}"
        if self.proof:
            yield "singular", self.proof
        yield "time", _times(self.times_ms, self.total_ms)
        for number, rung in enumerate(self.rungs, 1):
            spent = f"set-up {_ms(rung['setup_ms'])}, solve {_ms(rung['solve_ms'])}"
            yield f"rung {number}", f"{rung['method']}, {rung['precond']}: {rung['outcome']} ({spent})"


@dataclasses.dataclass(frozen=True)
class LeastSquaresReport(SolveReport):
    """How a least squares solve ended. `history` and `recurrence_residual` are of ‖A' r‖, r = (b - A x, -damp x).

    Attributes
    ----------
    test : str
        "normal_residual" (x is a least squares solution), "residual" (the system is consistent) or "none".
    transposed_products : int
    normal_residual, damped_residual : float
        ‖A' (b - A x) - damp² x‖₂ and ‖r‖₂, of the returned x; `residual` is ‖b - A x‖₂.
    optimality : float
        ‖A' r‖ / (‖A‖ ‖r‖), which atol bounds.
    x_norm : float
    matrix_norm, condition : float
        Lower bounds of ‖A‖₂ and cond(A), damping and preconditioner included.
    """

    test: str = "none"
    transposed_products: int = 0
    normal_residual: float = 0.0
    damped_residual: float = 0.0
    optimality: float = 0.0
    x_norm: float = 0.0
    matrix_norm: float = 0.0
    condition: float = 0.0

    _curve_label = "‖A' r‖"

    def _rows(self) -> Iterator[tuple[str, object]]:
        yield "status", (f"{self.ending()}, {counted(self.products, 'product')} with A, "
                         f"{self.transposed_products} with A'")
        yield "method", f"{self.method}, precond {self.precond}, kernel {self.kernel}"
        yield "residual", f"{self.residual:.3g}, ‖A' r‖ {self.normal_residual:.3g}, ‖b‖ {self.b_norm:.3g}"
        yield "reason", self.reason
        yield "matrix", f"‖A‖ at least {self.matrix_norm:.3g}, cond(A) at least {self.condition:.3g}"
        yield "time", _times(self.times_ms, self.total_ms)


class _RankingReport(_Report):
    """An iteration that ends at a tolerance."""

    tolerance: float

    def _target(self) -> float:
        return self.tolerance


@dataclasses.dataclass(frozen=True)
class PageRankReport(_RankingReport):
    """How ranks were reached.

    Attributes
    ----------
    status, reason : str
        As in `SolveReport`.
    iterations, products : int
    change : float
        ‖x' - x‖ of the last iteration, in the norm asked for.
    tolerance : float
    sum : float
        Of the ranks.
    dangling_count : int
        Vertices without out-links.
    kernel : str
    history : History or None
    times_ms : dict
        Wall-clock milliseconds of the call by phase; "plan" is all set-up of the matrix. None: not measured.
    total_ms : float
        Wall-clock milliseconds of the whole call.
    """

    status: str
    reason: str
    iterations: int
    products: int
    change: float
    tolerance: float
    sum: float
    dangling_count: int
    kernel: str
    history: History | None = None
    times_ms: dict[str, float | None] = dataclasses.field(default_factory=dict)
    total_ms: float | None = None

    _curve_label = "change"

    def _rows(self) -> Iterator[tuple[str, object]]:
        yield "status", self.ending()
        yield "reason", self.reason
        yield "kernel", self.kernel
        yield "dangling", f"{counted(self.dangling_count, 'vertex', 'vertices')} without out-links"
        yield "time", _times(self.times_ms, self.total_ms)


@dataclasses.dataclass(frozen=True)
class _CentralityReport(_RankingReport):
    """Common to `HitsReport` and `KatzReport`.

    Attributes
    ----------
    status, reason : str
        As in `SolveReport`.
    iterations, products : int
    tolerance : float
    kernel : str
    history : History or None
    times_ms : dict
        Wall-clock milliseconds of the call by phase; "plan" is all set-up of the matrix. None: not measured.
    total_ms : float
        Wall-clock milliseconds of the whole call.
    """

    status: str
    reason: str
    iterations: int
    products: int
    tolerance: float
    kernel: str
    history: History | None = None
    times_ms: dict[str, float | None] = dataclasses.field(default_factory=dict)
    total_ms: float | None = None

    def _rows(self) -> Iterator[tuple[str, object]]:
        yield "status", self.ending()
        yield "reason", self.reason
        yield "kernel", self.kernel
        yield "time", _times(self.times_ms, self.total_ms)


@dataclasses.dataclass(frozen=True)
class HitsReport(_CentralityReport):
    """How hubs and authorities were reached; besides what `_CentralityReport` has:

    Attributes
    ----------
    residual : float
        Change of hubs or authorities in the 1-norm by one more step.
    contraction : float
        Last change over the one before. Near 1 the distance to the limit is about residual / (1 - contraction).
    """

    residual: float = math.inf
    contraction: float = 0.0

    _curve_label = "change"


@dataclasses.dataclass(frozen=True)
class KatzReport(_CentralityReport):
    """How Katz centralities were reached; besides what `_CentralityReport` has:

    Attributes
    ----------
    alpha : float
        As it was used.
    spectral_bound : float
        Upper bound of ρ(A); NaN where it was not needed.
    error_bound : float
        No score differs by a larger fraction from the exact one.
    sum : float
        Of the scores.
    """

    alpha: float = math.nan
    spectral_bound: float = math.nan
    error_bound: float = math.inf
    sum: float = math.nan

    _curve_label = "largest term"


@dataclasses.dataclass(frozen=True)
class ProductReport(_Facts):
    """What a sparse product did.

    Attributes
    ----------
    workflow, reason, determinism : str
    products, nnz : int
        Scalar products, and entries of C.
    compression : float
        Products per entry.
    peak_bytes : int
        Beside the factors, C included.
    total_ms : float
    """

    workflow: str
    reason: str
    products: int
    nnz: int
    compression: float
    peak_bytes: int
    determinism: str
    total_ms: float

    def _rows(self) -> Iterator[tuple[str, object]]:
        yield "workflow", f"{self.workflow} ({self.reason}), {self.determinism}"
        yield "entries", f"{self.nnz} of {counted(self.products, 'product')}, {self.compression:.3g} each"
        yield "memory", f"{self.peak_bytes} bytes"
        yield "time", _ms(self.total_ms)


@dataclasses.dataclass(frozen=True)
class PlanInfo(_Facts):
    """Facts about a plan.

    Attributes
    ----------
    kernel, reason : str
        Which kernel, and why.
    bytes : int
        Descriptors and copies, without the matrix.
    build_ms, upload_ms : float
        Wall-clock times of the set-up, and of copying the matrix to a GPU.
    determinism : str
        "not_guaranteed", "run_to_run" or "gpu_to_gpu": the class that the plan keeps.
    tiles : int
        Of MERBIT and CSR5, else 0.
    """

    kernel: str
    reason: str
    bytes: int
    build_ms: float
    upload_ms: float
    determinism: str
    tiles: int

    def _rows(self) -> Iterator[tuple[str, object]]:
        yield "kernel", f"{self.kernel} ({self.reason})"
        yield "class", self.determinism
        yield "memory", f"{self.bytes} bytes"
        yield "time", f"set-up {self.build_ms:.3g} ms, upload {self.upload_ms:.3g} ms"


def history_of(columns: tuple[npt.NDArray[Any], ...] | None) -> History | None:
    """A History of the columns that the extension hands over."""
    return None if columns is None else History(*columns)


def solve_report_of(facts: dict[str, Any], method: str, precond: str, kernel: str) -> SolveReport:
    """A SolveReport of the facts that the extension hands over."""
    facts = dict(facts, method=method, precond=precond, kernel=kernel)
    facts["history"] = history_of(facts["history"])
    facts["rungs"] = tuple(facts.get("rungs", ()))
    facts.pop("rung", None)
    return (LeastSquaresReport if "normal_residual" in facts else SolveReport)(**facts)
