"""Generated matrices, the same on every machine (docs/generators.md has their recipes)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from . import _core
from ._arguments import count, number, text
from ._matrix import as_csr, value_type

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def families() -> dict[str, str]:
    """Names of the families, with a line about each."""
    return _core.families()


def generate(family: str, size: int | None = None, *, seed: int = 42, dtype: npt.DTypeLike = np.float64,
             **parameters: float) -> csr_array:
    """A matrix of a family.

    Parameters
    ----------
    family : str
        A name of `families()`, or a whole recipe as the command reads it: "rmat:scale=12,edge_factor=8".
    size : int, optional
        Rows, vertices or points a side, as the family counts.
    seed : int
    dtype : float64 or float32
    **parameters
        Of the family, numbers.

    Returns
    -------
    scipy.sparse.csr_array
        Families without values, as graphs, have ones.

    Examples
    --------
    >>> import tessera
    >>> tessera.testing.generate("poisson2d", 3).shape
    (9, 9)
    """
    make = _core.generate32 if value_type(dtype, "dtype") is np.float32 else _core.generate64
    size = size if size is None else count("size", size)
    parameters = {name: number(name, value) for name, value in parameters.items()}
    matrix = as_csr(make(text("family", family), size, count("seed", seed), parameters))
    return matrix if matrix.dtype == dtype else matrix.astype(dtype)
