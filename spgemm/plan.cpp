#include "core/stopwatch.hpp"
#include "spgemm/check.hpp"
#include "spgemm/passes.hpp"
#include "spgemm/spgemm.hpp"
#include "spmv/same_structure.hpp"
#include "tessera/error.hpp"
#include "tessera/spgemm.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera {

template <class T>
struct SpgemmPlan<T>::Impl {
  std::shared_ptr<const Csr<T>> a;
  std::shared_ptr<const Csr<T>> b;
  host::ProductJob<T> job;  ///< views of the factors
  Csr<T> structure;
  std::vector<host::RowWorkspace<T>> workspaces;
  SpgemmReport report;

  Impl(std::shared_ptr<const Csr<T>> left, std::shared_ptr<const Csr<T>> right, const SpgemmOptions& options)
      : a(std::move(left)), b(std::move(right)), job(host::start_job(a->view(), b->view(), options)) {
    SpgemmOptions planning = options;
    planning.workflow = SpgemmWorkflow::symbolic;
    SpgemmResult<T> pattern = spgemm_pattern(*a, *b, planning);
    structure = std::move(pattern.matrix);
    report = std::move(pattern.report);
    report.reason = "a plan counts every row";
    host::fit_workspaces<T>(job, structure.bytes());
    job.budget.reserve(structure.bytes() + workspace_bytes(), "plan of a sparse product");
    workspaces = host::make_workspaces<T>(job.sizes, job.workers);
    report.peak_bytes = std::max(report.peak_bytes, job.budget.peak());
  }

  [[nodiscard]] std::uint64_t workspace_bytes() const noexcept {
    return host::RowWorkspace<T>::bytes(job.sizes) * static_cast<std::uint64_t>(job.workers);
  }

  void multiply_into(const CsrView<T>& left, const CsrView<T>& right, std::span<T> values) {
    if (static_cast<offset_t>(values.size()) != structure.nnz()) {
      throw DimensionError(
          fmt::format("the planned product has {} entries, got room for {} values", structure.nnz(), values.size()));
    }
    job.a = left;
    job.b = right;
    host::sum_rows<T>(job, workspaces, structure.row_offsets().data(), nullptr, values.data());
    job.a = a->view();
    job.b = b->view();
  }

  [[nodiscard]] Csr<T> multiply(const CsrView<T>& left, const CsrView<T>& right) {
    Array<T> values(structure.nnz(), Init::none);
    multiply_into(left, right, values.span());
    return Csr<T>(structure.rows(), structure.cols(), structure.row_offsets().to(Device{}),
                  structure.columns().to(Device{}), std::move(values), Check::trusted);
  }

  void require_structures(const Csr<T>& left, const Csr<T>& right) const {
    require_on_host(left, "A");
    require_on_host(right, "B");
    require_same_structure(job.device, a->view(), left.view());
    require_same_structure(job.device, b->view(), right.view());
  }
};

namespace {

template <class T>
std::shared_ptr<const Csr<T>> required(std::shared_ptr<const Csr<T>> matrix) {
  if (!matrix) throw InvalidArgument("SpgemmPlan needs two matrices, got a null pointer");
  return matrix;
}

}  // namespace

template <class T>
SpgemmPlan<T>::SpgemmPlan(std::shared_ptr<const Csr<T>> a, std::shared_ptr<const Csr<T>> b,
                          const SpgemmOptions& options) {
  a = required(std::move(a));
  b = required(std::move(b));
  check_product(*a, *b, options);
  impl_ = std::make_unique<Impl>(std::move(a), std::move(b), options);
}

template <class T>
SpgemmPlan<T>::SpgemmPlan(Csr<T> a, Csr<T> b, const SpgemmOptions& options)
    : SpgemmPlan(std::make_shared<const Csr<T>>(std::move(a)), std::make_shared<const Csr<T>>(std::move(b)), options) {}

template <class T>
SpgemmPlan<T>::~SpgemmPlan() = default;
template <class T>
SpgemmPlan<T>::SpgemmPlan(SpgemmPlan&&) noexcept = default;
template <class T>
SpgemmPlan<T>& SpgemmPlan<T>::operator=(SpgemmPlan&&) noexcept = default;

template <class T>
const Csr<T>& SpgemmPlan<T>::structure() const noexcept {
  return impl_->structure;
}

template <class T>
const SpgemmReport& SpgemmPlan<T>::report() const noexcept {
  return impl_->report;
}

template <class T>
std::uint64_t SpgemmPlan<T>::bytes() const noexcept {
  return impl_->structure.bytes() + impl_->workspace_bytes() + impl_->job.analysis.bytes();
}

template <class T>
Csr<T> SpgemmPlan<T>::multiply() {
  return impl_->multiply(impl_->a->view(), impl_->b->view());
}

template <class T>
Csr<T> SpgemmPlan<T>::multiply(const Csr<T>& a, const Csr<T>& b) {
  impl_->require_structures(a, b);
  return impl_->multiply(a.view(), b.view());
}

template <class T>
void SpgemmPlan<T>::multiply_into(const Csr<T>& a, const Csr<T>& b, std::span<T> values) {
  impl_->require_structures(a, b);
  impl_->multiply_into(a.view(), b.view(), values);
}

template class SpgemmPlan<float>;
template class SpgemmPlan<double>;

}  // namespace tessera
