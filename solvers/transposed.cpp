/// Aᵀ as an operator: that of a plan, A itself where the two are equal, or one of the product alone.
#include "core/fused_adapter.hpp"
#include "solvers/krylov_problem.hpp"
#include "spmv/plan_internals.hpp"
#include "tessera/fused_operator.hpp"
#include "tessera/preconditioner.hpp"
#include "tessera/spmv.hpp"

#include <memory>
#include <utility>

namespace tessera {

namespace {

/// No inner products of its own, and called from the host.
template <class T>
class TransposedAdapter final : public FusedOperator<T> {
 public:
  explicit TransposedAdapter(std::shared_ptr<const FusedOperator<T>> a) : a_(std::move(a)) {}

  [[nodiscard]] std::int64_t rows() const override { return a_->cols(); }
  [[nodiscard]] std::int64_t cols() const override { return a_->rows(); }
  [[nodiscard]] Device device() const override { return a_->device(); }

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    a_->apply_transposed(alpha, x, beta, y);
  }

 private:
  std::shared_ptr<const FusedOperator<T>> a_;
};

}  // namespace

template <class T>
bool detail::is_own_transpose(const FusedOperator<T>& a) {
  if (a.is_identity() || a.diagonal()) return true;
  const auto* const m = dynamic_cast<const Preconditioner<T>*>(&a);
  return m != nullptr && m->info().is_symmetric;
}

template <class T>
std::shared_ptr<const FusedOperator<T>> transposed(const LinearOperator<T>& A) {
  if (!A.has_transpose()) A.apply_transposed({}, {});  // throws, and names the remedy
  if (const auto* const plan = dynamic_cast<const SpmvPlan<T>*>(&A)) return PlanInternals::transposed(*plan);
  std::shared_ptr<const FusedOperator<T>> a = detail::fused_operator(A);
  if (detail::is_own_transpose(*a)) return a;
  return std::make_shared<const TransposedAdapter<T>>(std::move(a));
}

template bool detail::is_own_transpose(const FusedOperator<float>&);
template bool detail::is_own_transpose(const FusedOperator<double>&);
template std::shared_ptr<const FusedOperator<float>> transposed(const LinearOperator<float>&);
template std::shared_ptr<const FusedOperator<double>> transposed(const LinearOperator<double>&);

}  // namespace tessera
