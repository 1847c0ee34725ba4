"""Linear systems of scripts/quality.py: matrices read by Python alone, right-hand sides with a known solution, and
residuals that trust no solver.

Sums are those of math.fsum, exact but for the rounding of each product, or of long double where NumPy is at hand.
"""
import array
import copy
import gzip
import math
import operator
import pathlib
import random
import subprocess

try:
    import numpy
except ImportError:
    numpy = None

UNIT_ROUNDOFF = 2.0**-53

# Small ones, which CI can make without any file; `solve convert --generate` writes them.
GENERATED = ["poisson2d:32", "poisson3d:10", "anisotropic2d:32", "jump3d:10", "elasticity3d:5", "convdiff:10"]
LEVELLING = "levelling:12"


class System:
    """A x = b with b = A x for random x, but of matrices with more rows than columns, whose b is random."""

    def __init__(self, name, arguments, shape, columns, values):
        self.name = name
        self.arguments = arguments  # how `solve` is told the matrix
        self.rows, self.cols = shape
        self.columns, self.values = columns, values  # per row
        self.nnz = sum(map(len, columns))
        self.max_row_nnz = max(map(len, columns), default=0)
        stream = random.Random(name)
        self.exact = None
        if self.rows > self.cols:
            self.b = [stream.uniform(-1, 1) for _ in range(self.rows)]
        else:
            self.exact = [stream.uniform(-1, 1) for _ in range(self.cols)]
            self.b = self.product(self.exact)
        self.b_norm = norm(self.b)
        self.flat = None  # columns, values, first entries of nonempty rows, their numbers: for NumPy

    @property
    def is_square(self):
        return self.rows == self.cols

    def perturbed(self, number):
        """The same system with b rounded otherwise: entries keep their value or move by their last bit."""
        other, stream = copy.copy(self), random.Random(f"{self.name} {number}")
        other.b = [b * (1.0 + 2 * UNIT_ROUNDOFF * stream.choice((-1, 0, 1))) for b in self.b]
        other.exact, other.b_norm = None, norm(other.b)
        return other

    def product(self, x):
        return [math.fsum(map(operator.mul, values, map(x.__getitem__, columns)))
                for columns, values in zip(self.columns, self.values)]

    def residual(self, x):
        """b - A x, and the vector |A||x| + |b| that its rounding errors are proportional to."""
        if numpy:
            return self.long_double_residual(numpy.asarray(x))
        difference, magnitude = [], []
        for columns, values, b in zip(self.columns, self.values, self.b):
            terms = [-value * x[column] for column, value in zip(columns, values)]
            difference.append(math.fsum([b, *terms]))
            magnitude.append(abs(b) + sum(map(abs, terms)))
        return difference, magnitude

    def long_double_residual(self, x):
        if self.flat is None:
            lengths = numpy.fromiter(map(len, self.columns), dtype=numpy.int64, count=self.rows)
            rows = numpy.flatnonzero(lengths)
            first = numpy.concatenate(([0], numpy.cumsum(lengths)))[rows]
            self.flat = (numpy.concatenate([numpy.asarray(row, dtype=numpy.int64) for row in self.columns]),
                         numpy.concatenate([numpy.asarray(row, dtype=float) for row in self.values]), first, rows)
        columns, values, first, rows = self.flat
        terms = values.astype(numpy.longdouble) * x[columns]
        difference = numpy.asarray(self.b, dtype=numpy.longdouble)
        magnitude = abs(difference)
        difference[rows] -= numpy.add.reduceat(terms, first)
        magnitude[rows] += numpy.add.reduceat(abs(terms), first)
        return difference, magnitude

    def accuracy(self, x):
        """Norms of the residual of x; `bound` limits by how much a residual in double may differ from it."""
        difference, magnitude = self.residual(x)
        size = norm(difference)
        # A row of k entries is summed within (k + 2) u of |A||x| + |b| in any order, and a norm of n within (n + 2) u.
        bound = UNIT_ROUNDOFF * ((self.max_row_nnz + 3) * norm(magnitude) + (self.rows + 2) * size)
        return {"residual": size, "bound": bound, "error": None if self.exact is None else self.error(x)}

    def error(self, x):
        return norm([a - b for a, b in zip(x, self.exact)]) / (norm(self.exact) or 1.0)

    def optimality(self, x, scaled):
        """norm(D A^T r) / (norm(A D) norm(r)) in the Frobenius norm, D scaling columns to norm 1 where `scaled`."""
        difference = [float(each) for each in self.residual(x)[0]]
        gradient, squares = [0.0] * self.cols, [0.0] * self.cols
        for columns, values, r in zip(self.columns, self.values, difference):
            for column, value in zip(columns, values):
                gradient[column] += value * r
                squares[column] += value * value
        if scaled:
            gradient = [g / math.sqrt(s) if s else g for g, s in zip(gradient, squares)]
            squares = [1.0 if s else 0.0 for s in squares]
        whole = math.sqrt(math.fsum(squares)) * norm(difference)
        return norm(gradient) / whole if whole else 0.0

    def write_b(self, path):
        path.write_text("\n".join(map(repr, self.b)) + "\n")

    def write_binary(self, path):
        """What bench/quality_eigen.cpp reads: sizes, offsets, columns, values, b."""
        offsets = array.array("i", [0])
        for row in self.columns:
            offsets.append(offsets[-1] + len(row))
        with open(path, "wb") as file:
            array.array("q", [self.rows, self.cols, self.nnz]).tofile(file)
            offsets.tofile(file)
            array.array("i", [column for row in self.columns for column in row]).tofile(file)
            array.array("d", [value for row in self.values for value in row]).tofile(file)
            array.array("d", self.b).tofile(file)


