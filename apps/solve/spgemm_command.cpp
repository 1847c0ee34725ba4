#include "spgemm_command.hpp"
#include "commands.hpp"
#include "dry_run.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "outputs.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report_json.hpp"
#include "run_warnings.hpp"

#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "support/system.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

/// y = M x, and |M| |x| beside it.
struct CheckedVector {
  std::vector<double> value;
  std::vector<double> magnitude;
};

template <class T>
[[nodiscard]] CheckedVector multiply(const CsrView<T>& m, const CheckedVector& x) {
  const auto rows = static_cast<std::size_t>(m.rows);
  CheckedVector y{std::vector<double>(rows), std::vector<double>(rows)};
  for (std::size_t i = 0; i < rows; ++i) {
    for (offset_t k = m.row_offsets[i]; k < m.row_offsets[i + 1]; ++k) {
      const auto j = static_cast<std::size_t>(m.columns[static_cast<std::size_t>(k)]);
      const auto value = static_cast<double>(m.value(k));
      y.value[i] += value * x.value[j];
      y.magnitude[i] += std::fabs(value) * x.magnitude[j];
    }
  }
  return y;
}

/// By how much values and sums may be rounded, relative. In half precision values lose the most, those near 0 more than
/// 2^-11 of theirs.
template <class T>
[[nodiscard]] double rounding_unit(const std::vector<SpgemmReport>& products) {
  auto unit = static_cast<double>(std::numeric_limits<T>::epsilon());
  for (const SpgemmReport& report : products) {
    if (report.precision == SpgemmPrecision::working) continue;
    unit = std::max({unit, static_cast<double>(std::numeric_limits<float>::epsilon()),
                     2.0 * report.loss.value_or(SpgemmLoss{}).largest_rounding});
  }
  return unit;
}

/// Largest |C x - A (... (A x))| over its bound. Every one of the `factors` products sums at most `longest` terms an
/// entry, each rounded by `unit`, and, applied to x, at most as many again in double.
template <class T>
[[nodiscard]] MultiplyCheck check_result(const CsrView<T>& c, const CheckedVector& x, const CheckedVector& expected,
                                         int factors, double longest, double unit) {
  const CheckedVector found = multiply(c, x);
  const double bound = unit * (2.0 * factors + 2.0) * (longest + 2.0);
  MultiplyCheck result;
  for (std::size_t i = 0; i < found.value.size(); ++i) {
    const double difference = std::fabs(found.value[i] - expected.value[i]);
    if (difference == 0.0) continue;
    const double ratio = difference / (bound * expected.magnitude[i]);
    result.error = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : std::max(result.error, ratio);
  }
  return result;
}

template <class T>
[[nodiscard]] double longest_sum(const CsrView<T>& a, const CsrView<T>& c) {
  offset_t longest = 0;
  for (const auto& offsets : {a.row_offsets, c.row_offsets}) {
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) longest = std::max(longest, offsets[i + 1] - offsets[i]);
  }
  return static_cast<double>(longest);
}

template <class T>
void verify(const SpgemmSettings& settings, const Csr<T>& a, const Csr<T>& b, const Csr<T>& c,
            MultiplyOutcome& outcome) {
  const Stopwatch timer;
  const std::vector<double> x = support::random_vector<double>(c.cols(), settings.machine.seed);
  CheckedVector start{x, x};
  for (double& element : start.magnitude) element = std::fabs(element);
  const int factors = settings.has_two_factors() ? 2 : settings.power;
  CheckedVector expected = start;
  for (int k = 0; k < factors; ++k) {
    expected = multiply(settings.has_two_factors() && k == 0 ? b.view() : a.view(), expected);
    stop_if_interrupted();
  }
  outcome.check = check_result(c.view(), start, expected, factors, longest_sum(a.view(), c.view()),
                               rounding_unit<T>(outcome.products));
  outcome.verify_ms = timer.milliseconds();
}

template <class T>
[[nodiscard]] InputMatrix<T> load(const SpgemmSettings& settings, const ProblemSettings& problem, Progress& progress,
                                  CommonOutcome& outcome) {
  progress.phase(loading_text(problem));
  InputMatrix<T> loaded = load_input<T>(problem, settings.machine);
  stop_if_interrupted();
  report_input(problem, settings.machine, loaded, outcome);
  outcome.matrix = statistics(loaded.matrix->view(), settings.machine.host);
  warn_about_cache(outcome, outcome.warnings);
  warn_about_duplicates(outcome, outcome.warnings);
  warn_about_rounding(outcome, outcome.warnings);
  return loaded;
}

template <class T>
struct Factors {
  std::shared_ptr<const Csr<T>> left;
  std::shared_ptr<const Csr<T>> right;  ///< null: a power of the left one
};

/// A beside its transpose, which is read once.
template <class T>
[[nodiscard]] Factors<T> with_transpose(const SpgemmSettings& settings, const InputMatrix<T>& input,
                                        MultiplyOutcome& outcome) {
  const Stopwatch timer;
  const auto mirrored = std::make_shared<const Csr<T>>(transposed(*input.matrix, settings.left.name, settings.machine));
  outcome.read_ms += timer.milliseconds();
  outcome.right = static_cast<const CommonOutcome&>(outcome);
  outcome.right->warnings.clear();
  const bool left = settings.transposed == Factor::left;
  CommonOutcome& described = left ? outcome : *outcome.right;
  described.transposed = true;
  described.matrix = statistics(mirrored->view(), settings.machine.host);
  return left ? Factors<T>{mirrored, input.matrix} : Factors<T>{input.matrix, mirrored};
}

template <class T>
[[nodiscard]] Factors<T> load_factors(const SpgemmSettings& settings, Progress& progress, MultiplyOutcome& outcome) {
  const InputMatrix<T> left = load<T>(settings, settings.left, progress, outcome);
  outcome.read_ms = left.read_ms;
  if (!settings.right) {
    return settings.has_two_factors() ? with_transpose(settings, left, outcome) : Factors<T>{left.matrix, nullptr};
  }
  outcome.right.emplace();
  const InputMatrix<T> right = load<T>(settings, *settings.right, progress, *outcome.right);
  outcome.read_ms += right.read_ms;
  const Warnings& warnings = outcome.right->warnings;
  outcome.warnings.insert(outcome.warnings.end(), warnings.begin(), warnings.end());
  return {left.matrix, right.matrix};
}

template <class T>
void write_result(const std::string& path, const CsrView<T>& matrix) {
  if (path.ends_with(".tsb")) {
    write_binary(path, matrix);
  } else if (path == "-") {
    write_through_stdout([&] { write_matrix_market("/dev/stdout", matrix); });
  } else {
    write_matrix_market(path, matrix);
  }
}

template <class T>
[[nodiscard]] Csr<T> multiply_factors(const SpgemmSettings& settings, const SpgemmOptions& options, const Csr<T>& a,
                                      const Csr<T>& b, MultiplyOutcome& outcome) {
  if (settings.has_two_factors()) {
    SpgemmResult<T> product = spgemm(a, b, options);
    if (outcome.prediction) product.report.predicted_nnz = outcome.prediction->products.front().nnz.value;
    outcome.products.push_back(std::move(product.report));
    return std::move(product.matrix);
  }
  MatrixPower<T> power = matrix_power(a, settings.power, options);
  outcome.products = std::move(power.products);
  outcome.order = std::move(power.order);
  outcome.order_reason = std::move(power.reason);
  if (outcome.prediction && settings.power == 2) {
    outcome.products.front().predicted_nnz = outcome.prediction->products.front().nnz.value;
  }
  return std::move(power.matrix);
}

