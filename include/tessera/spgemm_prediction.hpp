/// \file
/// Sizes and times of sparse products before they are formed, from HyperLogLog sketches (P. Flajolet et al., AofA 2007;
/// Ocean, §3), and the order in which a chain of products is formed.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/spgemm.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// A number with its standard error, relative to it. An error of 0 says that the number is exact.
struct Predicted {
  double value = 0.0;
  double error = 0.0;
};

/// A time and the factor by which it may be off: two of three times measured lie between ms / factor and ms * factor.
struct PredictedTime {
  double ms = 0.0;
  double factor = 1.0;
};

/// What is known of C = A B before it is formed.
struct ProductPrediction {
  std::string name;  ///< "A B", "A^2 A": what is multiplied
  index_t rows = 0;  ///< of C
  index_t cols = 0;
  Predicted products;            ///< scalar products a_ik b_kj
  Predicted nnz;                 ///< entries of C
  std::uint64_t bytes = 0;       ///< of C as CSR with values of its type
  std::uint64_t peak_bytes = 0;  ///< beside A and B: of the workflow `symbolic`, C included
  // By phase, of the workflow that counts first; not those of an upload.
  PredictedTime analysis;
  PredictedTime symbolic;
  PredictedTime numeric;

  [[nodiscard]] PredictedTime total() const noexcept;
};

/// What is known of a chain of products before the first is formed.
struct ChainPrediction {
  std::vector<ProductPrediction> products;  ///< in the order in which they are to be formed; the last one is the result
  std::string order;                        ///< "(A B) C"; "A A, A^2 A^2"
  std::string reason;                       ///< one sentence: why this order, with the work of the other
  int registers = 0;                        ///< per sketch
  double predict_ms = 0.0;                  ///< what it took to predict

  [[nodiscard]] PredictedTime total() const noexcept;
  [[nodiscard]] std::uint64_t peak_bytes() const noexcept;  ///< beside the factors; products still needed included
};

/// Predicts C = A B. The products of every row are counted; the entries of a sample of the rows, stratified by
/// products, are estimated by sketches of 1024 registers. Some 2 % of the products are looked at.
///
/// \param a m x k, \param b k x n; each on the host or on `device`, which does the work and for which times hold
///
/// \throws DimensionError; NotSupported for a matrix on another device; OutOfMemory, CudaError
///
/// O(nnz(A) + rows + products / 64) work, 2^24 products at most but for the largest rows; a byte per row of A.
template <class T>
[[nodiscard]] ProductPrediction predict(const Csr<T>& a, const Csr<T>& b, const Device& device = Device{});

/// In which order the products of a chain are formed.
enum class ChainOrder {
  automatic,      ///< the one with the least predicted work; three factors: see spgemm_chain()
  left_to_right,  ///< ((A B) C) D
  right_to_left,  ///< A (B (C D))
};

/// Predicts F_1 F_2 ... F_n for n >= 2 in the order that spgemm_chain() takes. Rows of the last factor are sketched;
/// the sketch of a row of a product is the union of those of rows of its right factor, so sketches go from factor to
/// factor and no product is formed. Columns are sketched alike, from the left.
///
/// \param factors of fitting sizes, each on the host or on `device`
///
/// \throws as predict(); InvalidArgument for fewer than two factors or more than 16, and for null pointers
///
/// O(n Σ nnz(F)) work; two sketches of 32 to 128 bytes per row of the largest factors, and 4 bytes per row and product.
template <class T>
[[nodiscard]] ChainPrediction predict_chain(std::span<const Csr<T>* const> factors, const Device& device = Device{},
                                            ChainOrder order = ChainOrder::automatic);

/// Predicts A^k as predict_chain() does. \param k 2 to 8 \throws as predict(); InvalidArgument for other k
template <class T>
[[nodiscard]] ChainPrediction predict_power(const Csr<T>& a, int k, const Device& device = Device{},
                                            PowerOrder order = PowerOrder::automatic);

/// The product of a chain, and how it was formed.
template <class T>
struct ChainResult {
  Csr<T> matrix;
  std::vector<SpgemmReport> products;  ///< in the order in which they were formed
  std::string order;                   ///< "(A B) C"
  std::string reason;                  ///< why this order
  double predict_ms = 0.0;             ///< what the choice took
};

/// F_1 F_2 ... F_n for n >= 2, in the order of least predicted work or a forced one (matrix-chain multiplication by
/// dynamic programming, Cormen et al., 15.2, with sketched sizes). Work is counted in scalar products, with 12 per
/// entry of a product; the order is the same on every device, and a gain below a tenth over left_to_right does not
/// count.
///
/// Of three factors A B and B C are predicted from samples first. Where they are worth as much, to a factor of 1.5, the
/// one whose rows have fewer products is formed first, and no more is predicted.
///
/// Sums depend on the order of association. The limit on memory counts products that are still needed, too. Where a
/// prediction needs more memory than there is, the order is left_to_right and the reason says so.
///
/// \throws as spgemm() and predict_chain(); sizes are checked before anything is formed
template <class T>
[[nodiscard]] ChainResult<T> spgemm_chain(std::span<const Csr<T>* const> factors, const SpgemmOptions& options = {},
                                          ChainOrder order = ChainOrder::automatic);

/// A B C ... in the predicted order.
template <class T, class... More>
[[nodiscard]] ChainResult<T> spgemm_chain(const Csr<T>& a, const Csr<T>& b, const Csr<T>& c, const More&... more) {
  const std::array<const Csr<T>*, 3 + sizeof...(More)> factors{&a, &b, &c, &more...};
  return spgemm_chain<T>(std::span<const Csr<T>* const>(factors));
}

}  // namespace tessera
