#!/usr/bin/env python3
"""Times of commands on an idle and on a busy machine: default threads against --threads 1, and against an older program.

  scripts/busy-machine.py build/release/bin/solve [--old OTHER/solve] [--matrices FOLDER] [--busy N] [--runs N]
                          [--large] [--json FILE]

Runs of all variants take turns; a number is a median. The busy machine is this one with N loops that never end
(default: one for every CPU), which the script starts and ends. Ratios above the goal are marked with *.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

BUSY_GOAL = 1.5
IDLE_GOAL = 1.1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--old", help="an older program to compare with, on the idle machine")
    parser.add_argument("--matrices", help="folder with ex31.mtx and wb-cs-stanford.mtx")
    parser.add_argument("--busy", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--large", action="store_true", help="large problems too")
    parser.add_argument("--json")
    return parser.parse_args()


def matrix(folder, name):
    """The file NAME.mtx or NAME.mtx.gz somewhere in the folder, or None."""
    if not folder:
        return None
    return next((str(p) for end in (".mtx", ".mtx.gz") for p in sorted(pathlib.Path(folder).rglob(name + end))), None)


def commands(given, scratch):
    small = str(pathlib.Path(scratch) / "poisson40.mtx")
    subprocess.run([given.program, "convert", "--poisson2d", "40", "-o", small], check=True, capture_output=True)
    found = {
        "poisson2d 40": ["--poisson2d", "40"],
        "poisson2d 120": ["--poisson2d", "120"],
        "poisson2d 200": ["--poisson2d", "200"],
        "inspect": ["inspect", "--poisson2d", "100"],
        "spgemm": ["spgemm", small],
        "convert": ["convert", small, "-o", str(pathlib.Path(scratch) / "copy.mtx"), "--force"],
        "compare": ["compare", "--poisson2d", "40", "--min-time", "1"],
        "pagerank generated": ["pagerank", "--generate", "rmat:12"],
    }
    ex31, stanford = matrix(given.matrices, "ex31"), matrix(given.matrices, "wb-cs-stanford")
    if ex31:
        found["ex31"] = [ex31]
    if stanford:
        found["pagerank wb-cs-stanford"] = ["pagerank", stanford]
    if given.large:
        found["poisson3d 100"] = ["--poisson3d", "100"]
        found["pagerank rmat:18"] = ["pagerank", "--generate", "rmat:18"]
        found["spgemm poisson3d 60"] = ["spgemm", "--poisson3d", "60"]
    return found


def time_ms(command):
    start = time.perf_counter()
    code = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    return (time.perf_counter() - start) * 1e3, code


def medians(variants, runs):
    """Median time of every variant, whose runs take turns; None where the variant's exit code is not that of the first."""
    times = {name: [] for name in variants}
    codes = {name: time_ms(command)[1] for name, command in variants.items()}
    for _ in range(runs):
        for name, command in variants.items():
            times[name].append(time_ms(command)[0])
    first = next(iter(codes.values()))
    return {name: statistics.median(t) if codes[name] == first else None for name, t in times.items()}, first


def measured(given, words, with_old):
    tail = ["--device", "host", "-q"]
    variants = {"one": [given.program, *words, *tail, "--threads", "1"], "default": [given.program, *words, *tail]}
    if with_old and given.old:
        variants["old"] = [given.old, *words, *tail]
    return medians(variants, given.runs)


def ratio(numerator, denominator):
    return round(numerator / denominator, 3) if numerator and denominator else None


def main():
    given = arguments()
    loops = []
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        chosen = commands(given, scratch)
        try:
            for state in ("idle", "busy"):
                if state == "busy":
                    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)]
                for name, words in chosen.items():
                    ms, code = measured(given, words, state == "idle")
                    row = {"machine": state, "command": name, "exit_code": code, "ms": ms,
                           "default_over_one": ratio(ms["default"], ms["one"]),
                           "default_over_old": ratio(ms["default"], ms.get("old"))}
                    rows.append(row)
                    over = [row["default_over_one"] or 0, row["default_over_old"] or 0]
                    mark = "*" if over[0] > (BUSY_GOAL if state == "busy" else IDLE_GOAL) or over[1] > IDLE_GOAL else ""
                    print(f"{state}  {name:26} --threads 1 {ms['one'] or 0:9.2f} ms  default / it "
                          f"{row['default_over_one'] or 'n/a':>7}  default / old {row['default_over_old'] or 'n/a':>7}"
                          f"{f'  exit {code}' if code else ''} {mark}", flush=True)
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
    if given.json:
        document = {"cpus": len(os.sched_getaffinity(0)), "busy": given.busy, "runs": given.runs, "rows": rows}
        pathlib.Path(given.json).write_text(json.dumps(document, indent=2) + "\n")


main()
