#include "spmv/merbit/merbit.hpp"

#include "spmv/merbit/merbit_tuning.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera {

namespace {

template <class T>
class MerbitKernel final : public SpmvKernel<T> {
 public:
  MerbitKernel(const Device& device, MerbitSetup setup) : device_(device), setup_(std::move(setup)) {}

  void apply(const CsrView<T>& a, T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    host::merbit_apply(device_, a, setup_, alpha, x, beta, y);
  }
  ProductDots apply_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y,
                            std::span<const T> w) const override {
    return host::merbit_apply_and_dot(device_, a, setup_, x, y, w);
  }

  [[nodiscard]] typename DualBuffer<T>::Mode output_mode() const override {
    return setup_.commit == MerbitCommit::atomic ? DualBuffer<T>::Mode::dual : DualBuffer<T>::Mode::single;
  }
  void prepare_dual(std::span<T> y) const override { host::merbit_clear_shared(device_, setup_, y); }
  void apply_dual(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<T> other) const override {
    host::merbit_apply_dual(device_, a, setup_, x, y, other);
  }
  ProductDots apply_dual_and_dot(const CsrView<T>& a, std::span<const T> x, std::span<T> y, std::span<T> other,
                                 std::span<const T> w) const override {
    return host::merbit_apply_dual_and_dot(device_, a, setup_, x, y, other, w);
  }

  void describe(PlanInfo& info) const override {
    info.determinism = setup_.commit == MerbitCommit::atomic ? Determinism::not_guaranteed : Determinism::gpu_to_gpu;
    info.bytes = setup_.tiles.bytes() + setup_.long_rows.bytes();
    info.sigma = setup_.tiles.sigma;
    info.descriptor_bits = setup_.tiles.descriptor_bits;
    info.tiles = setup_.tiles.tiles();
  }

 private:
  Device device_;
  MerbitSetup setup_;
};

}  // namespace

MerbitShape choose_merbit_shape(const SpmvOptions& options, int sigma_32, int sigma_64) {
  if (options.sigma == 0) {
    if (options.descriptor_bits == 64) return {sigma_64, 64};
    return {sigma_32, 32};
  }
  const int narrowest = options.sigma <= max_sigma(32) ? 32 : 64;
  const int bits = options.descriptor_bits == 0 ? narrowest : options.descriptor_bits;
  if (options.sigma > max_sigma(bits)) {
    throw NotSupported(fmt::format("{}-bit MERBIT descriptors hold at most sigma {}, asked for {}", bits,
                                   max_sigma(bits), options.sigma));
  }
  return {options.sigma, bits};
}

template <class T>
std::unique_ptr<SpmvKernel<T>> make_merbit_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  constexpr MerbitPolicy policy = host_merbit_policy<T>;
  const MerbitShape shape = choose_merbit_shape(options, policy.sigma_32, policy.sigma_64);
  MerbitSetup setup;
  setup.tiles = build_merbit_tiles(a.rows, a.row_offsets, shape.sigma, shape.descriptor_bits, options.device);
  setup.long_rows = build_long_row_slices(setup.tiles, a.columns, a.cols, sizeof(T), options.device);
  setup.access = classify_gathers(a);
  setup.commit = options.determinism == Determinism::not_guaranteed ? MerbitCommit::atomic : MerbitCommit::carries;
  return std::make_unique<MerbitKernel<T>>(options.device, std::move(setup));
}

template std::unique_ptr<SpmvKernel<float>> make_merbit_kernel(const CsrView<float>&, const SpmvOptions&);
template std::unique_ptr<SpmvKernel<double>> make_merbit_kernel(const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera
