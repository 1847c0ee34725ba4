// Plans of products on a GPU: in tiles where `spgemm()` would take them, else row by row.
#include "core/cuda/memory.hpp"
#include "core/stopwatch.hpp"
#include "spgemm/common/backends.hpp"
#include "spgemm/cuda/job.hpp"
#include "spgemm/cuda/planned_factors.hpp"
#include "spgemm/cuda/workflows/tile_plan.hpp"

#include <string>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

namespace {

/// Row by row.
template <class T>
class DevicePlan final : public ProductPlan<T> {
 public:
  DevicePlan(PlannedFactors<T> factors, const SpgemmOptions& options, const Stopwatch& total, double upload_ms,
             std::string fallback)
      : factors_(std::move(factors)), job_(factors_.a().view(), factors_.b().view(), planning(options)) {
    SpgemmReport& report = job_.report;
    report.upload_ms = upload_ms;
    report.analysis_ms = total.milliseconds() - upload_ms;
    structure_ = place_structure();
    report.workflow = SpgemmWorkflow::symbolic;
    report.reason = "a plan counts every row";
    report.fallback = std::move(fallback);
    report.nnz = structure_.nnz();
    report.threads = 0;
    report.determinism = takes_any_order() ? Determinism::not_guaranteed : Determinism::gpu_to_gpu;
    report.peak_bytes = job_.budget->peak();
    report.total_ms = total.milliseconds();
  }

  [[nodiscard]] const Device& device() const noexcept override { return job_.device(); }
  [[nodiscard]] const Csr<T>& structure() const noexcept override { return structure_; }
  [[nodiscard]] const SpgemmReport& report() const noexcept override { return job_.report; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override {
    return structure_.bytes() + RowAnalysis::bytes(job_.rows) + bins_.bytes();
  }

  void multiply_into(const Csr<T>* a, const Csr<T>* b, std::span<T> values) override {
    factors_.multiply(a, b, values, [&](const CsrView<T>& left, const CsrView<T>& right) {
      RowOutput<T> out;
      out.starts = structure_.row_offsets().data();
      // Written again with what is there: the array belongs to this plan, which nobody reads meanwhile.
      out.columns = const_cast<index_t*>(structure_.columns().data());
      out.values = values.data();
      enqueue(host::factors_of<T>(left, right), out);
      if (!job_.options.asynchronous) job_.context.synchronize();
    });
  }

 private:
  /// Rows are counted, whatever the workflow.
  [[nodiscard]] static SpgemmOptions planning(SpgemmOptions options) {
    options.workflow = SpgemmWorkflow::symbolic;
    return options;
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

  PlannedFactors<T> factors_;
  DeviceJob<T> job_;
  BinnedRows bins_;
  Csr<T> structure_;
};

}  // namespace

template <class T>
std::unique_ptr<ProductPlan<T>> make_product_plan(std::shared_ptr<const Csr<T>> a, std::shared_ptr<const Csr<T>> b,
                                                  const SpgemmOptions& options) {
  const Stopwatch total;
  PlannedFactors<T> factors(a, b, options.device);
  SpgemmReport report;
  report.upload_ms = total.milliseconds();
  if constexpr (std::is_same_v<T, double>) {
    if (auto plan = make_tile_plan(factors, options, total, report)) return plan;
  }
  return std::make_unique<DevicePlan<T>>(std::move(factors), options, total, report.upload_ms,
                                         std::move(report.fallback));
}

template std::unique_ptr<ProductPlan<float>> make_product_plan(std::shared_ptr<const Csr<float>>,
                                                               std::shared_ptr<const Csr<float>>, const SpgemmOptions&);
template std::unique_ptr<ProductPlan<double>> make_product_plan(std::shared_ptr<const Csr<double>>,
                                                                std::shared_ptr<const Csr<double>>,
                                                                const SpgemmOptions&);

}  // namespace tessera::cuda
