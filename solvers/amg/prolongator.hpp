/// \file
/// Prolongators of smoothed aggregation: the tentative T, whose columns are near-nullspace vectors cut to aggregates
/// and made orthonormal there, and P = (I - ω D⁻¹ A_f) T (Vaněk, Mandel & Brezina).
#pragma once

#include "core/csr_pointers.hpp"
#include "solvers/amg/aggregation.hpp"
#include "solvers/amg/setup_ranks.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "tessera/csr.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::detail {

/// Vectors that A maps nearly to 0, and how rows form nodes.
template <class T>
struct NearNullspace {
  int block = 1;    ///< rows per node
  int vectors = 1;  ///< columns of T per aggregate
  Array<T> values;  ///< row-major, `vectors` per row; empty: the constant 1 (and T holds ones, not normalised)
};

/// lengths[i] of the rows of T.
struct TentativeLengths {
  using Sums = NoSum;
  const index_t* aggregates;  ///< of nodes
  int block;
  int vectors;
  offset_t* lengths;
  TESSERA_HOST_DEVICE void operator()(std::int64_t row, NoSum& /*sum*/) const {
    lengths[row] = aggregates[row / block] < 0 ? 0 : vectors;
  }
};

/// Columns of T, and its values: 1, or those in `local`.
template <class T>
struct TentativeEntries {
  using Sums = NoSum;
  const index_t* aggregates;
  const offset_t* offsets;
  const T* local;  ///< `vectors` per row; null: ones
  int block;
  int vectors;
  index_t* columns;
  T* values;
  TESSERA_HOST_DEVICE void operator()(std::int64_t row, NoSum& /*sum*/) const {
    const index_t aggregate = aggregates[row / block];
    if (aggregate < 0) return;
    for (int c = 0; c < vectors; ++c) {
      columns[offsets[row] + c] = aggregate * vectors + c;
      values[offsets[row] + c] = local == nullptr ? T{1} : local[row * vectors + c];
    }
  }
};

/// Orthonormal columns of one aggregate by modified Gram-Schmidt, in place; the factors are the near-nullspace of the
/// coarser level. A column that depends on the earlier ones becomes 0, and leaves an empty row in the coarser matrix.
template <class T>
struct OrthonormaliseAggregate {
  using Sums = NoSum;
  const offset_t* members;  ///< row offsets of aggregates x nodes
  const index_t* nodes;
  int block;
  int vectors;
  T* local;   ///< row-major, `vectors` per fine row
  T* coarse;  ///< row-major, vectors x vectors per aggregate

  TESSERA_HOST_DEVICE void operator()(std::int64_t aggregate, NoSum& /*sum*/) const {
    T* const factors = coarse + aggregate * vectors * vectors;
    for (int c = 0; c < vectors; ++c) {
      const T before = norm(aggregate, c);
      for (int e = 0; e < c; ++e) factors[e * vectors + c] = project(aggregate, e, c);
      const T after = norm(aggregate, c);
      const bool depends = !(after > tolerance() * before);
      factors[c * vectors + c] = depends ? T{0} : after;
      for (int e = c + 1; e < vectors; ++e) factors[e * vectors + c] = T{0};
      scale(aggregate, c, depends ? T{0} : T{1} / after);
    }
  }

 private:
  [[nodiscard]] TESSERA_HOST_DEVICE static constexpr T tolerance() noexcept {
    return sizeof(T) == sizeof(double) ? static_cast<T>(1e-9) : static_cast<T>(1e-4);
  }
  /// Calls body(element of column c, its row's first element) for the rows of the aggregate.
  template <class Body>
  TESSERA_HOST_DEVICE void for_each_row(std::int64_t aggregate, const Body& body) const {
    for (offset_t m = members[aggregate]; m < members[aggregate + 1]; ++m) {
      T* const node = local + std::int64_t{nodes[m]} * block * vectors;
      for (int r = 0; r < block; ++r) body(node + std::int64_t{r} * vectors);
    }
  }
  [[nodiscard]] TESSERA_HOST_DEVICE T norm(std::int64_t aggregate, int c) const {
    T squares{};
    for_each_row(aggregate, [&](const T* row) { squares += fused::rounded_product(row[c], row[c]); });
    return std::sqrt(squares);
  }
  [[nodiscard]] TESSERA_HOST_DEVICE T project(std::int64_t aggregate, int e, int c) const {
    T dot{};
    for_each_row(aggregate, [&](const T* row) { dot += fused::rounded_product(row[e], row[c]); });
    for_each_row(aggregate, [&](T* row) { row[c] -= fused::rounded_product(dot, row[e]); });
    return dot;
  }
  TESSERA_HOST_DEVICE void scale(std::int64_t aggregate, int c, T factor) const {
    for_each_row(aggregate, [&](T* row) { row[c] = factor == T{0} ? T{0} : row[c] * factor; });
  }
};

