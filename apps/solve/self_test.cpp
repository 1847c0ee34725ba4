#include "self_test.hpp"

#include "compare/candidate.hpp"
#include "compare/gate.hpp"
#include "compare/oracle.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/csr.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <system_error>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

/// Rows of all lengths, a hub that holds a third of the matrix, powers of two and empty rows; rows that repeat.
constexpr const char* families[] = {"rowskew", "mawi", "rmat", "lap2d"};
constexpr std::int64_t rows = 3000;

/// What the products of one kernel have shown so far.
struct KernelFindings {
  std::int64_t products = 0;
  double worst = 0.0;
  std::string failure;
  std::string refusal;
};

template <class T>
void check_matrix(const std::string& family, ValueStorage storage, const std::vector<compare::Candidate<T>>& candidates,
                  std::map<std::string, KernelFindings>& findings) {
  const auto matrix = std::make_shared<const Csr<T>>(generate<T>(GeneratorSpec{family, rows}, storage));
  std::vector<T> x(static_cast<std::size_t>(matrix->cols()));
  for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<T>(1.0 / static_cast<double>(j % 97 + 1));
  const compare::ProductOracle oracle = compare::product_oracle<T>(matrix->view(), x);
  for (const compare::Candidate<T>& candidate : candidates) {
    KernelFindings& found = findings[candidate.name];
    found.refusal = candidate.unavailable;
    if (!found.failure.empty() || !found.refusal.empty()) continue;
    compare::Verdict verdict;
    try {
      verdict = compare::check_products<T>(candidate.plan(matrix), x, oracle);
    } catch (const NotSupported&) {  // the kernel is for other matrices; one of the families has them
      continue;
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
void check_matrices(const Device& device, std::map<std::string, KernelFindings>& findings) {
  const auto candidates = compare::registered_candidates<T>(device);
  for (const char* family : families) {
    for (const ValueStorage storage : {ValueStorage::weighted, ValueStorage::pattern}) {
      check_matrix<T>(family, storage, candidates, findings);
    }
  }
}

/// Holds the products of every kernel of the device, both precisions, weighted and pattern, plain and dual-buffered,
/// against long double on matrices with empty, short and very long rows.
[[nodiscard]] std::vector<Check> product_checks(const Device& device) {
  std::map<std::string, KernelFindings> findings;
  try {
    check_matrices<double>(device, findings);
    check_matrices<float>(device, findings);
  } catch (const std::exception& error) {
    return {{fmt::format("products on {}", device.name()), false, false, error.what()}};
  }
  std::vector<Check> checks;
  for (const auto& [kernel, found] : findings) {
    const bool passed = found.failure.empty() && (found.products > 0 || !found.refusal.empty());
    Check check{fmt::format("products, kernel {} on {}", kernel, device.name()), passed, false, {}};
    if (!found.refusal.empty()) {
      check.skipped = true;
      check.detail = fmt::format("skipped: {}", found.refusal);
    } else if (!check.passed) {
      check.detail = found.failure.empty() ? "it refused every matrix" : found.failure;
    } else {
      check.detail =
          fmt::format("{} matrices, worst error {:.2f} of what rounding allows", found.products, found.worst);
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

[[nodiscard]] double distance_to(std::span<const double> values, double expected) {
  double largest = 0.0;
  for (const double value : values) {
    const double distance = std::fabs(value - expected);
    if (!(distance <= largest)) largest = distance;
  }
  return largest;
}

/// A x = A*ones on a 32 x 32 grid. The condition number is below 1e3, so rtol 1e-10 leaves an error well below 1e-6.
[[nodiscard]] Check poisson_check(const std::shared_ptr<const Csr<double>>& matrix, SpmvAlgorithm algorithm,
                                  const Device& device) {
  Check check{fmt::format("poisson2d 32, cg, kernel {} on {}", to_string(algorithm), device.name()), false, false, {}};
  try {
    SpmvOptions spmv;
    spmv.algorithm = algorithm;
    spmv.device = device;
    const SpmvPlan<double> A(matrix, spmv);
    const auto ones = Array<double>::copy_of(std::vector<double>(static_cast<std::size_t>(A.cols()), 1.0), device);
    Array<double> b(A.rows(), Init::none, device);
    A.apply(ones.span(), b.span());
    Array<double> x(A.rows(), Init::zero, device);
    SolverOptions options;
    options.relative_tolerance = 1e-10;
    const SolveReport report = cg<double>(A, b.span(), x.span(), options);
    const double error = distance_to(x.to(Device{}).span(), 1.0);
    constexpr double allowed = 1e-6;
    check.passed = report.converged() && error <= allowed;
    check.detail =
        fmt::format("{} after {} iterations, error {:.1e}", to_string(report.status), report.iterations, error);
  } catch (const NotSupported& error) {  // a library is missing
    check.passed = check.skipped = true;
    check.detail = fmt::format("skipped: {}", error.what());
  } catch (const std::exception& error) {
    check.detail = error.what();
  }
  return check;
}

[[nodiscard]] Check cycle_check(const Device& device) {
  Check check{fmt::format("pagerank of a cycle of 4 on {}", device.name()), false, false, {}};
  try {
    constexpr std::array<offset_t, 5> offsets{0, 1, 2, 3, 4};
    constexpr std::array<index_t, 4> columns{1, 2, 3, 0};
    const auto graph = Csr<double>::pattern(4, 4, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns));
    const TransitionMatrix<double> transition(graph.view());
    PageRankOptions options;
    options.spmv.device = device;
    const PageRankResult<double> result = pagerank(transition, options);
    const double error = distance_to(result.ranks.span(), 0.25);
    constexpr double allowed = 1e-12;
    check.passed = result.converged() && error <= allowed;
    check.detail = fmt::format("{}, error {:.1e}", to_string(result.status), error);
  } catch (const std::exception& error) {
    check.detail = error.what();
  }
  return check;
}

/// What one thread computes, all of them compute.
[[nodiscard]] Check threads_check(const std::shared_ptr<const Csr<double>>& matrix, const Device& device) {
  Check check{fmt::format("1 and {} threads agree bit by bit", device.threads()), false, false, {}};
  try {
    SpmvOptions options;
    options.algorithm = SpmvAlgorithm::csr;
    std::vector<double> x(static_cast<std::size_t>(matrix->cols()));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0 / static_cast<double>(i + 3);
    std::vector<double> alone(x.size());
    std::vector<double> together(x.size());
    options.device = Device::host(1);
    SpmvPlan<double>(matrix, options).apply(x, alone);
    options.device = device;
    SpmvPlan<double>(matrix, options).apply(x, together);
    check.passed = alone == together;
    check.detail = check.passed ? "equal" : "different";
  } catch (const std::exception& error) {
    check.detail = error.what();
  }
  return check;
}

/// A file that vanishes with its object.
struct TemporaryFile {
  std::filesystem::path path;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

[[nodiscard]] Check binary_check(const Csr<double>& matrix) {
  Check check{"binary file, written and read", false, false, {}};
  try {
    const TemporaryFile file{std::filesystem::temp_directory_path() /
                             fmt::format("tessera-doctor-{}.tsb", static_cast<long>(::getpid()))};
    write_binary(file.path, matrix.view());
    const MatrixMarketMatrix<double> back = read_binary<double>(file.path);
    const CsrView<double> a = matrix.view();
    const CsrView<double> b = back.matrix.view();
    check.passed = a.rows == b.rows && a.cols == b.cols &&
                   std::equal(a.row_offsets.begin(), a.row_offsets.end(), b.row_offsets.begin(), b.row_offsets.end()) &&
                   std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end()) &&
                   std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end());
    check.detail = check.passed ? fmt::format("{} bytes, equal", std::filesystem::file_size(file.path)) : "different";
  } catch (const std::exception& error) {
    check.detail = error.what();
  }
  return check;
}

}  // namespace

std::vector<Check> self_test(const Device& device) {
  std::vector<Check> checks = product_checks(device);
  constexpr std::int64_t side = 32;
  constexpr std::int64_t large = 128;
  try {
    const auto matrix = std::make_shared<const Csr<double>>(poisson2d<double>(side, side));
    for (const SpmvAlgorithm algorithm : spmv_algorithms(device)) {
      checks.push_back(poisson_check(matrix, algorithm, device));
    }
    if (device.is_host()) {
      // Long enough for the loops to be shared out.
      checks.push_back(threads_check(std::make_shared<const Csr<double>>(poisson2d<double>(large, large)), device));
      checks.push_back(binary_check(*matrix));
    }
  } catch (const std::exception& error) {
    checks.push_back({"poisson2d 32", false, false, error.what()});
  }
  checks.push_back(cycle_check(device));
  return checks;
}

}  // namespace tessera::cli
