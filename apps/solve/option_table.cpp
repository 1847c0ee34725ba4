#include "option_table.hpp"

#include <algorithm>
#include <array>

namespace tessera::cli {

namespace {

constexpr unsigned run = bit(Command::run);
constexpr unsigned pagerank = bit(Command::pagerank);
constexpr unsigned hits = bit(Command::hits);
constexpr unsigned katz = bit(Command::katz);
constexpr unsigned compare = bit(Command::compare);
constexpr unsigned inspect = bit(Command::inspect);
constexpr unsigned convert = bit(Command::convert);
constexpr unsigned spgemm = bit(Command::spgemm);
constexpr unsigned report = bit(Command::report);
constexpr unsigned bench = bit(Command::bench);
constexpr unsigned tune = bit(Command::tune);
constexpr unsigned doctor = bit(Command::doctor);
constexpr unsigned list = bit(Command::list);
constexpr unsigned completion = bit(Command::completion);
constexpr unsigned help = bit(Command::help);
constexpr unsigned version = bit(Command::version);
constexpr unsigned systems = run | compare;       ///< solve A x = b
constexpr unsigned ranking = pagerank | compare;  ///< PageRank
constexpr unsigned centrality = hits | katz;
constexpr unsigned rankings = pagerank | centrality;  ///< rank the vertices of a graph
constexpr unsigned iterative = run | rankings;        ///< one solve, with its vector and history
constexpr unsigned matrix = iterative | compare | inspect | convert | spgemm;  ///< read or generate a matrix
constexpr unsigned many_runs = bench | tune;                                   ///< make runs in processes of their own
/// Read ./solve.toml, the environment and --config.
constexpr unsigned configurable = matrix | many_runs | doctor;
constexpr unsigned one_document = matrix | doctor | list | version;  ///< of --json
constexpr unsigned every = configurable | list;

constexpr std::string_view configuration = "Configuration";

constexpr std::string_view vector_files = ".mtx|.mtx.gz|.txt|.npy|.mat|.petsc";

using enum ValueKind;

constexpr auto table = std::to_array<OptionSpec>({
    {"poisson2d", 0, "Problem", systems | inspect | convert | spgemm | tune, count, "N", "",
     "Laplace's equation on an N x N grid, 5 points"},
    {"poisson3d", 0, "Problem", systems | inspect | convert | spgemm | tune, count, "N", "",
     "Laplace's equation on an N x N x N grid, 7 points"},
    {"convdiff", 0, "Problem", systems | inspect | convert | spgemm | tune, count, "N", "",
     "convection and diffusion on N x N x N, upwind, cell Peclet numbers 1, 0.5, 0.25; not symmetric"},
    {"powerlaw", 0, "Problem", rankings | compare | inspect | convert | spgemm, count, "N", "",
     "R-MAT graph with 2^k >= N vertices (at most 2^30), 16 drawn edges per vertex, seeded by --seed"},
    {"generate", 0, "Problem", matrix | tune, text, "NAME[:SIZE]", "",
     "a generated matrix: a family, its size, and parameters after commas: kmer:55e6, web:1e6,seed=3, rmat:scale=20 "
     "(solve list generators)"},
    {"cache", 0, "Problem", matrix | bench, text, "on|off|DIR", "off",
     "keep a binary copy A.mtx.tsb of A.mtx, which is read much faster, and use it as long as A.mtx does not change; "
     "--cache alone means on, --cache=DIR keeps the copies in a directory"},
    {"duplicates", 0, "Problem", matrix | many_runs, text, "sum|error", "sum",
     "repeated entries of a file: sum them, or refuse the file"},
    {"rhs", 'b', "Problem", systems | many_runs, text, "FILE|WORD", "Aones",
     "right-hand side: a vector file, a Matrix Market file of several columns, ones, random, random:K (K columns), "
     "unit:i (i from 1), or one whose known solution gives the error: "
     "Aones = A times ones, Arandom = A times random numbers in [-1, 1), which a solve takes by itself where A times "
     "ones is 0",
     "", "ones|Aones|Arandom|random|random:|unit:", vector_files},
    {"x0", 0, "Problem", systems, text, "FILE|WORD", "zero",
     "initial guess: a file of as many columns as the right-hand side has, zero, rhs or random", "", "zero|rhs|random",
     vector_files},
    {"unweighted", 0, "Problem", rankings | compare | inspect | spgemm, flag, "", "",
     "ignore the values: every stored entry is a link of weight 1"},
    {"pattern", 0, "Problem", convert, flag, "", "", "write the positions alone, without values"},
    {"vector", 0, "Problem", convert, flag, "", "", "IN holds a vector, not a matrix"},
    {"transpose", 0, "Problem", iterative | inspect | compare | convert, flag, "", "",
     "use the transpose of the matrix: solve A^T x = b; reverse every link of a graph"},
    {"right", 0, "Problem", spgemm, text, "FILE", "", "the factor B, as a second matrix on the command line names it",
     "", "", ".mtx|.mtx.gz|.tsb|.npz|.mat|.petsc"},
    {"transpose", 0, "Product", spgemm, text, "a|b", "",
     "transpose one factor: A^T B or A B^T; without B A^T A or A A^T"},

    {"method", 'm', "Method", run, text, "NAME", "auto",
     "{methods} (solve list methods), direct (factors of A and refinement, on the host), lsmr and cgls (least squares, "
     "for any shape), pagerank, or auto: lsmr for a matrix that is not square, else the ladder, which tries methods in "
     "the order of what they should cost"},
    {"method", 'm', "Method", pagerank, text, "NAME", "pagerank", "pagerank", "", "pagerank"},
    {"precond", 'p', "Method", systems, text, "NAME", "auto",
     "none, jacobi, amg (algebraic multigrid), spai and fsai (sparse approximate inverses), poly:DEG and neumann:K "
     "(polynomials in A), incomplete factors "
     "({words}), or auto: with --method auto or a "
     "Krylov method the rungs of the ladder, jacobi first (docs/convergence.md); else jacobi if no diagonal entry is "
     "missing or zero, else none"},
    {"precond-opt", 0, "Method", systems, text, "KEY=VALUE", "",
     "one parameter of amg ({amg_words}) or of incomplete factors ({factor_words}); may be repeated, or hold several "
     "after commas (solve list preconds)"},
    {"block", 0, "Method", systems | many_runs, text, "N|auto", "auto",
     "unknowns per node, which are consecutive rows: amg aggregates nodes (3 for elasticity in space); auto: found "
     "from the positions of the matrix"},
    {"restart-on-breakdown", 0, "Method", systems, count, "N", "3",
     "allowed restarts after breakdowns, counted anew after progress; 0: stop at the first breakdown"},
    {"replace-residual", 0, "Method", systems, text, "N|auto", "auto",
     "replace the residual of the recurrence by the true one every N iterations; auto: only when the final check finds "
     "that they disagree"},
    {"shadow", 0, "Method", systems, text, "r0|random", "r0", "shadow vector of bicgstab"},
    {"restart", 0, "Method", systems | many_runs, count, "N", "50",
     "directions of gmres until it starts anew; it keeps twice as many vectors unless M is none or jacobi"},
    {"precond-side", 0, "Method", run, text, "right|left", "right",
     "side from which gmres applies M, which is named by --precond: left minimizes ||M (b - A x)|| and keeps half as "
     "many vectors where M is neither none nor jacobi; the ending is that of ||b - A x||",
     "", "right|left"},
    {"spectrum", 0, "Method", run, text, "LO,HI", "",
     "bounds of the eigenvalues of M A for chebyshev; without them it estimates the upper end, at the start of the "
     "solve, and takes a thirtieth of it for the lower one"},
    {"damp", 0, "Method", run, number, "L", "0",
     "least squares: minimise ||A x - b||^2 + L^2 ||x||^2; L has the units of the matrix"},
    {"error-gate", 0, "Method", run, text, "WORD", "auto",
     "after a solve: off, warn (estimate the error of x by a solve for a correction, unless cheap bounds show that it "
     "is small, and warn where few digits hold), repair (also add corrections to x), or auto: repair on the ladder, "
     "warn where --precond is named",
     "", "auto|off|warn|repair"},
    {"damping", 0, "Method", ranking, number, "D", "0.85", "probability of following a link, in [0, 1)"},
    {"dangling", 0, "Method", pagerank, text, "WHERE", "teleport",
     "where vertices without out-links send their rank: teleport (the distribution of jumps), uniform, self, or drop "
     "(lost; ranks are scaled back to sum 1)",
     "", "teleport|uniform|self|drop"},
    {"personalize", 0, "Method", pagerank, text, "FILE|LIST", "",
     "distribution of jumps: a list of vertices by number or name (1,34), also with weights (1:2,34:1), @FILE with one "
     "per line, unit:i (vertex i alone, from 1), or a vector file with one weight >= 0 per vertex; several, which give "
     "a ranking each: repeat the option, put semicolons between them, or name a Matrix Market file of several columns; "
     "default: uniform",
     "", "unit:", vector_files},
    {"alpha", 0, "Method", katz, text, "X|auto", "auto",
     "attenuation per link, below 1 / rho(A); auto: 0.85 / (upper bound of rho(A))"},
    {"sum", 0, "Method", pagerank, text, "1|n", "1", "ranks sum to 1, or to the number of vertices"},

    {"rtol", 0, "Stopping", systems | many_runs, number, "X", "1e-8",
     "stop when ||b - A x|| <= max(rtol * base, atol), verified with the true residual", "1e-5"},
    {"atol", 0, "Stopping", systems | many_runs, number, "X", "0", "absolute tolerance, in the units of b"},
    {"norm-base", 0, "Stopping", systems | many_runs, text, "b|r0", "b",
     "what rtol is relative to: ||b|| or ||b - A x0||"},
    {"max-iters", 0, "Stopping", systems | many_runs, count, "N", "10000", "limit on iterations (exit code 3)"},
    {"dtol", 0, "Stopping", systems | many_runs, number, "X", "1e5",
     "diverged when the residual exceeds X * max(||b||, ||r0||)"},
    {"stagnation", 0, "Stopping", systems | many_runs, text, "N|auto", "auto",
     "stagnated when the smallest residual falls by less than 1 % in N iterations; auto: max(1000, rows)"},
    {"tol", 0, "Stopping", hits, number, "X", "1e-9",
     "stop when neither hubs nor authorities change by more than X in l1, verified by one more step", "1e-5"},
    {"tol", 0, "Stopping", katz, number, "X", "1e-9",
     "stop when no score differs from the exact one by more than the fraction X, verified with the residual", "1e-5"},
    {"tol", 0, "Stopping", ranking, number, "X", "1e-9", "stop when ||x' - x|| <= X in the norm of --norm", "1e-5"},
    {"norm", 0, "Stopping", pagerank, text, "l1|l2|linf", "l1", "norm of the change"},
    {"tol-per-node", 0, "Stopping", pagerank, number, "X", "",
     "stop when ||x' - x|| <= X * vertices in l1: the tol of NetworkX"},
    {"max-iters", 0, "Stopping", rankings, count, "N", "1000", "limit on iterations (exit code 3, ranks are written)"},
    {"max-time", 0, "Stopping", iterative | compare, seconds, "T|none", "none",
     "time limit of the iteration, in run of set-up and iteration (exit code 3): 300s, 5m, 2h"},
    {"max-time", 0, "Stopping", bench, seconds, "T|none", "none",
     "time limit of every run, reading and set-up included: 60s, 5m"},

    {"spmv", 'k', "Kernel", iterative | inspect, text, "NAME", "auto",
     "product A x: auto, measured, or a kernel that the device has (solve list kernels)"},
    {"choices", 0, "Kernel", iterative | inspect, text, "FILE", "",
     "keep in FILE what --spmv measured chose, for later runs with the same matrix and device; made if there is none",
     "", "", ".txt"},
    {"calibration", 0, "Kernel", iterative | inspect | doctor, text, "FILE", "",
     "figures of the GPU for predicted times, as doctor --calibrate keeps them; default: tessera/calibration.txt in "
     "$XDG_CONFIG_HOME or ~/.config",
     "", "", ".txt"},
    {"calibrate", 0, "Kernel", doctor, flag, "", "",
     "measure the figures of a GPU that predicted times of kernels are made of, and keep them in --calibration"},
    {"plan-info", 0, "Kernel", iterative, flag, "", "", "print time, memory and break-even of the kernel's set-up"},
    {"determinism", 0, "Kernel", iterative | spgemm | many_runs, text, "none|run|gpu", "none",
     "weakest class allowed: run = bitwise equal from run to run, gpu = also for any number of threads"},
    {"precision", 0, "Kernel", run | many_runs, text, "fp64|fp32|mixed", "fp64",
     "element type of matrix and vectors; mixed: iterations and preconditioner in fp32, residuals and x in fp64, with "
     "cg, bicgstab, gmres or richardson (docs/mixed-precision.md)"},
    {"precision", 0, "Kernel", matrix & ~run & ~spgemm, text, "fp64|fp32", "fp64",
     "element type of matrix and vectors"},
    {"precision", 0, "Kernel", spgemm, text, "fp64|fp32|fp16-fp32|3xtf32", "fp64",
     "element type of the matrices; by tiles alone: fp16-fp32, fp64 rounded to half precision and summed in single, "
     "with the loss in the summary, and 3xtf32, fp32 by tensor instructions in TF32 (docs/tiles.md)"},

    {"kernels", 0, "Comparison", compare, text, "all|A,B", "all",
     "kernels to compare (solve list kernels); merbit:reproducible is the variant whose products are equal bit by bit; "
     "csr, on a GPU csr-vector, always takes part as the reference"},
    {"solvers", 0, "Comparison", compare, text, "A,B", "",
     "also time whole solves with each kernel: {methods}, pagerank, to the tolerance of the options above"},
    {"preconds", 0, "Comparison", compare, text, "A,B", "",
     "preconditioners of the solves, each with each kernel, as --precond names them with colons between parameters: "
     "jacobi,amg,ilut:1e-3:20; says after how many solves the costlier set-up pays against the first one"},
    {"methods", 0, "Comparison", bench, text, "A,B", "auto",
     "methods of the runs, as --method of run names them: auto, direct, lsmr, cgls, {methods}"},
    {"preconds", 0, "Comparison", bench, text, "A,B", "auto",
     "preconditioners of the runs, as --precond names them with colons between parameters: auto,jacobi,ilut:1e-3:20; "
     "direct brings its own, lsmr and cgls take none and jacobi"},
    {"kernels", 0, "Comparison", bench, text, "A,B", "auto", "kernels of the runs (solve list kernels)"},
    {"repeat", 0, "Comparison", bench, count, "N", "1", "make every run so often; tables show medians"},
    {"measure", 0, "Comparison", bench, text, "time|cpu|products", "time",
     "what tables compare: time (set-up and solve, by the clock), cpu (processor time of the whole run, reading "
     "included) or products with A"},
    {"summary", 0, "Comparison", bench, flag, "", "",
     "make no run: the words are files of earlier ones, which tables are made of"},
    {"budget", 0, "Comparison", tune, seconds, "T", "30s", "time of the search"},
    {"applies", 0, "Comparison", compare, count, "N", "1000", "number of products in the total, after the set-up"},
    {"sort", 0, "Comparison", compare, text, "KEY", "total",
     "order of the kernels, best first: total, spmv, setup, error or memory", "", "total|spmv|setup|error|memory"},
    {"baseline", 0, "Comparison", compare, text, "FILE", "",
     "show the change of every time since an earlier comparison of the same matrix, a --json document", "", "",
     ".json"},
    {"fail-if-slower", 0, "Comparison", compare, number, "X", "",
     "exit with 8 when a time is clearly longer than in the baseline, by more than X: 5%"},
    {"repeat", 0, "Comparison", compare, text, "N|auto", "auto",
     "number of rounds; auto: at least 10 (3 of solves), until all times are quiet or 10 times --min-time has passed"},
    {"min-time", 0, "Comparison", compare, seconds, "T", "0.5s", "minimal time of all rounds together"},
    {"noise", 0, "Comparison", compare, number, "X", "1%",
     "a time is quiet when its interquartile range is at most this share of the median"},
    {"warmup", 0, "Comparison", compare, count, "N", "2", "untimed products per kernel before the first round"},
    {"cold", 0, "Comparison", compare, flag, "", "", "also time products with emptied caches"},

    {"power", 0, "Product", spgemm, count, "K", "2", "compute A^K (without B); 0 gives the identity"},
    {"estimate", 0, "Product", spgemm, text, "NAME", "auto",
     "how the memory of the rows of the product is sized: hll or cohen (estimates per row), upper (an upper bound), "
     "exact (counted first; least memory), sampled (an estimate of the total), esc (an upper bound; rows by expand, "
     "sort, contract), tiles (8 x 8 tiles, on tensor cores where a GPU has them), or auto, which says why"},
    {"accumulator", 0, "Product", spgemm, text, "NAME", "auto",
     "accumulator for the rows of the product, where it applies: {words}; on GPUs only: {gpu_words}"},
    {"predict", 0, "Product", spgemm, flag, "", "",
     "predict entries, memory and time from sketches before the product, and say how far off that was; with --dry-run "
     "predictions are all"},
    {"keep", 0, "Product", spgemm, text, "TOL[,MOST]", "",
     "drop entries of every product below TOL times the largest of their row, and all but the MOST largest of a row; "
     "the diagonal stays"},
    {"verify", 0, "Product", spgemm, flag, "", "",
     "compare (A B) x with A (B x) for a random x, against a bound on rounding (exit code 8)"},

    {"device", 0, "Machine", run, text, "NAME", "auto",
     "host, cuda or cuda:N; auto: a GPU for a large matrix that fits, else the host; the summary says why; cuda:0,1 or "
     "cuda:all: several GPUs together (--method cg or bicgstab with --precond none, jacobi or amg; docs/scale.md)",
     "", "auto|host|cuda|cuda:all"},
    {"device", 0, "Machine", pagerank, text, "NAME", "auto",
     "host, cuda or cuda:N; auto: a GPU for a large matrix that fits, else the host; the summary says why; cuda:0,1 or "
     "cuda:all: several GPUs together (docs/scale.md)",
     "", "auto|host|cuda|cuda:all"},
    {"device", 0, "Machine", (iterative | many_runs) & ~run & ~pagerank, text, "NAME", "auto",
     "host, cuda or cuda:N; auto: a GPU for a large matrix that fits, else the host; the summary says why", "",
     "auto|host|cuda"},
    {"device", 0, "Machine", inspect | convert | compare | spgemm, text, "NAME", "auto",
     "host, cuda or cuda:N; auto: the host", "", "auto|host|cuda"},
    {"device", 0, "Machine", doctor, text, "NAME", "auto",
     "the GPU that --calibrate measures, cuda or cuda:N; auto: the first", "", "auto|cuda"},
    {"ordering", 0, "Machine", run, text, "NAME", "auto",
     "numbering of the unknowns while the system is solved: natural, rcm (reverse Cuthill-McKee), degree (columns that "
     "many rows read come first), on several devices also metis (parts by METIS, where it is installed); auto: "
     "natural, "
     "on several devices rcm or metis where that halves a large halo (docs/reordering.md, docs/scale.md)",
     "", "auto|natural|rcm|degree|metis"},
    {"ordering", 0, "Machine", pagerank, text, "NAME", "natural",
     "numbering of the vertices while they are ranked: natural, rcm (reverse Cuthill-McKee) or degree (vertices with "
     "many out-links come first); what is read and written keeps that of the file (docs/reordering.md)",
     "", "natural|rcm|degree"},
    {"ordering", 0, "Machine", compare, text, "NAME", "natural",
     "numbering in which all kernels work: natural, rcm (reverse Cuthill-McKee) or degree (columns that many rows read "
     "come first); y is checked against A in the numbering of the file (docs/reordering.md)",
     "", "natural|rcm|degree"},
    {"engine", 0, "Machine", run, text, "NAME", "tessera",
     "tessera, or petsc: the processes that mpiexec starts solve one system together by PETSc (mpiexec -n 4 solve "
     "A.mtx "
     "--engine petsc; docs/scale.md)",
     "", "tessera|petsc"},
    {"threads", 0, "Machine", matrix | many_runs | doctor, text, "N|auto", "auto",
     "worker threads; auto: by CPUs, quota, OMP_NUM_THREADS"},
    {"mem-limit", 0, "Machine", run | pagerank, bytes, "SIZE", "",
     "fail rather than use more memory than this (exit code 6): 8GiB; with --device cuda the memory of the GPU, to "
     "which a larger matrix is streamed in slices; on several devices the memory of each (docs/scale.md)"},
    {"mem-limit", 0, "Machine", matrix & ~(spgemm | run | pagerank), bytes, "SIZE", "",
     "fail rather than use more memory than this (exit code 6): 8GiB"},
    {"mem-limit", 0, "Machine", spgemm, bytes, "SIZE", "",
     "use no more memory than this: 8GiB; a product of two matrices that is larger is formed in slices of rows, and "
     "written so to a .tsb file; others fail (exit code 6)"},
    {"mem-limit", 0, "Machine", many_runs, bytes, "SIZE", "",
     "end a run that needs more memory than this, by its own forecast or by what it holds: 8GiB"},
    {"seed", 0, "Machine", matrix | many_runs, count, "N", "42", "seed of all random numbers"},

    {"output", 'o', "Output", run, text, "FILE|-", "",
     "write the solution as a Matrix Market array; .gz: compressed; .txt: one number per line; -: standard output, "
     "with "
     "the summary on standard error",
     "", "", ".mtx|.mtx.gz|.txt"},
    {"output", 'o', "Output", pagerank, text, "FILE|-", "",
     "write the ranks as a Matrix Market array; .gz: compressed; .txt: one number per line; .csv: vertex,rank; -: "
     "standard output, with the summary on standard error",
     "", "", ".mtx|.mtx.gz|.txt|.csv"},
    {"output", 'o', "Output", centrality, text, "FILE|-", "",
     "write all scores as a Matrix Market array, those of hits in two columns; .gz: compressed; .txt: a line per "
     "vertex; .csv: the same with its number; -: standard output, with the summary on standard error",
     "", "", ".mtx|.mtx.gz|.txt|.csv"},
    {"output", 'o', "Output", spgemm, text, "FILE|-", "",
     "write the product: Matrix Market, .gz: compressed, .tsb: binary; -: standard output", "", "",
     ".mtx|.mtx.gz|.tsb"},
    {"output", 'o', "Output", convert, text, "FILE|-", "", "OUT, as the last word names it", "", "",
     ".mtx|.mtx.gz|.tsb|.tiles|.petsc"},
    {"output", 'o', "Output", report, text, "FILE|-", "", "the page to write, HTML; -: standard output", "", "",
     ".html|.htm"},
    {"to", 0, "Output", convert, text, "auto|mtx|mtx.gz|tsb|tiles|petsc", "auto",
     "format to write; tsb: binary; tiles: binary, in 8 x 8 tiles; petsc: PETSc's; auto: by the ending of OUT", "",
     "auto|mtx|mtx.gz|tsb|tiles|petsc"},
    {"symmetric", 0, "Output", convert, text, "auto|general", "auto",
     "auto: of a numerically symmetric matrix, text files get the lower triangle; general: all entries"},
    {"output", 'o', "Output", tune, text, "FILE", "solve.toml", "the configuration to write", "", "", ".toml"},
    {"force", 0, "Output", convert | tune, flag, "", "", "replace OUT if it exists"},
    {"json", 0, "Output", bench, text, "[FILE|-]", "",
     "write one line of JSON per run, to standard output in place of the summary, or to a file (--json=FILE, or a name "
     "that ends in .jsonl or .json); runs that the file has are not made again",
     "", "", ".jsonl|.json"},
    {"table", 0, "Output", bench, text, "md|csv|latex", "",
     "write the tables to standard output in this format: Markdown, CSV (one row per matrix and configuration) or "
     "LaTeX"},
    {"json", 0, "Output", one_document, text, "[FILE|-]", "",
     "write one JSON document: to standard output in place of the summary, or to a file (--json=FILE, or a name that "
     "ends in .json)",
     "", "", ".json"},
    {"history", 0, "Output", iterative, text, "FILE", "", "write the residual of every iteration as CSV", "", "",
     ".csv|.txt"},
    {"report", 0, "Output", iterative | compare | inspect | spgemm, text, "FILE|-", "",
     "write a page to look at, one HTML file that loads nothing; solve report makes one of several --json documents",
     "", "", ".html|.htm"},
    {"plot", 0, "Output", iterative, flag, "", "",
     "draw the residuals below the summary, in ASCII where the locale is not UTF-8; on standard error where another "
     "result takes standard output"},
    {"csv", 0, "Output", rankings, text, "FILE|-", "",
     "write the K highest ranks of --top as CSV: rank,id,name,score, numbers in full", "", "", ".csv"},
    {"csv", 0, "Output", compare, text, "FILE|-", "", "write the rows as CSV, numbers in full", "", "", ".csv"},
    {"md", 0, "Output", compare, text, "FILE|-", "", "write the tables as Markdown", "", "", ".md"},
    {"top", 0, "Output", rankings, count, "K", "10",
     "list the K highest ranks; vertices count from 1, as in the file; equal ranks in the order of the vertices"},
    {"labels", 0, "Output", rankings, text, "FILE", "",
     "names of the vertices, for lists and --personalize: one per line, or in a .csv file id,name", "", "",
     ".txt|.csv"},
    {"spy", 0, "Output", inspect, count, "N", "24",
     "lines of the spy plot of a square matrix, which is 2 N columns wide; fewer for a rectangular one"},
    {"no-spy", 0, "Output", inspect, flag, "", "", "no spy plot"},
    {"quiet", 'q', "Output", matrix | many_runs, flag, "", "", "no summary, no progress, no warnings"},
    {"verbose", 'v', "Output", matrix, flag, "", "", "log each step on standard error; -vv: all settings too"},
    {"progress", 0, "Output", matrix, text, "MODE", "auto",
     "auto, bar, plain, json (lines) or none, on standard error, after the first half second", "",
     "auto|bar|plain|json|none"},
    {"color", 0, "Output", every | report | completion | help | version, text, "auto|always|never", "auto",
     "colours in what is shown; auto: on a terminal, unless NO_COLOR is set"},
    {"exit-zero", 0, "Output", iterative | compare, flag, "", "", "exit with 0 instead of 3 or 4"},
    {"dry-run", 0, "Output", iterative | compare | spgemm, flag, "", "",
     "forecast memory and time of each phase and do none of the work; exit code 6 where it would not fit"},

    {"config", 'c', configuration, configurable, text, "FILE", "",
     "read settings from a TOML or JSON file; keys are the long names of options: rtol = 1e-10, matrix = \"A.mtx\"; a "
     "document written by --json repeats its run",
     "", "", ".toml|.json"},
    {"set", 's', configuration, configurable, text, "KEY=VALUE", "",
     "one setting, stronger than files and environment; may be repeated"},
    {"print-config", 0, configuration, configurable, flag, "", "",
     "print the settings as TOML that repeats the run with --config, and do nothing else"},

    {"version", 0, "Output", every | report | completion | help | version, flag, "", "",
     "version, commit, compiler and CUDA of this build"},
    {"help", 'h', "Output", every | report | completion | help | version, flag, "", "", "this text"},
});

}  // namespace

std::span<const OptionSpec> option_table() { return table; }

std::vector<const OptionSpec*> distinct_options() {
  std::vector<const OptionSpec*> distinct;
  for (const OptionSpec& spec : table) {
    if (find_option(spec.name) == &spec) distinct.push_back(&spec);
  }
  return distinct;
}

const OptionSpec* find_option(std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const OptionSpec& spec) { return spec.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const OptionSpec* find_option(char letter) {
  const auto found =
      std::find_if(table.begin(), table.end(), [=](const OptionSpec& spec) { return spec.letter == letter; });
  return found == table.end() || letter == '\0' ? nullptr : &*found;
}

bool is_configurable(const OptionSpec& spec) {
  // A configuration that repeats a run is to run it.
  return spec.group != configuration && spec.name != "help" && spec.name != "version" && spec.name != "dry-run";
}

const OptionSpec* find_option(Command command, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const OptionSpec& spec) { return spec.name == name && uses(command, spec); });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace tessera::cli
