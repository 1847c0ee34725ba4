#!/usr/bin/env python3
"""Solves every square matrix of a directory with `solve` and, where SciPy is installed, with SciPy's direct solver and
its incomplete factors, all on one thread and in one run. Prints a Markdown table; writes JSON for bench/results.

  scripts/real-systems.py DIRECTORY [--solve PATH] [--rhs Arandom] [--rounds 3] [--scipy] [--json FILE] [NAME...]

  DIRECTORY   holds NAME.mtx.gz files, as TESSERA_TEST_DATA does
  --rhs       right-hand side: Arandom, Aones or random
  --scipy     also time SciPy: splu with two orderings, spilu(1e-4, fill 10) with GMRES(50)

Times are milliseconds without reading; of several rounds the least, as other work shares the machine.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

# SciPy's factors of larger ones take minutes.
most_scipy_rows = 50_000

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"


def run_solve(solve, path, rhs):
    command = [solve, str(path), "-b", rhs, "--threads", "1", "--device", "host", "--json", "--progress", "none"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode not in (0, 3, 4):
        return {"exit": done.returncode, "status": done.stderr.strip().splitlines()[0] if done.stderr else ""}
    document = json.loads(done.stdout)
    ladder = document["ladder"]
    result = document["result"]
    return {
        "exit": done.returncode,
        "status": result["status"],
        "residual": result["residual"]["true"] / (result["residual"]["b_norm"] or 1.0),
        "error": result.get("relative_error_vs_known"),
        "ms": ladder["ms"] + document["timings_ms"]["inspect"] + document["timings_ms"]["plan"],
        "rungs": [rung["name"] for rung in ladder["rungs"]],
        "winner": ladder["rungs"][ladder["rung"]]["name"] if ladder["rungs"] else "",
        "backward": result["backward_error"]["componentwise"],
        "backward_stable": result["backward_error"]["stable"],
        "warnings": [warning["text"] for warning in document["warnings"]],
        "proof": ladder["proof"],
    }


def time_of(work):
    begin = time.perf_counter()
    value = work()
    return (time.perf_counter() - begin) * 1e3, value


def run_scipy(path, seed):
    import numpy
    import scipy.io
    import scipy.sparse.linalg as linalg

    matrix = scipy.sparse.csc_matrix(scipy.io.mmread(str(path)), dtype=float)
    exact = numpy.random.default_rng(seed).uniform(-1, 1, matrix.shape[0])
    b = matrix @ exact
    rows = matrix.tocsr()
    result = {}
    for ordering in ("COLAMD", "MMD_AT_PLUS_A"):
        try:
            ms, x = time_of(lambda: linalg.splu(matrix, permc_spec=ordering).solve(b))
            good = numpy.linalg.norm(rows @ x - b) <= 1e-8 * numpy.linalg.norm(b)
            result[f"splu {ordering}"] = ms if good else None
        except RuntimeError:
            result[f"splu {ordering}"] = None

    def iterate():
        factors = linalg.spilu(matrix, drop_tol=1e-4, fill_factor=10)
        m = linalg.LinearOperator(matrix.shape, factors.solve)
        return linalg.gmres(rows, b, M=m, rtol=1e-8, restart=50, maxiter=20)[0]

    try:
        ms, x = time_of(iterate)
        good = numpy.linalg.norm(rows @ x - b) <= 1e-8 * numpy.linalg.norm(b)
        result["spilu + gmres"] = ms if good else None
    except RuntimeError:
        result["spilu + gmres"] = None
    return result


def square_rows(path):
    """Rows of a square matrix, else 0."""
    import gzip

    with gzip.open(path, "rt") as file:
        for line in file:
            if not line.startswith("%"):
                rows, columns = line.split()[:2]
                return int(rows) if rows == columns else 0
    return 0


def quickest(rounds):
    return min(rounds, key=lambda each: each.get("ms", float("inf")))


def number(value, digits=1):
    return "" if value is None else f"{value:.{digits}f}" if value < 1e4 else f"{value:.0f}"


def table(entries, scipy):
    head = ["matrix", "ending", "rung that solved", "rungs", "residual", "error", "ms"]
    if scipy:
        head += ["best of SciPy, ms"]
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    for name, entry in entries.items():
        own = entry["solve"]
        error = own.get("error")
        ending = "backward stable" if own.get("backward_stable") and own["exit"] else own["status"]
        ending += f"; {own['proof']}" if own.get("proof") else ""
        cells = [name, ending, own.get("winner", ""), str(len(own.get("rungs", []))), f"{own.get('residual', 0):.0e}",
                 "" if error is None else f"{error:.0e}", number(own.get("ms"))]
        if scipy:
            times = [ms for ms in entry.get("scipy", {}).values() if ms is not None]
            cells.append(number(min(times)) if times else "none")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--solve", default="build/release/bin/solve")
    parser.add_argument("--rhs", default="Arandom")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scipy", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    entries = {}
    for path in sorted(arguments.directory.glob("*.mtx.gz"), key=lambda each: each.name.lower()):
        name = path.name.removesuffix(".mtx.gz")
        rows = square_rows(path)
        if (arguments.names and name not in arguments.names) or rows == 0:
            continue
        entry = {"solve": quickest([run_solve(arguments.solve, path, arguments.rhs) for _ in range(arguments.rounds)])}
        if arguments.scipy and rows <= most_scipy_rows and not entry["solve"].get("proof"):
            rounds = [run_scipy(path, 42) for _ in range(arguments.rounds)]
            entry["scipy"] = {key: min((each[key] for each in rounds if each[key] is not None), default=None)
                              for key in rounds[0]}
        entries[name] = entry
        print(name, entry, file=sys.stderr)
    print(table(entries, arguments.scipy))
    if arguments.json:
        arguments.json.write_text(json.dumps({"rhs": arguments.rhs, "rounds": arguments.rounds, "systems": entries},
                                             indent=1) + "\n")


if __name__ == "__main__":
    main()
