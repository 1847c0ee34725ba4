#include "compare/candidate.hpp"
#include "compare/gate.hpp"
#include "compare/oracle.hpp"
#include "self_test.hpp"

#include "tessera/csr.hpp"
#include "tessera/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

/// Rows of all lengths, a hub that holds a third of the matrix, powers of two and empty rows.
constexpr const char* families[] = {"rowskew", "mawi", "rmat"};
constexpr std::int64_t rows = 3000;

/// What became of one kernel so far.
struct Findings {
  std::int64_t products = 0;
  double worst = 0.0;
  std::string failure;
  std::string refusal;
};

template <class T>
void check_matrix(const std::string& family, ValueStorage storage, const std::vector<compare::Candidate<T>>& candidates,
                  std::map<std::string, Findings>& findings) {
  const auto matrix = std::make_shared<const Csr<T>>(generate<T>(GeneratorSpec{family, rows}, storage));
  std::vector<T> x(static_cast<std::size_t>(matrix->cols()));
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<T>(1.0 / static_cast<double>(j % 97 + 1));
  const compare::ProductOracle oracle = compare::product_oracle<T>(matrix->view(), x);
  for (const compare::Candidate<T>& candidate : candidates) {
    Findings& found = findings[candidate.name];
    found.refusal = candidate.unavailable;
    if (!found.failure.empty() || !found.refusal.empty()) continue;
    compare::Verdict verdict;
    try {
      verdict = compare::check_products<T>(candidate.plan(matrix), x, oracle);
    } catch (const std::exception& error) {
      verdict.reason = error.what();
    }
    ++found.products;
    found.worst = std::max(found.worst, verdict.error_over_bound);
    if (!verdict.passed) {
      found.failure = fmt::format("{} {} in {}: {}", family, storage == ValueStorage::pattern ? "pattern" : "weighted",
                                  sizeof(T) == sizeof(double) ? "fp64" : "fp32", verdict.reason);
    }
  }
}

template <class T>
void check_matrices(const Device& device, std::map<std::string, Findings>& findings) {
  const auto candidates = compare::registered_candidates<T>(device);
  for (const char* family : families) {
    for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
      check_matrix<T>(family, storage, candidates, findings);
    }
  }
}

}  // namespace

std::vector<Check> product_checks(const Device& device) {
  std::map<std::string, Findings> findings;
  try {
    check_matrices<double>(device, findings);
    check_matrices<float>(device, findings);
  } catch (const std::exception& error) {
    return {{fmt::format("products on {}", device.name()), false, false, error.what()}};
  }
  std::vector<Check> checks;
  for (const auto& [kernel, found] : findings) {
    Check check{fmt::format("products, kernel {} on {}", kernel, device.name()), found.failure.empty(), false, {}};
    if (!found.refusal.empty()) {
      check.skipped = true;
      check.detail = fmt::format("skipped: {}", found.refusal);
    } else if (!check.passed) {
      check.detail = found.failure;
    } else {
      check.detail =
          fmt::format("{} matrices, worst error {:.2f} of what rounding allows", found.products, found.worst);
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace tessera::cli
