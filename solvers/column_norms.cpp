/// Column scaling of least squares: norms of columns as norms of rows of Aᵀ.
#include "solvers/column_norms.hpp"

#include "core/stopwatch.hpp"
#include "solvers/amg/transform_rows.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "solvers/jacobi.hpp"
#include "tessera/error.hpp"
#include "tessera/least_squares.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera {

template <class T>
ColumnNormPreconditioner<T>::ColumnNormPreconditioner(const CsrView<T>& matrix, double damping, const Device& device)
    : scaling_(matrix.cols, Init::zero, device), damping_(damping) {
  if (!(damping >= 0.0 && std::isfinite(damping))) {
    throw InvalidArgument(fmt::format("damping must be finite and >= 0, got {}", damping));
  }
  refresh(matrix);
}

template <class T>
void ColumnNormPreconditioner<T>::refresh(const CsrView<T>& matrix) {
  const Stopwatch watch;
  detail::require_same_place(matrix, device(), "column scaling");
  if (matrix.cols != cols()) {
    throw DimensionError(
        fmt::format("column scaling was made for {} columns, got {} x {}", cols(), matrix.rows, matrix.cols));
  }
  const Csr<T> transposed = transpose(matrix, device());
  Array<T> scaling(cols(), Init::none, device());
  detail::DeviceValue<detail::FirstIndex> unfit(device());
  const detail::ColumnScaling<T> op{
      .transposed = detail::pointers_of(transposed.view()), .damping = damping_, .scaling = scaling.data()};
  detail::transform_rows(device(), detail::all_rows(transposed.view()), op, unfit.data());
  const std::int64_t column = unfit.get().index;
  if (cols() > 0 && column >= 0) {
    throw InvalidMatrix(
        fmt::format("column scaling needs norms with a finite inverse: that of column {} has none", column + 1));
  }
  scaling_ = std::move(scaling);
  info_.bytes = scaling_.bytes();
  info_.setup_ms = watch.milliseconds();
}

template <class T>
void ColumnNormPreconditioner<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  fused::transform_reduce(device(), rows(),
                          detail::JacobiProduct<T>{
                              .alpha = alpha, .beta = beta, .diagonal = scaling_.data(), .x = x.data(), .y = y.data()});
}

template class ColumnNormPreconditioner<float>;
template class ColumnNormPreconditioner<double>;

}  // namespace tessera
