/// \file
/// Tomography: an image from the lengths that rays travel through it, measured with noise. There are fewer rays than
/// pixels, so the least squares solution is not unique: LSMR gives the one of least norm. It fits the noise; damping
/// does not.
///
///     least_squares [PIXELS A SIDE]

#include <tessera/assemble.hpp>
#include <tessera/error.hpp>
#include <tessera/least_squares.hpp>
#include <tessera/spmv.hpp>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <numbers>
#include <span>
#include <vector>

namespace {

struct Entries {
  std::vector<tessera::index_t> rows;
  std::vector<tessera::index_t> cols;
  std::vector<double> lengths;
};

/// The lengths of a ray in the pixels of the square: by small steps, which assemble() adds up.
void add_ray(tessera::index_t row, double angle, double offset, std::int64_t side, Entries& entries) {
  constexpr double step = 0.0625;
  const double centre = 0.5 * static_cast<double>(side);
  const auto reach = static_cast<std::int64_t>(static_cast<double>(side) / step);
  for (std::int64_t k = -reach; k <= reach; ++k) {
    const double along = static_cast<double>(k) * step;
    const double x = std::floor(centre + offset * std::sin(angle) + along * std::cos(angle));
    const double y = std::floor(centre - offset * std::cos(angle) + along * std::sin(angle));
    if (x < 0.0 || y < 0.0 || x >= static_cast<double>(side) || y >= static_cast<double>(side)) continue;
    entries.rows.push_back(row);
    entries.cols.push_back(static_cast<tessera::index_t>(x * static_cast<double>(side) + y));
    entries.lengths.push_back(step);
  }
}

/// Parallel rays under 18 angles, one pixel apart.
tessera::Csr<double> make_rays(std::int64_t side) {
  constexpr int angles = 18;
  Entries entries;
  tessera::index_t rays = 0;
  for (int a = 0; a < angles; ++a) {
    for (std::int64_t i = 0; i < side; ++i) {
      const double offset = static_cast<double>(i) + 0.5 - 0.5 * static_cast<double>(side);
      add_ray(rays++, std::numbers::pi * (a + 0.25) / angles, offset, side, entries);
    }
  }
  return tessera::assemble<double>(rays, side * side, entries.rows, entries.cols, entries.lengths).matrix;
}

/// A disc beside the centre.
std::vector<double> make_image(std::int64_t side) {
  std::vector<double> image;
  const auto pixels = static_cast<double>(side);
  for (std::int64_t i = 0; i < side * side; ++i) {
    const std::int64_t row = i / side;
    const double x = static_cast<double>(row) / pixels - 0.4;
    const double y = static_cast<double>(i % side) / pixels - 0.55;
    image.push_back(x * x + y * y < 0.0625 ? 1.0 : 0.0);
  }
  return image;
}

/// The relative error of the image by one damping.
double reconstruct(const tessera::SpmvPlan<double>& A, const std::vector<double>& b, const std::vector<double>& image,
                   double damping) {
  std::vector<double> x(image.size(), 0.0);
  tessera::LeastSquaresOptions options;
  options.damping = damping;
  const tessera::LeastSquaresReport report = tessera::lsmr(A, b, x, options);
  if (!report.converged()) throw tessera::Error(report.reason);
  double squares = 0.0;
  double of_image = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    squares += (x[i] - image[i]) * (x[i] - image[i]);
    of_image += image[i] * image[i];
  }
  const double error = std::sqrt(squares / of_image);
  std::cout << "damping " << damping << ": " << report.iterations << " iterations, ended by "
            << to_string(report.ended_by) << ", ||b - A x|| " << report.true_residual << ", ||x|| " << report.x_norm
            << ", cond(A) at least " << report.condition << ", error of the image " << error << '\n';
  return error;
}

int compare(std::int64_t side) {
  tessera::SpmvOptions with_transpose;
  with_transpose.with_transpose = true;
  const tessera::SpmvPlan<double> A(make_rays(side), with_transpose);
  const std::vector<double> image = make_image(side);
  std::vector<double> b(static_cast<std::size_t>(A.rows()));
  A.apply(std::span<const double>(image), std::span<double>(b));
  // Errors of measurement, of either sign.
  for (std::size_t i = 0; i < b.size(); ++i) b[i] += 0.4 * std::sin(1e3 * static_cast<double>(i * i % 7919));
  std::cout << std::setprecision(3) << A.rows() << " rays, " << A.cols() << " pixels\n";
  const double undamped = reconstruct(A, b, image, 0.0);
  const double damped = reconstruct(A, b, image, 2.0);
  std::cout << "damping lowers the error: " << (damped < undamped ? "yes" : "no") << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const long side = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 40;
  if (argc > 2 || side < 4 || side > 500) {
    std::cerr << "usage: least_squares [PIXELS A SIDE, 4 to 500]\n";
    return 2;
  }
  try {
    return compare(side);
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
