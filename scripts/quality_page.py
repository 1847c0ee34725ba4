"""The tables of docs/quality.md, written from outcomes and read back by `scripts/quality.py --check`.

A column named like a configuration holds an outcome per matrix: "77 · 6e-9" is solved in 77 iterations with a residual of
6e-9, "limit · 3e-4" is not.
"""
import collections
import math
import re

BEGIN = "<!-- Tables by scripts/quality.py: what stands down to the end mark is written anew. -->"
END = "<!-- End of the tables by scripts/quality.py. -->"
SEPARATOR = " · "
NOT_RUN = ""
PEERS = ("SciPy", "Eigen")
LEFT = {"kind", "reason", "by", "options", "unsolved", "peer", "system"}


def short(value):
    """2e-9 for 2.04e-09."""
    mantissa, _, exponent = f"{value:.0e}".partition("e")
    return "0" if float(mantissa) == 0 else f"{mantissa}e{int(exponent)}"


def plain(outcome):
    """Iterations, or why there is no solution."""
    if outcome is None:
        return NOT_RUN
    return str(outcome["iterations"]) if outcome["word"] == "solved" else outcome["word"]


def cell(outcome):
    if outcome is None:
        return NOT_RUN
    numbers = [short(outcome[key]) for key in ("residual", "optimality") if key in outcome]
    return SEPARATOR.join([plain(outcome), *numbers])


def table(head, rows):
    align = ["---"] + ["---" if name in LEFT else "--:"
                       for name in head[1:]]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, align, *rows]) + "\n"


def tables_of(text):
    """Head and rows of every table of a Markdown text, as cells."""
    found, head = [], None
    for line in text.splitlines():
        if not line.startswith("|"):
            head = None
            continue
        cells = [each.strip() for each in line.strip().strip("|").split("|")]
        if head is None:
            head, rows = cells, []
            found.append((head, rows))
        elif not set(line) <= set("|-: "):
            rows.append(cells)
    return found


def read_page(text):
    """Cells of the page by (matrix, column)."""
    return {(row[0], name): value for head, rows in tables_of(text) if head[0] == "matrix" for row in rows
            for name, value in zip(head[1:], row[1:])}


def differences(name, column, documented, outcome, compare_iterations=True):
    """How an outcome differs from its cell: in its word, or in its iterations by more than 10 % and 2."""
    today = plain(outcome)
    before = documented.split(SEPARATOR)[0]
    if before.isdigit() and today.isdigit():
        if not compare_iterations or abs(int(before) - int(today)) <= 2 + 0.1 * int(before):
            return []
        return [f"{name}, {column}: {today} iterations, documented are {before}"]
    return [] if before == today else [f"{name}, {column}: {cell(outcome)}, documented is {documented}"]


