"""Types of arguments and results in annotations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, overload

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from typing_extensions import TypeVar, Unpack

    from ._core import IterationInfo
    from .results import Solution, Solutions

    Array = TypeVar("Array", default=npt.NDArray[Any])
else:
    from typing import TypeVar

    Array = TypeVar("Array")


class HasShape(Protocol):
    """An array or a matrix of any library, or a LinearOperator."""

    @property
    def shape(self) -> tuple[int, ...]: ...


class Graph(Protocol):
    """A graph of NetworkX."""

    @property
    def adj(self) -> Any: ...

    def is_directed(self) -> bool: ...


MatrixLike: TypeAlias = HasShape | Sequence[Sequence[float]]
GraphLike: TypeAlias = Graph | MatrixLike
VectorLike: TypeAlias = HasShape | Sequence[float]
Callback: TypeAlias = "Callable[[IterationInfo], object]"
Real: TypeAlias = type[np.float32] | type[np.float64]

# Right-hand sides. Variables rather than unions: so an array whose number of dimensions is unknown fits the first
# overload of a solver, and makes no call ambiguous.
OneSide = TypeVar("OneSide", bound="np.ndarray[tuple[int], Any] | Sequence[float]")
Sides = TypeVar("Sides", bound="np.ndarray[tuple[int, int], Any] | Sequence[Sequence[float]]")
OtherSide = TypeVar("OtherSide", bound=HasShape)


class Limits(TypedDict, total=False):
    """Options of least squares."""

    time_limit: float
    stagnation_window: int
    history_rows: int


class SolverOptions(Limits, total=False):
    """Options of iterative methods."""

    restart: int
    side: Literal["left", "right"]
    spectrum_low: float
    spectrum_high: float
    seed: int
    divergence_tolerance: float
    breakdown_restarts: int
    replacement_interval: int


class Tolerances(SolverOptions, total=False):
    """Arguments of all solvers."""

    rtol: float | None
    atol: float
    maxiter: int | None
    callback: Callback | None
    history: bool
    stream: Any


class IterationOptions(Tolerances, total=False):
    """Keyword arguments of `cg` and the other methods."""

    M: str | MatrixLike | None


class SolveOptions(Tolerances, total=False):
    """Keyword arguments of `solve`."""

    method: str
    precond: str | MatrixLike
    precision: Literal["matrix", "mixed"]
    x0: VectorLike | None


class PreconditionerOptions(TypedDict, total=False):
    """Keyword arguments of `Preconditioner`."""

    strength_threshold: float
    coarsest_rows: int
    max_levels: int
    block_size: int
    near_nullspace: npt.ArrayLike
    coordinates: npt.ArrayLike
    prolongator_damping: float
    cycle: Literal["v", "w", "k"]
    smoother: Literal["jacobi", "l1-jacobi", "spai0", "chebyshev"]
    sweeps: int
    precision: Literal["single", "full"]
    prepare_refresh: bool
    degree: int
    interval_ratio: float
    damping: float
    power_steps: int
    explicit_matrix: bool
    drop_tolerance: float
    max_row_entries: int
    level: int
    pivot_tolerance: float
    blocks: int
    fill_limit: float
    time_limit: float
    power: int
    filter: float
    post_filter: float


class Iteration(Protocol):
    """`cg` and the other methods."""

    @overload
    def __call__(self, A: MatrixLike, b: OneSide, x0: VectorLike | None = None,
                 **options: Unpack[IterationOptions]) -> Solution: ...

    @overload
    def __call__(self, A: MatrixLike, b: Sides, x0: VectorLike | None = None,  # type: ignore[overload-overlap]
                 **options: Unpack[IterationOptions]) -> Solutions: ...

    @overload
    def __call__(self, A: MatrixLike, b: OtherSide, x0: VectorLike | None = None,
                 **options: Unpack[IterationOptions]) -> Solution[Any]: ...


class Fit(Protocol):
    """`lsmr` and `cgls`."""

    def __call__(self, A: MatrixLike, b: VectorLike, damp: float = 0.0, atol: float | None = None,
                 btol: float | None = None, conlim: float = 1e8, maxiter: int | None = None, x0: VectorLike | None = None,
                 *, precond: Literal["none", "jacobi"] = "none", callback: Callback | None = None, history: bool = False,
                 stream: Any = None, **options: Unpack[Limits]) -> Solution: ...
