/// Jacobi preconditioner.
#include "solvers/jacobi.hpp"

#include "core/cuda/memory.hpp"
#include "core/device/matrix_place.hpp"
#include "core/group_rank.hpp"
#include "core/stopwatch.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "tessera/error.hpp"
#include "tessera/preconditioner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace tessera {

namespace {

/// One element of a vector on a device.
template <class T>
T element(const Device& device, const T* address) {
  T value{};
  detail::copy_bytes(Device{}, &value, device, address, sizeof(T));
  return value;
}

/// Position of the row's diagonal nonzero, looked up from the host; -1 when it is not stored.
template <class T>
offset_t diagonal_of_row(const CsrView<T>& a, const Device& device, std::int64_t row) {
  const offset_t begin = element(device, a.row_offsets.data() + row);
  const offset_t end = element(device, a.row_offsets.data() + row + 1);
  const auto columns =
      fused::to_host(device, a.columns.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  const auto* const found = std::lower_bound(columns.begin(), columns.end(), static_cast<index_t>(row));
  return found != columns.end() && *found == row ? begin + (found - columns.begin()) : -1;
}

}  // namespace

namespace detail {

template <class T>
void require_invertible_diagonal(const CsrView<T>& a, const Device& device, std::string_view who) {
  const GroupRank* const rank = rank_of(device);
  const std::int64_t first_row = rank == nullptr ? 0 : rank->first_row;
  const Device own = alone(device);
  const std::int64_t row = fused::transform_reduce(own, a.rows, JacobiFirstUnfit<T>{.a = pointers_of(a)}).index;
  if (row < 0) return;
  const offset_t position = diagonal_of_row(a, own, row);
  if (position < 0) {
    throw InvalidMatrix(
        fmt::format("{} needs a full diagonal: row {} has no diagonal entry", who, first_row + row + 1));
  }
  const T entry = a.is_pattern() ? T{1} : element(own, a.values.data() + position);
  throw InvalidMatrix(fmt::format("{} needs a finite inverse of every diagonal entry: row {} holds {}", who,
                                  first_row + row + 1, entry));
}

/// The view of a plan on a GPU points to memory that the host cannot read.
template <class T>
void require_readable(const CsrView<T>& a, const Device& device, std::string_view who) {
  if (!device.is_host() || !cuda::lies_on_a_gpu(a.row_offsets.data())) return;
  throw InvalidArgument(
      fmt::format("{} was asked for on the host, but the matrix lies on a GPU: pass the device of the plan", who));
}

template <class T>
void require_same_place(const CsrView<T>& a, const Device& device, std::string_view who) {
  require_readable(a, device, who);
  require_within_reach(a, device, who);
}

template <class T>
void require_square(const CsrView<T>& a, std::string_view who) {
  if (!a.is_square()) throw DimensionError(fmt::format("{} needs a square matrix, got {} x {}", who, a.rows, a.cols));
}

template void require_invertible_diagonal(const CsrView<float>&, const Device&, std::string_view);
template void require_invertible_diagonal(const CsrView<double>&, const Device&, std::string_view);
template void require_same_place(const CsrView<float>&, const Device&, std::string_view);
template void require_same_place(const CsrView<double>&, const Device&, std::string_view);
template void require_square(const CsrView<float>&, std::string_view);
template void require_square(const CsrView<double>&, std::string_view);

}  // namespace detail

template <class T>
JacobiPreconditioner<T>::JacobiPreconditioner(const CsrView<T>& matrix, const Device& device)
    : inverse_diagonal_(
          (detail::require_square(matrix, "Jacobi"), detail::require_readable(matrix, device, "Jacobi"), matrix.rows),
          Init::none, device) {
  refresh(matrix);
}

template <class T>
void JacobiPreconditioner<T>::refresh(const CsrView<T>& matrix) {
  const Stopwatch watch;
  detail::require_square(matrix, "Jacobi");
  detail::require_readable(matrix, device(), "Jacobi");
  if (matrix.rows != rows()) {
    throw DimensionError(fmt::format("Jacobi was made for {0} x {0}, got {1} x {1}", rows(), matrix.rows));
  }
  const auto invert = [&](const Device& place, T* inverse) {
    detail::require_invertible_diagonal(matrix, place, "Jacobi");
    fused::transform_reduce(place, rows(),
                            detail::JacobiInvert<T>{.a = detail::pointers_of(matrix), .inverse = inverse});
  };
  if (detail::is_out_of_reach(matrix, device())) {
    Array<T> inverse(rows(), Init::none);
    invert(Device{}, inverse.data());
    detail::copy_bytes(device(), inverse_diagonal_.data(), Device{}, inverse.data(), inverse.bytes());
  } else {
    invert(device(), inverse_diagonal_.data());
  }
  info_.bytes = inverse_diagonal_.bytes();
  info_.setup_ms = watch.milliseconds();
}

template <class T>
void JacobiPreconditioner<T>::do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const {
  fused::transform_reduce(
      device(), rows(),
      detail::JacobiProduct<T>{
          .alpha = alpha, .beta = beta, .diagonal = inverse_diagonal_.data(), .x = x.data(), .y = y.data()});
}

template class JacobiPreconditioner<float>;
template class JacobiPreconditioner<double>;

}  // namespace tessera
