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
  if (!is_warm_) {
    fused::transform_reduce(device_, a.rows, PowerStart<T>{.x = x_.data()});
    known_ = SumOfSquares::of_mean_one(a.rows);
  }
  SumOfSquares* of_x = squares_.data();
  SumOfSquares* of_y = squares_.data() + 1;
  for (int step = 0; step < steps; ++step) {
    if (steps_left_ == 0) {
      rows.exchange(x_.span());
      steps_left_ = LevelRows::steps_of_exchange;
    }
    const bool is_known = rows.is_shared() || !is_warm_;
    transform_rows(device_, rows.set(rows.beside(--steps_left_), entries),
                   PowerStep<T>{.a = pointers_of(a),
                                .diagonal = diagonal,
                                .x = x_.data(),
                                .x_squares = is_known ? nullptr : of_x,
                                .known_squares = known_,
                                .n = a.rows,
                                .y = y_.data(),
                                .counted = rows.own},
                   of_y);
    std::swap(x_, y_);
    std::swap(of_x, of_y);
    is_warm_ = true;
    // Integers: the sum does not depend on who has which rows.
    if (rows.is_shared()) known_ = rows.sum(fetched(of_x));
  }
  if (!rows.is_shared()) known_ = fetched(of_x);
  if (of_x != squares_.data()) copy_bytes(device_, squares_.data(), device_, of_x, sizeof(known_));
  return std::sqrt(known_.mean(a.rows));
}

/// Waits.
template <class T>
SumOfSquares PowerMethod<T>::fetched(const SumOfSquares* squares) const {
  SumOfSquares result;
  copy_bytes(Device{}, &result, device_, squares, sizeof(result));
  return result;
}

template class PowerMethod<float>;
template class PowerMethod<double>;

}  // namespace tessera::detail
