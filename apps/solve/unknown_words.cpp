// Words that are no options of this version: those of other tools, and those that are planned.
#include "option_table.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::cli {

namespace {

constexpr std::string_view planned =
    " --reorder --scale --index --graph --events --debug --from-petsc --from-amgx --from-scipy --from-ginkgo --return "
    "precond=ainv replace-residual=never ";

/// Spellings of PETSc, SciPy, Ginkgo and common benchmarks.
constexpr auto foreign_names = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"--tolerance", "--rtol"},
    {"--eps", "--rtol"},
    {"--rel-tol", "--rtol"},
    {"--abs-tol", "--atol"},
    {"--maxiter", "--max-iters"},
    {"--maxit", "--max-iters"},
    {"--max-it", "--max-iters"},
    {"--max-iter", "--max-iters"},
    {"--max-iterations", "--max-iters"},
    {"--iterations", "--max-iters"},
    {"--solver", "--method"},
    {"--preconditioner", "--precond"},
    {"--pc", "--precond"},
    {"--kernel", "--spmv"},
    {"--out", "--output"},
    {"--html", "--report"},
    {"--b", "--rhs"},
    {"--right-hand-side", "--rhs"},
    {"--nthreads", "--threads"},
    {"--num-threads", "--threads"},
    {"--dtype", "--precision"},
    {"-t", "--threads"},
    {"-j", "--threads"},
});

}  // namespace

std::string_view option_for_foreign_name(Command command, std::string_view option) {
  for (const auto& [foreign, name] : foreign_names) {
    if (foreign != option) continue;
    return name == "--rtol" && ranks_vertices(command) ? "--tol" : name;
  }
  return {};
}

bool is_planned(std::string_view word) {
  return word.find(' ') == std::string_view::npos && planned.find(" " + std::string(word) + " ") != std::string::npos;
}

}  // namespace tessera::cli
