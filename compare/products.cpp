#include "compare/comparison.hpp"
#include "compare/gate.hpp"
#include "compare/measure.hpp"
#include "compare/oracle.hpp"
#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "support/plan_memory.hpp"

#include <fmt/format.h>

#include <exception>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tessera::compare {

namespace {

/// Rounds of short products.
[[nodiscard]] TimingOptions product_timing(const Settings& settings) {
  constexpr int least = 10;
  constexpr int most = 1000;
  TimingOptions result = timing_options(settings, least, most);
  if (!settings.device.is_host()) {
    // The time from the call to the start of the work is then a small part.
    constexpr double device_sample_ms = 1.0;
    result.min_sample_ms = device_sample_ms;
    result.clock = timing_clock(settings.device);
  }
  return result;
}

/// x, and A x from the matrix of the file, which has not been numbered anew: both in the numbering that is measured.
template <class T>
struct ExpectedProduct {
  std::vector<T> x;
  ProductOracle oracle;
};

template <class Element>
[[nodiscard]] std::vector<Element> gathered(std::span<const index_t> order, const std::vector<Element>& from) {
  std::vector<Element> result(from.size());
  for (std::size_t k = 0; k < order.size(); ++k) result[k] = from[static_cast<std::size_t>(order[k])];
  return result;
}

template <class T>
[[nodiscard]] ExpectedProduct<T> expected_product(const Subject<T>& subject, std::uint64_t seed) {
  const Csr<T>& source = subject.source ? *subject.source : *subject.matrix;
  std::vector<T> x = support::random_vector<T>(source.cols(), seed);
  ProductOracle oracle = product_oracle<T>(source.view(), x);
  if (!subject.source) return {std::move(x), std::move(oracle)};
  return {gathered(subject.order, x),
          {gathered(subject.order, oracle.y), gathered(subject.order, oracle.bound), oracle.unchecked_rows}};
}

/// A candidate from its check to its times.
template <class T>
struct Contender {
  const Candidate<T>* candidate = nullptr;
  KernelRow* row = nullptr;
  PlannedKernel<T> planned;
  std::optional<DualBuffer<T>> out;
  std::vector<double> setup_ms;  ///< without the upload of the matrix
};

template <class T>
void fail(Contender<T>& contender, std::string_view reason) {
  contender.row->passed = false;
  contender.row->reason = reason;
  contender.out.reset();
  contender.planned.product.reset();
}

template <class T>
void check_one(Contender<T>& contender, const std::shared_ptr<const Csr<T>>& matrix, std::span<const T> x,
               const ProductOracle& oracle) {
  KernelRow& row = *contender.row;
  try {
    contender.planned = contender.candidate->plan(matrix);
  } catch (const std::exception& error) {
    row.out_of_memory = is_out_of_memory(error);
    fail(contender, error.what());
    return;
  }
  row.plan = contender.planned.info;
  Verdict verdict = check_products(contender.planned, x, oracle);
  row.passed = verdict.passed;
  row.out_of_memory = verdict.out_of_memory;
  row.error_over_bound = verdict.error_over_bound;
  row.repeats = verdict.repeats;
  if (!verdict.passed) fail(contender, std::move(verdict.reason));
}

template <class T>
void set_up(Contender<T>& contender, const std::shared_ptr<const Csr<T>>& matrix) {
  const Stopwatch timer;
  contender.planned = contender.candidate->plan(matrix);
  contender.setup_ms.push_back(timer.milliseconds() - contender.planned.info.upload_ms);
}

/// Set-ups take turns too. The last one of each kernel stays.
template <class T>
void time_setups(const Settings& settings, const std::shared_ptr<const Csr<T>>& matrix,
                 std::vector<Contender<T>*>& contenders) {
  std::vector<TimingCandidate> timed;
  timed.reserve(contenders.size());
  for (Contender<T>* contender : contenders) {
    timed.push_back({contender->candidate->name, [contender, &matrix] { set_up(*contender, matrix); },
                     [contender] { contender->planned.product.reset(); }});
  }
  TimingOptions options = product_timing(settings);
  constexpr int least = 3;
  constexpr int most = 50;
  options.warmup = 0;  // the set-up for the check was one
  options.min_rounds = least;
  options.max_rounds = most;
  options.clock = {};  // what a user waits for, also where a GPU does the work
  static_cast<void>(time_interleaved(timed, options));
  for (Contender<T>* contender : contenders) {
    contender->row->setup = times_of(contender->setup_ms);
    if (contender->planned.product == nullptr) contender->planned = contender->candidate->plan(matrix);
    contender->row->plan = contender->planned.info;
  }
}

template <class T>
[[nodiscard]] std::vector<TimingCandidate> timed_products(const std::vector<Contender<T>*>& contenders,
                                                          std::span<const T> x, const std::function<void()>& before) {
  std::vector<TimingCandidate> timed;
  timed.reserve(contenders.size());
  for (Contender<T>* contender : contenders) {
    timed.push_back({contender->candidate->name,
                     [contender, x] { contender->planned.product->apply(x, *contender->out); }, before});
  }
  return timed;
}

template <class T>
void time_warm(const Settings& settings, std::span<const T> x, std::vector<Contender<T>*>& contenders,
               Outcome& outcome) {
  std::vector<TimingCandidate> timed = timed_products<T>(contenders, x, {});
  CopyYardstick copy(outcome.least_bytes, settings.device);
  if (outcome.least_bytes > 0) timed.push_back({"copy", [&copy] { copy(); }, {}});
  const TimingSamples samples = time_interleaved(timed, product_timing(settings));
  for (std::size_t i = 0; i < contenders.size(); ++i) contenders[i]->row->warm = times_of(samples[i]);
  if (timed.size() == contenders.size()) return;
  outcome.copy_gbytes_per_s = gbytes_per_second(copy.bytes(), summarise(samples.back()).median);
}

template <class T>
void time_cold(const Settings& settings, std::span<const T> x, std::vector<Contender<T>*>& contenders) {
  CacheFlusher flush(settings.device);
  const TimingSamples samples =
      time_interleaved(timed_products<T>(contenders, x, [&flush] { flush(); }), product_timing(settings));
  for (std::size_t i = 0; i < contenders.size(); ++i) contenders[i]->row->cold = times_of(samples[i]);
}

/// The last timed product has to be as right as the first.
template <class T>
void check_again(const Device& device, std::vector<Contender<T>*>& contenders, std::span<const T> x,
                 const ProductOracle& oracle) {
  for (Contender<T>* contender : contenders) {
    if (!contender->row->warm.measured()) continue;
    contender->planned.product->apply(x, *contender->out);
    std::vector<T> y(oracle.y.size());
    detail::copy_bytes(Device{}, y.data(), device, contender->out->current().data(), y.size() * sizeof(T));
    const Deviation found = deviation<T>(oracle, y);
    if (found.within_bound()) continue;
    const std::string reason = fmt::format("after {} rounds, {}", contender->row->warm.summary.count, found.reason);
    contender->row->warm = {};
    contender->row->cold = {};
    contender->row->setup = {};
    fail(*contender, reason);
  }
}

/// Everything that follows from times and needs the reference.
void derive(const Settings& settings, std::vector<KernelRow>& rows) {
  const KernelRow* reference = nullptr;
  for (KernelRow& row : rows) {
    if (row.reference && row.passed) reference = &row;
  }
  for (KernelRow& row : rows) {
    if (!row.warm.measured()) continue;
    row.total_ms = row.setup.summary.median + static_cast<double>(settings.applies) * row.warm.summary.median;
    if (reference == nullptr) continue;
    row.warm.speed_up = speed_up(reference->warm, row.warm, settings.seed);
    row.cold.speed_up = speed_up(reference->cold, row.cold, settings.seed);
    if (row.reference) continue;
    row.pays = pays_after(row.setup.summary.median - reference->setup.summary.median, reference->warm.summary.median,
                          row.warm.summary.median, row.warm.speed_up);
  }
}

/// Bytes that y = A x has to move at least: nonzeros, columns and row offsets once, x once where a column is not empty,
/// y once.
template <class T>
[[nodiscard]] std::uint64_t least_product_bytes(const MatrixStatistics& matrix, bool pattern) {
  const auto nnz = static_cast<std::uint64_t>(matrix.nnz);
  const auto rows = static_cast<std::uint64_t>(matrix.rows);
  const auto used_cols = static_cast<std::uint64_t>(matrix.cols - matrix.empty_cols);
  return nnz * (sizeof(index_t) + (pattern ? 0 : sizeof(T))) + (rows + 1) * sizeof(offset_t) +
         (used_cols + rows) * sizeof(T);
}

}  // namespace

