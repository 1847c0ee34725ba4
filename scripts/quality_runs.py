"""Runs of `solve` for scripts/quality.py: which configurations there are, and what became of each."""
import json
import math
import re
import subprocess

TOLERANCE = 1e-8
# Seconds beyond the limit after which a run that did not end by itself is killed.
GRACE = 2
PRECONDITIONERS = ("none", "jacobi", "ilu0", "ilutp")
# Method and preconditioners by kind of matrix; what this `solve` lacks is left out.
SYMMETRIC = {"cg": ("none", "jacobi", "ic0", "fsai", "amg"), "minres": ("none", "jacobi"), "chebyshev": ("jacobi",)}
SQUARE = {"bicgstab": PRECONDITIONERS, "gmres": PRECONDITIONERS, "idr": PRECONDITIONERS}
RECTANGULAR = {"lsmr": ("none", "jacobi"), "cgls": ("none", "jacobi")}
MIXED = {"cg jacobi": SYMMETRIC, "bicgstab ilutp": SQUARE, "gmres ilutp": SQUARE}
WORDS = {"max_iterations": "limit", "time_limit": "time", "not_finite": "not finite"}
REFUSED = {5: "refused", 6: "memory"}
MIXED_SUFFIX = " mixed"
CONFIGURATIONS = ["auto", "direct", *(f"{method} {precond}" for family in (SYMMETRIC, SQUARE, RECTANGULAR)
                                      for method, preconds in family.items() for precond in preconds),
                  *(name + MIXED_SUFFIX for name in MIXED)]


class Solve:
    """The command, what it knows, and the limits of every run."""

    def __init__(self, binary, max_iterations, seconds):
        self.binary, self.max_iterations, self.seconds = str(binary), max_iterations, seconds
        self.methods = {each["name"] for each in self.document("list", "methods", "--json")["methods"]}
        probe = self.document("inspect", "--poisson2d", "2", "--json", "--no-spy")
        tool = probe["tool"]
        self.version = f"`solve` {tool['version']} ({tool['commit']}, {tool['build']['compiler']})"
        self.cpu = probe["machine"]["cpu"]
        self.has_mixed = re.search(r"^ *--precision \S*\bmixed\b", self.text("run", "--help"), re.M) is not None

    def text(self, *arguments):
        return subprocess.run([self.binary, *arguments], capture_output=True, text=True, check=True, timeout=120).stdout

    def document(self, *arguments):
        return json.loads(self.text(*arguments))

    def inspect(self, arguments):
        return self.document("inspect", *arguments, "--json", "--no-spy", "--threads", "1")

    def configurations(self, is_square, symmetric):
        """Names of the configurations for a matrix, such as "cg jacobi"."""
        if not is_square:
            return ["auto", *self.known(RECTANGULAR)]
        names = ["auto"] + (["direct"] if "direct" in self.methods else [])
        names += (self.known(SYMMETRIC) if symmetric else []) + self.known(SQUARE)
        return names

    def known(self, family):
        names = [f"{method} {precond}" for method, preconds in family.items() if method in self.methods
                 for precond in preconds]
        mixed = [name + MIXED_SUFFIX for name, kind in MIXED.items() if self.has_mixed and kind is family]
        return names + mixed

    def options(self, configuration):
        """Options of a configuration as a user would write them."""
        if configuration == "auto":
            return []
        words = configuration.split()
        options = ["-m", words[0]] + (["-p", words[1]] if len(words) > 1 else [])
        return options + (["--precision", "mixed"] if configuration.endswith(MIXED_SUFFIX) else [])

    def common_options(self, configuration):
        options = ["--rtol", repr(TOLERANCE), "--max-iters", str(self.max_iterations), "--max-time", f"{self.seconds}s"]
        # The ladder runs as it comes; the error gate of the others would add solves that count nowhere.
        named = configuration not in ("auto", "direct") and configuration.split()[0] not in RECTANGULAR
        return options + (["--error-gate", "off"] if named else [])

    def run(self, system, configuration, folder):
        """One solve: its outcome, and the faults of its report."""
        b, x = folder / "b.txt", folder / "x.txt"
        x.unlink(missing_ok=True)
        command = [self.binary, *system.arguments, "-b", str(b), "-o", str(x), *self.options(configuration),
                   *self.common_options(configuration), "--threads", "1", "--device", "host", "--json", "--quiet"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self.seconds + GRACE)
        except subprocess.TimeoutExpired:
            return {"word": "time"}, []
        if done.returncode in REFUSED:
            return {"word": REFUSED[done.returncode], "reason": refusal(done.stderr)}, []
        if done.returncode not in (0, 3, 4) or not x.exists():
            return {"word": "failed"}, [f"exit code {done.returncode}: {done.stderr.strip()}"]
        return judged(system, json.loads(done.stdout), [float(line) for line in x.read_text().split()])


def refusal(text):
    lines = [line for line in text.splitlines() if line.startswith("solve: error:")]
    return lines[0].removeprefix("solve: error: ").split(".mtx.gz: ")[-1] if lines else ""


def judged(system, document, x):
    """What a report says, held against the residual of its x."""
    result = document["result"]
    accuracy = system.accuracy(x)
    scale = system.b_norm or 1.0
    outcome = {"word": word_of(result), "iterations": result["iterations"], "residual": accuracy["residual"] / scale}
    if accuracy["error"] is not None and system.is_square:
        outcome["error"] = accuracy["error"]
    if document.get("ladder"):
        outcome["rungs"] = len(document["ladder"]["rungs"])
        outcome["by"] = f"{result['method']} {result['precond']}" if result["method"] != "direct" else "direct"
    direct = (document.get("preconditioner") or {}).get("direct")
    if direct:
        outcome["definite"] = direct["method"] == "cholesky" and direct["negative_pivots"] == 0
    faults = []
    reported = result["residual"]["true"]
    if not math.isclose(reported, accuracy["residual"], rel_tol=0, abs_tol=accuracy["bound"]):
        faults.append(f"reports ||b - A x|| = {reported!r}, but it is {accuracy['residual']!r}, "
                      f"and rounding explains {accuracy['bound']:.1e}")
    met = accuracy["residual"] <= TOLERANCE * system.b_norm + accuracy["bound"]
    if not system.is_square:
        outcome["optimality"] = system.optimality(x, result["precond"] == "jacobi")
        # The solver's norm of A is a lower bound of the one used here: its test is the stricter one.
        met = met or outcome["optimality"] <= TOLERANCE
    if outcome["word"] == "solved" and not met:
        faults.append(f"says converged with a residual of {outcome['residual']:.3e} of ||b||")
    return outcome, faults


def word_of(result):
    if result["status"] == "converged":
        return "solved"
    if (result.get("backward_error") or {}).get("stable"):
        return "stable"
    return WORDS.get(result["status"], result["status"])
