#include "option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace tessera::cli {

namespace {

constexpr std::size_t line_width = 100;
constexpr std::size_t help_column = 32;

/// "  -b, --rhs FILE|WORD      text ... (default: Aones)", wrapped.
[[nodiscard]] std::string option_lines(const OptionSpec& spec) {
  std::string left = spec.letter == '\0' ? "      " : fmt::format("  -{}, ", spec.letter);
  left += fmt::format("--{}{}{}", spec.name, spec.value.empty() ? "" : " ", spec.value);
  std::string text(spec.help);
  if (!spec.fp32_fallback.empty()) {
    text += fmt::format(" (with --precision fp32: {}, default: {})", spec.fp32_fallback, spec.fallback);
  } else if (!spec.fallback.empty()) {
    text += fmt::format(" (default: {})", spec.fallback);
  }

  std::string result = left;
  std::size_t column = left.size();
  if (column + 2 > help_column) {
    result += '\n';
    column = 0;
  }
  result.append(help_column - column, ' ');
  column = help_column;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (column > help_column && column + 1 + word.size() > line_width) {
      result += '\n';
      result.append(help_column, ' ');
      column = help_column;
    }
    if (column > help_column) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return result + '\n';
}

[[nodiscard]] std::string option_section(Command command) {
  std::string result;
  std::string_view group;
  for (const std::string_view heading :
       {"Problem", "Method", "Stopping", "Kernel", "Comparison", "Product", "Machine", "Output", "Configuration"}) {
    for (const OptionSpec& spec : option_table()) {
      if (spec.group != heading || !uses(command, spec)) continue;
      if (group != heading) result += fmt::format("\n{}:\n", heading);
      group = heading;
      result += option_lines(spec);
    }
  }
  return result;
}

[[nodiscard]] std::string_view usage(Command command) {
  switch (command) {
    case Command::run:
      return "usage: solve [run] MATRIX [options]\n"
             "       solve --poisson3d N [options]\n"
             "       solve COMMAND --help\n";
    case Command::pagerank:
      return "usage: solve pagerank GRAPH [options]\n"
             "       solve --method pagerank GRAPH [options]\n"
             "       solve pagerank --powerlaw N [options]\n";
    case Command::compare:
      return "usage: solve compare MATRIX [options]\n"
             "       solve compare --poisson3d N --solvers cg [options]\n";
    case Command::inspect:
      return "usage: solve inspect MATRIX [options]\n"
             "       solve inspect --poisson3d N [options]\n";
    case Command::convert:
      return "usage: solve convert IN OUT [options]\n"
             "       solve convert --generate NAME:SIZE OUT [options]\n";
    case Command::spgemm:
      return "usage: solve spgemm A [B] [options]\n"
             "       solve spgemm --generate NAME:SIZE [B] [options]\n";
    case Command::doctor:
      return "usage: solve doctor [options]\n";
    case Command::completion:
      return "usage: solve completion bash|zsh\n";
    case Command::list:
      return "usage: solve list [methods|preconds|kernels|formats|generators] [options]\n";
  }
  return "";
}

[[nodiscard]] std::string_view examples(Command command) {
  switch (command) {
    case Command::run:
      return "  solve --poisson3d 64                           a first solve, no file needed\n"
             "  solve A.mtx                                    auto method; right-hand side A*ones\n"
             "  solve --method bicgstab A.mtx.gz --rtol 1e-10 -o x.mtx\n"
             "  solve A.mtx -b b.mtx --json | jq .result.status\n"
             "  solve A.mtx --history residuals.csv --max-time 5m\n";
    case Command::pagerank:
      return "  solve pagerank web.mtx --damping 0.85 --tol 1e-9 --norm l1 --top 10\n"
             "  solve --method pagerank web.mtx.gz -o ranks.mtx\n"
             "  solve pagerank --powerlaw 1e5 --tol-per-node 1e-8\n";
    case Command::compare:
      return "  solve compare A.mtx                            which kernel is best for this matrix?\n"
             "  solve compare A.mtx --kernels csr,merbit --solvers cg,bicgstab --rtol 1e-6\n"
             "  solve compare --powerlaw 1e5 --solvers pagerank --md -\n"
             "  solve compare A.mtx --json=before.json\n"
             "  solve compare A.mtx --baseline before.json --fail-if-slower 5%\n";
    case Command::inspect:
      return "  solve inspect A.mtx                            why is it slow, why does it not converge?\n"
             "  solve inspect A.mtx.gz --spy 32\n"
             "  solve inspect A.mtx --json | jq .advice\n";
    case Command::convert:
      return "  solve convert A.mtx.gz A.tsb                   then: solve A.tsb\n"
             "  solve convert A.tsb - | head                   Matrix Market text on standard output\n"
             "  solve convert --generate road:1e5 road.mtx.gz\n"
             "  solve convert --vector b.txt b.mtx\n";
    case Command::spgemm:
      return "  solve spgemm A.mtx A.mtx.gz --verify           A times another matrix, checked\n"
             "  solve spgemm A.mtx --power 3 -o A3.mtx\n"
             "  solve spgemm A.mtx --estimate hll --json | jq .products\n";
    case Command::doctor:
      return "  solve doctor\n  solve doctor --json\n";
    case Command::completion:
      return "  solve completion bash > ~/.local/share/bash-completion/completions/solve\n"
             "  solve completion zsh > ~/.zfunc/_solve         with fpath+=~/.zfunc before compinit\n";
    case Command::list:
      return "  solve list kernels\n  solve list --json\n";
  }
  return "";
}

[[nodiscard]] std::string_view exit_codes(Command command) {
  switch (command) {
    case Command::run:
    case Command::pagerank:
      return "  0 converged and verified    1 internal error        2 usage\n"
             "  3 iteration or time limit   4 breakdown, divergence, stagnation, not finite\n"
             "  5 bad input or output file  6 out of memory         7 no usable device\n"
             "  130, 143 interrupted (partial results are written)\n";
    case Command::compare:
      return "  0 measured    1 internal error    2 usage    5 bad input or output file\n"
             "  3, 4 a solve did not converge, as in run (--exit-zero: 0)\n"
             "  6 out of memory    7 no usable device\n"
             "  8 a kernel or a solve failed its check, or is slower than --fail-if-slower allows\n"
             "  130, 143 interrupted (what was measured is written)\n";
    case Command::inspect:
      return "  0 inspected    2 usage    5 bad input or output file    6 out of memory\n";
    case Command::convert:
      return "  0 written    2 usage    5 bad input, OUT exists or cannot be written    6 out of memory\n";
    case Command::spgemm:
      return "  0 multiplied    2 usage    5 bad input, sizes that do not fit, or output file\n"
             "  6 out of memory    8 --verify found the product wrong\n";
    case Command::doctor:
      return "  0 everything works    2 usage    8 the self-test failed\n";
    case Command::completion:
      return "  0 printed    2 usage\n";
    case Command::list:
      return "  0 listed    2 usage\n";
  }
  return "";
}

}  // namespace

std::string help_text(Command command) {
  std::string result(usage(command));
  result += fmt::format("\n{}: {}\n", to_string(command), describe(command));
  if (command == Command::run) {
    result += "MATRIX is a Matrix Market file, plain or gzip, or a binary file of solve convert.\n\nCommands:\n";
    for (const Command each : commands()) result += fmt::format("  {:<10}{}\n", to_string(each), describe(each));
  }
  result += option_section(command);
  result += fmt::format("\nExit codes:\n{}\nExamples:\n{}", exit_codes(command), examples(command));
  return result;
}

}  // namespace tessera::cli
