"""Types: mypy on the package, on a program without errors, and on one whose errors are known."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

import tessera

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

GOOD = '''
"""A program of a user, for mypy --strict."""

import numpy as np
import numpy.typing as npt

import tessera
from tessera.results import Ranks, Solution, Solutions

Vector = npt.NDArray[np.float64]


def patient(info: tessera.IterationInfo) -> bool:
    return info.seconds > 60 or info.residual < info.target


def once(plan: tessera.Plan, b: Vector) -> Solution:
    return tessera.cg(plan, b, rtol=1e-10, M="amg", time_limit=5.0, callback=patient)


def sweep(plan: tessera.Plan, b: Vector) -> dict[str, int]:
    M = tessera.Preconditioner(plan, "amg", cycle="w", coarsest_rows=50)
    return {name: tessera.Solver(plan, name, M=M, restart=30).solve(b).report.iterations for name in ("cg", "gmres")}


def ranked(edges: str) -> list[tuple[str, float]]:
    graph, names = tessera.read_edges(edges)
    ranks: Ranks = tessera.pagerank(graph, personalization={0: 1.0}, norm="l2")
    return [(names[vertex], rank) for vertex, rank in ranks.top(3)]


A = tessera.generate("poisson2d", 20)
several: Solutions = tessera.solve(A, np.ones((400, 3)), precond="jacobi")
fitted: Vector = tessera.lsmr(A, np.ones(400), damp=0.1).x
iterations: list[int] = [report.iterations for report in several.reports]
x, info = tessera.minres(A, fitted)
if tessera.solve(A, 2 * fitted, method="direct", seed=7):
    print(once(tessera.Plan(A), fitted).report.to_dict(), sweep(tessera.Plan(A), fitted), ranked("graph.txt"))
'''

# Every line with an error says which.
BAD = '''
import numpy as np

import tessera

A = tessera.generate("poisson2d", 20)
b = np.ones(400)
words: str = tessera.cg(A, b).report.iterations  # assignment
tessera.cg(A, b, rtoll=1e-3)  # call-overload
tessera.solve(A, b, methd="cg")  # call-overload
tessera.solve(A, b, rtol="1e-8")  # call-overload
tessera.solve("A.mtx", b)  # arg-type
tessera.gmres(A, b, side="middle")  # call-overload
tessera.Solver(A, "cg", max_iter=3)  # call-arg
tessera.Preconditioner(A, "amg", cykle="w")  # call-arg
tessera.slove(A, b)  # attr-defined
tessera.cg(A, b).residual  # attr-defined
tessera.cg(A, np.ones((400, 2))).report  # attr-defined
tessera.pagerank(A, norm="l3")  # arg-type
tessera.generate(dtype=np.float32)  # call-arg
tessera.set_num_threads("all")  # arg-type
'''


def test_mypy(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        assert "TESSERA_REQUIRE_TOOLS" not in os.environ, "mypy is needed here"
        pytest.skip("no mypy")
    # The package itself lies beside the programs: so its errors are shown, too.
    (tmp_path / "tessera").symlink_to(pathlib.Path(tessera.__file__).parent)
    (tmp_path / "good.py").write_text(GOOD.lstrip())
    (tmp_path / "bad.py").write_text(BAD.lstrip())
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", ".cache"]
    run = subprocess.run([*command, "good.py", "bad.py", "tessera"], cwd=tmp_path, capture_output=True, text=True)
    found = re.findall(r"^(\S+?):(\d+): error: .*\[([\w-]+)\]$", run.stdout, re.M)
    planted = [("bad.py", str(number), line.split("# ")[1])
               for number, line in enumerate(BAD.lstrip().splitlines(), 1) if "# " in line]
    assert sorted(set(found)) == sorted(planted), re.sub(r"(?m)^.*: note: .*\n", "", run.stdout) + run.stderr
