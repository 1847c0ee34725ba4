#include "spmv/csr5/csr5.hpp"

#include "spmv/csr5/csr5_tuning.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera {

namespace {

template <class T>
class Csr5Kernel final : public SpmvKernel<T> {
 public:
  Csr5Kernel(const Device& device, Csr5Tiles tiles, const CsrView<T>& a)
      : device_(device), tiles_(std::move(tiles)), values_(a.is_pattern() ? 0 : a.nnz(), Init::none, device) {
    if (!a.is_pattern()) permute_csr5_values(tiles_, a.values, values_.span(), device_);
  }

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    host::csr5_apply(device_, permuted(a), tiles_, alpha, x, beta, y);
  }
  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    return host::csr5_apply_and_dot(device_, permuted(a), tiles_, x, y, w);
  }
  void update_values(std::span<const T> values) override {
    permute_csr5_values(tiles_, values, values_.span(), device_);
  }

  void describe(PlanInfo& info) const override {
    info.determinism = Determinism::gpu_to_gpu;
    info.bytes = tiles_.bytes() + values_.bytes();
    info.sigma = tiles_.sigma;
    info.descriptor_bits = tiles_.descriptor_bits;
    info.tiles = tiles_.tiles();
  }

 private:
  [[nodiscard]] CsrView<T> permuted(const CsrView<T>& a) const noexcept {
    return {a.rows, a.cols, a.storage, a.row_offsets, tiles_.columns.span(), values_.span()};
  }

  Device device_;
  Csr5Tiles tiles_;
  Array<T> values_;  ///< in the order of tiles_.columns; none for a pattern matrix
};

}  // namespace

Csr5Shape choose_csr5_shape(const SpmvOptions& options, const Csr5Policy& policy, index_t rows, offset_t nnz) {
  const int sigma = options.sigma != 0 ? options.sigma : policy.sigma(std::max(rows, 1), nnz);
  const int narrowest = sigma <= csr5_max_sigma(32) ? 32 : 64;
  const int bits = options.descriptor_bits == 0 ? narrowest : options.descriptor_bits;
  if (sigma <= csr5_max_sigma(bits)) return {sigma, bits};
  throw NotSupported(fmt::format("{}-bit CSR5 descriptors hold at most sigma {}, {} {}", bits, csr5_max_sigma(bits),
                                 options.sigma != 0 ? "asked for" : "the mean row length asks for", sigma));
}

template <class T>
std::unique_ptr<SpmvKernel<T>> make_csr5_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  const Csr5Shape shape = choose_csr5_shape(options, csr5_policy<T>, a.rows, a.nnz());
  return std::make_unique<Csr5Kernel<T>>(
      options.device,
      build_csr5_tiles(a.rows, a.row_offsets, a.columns, shape.sigma, shape.descriptor_bits, options.device), a);
}

template std::unique_ptr<SpmvKernel<float>> make_csr5_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_csr5_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera
