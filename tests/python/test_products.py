"""Plans, sparse products, ranks, generators and files against SciPy and NetworkX."""

import gzip

import networkx
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import tessera


def random_matrix(rows, cols, seed=1, density=.1):
    return sp.random_array((rows, cols), density=density, rng=np.random.default_rng(seed), format="csr")


@pytest.mark.parametrize("kernel", ["auto", "csr", "merge", "merbit", "csr5", "tiles", "sell"])
def test_plans_of_every_kernel(kernel):
    A = random_matrix(70, 50)
    plan = tessera.Plan(A, kernel, transpose=True)
    x, y, X = np.arange(50.), np.arange(70.), np.arange(150.).reshape(50, 3)
    assert isinstance(plan, LinearOperator)
    np.testing.assert_allclose(plan @ x, A @ x, rtol=1e-12)
    np.testing.assert_allclose(plan.T @ y, A.T @ y, rtol=1e-12)
    np.testing.assert_allclose(plan @ X, A @ X, rtol=1e-12)
    assert kernel in ("auto", plan.info.kernel)
    assert plan.info.reason and plan.info.determinism in str(plan.info)


def test_plans_write_where_they_are_told():
    A = random_matrix(70, 50)
    plan, out = tessera.Plan(A), np.full(70, np.nan)
    assert plan.apply(np.ones(50), out) is out
    np.testing.assert_allclose(out, A @ np.ones(50), rtol=1e-13)
    with pytest.raises(tessera.DimensionError, match="70 elements"):
        plan.apply(np.ones(50), np.empty(69))
    with pytest.raises(tessera.DimensionError, match="49 elements"):
        plan @ np.ones(49)
    with pytest.raises(tessera.NotSupported):
        plan.T @ np.ones(70)
    with pytest.raises(tessera.InvalidArgument, match="merbit"):
        tessera.Plan(A, "merbitt")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("workflow", ["auto", "exact", "hll", "esc"])
def test_spgemm_agrees_with_scipy(dtype, workflow):
    A, B = random_matrix(40, 60).astype(dtype), random_matrix(60, 30, 2).astype(dtype)
    C, report = tessera.spgemm(A, B, workflow=workflow, report=True)
    assert C.dtype == dtype and C.shape == (40, 30) and report.nnz == C.nnz
    np.testing.assert_allclose(C.toarray(), (A @ B).toarray(), rtol=1e-5 if dtype is np.float32 else 1e-13)


def test_spgemm_of_other_kinds():
    A = random_matrix(20, 20)
    np.testing.assert_allclose(tessera.spgemm(A.tocsc(), A.astype(np.float32)).toarray(),
                               (A @ A.astype(np.float32)).toarray(), rtol=1e-6)
    assert tessera.spgemm(sp.csr_array((3, 0)), sp.csr_array((0, 2))).shape == (3, 2)
    with pytest.raises(tessera.DimensionError, match="20.*19"):
        tessera.spgemm(A, A[:19])
    with pytest.raises(MemoryError) as caught:
        tessera.spgemm(A, A, memory_limit=100)
    assert caught.value.requested_bytes > 100


@pytest.mark.parametrize("graph", [
    networkx.gnp_random_graph(120, .03, seed=4, directed=True),
    networkx.barabasi_albert_graph(80, 2, seed=1),
    networkx.path_graph(["a", "b", "c"], create_using=networkx.DiGraph),
])
def test_ranks_agree_with_networkx(graph):
    for position, (_, _, data) in enumerate(graph.edges(data=True)):
        data["weight"] = 1 + position % 3
    nodes = list(graph)
    for personalization in (None, {nodes[0]: 1, nodes[-1]: 3}):
        want = networkx.pagerank(graph, personalization=personalization, tol=1e-15, max_iter=10000)
        result = tessera.pagerank(graph, personalization=personalization, tol=1e-12)
        assert result.converged and abs(sum(result.ranks) - 1) < 1e-12
        ranks = result.as_dict()
        assert max(abs(ranks[node] - want[node]) for node in graph) < 1e-8
        assert result.top(1)[0][1] == max(ranks.values())


