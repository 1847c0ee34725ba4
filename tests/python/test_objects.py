"""Objects of the package in Python: how they print, their truth values, copies and pickles; threads of the host."""

import copy
import json
import pickle

import networkx
import numpy as np
import pytest
import scipy.sparse.linalg as spla

import tessera

A = tessera.generate("convdiff", 12)
n = A.shape[0]
b = np.random.default_rng(1).standard_normal(n)
SPD = tessera.generate("poisson2d", 12)


def objects():
    plan = tessera.Plan(A)
    M = tessera.Preconditioner(plan, "ilut:1e-3:20")
    solution = tessera.gmres(plan, b, M=M)
    graph = networkx.karate_club_graph()
    return {
        "Plan": plan, "Plan.T": tessera.Plan(A, transpose=True).T, "Preconditioner": M, "Preconditioner.T": M.T,
        "Solver": tessera.Solver(plan, "gmres", M=M), "Solution": solution,
        "Solutions": tessera.gmres(plan, np.stack([b, b], axis=1), M=M), "SolveReport": solution.report,
        "LeastSquaresReport": tessera.lsmr(A, b).report, "Ranks": tessera.pagerank(graph), "Hits": tessera.hits(graph),
        "KatzReport": tessera.katz(graph).report, "ProductReport": tessera.spgemm(A, A, report=True)[1],
        "PlanInfo": plan.info, "History": solution.report.history,
    }


def test_reprs_are_short_and_without_private_names():
    for name, each in objects().items():
        text = repr(each)
        assert text.startswith(name.split(".")[0]) and text.endswith(".T") == name.endswith(".T"), text
        assert "object at 0x" not in text and "\n" not in text, text
        assert "Report" in name or "Info" in name or len(text) < 160, text
        if name != "History" and not name.endswith(".T"):
            html = each._repr_html_()
            assert html.startswith("<table>") and "None" not in html, html
    assert repr(objects()["Solver"]) == (
        f"Solver(gmres, Plan({n} x {n}, {A.nnz} nonzeros, {tessera.Plan(A).info.kernel}, float64), "
        f"M=Preconditioner(ilut:1e-3:20, {n} x {n}, float64))")


def test_counts_have_the_right_number():
    one = tessera.solve(np.eye(1), [2.0], method="cg")
    assert repr(one) == "Solution(1 unknown, converged after 1 iteration)"
    assert "after 1 iteration, " in str(one.report)


def test_results_are_true_if_they_converged():
    for enough, result in ((True, tessera.cg(SPD, np.ones(144))), (False, tessera.cg(SPD, np.ones(144), maxiter=2)),
                           (False, tessera.cg(SPD, np.stack([np.zeros(144), np.ones(144)], axis=1), maxiter=2)),
                           (True, tessera.pagerank(abs(A))), (False, tessera.hits(abs(A), maxiter=1))):
        assert result.converged is enough and bool(result) is enough


def test_reports_as_json():
    for name, each in objects().items():
        if hasattr(each, "to_dict"):
            read = json.loads(json.dumps(each.to_dict(), allow_nan=False))
            assert read == each.to_dict() and (name != "SolveReport" or read["residual"] == each.residual)
    report = tessera.cg(SPD, np.ones(144), maxiter=3).report
    assert report.to_dict()["history"]["residual"] == report.history.residual.tolist()
    assert report.to_dict()["history"]["true_residual"][1] is None


def copies_of(thing):
    return pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing), copy.copy(thing)


def test_plans_are_copied_with_their_values():
    own = A.copy()
    plan = tessera.Plan(own, "merbit", transpose=True)
    plan.update_values(2 * own.data)
    for each in copies_of(plan):
        assert each.info.kernel == "merbit" and repr(each) == repr(plan)
        np.testing.assert_allclose(each @ b, 2 * (A.toarray() @ b), rtol=1e-12)
        np.testing.assert_allclose(each.T @ b, 2 * (A.toarray().T @ b), rtol=1e-12)
        each.update_values(own.data)
        np.testing.assert_allclose(plan @ b, 2 * (A.toarray() @ b), rtol=1e-12)
    single = pickle.loads(pickle.dumps(tessera.Plan(A.astype(np.float32))))
    assert single.dtype == np.float32 and (single @ b.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("kind", ["jacobi", "amg", "ilu0", "direct", "fsai:2"])
def test_preconditioners_are_copied(kind):
    options = {"cycle": "w"} if kind == "amg" else {}
    M = tessera.Preconditioner(SPD, kind, **options)
    r = np.random.default_rng(2).standard_normal(144)
    for each in copies_of(M):
        assert each @ r == pytest.approx(M @ r, rel=1e-12) and repr(each) == repr(M)


def test_refreshed_preconditioners_are_copied_with_their_values():
    M = tessera.Preconditioner(SPD, "jacobi")
    M.refresh(4 * SPD)
    for each in copies_of(M):
        np.testing.assert_allclose(each @ np.ones(144), .25 / SPD.diagonal())


def test_solvers_are_copied():
    plan = tessera.Plan(A)
    solver = tessera.Solver(plan, "gmres", M="ilu0", rtol=1e-11, restart=20, history=True)
    x = np.linalg.solve(A.toarray(), b)
    for each in copies_of(solver):
        result = each.solve(b)
        assert result and repr(each) == repr(solver) and len(result.report.history) > 1
        np.testing.assert_allclose(result.x, x, atol=1e-8 * np.abs(x).max())
    solution = pickle.loads(pickle.dumps(solver.solve(b)))
    assert solution and solution.report.method == "gmres"


def test_functions_are_not_pickled():
    function = spla.LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=float)
    for solver in (tessera.Solver(function, "gmres"), tessera.Solver(A, "gmres", callback=lambda info: None)):
        with pytest.raises(Exception, match="(?i)pickle.*lambda"):
            pickle.dumps(solver)
        assert copy.deepcopy(solver).solve(b)  # functions are shared by copies


def test_threads_of_the_host():
    before = tessera.get_num_threads()
    try:
        tessera.set_num_threads(3)
        assert tessera.get_num_threads() == 3
        large = tessera.generate("poisson2d", 300)  # enough for several threads
        several = tessera.Plan(large, "csr") @ np.ones(90_000)
        tessera.set_num_threads(1)
        assert np.array_equal(several, tessera.Plan(large, "csr") @ np.ones(90_000))
        for wrong in (0, -2, 5000, 10**10, "2", 1.5):
            with pytest.raises(tessera.InvalidArgument, match="n: expected|threads must be"):
                tessera.set_num_threads(wrong)
        assert tessera.get_num_threads() == 1
    finally:
        tessera.set_num_threads(before)
