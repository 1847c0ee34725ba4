/// \file
/// The matrices of the benchmarks on a GPU: generated families at full size or a part of it, made once on the host,
/// with reference products.
#pragma once

#include "tessera/csr.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera::bench {

/// "lap2d", ..., "rowskew".
[[nodiscard]] const std::vector<std::string>& zoo_families();

/// A family's structure with values, in double, on the host.
struct ZooMatrix {
  std::string family;
  Csr<double> matrix;
  double generate_ms = 0.0;
};

/// The families of generate(), and matrices of blocks: "elast3", "block4", "block6" (3, 4, 6 unknowns per node of 40^3,
/// 32^3, 25^3 nodes, each linked to its 27 neighbours) and "band120" (60 000 rows of 120 contiguous columns);
/// "stencil5" and "stencil27" have constant coefficients on the grids of lap2d and fem3d, "shuffled5" and "shuffled27"
/// the same numbered at random. A name with an extension is a Matrix Market file, read whole. What
/// follows a colon changes the matrix: "lap2d:any" has random values of 53 digits that are not symmetric,
/// "lap2d:symmetric" such that are, "lap2d:float" those of lap2d rounded to float, "lap2d:few" 200 different ones,
/// multiples of 1/64, "kmer:ones" none but 1, and "kmer:rcm" rows and columns in reverse Cuthill-McKee order. \param
/// part of the full number of rows, in (0, 1] \throws std::runtime_error for an unknown family; as read_matrix_market()
[[nodiscard]] ZooMatrix make_zoo_matrix(const std::string& family, double part);

/// The matrix with other values. \param values any, few, float, ones or symmetric, as in make_zoo_matrix()
/// \throws std::runtime_error for another name
[[nodiscard]] Csr<double> with_zoo_values(const Csr<double>& matrix, const std::string& values);

/// The matrix of a graph, rows and columns ordered by reverse Cuthill-McKee. \param matrix square
[[nodiscard]] Csr<double> in_rcm_order(const Csr<double>& matrix);

/// Values rounded to T, the same structure.
template <class T>
[[nodiscard]] Csr<T> with_type(const Csr<double>& matrix);

/// The structure alone.
template <class T>
[[nodiscard]] Csr<T> pattern_of(const Csr<double>& matrix);

/// n numbers in [0, 1), multiples of 2^-24, which float holds too.
template <class T>
[[nodiscard]] std::vector<T> input_vector(index_t n);

/// y = A x row by row in long double, and the length of every row, from which its rounding errors follow.
struct Reference {
  std::vector<double> y;
  std::vector<double> magnitude;  ///< |A| |x|
  std::vector<offset_t> length;
};

/// \param round_values to float first
template <class T>
[[nodiscard]] Reference reference_product(const CsrView<T>& matrix, std::span<const T> x, bool round_values);

/// The largest error of all rows over what rounding in T explains: below 1 for a correct product, infinity for NaN.
/// (length + 4) * epsilon * |A| |x| bounds the error of a row in whatever order it is summed; of long rows less is
/// accepted.
template <class T>
[[nodiscard]] double error_over_bound(const Reference& reference, std::span<const T> y);

}  // namespace tessera::bench
