#include "spgemm_command.hpp"
#include "commands.hpp"
#include "dry_run.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "outputs.hpp"
#include "problem.hpp"
#include "product_check.hpp"
#include "progress.hpp"
#include "report_json.hpp"
#include "run_warnings.hpp"

#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "support/system.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/keep.hpp"
#include "tessera/spgemm_slices.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tessera::cli {

namespace {

template <class T>
[[nodiscard]] InputMatrix<T> load(const SpgemmSettings& settings, const ProblemSettings& problem, Progress& progress,
                                  CommonOutcome& outcome) {
  progress.phase(loading_text(problem));
  InputMatrix<T> loaded = load_input<T>(problem, settings.machine);
  stop_if_interrupted();
  report_input(problem, settings.machine, loaded, outcome);
  describe_matrix(loaded.matrix->view(), settings.output, settings.machine.host, outcome);
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
  describe_matrix(mirrored->view(), settings.output, settings.machine.host, described);
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

/// A product of two factors goes to a binary file slice by slice; others have to be whole.
template <class T>
[[nodiscard]] bool may_be_sliced(const SpgemmSettings& settings, const Csr<T>& a) {
  const auto& path = settings.output.vector;
  const bool one_product = settings.has_two_factors() || (settings.power == 2 && a.rows() == a.cols());
  return one_product && settings.product.precision == SpgemmPrecision::working && (!path || path->ends_with(".tsb"));
}

/// What happens to a product: it is checked, filtered and, in slices, written.
template <class T>
class ProductRun {
 public:
  ProductRun(const SpgemmSettings& settings, const Csr<T>& a, const Csr<T>& b, Progress& progress,
             MultiplyOutcome& outcome)
      : settings_(settings), a_(a), b_(b), progress_(progress), outcome_(outcome) {
    const bool finite = outcome.matrix.not_finite == 0 && (!outcome.right || outcome.right->matrix.not_finite == 0);
    if (finite) overflow_.emplace();
  }

  void run(const SpgemmOptions& options) {
    const Stopwatch timer;
    outcome_.rows = a_.rows();
    outcome_.cols = b_.cols();
    if (may_be_sliced(settings_, a_)) {
      SlicedReport report = spgemm_sliced(a_, b_, options, [&](SpgemmSlice<T> slice) { take(std::move(slice)); });
      outcome_.products = {report.product};
      if (report.slices.size() > 1) outcome_.sliced = std::move(report);
    } else {
      form_whole(options);
    }
    outcome_.multiply_ms = timer.milliseconds() - outcome_.download_ms - outcome_.verify_ms - outcome_.write_ms;
    const bool is_one = settings_.has_two_factors() || settings_.power == 2;
    if (outcome_.prediction && is_one) {
      outcome_.products.front().predicted_nnz = outcome_.prediction->products.front().nnz.value;
    }
    if (check_) outcome_.check = check_->result();
    if (overflow_) overflow_->warn(outcome_.warnings);
  }

  /// The file appears.
  void write(const std::string& path) {
    const Stopwatch timer;
    if (writer_) {
      writer_->finish();
    } else {
      write_result(path, whole_.view());
    }
    outcome_.write_ms += timer.milliseconds();
  }

 private:
  void form_whole(const SpgemmOptions& options) {
    Csr<T> c;
    if (settings_.has_two_factors()) {
      SpgemmResult<T> product = spgemm(a_, b_, options);
      outcome_.products.push_back(std::move(product.report));
      c = std::move(product.matrix);
      filter(c, 0);
    } else if (settings_.keep) {
      FilteredPower<T> power = matrix_power(a_, settings_.power, *settings_.keep, options);
      outcome_.products = std::move(power.products);
      outcome_.dropped = std::move(power.dropped);
      c = std::move(power.matrix);
    } else {
      MatrixPower<T> power = matrix_power(a_, settings_.power, options);
      outcome_.products = std::move(power.products);
      outcome_.order = std::move(power.order);
      outcome_.order_reason = std::move(power.reason);
      c = std::move(power.matrix);
    }
    whole_ = on_host(std::move(c));
    account(whole_.view(), 0);
  }

  void take(SpgemmSlice<T> slice) {
    stop_if_interrupted();
    filter(slice.matrix, slice.first_row);
    Csr<T> rows = on_host(std::move(slice.matrix));
    account(rows.view(), slice.first_row);
    if (slice.first_row == 0 && rows.rows() == a_.rows()) {
      whole_ = std::move(rows);
      return;
    }
    if (!settings_.output.vector) return;
    const Stopwatch timer;
    if (!writer_) writer_.emplace(*settings_.output.vector, a_.rows(), b_.cols());
    writer_->append(rows.view());
    outcome_.write_ms += timer.milliseconds();
  }

  void filter(Csr<T>& rows, index_t first_row) {
    if (!settings_.keep) return;
    const offset_t before = rows.nnz();
    rows = keep_entries(rows, *settings_.keep, first_row);
    if (outcome_.dropped.empty()) outcome_.dropped.push_back(0);
    outcome_.dropped[0] += before - rows.nnz();
  }

  [[nodiscard]] Csr<T> on_host(Csr<T> rows) {
    if (rows.device().is_host()) return rows;
    const Stopwatch timer;
    Csr<T> copy = rows.to(Device{});
    outcome_.download_ms += timer.milliseconds();
    return copy;
  }

  void account(const CsrView<T>& rows, index_t first_row) {
    outcome_.nnz += rows.nnz();
    outcome_.result_is_pattern = rows.is_pattern();
    if (overflow_) overflow_->add(rows, first_row);
    if (!settings_.verify) return;
    const Stopwatch timer;
    if (!check_) {
      progress_.phase("checking");
      check_.emplace(settings_, a_, b_);
    }
    check_->add(rows, first_row, outcome_.products);
    outcome_.verify_ms += timer.milliseconds();
  }

  const SpgemmSettings& settings_;
  const Csr<T>& a_;
  const Csr<T>& b_;
  Progress& progress_;
  MultiplyOutcome& outcome_;
  std::optional<OverflowCount<T>> overflow_;  ///< of finite factors
  std::optional<ProductCheck<T>> check_;
  Csr<T> whole_;  ///< of a product that is not sliced
  std::optional<BinaryMatrixWriter<T>> writer_;
};

template <class T>
[[nodiscard]] ExitCode run_product(const SpgemmSettings& settings, const Options& options, const Invocation& invocation,
                                   Progress& progress) {
  MultiplyOutcome outcome;
  const Factors<T> factors = load_factors<T>(settings, progress, outcome);
  const Csr<T>& a = *factors.left;
  const Csr<T>& b = factors.right ? *factors.right : a;
  outcome.power = factors.right ? 1 : settings.power;
  outcome.keep = settings.keep;
  const std::uint64_t held =
      a.bytes() + (factors.right ? b.bytes() : 0) + (settings.verify ? ProductCheck<T>::bytes(a, b) : 0);
  const std::uint64_t limit = settings.machine.memory_limit_bytes;
  support::require_memory(limit, held, 1, settings.verify ? "the product with its check" : "the product");
  SpgemmOptions product = settings.product;
  if (limit != 0) product.memory_limit_bytes = limit - held;
  if (settings.predict) {
    progress.phase("predicting");
    outcome.prediction = predict_product(settings, a, b);
  }
  progress.phase("multiplying");
  ProductRun<T> run(settings, a, b, progress, outcome);
  run.run(product);
  stop_if_interrupted();
  progress.conclude(outcome.warnings);

  Deliverables results;
  results.write_vector = [&](const std::string& path) { run.write(path); };
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
