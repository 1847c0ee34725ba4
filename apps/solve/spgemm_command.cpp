#include "commands.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "option_values.hpp"
#include "options.hpp"
#include "outcome.hpp"
#include "outputs.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report_json.hpp"
#include "run_warnings.hpp"
#include "summary_text.hpp"

#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "support/system.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/error.hpp"
#include "tessera/spgemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

/// (A B) x against A (B x), for x with elements in [-1, 1).
struct MultiplyCheck {
  double error = 0.0;  ///< largest difference of an element over what rounding explains; passes up to 1
  [[nodiscard]] bool passed() const noexcept { return error <= 1.0; }
};

/// `matrix` of the base describes A.
struct MultiplyOutcome : CommonOutcome {
  std::optional<CommonOutcome> right;  ///< B, where there is one
  int power = 1;                       ///< 1: a product of two matrices
  index_t rows = 0;                    ///< of the result
  index_t cols = 0;
  offset_t nnz = 0;
  bool result_is_pattern = false;
  std::vector<SpgemmReport> products;  ///< in the order in which they were made
  std::optional<MultiplyCheck> check;
  double read_ms = 0.0;
  double multiply_ms = 0.0;  ///< on a GPU with the upload of the factors
  double download_ms = 0.0;  ///< of the result of a GPU
  double verify_ms = 0.0;
};

[[nodiscard]] std::string size_of(const CommonOutcome& outcome, std::size_t width) {
  const MatrixStatistics& m = outcome.matrix;
  return fmt::format("{}: {} x {}, {} nonzeros{}{}", shown_problem(outcome, width), m.rows, m.cols, m.nnz,
                     outcome.pattern ? ", pattern" : "", cache_text(outcome));
}

[[nodiscard]] std::string product_text(const SpgemmReport& report) {
  std::string text = line("sizes", fmt::format("{} ({})", to_string(report.workflow), report.reason));
  if (!report.fallback.empty()) text += line("", report.fallback);
  text += line("products", fmt::format("{}, {:.3g} per entry of C", report.products, report.compression()));
  std::string rows;
  for (const SpgemmAccumulatorUse& use : report.accumulators) {
    rows += fmt::format("{}{} {}", rows.empty() ? "" : ", ", to_string(use.accumulator), counted(use.rows, "row"));
  }
  if (report.overflow_rows > 0) rows += fmt::format("; {} overflowed", counted(report.overflow_rows, "row"));
  if (!rows.empty()) text += line("rows", rows);
  return text;
}

[[nodiscard]] Json report_json(const SpgemmReport& report) {
  Json json{{"workflow", to_string(report.workflow)}, {"reason", report.reason}};
  json["fallback"] = report.fallback.empty() ? Json(nullptr) : Json(report.fallback);
  json["products"] = report.products;
  json["nnz"] = report.nnz;
  json["expansion"] = report.expansion;
  json["compression"] = report.compression();
  json["sample"] = nullptr;
  if (report.sample) {
    json["sample"] = {{"rows", report.sample->rows},
                      {"compression", report.sample->compression},
                      {"relative_error", report.sample->relative_error}};
  }
  json["registers"] = report.registers;
  json["estimate_error"] = report.estimate_error;
  json["overflow_rows"] = report.overflow_rows;
  json["accumulators"] = Json::array();
  for (const SpgemmAccumulatorUse& use : report.accumulators) {
    json["accumulators"].push_back(
        {{"name", to_string(use.accumulator)}, {"rows", use.rows}, {"products", use.products}});
  }
  json["determinism"] = to_string(report.determinism);
  json["threads"] = report.threads;
  json["peak_bytes"] = report.peak_bytes;
  json["timings_ms"] = {{"upload", report.upload_ms},         {"analysis", report.analysis_ms},
                        {"sizing", report.sizing_ms},         {"numeric", report.numeric_ms},
                        {"compaction", report.compaction_ms}, {"total", report.total_ms}};
  return json;
}

