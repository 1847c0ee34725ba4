/// \file
/// Backends of the prediction of products: a sample of one product, and sketches that go from factor to factor.
#pragma once

#include "core/detail_namespace.hpp"
#include "spgemm/common/phase_times.hpp"
#include "spgemm/common/product_sample.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace tessera::detail {

/// Groups of the registers of a row's sketch in a chain.
inline constexpr int chain_groups = 4;

/// Entries of rows that are estimated by their sketches, and by each group of registers.
struct SketchedEntries {
  double entries = 0.0;
  double groups[chain_groups] = {};

  TESSERA_HOST_DEVICE SketchedEntries& operator+=(const SketchedEntries& other) noexcept {
    entries += other.entries;
    for (int g = 0; g < chain_groups; ++g) groups[g] += other.groups[g];
    return *this;
  }
};

/// The size of a row from its sketch of M registers, added to the sums over rows. \param most that it may have
template <int M>
[[nodiscard]] TESSERA_HOST_DEVICE float estimate_row(const std::uint8_t* sketch, double most,
                                                     SketchedEntries& sums) noexcept {
  constexpr int of_group = M / chain_groups;
  const auto bounded = [](double size, double bound) { return size < bound ? size : bound; };
  SketchSums all;
  for (int g = 0; g < chain_groups; ++g) {
    SketchSums part;
    for (int r = 0; r < of_group; ++r) part.add(sketch[g * of_group + r]);
    sums.groups[g] += bounded(corrected_estimate<of_group>(part), most / chain_groups);
    all.powers += part.powers;
    all.empty += part.empty;
  }
  const auto size = static_cast<float>(bounded(corrected_estimate<M>(all), most));
  sums.entries += static_cast<double>(size);
  return size;
}

/// Sketches of the rows of a product, four registers per word, and what they estimate.
struct RowSketches {
  Array<std::uint32_t> words;                 ///< registers / 4 per row
  Array<float> sizes;                         ///< entries of each row, estimated
  double entries = 0.0;                       ///< their sum
  std::array<double, chain_groups> groups{};  ///< the same by each group of registers: entries / chain_groups, about
};

/// Standard error of a sum from estimates of its equal parts, relative.
template <std::size_t N>
[[nodiscard]] double error_of_groups(const std::array<double, N>& groups) {
  const double sum = std::accumulate(groups.begin(), groups.end(), 0.0);
  if (sum == 0.0) return 0.0;
  double squares = 0.0;
  for (const double part : groups) squares += (part - sum / N) * (part - sum / N);
  return std::sqrt(N * squares / (N - 1)) / sum;
}

/// How fast a device is, and what the analysis of a product holds per row.
struct DeviceModel {
  ProductModel times;
  double speed = 1.0;
  std::uint64_t row_bytes = 0;
};
[[nodiscard]] DeviceModel model_of(const Device& device);

/// Completes a prediction whose sizes are known.
void add_costs(ProductPrediction& of, double a_nnz, std::size_t value_bytes, const DeviceModel& model);

}  // namespace tessera::detail

namespace tessera::host {

using namespace detail;

/// \param a, b on the host
template <class T>
[[nodiscard]] ProductSample sample_product(const CsrView<T>& a, const CsrView<T>& b, const Device& device);

/// Sketches of the rows of a matrix; sizes are its lengths of rows. \param registers 32, 64 or 128
template <class T>
[[nodiscard]] RowSketches sketch_rows(const CsrView<T>& a, int registers, const Device& device);

/// Sketches of the rows of A B from those of B. \param most entries that a row may have: columns of B
template <class T>
[[nodiscard]] RowSketches merge_sketches(const CsrView<T>& a, const RowSketches& b, index_t most, int registers,
                                         const Device& device);

/// Σ u_k v_k
[[nodiscard]] double products_of_sizes(const Array<float>& u, const Array<float>& v, const Device& device);

}  // namespace tessera::host

namespace tessera::cuda {

using namespace detail;

// The same on a GPU, where all arrays lie. They throw DeviceUnavailable in a build without CUDA.

template <class T>
[[nodiscard]] ProductSample sample_product(const CsrView<T>& a, const CsrView<T>& b, const Device& device);
template <class T>
[[nodiscard]] RowSketches sketch_rows(const CsrView<T>& a, int registers, const Device& device);
template <class T>
[[nodiscard]] RowSketches merge_sketches(const CsrView<T>& a, const RowSketches& b, index_t most, int registers,
                                         const Device& device);
[[nodiscard]] double products_of_sizes(const Array<float>& u, const Array<float>& v, const Device& device);
[[nodiscard]] int multiprocessors_of(const Device& device);

}  // namespace tessera::cuda
