"""Plan: y = A x, prepared once and applied often."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator

from . import _core
from ._arguments import by_name, count, flag, shown, text
from ._device import new_like, is_device_array
from ._matrix import as_array, as_csr, as_matrix, as_vector, dtype_of
from .errors import DimensionError, NotSupported, OptionError
from .report import PlanInfo, table

if TYPE_CHECKING:
    from ._types import MatrixLike, VectorLike


class _Operator(LinearOperator):
    """An operator of the extension as one of SciPy."""

    def __init__(self, core: Any, context: _core.Context | None = None) -> None:
        super().__init__(np.dtype(dtype_of(core)), (core.rows, core.cols))
        self._core, self._context = core, context

    @property
    def device(self) -> str:
        """"host" or "cuda:N"."""
        return str(self._core.device)

    def apply(self, x: Any, out: Any = None) -> Any:
        """y = A x.

        Parameters
        ----------
        x : array of `shape[1]` elements, on the device of the operator
        out : array of `shape[0]` elements, optional
            Takes the product; of the operator's type and contiguous, not overlapping `x`.

        Returns
        -------
        array : `out`, or a new array
        """
        return self._apply(x, out, False)

    def _apply(self, x: Any, out: Any, transposed: bool) -> Any:
        core = self._core
        rows, cols = (core.cols, core.rows) if transposed else (core.rows, core.cols)
        vector = as_vector(x, cols, self.dtype, "x", self._context)
        if out is None:
            out = new_like(x, rows) if is_device_array(x) else np.empty(rows, self.dtype)
        target = out
        if is_device_array(out):
            target = as_vector(out, rows, self.dtype, "out", self._context)
        elif not isinstance(out, np.ndarray):
            raise OptionError(f"out is {shown(out)}: an array is needed")
        elif out.shape != (rows,) or out.dtype != self.dtype or not out.flags.c_contiguous or not out.flags.writeable:
            raise DimensionError(f"out of shape {out.shape} and type {out.dtype}: a contiguous vector of {rows} elements of "
                                 f"type {self.dtype} is needed, which may be written")
        core.apply(vector, target, transposed)
        return out

    def __matmul__(self, x: Any) -> Any:
        if is_device_array(x) or type(x) is np.ndarray and x.ndim == 1:
            return self.apply(x)
        return super().__matmul__(x)

    def _matvec(self, x: Any) -> Any:
        return self.apply(np.ravel(x))

    def _rmatvec(self, x: Any) -> Any:
        return self._apply(np.ravel(x), None, True)

    def _adjoint(self) -> _Transpose:
        return _Transpose(self)

    _transpose = _adjoint


class _Transpose(LinearOperator):
    """Aᵀ of an operator A of the extension."""

    def __init__(self, A: _Operator) -> None:
        super().__init__(A.dtype, A.shape[::-1])
        self._of = A

    def _matvec(self, x: Any) -> Any:
        return self._of._rmatvec(x)

    def _rmatvec(self, x: Any) -> Any:
        return self._of._matvec(x)

    def _adjoint(self) -> _Operator:
        return self._of

    _transpose = _adjoint

    def __repr__(self) -> str:
        return f"{self._of!r}.T"


class Plan(_Operator):
    """A kernel prepared for one matrix: ``plan @ x``, ``plan.T @ x``, and A of every solver.

    A plan is a `scipy.sparse.linalg.LinearOperator`. It refers to the arrays of the matrix, which NumPy refuses to write
    while a plan reads them. `update_values` changes values; from then on the plan has its own, and those of the matrix
    may be written again.

    Parameters
    ----------
    A : sparse matrix or array of SciPy, dense matrix, CSR matrix on a GPU
        In place where its types allow (docs/python.md has the table).
    kernel : str
        A name of `tessera.kernels()`; "auto" chooses and says why, "measured" times those that suit the matrix.
    device : str, optional
        "host", "cuda" or "cuda:N"; default: where the matrix lies.
    transpose : bool
        Also prepare products with the transpose.
    determinism : str
        The weakest class allowed: "not_guaranteed", "run_to_run" or "gpu_to_gpu".
    expected_products : int
        That the plan will serve: "auto" weighs set-up against them.
    stream : stream of CuPy or PyTorch, or int, optional
        CUDA stream of all work, for a matrix on a GPU; default: the stream of its arrays. An address must stay valid
        until the interpreter ends.

    Attributes
    ----------
    info : PlanInfo
    shape, dtype

    Examples
    --------
    >>> import numpy as np, tessera
    >>> plan = tessera.Plan(tessera.testing.generate("poisson2d:10"))
    >>> float((plan @ np.ones(100)).sum())
    40.0
    """

    @by_name
    def __init__(self, A: MatrixLike, kernel: str = "auto", *, device: str | None = None, transpose: bool = False,
                 determinism: Literal["not_guaranteed", "run_to_run", "gpu_to_gpu"] = "not_guaranteed",
                 expected_products: int = 1000, stream: Any = None) -> None:
        self._matrix = as_matrix(A, stream=stream)
        self._options: dict[str, Any] = {"kernel": kernel, "determinism": determinism,
                                         "expected_products": expected_products}
        kind = _core.Plan64 if dtype_of(self._matrix) is np.float64 else _core.Plan32
        core = kind(self._matrix, text("kernel", kernel), text("device", device or ""), flag("transpose", transpose),
                    text("determinism", determinism), count("expected_products", expected_products, 1))
        super().__init__(core, self._matrix.context)

    @property
    def info(self) -> PlanInfo:
        """Facts about the plan."""
        return PlanInfo(**self._core.facts)

    def update_values(self, values: VectorLike) -> None:
        """Replaces the values; positions stay, and the caller's matrix is not changed.

        Waits for products and solves of other threads with this plan; a callback of a solve with it is refused.

        Parameters
        ----------
        values : array of nnz elements, in the order of the rows
        """
        if is_device_array(values):
            values = as_vector(values, self._matrix.nnz, self.dtype, "values", self._context)
        else:
            values = np.ascontiguousarray(as_array(values, "values"), self.dtype)
            if values.shape != (self._matrix.nnz,):
                raise DimensionError(f"values have shape {values.shape}, the matrix {self._matrix.nnz} nonzeros")
        self._core.update_values(values)
        if self.device == "host":
            self._matrix.let_values_be_written()  # the plan has values of its own now

    def _matmat(self, X: Any) -> Any:
        X = np.ascontiguousarray(as_array(X, "x"), self.dtype)
        if self.device != "host":
            return super()._matmat(X)
        Y = np.empty((self.shape[0], X.shape[1]), self.dtype)
        self._core.apply_many(X, Y)
        return Y

    def __repr__(self) -> str:
        return f"Plan({self.shape[0]} x {self.shape[1]}, {self._matrix.nnz} nonzeros, {self.info.kernel}, {self.dtype})"

    def _repr_html_(self) -> str:
        return table([("plan", repr(self)), *self.info._rows()])

    def __reduce__(self) -> tuple[Any, ...]:
        """The matrix with the values of now, and the options: a copy is set up anew."""
        if self.device != "host":
            raise NotSupported(f"a plan on {self.device} can be neither copied nor pickled: its matrix can")
        make = functools.partial(type(self), **self._options, transpose=self._core.has_transpose)
        return make, (as_csr(self._core.arrays()),)


def as_plan(A: Any, stream: Any = None) -> Plan:
    """`A` as a plan; one that exists serves again."""
    return A if isinstance(A, Plan) else Plan(A, stream=stream)


def kernels(device: str = "host") -> dict[str, str]:
    """Kernels that `Plan` takes by name on a device, with a line about each."""
    return _core.kernels(device)


def export_measured_choices() -> str:
    """What ``Plan(A, "measured")`` chose in this process, as text for `import_measured_choices` of a later one.

    A choice is that of one matrix, device, version of the library, class and number of products.

    Examples
    --------
    >>> import tessera
    >>> tessera.forget_measured_choices()
    >>> A = tessera.testing.generate("poisson2d:30")
    >>> first = tessera.Plan(A, "measured").info.reason
    >>> text = tessera.export_measured_choices()
    >>> tessera.forget_measured_choices()
    >>> tessera.import_measured_choices(text)
    1
    >>> tessera.Plan(A, "measured").info.reason == first.replace("measured", "measured before")
    True
    """
    return _core.export_measured_choices()


def import_measured_choices(text: str, name: str = "measured choices") -> int:
    """Adds the choices of a text. Lines that are damaged or of another version are passed over: they are measured anew.

    Parameters
    ----------
    text : str
        Of `export_measured_choices`.
    name : str
        Of the text in messages, a path say.

    Returns
    -------
    int
        How many were new.

    Raises
    ------
    ParseError
        For a text of another kind.
    """
    return int(_core.import_measured_choices(text, name)[0])


def forget_measured_choices() -> None:
    """Forgets all choices; the next plans measure."""
    _core.forget_measured_choices()
