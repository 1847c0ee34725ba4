#include "option_table.hpp"

#include "tessera/generators.hpp"
#include "tessera/spmv.hpp"

#include <algorithm>
#include <array>

namespace tessera::cli {

namespace {

constexpr unsigned run = bit(Command::run);
constexpr unsigned pagerank = bit(Command::pagerank);
constexpr unsigned compare = bit(Command::compare);
constexpr unsigned inspect = bit(Command::inspect);
constexpr unsigned convert = bit(Command::convert);
constexpr unsigned spgemm = bit(Command::spgemm);
constexpr unsigned doctor = bit(Command::doctor);
constexpr unsigned list = bit(Command::list);
constexpr unsigned completion = bit(Command::completion);
constexpr unsigned systems = run | compare;       ///< solve A x = b
constexpr unsigned ranking = pagerank | compare;  ///< rank graphs
constexpr unsigned iterative = run | pagerank;    ///< one solve, with its vector and history
constexpr unsigned matrix = iterative | compare | inspect | convert | spgemm;  ///< read or generate a matrix
/// Read ./solve.toml, the environment and --config.
constexpr unsigned configurable = iterative | compare | inspect | doctor;
constexpr unsigned every = matrix | doctor | list;

constexpr std::string_view configuration = "Configuration";

constexpr std::string_view vector_files = ".mtx|.mtx.gz|.txt";

using enum ValueKind;

constexpr auto table = std::to_array<OptionSpec>({
    {"poisson2d", 0, "Problem", systems | inspect | convert | spgemm, count, "N", "",
     "Laplace's equation on an N x N grid, 5 points"},
    {"poisson3d", 0, "Problem", systems | inspect | convert | spgemm, count, "N", "",
     "Laplace's equation on an N x N x N grid, 7 points"},
    {"convdiff", 0, "Problem", systems | inspect | convert | spgemm, count, "N", "",
     "convection and diffusion on N x N x N, upwind, cell Peclet numbers 1, 0.5, 0.25; not symmetric"},
    {"powerlaw", 0, "Problem", ranking | inspect | convert | spgemm, count, "N", "",
     "R-MAT graph with 2^k >= N vertices (at most 2^30), 16 drawn edges a vertex, seeded by --seed"},
    {"generate", 0, "Problem", matrix, text, "NAME[:SIZE]", "",
     "a matrix of a family of any size, with parameters after commas: kmer:55e6, web:1e6,seed=3, rmat:scale=20 "
     "(solve list generators)"},
    {"cache", 0, "Problem", matrix, text, "on|off|DIR", "off",
     "after reading A.mtx keep A.mtx.tsb, a binary file that is read much faster, and use it as long as A.mtx stays as "
     "it is; --cache alone means on, --cache=DIR keeps the caches in a directory"},
    {"duplicates", 0, "Problem", matrix, text, "sum|error", "sum", "what to do with repeated entries of a file"},
    {"rhs", 'b', "Problem", systems, text, "FILE|WORD", "Aones",
     "right-hand side: a vector file, ones, random, unit:i (i from 1), or Aones = A times ones, whose solution is "
     "known so that the error is printed",
     "", "ones|Aones|random|unit:", vector_files},
    {"x0", 0, "Problem", systems, text, "FILE|WORD", "zero", "initial guess: a vector file, zero, rhs or random", "",
     "zero|rhs|random", vector_files},
    {"unweighted", 0, "Problem", ranking | inspect | spgemm, flag, "", "",
     "ignore the values: every stored entry is a link of weight 1"},
    {"pattern", 0, "Problem", convert, flag, "", "", "write the positions alone, without values"},
    {"vector", 0, "Problem", convert, flag, "", "", "IN holds a vector, not a matrix"},
    {"transpose", 0, "Problem", iterative | inspect | compare, flag, "", "",
     "take the transpose of the matrix, formed when it is read: solve A^T x = b; reverse every link of a graph"},

    {"method", 'm', "Method", run, text, "NAME", "auto",
     "cg, bicgstab, pagerank, or auto: cg for a numerically symmetric matrix with positive diagonal, else bicgstab", "",
     "auto|cg|bicgstab|pagerank"},
    {"method", 'm', "Method", pagerank, text, "NAME", "pagerank", "pagerank", "", "pagerank"},
    {"precond", 'p', "Method", systems, text, "NAME", "auto",
     "none, jacobi, or auto: jacobi when every diagonal entry is there and nonzero, else none", "", "auto|none|jacobi"},
    {"restart-on-breakdown", 0, "Method", systems, count, "N", "3",
     "restarts after breakdowns without progress in between; 0 stops at the first"},
    {"replace-residual", 0, "Method", systems, text, "N|auto", "auto",
     "replace the recurrence's residual by the true one every N iterations; auto: only when the check that precedes "
     "every success finds that they disagree"},
    {"shadow", 0, "Method", systems, text, "r0|random", "r0", "shadow vector of bicgstab"},
    {"damping", 0, "Method", ranking, number, "D", "0.85", "probability of following a link, in [0, 1)"},
    {"dangling", 0, "Method", pagerank, text, "WHERE", "teleport",
     "where the rank of vertices without out-links goes: teleport (the distribution of jumps), uniform, self, or drop "
     "(lost; ranks are scaled back to sum 1)",
     "", "teleport|uniform|self|drop"},
    {"personalize", 0, "Method", pagerank, text, "FILE", "",
     "distribution of jumps: a vector file with one weight >= 0 a vertex; default uniform", "", "", vector_files},
    {"sum", 0, "Method", pagerank, text, "1|n", "1", "ranks sum to 1, or to the number of vertices"},

    {"rtol", 0, "Stopping", systems, number, "X", "1e-8",
     "stop when ||b - A x|| <= max(rtol * base, atol), verified with the true residual", "1e-5"},
    {"atol", 0, "Stopping", systems, number, "X", "0", "absolute tolerance, in the units of b"},
    {"norm-base", 0, "Stopping", systems, text, "b|r0", "b", "what rtol is relative to: ||b|| or ||b - A x0||"},
    {"max-iters", 0, "Stopping", systems, count, "N", "10000", "limit on iterations (exit code 3)"},
    {"dtol", 0, "Stopping", systems, number, "X", "1e5", "diverged when the residual exceeds X * max(||b||, ||r0||)"},
    {"stagnation", 0, "Stopping", systems, text, "N|auto", "auto",
     "stagnated when the smallest residual has not fallen by 1 % within N iterations; auto: max(1000, rows)"},
    {"tol", 0, "Stopping", ranking, number, "X", "1e-9", "stop when ||x' - x|| <= X in the norm of --norm", "1e-5"},
    {"norm", 0, "Stopping", pagerank, text, "l1|l2|linf", "l1", "norm of the change"},
    {"tol-per-node", 0, "Stopping", pagerank, number, "X", "",
     "stop when ||x' - x|| <= X * vertices in l1, which is what NetworkX calls tol"},
    {"max-iters", 0, "Stopping", pagerank, count, "N", "1000", "limit on iterations (exit code 3, ranks are written)"},
    {"max-time", 0, "Stopping", iterative | compare, seconds, "T|none", "none",
     "limit on the time of the iteration (exit code 3): 300s, 5m, 2h"},

    {"spmv", 'k', "Kernel", iterative, text, "NAME", "auto",
     "product A x: auto, or a kernel that the device has (solve list kernels)"},
    {"plan-info", 0, "Kernel", iterative, flag, "", "", "print what the set-up of the kernel cost and made"},
    {"determinism", 0, "Kernel", iterative | spgemm, text, "none|run|gpu", "none",
     "least class to keep: run = bitwise equal from run to run, gpu = for any number of threads too"},
    {"precision", 0, "Kernel", matrix, text, "fp64|fp32", "fp64", "element type of matrix and vectors"},

    {"kernels", 0, "Comparison", compare, text, "all|A,B", "all",
     "which to compare (solve list kernels); NAME:gpu, on a GPU NAME:run, is NAME made to repeat bit by bit; csr, on a "
     "GPU csr-vector, "
     "always takes part as the reference"},
    {"solvers", 0, "Comparison", compare, text, "A,B", "",
     "solve with each kernel too: cg, bicgstab, pagerank, to the tolerance of the options above"},
    {"applies", 0, "Comparison", compare, count, "N", "1000", "products that the total counts besides the set-up"},
    {"sort", 0, "Comparison", compare, text, "KEY", "total",
     "order of the kernels, best first: total, spmv, setup, error or memory", "", "total|spmv|setup|error|memory"},
    {"baseline", 0, "Comparison", compare, text, "FILE", "",
     "a --json document of an earlier comparison of the same matrix: show the change of every time", "", "", ".json"},
    {"fail-if-slower", 0, "Comparison", compare, number, "X", "",
     "exit with 8 when a time has clearly grown by more than X against the baseline: 5%"},
    {"repeat", 0, "Comparison", compare, text, "N|auto", "auto",
     "rounds; auto: at least 10 (3 of solves), until all times are quiet or 10 times --min-time has passed"},
    {"min-time", 0, "Comparison", compare, seconds, "T", "0.5s", "least time of the rounds of all kernels together"},
    {"noise", 0, "Comparison", compare, number, "X", "1%",
     "a time is quiet when the middle half of its samples lies within this share of the median"},
    {"warmup", 0, "Comparison", compare, count, "N", "2", "untimed products of each kernel before the first round"},
    {"cold", 0, "Comparison", compare, flag, "", "", "time products with emptied caches too"},

    {"power", 0, "Product", spgemm, count, "K", "2", "A^K, where there is no B: 0 is the identity"},
    {"estimate", 0, "Product", spgemm, text, "NAME", "auto",
     "how the rows of the product get their room: hll or cohen (estimates), upper (all products), exact (counted "
     "first; least memory), sampled (the total), esc (all products, and every row by sorting them), or auto, which "
     "says why",
     "", "auto|hll|cohen|exact|upper|sampled|esc"},
    {"accumulator", 0, "Product", spgemm, text, "NAME", "auto",
     "what a row of the product is summed in, where that can do it; window and wide are for GPUs", "",
     "auto|merge|dense|hash|esc|window|wide"},
    {"verify", 0, "Product", spgemm, flag, "", "",
     "compare (A B) x with A (B x) for a random x, against a bound on rounding (exit code 8)"},

    {"device", 0, "Machine", iterative, text, "NAME", "auto",
     "host, cuda or cuda:N; auto: a GPU for a large matrix that fits there, else the host, and says why", "",
     "auto|host|cuda"},
    {"device", 0, "Machine", inspect | convert | compare | spgemm, text, "NAME", "auto",
     "host, cuda or cuda:N; auto: the host", "", "auto|host|cuda"},
    {"threads", 0, "Machine", matrix | doctor, text, "N|auto", "auto", "worker threads; auto: all, or OMP_NUM_THREADS"},
    {"mem-limit", 0, "Machine", matrix, bytes, "SIZE", "", "refuse to need more memory than this (exit code 6): 8GiB"},
    {"seed", 0, "Machine", matrix, count, "N", "42", "of everything random"},

    {"output", 'o', "Output", iterative, text, "FILE|-", "",
     "write the solution (or the ranks) as a Matrix Market array; .gz is compressed; - is standard output, and the "
     "summary then goes to standard error",
     "", "", ".mtx|.mtx.gz"},
    {"output", 'o', "Output", spgemm, text, "FILE|-", "",
     "write the product: Matrix Market, .gz is compressed, .tsb is binary; - is standard output", "", "",
     ".mtx|.mtx.gz|.tsb"},
    {"to", 0, "Output", convert, text, "auto|mtx|mtx.gz|tsb", "auto",
     "format to write; tsb is binary; auto: by the end of the name of OUT", "", "auto|mtx|mtx.gz|tsb"},
    {"symmetric", 0, "Output", convert, text, "auto|general", "auto",
     "auto: a numerically symmetric matrix is written to text as its lower triangle; general: all entries"},
    {"force", 0, "Output", convert, flag, "", "", "replace OUT if it exists"},
    {"json", 0, "Output", every, text, "[FILE|-]", "",
     "one JSON document, to standard output instead of the summary unless a file is named (--json=FILE, or a name "
     "that ends in .json)",
     "", "", ".json"},
    {"history", 0, "Output", iterative, text, "FILE", "", "residual of every iteration as CSV", "", "", ".csv"},
    {"csv", 0, "Output", compare, text, "FILE|-", "", "the rows as CSV, numbers in full", "", "", ".csv"},
    {"md", 0, "Output", compare, text, "FILE|-", "", "the tables as Markdown", "", "", ".md"},
    {"top", 0, "Output", pagerank, count, "K", "10", "list the K highest ranks; vertices count from 1, as in the file"},
    {"spy", 0, "Output", inspect, count, "N", "24",
     "height of the spy plot in lines for a square matrix, which is 2 N wide; less where the matrix is rectangular"},
    {"no-spy", 0, "Output", inspect, flag, "", "", "no spy plot"},
    {"quiet", 'q', "Output", matrix, flag, "", "", "no summary, no progress, no warnings"},
    {"verbose", 'v', "Output", matrix, flag, "", "", "what is being done, on standard error; -vv: all settings too"},
    {"progress", 0, "Output", matrix, text, "MODE", "auto",
     "auto, bar, plain, json (lines) or none, on standard error, after the first half second", "",
     "auto|bar|plain|json|none"},
    {"exit-zero", 0, "Output", iterative | compare, flag, "", "", "exit with 0 instead of 3 or 4"},

    {"config", 'c', configuration, configurable, text, "FILE", "",
     "settings from a TOML or JSON file, each by the long name of its option: rtol = 1e-10, matrix = \"A.mtx\"; a "
     "document written by --json repeats its run",
     "", "", ".toml|.json"},
    {"set", 's', configuration, configurable, text, "KEY=VALUE", "",
     "one setting, stronger than files and environment; may be repeated"},
    {"print-config", 0, configuration, configurable, flag, "", "",
     "print the settings as TOML that repeats the run with --config, and do nothing else"},

    {"version", 0, "Output", every | completion, flag, "", "", "version, commit, compiler and CUDA of this build"},
    {"help", 'h', "Output", every | completion, flag, "", "", "this text"},
});

constexpr auto planned = std::to_array<std::string_view>({"tune",
                                                          "bench",
                                                          "report",
                                                          "--reorder",
                                                          "--scale",
                                                          "--index",
                                                          "--graph",
                                                          "--events",
                                                          "--html",
                                                          "--plot",
                                                          "--color",
                                                          "--dry-run",
                                                          "--debug",
                                                          "--from-petsc",
                                                          "--from-amgx",
                                                          "--from-scipy",
                                                          "--from-ginkgo",
                                                          "--return",
                                                          "--suite",
                                                          "--resume",
                                                          "--report",
                                                          "precond=ilu0",
                                                          "precond=bjacobi",
                                                          "precond=poly",
                                                          "precond=neumann",
                                                          "precond=ainv",
                                                          "precond=amg",
                                                          "precision=mixed",
                                                          "replace-residual=never",
                                                          "method=gmres",
                                                          "method=minres"});

constexpr std::array all_commands{Command::run,     Command::pagerank, Command::compare,
                                  Command::inspect, Command::convert,  Command::spgemm,
                                  Command::doctor,  Command::list,     Command::completion};

}  // namespace

std::string_view to_string(Command command) {
  switch (command) {
    case Command::run:
      return "run";
    case Command::pagerank:
      return "pagerank";
    case Command::compare:
      return "compare";
    case Command::inspect:
      return "inspect";
    case Command::convert:
      return "convert";
    case Command::spgemm:
      return "spgemm";
    case Command::doctor:
      return "doctor";
    case Command::list:
      return "list";
    case Command::completion:
      return "completion";
  }
  return "run";
}

std::optional<Command> parse_command(std::string_view word) {
  const auto* found = std::find_if(all_commands.begin(), all_commands.end(),
                                   [&](Command command) { return to_string(command) == word; });
  return found == all_commands.end() ? std::nullopt : std::optional(*found);
}

std::span<const Command> commands() { return all_commands; }

std::vector<std::string_view> command_names() {
  std::vector<std::string_view> names;
  names.reserve(all_commands.size());
  for (const Command command : all_commands) names.push_back(to_string(command));
  return names;
}

std::string_view command_words(Command command) {
  if (command == Command::list) return "methods|preconds|kernels|formats|generators";
  return command == Command::completion ? "bash|zsh" : "";
}

std::string_view command_files(Command command) {
  const bool reads_matrix = (bit(command) & matrix) != 0;
  return reads_matrix ? ".mtx|.mtx.gz|.tsb" : "";
}

std::string_view describe(Command command) {
  switch (command) {
    case Command::run:
      return "solve A x = b (the default)";
    case Command::pagerank:
      return "rank the vertices of a graph; row i of the matrix holds the out-links of i";
    case Command::compare:
      return "check and time every SpMV kernel on one matrix, and whole solves with each";
    case Command::inspect:
      return "what a matrix is like, and which method and kernel suit it; nothing is solved";
    case Command::convert:
      return "write a matrix in another format: Matrix Market text or a binary file";
    case Command::spgemm:
      return "multiply two sparse matrices, or raise one to a power";
    case Command::doctor:
      return "what this build and this machine offer, and a short self-test";
    case Command::completion:
      return "print the script that lets a shell complete these commands: bash or zsh";
    case Command::list:
      return "list methods, preconds, kernels, formats or generators";
  }
  return "";
}

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

bool is_planned(std::string_view word) { return std::find(planned.begin(), planned.end(), word) != planned.end(); }

bool is_configurable(const OptionSpec& spec) {
  return spec.group != configuration && spec.name != "help" && spec.name != "version";
}

std::vector<std::string> alternatives(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find('|'));
    words.emplace_back(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return words;
}

std::vector<std::string> option_words(const OptionSpec& spec) {
  std::vector<std::string> words;
  if (spec.name == "spmv") {
    words.emplace_back(to_string(SpmvAlgorithm::automatic));
    for (const SpmvAlgorithm algorithm : known_spmv_algorithms()) words.emplace_back(to_string(algorithm));
    return words;
  }
  if (spec.name == "generate") {
    for (const GeneratorFamily& family : generator_families()) words.push_back(std::string(family.name) + ":");
    return words;
  }
  if (!spec.words.empty()) return alternatives(spec.words);
  words = alternatives(spec.value);
  // "N" and "FILE" stand for something else; "-" is better typed than completed.
  std::erase_if(words, [](const std::string& word) {
    return !std::all_of(word.begin(), word.end(),
                        [](char c) { return c >= '0' && c != '[' && !(c >= 'A' && c <= 'Z'); });
  });
  return words;
}

const OptionSpec* find_option(Command command, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const OptionSpec& spec) { return spec.name == name && uses(command, spec); });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace tessera::cli