def norm(values):
    if numpy and isinstance(values, numpy.ndarray):
        return float(numpy.sqrt((values * values).sum()))
    return math.sqrt(math.fsum(value * value for value in values))


def read_matrix(name, arguments, path):
    """A Matrix Market file of coordinates as a System; where it has no values, they are 1."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
        header = file.readline().lower().split()
        line = file.readline()
        while line.startswith("%") or not line.strip():
            line = file.readline()
        rows, cols, _ = map(int, line.split())
        columns, values = [[] for _ in range(rows)], [[] for _ in range(rows)]
        mirrored = {"symmetric": 1.0, "skew-symmetric": -1.0}.get(header[4])
        for entry in file:
            i, j, *value = entry.split()
            i, j, value = int(i) - 1, int(j) - 1, float(value[0]) if value else 1.0
            columns[i].append(j)
            values[i].append(value)
            if mirrored and i != j:
                columns[j].append(i)
                values[j].append(mirrored * value)
    for i, row in enumerate(columns):
        if any(a > b for a, b in zip(row, row[1:])):
            ordered = sorted(zip(row, values[i]))
            columns[i], values[i] = [j for j, _ in ordered], [value for _, value in ordered]
    return System(name, arguments, (rows, cols), columns, values)


def generated(solve, spec, folder):
    """How `solve` is told a generated matrix, and what makes its System."""
    path = folder / (spec.replace(":", "-") + ".mtx")
    if spec == LEVELLING:
        write_levelling(int(spec.split(":")[1]), path)
        return [str(path)], lambda: read_matrix(spec, [str(path)], path)

    def load():
        subprocess.run([solve, "convert", "--generate", spec, str(path)], check=True, capture_output=True, timeout=60)
        return read_matrix(spec, ["--generate", spec], path)

    return ["--generate", spec], load


def write_levelling(side, path):
    """Heights of a grid of points from weighted differences along its edges; that of the first point is known. Full rank,
    more rows than columns, as the surveys well1850 and illc1850."""
    edges = [(i * side + j, i * side + j + step) for i in range(side) for j in range(side)
             for step, inside in ((1, j + 1 < side), (side, i + 1 < side)) if inside]
    entries = []
    for row, (start, end) in enumerate(edges, 1):
        weight = 1.0 / (1.0 + row % 5)
        entries += [f"{row} {point} {sign * weight!r}" for point, sign in ((start, -1), (end, 1)) if point > 0]
    path.write_text("%%MatrixMarket matrix coordinate real general\n"
                    f"{len(edges)} {side * side - 1} {len(entries)}\n" + "\n".join(entries) + "\n")


def real_matrices(folder):
    """Names and paths of the matrices of a folder."""
    paths = sorted(pathlib.Path(folder).glob("*.mtx*"), key=lambda path: path.name.lower())
    return {path.name.split(".mtx")[0]: path for path in paths if path.name.endswith((".mtx", ".mtx.gz"))}