@pytest.mark.parametrize("graph", [
    networkx.gnp_random_graph(120, .03, seed=4, directed=True),
    networkx.barabasi_albert_graph(80, 2, seed=1),
    networkx.karate_club_graph(),
])
def test_hits_and_katz_agree_with_networkx(graph):
    result = tessera.hits(graph, tol=1e-14, maxiter=20000)
    assert result.converged and result.report.residual <= 1e-14
    for found, want in zip((result.hubs, result.authorities), networkx.hits(graph, tol=1e-14, max_iter=20000)):
        assert max(abs(found.as_dict()[node] - want[node]) for node in graph) < 1e-8
    result = tessera.katz(graph, tol=1e-13)
    want = networkx.katz_centrality_numpy(graph, alpha=result.report.alpha, weight="weight")
    assert result.converged and max(abs(result.as_dict()[node] - want[node]) for node in graph) < 1e-8
    radius = max(abs(np.linalg.eigvals(networkx.to_numpy_array(graph))))
    assert radius <= result.report.spectral_bound * (1 + 1e-12) and result.report.alpha * radius <= .85 * (1 + 1e-12)
    plain = tessera.katz(graph, .02, 3, normalized=False, tol=1e-13).as_dict()
    want = networkx.katz_centrality_numpy(graph, alpha=.02, beta=3, normalized=False, weight="weight")
    assert max(abs(plain[node] - want[node]) for node in graph) < 1e-8
    diverged = tessera.katz(graph, 1.5 / radius).report
    assert diverged.status == "diverged" and "rho(A) <=" in diverged.reason


def test_hits_and_katz_refuse_what_is_no_graph():
    with pytest.raises(tessera.InvalidMatrix, match="row 1, column 2 holds -1"):
        tessera.hits(sp.csr_array([[0., -1.], [1., 0.]]))
    with pytest.raises(tessera.DimensionError, match="2 x 3"):
        tessera.katz(sp.csr_array(np.ones((2, 3))))
    with pytest.raises(tessera.InvalidArgument, match="alpha"):
        tessera.katz(sp.csr_array(np.eye(2)), -1)
    assert tessera.hits(networkx.path_graph(3), maxiter=0).report.status == "max_iterations"


def test_ranks_of_matrices():
    A = tessera.generate("rmat:scale=8")
    uniform = tessera.pagerank(A)
    assert uniform.report.dangling_count == (np.diff(A.indptr) == 0).sum()
    np.testing.assert_allclose(tessera.pagerank(A, personalization=np.ones(256)).ranks, uniform.ranks, atol=1e-9)
    assert tessera.pagerank(A, maxiter=2).report.status == "max_iterations"
    with pytest.raises(tessera.InvalidArgument, match="damping"):
        tessera.pagerank(A, 1.5)
    with pytest.raises(tessera.DimensionError, match="256 vertices"):
        tessera.pagerank(A, personalization=np.ones(3))
    with pytest.raises(tessera.InvalidArgument, match="nobody"):
        tessera.pagerank(networkx.path_graph(3), personalization={"nobody": 1})
    with pytest.raises(tessera.Error):
        tessera.pagerank(-A)


def test_generators():
    assert "poisson2d" in tessera.testing.families()
    A = tessera.testing.generate("poisson2d", 4)
    T = sp.diags_array([-np.ones(3), 2 * np.ones(4), -np.ones(3)], offsets=[-1, 0, 1])
    np.testing.assert_array_equal(A.toarray(), sp.kronsum(T, T).toarray())
    assert tessera.generate("poisson2d", 3, dtype=np.float32).dtype == np.float32
    with pytest.raises(tessera.InvalidArgument, match="poisson2d"):
        tessera.generate("poisson2")


def test_files(tmp_path):
    A = random_matrix(9, 7)
    scipy.io.mmwrite(tmp_path / "a.mtx", A, precision=17)
    with gzip.open(tmp_path / "b.mtx.gz", "wb") as file:
        file.write((tmp_path / "a.mtx").read_bytes())
    for name in ("a.mtx", "b.mtx.gz"):
        np.testing.assert_array_equal(tessera.read(tmp_path / name).toarray(), A.toarray())
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 3\n")
    with pytest.raises(tessera.ParseError) as caught:
        tessera.read(tmp_path / "bad.mtx")
    assert (caught.value.line, caught.value.column) == (3, 3) and caught.value.file.endswith("bad.mtx")
    with pytest.raises(OSError, match="none.mtx"):
        tessera.read(tmp_path / "none.mtx")


def test_measured_choices_are_remembered():
    tessera.forget_measured_choices()
    A = tessera.testing.generate("poisson2d:25")
    first = tessera.Plan(A, "measured").info
    assert tessera.Plan(A, "measured").info.reason == first.reason.replace("measured", "measured before")
    text = tessera.export_measured_choices()
    tessera.forget_measured_choices()
    assert tessera.import_measured_choices(text) == 1
    assert tessera.Plan(A, "measured").info.kernel == first.kernel
    with pytest.raises(tessera.ParseError, match="choices.txt:1:1"):
        tessera.import_measured_choices("a matrix", "choices.txt")
    tessera.forget_measured_choices()