[[nodiscard]] std::string multiply_text(const MultiplyOutcome& outcome, std::size_t width) {
  std::string text = line("A", size_of(outcome, width));
  if (outcome.right) text += line("B", size_of(*outcome.right, width));
  for (const SpgemmReport& report : outcome.products) text += product_text(report);
  const std::string what = outcome.right ? "A B" : fmt::format("A^{}", outcome.power);
  text += line("result", fmt::format("{}: {} x {}, {} nonzeros{}", what, outcome.rows, outcome.cols, outcome.nnz,
                                     outcome.result_is_pattern ? ", pattern" : ""));
  if (outcome.check) {
    text += line("check", fmt::format("{}: |(AB)x - A(Bx)| is {:.2g} % of the rounding bound",
                                      outcome.check->passed() ? "passed" : "failed", 100.0 * outcome.check->error));
  }
  std::string times = fmt::format("read {}, multiply {}", time_text(outcome.read_ms), time_text(outcome.multiply_ms));
  if (outcome.download_ms > 0.0) times += fmt::format(", download {}", time_text(outcome.download_ms));
  if (outcome.check) times += fmt::format(", check {}", time_text(outcome.verify_ms));
  return text + line("time", times);
}

[[nodiscard]] Json multiply_json(const MultiplyOutcome& outcome, const Options& options, const Invocation& invocation,
                                 ExitCode code) {
  Json json = document_head("solve.spgemm/1", invocation);
  put_machine(json, outcome);
  json["config"] = config_json(options);
  json["matrix"] = matrix_json(outcome);
  json["right"] = outcome.right ? matrix_json(*outcome.right) : Json(nullptr);
  json["power"] = outcome.right ? Json(nullptr) : Json(outcome.power);
  json["products"] = Json::array();
  for (const SpgemmReport& report : outcome.products) json["products"].push_back(report_json(report));
  json["check"] = nullptr;
  if (outcome.check) json["check"] = {{"passed", outcome.check->passed()}, {"error_over_bound", outcome.check->error}};
  json["result"] = {{"status", outcome.check && !outcome.check->passed() ? "wrong" : "multiplied"},
                    {"rows", outcome.rows},
                    {"cols", outcome.cols},
                    {"nnz", outcome.nnz},
                    {"pattern", outcome.result_is_pattern},
                    {"exit_code", static_cast<int>(code)}};
  json["timings_ms"] = {{"read", outcome.read_ms},
                        {"multiply", outcome.multiply_ms},
                        {"download", outcome.download_ms},
                        {"verify", outcome.verify_ms},
                        {"write", outcome.write_ms}};
  json["warnings"] = warnings_json(outcome.warnings);
  return json;
}

struct SpgemmSettings {
  ProblemSettings left;
  std::optional<ProblemSettings> right;
  int power = 2;  ///< of A alone
  MachineSettings machine;
  OutputSettings output;
  SpgemmOptions product;
  bool verify = false;
};

constexpr std::int64_t largest_power = 1'000'000;

/// A is a file or generated; B a file, behind A where A is one.
void take_factors(const Options& options, SpgemmSettings& settings) {
  std::vector<std::string> words = options.words();
  std::vector<std::string> left;
  if (!generates_matrix(options) && !words.empty()) {
    left.push_back(words.front());
    words.erase(words.begin());
  }
  settings.left = problem_settings(options, left);
  if (words.size() > 1) {
    throw UsageError(
        fmt::format("spgemm multiplies A by one matrix B, found {}: {}", words.size(), fmt::join(words, ", ")));
  }
  if (words.empty()) return;
  if (options.given("power")) throw UsageError("--power is that of one matrix, found B as well: " + words.front());
  settings.right = file_settings(options, words.front());
}

[[nodiscard]] SpgemmSettings spgemm_settings(const Options& options) {
  SpgemmSettings result;
  take_factors(options, result);
  result.machine = machine_settings(options);
  result.output = output_settings(options);
  if (options.given("power")) result.power = static_cast<int>(count_option(options, "power", 0, largest_power));
  std::vector<std::string_view> names{to_string(SpgemmWorkflow::automatic)};
  for (const SpgemmWorkflow workflow : spgemm_workflows()) names.push_back(to_string(workflow));
  result.product.workflow = parse_spgemm_workflow(names[choose(options, "estimate", names)]);
  std::vector<std::string_view> accumulators{to_string(SpgemmAccumulator::automatic)};
  for (const auto name : spgemm_accumulators(Device::Kind::cuda)) accumulators.push_back(to_string(name));
  result.product.accumulator = parse_spgemm_accumulator(accumulators[choose(options, "accumulator", accumulators)]);
  result.product.determinism = determinism_setting(options);
  result.product.memory_limit_bytes = result.machine.memory_limit_bytes;
  result.product.device = result.machine.device;
  result.verify = options.flag("verify");
  return result;
}

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

