/// Power method for ρ(D⁻¹ A).
#include "solvers/amg/spectral_radius.hpp"

#include "solvers/amg/transform_rows.hpp"
#include "solvers/fused/transform_reduce.hpp"

#include <utility>

namespace tessera::detail {

template <class T>
double power_method(const Device& device, const CsrView<T>& a, const T* diagonal, int steps) {
  Array<T> x(a.rows, Init::none, device);
  Array<T> y(a.rows, Init::none, device);
  Array<SumOfSquares> squares(steps, Init::none, device);
  fused::transform_reduce(device, a.rows, PowerStart<T>{.x = x.data()});
  for (int step = 0; step < steps; ++step) {
    transform_rows(device, all_rows(a),
                   PowerStep<T>{.a = pointers_of(a),
                                .diagonal = diagonal,
                                .x = x.data(),
                                .x_squares = step == 0 ? nullptr : squares.data() + step - 1,
                                .n = a.rows,
                                .y = y.data()},
                   squares.data() + step);
    std::swap(x, y);
  }
  SumOfSquares last;
  copy_bytes(Device{}, &last, device, squares.data() + steps - 1, sizeof(last));
  return std::sqrt(last.mean(a.rows));
}

template double power_method(const Device&, const CsrView<float>&, const float*, int);
template double power_method(const Device&, const CsrView<double>&, const double*, int);

}  // namespace tessera::detail
