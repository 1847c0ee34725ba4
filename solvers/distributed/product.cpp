/// Products on several devices by copies: pack, wait for all ranks, copy, multiply.
#include "solvers/distributed/product.hpp"

#include "solvers/distributed/halo_ops.hpp"
#include "solvers/fused/transform_reduce.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::detail {

namespace {

SpmvOptions options_for(SpmvOptions options, const Device& device) {
  options.device = device;
  options.with_transpose = false;
  // The sums of a loop over ranks are worth nothing if products differ from run to run.
  if (options.determinism == Determinism::not_guaranteed) options.determinism = Determinism::run_to_run;
  return options;
}

template <class T>
class CopiedProduct final : public DistributedProduct<T> {
 public:
  CopiedProduct(LocalMatrix<T> local, const ExchangeLists& lists, const Device& device)
      : DistributedProduct<T>(std::move(local), device), halo_offsets_(lists.halo_offsets) {
    std::vector<index_t> rows;
    Begins begins{};
    for (std::size_t other = 0; other < lists.rows_for.size(); ++other) {
      begins[other] = static_cast<index_t>(rows.size());
      rows.insert(rows.end(), lists.rows_for[other].begin(), lists.rows_for[other].end());
    }
    rows_ = Array<index_t>::copy_of(rows, alone(device));
    packed_ = Array<T>(rows_.size(), Init::none, alone(device));
    const auto size = static_cast<std::size_t>(this->communicator().size());
    sources_.resize(size);
    std::vector<const T*> packed(size);
    std::vector<Begins> all(size);
    this->communicator().gather(this->rank().number, static_cast<const T*>(packed_.data()), std::span(packed));
    this->communicator().gather(this->rank().number, begins, std::span(all));
    const auto own = static_cast<std::size_t>(this->rank().number);
    for (std::size_t other = 0; other < size; ++other) sources_[other] = packed[other] + all[other][own];
  }

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    fetch_halo(x);
    this->local().diagonal.apply(alpha, x, beta, y);
    this->local().add_halo_product(alpha, y, y);
    release_halo();
  }

  ProductDots do_apply_and_dot(std::span<const T> x, std::span<T> y, std::span<const T> w) const override {
    fetch_halo(x);
    ProductDots dots = this->local().diagonal.apply_and_dot(x, y, w);
    const TwoSums of_halo = this->local().add_halo_product(T{1}, w, y);
    dots += {of_halo.first, of_halo.second};
    release_halo();
    return sum_over_ranks(this->device(), dots);
  }

 private:
  /// Per rank: where the elements for it begin.
  using Begins = std::array<index_t, most_ranks>;
  static_assert(sizeof(Begins) <= Communicator::value_bytes);

  void fetch_halo(std::span<const T> x) const {
    const Device here = alone(this->device());
    fused::transform_reduce(here, rows_.size(),
                            PackHalo<T>{.rows = rows_.data(), .x = x.data(), .out = packed_.data()});
    synchronize(here);
    this->communicator().wait(this->rank().number);
    for (std::size_t other = 0; other < sources_.size(); ++other) {
      const auto begin = static_cast<std::size_t>(halo_offsets_[other]);
      const auto count = static_cast<std::size_t>(halo_offsets_[other + 1]) - begin;
      if (count == 0) continue;
      copy_bytes(here, this->local().halo.data() + begin, here, sources_[other], count * sizeof(T));
    }
  }

  /// Packed elements may change after that.
  void release_halo() const {
    synchronize(alone(this->device()));
    this->communicator().wait(this->rank().number);
  }

  std::vector<index_t> halo_offsets_;
  Array<index_t> rows_;
  mutable Array<T> packed_;
  std::vector<const T*> sources_;  ///< per rank, in its memory
};

}  // namespace

template <class T>
LocalMatrix<T>::LocalMatrix(RowBlock<T> block, const SpmvOptions& options, const Device& alone)
    : diagonal(std::move(block.diagonal), options_for(options, alone)),
      boundary_rows(block.boundary_rows.to(alone)),
      halo(static_cast<std::int64_t>(block.halo.size()), Init::zero, alone),
      halo_product(boundary_rows.size(), Init::zero, alone) {
  if (!halo.empty()) off_diagonal.emplace(std::move(block.off_diagonal), options_for(options, alone));
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
  return of_plan(diagonal) + (off_diagonal ? of_plan(*off_diagonal) : 0) + boundary_rows.bytes() + halo.bytes() +
         halo_product.bytes();
}

template <class T>
std::unique_ptr<DistributedProduct<T>> make_copied_product(LocalMatrix<T> local, const ExchangeLists& lists,
                                                           const Device& device) {
  return std::make_unique<CopiedProduct<T>>(std::move(local), lists, device);
}

template struct LocalMatrix<double>;
template std::unique_ptr<DistributedProduct<double>> make_copied_product(LocalMatrix<double>, const ExchangeLists&,
                                                                         const Device&);

}  // namespace tessera::detail
