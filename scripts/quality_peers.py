"""SciPy's and Eigen's outcome on the systems of scripts/quality.py, by the same tolerance, limits and verification.

SciPy runs in a child of this process, Eigen in bench/quality_eigen.cpp.
A peer has solved a system if norm(b - A x) <= 1.01e-8 norm(b): it tests the residual of its recurrence, which differs.
"""
import array
import contextlib
import json
import math
import os
import signal
import subprocess
import time
import warnings

from quality_runs import GRACE, TOLERANCE

GRANTED = 1.01
RESTART = 50
# Configurations by kind of matrix. Those that stand beside one of `solve` are paired in quality_page.py.
SYMMETRIC = [f"{method} {precond}" for method in ("cg", "minres") for precond in ("none", "jacobi")]
SQUARE = [f"{method} {precond}" for method in ("bicgstab", "gmres") for precond in ("none", "jacobi", "ilut")]
# GMRES preconditioned as in `solve`: SciPy does not offer it, but solves A M y = b.
FROM_THE_RIGHT = "gmres jacobi-right"


class LimitReached(Exception):
    pass


@contextlib.contextmanager
def time_limit(seconds):
    def stop(*_):
        raise LimitReached("time")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def judged(system, configuration, outcome, x):
    """An outcome with the residual of x; what the peer calls converged is false where the residual says no."""
    if x is None or not all(map(math.isfinite, x)):
        return {**outcome, "word": "not finite" if x is not None else outcome["word"]}
    accuracy = system.accuracy(x)
    outcome["residual"] = accuracy["residual"] / (system.b_norm or 1.0)
    solved = outcome["residual"] <= GRANTED * TOLERANCE
    if not system.is_square:
        outcome["optimality"] = system.optimality(x, configuration.endswith("jacobi"))
        solved = solved or outcome["optimality"] <= GRANTED * TOLERANCE
    if solved:
        outcome["word"] = "solved"
    elif outcome["word"] == "solved":
        outcome["word"] = "false"
    return outcome


