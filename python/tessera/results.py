"""Results of solves and rankings: what was computed, with the report of how."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Generic

import numpy as np
import numpy.typing as npt

from ._types import Array
from .report import HitsReport, KatzReport, PageRankReport, SolveReport, counted, solve_report_of, table


class _Result:
    """Base of results, whose truth value is whether they have converged."""

    __slots__ = ()

    @property
    def converged(self) -> bool:
        """Whether the tolerance holds."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        return self.converged


class Solution(_Result, Generic[Array]):
    """The result of a solve: ``x, info = tessera.cg(A, b)`` works as with SciPy. It is true if it converged.

    Attributes
    ----------
    x : array
        The latest iterate, for every status.
    report : SolveReport, or LeastSquaresReport
    """

    __slots__ = ("_facts", "_names", "_report", "x")

    def __init__(self, x: Array, facts: dict[str, Any], method: str, precond: str, kernel: str) -> None:
        self.x, self._facts, self._names = x, facts, (method, precond, kernel)
        self._report: SolveReport | None = None

    @property
    def report(self) -> SolveReport:
        """How the solve ended; made when it is asked for, since a loop of small solves may never ask."""
        if self._report is None:
            self._report = solve_report_of(self._facts, *self._names)
        return self._report

    @property
    def converged(self) -> bool:
        """Whether the tolerance holds."""
        return bool(self._facts["status"] == "converged")

    @property
    def info(self) -> int:
        """`SolveReport.info`."""
        return self.report.info

    def __iter__(self) -> Iterator[Any]:
        return iter((self.x, self.info))

    def __repr__(self) -> str:
        size: int = self.x.shape[0]  # type: ignore[attr-defined]
        return f"Solution({counted(size, 'unknown')}, {self.report.ending()})"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


class Solutions(_Result):
    """The results of a solve with several right-hand sides: ``X, infos = tessera.cg(A, B)``. They are true if all
    columns converged.

    Attributes
    ----------
    x : ndarray
        The latest iterates, a column per right-hand side.
    solutions : list of Solution
        Of the columns.
    times_ms : dict
        Wall-clock milliseconds by phase, of all columns together, as in `SolveReport`.
    total_ms : float
        Wall-clock milliseconds of the call.
    """

    __slots__ = ("solutions", "times_ms", "total_ms", "x")

    def __init__(self, x: npt.NDArray[Any], solutions: list[Solution[npt.NDArray[Any]]],
                 times_ms: dict[str, float | None], total_ms: float) -> None:
        self.x, self.solutions, self.times_ms, self.total_ms = x, solutions, times_ms, total_ms

    @property
    def reports(self) -> list[SolveReport]:
        """How the solves of the columns ended."""
        return [each.report for each in self.solutions]

    @property
    def converged(self) -> bool:
        """Whether the tolerance holds for every column."""
        return all(each.converged for each in self.solutions)

    @property
    def info(self) -> npt.NDArray[np.int_]:
        """`SolveReport.info` of every column."""
        return np.array([each.info for each in self.solutions], dtype=int)

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return iter((self.x, self.info))

    def __repr__(self) -> str:
        good, all_columns = sum(each.converged for each in self.solutions), counted(len(self.solutions), "column")
        return f"Solutions({counted(self.x.shape[0], 'unknown')}, {good} of {all_columns} converged)"

    def _repr_html_(self) -> str:
        return table((f"column {j}", f"{each.ending()}, residual {each.residual:.3g}, target {each.target:.3g}")
                     for j, each in enumerate(self.reports))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Ranks(_Result):
    """Ranks, or other scores, of the vertices of a graph. They are true if they converged.

    Attributes
    ----------
    ranks : ndarray
        One per vertex; those of PageRank have sum 1.
    report : PageRankReport, HitsReport or KatzReport
    nodes : list or None
        Names of the vertices, of a NetworkX graph.
    """

    ranks: npt.NDArray[np.float64]
    report: PageRankReport | HitsReport | KatzReport
    nodes: list[Any] | None = None

    @property
    def converged(self) -> bool:
        """Whether the tolerance holds."""
        return self.report.converged

    def as_dict(self) -> dict[Any, float]:
        """Rank by node, as `networkx.pagerank` gives it."""
        nodes = range(len(self.ranks)) if self.nodes is None else self.nodes
        return dict(zip(nodes, self.ranks.tolist()))

    def top(self, k: int = 10) -> list[tuple[Any, float]]:
        """The `k` highest ranks as pairs (node, rank), descending; equal ranks in the order of the vertices."""
        order = np.argsort(-self.ranks, kind="stable")[:k]
        return [(int(i) if self.nodes is None else self.nodes[i], float(self.ranks[i])) for i in order]

    def __repr__(self) -> str:
        return f"Ranks({counted(len(self.ranks), 'vertex', 'vertices')}, {self.report.ending()})"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Hits(_Result):
    """Hubs and authorities of a graph. They are true if they converged.

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
    def converged(self) -> bool:
        """Whether the tolerance holds."""
        return self.report.converged

    def __repr__(self) -> str:
        return f"Hits({counted(len(self.hubs.ranks), 'vertex', 'vertices')}, {self.report.ending()})"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()
