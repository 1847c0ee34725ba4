"""Files that SciPy writes give the matrices that SciPy reads."""

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import tessera


def matrices():
    """Name and matrix: general, rectangular, empty, without rows, and with long and empty rows."""
    rng = np.random.default_rng(7)
    yield "general", sp.random(40, 40, 0.1, random_state=rng, format="csr")
    yield "rectangular", sp.random(17, 31, 0.2, random_state=rng, format="csr")
    yield "empty", sp.csr_matrix((5, 3))
    hub = sp.random(60, 60, 0.02, random_state=rng, format="lil")
    hub[7, :] = rng.standard_normal(60)
    yield "hub", hub.tocsr()
    yield "bidiagonal", sp.diags([np.arange(1.0, 9.0), np.ones(7)], [0, -1], format="csr")


CASES = list(matrices())
NAMES = [name for name, _ in CASES]


def assert_same(read, expected):
    expected = sp.csr_array(expected, dtype=read.dtype)
    expected.sum_duplicates()
    assert read.shape == expected.shape
    np.testing.assert_array_equal(read.indptr, expected.indptr)
    np.testing.assert_array_equal(read.indices, expected.indices)
    np.testing.assert_array_equal(read.data, expected.data)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("name, A", CASES, ids=NAMES)
def test_npz(tmp_path, name, A, kind):
    path = tmp_path / "A.npz"
    for compressed in (True, False):
        sp.save_npz(path, A.asformat(kind), compressed=compressed)
        assert_same(tessera.read(path), sp.load_npz(path))


@pytest.mark.parametrize("dtype", ["float32", "int8", "int32", "int64", "uint16", "bool"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_npz_types(tmp_path, dtype, index):
    A = sp.coo_array(([3, 1, 2], ([0, 1, 1], [2, 0, 2])), shape=(3, 3)).tocsr().astype(dtype)
    A.indices, A.indptr = A.indices.astype(index), A.indptr.astype(index)
    sp.save_npz(tmp_path / "A.npz", A)
    assert_same(tessera.read(tmp_path / "A.npz"), sp.csr_array(A.toarray().astype(float)))


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("name, A", CASES, ids=NAMES)
def test_mat(tmp_path, name, A, compressed):
    path = tmp_path / "A.mat"
    scipy.io.savemat(path, {"A": A.tocsc()}, do_compression=compressed)
    assert_same(tessera.read(path), A)
    scipy.io.savemat(path, {"Problem": {"title": "t", "A": A.tocsc(), "b": np.ones(A.shape[0])}}, do_compression=compressed)
    assert_same(tessera.read(path), A)
    scipy.io.savemat(path, {"A": A.tocsc(), "M": 2 * A.tocsc()}, do_compression=compressed)
    assert_same(tessera.read(f"{path}:M"), 2 * A)
    with pytest.raises(tessera.InvalidMatrix, match="expected one sparse matrix, found A, M"):
        tessera.read(path)


@pytest.mark.parametrize("name", [name for name, A in CASES if A.nnz])
def test_harwell_boeing(tmp_path, name):
    A = dict(CASES)[name]
    path = tmp_path / "A.rua"
    scipy.io.hb_write(path, A.tocsc())
    read, expected = tessera.read(path), sp.csr_array(scipy.io.hb_read(path))
    assert_same(read, expected)
    with gzip.open(tmp_path / "A.rua.gz", "wb") as file:
        file.write(path.read_bytes())
    assert_same(tessera.read(tmp_path / "A.rua.gz"), expected)


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
def test_matrix_market(tmp_path, symmetry):
    A = dict(CASES)["general"]
    A = {"general": A, "symmetric": A + A.T, "skew-symmetric": A - A.T}[symmetry]
    scipy.io.mmwrite(tmp_path / "A.mtx", A, symmetry=symmetry, precision=17)
    assert_same(tessera.read(tmp_path / "A.mtx"), sp.csr_array(scipy.io.mmread(tmp_path / "A.mtx")))


def test_npy(tmp_path):
    A = dict(CASES)["rectangular"].toarray()
    for array in (A, np.asfortranarray(A), A.astype(">f4")):
        np.save(tmp_path / "A.npy", array)
        assert_same(tessera.read(tmp_path / "A.npy"), sp.csr_array(array.astype(float)))


def test_single_precision(tmp_path):
    A = dict(CASES)["general"]
    sp.save_npz(tmp_path / "A.npz", A)
    read = tessera.read(tmp_path / "A.npz", dtype="float32")
    assert read.dtype == np.float32
    assert_same(read, A.astype(np.float32))


def petsc(A, index):
    head = np.array([1211216, *A.shape, A.nnz, *np.diff(A.indptr), *A.indices], dtype=index)
    return head.tobytes() + A.data.astype(">f8").tobytes()


@pytest.mark.parametrize("index", [">i4", ">i8"])
@pytest.mark.parametrize("name, A", CASES, ids=NAMES)
def test_petsc(tmp_path, name, A, index):
    A.sort_indices()
    (tmp_path / "A.petsc").write_bytes(petsc(A, index))
    assert_same(tessera.read(tmp_path / "A.petsc"), A)


def test_edges(tmp_path):
    (tmp_path / "g.csv").write_text("source,target,weight\nzoe,adam,2\nadam,bob,3\nzoe,adam,1\n")
    A, labels = tessera.read_edges(tmp_path / "g.csv")
    assert labels == ["zoe", "adam", "bob"]
    np.testing.assert_array_equal(A.toarray(), [[0, 3, 0], [0, 0, 3], [0, 0, 0]])
    assert_same(tessera.read(tmp_path / "g.csv"), A)


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("f4"), "f4", float, "float64"])
def test_the_type_may_be_said_in_every_way_of_numpy(tmp_path, dtype):
    scipy.io.mmwrite(tmp_path / "A.mtx", CASES[0][1])
    (tmp_path / "g.csv").write_text("a,b,2\nb,a,3\n")
    assert tessera.read(tmp_path / "A.mtx", dtype).dtype == dtype
    assert tessera.read_edges(tmp_path / "g.csv", dtype)[0].dtype == dtype
