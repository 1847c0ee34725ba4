"""Hubs and authorities, and Katz centrality, of graphs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import assign, by_name, count, flag, function, number, text
from ._clock import Clock
from ._matrix import as_matrix
from ._pagerank import _adjacency
from .report import HitsReport, KatzReport, history_of
from .results import Hits, Ranks

if TYPE_CHECKING:
    from ._types import Callback, GraphLike


def _not_negative(name: str, value: Any) -> float:
    return number(name, value, 0.0)


_OPTIONS = {"tol": _not_negative, "maxiter": count, "time_limit": _not_negative, "history": flag, "alpha": number,
            "beta": number, "normalized": flag}


def _options(**given: Any) -> _core.CentralityOptions:
    options = _core.CentralityOptions()
    assign(options, _OPTIONS, given)
    return options


@by_name
def hits(A: GraphLike, *, tol: float = 1e-9, maxiter: int = 1000, weight: str | None = "weight", kernel: str = "auto",
         time_limit: float = math.inf, callback: Callback | None = None, history: bool = True) -> Hits:
    """Hubs and authorities (HITS) by the power method.

    A good hub h links to good authorities a: h = A a and a = Aᵀh, each scaled to sum 1, as in NetworkX
    (docs/ranking.md). Where several singular vectors belong to the largest singular value, the result is the part of
    equal hubs in their space.

    Parameters
    ----------
    A : sparse matrix of SciPy, or graph of NetworkX
        Row i holds the out-links of vertex i with weights ≥ 0.
    tol : float
        Stop when neither vector changes by more than this in the 1-norm, verified by one more step.
    maxiter, weight, kernel, time_limit, callback, history
        As in `pagerank`.

    Returns
    -------
    Hits
        `hubs` and `authorities`, each a `Ranks`, and `report`.
    """
    clock = Clock()
    options = _options(tol=tol, maxiter=maxiter, time_limit=time_limit, history=history)
    adjacency, nodes = _adjacency(A, weight)
    hubs, authorities, facts = _core.hits(as_matrix(adjacency), options, text("kernel", kernel),
                                          function("callback", callback))
    clock.finish(facts, "plan")
    facts["history"] = history_of(facts["history"])
    report = HitsReport(tolerance=tol, **facts)
    return Hits(Ranks(hubs, report, nodes), Ranks(authorities, report, nodes), report)


@by_name
def katz(A: GraphLike, alpha: float | None = None, beta: float = 1.0, *, normalized: bool = True, tol: float = 1e-9,
         maxiter: int = 1000, weight: str | None = "weight", kernel: str = "auto", time_limit: float = math.inf,
         callback: Callback | None = None, history: bool = True) -> Ranks:
    """Katz centrality: x = alpha Aᵀx + beta 1.

    Parameters
    ----------
    A : sparse matrix of SciPy, or graph of NetworkX
        Row i holds the out-links of vertex i with weights ≥ 0.
    alpha : float, optional
        Attenuation per link, below 1 / ρ(A). Default: 0.85 / (upper bound of ρ(A)); `report.alpha` has it.
    beta : float
        Score of a vertex without in-links, before scores are normalized.
    normalized : bool
        To ‖x‖₂ = 1, as in NetworkX.
    tol : float
        Stop when no score differs from the exact one by more than this fraction, verified with the residual. An alpha
        that is too large ends with the status "diverged".
    maxiter, weight, kernel, time_limit, callback, history
        As in `pagerank`.

    Returns
    -------
    Ranks
    """
    clock = Clock()
    options = _options(alpha=0.0 if alpha is None else alpha, beta=beta, normalized=normalized, tol=tol, maxiter=maxiter,
                       time_limit=time_limit, history=history)
    adjacency, nodes = _adjacency(A, weight)
    scores, facts = _core.katz(as_matrix(adjacency), options, text("kernel", kernel), function("callback", callback))
    clock.finish(facts, "plan")
    facts["history"] = history_of(facts["history"])
    return Ranks(scores, KatzReport(tolerance=tol, **facts), nodes)
