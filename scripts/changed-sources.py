#!/usr/bin/env python3
"""Prints the sources that clang-tidy has to look at: those that changed since a commit, and for every changed header
one source that includes it, the one of its own name if there is one.

  scripts/changed-sources.py COMMIT
  scripts/changed-sources.py --all

All sources are printed where the commit is unknown, as in a shallow clone.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINTED = ("core/", "io/", "preprocess/", "spmv/", "spgemm/", "solvers/", "compare/", "support/", "apps/", "petsc/", "examples/",
          "python/module/")


def git(*arguments):
    run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return run.stdout.split("\0")[:-1] if run.returncode == 0 else None


def includers(files):
    """For every header of the tree, who includes it."""
    result = collections.defaultdict(list)
    for name in files:
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        for header in re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', text, re.M):
            for candidate in (header, f"include/{header}", f"{pathlib.PurePosixPath(name).parent}/{header}"):
                if candidate in files:
                    result[candidate].append(name)
                    break
    return result


def source_of(header, included_by, linted):
    """The nearest source that includes a header, directly or through others."""
    stem = pathlib.PurePosixPath(header).stem
    seen, queue = {header}, collections.deque([header])
    while queue:
        users = sorted(included_by[queue.popleft()], key=lambda name: (pathlib.PurePosixPath(name).stem != stem, name))
        for user in users:
            if user in linted:
                return user
        queue.extend(user for user in users if user not in seen)
        seen.update(users)
    return None


def main():
    files = {name for name in git("ls-files", "-z", "*.hpp", "*.cpp", "*.cuh", "*.cu") if (ROOT / name).is_file()}
    linted = {name for name in files if name.endswith(".cpp") and name.startswith(LINTED)}
    changed = None if sys.argv[1] == "--all" else git("diff", "--name-only", "-z", sys.argv[1])
    if changed is None:
        chosen = linted
    else:
        included_by = includers(files)
        headers = [name for name in changed if name.endswith(".hpp") and name in files]
        chosen = linted.intersection(changed) | {source_of(name, included_by, linted) for name in headers}
    print("".join(f"{name}\n" for name in sorted(filter(None, chosen))), end="")


if __name__ == "__main__":
    sys.exit(main())
