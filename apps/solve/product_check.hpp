/// \file
/// (A B) x against A (B x) for a random x, for all rows of the product or for its slices.
#pragma once

#include "spgemm_command.hpp"

#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <vector>

namespace tessera::cli {

/// y = M x, and |M| |x| beside it.
struct CheckedVector {
  std::vector<double> value;
  std::vector<double> magnitude;
};

template <class T>
class ProductCheck {
 public:
  /// Forms A (B x), or A (... (A x)) for a power. \param b A for a power
  ProductCheck(const SpgemmSettings& settings, const Csr<T>& a, const Csr<T>& b);

  /// Checks rows of the product. \param first_row number of the slice's first row \param products those that formed it
  void add(const CsrView<T>& slice, index_t first_row, const std::vector<SpgemmReport>& products);
  [[nodiscard]] const MultiplyCheck& result() const noexcept { return result_; }

  /// Bytes held meanwhile: x, |x|, two vectors of values and magnitudes before and after a product, and those of C x.
  [[nodiscard]] static std::uint64_t bytes(const Csr<T>& a, const Csr<T>& b) noexcept;

 private:
  int factors_;
  offset_t longest_;  ///< row of A
  CheckedVector x_;
  CheckedVector expected_;
  MultiplyCheck result_;
};

extern template class ProductCheck<float>;
extern template class ProductCheck<double>;

}  // namespace tessera::cli
