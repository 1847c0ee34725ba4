"""Preconditioners: approximate inverses of a matrix."""

import numpy as np

from . import _core
from ._plan import _Operator, as_plan
from .errors import InvalidArgument



def _is_explicit(word):
    if word != "explicit":
        raise ValueError(f'expected explicit, got "{word}"')
    return True


_POLYNOMIAL = (("degree", int), ("explicit_matrix", _is_explicit), ("drop_tolerance", float), ("max_row_entries", int))
_PARAMETERS = {
    "poly": _POLYNOMIAL,
    "neumann": _POLYNOMIAL,
    "iluk": (("level", int),),
    "ilut": (("drop_tolerance", float), ("max_row_entries", int)),
    "ilutp": (("drop_tolerance", float), ("max_row_entries", int)),
    "ict": (("drop_tolerance", float), ("max_row_entries", int)),
    "fsai": (("power", int), ("filter", float)),
    "spai": (("level", int),),
}
NAMES = (
    "none", "jacobi", "spai", "fsai", "amg", "poly", "neumann", "ilu0", "iluk", "ilut", "ilutp", "ic0", "ict", "direct"
)


def _read(text):
    """"ilut:1e-3:20", as the command writes it, as a name and options."""
    name, *values = text.replace(",", ":").split(":")
    parameters = _PARAMETERS.get(name, ())
    if name not in NAMES:
        raise InvalidArgument(f'preconditioner "{text}" is none of {", ".join(NAMES)}')
    if len(values) > len(parameters):
        raise InvalidArgument(f'preconditioner "{text}": {name} takes {len(parameters)} parameters after a colon')
    try:
        return name, {key: kind(value) for (key, kind), value in zip(parameters, values)}
    except ValueError as error:
        raise InvalidArgument(f'preconditioner "{text}": {error}') from None


class Preconditioner(_Operator):
    """M, an approximate inverse of A, for the solvers here and in SciPy: ``M @ r``.

    Parameters
    ----------
    A : as for `Plan`, or a Plan
    kind : str
        "jacobi", "spai", "fsai", "amg", "poly", "neumann", "ilu0", "iluk", "ilut", "ilutp", "ic0", "ict" or "direct";
        parameters may follow, as in "ilut:1e-3:20", "fsai:2", "poly:4" or "neumann:3:explicit:1e-2".
    **options
        As in C++: of "amg" `strength_threshold`, `coarsest_rows`, `max_levels`, `block_size`, `near_nullspace`,
        `coordinates`, `prolongator_damping`, `cycle`, `smoother`, `sweeps`, `precision`, `prepare_refresh`; of
        "poly" and "neumann" `degree`, `interval_ratio`, `damping`, `power_steps`, `explicit_matrix`, `drop_tolerance`,
        `max_row_entries`; of incomplete factors `level`, `drop_tolerance`, `max_row_entries`, `pivot_tolerance`,
        `blocks`, `fill_limit`, `time_limit`; of "fsai" `power`, `filter`, `max_row_entries`, `post_filter`; of "spai"
        `level`, `max_row_entries`.

    Attributes
    ----------
    info : dict
        "name", "setup_ms", "bytes", "is_symmetric".
    """

    def __init__(self, A, kind="amg", **options):
        self.kind, values = _read(kind)
        if self.kind == "none":
            raise InvalidArgument('preconditioner "none" is the identity: leave M out')
        plan = as_plan(A)
        super().__init__(_core.make_preconditioner(plan._core, self.kind, {**values, **options}), plan._context)
        self._name = kind

    @property
    def info(self):
        """What set-up cost."""
        return self._core.facts

    def refresh(self, A):
        """Takes the values of a matrix, or of a plan as they are now, with the same positions."""
        self._core.refresh(as_plan(A)._core)

    def _adjoint(self):
        if self.info["is_symmetric"]:
            return self
        return super()._adjoint()

    def __repr__(self):
        return f"Preconditioner({self._name}, {self.shape[0]} x {self.shape[1]}, {self.dtype})"


def function_operator(operator, dtype, transposed=False):
    """A LinearOperator of SciPy, a matrix or a function of one vector, as an operator of the extension."""
    kind = _core.Function64 if np.dtype(dtype) == np.float64 else _core.Function32
    function = operator.matvec if hasattr(operator, "matvec") else operator.__matmul__

    def writing(function):
        return lambda x, y: np.copyto(y, function(x.copy()), casting="same_kind")

    return kind(*operator.shape, writing(function), writing(operator.rmatvec) if transposed else None)