class SciPy:
    name = "SciPy"

    def __init__(self, max_iterations, seconds):
        import numpy
        import scipy.sparse
        import scipy.sparse.linalg

        self.numpy, self.sparse, self.linalg = numpy, scipy.sparse, scipy.sparse.linalg
        self.version = f"SciPy {scipy.__version__}"
        self.max_iterations, self.seconds = max_iterations, seconds
        self.held = None

    def configurations(self, is_square, symmetric):
        if not is_square:
            return ["lsmr none", "lsmr jacobi"]
        return [*(SYMMETRIC if symmetric else []), *SQUARE, FROM_THE_RIGHT]

    def matrix(self, system):
        if self.held is None or self.held[0] is not system.columns:
            columns = self.numpy.concatenate([self.numpy.asarray(row, dtype=self.numpy.int32) for row in system.columns])
            values = self.numpy.concatenate([self.numpy.asarray(row, dtype=float) for row in system.values])
            offsets = self.numpy.concatenate(([0], self.numpy.cumsum(list(map(len, system.columns)))))
            a = self.sparse.csr_array((values, columns, offsets.astype(self.numpy.int32)),
                                      shape=(system.rows, system.cols))
            self.held = (system.columns, a)
        return self.held[1]

    def run(self, system, configuration, folder):
        """In a child, which is killed where it stays in compiled code."""
        self.matrix(system)
        path = folder / "scipy.json"
        path.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                path.write_text(json.dumps(self.run_here(system, configuration)))
            os._exit(0)
        deadline = time.monotonic() + self.seconds + GRACE
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return {"word": "time"}
            time.sleep(0.002)
        return json.loads(path.read_text()) if path.exists() else {"word": "failed"}

    def run_here(self, system, configuration):
        self.iterations, self.last = 0, None
        word, x = "refused", None
        try:
            with time_limit(self.seconds), warnings.catch_warnings(), self.numpy.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                word, x = self.solve(self.matrix(system), self.numpy.asarray(system.b), *configuration.split())
        except LimitReached as limit:
            word, x = str(limit), self.last
        except (ValueError, RuntimeError, ZeroDivisionError):  # a preconditioner that it refuses
            word, x = ("breakdown" if self.iterations else "refused"), self.last
        return judged(system, configuration, {"word": word, "iterations": self.iterations}, x)

    def solve(self, a, b, method, precond):
        if method == "lsmr":
            return self.lsmr(a, b, precond)
        if f"{method} {precond}" == FROM_THE_RIGHT:
            m = self.preconditioner(a, "jacobi")
            word, y = self.solve(a @ m, b, method, "none")
            return word, m @ y
        m = self.preconditioner(a, precond)
        options = {"rtol": TOLERANCE, "M": m, "callback": self.count}
        if method == "gmres":
            options.update(restart=RESTART, maxiter=self.max_iterations // RESTART, callback_type="pr_norm")
        elif method == "minres":
            # Its own test is relative to norm(A) norm(x): here it stops by the residual, as the others do.
            target = TOLERANCE * self.numpy.linalg.norm(b)
            options.update(rtol=0.0, maxiter=self.max_iterations, callback=lambda x: self.stop_at(a, b, x, target))
        else:
            options["maxiter"] = self.max_iterations
        x, info = getattr(self.linalg, method)(a, b, **options)
        if method == "bicgstab" and info == 0 and not self.numpy.array_equal(x, self.last):
            self.iterations += 1  # it ended in the middle of an iteration, without a callback
        if info == 0:
            return "solved", x
        return ("breakdown" if info < 0 or self.iterations < 0.98 * self.max_iterations else "limit"), x

    def count(self, x):
        self.iterations += 1
        if getattr(x, "ndim", 0):
            self.last = x.copy()

    def stop_at(self, a, b, x, target):
        self.count(x)
        if self.numpy.linalg.norm(b - a @ x) <= target:
            raise LimitReached("solved")

    def preconditioner(self, a, precond):
        if precond == "none":
            return None
        if precond == "jacobi":
            diagonal = a.diagonal()
            if not diagonal.all():
                raise ValueError("a diagonal entry is missing or zero")
            return self.sparse.diags_array(1.0 / diagonal).tocsr()
        factors = self.linalg.spilu(a.tocsc(), drop_tol=1e-4, fill_factor=10)
        return self.linalg.LinearOperator(a.shape, factors.solve)

    def lsmr(self, a, b, precond):
        """With jacobi: columns scaled to norm 1. Its test of a consistent system adds norm(A) norm(x): taken out there."""
        scaling = self.numpy.ones(a.shape[1])
        if precond == "jacobi":
            norms = self.numpy.sqrt(a.multiply(a).sum(axis=0))
            scaling = 1.0 / self.numpy.where(norms > 0, norms, 1.0)
        atol = TOLERANCE if a.shape[0] > a.shape[1] else 0.0
        done = self.linalg.lsmr(a @ self.sparse.diags_array(scaling), b, atol=atol, btol=TOLERANCE, conlim=0,
                                maxiter=self.max_iterations)
        self.iterations = done[2]
        return ("limit" if done[1] == 7 else "solved"), scaling * done[0]


class Eigen:
    name = "Eigen"

    def __init__(self, program, max_iterations, seconds):
        self.program, self.max_iterations, self.seconds = str(program), max_iterations, seconds
        done = subprocess.run([self.program, "--version"], capture_output=True, text=True, check=True)
        self.version = f"Eigen {done.stdout.strip()}"

    def configurations(self, is_square, symmetric):
        if not is_square:
            return ["cgls none", "cgls jacobi"]
        return [*([*SYMMETRIC, "cg ic"] if symmetric else []), *SQUARE]

    def run(self, system, configuration, folder):
        path = folder / "x.bin"
        path.unlink(missing_ok=True)
        command = [self.program, str(folder / "system.bin"), str(path), *configuration.split(), repr(TOLERANCE),
                   str(self.max_iterations)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self.seconds + GRACE)
        except subprocess.TimeoutExpired:
            return {"word": "time"}
        if done.returncode != 0:
            return {"word": "refused"}
        iterations, word = done.stdout.strip().split(" ", 1)
        x = array.array("d")
        x.frombytes(path.read_bytes())
        ended = "solved" if word == "converged" else "limit" if int(iterations) >= self.max_iterations else "breakdown"
        return judged(system, configuration, {"word": ended, "iterations": int(iterations)}, x)
