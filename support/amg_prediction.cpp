// Prediction of AMG hierarchies.
#include "support/amg_prediction.hpp"

#include "core/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::support {

namespace {

struct Count {
  std::int64_t value = 0;
  Count& operator+=(const Count& other) noexcept {
    value += other.value;
    return *this;
  }
};

/// Passes over the entries beside the diagonal.
template <class T>
class OffDiagonal {
 public:
  explicit OffDiagonal(const CsrView<T>& a) : a_(a), offsets_(a.row_offsets.data()), columns_(a.columns.data()) {}

  /// visit(j, |a_ij|)
  template <class Visit>
  void for_row(std::int64_t row, Visit&& visit) const {
    for (offset_t k = offsets_[row]; k < offsets_[row + 1]; ++k) {
      if (columns_[k] != row) visit(columns_[k], std::fabs(static_cast<double>(a_.value(k))));
    }
  }

 private:
  const CsrView<T>& a_;
  const offset_t* offsets_;
  const index_t* columns_;
};

}  // namespace

template <class T>
double strong_neighbours(const CsrView<T>& matrix, double threshold, const Device& device) {
  if (matrix.rows == 0) return 0.0;
  const OffDiagonal<T> entries(matrix);
  std::vector<double> all_largest(static_cast<std::size_t>(matrix.rows));
  double* largest = all_largest.data();
  host::parallel_for(device, matrix.rows, [&](host::Range rows) {
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      entries.for_row(i, [&](index_t /*j*/, double size) { largest[i] = std::max(largest[i], size); });
    }
  });
  const auto strong = host::parallel_sum<Count>(device, matrix.rows, [&](host::Range rows) {
    Count count;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      entries.for_row(i, [&](index_t j, double size) {
        if (size > 0.0 && size >= threshold * std::min(largest[i], largest[j])) ++count.value;
      });
    }
    return count;
  });
  return static_cast<double>(strong.value) / static_cast<double>(matrix.rows);
}

template double strong_neighbours(const CsrView<float>&, double, const Device&);
template double strong_neighbours(const CsrView<double>&, double, const Device&);

AmgPrediction predict_amg(const MatrixStatistics& matrix, double neighbours, const AmgOptions& options) {
  constexpr double rows_per_neighbour = 1.9;  // of an aggregate
  constexpr double growth = 2.6;              // of aggregates on the coarser levels
  constexpr double least_coarse = 6.0;
  constexpr double most_coarse = 20.0;
  AmgPrediction result;
  result.strong_neighbours = neighbours;
  result.levels.push_back({matrix.rows, matrix.nnz});
  double rows = matrix.rows;
  double all_rows = rows;
  auto all_entries = static_cast<double>(matrix.nnz);
  // Stencils grow in the product R A P: to about 10 entries per row in the plane, and further in space.
  const double coarse_row = neighbours < 5.0 ? 10.0 : 16.0 + neighbours;
  double factor = std::max(1.0, rows_per_neighbour * neighbours);
  while (rows > options.coarsest_rows && static_cast<int>(result.levels.size()) < options.max_levels && factor > 1.1) {
    rows = std::max(1.0, rows / factor);
    const double entries = rows * std::min(coarse_row, rows);
    result.levels.push_back({static_cast<index_t>(rows), static_cast<offset_t>(entries)});
    all_rows += rows;
    all_entries += entries;
    factor = std::clamp(growth * neighbours, least_coarse, most_coarse);
  }
  if (matrix.rows > 0) result.grid_complexity = all_rows / matrix.rows;
  if (matrix.nnz > 0) result.operator_complexity = all_entries / static_cast<double>(matrix.nnz);
  return result;
}

std::uint64_t predicted_bytes(const AmgPrediction& prediction, std::size_t element, const AmgOptions& options) {
  const std::size_t value = options.precision == AmgPrecision::single ? sizeof(float) : element;
  double bytes = 0.0;
  for (const PredictedLevel& level : prediction.levels) {
    constexpr double p_and_r = 2.0;  // about half of the entries of A each, in CSR
    constexpr double vectors = 5.0;
    bytes += p_and_r * static_cast<double>(level.nnz) * static_cast<double>(value + sizeof(index_t));
    bytes += static_cast<double>(level.rows) * (vectors * static_cast<double>(value) + sizeof(offset_t));
  }
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace tessera::support
