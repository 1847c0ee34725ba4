#include "core/cuda/memory.hpp"
#include "core/cuda/reduce.cuh"
#include "core/stopwatch.hpp"
#include "spgemm/common/backends.hpp"
#include "spgemm/cuda/job.hpp"
#include "spmv/same_structure.hpp"
#include "tessera/error.hpp"

#include <type_traits>
#include <utility>

namespace tessera::cuda {

namespace {

template <class E>
bool same_entries(const Device& device, std::span<const E> one, std::span<const E> other) {
  const E* const left = one.data();
  const E* const right = other.data();
  if (left == right) return true;
  return fused_sum<1>(device, static_cast<std::int64_t>(one.size()), [=] __device__(std::int64_t i, double(&sum)[1]) {
           sum[0] += left[i] == right[i] ? 0.0 : 1.0;
         })[0] == 0.0;
}

/// Sizes, storage, row offsets and columns. O(rows + nnz); waits.
template <class T>
bool same_structure(const Device& device, const CsrView<T>& one, const CsrView<T>& other) {
  if (one.rows != other.rows || one.cols != other.cols || one.storage != other.storage || one.nnz() != other.nnz()) {
    return false;
  }
  return same_entries(device, one.row_offsets, other.row_offsets) && same_entries(device, one.columns, other.columns);
}

template <class T>
class DevicePlan final : public ProductPlan<T> {
 public:
  DevicePlan(std::shared_ptr<const Csr<T>> a, std::shared_ptr<const Csr<T>> b, const SpgemmOptions& options)
      : a_(on_device(a, options.device)),
        b_(b == a ? a_ : on_device(b, options.device)),
        upload_ms_(total_.milliseconds()),
        job_(a_->view(), b_->view(), planning(options)) {
    SpgemmReport& report = job_.report;
    report.upload_ms = upload_ms_;
    report.analysis_ms = total_.milliseconds() - upload_ms_;
    structure_ = place_structure();
    report.workflow = SpgemmWorkflow::symbolic;
    report.reason = "a plan counts every row";
    report.nnz = structure_.nnz();
    report.threads = 0;
    report.determinism = takes_any_order() ? Determinism::not_guaranteed : Determinism::gpu_to_gpu;
    report.peak_bytes = job_.budget->peak();
    report.total_ms = total_.milliseconds();
  }

  [[nodiscard]] const Device& device() const noexcept override { return job_.device(); }
  [[nodiscard]] const Csr<T>& structure() const noexcept override { return structure_; }
  [[nodiscard]] const SpgemmReport& report() const noexcept override { return job_.report; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override {
    return structure_.bytes() + RowAnalysis::bytes(job_.rows) + bins_.bytes();
  }

  void multiply_into(const Csr<T>* a, const Csr<T>* b, std::span<T> values) override {
    const DeviceGuard current(job_.device());
    if (!values.empty() && !is_reachable(job_.device(), values.data())) {
      throw NotSupported("the values of a product on " + job_.device().name() + " must lie there");
    }
    if (a != nullptr) require_reachable(*a, job_.device(), "A");
    if (b != nullptr) require_reachable(*b, job_.device(), "B");
    const LocalFactor<T> left(a == nullptr ? *a_ : *a, job_.device());
    const LocalFactor<T> right(b == nullptr ? *b_ : *b, job_.device());
    if (a != nullptr) require_planned(*a_, left.view());
    if (b != nullptr) require_planned(*b_, right.view());
    RowOutput<T> out;
    out.starts = structure_.row_offsets().data();
    // Written again with what is there: the array belongs to this plan, which nobody reads meanwhile.
    out.columns = const_cast<index_t*>(structure_.columns().data());
    out.values = values.data();
    enqueue(host::factors_of<T>(left.view(), right.view()), out);
    if (!job_.options.asynchronous) job_.context.synchronize();
  }

 private:
  /// A plan counts every row, whatever the workflow.
  [[nodiscard]] static SpgemmOptions planning(SpgemmOptions options) {
    options.workflow = SpgemmWorkflow::symbolic;
    return options;
  }

  [[nodiscard]] static std::shared_ptr<const Csr<T>> on_device(const std::shared_ptr<const Csr<T>>& matrix,
                                                               const Device& device) {
    return matrix->device() == device ? matrix : std::make_shared<const Csr<T>>(matrix->to(device));
  }

  [[nodiscard]] bool takes_any_order() const noexcept { return !job_.ordered && bins_.add_in_any_order(); }

  template <class V>
  void enqueue(const Factors<V>& factors, const RowOutput<V>& out) const {
    for_each_bin(job_.device(), bins_, [&](RowBin bin) {
      enqueue_bin(job_.context, bin, Phase::numeric, factors, bins_.batch(bin), out, job_.ordered);
    });
  }

  [[nodiscard]] Csr<T> place_structure() {
    const Stopwatch counting;
    CountedRows counted = count_rows(job_);
    job_.report.sizing_ms = counting.milliseconds();
    bins_ = std::move(counted.bins);
    job_.budget->reserve(detail::csr_bytes(0, counted.nnz, 0) - sizeof(offset_t), "plan of a sparse product");
    Array<index_t> columns(counted.nnz, Init::none, job_.device());
    RowOutput<NoValue> out;
    out.starts = counted.offsets.data();
    out.columns = columns.data();
    enqueue(job_.positions, out);
    job_.context.synchronize();
    for (const RowBin bin : bins_.used()) note_use(job_.report, bin, bins_.total(bin));
    return Csr<T>::pattern(job_.rows, job_.cols, std::move(counted.offsets), std::move(columns), Check::trusted);
  }

  /// Compares on the device; what differs is found on the host.
  void require_planned(const Csr<T>& planned, const CsrView<T>& given) const {
    if (same_structure(job_.device(), planned.view(), given)) return;
    const auto here = [&](const auto& source) {
      using E = std::remove_cvref_t<decltype(source[0])>;
      Array<E> result(static_cast<std::int64_t>(source.size()), Init::none);
      copy_bytes(Device{}, result.data(), job_.device(), source.data(), result.bytes());
      return result;
    };
    const Csr<T> expected = planned.to(Device{});
    const Array<offset_t> offsets = here(given.row_offsets);
    const Array<index_t> columns = here(given.columns);
    CsrView<T> found{given.rows, given.cols, given.storage, offsets.span(), columns.span(), given.values};
    require_same_structure(Device{}, expected.view(), found);
  }

  Stopwatch total_;  ///< of the planning
  std::shared_ptr<const Csr<T>> a_;
  std::shared_ptr<const Csr<T>> b_;
  double upload_ms_;
  DeviceJob<T> job_;
  BinnedRows bins_;
  Csr<T> structure_;
};

}  // namespace

template <class T>
std::unique_ptr<ProductPlan<T>> make_product_plan(std::shared_ptr<const Csr<T>> a, std::shared_ptr<const Csr<T>> b,
                                                  const SpgemmOptions& options) {
  return std::make_unique<DevicePlan<T>>(std::move(a), std::move(b), options);
}

template std::unique_ptr<ProductPlan<float>> make_product_plan(std::shared_ptr<const Csr<float>>,
                                                               std::shared_ptr<const Csr<float>>, const SpgemmOptions&);
template std::unique_ptr<ProductPlan<double>> make_product_plan(std::shared_ptr<const Csr<double>>,
                                                                std::shared_ptr<const Csr<double>>,
                                                                const SpgemmOptions&);

}  // namespace tessera::cuda
