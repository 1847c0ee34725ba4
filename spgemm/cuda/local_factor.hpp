/// \file
/// A factor where the product is formed.
#pragma once

#include "tessera/csr.hpp"

#include <optional>

namespace tessera::cuda {

/// The user's matrix, which must outlive this, or a copy of it on the device.
template <class T>
class LocalFactor {
 public:
  LocalFactor(const Csr<T>& matrix, const Device& device) : matrix_(&matrix) {
    if (!(matrix.device() == device)) copy_.emplace(matrix.to(device));
  }
  [[nodiscard]] CsrView<T> view() const noexcept { return copy_ ? copy_->view() : matrix_->view(); }

 private:
  const Csr<T>* matrix_;
  std::optional<Csr<T>> copy_;
};

}  // namespace tessera::cuda
