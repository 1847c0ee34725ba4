/// \file
/// An operator applied to a panel: by its product for several columns, or column by column.
#pragma once

#include "core/enqueued_product.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "solvers/panel/panel.hpp"
#include "spmv/plan_internals.hpp"
#include "tessera/array.hpp"
#include "tessera/fused_operator.hpp"
#include "tessera/multiple_right_sides.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <span>

namespace tessera::fused {

/// Column `column` of a panel of `columns` to a vector.
template <class T>
void gather_column(const Device& device, const T* panel, int columns, int column, std::span<T> to) {
  transform_reduce(device, static_cast<std::int64_t>(to.size()),
                   CopyStrided<T>{.from = panel + column, .to = to.data(), .from_stride = columns, .to_stride = 1});
}
/// The way back.
template <class T>
void scatter_column(const Device& device, std::span<const T> from, T* panel, int columns, int column) {
  transform_reduce(device, static_cast<std::int64_t>(from.size()),
                   CopyStrided<T>{.from = from.data(), .to = panel + column, .from_stride = 1, .to_stride = columns});
}

template <class T>
class PanelOperator {
 public:
  /// \param a the operator as the caller gave it \param fused the same as a FusedOperator. Both outlive this. On a GPU
  /// it can be enqueued
  PanelOperator(const LinearOperator<T>& a, const FusedOperator<T>& fused)
      : fused_(fused),
        device_(fused.device()),
        plan_(dynamic_cast<const SpmvPlan<T>*>(&a)),
        many_(device_.is_host() ? dynamic_cast<const MultiVectorOperator<T>*>(&a) : nullptr),
        in_(takes_columns() ? fused.cols() : 0, Init::none, device_),
        out_(takes_columns() ? fused.rows() : 0, Init::none, device_),
        dots_(device_.is_host() ? 0 : 1, Init::none, device_) {
    if (plan_ != nullptr) PlanInternals::prepare_columns(*plan_);
  }

  /// Y = A X. On a GPU it is put into the stream. Does not allocate. \param x,y panels of `columns` columns
  void apply(std::span<const T> x, std::span<T> y, int columns) const {
    if (columns == 1) return apply_to_one(x, y);
    const MultiVectorView<const T> x_view(x, fused_.cols(), columns, MultiVectorLayout::row_major);
    const MultiVectorView<T> y_view(y, fused_.rows(), columns, MultiVectorLayout::row_major);
    if (plan_ != nullptr) return plan_->apply_many(x_view, y_view);
    if (many_ != nullptr) return many_->apply_many(x_view, y_view);
    for (int j = 0; j < columns; ++j) {
      gather_column<T>(device_, x.data(), columns, j, in_.span());
      apply_to_one(in_.span(), out_.span());
      scatter_column<T>(device_, out_.span(), y.data(), columns, j);
    }
  }

 private:
  [[nodiscard]] bool takes_columns() const noexcept { return plan_ == nullptr && many_ == nullptr; }

  void apply_to_one(std::span<const T> x, std::span<T> y) const {
    if (device_.is_host()) return fused_.apply(x, y);
    detail::EnqueuedProduct<T>::of(fused_)->enqueue(x, y, x, dots_.data());
  }

  const FusedOperator<T>& fused_;
  Device device_;
  const SpmvPlan<T>* plan_;             ///< null: another operator
  const MultiVectorOperator<T>* many_;  ///< null: another operator
  mutable Array<T> in_;                 ///< a column, where they are multiplied one by one
  mutable Array<T> out_;
  mutable Array<ProductDots> dots_;  ///< which nobody reads
};

}  // namespace tessera::fused