/// Largest |C x - A (... (A x))| over its bound. Every one of the `factors` products sums at most `longest` terms of T
/// an entry and, applied to x, at most as many again in double.
template <class T>
[[nodiscard]] MultiplyCheck check_result(const CsrView<T>& c, const CheckedVector& x, const CheckedVector& expected,
                                         int factors, double longest) {
  const CheckedVector found = multiply(c, x);
  const auto unit = static_cast<double>(std::numeric_limits<T>::epsilon());
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
  const int factors = settings.right ? 2 : settings.power;
  CheckedVector expected = start;
  for (int k = 0; k < factors; ++k) {
    expected = multiply(settings.right && k == 0 ? b.view() : a.view(), expected);
    stop_if_interrupted();
  }
  outcome.check = check_result(c.view(), start, expected, factors, longest_sum(a.view(), c.view()));
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
void write_result(const std::string& path, const CsrView<T>& matrix) {
  if (path.ends_with(".tsb")) {
    write_binary(path, matrix);
  } else {
    write_matrix_market(path == "-" ? "/dev/stdout" : path, matrix);
  }
}

template <class T>
[[nodiscard]] Csr<T> multiply_factors(const SpgemmSettings& settings, const SpgemmOptions& options, const Csr<T>& a,
                                      const Csr<T>& b, MultiplyOutcome& outcome) {
  if (settings.right) {
    SpgemmResult<T> product = spgemm(a, b, options);
    outcome.products.push_back(std::move(product.report));
    return std::move(product.matrix);
  }
  MatrixPower<T> power = matrix_power(a, settings.power, options);
  outcome.products = std::move(power.products);
  return std::move(power.matrix);
}

template <class T>
[[nodiscard]] ExitCode run_product(const SpgemmSettings& settings, const Options& options, const Invocation& invocation,
                                   Progress& progress) {
  MultiplyOutcome outcome;
  const InputMatrix<T> left = load<T>(settings, settings.left, progress, outcome);
  InputMatrix<T> right;
  outcome.read_ms = left.read_ms;
  if (settings.right) {
    outcome.right.emplace();
    right = load<T>(settings, *settings.right, progress, *outcome.right);
    outcome.read_ms += right.read_ms;
    const Warnings& warnings = outcome.right->warnings;
    outcome.warnings.insert(outcome.warnings.end(), warnings.begin(), warnings.end());
  }
  const Csr<T>& a = *left.matrix;
  const Csr<T>& b = settings.right ? *right.matrix : a;
  outcome.power = settings.right ? 1 : settings.power;
  const std::uint64_t factor_bytes = a.bytes() + (settings.right ? b.bytes() : 0);
  const std::uint64_t limit = settings.machine.memory_limit_bytes;
  support::require_memory(limit, factor_bytes, 1, "the product");
  SpgemmOptions product = settings.product;
  if (limit != 0) product.memory_limit_bytes = limit - factor_bytes;
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

ExitCode spgemm_command(const Options& options, const Invocation& invocation) {
  const SpgemmSettings settings = spgemm_settings(options);
  if (settings.right && settings.left.name == "-" && settings.right->name == "-") {
    throw UsageError("standard input holds one matrix, A and B are two");
  }
  check_outputs(settings.output,
                input_files(options, settings.left, {settings.right ? settings.right->path : std::string()}));
  Progress progress(options, settings.output, settings.machine);
  return settings.machine.precision == Precision::fp64 ? run_product<double>(settings, options, invocation, progress)
                                                       : run_product<float>(settings, options, invocation, progress);
}

}  // namespace tessera::cli
