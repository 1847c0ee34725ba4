#!/usr/bin/env python3
"""Lays out the pages of the site: pages.py FOLDER DOXYGEN. DOXYGEN has the pages of the headers.

The pages of the repository keep their places, so that their links to each other lead somewhere. The list of headers
and the pages of examples and schemas are written here.
"""

import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LANGUAGES = {".cpp": "cpp", ".cu": "cuda", ".py": "python", ".json": "json"}


def take(folder, path, name=None):
    target = folder / (name or path)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / path, target)


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def first_comment(path):
    """What a file says of itself: the lines of its first comment, or docstring."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return re.search(r'"""(.*?)(?:\n\n|""")', text, re.S)[1].replace("\n", " ")
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        line = line.lstrip("/ ")
        if not line and lines:
            break
        if not line.startswith("\\file"):
            lines.append(line)
    return " ".join(filter(None, lines))


def headers(folder, doxygen):
    """The list of headers, with links to the pages that Doxygen made of them."""
    rows = []
    for path in sorted((ROOT / "include/tessera").glob("*.hpp")):
        page = path.name.replace("_", "__").replace(".", "_8") + ".html"
        if not (doxygen / page).is_file():
            sys.exit(f"{path}: Doxygen made no page {page}")
        rows.append(f'| <a href="cpp/{page}">tessera/{path.name}</a> | {first_comment(path)} |')
    write(folder / "cpp-api.md", "# C++ interface", "",
          "Everything is in the namespace `tessera`. `tessera/tessera.hpp` includes all headers but `tessera/eigen.hpp`. None of "
          "them includes one of CUDA. What a docstring does not say otherwise: indices count from 0, sizes are 64-bit.", "",
          'All <a href="cpp/annotated.html">classes</a>, <a href="cpp/namespacetessera.html">functions</a>, '
          '[programs that use them](examples/index.md).', "", "| header | holds |", "| --- | --- |", *rows)


def shown(folder, name, title, about, files):
    """One page that shows files, each under a heading of its name."""
    parts = []
    for path in files:
        take(folder, path)
        relative = path.relative_to(name)
        comment = first_comment(ROOT / path) if path.suffix != ".json" else ""
        parts += [f"## {relative}", "", comment, "", f"```{{literalinclude}} {relative}",
                  f":language: {LANGUAGES[path.suffix]}", "```", ""]
    write(folder / name / "index.md", f"# {title}", "", about, "", "```{contents}", ":local:", "```", "", *parts)


def files_of(folder, *patterns):
    return [path.relative_to(ROOT) for pattern in patterns for path in sorted((ROOT / folder).glob(pattern))]


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in ("README.md", "CHANGELOG.md", "HACKING.md", "LICENSE", "Dockerfile", "bench/README.md", "bench/NOTES.md"):
        take(folder, name)
    for path in files_of("docs", "*.md"):
        take(folder, path)
    for path in files_of("docs/site", "*.rst"):
        take(folder, path, path.name)
    headers(folder, pathlib.Path(sys.argv[2]))
    shown(folder, "examples", "Examples", "Short programs on the public interface. Each is built and run by the tests.",
          files_of("examples", "*.cpp", "*.cu", "python/*.py"))
    shown(folder, "schemas", "Schemas", "JSON Schemas of the documents that `solve --json` writes ([what they mean](../docs/json.md)).",
          files_of("schemas", "*.json"))


if __name__ == "__main__":
    main()