/// P = T - ω D⁻¹ (A_f T), in the place of A_f T, whose pattern holds that of T.
template <class T>
struct SmoothProlongator {
  using Sums = NoSum;
  using Total = NoSum;
  const offset_t* row_offsets;
  const index_t* columns;
  const T* products;  ///< of A_f T
  T* values;          ///< of P; may be the same
  const index_t* aggregates;
  const T* local;  ///< as TentativeEntries
  const T* diagonal;
  T omega;
  int block;
  int vectors;
  index_t first;  ///< row of A that the first one of the products is

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return row_offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t of_product, offset_t k, NoSum& /*sums*/) const {
    const index_t row = first + of_product;
    const index_t column = columns[k];
    const T scale = diagonal[row] > T{0} ? omega / diagonal[row] : T{0};
    T tentative{};
    if (column / vectors == aggregates[row / block]) {
      tentative = local == nullptr ? T{1} : local[std::int64_t{row} * vectors + column % vectors];
    }
    values[k] = tentative - fused::rounded_product(scale, products[k]);
  }
  TESSERA_HOST_DEVICE void finish(index_t /*row*/, const NoSum& /*sums*/, NoSum& /*total*/) const {}
};

/// Σ_j a_ij², per entry: what the norms of blocks are summed from.
template <class T>
struct SquareValues {
  using Sums = NoSum;
  CsrPointers<T> a;
  T* squares;
  TESSERA_HOST_DEVICE void operator()(std::int64_t k, NoSum& /*sum*/) const {
    const T value = value_at(a, k);
    squares[k] = value * value;
  }
};
template <class T>
struct RootValues {
  using Sums = NoSum;
  T* values;
  TESSERA_HOST_DEVICE void operator()(std::int64_t k, NoSum& /*sum*/) const { values[k] = std::sqrt(values[k]); }
};

/// A pattern with `entries` per row, whose columns ascend through the whole matrix, each `repeats` times: E (nodes x
/// rows; block entries, each once) and Eᵀ (rows x nodes; one entry, each block times). Runs on rows + 1 elements.
struct NodePattern {
  using Sums = NoSum;
  std::int64_t rows;
  int entries;
  int repeats;
  offset_t* offsets;
  index_t* columns;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    offsets[i] = i * entries;
    if (i == rows) return;
    for (int e = 0; e < entries; ++e) columns[i * entries + e] = static_cast<index_t>((i * entries + e) / repeats);
  }
};

/// Rigid-body modes: the rows of a node. Coordinates are taken from the centre in units of the largest.
template <class T>
struct RigidBodyModes {
  using Sums = NoSum;
  const double* coordinates;
  double centre[3];
  double unit;
  int dimensions;
  T* modes;
  TESSERA_HOST_DEVICE void operator()(std::int64_t node, NoSum& /*sum*/) const {
    const int count = dimensions == 2 ? 3 : 6;
    double at[3] = {};
    for (int c = 0; c < dimensions; ++c) at[c] = (coordinates[node * dimensions + c] - centre[c]) * unit;
    T* const rows = modes + node * dimensions * count;
    for (int k = 0; k < dimensions * count; ++k) rows[k] = T{0};
    for (int c = 0; c < dimensions; ++c) rows[c * count + c] = T{1};
    // A rotation in the plane of axes e and f moves (e, f) by (-f, e).
    int mode = dimensions;
    for (int e = 0; e < dimensions; ++e) {
      for (int f = e + 1; f < dimensions; ++f, ++mode) {
        rows[e * count + mode] = static_cast<T>(-at[f]);
        rows[f * count + mode] = static_cast<T>(at[e]);
      }
    }
  }
};

/// The constant of every unknown of a node, row-major.
template <class T>
struct ConstantModes {
  using Sums = NoSum;
  int block;
  T* modes;
  TESSERA_HOST_DEVICE void operator()(std::int64_t row, NoSum& /*sum*/) const {
    for (int c = 0; c < block; ++c) modes[row * block + c] = row % block == c ? T{1} : T{0};
  }
};

/// T and what it was made of.
template <class T>
struct Tentative {
  Csr<T> matrix;          ///< rows of A x vectors per aggregate
  Array<T> local;         ///< row-major, `vectors` per row; empty: ones
  NearNullspace<T> next;  ///< of the coarser level
};

/// O(rows vectors²). \param aggregates of nodes
template <class T>
[[nodiscard]] Tentative<T> tentative_prolongator(const Device& device, std::int64_t rows, const Aggregates& aggregates,
                                                 const NearNullspace<T>& nullspace);

/// P from A_f T. \param products rows of A_f T, whose structure P shares \param first the first of these rows
template <class T>
[[nodiscard]] Csr<T> smooth_prolongator(const Device& device, const Csr<T>& products, const Aggregates& aggregates,
                                        const Tentative<T>& tentative, const NearNullspace<T>& nullspace,
                                        const T* diagonal, double omega, index_t first = 0);

/// Rows of at most so many entries are short.
inline constexpr int longest_short_row = 8;

/// The matrix of nodes: its entry (I, J) is the Frobenius norm of the block of A. E (A∘A) Eᵀ by two sparse products.
template <class T>
[[nodiscard]] Csr<T> node_graph(const Device& device, const CsrView<T>& a, int block);

/// Rigid-body modes of nodes, row-major: 3 per row in two dimensions, 6 in three. O(n)
/// \param coordinates of nodes, `dimensions` each, on the host
template <class T>
[[nodiscard]] Array<T> rigid_body_modes(const Device& device, std::span<const double> coordinates, int dimensions);

}  // namespace tessera::detail

namespace tessera::cuda {
/// P = (I - ω D⁻¹ A_f) T for the T of ones, in some rows; the others are empty. O(nnz); waits. \param a A_f, with short
/// rows
template <class T>
[[nodiscard]] Csr<T> smooth_short_rows(const Device& device, const CsrView<T>& a, detail::RowRange rows,
                                       const detail::Aggregates& aggregates, const T* diagonal, double omega);
}  // namespace tessera::cuda
