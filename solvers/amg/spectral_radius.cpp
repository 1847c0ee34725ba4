/// Power method for ρ(D⁻¹ A).
#include "solvers/amg/spectral_radius.hpp"

#include "solvers/amg/transform_rows.hpp"
#include "solvers/fused/transform_reduce.hpp"

#include <utility>

namespace tessera::detail {

template <class T>
PowerMethod<T>::PowerMethod(const Device& device, index_t rows)
    : device_(device), x_(rows, Init::none, device), y_(rows, Init::none, device), squares_(2, Init::none, device) {}

template <class T>
double PowerMethod<T>::estimate(const CsrView<T>& a, const LevelRows& rows, offset_t entries, const T* diagonal,
                                int steps) {
  if (!is_warm_) fused::transform_reduce(device_, a.rows, PowerStart<T>{.x = x_.data()});
  SumOfSquares* of_x = squares_.data();
  SumOfSquares* of_y = squares_.data() + 1;
  for (int step = 0; step < steps; ++step) {
    if (steps_left_ == 0) {
      rows.exchange(x_.span());
      steps_left_ = LevelRows::steps_of_exchange;
    }
    transform_rows(device_, rows.set(rows.beside(--steps_left_), entries),
                   PowerStep<T>{.a = pointers_of(a),
                                .diagonal = diagonal,
                                .x = x_.data(),
                                .x_squares = is_warm_ ? of_x : nullptr,
                                .n = a.rows,
                                .y = y_.data(),
                                .counted = rows.own},
                   of_y);
    if (rows.is_shared()) sum_over(rows, of_y);
    std::swap(x_, y_);
    std::swap(of_x, of_y);
    is_warm_ = true;
  }
  SumOfSquares last;
  copy_bytes(Device{}, &last, device_, of_x, sizeof(last));
  if (of_x != squares_.data()) copy_bytes(device_, squares_.data(), device_, of_x, sizeof(last));
  return std::sqrt(last.mean(a.rows));
}

/// Integers: the sum does not depend on who has which rows.
template <class T>
void PowerMethod<T>::sum_over(const LevelRows& rows, SumOfSquares* squares) {
  SumOfSquares own;
  copy_bytes(Device{}, &own, device_, squares, sizeof(own));
  const SumOfSquares all = rows.sum(own);
  copy_bytes(device_, squares, Device{}, &all, sizeof(all));
}

template class PowerMethod<float>;
template class PowerMethod<double>;

}  // namespace tessera::detail