class Page:
    """Outcomes by matrix, then by configuration: those of `solve`, and of peers under their names."""

    def __init__(self, facts, outcomes, options, made_with):
        self.facts = facts  # per matrix: rows, cols, nnz, kind, reason
        self.outcomes = outcomes
        self.options = options  # per configuration
        self.made_with = made_with
        self.peers = [each for each in PEERS if any(each in row for row in outcomes.values())]

    def systems(self, *kinds):
        return [name for name, fact in self.facts.items() if name in self.outcomes and
                (not kinds or fact["kind"] in kinds)]

    def square(self):
        return [name for name in self.systems() if self.facts[name]["kind"] != "rectangular"]

    def of(self, name, configuration, peer="solve"):
        return self.outcomes[name].get(peer, {}).get(configuration)

    def columns_with(self, names, prefix):
        return [each for each in self.options if each.split()[0] in prefix and
                any(self.of(name, each) is not None for name in names)]

    def markdown(self):
        parts = [f"Made with {self.made_with}.\n", "### Matrices\n", self.matrices(), "### Totals\n",
                 self.totals(), "### The ladder, and factors of A\n", self.ladder(),
                 "### Methods for symmetric matrices\n", self.grid(self.square(), ("cg", "minres", "chebyshev")),
                 "### Methods for all square matrices\n"]
        parts += [self.grid(self.square(), (method,)) for method in ("bicgstab", "gmres", "idr")]
        rectangular = self.systems("rectangular")
        if rectangular:
            parts += ["### Least squares\n", self.grid(rectangular, ("auto", "lsmr", "cgls"))]
        if self.peers:
            groups = [[each for each in SAME_METHOD if each.split()[0] in methods]
                      for methods in (("cg", "minres"), ("bicgstab", "gmres"), ("lsmr", "cgls"))]
            parts += ["### Beside SciPy and Eigen: the same method\n", *map(self.beside, groups), self.deviations(),
                      "### Beside SciPy and Eigen: incomplete factors\n", self.beside(OTHER_FACTORS)]
        return "\n".join([*parts, "### No systems\n", self.others()])

    def matrices(self):
        rows = [[name, str(fact["rows"]), str(fact["cols"]), str(fact["nnz"]), fact["kind"]]
                for name, fact in self.facts.items() if name in self.outcomes]
        return table(["matrix", "rows", "columns", "nonzeros", "kind"], rows)

    def others(self):
        rows = [[name, str(fact["rows"]), str(fact["cols"]), str(fact["nnz"]), fact["kind"], fact["reason"]]
                for name, fact in self.facts.items() if name not in self.outcomes]
        return table(["matrix", "rows", "columns", "nonzeros", "kind", "reason"], rows)

    def totals(self):
        rows = []
        for configuration, options in self.options.items():
            words = collections.Counter(outcome["word"] for name in self.systems()
                                        if (outcome := self.of(name, configuration)) is not None)
            theirs = [self.solved(self.systems(), column, peer)
                      for peer, column in zip(PEERS, PEERS_OF.get(configuration, ("", "")))]
            rows.append([configuration, f"`{' '.join(options)}`" if options else "",
                         self.solved(self.systems(), configuration),
                         ", ".join(f"{count} {word}" for word, count in sorted(words.items()) if word != "solved"), *theirs])
        return table(["configuration", "options", "solved", "unsolved", *PEERS], rows)

    def solved(self, names, configuration, peer="solve"):
        """How many of the systems a configuration solved; nothing if it was not run."""
        outcomes = [outcome for name in names if (outcome := self.of(name, configuration, peer)) is not None]
        return f"{sum(outcome['word'] == 'solved' for outcome in outcomes)} of {len(outcomes)}" if outcomes else ""

    def ladder(self):
        rows = []
        for name in self.square():
            auto = self.of(name, "auto")
            rows.append([name, cell(auto), auto.get("by", ""), str(auto.get("rungs", "")),
                         short(auto["error"]) if "error" in auto else "", cell(self.of(name, "direct"))])
        rows.append(self.footer(self.square(), ["auto", "", "", "", "direct"]))
        return table(["matrix", "auto", "by", "rungs", "error", "direct"], rows)

    def grid(self, names, methods):
        columns = self.columns_with(names, methods)
        names = [name for name in names if any(self.of(name, each) is not None for each in columns)]
        rows = [[name, *(cell(self.of(name, each)) for each in columns)] for name in names]
        return table(["matrix", *columns], [*rows, self.footer(names, columns)])

    def footer(self, names, columns):
        """The last row of a table."""
        return ["**solved**", *(self.solved(names, column) for column in columns)]

    def beside(self, columns):
        """`solve` / SciPy / Eigen; nothing if they have no method of these columns in common."""
        head = [each for each in columns if any(self.trio(name, each) for name in self.systems())]
        if not head:
            return ""
        rows = []
        for name in self.systems():
            cells = [" / ".join(plain(each) or "–" for each in trio) if (trio := self.trio(name, column)) else ""
                     for column in head]
            if any(cells):
                rows.append([name, *cells])
        return table(["matrix", *map(title, head)], rows)

    def trio(self, name, configuration):
        theirs = [self.of(name, column, peer) for peer, column in zip(PEERS, PEERS_OF[configuration])]
        ours = self.of(name, configuration)
        return [ours, *theirs] if ours is not None and any(theirs) else None

    def deviations(self):
        """How often peers take as many iterations, and where rounding of b does not explain that they do not."""
        rows, beyond = [], []
        for configuration, peer, column in PARITY:
            pairs = [(name, self.of(name, configuration), self.of(name, column, peer)) for name in self.systems()]
            pairs = [(name, ours, theirs) for name, ours, theirs in pairs if both_solve(ours, theirs)]
            spreads = [(name, self.outcomes[name].get("spreads", {}).get((configuration, peer, column)))
                       for name, ours, theirs in pairs if not is_close(ours["iterations"], theirs["iterations"])]
            far = [(name, *spread) for name, spread in spreads if not overlap(*spread)]
            who = peer if column == configuration else f"{peer}, `{column}`"
            beyond += [[f"`{configuration}`", who, name, span(ours), span(theirs)] for name, ours, theirs in far]
            if pairs:
                rows.append([f"`{configuration}`", who, str(len(pairs)), str(len(pairs) - len(spreads)),
                             str(len(spreads) - len(far)), str(len(far))])
        return "\n".join(["", table(["configuration", "peer", "both solve", "agree", "within rounding", "beyond"], rows),
                          table(["configuration", "peer", "system", "`solve`", "peer's"], beyond)])


