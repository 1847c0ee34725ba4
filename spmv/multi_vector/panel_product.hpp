/// \file
/// Products of a CSR matrix with a multivector on a GPU, by panels of eight and of four columns: the matrix is read
/// once per panel. What a plan takes for several columns where its kernel has no product of its own.
#pragma once

#include "spmv/multi_vector/csr_product.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/multi_vector.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace tessera::cuda {

/// How the nonzeros are shared out.
enum class PanelForm {
  rows,  ///< csr-vector: strands of lanes per row, long rows by parts (Bell & Garland, SC 2009)
  path,  ///< MERBIT: equal shares of the merge path, one per strand (Merrill & Garland, SC 2016)
};

/// What tests and benchmarks may force; by default the matrix decides.
struct PanelTuning {
  std::optional<PanelForm> form;
  std::optional<bool> packs_columns;  ///< column-major X into row-major panels first; `path` always does
  int strands = 0;                    ///< per row, a power of two up to 8; 0: by mean length
  int items = 0;                      ///< path items per strand; 0: default
};

/// The form that the name of a kernel asks for: `rows` for csr-vector, `path` for kernels of equal shares.
[[nodiscard]] constexpr std::optional<PanelForm> panel_form_of(SpmvAlgorithm algorithm) noexcept {
  if (algorithm == SpmvAlgorithm::csr_vector) return PanelForm::rows;
  const bool shares_out =
      algorithm == SpmvAlgorithm::merbit || algorithm == SpmvAlgorithm::merge || algorithm == SpmvAlgorithm::csr5;
  return shares_out ? std::optional(PanelForm::path) : std::nullopt;
}

template <class T>
class PanelProduct {
 public:
  PanelProduct() = default;
  PanelProduct(const PanelProduct&) = delete;
  PanelProduct& operator=(const PanelProduct&) = delete;
  virtual ~PanelProduct() = default;

  /// Y = α A X + β Y, α ≠ 0, of at least one column; the old Y is not read when β = 0. Sums in a fixed order:
  /// run_to_run. Neither waits nor allocates. Calls may run concurrently. \param a of the planned structure
  virtual void multiply(const CsrView<T>& a, T alpha, const MultiVectorView<const T>& x, T beta,
                        const MultiVectorView<T>& y) const = 0;
  [[nodiscard]] virtual PanelForm form() const noexcept = 0;
  /// The panel of X, where shares begin, and carries.
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
};

/// O(rows) work; waits. \param a on the device, rows > 0 \throws OutOfMemory, CudaError; DeviceUnavailable in a build
/// without CUDA
template <class T>
[[nodiscard]] std::unique_ptr<PanelProduct<T>> make_panel_product(const Device& device, const CsrView<T>& a,
                                                                  const PanelTuning& tuning);

/// Y = β Y; the old Y is not read when β = 0. Neither waits nor allocates. \throws as make_panel_product()
template <class T>
void scale_columns(const Device& device, T beta, const MultiVectorView<T>& y);

}  // namespace tessera::cuda
