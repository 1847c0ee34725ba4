"""Results of solves and rankings: what was computed, with the report of how."""

import dataclasses

import numpy as np

from .report import HitsReport, PageRankReport, solve_report_of


class Solution:
    """The result of a solve: ``x, info = tessera.cg(A, b)`` works as with SciPy.

    Attributes
    ----------
    x : array
        The latest iterate, for every status.
    report : SolveReport, or LeastSquaresReport
    """

    __slots__ = ("_facts", "_names", "_report", "x")

    def __init__(self, x, facts, *names):
        self.x, self._facts, self._names, self._report = x, facts, names, None

    @property
    def report(self):
        """How the solve ended; made when it is asked for, since a loop of small solves may never ask."""
        if self._report is None:
            self._report = solve_report_of(self._facts, *self._names)
        return self._report

    @property
    def converged(self):
        """Whether the tolerance holds."""
        return self._facts["status"] == "converged"

    @property
    def info(self):
        """`SolveReport.info`."""
        return self.report.info

    def __iter__(self):
        return iter((self.x, self.info))

    def __repr__(self):
        return f"Solution({len(self.x)} unknowns, {self._facts['status']} after {self._facts['iterations']} iterations)"

    def _repr_html_(self):
        return self.report._repr_html_()


class Solutions:
    """The results of a solve with several right-hand sides: ``X, infos = tessera.cg(A, B)``.

    Attributes
    ----------
    x : ndarray
        The latest iterates, a column per right-hand side.
    solutions : list of Solution
        Of the columns.
    """

    __slots__ = ("solutions", "x")

    def __init__(self, x, solutions):
        self.x, self.solutions = x, solutions

    @property
    def reports(self):
        """How the solves of the columns ended."""
        return [each.report for each in self.solutions]

    @property
    def converged(self):
        """Whether the tolerance holds for every column."""
        return all(each.converged for each in self.solutions)

    @property
    def info(self):
        """`SolveReport.info` of every column."""
        return np.array([each.info for each in self.solutions], dtype=int)

    def __iter__(self):
        return iter((self.x, self.info))

    def __repr__(self):
        good = sum(each.converged for each in self.solutions)
        return f"Solutions({self.x.shape[0]} unknowns, {good} of {len(self.solutions)} columns converged)"


@dataclasses.dataclass(frozen=True, eq=False)
class Ranks:
    """Ranks, or other scores, of the vertices of a graph.

    Attributes
    ----------
    ranks : ndarray
        One per vertex; those of PageRank have sum 1.
    report : PageRankReport, HitsReport or KatzReport
    nodes : list or None
        Names of the vertices, of a NetworkX graph.
    """

    ranks: np.ndarray
    report: PageRankReport
    nodes: list | None = None

    @property
    def converged(self):
        """Whether the tolerance holds."""
        return self.report.converged

    def as_dict(self):
        """Rank by node, as `networkx.pagerank` gives it."""
        nodes = range(len(self.ranks)) if self.nodes is None else self.nodes
        return dict(zip(nodes, self.ranks.tolist()))

    def top(self, k=10):
        """The `k` highest ranks as pairs (node, rank), descending; equal ranks in the order of the vertices."""
        order = np.argsort(-self.ranks, kind="stable")[:k]
        return [(int(i) if self.nodes is None else self.nodes[i], float(self.ranks[i])) for i in order]

    def __repr__(self):
        return f"Ranks({len(self.ranks)} vertices, {self.report.status} after {self.report.iterations} iterations)"

    def _repr_html_(self):
        return self.report._repr_html_()


@dataclasses.dataclass(frozen=True, eq=False)
class Hits:
    """Hubs and authorities of a graph.

    Attributes
    ----------
    hubs, authorities : Ranks
        Each with sum 1.
    report : HitsReport
    """

    hubs: Ranks
    authorities: Ranks
    report: HitsReport

    @property
    def converged(self):
        """Whether the tolerance holds."""
        return self.report.converged
