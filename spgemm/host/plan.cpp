#include "spgemm/common/backends.hpp"
#include "spgemm/host/job.hpp"
#include "spmv/same_structure.hpp"

#include <algorithm>
#include <utility>

namespace tessera::host {

namespace {

template <class T>
class HostPlan final : public ProductPlan<T> {
 public:
  HostPlan(std::shared_ptr<const Csr<T>> a, std::shared_ptr<const Csr<T>> b, const SpgemmOptions& options)
      : a_(std::move(a)), b_(std::move(b)), job_(start_job(a_->view(), b_->view(), options)) {
    SpgemmOptions planning = options;
    planning.workflow = SpgemmWorkflow::symbolic;
    SpgemmResult<T> pattern = spgemm_pattern(*a_, *b_, planning);
    structure_ = std::move(pattern.matrix);
    report_ = std::move(pattern.report);
    report_.reason = "a plan counts every row";
    fit_workspaces<T>(job_, structure_.bytes());
    job_.budget.reserve(structure_.bytes() + workspace_bytes(), "plan of a sparse product");
    workspaces_ = make_workspaces<T>(job_.sizes, job_.workers);
    report_.peak_bytes = std::max(report_.peak_bytes, job_.budget.peak());
  }

  [[nodiscard]] const Device& device() const noexcept override { return job_.device; }
  [[nodiscard]] const Csr<T>& structure() const noexcept override { return structure_; }
  [[nodiscard]] const SpgemmReport& report() const noexcept override { return report_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept override {
    return structure_.bytes() + workspace_bytes() + job_.analysis.bytes();
  }

  void multiply_into(const Csr<T>* a, const Csr<T>* b, std::span<T> values) override {
    job_.a = planned_view(*a_, a, "A");
    job_.b = planned_view(*b_, b, "B");
    sum_rows<T>(job_, workspaces_, structure_.row_offsets().data(), nullptr, values.data());
    job_.a = a_->view();
    job_.b = b_->view();
  }

 private:
  [[nodiscard]] std::uint64_t workspace_bytes() const noexcept {
    return RowWorkspace<T>::bytes(job_.sizes) * static_cast<std::uint64_t>(job_.workers);
  }

  [[nodiscard]] CsrView<T> planned_view(const Csr<T>& planned, const Csr<T>* given, const char* name) const {
    if (given == nullptr) return planned.view();
    require_reachable(*given, job_.device, name);
    require_same_structure(job_.device, planned.view(), given->view());
    return given->view();
  }

  std::shared_ptr<const Csr<T>> a_;
  std::shared_ptr<const Csr<T>> b_;
  HostJob<T> job_;  ///< views of the factors
  Csr<T> structure_;
  std::vector<RowWorkspace<T>> workspaces_;
  SpgemmReport report_;
};

}  // namespace

template <class T>
std::unique_ptr<ProductPlan<T>> make_product_plan(std::shared_ptr<const Csr<T>> a, std::shared_ptr<const Csr<T>> b,
                                                  const SpgemmOptions& options) {
  return std::make_unique<HostPlan<T>>(std::move(a), std::move(b), options);
}

template std::unique_ptr<ProductPlan<float>> make_product_plan(std::shared_ptr<const Csr<float>>,
                                                               std::shared_ptr<const Csr<float>>, const SpgemmOptions&);
template std::unique_ptr<ProductPlan<double>> make_product_plan(std::shared_ptr<const Csr<double>>,
                                                                std::shared_ptr<const Csr<double>>,
                                                                const SpgemmOptions&);

}  // namespace tessera::host
