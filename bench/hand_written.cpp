#include "bench/hand_written.hpp"

#include "bench/hand_written_kernels.hpp"
#include "bench/report.hpp"
#include "core/cuda/context.hpp"
#include "core/stopwatch.hpp"

#include <cmath>
#include <utility>

namespace tessera::bench {

namespace {

/// Of Jacobi; empty without a diagonal.
HandWrittenPreconditioner by_elements(const Device& device, std::span<const double> diagonal) {
  if (diagonal.empty()) return {};
  return [device, diagonal](const VendorVector& v, VendorVector& out) {
    multiply_elements(device, out.values.size(), diagonal.data(), v.values.data(), out.data());
  };
}

}  // namespace

HandWrittenKrylov::HandWrittenKrylov(const VendorProduct& product, std::span<const double> inverse_diagonal)
    : HandWrittenKrylov(product, by_elements(product.device(), inverse_diagonal)) {}

HandWrittenKrylov::HandWrittenKrylov(const VendorProduct& product, HandWrittenPreconditioner preconditioner)
    : product_(product),
      preconditioner_(std::move(preconditioner)),
      device_(product.device()),
      n_(product.rows()),
      cublas_(CuBlas::library()),
      handle_(cublas_handle(device_)),
      scalars_(Scalar::count, Init::zero, device_),
      r_(n_, device_),
      p_(n_, device_),
      z_(preconditioner_ ? n_ : 0, device_),
      q_(n_, device_),
      s_hat_(preconditioner_ ? n_ : 0, device_),
      t_(n_, device_),
      shadow_(n_, Init::none, device_) {
  const cuda::DeviceGuard current(device_);
  fill(device_, 1, 1.0, at(one));
}

void HandWrittenKrylov::dot(const double* v, const double* w, Scalar result) {
  cublas_.check(cublas_.dot(handle_, static_cast<int>(n_), v, 1, w, 1, at(result)), "dot");
}

void HandWrittenKrylov::add(Scalar factor, const double* v, double* w) {
  cublas_.check(cublas_.axpy(handle_, static_cast<int>(n_), at(factor), v, 1, w, 1), "axpy");
}

void HandWrittenKrylov::scale(Scalar factor, double* v) {
  cublas_.check(cublas_.scal(handle_, static_cast<int>(n_), at(factor), v, 1), "scal");
}

void HandWrittenKrylov::copy(const double* from, double* to) {
  cublas_.check(cublas_.copy(handle_, static_cast<int>(n_), from, 1, to, 1), "copy");
}

VendorVector& HandWrittenKrylov::precondition(VendorVector& v, VendorVector& out) {
  if (!preconditioner_) return v;
  preconditioner_(v, out);
  return out;
}

double HandWrittenKrylov::bring_residual() { return on_host_.bring(at(residual), cuda::Context::of(device_).stream()); }

/// x = 0,  r = b
void HandWrittenKrylov::begin(std::span<const double> b, std::span<double> x) {
  detail::zero_bytes(device_, x.data(), x.size_bytes());
  copy(b.data(), r_.data());
  dot(r_.data(), r_.data(), residual);
  b_squared_ = bring_residual();
}

template <class Iteration>
HandWrittenResult HandWrittenKrylov::iterate(const HandWrittenStop& stop, Iteration iteration) {
  const double target = stop.tolerance * stop.tolerance * b_squared_;
  HandWrittenResult result{0, 1.0};
  while (result.iterations < stop.max_iterations) {
    iteration();
    ++result.iterations;
    if (result.iterations % stop.check_every != 0 && result.iterations < stop.max_iterations) continue;
    const double squared = bring_residual();
    result.residual = std::sqrt(squared / b_squared_);
    if (!(squared > target)) break;  // NaN too
  }
  return result;
}

HandWrittenResult HandWrittenKrylov::cg(std::span<const double> b, std::span<double> x, const HandWrittenStop& stop) {
  const cuda::DeviceGuard current(device_);
  begin(b, x);
  const VendorVector& z = precondition(r_, z_);
  copy(z.values.data(), p_.data());
  dot(r_.data(), z.values.data(), rho);
  return iterate(stop, [&] { cg_iteration(x.data()); });
}

void HandWrittenKrylov::cg_iteration(double* x) {
  product_.multiply(p_, q_);
  dot(p_.data(), q_.data(), below);
  divide(device_, at(rho), at(below), at(alpha), at(minus_alpha));
  add(alpha, p_.data(), x);
  add(minus_alpha, q_.data(), r_.data());
  dot(r_.data(), r_.data(), residual);
  VendorVector& z = precondition(r_, z_);
  const bool is_preconditioned = static_cast<bool>(preconditioner_);
  if (is_preconditioned) dot(r_.data(), z.data(), next_rho);
  conjugate_beta(device_, at(is_preconditioned ? next_rho : residual), at(rho), at(beta));
  scale(beta, p_.data());
  add(one, z.data(), p_.data());
}

HandWrittenResult HandWrittenKrylov::bicgstab(std::span<const double> b, std::span<double> x,
                                              const HandWrittenStop& stop) {
  const cuda::DeviceGuard current(device_);
  begin(b, x);
  copy(r_.data(), shadow_.data());
  copy(r_.data(), p_.data());
  dot(shadow_.data(), r_.data(), rho);
  return iterate(stop, [&] { bicgstab_iteration(x.data()); });
}

void HandWrittenKrylov::bicgstab_iteration(double* x) {
  // v = A M p,  s = r - α v
  VendorVector& p_hat = precondition(p_, z_);
  product_.multiply(p_hat, q_);
  dot(shadow_.data(), q_.data(), below);
  divide(device_, at(rho), at(below), at(alpha), at(minus_alpha));
  add(minus_alpha, q_.data(), r_.data());
  // t = A M s,  ω = <t, s> / <t, t>
  VendorVector& s_hat = precondition(r_, s_hat_);
  product_.multiply(s_hat, t_);
  dot(t_.data(), r_.data(), quotient);
  dot(t_.data(), t_.data(), below);
  divide(device_, at(quotient), at(below), at(omega), at(minus_omega));
  // x += α M p + ω M s,  r = s - ω t
  add(alpha, p_hat.data(), x);
  add(omega, s_hat.data(), x);
  add(minus_omega, t_.data(), r_.data());
  dot(r_.data(), r_.data(), residual);
  // p = r + β (p - ω v)
  dot(shadow_.data(), r_.data(), next_rho);
  stabilised_beta(device_, at(next_rho), at(alpha), at(omega), at(rho), at(beta));
  add(minus_omega, q_.data(), p_.data());
  scale(beta, p_.data());
  add(one, r_.data(), p_.data());
}

HandWrittenPageRank::HandWrittenPageRank(const TransitionMatrix<double>& transition, const Device& device)
    : device_(device),
      n_(transition.vertices()),
      ranks_(n_, device),
      next_(n_, device),
      partial_(rank_step_blocks, Init::none, device),
      sums_(1, Init::zero, device) {
  const cuda::DeviceGuard current(device_);
  const Stopwatch upload;
  in_links_ = std::make_unique<const Csr<double>>(transition.in_links()->to(device_));
  out_inverse_ = Array<double>::copy_of(transition.inverse_out_weight(), device_);
  synchronize(device_);
  upload_ms_ = upload.milliseconds();
  constexpr int setups = 3;
  std::vector<double> times;
  for (int i = 0; i < setups; ++i) {
    const Stopwatch setup;
    set_up();
    times.push_back(setup.milliseconds());
  }
  setup_ms_ = summarise(times).median;
}

void HandWrittenPageRank::set_up() {
  const CsrView<double> links = in_links_->view();
  product_.reset();
  offsets_ = narrow_row_offsets(links, device_);
  values_ = {};
  values_ = Array<double>(links.nnz(), Init::none, device_);
  gather(device_, links.nnz(), links.columns.data(), out_inverse_.data(), values_.data());
  product_ = std::make_unique<const VendorProduct>(links, offsets_.span(), values_.span(), device_);
  synchronize(device_);
}

/// x = 1 / n, and the sums of a step that led there: what dangles of it.
void HandWrittenPageRank::start() {
  detail::zero_bytes(device_, sums_.data(), sums_.bytes());
  detail::zero_bytes(device_, next_.data(), next_.values.bytes());
  rank_step(device_, n_, 0.0, next_.data(), out_inverse_.data(), ranks_.data(), partial_.data(), sums_.data());
  synchronize(device_);
}

double HandWrittenPageRank::run(double damping, std::int64_t iterations, int check_every) {
  const cuda::DeviceGuard current(device_);
  const cudaStream_t stream = cuda::Context::of(device_).stream();
  start();
  const Stopwatch watch;
  for (std::int64_t iteration = 1; iteration <= iterations; ++iteration) {
    product_->multiply(ranks_, next_);
    rank_step(device_, n_, damping, next_.data(), out_inverse_.data(), ranks_.data(), partial_.data(), sums_.data());
    if (iteration % check_every == 0 || iteration == iterations) {
      static_cast<void>(on_host_.bring(sums_.data(), stream));
    }
  }
  return watch.milliseconds();
}

std::vector<double> HandWrittenPageRank::ranks() const {
  std::vector<double> result(static_cast<std::size_t>(n_));
  detail::copy_bytes(Device{}, result.data(), device_, ranks_.values.data(), ranks_.values.bytes());
  return result;
}

}  // namespace tessera::bench
