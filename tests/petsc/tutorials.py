#!/usr/bin/env python3
"""PETSc's own tutorials, unchanged, with aij and with aijtessera: the same iterations and the same numbers but for rounding.

tutorials.py MPIEXEC LIBRARY PROGRAM [OPTION...]: runs PROGRAM with the options on 1, 2 and 4 processes. {type} among the
options is the matrix type. What the monitors and the tutorial itself print is compared; the run with our type must say so
in -ksp_view, with our plug-in loaded by -dll_prepend alone, and leave no memory behind (-malloc_debug, -malloc_dump).
"""

import re
import subprocess
import sys

RELATIVE = 1e-6  # of a residual after a few dozen iterations; differences of rounding grow with them
ABSOLUTE = 1e-10  # relative to the largest number of the output: residuals near convergence
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?", re.IGNORECASE)
COMPARED = re.compile(r"(KSP|SNES).*norm|[Nn]orm of error|Number of|Residual norm|^lid velocity")
LEAK = re.compile(r"^\s*\[\s*\d+\]\s*\d+ bytes|Total space allocated")


def run(mpiexec, processes, program, options):
    command = [mpiexec, "-n", str(processes), program, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0 or done.stderr.strip():
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.splitlines()


def differences(expected, found):
    """Lines that differ by more than rounding."""
    if len(expected) != len(found):
        yield f"{len(expected)} lines with aij, {len(found)} with ours: {expected[-1:]}, {found[-1:]}"
        return
    numbers = [[float(number) for number in NUMBER.findall(line)] for line in expected]
    largest = max((abs(number) for line in numbers for number in line if not number.is_integer()), default=0.0)
    for line, other, values in zip(expected, found, numbers):
        others = [float(number) for number in NUMBER.findall(other)]
        same_text = NUMBER.sub("", line) == NUMBER.sub("", other) and len(values) == len(others)
        if not same_text or any(abs(a - b) > RELATIVE * abs(a) + ABSOLUTE * largest for a, b in zip(values, others)):
            yield f"aij:  {line}\nours: {other}"


def main():
    mpiexec, library, program, *options = sys.argv[1:]
    failures = 0
    for processes in (1, 2, 4):
        outputs = {}
        for kind in ("aij", "aijtessera"):
            chosen = [option.replace("{type}", kind) for option in options] + ["-ksp_view", "-malloc_debug", "-malloc_dump"]
            if kind == "aijtessera":
                chosen += ["-dll_prepend", library]
            output = run(mpiexec, processes, program, chosen)
            leaks = [line for line in output if LEAK.search(line)]
            ours = any("type: " + ("seq" if processes == 1 else "mpi") + "aijtessera" in line for line in output)
            if leaks or ours != (kind == "aijtessera"):
                sys.exit(f"{program} on {processes} processes with {kind}: our type {ours}, memory left: {leaks}")
            outputs[kind] = [line for line in output if COMPARED.search(line) and "using" not in line]
        if len(outputs["aij"]) < 3:
            sys.exit(f"{program}: nothing to compare in {outputs['aij']}")
        for difference in differences(outputs["aij"], outputs["aijtessera"]):
            print(f"{processes} processes\n{difference}")
            failures += 1
        print(f"{processes} processes: {len(outputs['aij'])} lines compared, the last: {outputs['aijtessera'][-1].strip()}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