template <class T>
[[nodiscard]] ExitCode run_product(const SpgemmSettings& settings, const Options& options, const Invocation& invocation,
                                   Progress& progress) {
  MultiplyOutcome outcome;
  const Factors<T> factors = load_factors<T>(settings, progress, outcome);
  const Csr<T>& a = *factors.left;
  const Csr<T>& b = factors.right ? *factors.right : a;
  outcome.power = factors.right ? 1 : settings.power;
  const std::uint64_t factor_bytes = a.bytes() + (factors.right ? b.bytes() : 0);
  const std::uint64_t limit = settings.machine.memory_limit_bytes;
  support::require_memory(limit, factor_bytes, 1, "the product");
  SpgemmOptions product = settings.product;
  if (limit != 0) product.memory_limit_bytes = limit - factor_bytes;
  if (settings.predict) {
    progress.phase("predicting");
    outcome.prediction = predict_product(settings, a, b);
  }
  progress.phase("multiplying");
  const Stopwatch timer;
  Csr<T> c = multiply_factors(settings, product, a, b, outcome);
  outcome.multiply_ms = timer.milliseconds();
  if (!c.device().is_host()) {
    const Stopwatch downloading;
    c = c.to(Device{});
    outcome.download_ms = downloading.milliseconds();
  }
  outcome.rows = c.rows();
  outcome.cols = c.cols();
  outcome.nnz = c.nnz();
  outcome.result_is_pattern = c.is_pattern();
  const bool finite = outcome.matrix.not_finite == 0 && (!outcome.right || outcome.right->matrix.not_finite == 0);
  if (finite) warn_about_overflow(c.view(), outcome.warnings);
  stop_if_interrupted();
  if (settings.verify) {
    progress.phase("checking");
    // x, |x|, two vectors of values and magnitudes before and after a product, and those of C x.
    constexpr std::uint64_t checked_vectors = 9;
    const auto longest = static_cast<std::uint64_t>(std::max({a.rows(), c.rows(), c.cols(), b.rows()}));
    support::require_memory(limit, factor_bytes + c.bytes(), checked_vectors * longest * sizeof(double), "the check");
    verify(settings, a, b, c, outcome);
  }
  progress.conclude(outcome.warnings);

  Deliverables results;
  results.write_vector = [&](const std::string& path) {
    const Stopwatch writing;
    write_result(path, c.view());
    outcome.write_ms = writing.milliseconds();
  };
  results.summary = [&] { return multiply_text(outcome, settings.output.width); };
  results.json = [&](ExitCode code) { return document_text(multiply_json(outcome, options, invocation, code)); };
  const bool wrong = outcome.check && !outcome.check->passed();
  return deliver(settings.output, wrong ? ExitCode::verification_failed : ExitCode::success, results);
}

}  // namespace

template <class T>
ChainPrediction predict_product(const SpgemmSettings& settings, const Csr<T>& a, const Csr<T>& b) {
  const Device& device = settings.product.device;
  if (!settings.has_two_factors() && settings.power > 2) return predict_power(a, settings.power, device);
  const Stopwatch watch;
  ChainPrediction result;
  result.products.push_back(predict(a, b, device));
  result.order = result.products.front().name = settings.has_two_factors() ? "A B" : "A A";
  result.reason = "two factors have one order";
  result.predict_ms = watch.milliseconds();
  return result;
}

template ChainPrediction predict_product(const SpgemmSettings&, const Csr<float>&, const Csr<float>&);
template ChainPrediction predict_product(const SpgemmSettings&, const Csr<double>&, const Csr<double>&);

ExitCode spgemm_command(const Options& options, const Invocation& invocation) {
  const SpgemmSettings settings = spgemm_settings(options);
  if (settings.right && settings.left.name == "-" && settings.right->name == "-") {
    throw UsageError("standard input holds one matrix, A and B are two");
  }
  check_outputs(settings.output,
                input_files(options, settings.left, {settings.right ? settings.right->path : std::string()}));
  if (options.flag("dry-run")) return forecast_spgemm(settings, options, invocation);
  Progress progress(options, settings.output, settings.machine);
  return settings.machine.precision == Precision::fp64 ? run_product<double>(settings, options, invocation, progress)
                                                       : run_product<float>(settings, options, invocation, progress);
}

}  // namespace tessera::cli
