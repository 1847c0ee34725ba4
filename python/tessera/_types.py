"""Types of arguments and results in annotations."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from typing_extensions import TypeVar, Unpack

    from ._core import IterationInfo
    from .results import Solution

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
Path: TypeAlias = "str | os.PathLike[str]"
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


class Fit(Protocol):
    """`lsmr` and `cgls`."""

    def __call__(self, A: MatrixLike, b: VectorLike, damp: float = 0.0, atol: float = 1e-6, btol: float = 1e-6,
                 conlim: float = 1e8, maxiter: int | None = None, x0: VectorLike | None = None, *,
                 precond: Literal["none", "jacobi"] = "none", callback: Callback | None = None, history: bool = False,
                 stream: Any = None, **options: Unpack[Limits]) -> Solution: ...