def both_solve(ours, theirs):
    return bool(ours and theirs) and ours["word"] == theirs["word"] == "solved"


def is_close(a, b):
    return abs(a - b) <= 1 + 0.02 * max(a, b)


def overlap(ours, theirs):
    """Whether two ranges of iterations meet or come close; infinity stands for a solve that failed."""
    low, high = max(min(ours), min(theirs)), min(max(ours), max(theirs))
    return low <= high or is_close(low, high)


def span(counts):
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} or none" if math.isinf(high) else f"{low}–{high}"


def title(configuration):
    """Of a column of trios; in backticks, as columns named like a configuration hold outcomes of `solve` alone."""
    theirs = PEERS_OF[configuration]
    if configuration in SAME_METHOD:
        return f"`{configuration}`"
    return " / ".join(f"`{each}`" if each else "–" for each in (configuration, *theirs))


# Configurations of SciPy and Eigen that stand beside one of `solve`; None where they have none.
SAME_METHOD = {f"{method} {precond}": (f"{method} {precond}",) * 2 for method in ("cg", "minres", "bicgstab", "gmres")
               for precond in ("none", "jacobi")}
SAME_METHOD |= {f"lsmr {precond}": (f"lsmr {precond}", None) for precond in ("none", "jacobi")}
SAME_METHOD |= {f"cgls {precond}": (None, f"cgls {precond}") for precond in ("none", "jacobi")}
OTHER_FACTORS = {"cg ic0": (None, "cg ic"), "bicgstab ilutp": ("bicgstab ilut",) * 2, "gmres ilutp": ("gmres ilut",) * 2}
PEERS_OF = SAME_METHOD | OTHER_FACTORS
# What is compared by iterations: a configuration, a peer and its configuration.
PARITY = [(configuration, peer, column) for configuration, columns in SAME_METHOD.items()
          for peer, column in zip(PEERS, columns) if column]
PARITY.append(("gmres jacobi", "SciPy", "gmres jacobi-right"))


def replaced(text, tables):
    """A page with its tables written anew."""
    pattern = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.S)
    if not pattern.search(text):
        raise ValueError("the marks of the tables are missing")
    return pattern.sub(lambda _: f"{BEGIN}\n\n{tables}\n{END}", text)
