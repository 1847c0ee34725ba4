#include "bench/krylov_system.hpp"

#include "bench/zoo.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "tessera/error.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace tessera::bench {

namespace {

double row_product(const CsrView<double>& a, std::size_t row, const double* x) {
  double sum = 0.0;
  for (auto k = static_cast<std::size_t>(a.row_offsets[row]); k < static_cast<std::size_t>(a.row_offsets[row + 1]);
       ++k) {
    sum += a.values[k] * x[a.columns[k]];
  }
  return sum;
}

double norm(const std::vector<double>& v) {
  const double squares =
      host::parallel_sum<double>(Device{}, static_cast<std::int64_t>(v.size()), [&v](host::Range range) {
        double sum = 0.0;
        for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
          sum += v[i] * v[i];
        }
        return sum;
      });
  return std::sqrt(squares);
}

}  // namespace

KrylovSystem::KrylovSystem(std::string name, Csr<double> matrix, std::vector<double> b, const Device& device)
    : name_(std::move(name)),
      device_(device),
      host_(std::move(matrix)),
      host_b_(std::move(b)),
      b_norm_(norm(host_b_)),
      b_(Array<double>::copy_of(host_b_, device)),
      x_(host_.rows(), Init::zero, device) {
  if (host_.rows() != host_.cols()) {
    throw DimensionError(fmt::format("{}: the matrix is {} x {}, not square", name_, host_.rows(), host_.cols()));
  }
  const MatrixStatistics facts = statistics(host_.view());
  may_be_positive_definite_ =
      facts.symmetry == Symmetry::numerical && facts.full_diagonal() && facts.diagonal_negative == 0;
  const Stopwatch watch;
  matrix_ = std::make_shared<const Csr<double>>(host_.to(device));
  synchronize(device);
  upload_ms_ = watch.milliseconds();
}

double KrylovSystem::true_residual() const {
  std::vector<double> x(host_b_.size());
  detail::copy_bytes(Device{}, x.data(), device_, x_.data(), x_.bytes());
  if (norm(x) == 0.0) return std::numeric_limits<double>::quiet_NaN();
  const CsrView<double> a = host_.view();
  const double squares = host::parallel_sum<double>(Device{}, a.rows, [&](host::Range range) {
    double sum = 0.0;
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      const double left = host_b_[i] - row_product(a, i, x.data());
      sum += left * left;
    }
    return sum;
  });
  const double residual = std::sqrt(squares) / b_norm_;
  return std::isfinite(residual) ? residual : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> scattered_right_side(index_t n) {
  std::vector<double> b = input_vector<double>(n);
  for (double& value : b) value -= 0.5;
  return b;
}

std::vector<double> row_sums(const Csr<double>& matrix) {
  const std::vector<double> ones(static_cast<std::size_t>(matrix.cols()), 1.0);
  std::vector<double> sums(static_cast<std::size_t>(matrix.rows()));
  const CsrView<double> a = matrix.view();
  host::parallel_for(Device{}, matrix.rows(), [&](host::Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      sums[i] = row_product(a, i, ones.data());
    }
  });
  return sums;
}

}  // namespace tessera::bench
