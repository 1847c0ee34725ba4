#include "bench/hand_written_gmres.hpp"

#include "bench/hand_written_kernels.hpp"
#include "core/cuda/context.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::bench {

namespace {

enum Constant { zero, one, minus_one, inverse, minus_inverse, constants };

}  // namespace

HandWrittenGmres::HandWrittenGmres(const VendorProduct& product, std::span<const double> inverse_diagonal)
    : product_(product),
      inverse_diagonal_(inverse_diagonal),
      device_(product.device()),
      n_(product.rows()),
      cublas_(CuBlas::library()),
      handle_(cublas_handle(device_)),
      basis_(n_ * (m + 1), Init::none, device_),
      z_(n_, device_),
      constants_(constants, Init::zero, device_),
      column_(1, Init::zero, device_),
      y_(m, Init::zero, device_) {
  const cuda::DeviceGuard current(device_);
  for (int j = 0; j <= m; ++j) {
    const std::span<double> column =
        basis_.span().subspan(static_cast<std::size_t>(n_ * j), static_cast<std::size_t>(n_));
    v_.emplace_back(Array<double>::adopt(column, nullptr, device_));
  }
  fill(device_, 1, 1.0, at(one));
  fill(device_, 1, -1.0, at(minus_one));
}

void HandWrittenGmres::gemv(cublasOperation_t operation, int columns, const double* alpha, const double* in,
                            const double* beta, double* out) {
  const int n = static_cast<int>(n_);
  cublas_.check(cublas_.gemv(handle_, operation, n, columns, alpha, basis_.data(), n, in, 1, beta, out, 1), "gemv");
}

/// w = A M v, orthogonalized and divided by its norm, all in its column of the basis.
void HandWrittenGmres::expand(int j) {
  const auto at_column = [&](int k) -> VendorVector& { return v_[static_cast<std::size_t>(k)]; };
  Column* const column = column_.data();
  VendorVector& w = at_column(j + 1);
  if (inverse_diagonal_.empty()) {
    product_.multiply(at_column(j), w);
  } else {
    multiply_elements(device_, n_, inverse_diagonal_.data(), at_column(j).data(), z_.data());
    product_.multiply(z_, w);
  }
  for (double* const h : {column->first, column->second}) {
    gemv(CUBLAS_OP_T, j + 1, at(one), w.data(), at(zero), h);
    gemv(CUBLAS_OP_N, j + 1, at(minus_one), h, at(one), w.data());
  }
  cublas_.check(cublas_.nrm2(handle_, static_cast<int>(n_), w.data(), 1, &column->norm), "nrm2");
  divide(device_, at(one), &column->norm, at(inverse), at(minus_inverse));
  cublas_.check(cublas_.scal(handle_, static_cast<int>(n_), at(inverse), w.data(), 1), "scal");
}

double HandWrittenGmres::rotate(int j, const Column& column) {
  double* const r = r_.data() + static_cast<std::ptrdiff_t>(j) * m;
  for (int i = 0; i <= j; ++i) r[i] = column.first[i] + column.second[i];
  for (int i = 0; i < j; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const double upper = cosine_[k] * r[i] + sine_[k] * r[i + 1];
    r[i + 1] = cosine_[k] * r[i + 1] - sine_[k] * r[i];
    r[i] = upper;
  }
  const auto k = static_cast<std::size_t>(j);
  const double pivot = std::hypot(r[j], column.norm);
  cosine_[k] = r[j] / pivot;
  sine_[k] = column.norm / pivot;
  r[j] = pivot;
  right_side_[k] = cosine_[k] * gamma_;
  gamma_ *= -sine_[k];
  return std::abs(gamma_);
}

void HandWrittenGmres::update_solution(int count, std::span<double> x) {
  std::array<double, m> y = right_side_;
  for (int k = count - 1; k >= 0; --k) {
    const double* const r = r_.data() + static_cast<std::ptrdiff_t>(k) * m;
    const auto at_k = static_cast<std::size_t>(k);
    y[at_k] /= r[k];
    for (int i = 0; i < k; ++i) y[static_cast<std::size_t>(i)] -= y[at_k] * r[i];
  }
  detail::copy_bytes(device_, y_.data(), Device{}, y.data(), static_cast<std::uint64_t>(count) * sizeof(double));
  if (inverse_diagonal_.empty()) return gemv(CUBLAS_OP_N, count, at(one), y_.data(), at(one), x.data());
  gemv(CUBLAS_OP_N, count, at(one), y_.data(), at(zero), z_.data());
  multiply_elements(device_, n_, inverse_diagonal_.data(), z_.data(), z_.data());
  cublas_.check(cublas_.axpy(handle_, static_cast<int>(n_), at(one), z_.data(), 1, x.data(), 1), "axpy");
}

double HandWrittenGmres::residual(std::span<const double> b, std::span<double> x) {
  const int n = static_cast<int>(n_);
  VendorVector& r = v_.front();
  cublas_.check(cublas_.copy(handle_, n, x.data(), 1, z_.data(), 1), "copy");
  product_.multiply(z_, v_[1]);
  cublas_.check(cublas_.copy(handle_, n, b.data(), 1, r.data(), 1), "copy");
  cublas_.check(cublas_.axpy(handle_, n, at(minus_one), v_[1].data(), 1, r.data(), 1), "axpy");
  cublas_.check(cublas_.nrm2(handle_, n, r.data(), 1, &column_.data()->norm), "nrm2");
  divide(device_, at(one), &column_.data()->norm, at(inverse), at(minus_inverse));
  cublas_.check(cublas_.scal(handle_, n, at(inverse), r.data(), 1), "scal");
  return on_host_.bring(column_.data(), cuda::Context::of(device_).stream()).norm;
}

double HandWrittenGmres::cycle(double first_norm, double target, std::int64_t most, std::span<double> x) {
  gamma_ = first_norm;
  double norm = first_norm;
  int count = 0;
  while (count < m && done_ < most) {
    expand(count);
    norm = rotate(count, on_host_.bring(column_.data(), cuda::Context::of(device_).stream()));
    ++count;
    ++done_;
    if (!(norm > target)) break;  // NaN too
  }
  update_solution(count, x);
  return norm;
}

HandWrittenResult HandWrittenGmres::solve(std::span<const double> b, std::span<double> x, const HandWrittenStop& stop) {
  const cuda::DeviceGuard current(device_);
  detail::zero_bytes(device_, x.data(), x.size_bytes());
  done_ = 0;
  const double b_norm = residual(b, x);
  const double target = stop.tolerance * b_norm;
  double norm = b_norm;
  while (done_ < stop.max_iterations) {
    norm = cycle(done_ == 0 ? b_norm : residual(b, x), target, stop.max_iterations, x);
    if (!(norm > target)) break;
  }
  return {done_, norm / b_norm};
}

}  // namespace tessera::bench
