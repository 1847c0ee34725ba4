"""Processes of bench_end_to_end: the rows of a build, and their measurements, whatever becomes of the process.

A measurement is what the program prints of a row. Where no answer came it is {"row": NAME, "lost": WHY}.
"""
import json
import os
import pathlib
import select
import signal
import subprocess
import tempfile
import time

START_S = 8.0
LIST_S = 60.0
PATIENCE = 1.2  # times the limit of a row


class CannotRun(Exception):
    """A build that measures nothing."""


class Build:
    """A folder with bench_end_to_end and solve, or one whose bin/ holds them."""

    def __init__(self, folder):
        folders = [pathlib.Path(folder), pathlib.Path(folder) / "bin"]
        found = next((each for each in folders if (each / "bench_end_to_end").is_file()), None)
        if found is None:
            raise CannotRun(f"{folder}: there is no bench_end_to_end")
        self.bench = (found / "bench_end_to_end").resolve()
        self.solve = (found / "solve").resolve()
        if not self.solve.is_file():
            raise CannotRun(f"{folder}: there is no solve")
        self.folder = str(folder)
        self.document = None  # what it says of itself and the machine
        self.start_s = 0.0  # until a process says it

    def rows(self, options):
        """As --list names them, by name."""
        try:
            done = subprocess.run([self.bench, *options, "--list"], capture_output=True, text=True, check=False,
                                  timeout=LIST_S)
        except subprocess.TimeoutExpired as error:
            raise CannotRun(f"{self.bench} --list: no answer in {LIST_S:.0f} s") from error
        if done.returncode != 0:
            raise CannotRun(f"{self.bench} --list: {ending(done.returncode)}{last_line(done.stderr)}")
        try:
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            return {row["row"]: row for row in rows}
        except (ValueError, KeyError, TypeError) as error:
            raise CannotRun(f"{self.bench} --list: {error!r}") from error

    def measure(self, rows, options, with_claims, deadline):
        """Measurements by name. Rows that the deadline (time.monotonic()) cut off are missing.

        rows: as --list has them. After one at which the process ended, another process does the rest.
        """
        results, rest = {}, list(rows)
        while rest and time.monotonic() < deadline:
            process = _Process(self, rest, options, with_claims)
            try:
                lost = process.read(results, deadline)
            finally:
                process.kill()
            rest = [row for row in rest if row["row"] not in results]
            if self.document is None and lost is not None:
                raise CannotRun(f"{self.bench}: {lost}")
            if lost is not None and rest:
                results[rest[0]["row"]] = {"row": rest[0]["row"], "lost": lost, "wall_s": process.silence()}
                rest = rest[1:]
            elif lost is not None:
                last = rows[-1]["row"]
                results[last] = {"row": last, "lost": f"after its result: {lost}", "wall_s": results[last]["wall_s"]}
        return results


class _Process:
    def __init__(self, build, rows, options, with_claims):
        claims = ["--claims", build.solve] if with_claims else []
        names = ";".join(row["row"] for row in rows)
        self.patience = {row["row"]: PATIENCE * row["limit_s"] + START_S for row in rows}
        self.waiting = [row["row"] for row in rows]
        self.build = build
        self.errors = tempfile.TemporaryFile()
        # A group of its own, so that what it started ends with it.
        self.process = subprocess.Popen([build.bench, *options, "--rows", names, *claims], stdout=subprocess.PIPE,
                                        stderr=self.errors, start_new_session=True)
        self.heard = time.monotonic()

    def silence(self):
        return time.monotonic() - self.heard

    def read(self, results, deadline):
        """Adds to the results. Returns why the process ended early, None where it did not or was cut off."""
        output, text = self.process.stdout.fileno(), b""
        while True:
            patience = self.patience[self.waiting[0]] if self.waiting else START_S
            until = min(self.heard + patience, deadline)
            ready, _, _ = select.select([output], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return None if until == deadline else f"no answer in {patience:.0f} s"
            piece = os.read(output, 1 << 16)
            if not piece:
                break
            *lines, text = (text + piece).split(b"\n")
            for line in lines:
                self.take(line, results)
        code = self.process.wait()
        if code == 0 and not self.waiting:
            return None
        self.errors.seek(0)
        return ending(code) + last_line(self.errors.read().decode(errors="replace"))

    def take(self, line, results):
        try:
            found = json.loads(line)
        except ValueError:
            return
        if "document" in found:
            self.build.document = found["document"]
            self.build.start_s = self.silence()
            self.heard = time.monotonic()
        if found.get("row") in self.waiting:
            results[found["row"]] = {**found, "wall_s": self.silence()}
            self.waiting.remove(found["row"])
            self.heard = time.monotonic()

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def ending(code):
    if code < 0:
        return f"died: signal {-code}"
    return f"died: exit {code}" if code else "ended without a result"


def last_line(text):
    lines = text.strip().splitlines()
    return f" ({lines[-1].strip()[:200]})" if lines else ""
