"""Preconditioners: approximate inverses of a matrix."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arguments import hint, text
from ._matrix import as_array, as_matrix
from ._plan import Plan, _Operator, as_plan
from .errors import DimensionError, InvalidArgument, InvalidMatrix
from .report import table

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._types import MatrixLike, PreconditionerOptions


def _is_explicit(word: str) -> bool:
    if word != "explicit":
        raise ValueError(f'expected explicit, got "{word}"')
    return True


_Parameters = tuple[tuple[str, Callable[[str], Any]], ...]
_THRESHOLDS: _Parameters = (("drop_tolerance", float), ("max_row_entries", int))
_POLYNOMIAL: _Parameters = (("degree", int), ("explicit_matrix", _is_explicit), *_THRESHOLDS)
_PARAMETERS: dict[str, _Parameters] = {
    "poly": _POLYNOMIAL,
    "neumann": _POLYNOMIAL,
    "iluk": (("level", int),),
    "ilut": _THRESHOLDS,
    "ilutp": _THRESHOLDS,
    "ict": _THRESHOLDS,
    "fsai": (("power", int), ("filter", float)),
    "spai": (("level", int),),
}
_DESCRIPTIONS = {
    "none": "the identity",
    "jacobi": "the inverse of the diagonal",
    "spai": "sparse approximate inverse by least squares per row; spai:LEVEL, 0 or 1",
    "fsai": "factorized sparse approximate inverse, for symmetric positive definite matrices; fsai:K:TAU",
    "amg": "algebraic multigrid by smoothed aggregation",
    "poly": "Chebyshev polynomial in D^-1 A; poly:DEGREE, or poly:DEGREE:explicit:TAU as a matrix",
    "neumann": "Neumann series of D^-1 A; neumann:K, or neumann:K:explicit:TAU as a matrix",
    "ilu0": "incomplete LU factors with the positions of A",
    "iluk": "incomplete LU factors with fill of level K at most; iluk:K",
    "ilut": "incomplete LU factors by threshold and count; ilut:TAU:P",
    "ilutp": "the same with column pivoting; ilutp:TAU:P",
    "ic0": "incomplete Cholesky factor with the positions of A, for symmetric positive definite matrices",
    "ict": "incomplete Cholesky factor by threshold and count; ict:TAU:P",
    "bjacobi": "incomplete factors of diagonal blocks; bjacobi:BLOCKS:SPEC, as bjacobi:4:ilu0",
    "direct": "sparse direct factors of A itself",
}
_FACTORS = ("ilu0", "iluk", "ilut", "ilutp", "ic0", "ict")


def preconditioners() -> dict[str, str]:
    """Names of preconditioners, with a line about each.

    Examples
    --------
    >>> import tessera
    >>> tessera.preconditioners()["jacobi"]
    'the inverse of the diagonal'
    """
    return dict(_DESCRIPTIONS)


def _read(spec: str, names: Sequence[str] = tuple(_DESCRIPTIONS)) -> tuple[str, dict[str, Any]]:
    """"ilut:1e-3:20", as the command writes it, as a name and options."""
    name, *values = text("preconditioner", spec).replace(",", ":").split(":")
    if name not in names:
        raise InvalidArgument(f'preconditioner "{spec}" is none of {", ".join(names)}{hint(name, names)}')
    try:
        if name == "bjacobi":
            if not values:
                raise ValueError("its blocks follow, as in bjacobi:4:ilu0")
            name, options = _read(":".join(values[1:]) or "ilu0", _FACTORS)
            return name, {**options, "blocks": int(values[0])}
        parameters = _PARAMETERS.get(name, ())
        if len(values) > len(parameters):
            raise ValueError(f"{name} takes {len(parameters)} parameters after a colon")
        return name, {key: kind(value) for (key, kind), value in zip(parameters, values)}
    except ValueError as error:
        raise InvalidArgument(f'preconditioner "{spec}": {error}') from None


def _lay_out(options: dict[str, Any], rows: int) -> dict[str, Any]:
    """Near-nullspace and coordinates in the order of C++: vector after vector, node after node."""
    if "near_nullspace" in options:
        vectors = as_array(options["near_nullspace"], "near_nullspace")
        if vectors.ndim > 2 or vectors.shape[0] != rows:
            raise DimensionError(f"near_nullspace has shape {vectors.shape}: ({rows}, k) is needed, a vector per column")
        options["near_nullspace"] = vectors.ravel("F").astype(float)
    if "coordinates" in options:
        places = as_array(options["coordinates"], "coordinates")
        if places.ndim != 2 or places.shape[1] not in (2, 3) or places.size != rows:
            raise DimensionError(f"coordinates have shape {places.shape}: (nodes, 2) or (nodes, 3) is needed, with a row "
                                 f"per node and {rows} elements, one per row of A")
        options["coordinates"] = places.ravel().astype(float)
        options.setdefault("block_size", places.shape[1])
    return options


class Preconditioner(_Operator):
    """M, an approximate inverse of A, for the solvers here and in SciPy: ``M @ r``.

    Parameters
    ----------
    A : as for `Plan`, or a Plan
    kind : str
        A name of `tessera.preconditioners()`; parameters may follow, as in "ilut:1e-3:20", "fsai:2", "poly:4",
        "neumann:3:explicit:1e-2" or "bjacobi:4:ilu0".
    **options
        As in C++: of "amg" `strength_threshold`, `coarsest_rows`, `max_levels`, `block_size`, `near_nullspace` (an
        array (n, k), a vector per column, as in PyAMG), `coordinates` (an array (nodes, 2) or (nodes, 3)),
        `prolongator_damping`, `cycle`, `smoother`, `sweeps`, `precision`, `prepare_refresh`; of
        "poly" and "neumann" `degree`, `interval_ratio`, `damping`, `power_steps`, `explicit_matrix`, `drop_tolerance`,
        `max_row_entries`; of incomplete factors `level`, `drop_tolerance`, `max_row_entries`, `pivot_tolerance`,
        `blocks`, `fill_limit`, `time_limit`; of "fsai" `power`, `filter`, `max_row_entries`, `post_filter`; of "spai"
        `level`, `max_row_entries`.

    Attributes
    ----------
    info : dict
        "name", "setup_ms", "bytes", "is_symmetric".
    """

    def __init__(self, A: MatrixLike, kind: str = "amg", **options: Unpack[PreconditionerOptions]) -> None:
        self.kind, values = _read(kind)
        if self.kind == "none":
            raise InvalidArgument('preconditioner "none" is the identity: leave M out')
        plan = as_plan(A)
        given = _lay_out({**values, **options}, plan.shape[0])
        super().__init__(_core.make_preconditioner(plan._core, self.kind, given), plan._context)
        self._matrix, self._options = A, options
        self._name, self._positions = kind, _core.hash_of_positions(plan._matrix)

    @property
    def info(self) -> dict[str, Any]:
        """What set-up cost."""
        return dict(self._core.facts)

    def refresh(self, A: MatrixLike) -> None:
        """Takes the values of a matrix, or of a plan as they are now, with the same positions.

        Raises
        ------
        InvalidMatrix
            For other positions (on a GPU, for another number of them); M stays as it is.
        """
        plan = A if isinstance(A, Plan) else Plan(as_matrix(A, self.dtype.type))
        if plan.dtype != self.dtype:
            raise InvalidArgument(f"A is a Plan of type {plan.dtype}, the preconditioner of type {self.dtype}")
        if plan.shape == self.shape and _core.hash_of_positions(plan._matrix) != self._positions:
            raise InvalidMatrix(f'refresh takes new values alone: the positions are not those that "{self._name}" was set up '
                                "for; make another Preconditioner")
        self._core.refresh(plan._core)
        self._matrix = A

    def __repr__(self) -> str:
        return f"Preconditioner({self._name}, {self.shape[0]} x {self.shape[1]}, {self.dtype})"

    def _repr_html_(self) -> str:
        return table([("preconditioner", repr(self)), *self.info.items()])

    def __reduce__(self) -> tuple[Any, ...]:
        """The matrix or plan, as it is now, and the options: a copy is set up anew."""
        return functools.partial(type(self), **self._options), (self._matrix, self._name)


def function_operator(operator: Any, dtype: Any) -> Any:
    """A LinearOperator of SciPy as an operator of the extension, with its transpose where it has one."""
    kind = _core.Function64 if np.dtype(dtype) == np.float64 else _core.Function32

    def writing(function: Callable[[Any], Any]) -> Callable[[Any, Any], None]:
        return lambda x, y: np.copyto(y, function(x.copy()), casting="same_kind")

    transposed = writing(operator.rmatvec) if hasattr(operator, "rmatvec") else None
    return kind(operator.shape[0], operator.shape[1], writing(operator.matvec), transposed)