std::uint64_t product_workspace_bytes(const Settings& settings, const ProductSizes& sizes, std::size_t candidates) {
  const Device& device = settings.device;
  const auto rows = static_cast<std::uint64_t>(sizes.rows);
  const auto cols = static_cast<std::uint64_t>(sizes.cols);
  std::uint64_t needed = 2 * rows * sizeof(long double) + cols * sizes.element;
  if (!device.is_host()) return needed + rows * sizes.element;  // what is brought back to be checked
  needed += 2 * candidates * rows * sizes.element + CopyYardstick::capped(sizes.least_bytes, device);
  if (settings.timing.cold) needed += CacheFlusher::bytes(device);
  return needed;
}

template <class T>
void compare_products(const Settings& settings, const Subject<T>& subject, const std::vector<Candidate<T>>& candidates,
                      Outcome& outcome) {
  const Csr<T>& matrix = *subject.matrix;
  outcome.least_bytes = least_product_bytes<T>(subject.facts, matrix.is_pattern());
  outcome.cache_bytes = last_level_cache_bytes(settings.device);
  outcome.reference = reference_of(candidates);
  outcome.products.resize(candidates.size());
  outcome.vector_bytes = product_workspace_bytes(
      settings, {matrix.rows(), matrix.cols(), sizeof(T), outcome.least_bytes}, candidates.size());
  support::require_memory(settings.memory_limit_bytes, subject.matrix_bytes(), outcome.vector_bytes,
                          "the vectors of the comparison");

  begin_phase(settings, "computing the product in long double");
  const ExpectedProduct<T> expected = expected_product(subject, settings.seed);
  const std::vector<T>& x = expected.x;
  const ProductOracle& oracle = expected.oracle;
  outcome.unchecked_rows = oracle.unchecked_rows;

  // One copy on the device serves all kernels.
  const auto on_device = support::device_copy(subject.matrix, settings.device);
  std::vector<Contender<T>> contenders(candidates.size());
  std::vector<Contender<T>*> passed;
  // Plans of all kernels are held together while they take turns.
  std::uint64_t held_bytes = subject.matrix_bytes() + outcome.vector_bytes;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    contenders[i].candidate = &candidates[i];
    contenders[i].row = &outcome.products[i];
    contenders[i].row->kernel = candidates[i].name;
    contenders[i].row->reference = candidates[i].name == outcome.reference;
    begin_phase(settings, fmt::format("checking kernel {} ({} of {})", candidates[i].name, i + 1, candidates.size()));
    support::require_memory_of_plan(settings.memory_limit_bytes, held_bytes, matrix.view(), candidates[i].options);
    check_one<T>(contenders[i], on_device, x, oracle);
    if (contenders[i].row->passed) held_bytes += contenders[i].row->plan.bytes;
    if (contenders[i].row->passed) passed.push_back(&contenders[i]);
  }
  begin_phase(settings, fmt::format("timing the set-up of {} kernels", passed.size()));
  if (!stopped(settings)) time_setups(settings, on_device, passed);
  for (Contender<T>* contender : passed) contender->out.emplace(contender->planned.product->make_output());
  const auto x_copy = Array<T>::copy_of(x, settings.device);
  const std::span<const T> device_x = x_copy.span();
  begin_phase(settings, fmt::format("timing {} kernels in turn", passed.size()));
  if (!stopped(settings)) time_warm<T>(settings, device_x, passed, outcome);
  if (settings.timing.cold) {
    begin_phase(settings, "timing them with cold caches");
    if (!stopped(settings)) time_cold<T>(settings, device_x, passed);
  }
  check_again<T>(settings.device, passed, device_x, oracle);
  derive(settings, outcome.products);
  for (const KernelRow& row : outcome.products) outcome.plan_bytes += row.plan.bytes;
}

template void compare_products(const Settings&, const Subject<float>&, const std::vector<Candidate<float>>&, Outcome&);
template void compare_products(const Settings&, const Subject<double>&, const std::vector<Candidate<double>>&,
                               Outcome&);

}  // namespace tessera::compare
