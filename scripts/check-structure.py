#!/usr/bin/env python3
"""Checks the structure of the tree in seconds, without a compiler. Prints every violation; any of them fails.

  scripts/check-structure.py [ROOT]

  layers     a folder includes only what its row in HACKING.md, "The tree", allows; every folder with sources has a row
  cycles     the graph of folders, followed through their #include lines, is a directed acyclic graph
  documents  links in Markdown lead to files and headings that exist, and documents named in comments exist
  types      a class, struct or enum at namespace scope of the library is defined once: one name, one meaning
"""
import pathlib
import re
import subprocess
import sys

from markdown_links import dead_links

SOURCE = {".hpp", ".cpp", ".cuh", ".cu", ".h"}
LIBRARY = {"include", "core", "io", "preprocess", "spmv", "spgemm", "solvers"}
# The emulator stands in for these headers of the CUDA toolkit and of core/.
STAND_IN = pathlib.PurePosixPath("tests/emulator/include")


def tracked_files(root):
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    return [pathlib.PurePosixPath(name) for name in names.split("\0") if name and (root / name).is_file()]


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = tracked_files(root)
        self.names = {str(path) for path in self.files}
        self.sources = [path for path in self.files if path.suffix in SOURCE and STAND_IN not in path.parents]

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def included(self, path):
        """Files of this tree that a source names in #include lines."""
        for name in re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', self.text(path), re.M):
            for candidate in (name, f"include/{name}", str(path.parent / name)):
                if candidate in self.names:
                    yield pathlib.PurePosixPath(candidate)
                    break


def layers_of(hacking):
    """The rows | `folder/` | holds | may include | of HACKING.md."""
    rows = {}
    for line in hacking.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch(r"`[\w/]+/`", cells[0]):
            rows[cells[0].strip("`/")] = set(re.findall(r"`([\w/]+)/?`", cells[2]))
    return rows


def layer_of(path, layers):
    """The longest row that holds a file."""
    return max((name for name in layers if str(path).startswith(name + "/")), key=len, default=None)


def check_layers(tree):
    layers = layers_of(tree.text(pathlib.PurePosixPath("HACKING.md")))
    if not layers:
        yield "HACKING.md: no table of folders was found"
    for name in layers:
        if not any(str(path).startswith(name + "/") for path in tree.files):
            yield f"HACKING.md: {name}/ does not exist"
    for path in tree.sources:
        layer = layer_of(path, layers)
        if layer is None:
            yield f"{path}: its folder has no row in HACKING.md"
            continue
        for other in tree.included(path):
            target = layer_of(other, layers)
            if target not in (layer, None) and target not in layers[layer]:
                yield f"{path}: includes {other}, but {layer}/ may not include {target}/"


def folder_graph(tree):
    graph = {}
    for path in tree.sources:
        for other in tree.included(path):
            if other.parent != path.parent:
                graph.setdefault(str(path.parent), {}).setdefault(str(other.parent), (path, other))
    return graph


def check_cycles(tree):
    graph = folder_graph(tree)
    done, path = set(), []

    def visit(folder):
        if folder in path:
            cycle = path[path.index(folder) :] + [folder]
            lines = [f"{graph[a][b][0]} includes {graph[a][b][1]}" for a, b in zip(cycle, cycle[1:])]
            yield f"folders in a cycle: {' -> '.join(cycle)}: {'; '.join(lines)}"
            return
        if folder in done:
            return
        path.append(folder)
        for other in sorted(graph.get(folder, {})):
            yield from visit(other)
        path.pop()
        done.add(folder)

    for folder in sorted(graph):
        yield from visit(folder)


def check_documents(tree):
    for path in tree.files:
        if path.suffix == ".md":
            yield from dead_links(tree.root / path)
            cited = re.findall(r"[\w/.-]+-[\w-]+\.txt\b", tree.text(path)) if path.name != "README.md" else []
        elif path.suffix in SOURCE and path.parts[0] not in ("tests", "examples"):
            comments = re.findall(r"//.*", tree.text(path))
            cited = re.findall(r"[\w/.-]+\.(?:md|txt)\b", "\n".join(comments))
        else:
            continue
        for name in cited:
            known = name in tree.names or str(path.parent / name) in tree.names or f"docs/{name}" in tree.names
            if not known:
                yield f"{path}: cites {name}, which is not in the repository"


# A public handle and, in namespace cuda, what it stands for.
HANDLES = {"Context"}


def check_types(tree):
    definition = re.compile(
        r"^(?:template\s*<.*>\s*)?(?:class|struct|enum class|enum struct|union)\s+(?:alignas\(\w+\)\s+)?(\w+)"
        r"(?:\s+final)?\s*(?::(?!:)[^;{]*)?\{", re.M)
    places = {}
    for path in tree.sources:
        if path.parts[0] in LIBRARY:
            for name in definition.findall(tree.text(path)):
                places.setdefault(name, []).append(str(path))
    for name, where in sorted(places.items()):
        is_handle = name in HANDLES and where == ["core/cuda/context.hpp", "include/tessera/context.hpp"]
        if len(where) > 1 and not is_handle:
            yield f"{name} is {len(where)} types: {', '.join(where)}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    tree = Tree(root)
    violations = 0
    for check in (check_layers, check_cycles, check_documents, check_types):
        for line in check(tree):
            print(f"{check.__name__.removeprefix('check_')}: {line}")
            violations += 1
    print(f"structure: {len(tree.sources)} sources, {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
