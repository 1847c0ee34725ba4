#include "option_table.hpp"

#include "precond_keys.hpp"
#include "precond_spec.hpp"
#include "terminal.hpp"

#include "tessera/iterative_solver.hpp"
#include "tessera/spgemm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace tessera::cli {

namespace {

/// One command: its name and what the help text says of it.
struct CommandSpec {
  std::string_view name;
  std::string_view description;
  std::string_view words;  ///< "a|b": the bare words that may follow, where they are no files
  std::string_view files;  ///< ".mtx|.gz": endings of the files that may follow
  std::string_view usage;
  std::string_view exit_codes;
  std::string_view examples;
};

constexpr std::string_view matrix_files =
    ".mtx|.mtx.gz|.mtx.zst|.tsb|.tiles|.csv|.tsv|.csv.gz|.npz|.mat|.rb|.rua|.rsa|.petsc|.amgx";
constexpr std::string_view solve_exit_codes =
    "  0 converged and verified    1 internal error        2 usage\n"
    "  3 iteration or time limit   4 breakdown, divergence, stagnation, not finite\n"
    "  5 bad input or output file  6 out of memory         7 no usable device\n"
    "  129, 130, 143 interrupted (partial results are written)\n";

/// In the order of Command.
constexpr auto table = std::to_array<CommandSpec>(
    {{"run", "solve A x = b (the default)", "", matrix_files,
      "usage: solve [run] MATRIX [options]\n"
      "       solve --poisson3d N [options]\n"
      "       solve COMMAND --help\n",
      solve_exit_codes,
      "  solve --poisson3d 64                           a first solve, no file needed\n"
      "  solve A.mtx                                    auto method; right-hand side A*ones\n"
      "  solve --method bicgstab A.mtx.gz --rtol 1e-10 -o x.mtx\n"
      "  solve A.mtx -b b.mtx --json | jq .result.status\n"
      "  solve A.mtx --history residuals.csv --max-time 5m\n"},
     {"pagerank", "rank the vertices of a graph; row i of the matrix holds the out-links of i", "", matrix_files,
      "usage: solve pagerank GRAPH [options]\n"
      "       solve --method pagerank GRAPH [options]\n"
      "       solve pagerank --powerlaw N [options]\n",
      solve_exit_codes,
      "  solve pagerank web.mtx --damping 0.85 --tol 1e-9 --norm l1 --top 10\n"
      "  solve --method pagerank web.mtx.gz -o ranks.mtx\n"
      "  solve pagerank --powerlaw 1e5 --tol-per-node 1e-8\n"},
     {"hits", "hubs and authorities of a graph; row i of the matrix holds the out-links of i", "", matrix_files,
      "usage: solve hits GRAPH [options]\n"
      "       solve hits --powerlaw N [options]\n",
      solve_exit_codes,
      "  solve hits web.mtx --top 20\n"
      "  solve hits web.mtx --labels names.txt --csv -\n"},
     {"katz", "Katz centrality of a graph; row i of the matrix holds the out-links of i", "", matrix_files,
      "usage: solve katz GRAPH [options]\n"
      "       solve katz --powerlaw N [options]\n",
      solve_exit_codes,
      "  solve katz web.mtx --top 20\n"
      "  solve katz web.mtx --alpha 0.01 -o scores.csv\n"},
     {"compare", "check and time every SpMV kernel on one matrix, and whole solves with each", "", matrix_files,
      "usage: solve compare MATRIX [options]\n"
      "       solve compare --poisson3d N --solvers cg [options]\n",
      "  0 measured    1 internal error    2 usage    5 bad input or output file\n"
      "  3, 4 a solve did not converge, as in run (--exit-zero: 0)\n"
      "  6 out of memory    7 no usable device\n"
      "  8 a kernel or a solve failed its check, or is slower than --fail-if-slower allows\n"
      "  129, 130, 143 interrupted (what was measured is written)\n",
      "  solve compare A.mtx                            which kernel is best for this matrix?\n"
      "  solve compare A.mtx --kernels csr,merbit --solvers cg,bicgstab --rtol 1e-6\n"
      "  solve compare --powerlaw 1e5 --solvers pagerank --md -\n"
      "  solve compare A.mtx --json=before.json\n"
      "  solve compare A.mtx --baseline before.json --fail-if-slower 5%\n"},
     {"inspect", "properties of a matrix, and the method and kernel that suit it; nothing is solved", "", matrix_files,
      "usage: solve inspect MATRIX [options]\n"
      "       solve inspect --poisson3d N [options]\n",
      "  0 inspected    2 usage    5 bad input or output file    6 out of memory\n",
      "  solve inspect A.mtx                            why is it slow, why does it not converge?\n"
      "  solve inspect A.mtx.gz --spy 32\n"
      "  solve inspect A.mtx --json | jq .advice\n"},
     {"convert", "write a matrix in another format: Matrix Market text or a binary file", "", matrix_files,
      "usage: solve convert IN OUT [options]\n"
      "       solve convert --generate NAME:SIZE OUT [options]\n",
      "  0 written    2 usage    5 bad input, OUT exists or cannot be written    6 out of memory\n",
      "  solve convert A.mtx.gz A.tsb                   then: solve A.tsb\n"
      "  solve convert A.tsb - | head                   Matrix Market text on standard output\n"
      "  solve convert A.mtx A.tiles                    binary, in 8 x 8 tiles\n"
      "  solve convert A.mtx A.petsc                    also read: .npz, .mat, .rb, .csv (solve list formats)\n"
      "  solve convert A.mtx At.mtx --transpose\n"
      "  solve convert --generate road:1e5 road.mtx.gz\n"
      "  solve convert --vector b.txt b.mtx\n"},
     {"spgemm", "multiply two sparse matrices, or raise one to a power", "", matrix_files,
      "usage: solve spgemm A [B] [options]\n"
      "       solve spgemm --generate NAME:SIZE [B] [options]\n",
      "  0 multiplied    2 usage    5 bad input, sizes that do not fit, or output file\n"
      "  6 out of memory    8 --verify found the product wrong\n",
      "  solve spgemm A.mtx A.mtx.gz --verify           A times another matrix, checked\n"
      "  solve spgemm A.mtx --power 3 -o A3.mtx\n"
      "  solve spgemm A.mtx --transpose b               A A^T; with a instead of b, A^T A\n"
      "  solve spgemm A.mtx --estimate hll --json | jq .products\n"},
     {"report", "make one page to look at of the documents that --json wrote", "", ".json",
      "usage: solve report DOCUMENT... -o FILE.html\n",
      "  0 written    2 usage, or a document of another program    5 bad input or output file\n",
      "  solve A.mtx --report run.html                  the page of one run\n"
      "  solve compare A.mtx --json=compare.json\n"
      "  solve report *.json -o report.html             one page of several documents\n"},
     {"bench",
      "solve many matrices with many configurations, each in a process of its own; goes on where it was cut off", "",
      matrix_files,
      "usage: solve bench FOLDER|LIST|MATRIX|RECIPE... [options]\n"
      "       solve bench --summary FILE.jsonl... [options]\n",
      "  0 every run was made, whatever came of it    1 a run crashed    2 usage\n"
      "  5 a matrix could not be read, or a bad list, results or output file\n"
      "  129, 130, 143 interrupted (the runs that ended are kept)\n",
      "  solve bench A.mtx poisson3d:12 --methods auto,cg --json runs.jsonl\n"
      "  solve bench A.mtx convdiff:8 --max-time 60s --table md\n"
      "  solve bench --summary runs.jsonl --table csv\n"},
     {"tune", "find method, preconditioner and kernel for a matrix, and write them to solve.toml", "", matrix_files,
      "usage: solve tune MATRIX [options]\n"
      "       solve tune --poisson3d N [options]\n",
      "  0 written    2 usage    3 nothing solved the system within --budget    5 bad input or output file\n"
      "  6 out of memory    7 no usable device    129, 130, 143 interrupted, nothing was written\n",
      "  solve tune A.mtx -o A.toml                     then: solve -c A.toml A.mtx\n"
      "  solve tune --poisson2d 60 --budget 5s -o grid.toml\n"},
     {"doctor", "capabilities of this build and this machine, and a short self-test", "", "",
      "usage: solve doctor [options]\n",
      "  0 everything works    2 usage    5 bad output file    7 no GPU to calibrate\n"
      "  8 the self-test failed\n",
      "  solve doctor\n  solve doctor --json\n"
      "  solve doctor --calibrate                       figures of this GPU, for predictions\n"},
     {"list", "list methods, preconds, kernels, formats or generators", "methods|preconds|kernels|formats|generators",
      "", "usage: solve list [methods|preconds|kernels|formats|generators] [options]\n", "  0 listed    2 usage\n",
      "  solve list kernels\n  solve list --json\n"},
     {"completion", "print the completion script for bash, zsh or fish", "bash|zsh|fish", "",
      "usage: solve completion bash|zsh|fish\n", "  0 printed    2 usage\n",
      "  solve completion bash > ~/.local/share/bash-completion/completions/solve\n"
      "  solve completion zsh > ~/.zfunc/_solve         with fpath+=~/.zfunc before compinit\n"
      "  solve completion fish > ~/.config/fish/completions/solve.fish\n"},
     {"help", "explain a command, an option or the exit codes, or print the manual page",
      "run|pagerank|hits|katz|compare|inspect|convert|spgemm|report|bench|tune|doctor|list|completion|help|version|"
      "exit-codes|man",
      "", "usage: solve help [COMMAND|OPTION|exit-codes|man]\n", "  0 printed    2 usage\n",
      "  solve help compare\n"
      "  solve help --rtol\n"
      "  solve help man > solve.1                       then: man -l solve.1\n"},
     {"version", "version, commit, compiler and CUDA of this build", "", "", "usage: solve version [options]\n",
      "  0 printed    2 usage\n", "  solve version --json\n"}});

constexpr std::array all_commands{Command::run,     Command::pagerank,   Command::hits,    Command::katz,
                                  Command::compare, Command::inspect,    Command::convert, Command::spgemm,
                                  Command::report,  Command::bench,      Command::tune,    Command::doctor,
                                  Command::list,    Command::completion, Command::help,    Command::version};

[[nodiscard]] const CommandSpec& spec_of(Command command) { return table[static_cast<std::size_t>(command)]; }

constexpr std::array<std::string_view, 9> groups{"Problem", "Method",  "Stopping", "Kernel",       "Comparison",
                                                 "Product", "Machine", "Output",   "Configuration"};

/// Where descriptions begin.
[[nodiscard]] std::size_t help_column(std::size_t width) {
  constexpr std::size_t wide = 90;
  constexpr std::size_t narrow = 60;
  return width >= wide ? 32 : width >= narrow ? 26 : 10;
}

/// Accumulators that the host does not have.
[[nodiscard]] std::vector<std::string_view> gpu_accumulators() {
  const auto on_host = spgemm_accumulators(Device::Kind::host);
  std::vector<std::string_view> names;
  for (const auto accumulator : spgemm_accumulators(Device::Kind::cuda)) {
    if (std::find(on_host.begin(), on_host.end(), accumulator) == on_host.end())
      names.push_back(to_string(accumulator));
  }
  return names;
}

[[nodiscard]] std::vector<std::string_view> names_of(std::span<const PrecondKey> keys) {
  std::vector<std::string_view> names;
  for (const PrecondKey& key : keys) names.push_back(key.name);
  return names;
}

/// "ilu0", "iluk:K", ...: the preconditioners with parameters of their own.
[[nodiscard]] std::vector<std::string_view> factor_forms() {
  std::vector<std::string_view> names;
  for (const PrecondForm& form : precond_forms()) {
    if (form.is_factors) names.push_back(form.form);
  }
  return names;
}

[[nodiscard]] std::vector<std::string_view> method_names() {
  std::vector<std::string_view> names;
  for (const MethodInfo& method : iterative_methods()) names.push_back(method.name);
  return names;
}

[[nodiscard]] std::string option_section(Command command, std::size_t width) {
  std::string result;
  std::string_view group;
  for (const std::string_view heading : groups) {
    for (const OptionSpec& spec : option_table()) {
      if (spec.group != heading || !uses(command, spec)) continue;
      if (group != heading) result += fmt::format("\n{}:\n", heading);
      group = heading;
      result += option_help(spec, width);
    }
  }
  return result;
}

}  // namespace

