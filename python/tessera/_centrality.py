"""Hubs and authorities, and Katz centrality, of graphs."""

import math

from . import _core
from ._matrix import as_matrix
from ._pagerank import _adjacency
from .report import HitsReport, KatzReport, history_of
from .results import Hits, Ranks


def _options(tol, maxiter, time_limit, history):
    options = _core.CentralityOptions()
    options.tol = tol
    options.maxiter = maxiter
    options.time_limit = time_limit
    options.history = history
    return options


def hits(A, *, tol=1e-9, maxiter=1000, weight="weight", kernel="auto", time_limit=math.inf, callback=None,
         history=True):
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
    adjacency, nodes = _adjacency(A, weight)
    options = _options(tol, maxiter, time_limit, history)
    hubs, authorities, facts = _core.hits(as_matrix(adjacency), options, kernel, callback)
    facts["history"] = history_of(facts["history"])
    report = HitsReport(tolerance=tol, **facts)
    return Hits(Ranks(hubs, report, nodes), Ranks(authorities, report, nodes), report)


def katz(A, alpha=None, beta=1.0, *, normalized=True, tol=1e-9, maxiter=1000, weight="weight", kernel="auto",
         time_limit=math.inf, callback=None, history=True):
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
    adjacency, nodes = _adjacency(A, weight)
    options = _options(tol, maxiter, time_limit, history)
    options.alpha = 0.0 if alpha is None else alpha
    options.beta = beta
    options.normalized = normalized
    scores, facts = _core.katz(as_matrix(adjacency), options, kernel, callback)
    facts["history"] = history_of(facts["history"])
    return Ranks(scores, KatzReport(tolerance=tol, **facts), nodes)
