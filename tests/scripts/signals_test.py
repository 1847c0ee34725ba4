#!/usr/bin/env python3
"""That SIGTERM ends `solve` soon at any moment, with a whole document or none.

Runs on systems of odd structures get the signal at random moments, some of them in reading, analysis, orderings, set-up, advice or between
iterations. TESSERA_SOLVE is the path of `solve`. TESSERA_SIGNAL_RUNS (10) is the number of signals, TESSERA_SIGNAL_SECONDS (3) what
a run may take to end, TESSERA_SIGNAL_SCALE (1) multiplies the rows, TESSERA_SIGNAL_SEED (1) draws other moments. On a
machine that is idle

    TESSERA_SIGNAL_RUNS=50 TESSERA_SIGNAL_SECONDS=.6 TESSERA_SIGNAL_SCALE=16 TESSERA_SOLVE=... tests/scripts/signals_test.py
"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

SOLVE = os.environ["TESSERA_SOLVE"]
RUNS = int(os.environ.get("TESSERA_SIGNAL_RUNS", "10"))
SECONDS = float(os.environ.get("TESSERA_SIGNAL_SECONDS", "3"))
SCALE = float(os.environ.get("TESSERA_SIGNAL_SCALE", "1"))
LONGEST = 2.0  # seconds of a run, after which a signal tells nothing new
STARTED = 0.01  # seconds until the program listens


def side(points, dimension):
    return round(points * SCALE ** (1 / dimension))


def write_matrix(path, rows, entries):
    with path.open("w") as file:
        file.write(f"%%MatrixMarket matrix coordinate real general\n{rows} {rows} {len(entries)}\n")
        file.writelines(f"{i + 1} {j + 1} {value:.6f}\n" for (i, j), value in entries.items())


def write_random(path, draw):
    """Five columns a row, without a full diagonal."""
    rows = int(10000 * SCALE)
    write_matrix(path, rows, {(i, draw.randrange(rows)): draw.uniform(-1, 1) for i in range(rows) for _ in range(5)})


def write_hubs(path, draw):
    """A tridiagonal matrix with five rows and columns of n/10 entries."""
    rows = int(10000 * SCALE)
    entries = {(i, j): 3.0 if i == j else draw.uniform(-1, 1)
               for i in range(rows) for j in (i - 1, i, i + 1) if 0 <= j < rows}
    for _ in range(5):
        hub = draw.randrange(rows)
        for j in draw.sample(range(rows), rows // 10):
            entries.setdefault((hub, j), draw.uniform(-1, 1))
            entries.setdefault((j, hub), draw.uniform(-1, 1))
    write_matrix(path, rows, entries)


def commands():
    rows = int(20000 * SCALE)
    one_iteration = "-m bicgstab -p none --max-iters 1"
    for name in ("random.mtx", "hubs.mtx"):
        yield f"{name} -b Arandom"
        yield f"{name} {one_iteration}"
        yield f"{name} -m direct"
        yield f"inspect {name}"
    yield f"--generate circuit:{rows} -b Arandom"
    yield f"--generate circuit:{rows} {one_iteration}"
    yield f"--generate circuit:{rows} -m gmres -p ilutp"
    yield f"--generate plgraph:{rows} -p amg"
    yield f"--generate plgraph:{rows} -m direct"
    yield f"inspect --generate plgraph:{rows}"
    yield f"--generate rowskew:{rows} {one_iteration}"
    yield f"inspect --generate rowskew:{rows}"
    yield f"--generate stokes2d:{side(50, 2)} -b Arandom"
    yield f"--generate elasticity3d:{side(12, 3)} -m cg -p ict:1e-4:300"
    yield f"--generate elasticity3d:{side(12, 3)} -m bicgstab -p spai:1"
    yield f"--generate poisson3d:{side(30, 3)} -m gmres -p ilu0 --restart 200 --rtol 1e-14"
    yield f"--generate helmholtz2d:{side(100, 2)}"
    yield f"spgemm --generate rmat:{rows} -o c.mtx"


class Failures:
    def __init__(self):
        self.count = 0

    def add(self, command, moment, text):
        self.count += 1
        print(f"FAILED: {command}, signal after {moment:.3f} s: {text}")


def start(command, folder):
    words = command.split()
    if words[0] != "spgemm":
        words.append("--json=run.json")
    return subprocess.Popen([SOLVE, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})


def duration(command, folder):
    """Seconds of the run by itself, or LONGEST."""
    began = time.monotonic()
    with start(command, folder) as process:
        try:
            process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
    return time.monotonic() - began


def remove_results(folder):
    for path in folder.iterdir():
        if path.name not in ("random.mtx", "hubs.mtx"):
            path.unlink()


def disturb(command, moment, folder, failures):
    """\\returns seconds from the signal to the end of the program, and whether it had a document"""
    with start(command, folder) as process:
        time.sleep(moment)
        asked = time.monotonic()
        process.send_signal(signal.SIGTERM)
        try:
            err = process.communicate(timeout=SECONDS + 10)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            err = process.communicate()[1]
        taken = time.monotonic() - asked
    if taken > SECONDS:
        failures.add(command, moment, f"it took {taken:.2f} s")
    is_empty = "nothing was written" in err
    document = folder / "run.json"
    if process.returncode not in (143, 0, 3, 4, 5):
        failures.add(command, moment, f"exit code {process.returncode}: {err}")
    if process.returncode == 143 and is_empty == document.exists() and not command.startswith("spgemm"):
        failures.add(command, moment, f"a document: {document.exists()}, but: {err}")
    if document.exists():
        result = json.loads(document.read_text())["result"]
        if result["exit_code"] != process.returncode:
            failures.add(command, moment, f"exit codes {result['exit_code']} and {process.returncode}")
    expected = {"random.mtx", "hubs.mtx", "run.json"} | ({"c.mtx"} if process.returncode == 0 else set())
    left = {path.name for path in folder.iterdir()} - expected
    if left:
        failures.add(command, moment, f"left behind: {left}")
    outcome = "ended before" if process.returncode != 143 else "document" if document.exists() else "nothing"
    remove_results(folder)
    return taken, outcome


def main():
    draw = random.Random(int(os.environ.get("TESSERA_SIGNAL_SEED", "1")))
    failures = Failures()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_random(folder / "random.mtx", draw)
        write_hubs(folder / "hubs.mtx", draw)
        every = list(commands())
        draw.shuffle(every)
        lengths = {}
        for run in range(RUNS):
            command = every[run % len(every)]
            if command not in lengths:
                lengths[command] = duration(command, folder)
                remove_results(folder)
            moment = draw.uniform(STARTED, max(lengths[command], 2 * STARTED))
            taken, outcome = disturb(command, moment, folder, failures)
            print(f"{taken:6.3f} s after {moment:6.3f} of {lengths[command]:6.3f} s: {outcome:12} {command}", flush=True)
    sys.exit(1 if failures.count > 0 else 0)


if __name__ == "__main__":
    main()
