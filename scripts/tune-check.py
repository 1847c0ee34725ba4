#!/usr/bin/env python3
"""Holds `solve tune` against an exhaustive search by `solve bench`, on matrices of a folder.

    scripts/tune-check.py FOLDER MATRIX... [--solve BINARY] [--results FOLDER]

Per matrix: every method with every preconditioner and three kernels, one run each; then `solve tune`; then the five
fastest of the former, of methods for the class of the matrix, and the choice of the latter in turn, seven rounds. Their
least times of set-up and solve by the clock are what the table compares, since a first measurement of hundreds flatters
the fastest. What the searches took is processor time. One thread, on a machine without other work. Prints a table in
Markdown; a bench that was cut off goes on.
"""
import argparse
import csv
import json
import pathlib
import resource
import subprocess

METHODS = "auto,cg,bicgstab,gmres,idr,minres,chebyshev,richardson,direct"
PRECONDS = "none,jacobi,spai,fsai,amg,poly:4,neumann:3,ilu0,iluk:1,ilut,ilutp,ic0,ict,bjacobi:4"
KERNELS = "auto,csr,sell"
CONTENDERS, ROUNDS = 5, 7


def processor_ms():
    """Of all processes that have ended, and of those that they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (used.ru_utime + used.ru_stime)


def measured(command):
    """Milliseconds of set-up and solve by the clock."""
    done = subprocess.run([*command, "--threads", "1", "--error-gate", "off", "--json", "-", "--quiet", "--exit-zero"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return float("inf")
    document = json.loads(done.stdout)
    if document["result"]["status"] != "converged":
        return float("inf")
    times, ladder = document["timings_ms"], document["ladder"]
    solve = ladder["ms"] if ladder else times["precond_setup"] + times["solve"]
    return times["upload"] + times["plan"] + times["download"] + solve


def least_times(commands):
    """Of each command; all in turn."""
    least = dict.fromkeys(commands, float("inf"))
    for _ in range(ROUNDS):
        for each, command in commands.items():
            least[each] = min(least[each], measured(command))
    return least


def timed(command):
    """Seconds of processor time."""
    before = processor_ms()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (processor_ms() - before) / 1e3


def exhaustive(solve, matrix, runs, seconds):
    """The rows of all runs that solved the system, the fastest first, and what they took in all, in seconds of processor time."""
    subprocess.run([solve, "bench", str(matrix), "--methods", METHODS, "--preconds", PRECONDS, "--kernels", KERNELS,
                    "--threads", "1", "--max-time", seconds, f"--json={runs}", "--quiet"],
                   check=False, stdout=subprocess.DEVNULL)
    spent = sum(json.loads(line)["times_ms"]["cpu"] for line in runs.read_text().splitlines()) / 1e3
    table = subprocess.run([solve, "bench", "--summary", str(runs), "--table", "csv"], check=True, capture_output=True,
                           text=True).stdout
    rows = [row for row in csv.DictReader(table.splitlines()) if row["solved"] == "1"]
    rows.sort(key=lambda row: float(row["setup_ms"]) + float(row["solve_ms"]))
    return rows, spent, len(runs.read_text().splitlines())


def check(solve, matrix, folder, arguments):
    name = matrix.name.split(".mtx")[0]
    rows, spent, count = exhaustive(solve, matrix, folder / f"{name}.jsonl", arguments.max_time)
    symmetric = json.loads(subprocess.run([solve, "inspect", str(matrix), "--json", "--no-spy"], check=True,
                                          capture_output=True, text=True).stdout)["matrix"]["symmetric"]
    # A method for another class of matrices may converge for one right-hand side, and not for the next.
    rows = [row for row in rows if symmetric or row["chosen_method"] not in ("cg", "chebyshev", "minres")]
    chosen = folder / f"{name}.toml"
    tuning = timed([solve, "tune", str(matrix), "--threads", "1", "--budget", arguments.budget, "--force", "-o",
                    str(chosen), "--quiet"])
    commands = {f"{row['method']} {row['precond']} {row['kernel']}":
                [solve, str(matrix), "-m", row["method"], "-k", row["kernel"],
                 *(["-p", row["precond"]] if row["method"] != "direct" else [])] for row in rows[:CONTENDERS]}
    commands["tune"] = [solve, str(matrix), "-c", str(chosen)]
    least = least_times(commands)
    tuned = least.pop("tune")
    best = min(least, key=least.get)
    words = [line.split('"')[1] for line in chosen.read_text().splitlines()
             if line.startswith(("method", "precond", "spmv", "restart"))]
    print(f"| {name} | {count} | {best} | {least[best]:.3g} | {' '.join(words)} | {tuned:.3g} | "
          f"{tuned / least[best]:.2f} | {spent:.1f} | {tuning:.2f} | {tuning / spent:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("matrices", nargs="+")
    parser.add_argument("--solve", default="build/release/bin/solve")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("build/tune-check"))
    parser.add_argument("--max-time", default="2s", help="of every run of the exhaustive search")
    parser.add_argument("--budget", default="30s", help="of tune")
    arguments = parser.parse_args()
    arguments.results.mkdir(parents=True, exist_ok=True)
    print("| matrix | runs | best of all | ms | tune | ms | tune / best | all s | tune s | share |")
    print("| --- | ---: | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for name in arguments.matrices:
        check(arguments.solve, arguments.folder / f"{name}.mtx.gz", arguments.results, arguments)


if __name__ == "__main__":
    main()
