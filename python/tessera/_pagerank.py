"""PageRank of graphs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from . import _core
from ._arguments import by_name, count, flag, function, number, require_word, text
from ._clock import Clock
from ._matrix import as_array, as_matrix
from .errors import DimensionError, InvalidArgument
from .report import PageRankReport, history_of
from .results import Ranks

if TYPE_CHECKING:
    from ._types import Callback, GraphLike, MatrixLike, VectorLike


def _adjacency(graph: Any, weight: str | None) -> tuple[MatrixLike, list[Any] | None]:
    """Adjacency matrix and names of the vertices: those of a NetworkX graph, or the matrix itself."""
    if hasattr(graph, "adj") and hasattr(graph, "is_directed"):
        import networkx

        nodes = list(graph)
        if not nodes:
            raise InvalidArgument("the graph has no vertices")
        return networkx.to_scipy_sparse_array(graph, nodelist=nodes, weight=weight, dtype=float), nodes
    return graph, None


def _teleport(personalization: Any, nodes: list[Any] | None, vertices: int) -> npt.NDArray[np.float64] | None:
    if personalization is None:
        return None
    if isinstance(personalization, dict):
        names = range(vertices) if nodes is None else nodes
        unknown = set(personalization).difference(names)
        if unknown:
            raise InvalidArgument(f"personalization: {sorted(map(str, unknown))[0]} is no vertex of the graph")
        return np.array([number("personalization", personalization.get(name, 0.0)) for name in names])
    values = np.ascontiguousarray(as_array(personalization, "personalization"), dtype=float)
    if values.shape != (vertices,):
        raise DimensionError(f"personalization has shape {values.shape}, the graph {vertices} vertices")
    return values


@by_name
def pagerank(A: GraphLike, damping: float = 0.85,
             personalization: Mapping[Any, float] | VectorLike | None = None, *, tol: float = 1e-9,
             norm: Literal["l1", "l2", "linf"] = "l1",
             dangling: Literal["teleport", "uniform", "self", "drop"] = "teleport", maxiter: int = 1000,
             weight: str | None = "weight", kernel: str = "auto", time_limit: float = math.inf,
             callback: Callback | None = None, history: bool = True) -> Ranks:
    """PageRank by the power method.

    The ranks are the fixed point of x = d (Pᵀ x + dangling(x)) + (1 - d) v, P = D⁻¹ A, Σ x = 1 (docs/pagerank.md).

    Parameters
    ----------
    A : sparse matrix of SciPy, or graph of NetworkX
        Row i holds the out-links of vertex i with weights ≥ 0. A zero weight is no link.
    damping : float
        In [0, 1).
    personalization : array of one weight ≥ 0 per vertex, or dict by node, optional
        Teleport distribution v, scaled to sum 1; nodes that a dict leaves out have 0. Default: uniform.
    tol : float
        Stop when ‖x' - x‖ ≤ tol in `norm` ("l1", "l2", "linf"). It is not multiplied by the number of vertices, as
        NetworkX does.
    dangling : str
        Where the rank of vertices without out-links goes: "teleport", "uniform", "self" or "drop".
    maxiter : int
    weight : str or None
        Attribute of the edges of a NetworkX graph; None: all are 1.
    kernel : str
        As in `Plan`.
    time_limit : float
        Seconds.
    callback, history
        As in `cg`.

    Returns
    -------
    Ranks
        `ranks`, `report`, `as_dict()`, `top(k)`.
    """
    clock = Clock()
    require_word("norm", norm, ("l1", "l2", "linf"))
    require_word("dangling", dangling, ("teleport", "uniform", "self", "drop"))
    settings = _core.rank_settings(number("damping", damping), number("tol", tol, 0.0), norm, dangling,
                                   count("maxiter", maxiter), number("time_limit", time_limit, 0.0),
                                   flag("history", history), text("kernel", kernel))
    adjacency, nodes = _adjacency(A, weight)
    matrix = as_matrix(adjacency)
    teleport = _teleport(personalization, nodes, matrix.rows)
    ranks, facts = _core.rank(matrix, settings, teleport, function("callback", callback))
    clock.finish(facts, "plan")
    facts["history"] = history_of(facts["history"])
    return Ranks(ranks, PageRankReport(tolerance=tol, **facts), nodes)
