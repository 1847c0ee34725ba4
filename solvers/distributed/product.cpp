/// Products on several devices by copies of the halo.
#include "solvers/distributed/product.hpp"

#include "solvers/distributed/halo_ops.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "tessera/error.hpp"

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace tessera::detail {

namespace {

template <class T>
class CopiedProduct final : public DistributedProduct<T> {
 public:
  CopiedProduct(LocalMatrix<T> local, const ExchangeLists& lists, const Device& device)
      : DistributedProduct<T>(std::move(local), lists, device) {}

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    this->copied_halo().fetch(x, this->local().halo.span());
    this->local().diagonal.apply(alpha, x, beta, y);
    this->local().add_halo_product(alpha, y, y);
    this->copied_halo().release();
  }

  ProductDots do_apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const override {
    this->copied_halo().fetch(x, this->local().halo.span());
    ProductDots dots = this->local().diagonal.apply_and_dot(x, y, w);
    const TwoSums of_halo = this->local().add_halo_product(T{1}, w, y);
    dots += {of_halo.first, of_halo.second};
    this->copied_halo().release();
    return sum_over_ranks(this->device(), dots);
  }
};

}  // namespace

SpmvOptions options_of_rank(SpmvOptions options, const Device& alone) {
  if (options.algorithm == SpmvAlgorithm::streamed && !alone.is_host()) {
    throw NotSupported("kernel streamed is for a matrix on one GPU: several ones hold their shares of it");
  }
  options.memory_limit_bytes = std::numeric_limits<std::uint64_t>::max();  // a share that does not fit is refused
  options.device = alone;
  options.with_transpose = false;
  // The sums of a loop over ranks are worth nothing if products differ from run to run.
  if (options.determinism == Determinism::not_guaranteed) options.determinism = Determinism::run_to_run;
  return options;
}

template <class T>
LocalMatrix<T>::LocalMatrix(RowBlock<T> block, const SpmvOptions& options, const Device& alone)
    : diagonal(std::move(block.diagonal), options_of_rank(options, alone)),
      boundary_rows(block.boundary_rows.to(alone)),
      halo_columns(Array<index_t>::copy_of(block.halo, alone)),
      halo(static_cast<std::int64_t>(block.halo.size()), Init::zero, alone),
      halo_product(boundary_rows.size(), Init::zero, alone) {
  if (!halo.empty()) off_diagonal.emplace(std::move(block.off_diagonal), options_of_rank(options, alone));
}

template <class T>
TwoSums LocalMatrix<T>::add_halo_product(T alpha, std::span<const T> w, std::span<T> y) const {
  if (!off_diagonal) return {};
  off_diagonal->apply(halo, halo_product);
  return fused::transform_reduce(
      diagonal.device(), boundary_rows.size(),
      AddHaloProduct<T>{
          .alpha = alpha, .rows = boundary_rows.data(), .z = halo_product.data(), .w = w.data(), .y = y.data()});
}

template <class T>
std::uint64_t LocalMatrix<T>::bytes() const {
  const auto of_plan = [](const SpmvPlan<T>& plan) {
    const CsrView<T> a = plan.matrix();
    return plan.info().bytes + a.row_offsets.size_bytes() + a.columns.size_bytes() + a.values.size_bytes();
  };
  return of_plan(diagonal) + (off_diagonal ? of_plan(*off_diagonal) : 0) + boundary_rows.bytes() +
         halo_columns.bytes() + halo.bytes() + halo_product.bytes();
}

template <class T>
double DistributedProduct<T>::do_residual(int exponent, std::span<const T> b, std::span<const T> x,
                                          std::span<T> r) const {
  if constexpr (std::is_same_v<T, double>) {
    return FusedOperator<T>::do_residual(exponent, b, x, r);
  } else {
    const Device here = alone(device_);
    Array<double> wide(rows(), Init::none, here);
    copied_halo_.fetch(x, local_.halo.span());
    fused::transform_reduce(here, rows(),
                            WideResidual<T>{.scaled = host::PowerOfTwo<double>(exponent),
                                            .b = b.data(),
                                            .a = pointers_of(local_.diagonal.matrix()),
                                            .x = x.data(),
                                            .t = wide.data()});
    if (local_.off_diagonal) {
      fused::transform_reduce(here, local_.boundary_rows.size(),
                              WideHaloResidual<T>{.rows = local_.boundary_rows.data(),
                                                  .a = pointers_of(local_.off_diagonal->matrix()),
                                                  .halo = local_.halo.data(),
                                                  .t = wide.data()});
    }
    copied_halo_.release();
    return fused::transform_reduce(device_, rows(), RoundResidual<T>{.t = wide.data(), .r = r.data()});
  }
}

template <class T>
std::unique_ptr<DistributedProduct<T>> make_copied_product(LocalMatrix<T> local, const ExchangeLists& lists,
                                                           const Device& device) {
  return std::make_unique<CopiedProduct<T>>(std::move(local), lists, device);
}

template struct LocalMatrix<float>;
template struct LocalMatrix<double>;
template class DistributedProduct<float>;
template class DistributedProduct<double>;
template std::unique_ptr<DistributedProduct<float>> make_copied_product(LocalMatrix<float>, const ExchangeLists&,
                                                                        const Device&);
template std::unique_ptr<DistributedProduct<double>> make_copied_product(LocalMatrix<double>, const ExchangeLists&,
                                                                         const Device&);

}  // namespace tessera::detail