std::string_view to_string(Command command) { return spec_of(command).name; }
std::string_view describe(Command command) { return spec_of(command).description; }
std::string_view command_words(Command command) { return spec_of(command).words; }
std::string_view command_files(Command command) { return spec_of(command).files; }
std::span<const Command> commands() { return all_commands; }

std::optional<Command> parse_command(std::string_view word) {
  const auto found = std::find_if(all_commands.begin(), all_commands.end(),
                                  [&](Command command) { return to_string(command) == word; });
  return found == all_commands.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string_view> command_names() {
  std::vector<std::string_view> names;
  names.reserve(table.size());
  for (const CommandSpec& spec : table) names.push_back(spec.name);
  return names;
}

std::string_view command_usage(Command command) { return spec_of(command).usage; }
std::string_view command_exit_codes(Command command) { return spec_of(command).exit_codes; }
std::string_view command_examples(Command command) { return spec_of(command).examples; }
std::span<const std::string_view> option_groups() { return groups; }

std::string option_description(const OptionSpec& spec) {
  std::string text(spec.help);
  if (spec.name == "accumulator") {
    text = fmt::format(fmt::runtime(text), fmt::arg("words", fmt::join(option_words(spec), ", ")),
                       fmt::arg("gpu_words", fmt::join(gpu_accumulators(), ", ")));
  }
  if ((spec.name == "method" && spec.words.empty()) || spec.name == "solvers" || spec.name == "methods") {
    text = fmt::format(fmt::runtime(text), fmt::arg("methods", fmt::join(method_names(), ", ")));
  }
  if (spec.name == "precond") {
    text = fmt::format(fmt::runtime(text), fmt::arg("words", fmt::join(factor_forms(), ", ")));
  }
  if (spec.name == "precond-opt") {
    text = fmt::format(fmt::runtime(text), fmt::arg("amg_words", fmt::join(names_of(amg_keys()), ", ")),
                       fmt::arg("factor_words", fmt::join(names_of(factor_keys()), ", ")));
  }
  if (!spec.fp32_fallback.empty()) {
    text += fmt::format(" (with --precision fp32: {}, default: {})", spec.fp32_fallback, spec.fallback);
  } else if (!spec.fallback.empty()) {
    text += fmt::format(" (default: {})", spec.fallback);
  }

  return text;
}

std::string commands_text(const OptionSpec& spec) {
  std::vector<std::string_view> names;
  for (const Command command : commands()) {
    if (uses(command, spec)) names.push_back(to_string(command));
  }
  return names.size() == commands().size() ? "all" : fmt::format("{}", fmt::join(names, ", "));
}

std::string option_help(const OptionSpec& spec, std::size_t width) {
  std::string left = spec.letter == '\0' ? "      " : fmt::format("  -{}, ", spec.letter);
  left += fmt::format("--{}{}{}", spec.name, spec.value.empty() ? "" : " ", spec.value);
  return hanging(left, option_description(spec), help_column(width), width);
}

std::string help_text(Command command, std::size_t width) {
  std::string head(spec_of(command).usage);
  head += fmt::format("\n{}: {}\n", to_string(command), describe(command));
  std::string result = fitted(head, width);
  if (command == Command::run) {
    result += fitted(
        "MATRIX is a file of one of the formats of solve list formats, also compressed, or - for standard input.\n"
        "\nCommands:\n",
        width);
    constexpr std::size_t column = 14;
    for (const Command each : commands()) {
      result += hanging(fmt::format("  {}", to_string(each)), describe(each), column, width);
    }
  }
  result += option_section(command, width);
  return result +
         fitted(fmt::format("\nExit codes:\n{}\nExamples:\n{}", spec_of(command).exit_codes, spec_of(command).examples),
                width);
}

}  // namespace tessera::cli
