#!/usr/bin/env python3
"""The tables of two papers on products in bitmap tiles with our numbers beside them, as Markdown.

    bench/papers_table.py RESULTS.json...      results of bench_spgemm_cuda with --ways tiles,auto,bmsparse,tsparse

bmSPARSE (Zhang & Gruenwald, GRADES-NDA 2018): Tables 1 and 2, one matrix on a GTX Titan. tSparse (Zachariadis et al.,
Computers & Electrical Engineering 2020): Table 1; times are given there as ratios alone, on a Titan RTX and an RTX 2070.
A matrix of ours stands beside the paper's matrix of its kind, or is the same one.
"""
import json
import sys

# Name, rows, nonzeros, nonzeros of A A, scalar products, tiles of C, pairs of tiles, mean entries per tile (Table 1).
TSPARSE = [
    ("mc2depi", 525825, 2100225, 5245952, 8391680, 718228, 1364149, 6.4),
    ("webbase-1M", 1000005, 3105536, 51111996, 69524195, 2546355, 4327469, 5.6),
    ("cage12", 130228, 2032536, 15231874, 34610826, 2945653, 9295217, 4.5),
    ("dawson5", 51537, 1010777, 3616737, 21284355, 219077, 1515543, 9.5),
    ("lock1074", 1074, 51588, 134676, 2752056, 3050, 19520, 31.4),
    ("patents_main", 240547, 560943, 2281308, 2604790, 2089143, 2511808, 1.0),
    ("struct3", 53570, 1173694, 3400384, 26704476, 146007, 543125, 18.8),
    ("wiki-Vote", 8297, 103689, 1831112, 4542805, 526421, 3058660, 1.4),
    ("bcsstk30", 28924, 2043492, 8946070, 173481412, 252076, 1627326, 25.9),
    ("nemeth21", 9506, 1173746, 2578720, 146859992, 47341, 523549, 47.0),
    ("pcrystk03", 24696, 1751178, 7240266, 129128312, 212471, 1514965, 23.4),
    ("pct20stif", 52329, 2698463, 10016951, 154237335, 323396, 1770466, 23.4),
    ("pkustk06", 43164, 2571768, 10596384, 179924544, 451380, 2336176, 19.6),
    ("pli", 22695, 1350309, 8548665, 99698581, 292851, 2262407, 15.9),
    ("net50", 16320, 945200, 40622452, 79727280, 1037234, 8150260, 8.6),
    ("web-NotreDame", 325729, 1497134, 16801350, 64593748, 693759, 1589613, 6.5),
]
# Total of each program on webbase-1M, ms, GTX Titan (Table 1), and the parts of bmSPARSE (Table 2).
BMSPARSE = {"CUSP": 760.495, "bhSPARSE": 1104.74, "bmSPARSE": 306.302}
BMSPARSE_PARTS = {"task list": 67.517, "counting": 64.514, "multiplication": 172.126, "compaction": 12.982}
# Geometric means of tSparse's speed over others, 16 matrices, Titan RTX (§6.2).
TSPARSE_OVER = {"cuSPARSE": 3.12, "CUSP": 10.91, "RMerge2": 1.76, "Nsparse": 1.18, "AC-SpGEMM": 1.51, "spECK": 0.81}

# Ours, and the paper's matrix of the same kind.
KIN = {
    "wiki-Vote": "wiki-Vote", "lap2d": "mc2depi", "web": "webbase-1M", "cage": "cage12", "cnr-2000": "web-NotreDame",
    "wb-cs-stanford": "web-NotreDame", "p2p-Gnutella31": "patents_main", "bcsstk16": "bcsstk30",
    "bcsstk33": "bcsstk30", "bcsstk38": "dawson5", "crystm01": "pcrystk03", "band": "nemeth21",
    "elast3": "pct20stif", "block6": "pkustk06", "fem27": "struct3",
}


def way(problem, name):
    return next((entrant for entrant in problem["entrants"] if entrant["name"] == name), {})


def time_of(problem, name):
    entrant = way(problem, name)
    if "time" in entrant:
        return f"{entrant['time']['median_ms']:.3f}"
    return entrant.get("failure", "not run").split(":")[0]


def row_of(problem):
    paper = way(problem, "tsparse").get("paper", {})
    pairs = way(problem, "bmsparse").get("paper", {}).get("tasks", "")
    error = paper.get("half_error") or {}
    smape = f"{error['smape_percent']:.2g}" if error else ""
    cells = [problem["problem"], KIN.get(problem["problem"], ""), problem["nnz"], problem["product_nnz"],
             problem["products"], pairs, paper.get("tasks", ""), time_of(problem, "bmsparse"),
             time_of(problem, "tsparse"), time_of(problem, "tiles"), time_of(problem, "auto"),
             time_of(problem, "cusparse-alg1"), smape]
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def main(paths):
    problems = [problem for path in paths for problem in json.load(open(path))["problems"] if "entrants" in problem]
    print("| the paper's | rows | nnz(A) | nnz(C) | products | tiles of C | pairs | entries per tile |")
    print("|---" * 8 + "|")
    for matrix in TSPARSE:
        print("| " + " | ".join(str(cell) for cell in matrix) + " |")
    print("\nwebbase-1M on a GTX Titan, ms: " + ", ".join(f"{name} {ms}" for name, ms in BMSPARSE.items())
          + "; parts of bmSPARSE: " + ", ".join(f"{name} {ms}" for name, ms in BMSPARSE_PARTS.items()) + ".")
    print("tSparse over others, geometric means on a Titan RTX: "
          + ", ".join(f"{name} {ratio}" for name, ratio in TSPARSE_OVER.items()) + ".\n")
    print("| ours | kind of | nnz(A) | nnz(C) | products | pairs | that meet | bmSPARSE | tSparse | `tiles` | `auto` "
          "| cuSPARSE | SMAPE % |")
    print("|---" * 13 + "|")
    for problem in problems:
        print(row_of(problem))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
