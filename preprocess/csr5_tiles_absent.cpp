/// \file
/// Stands in for the CUDA backend where it is not built.
#include "preprocess/csr5_tiles_cuda.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {

namespace {

[[noreturn]] void refuse(const Device& device) {
  throw DeviceUnavailable("no work for " + device.name() + ": this build has no CUDA backend");
}

}  // namespace

Csr5GpuTiles build_csr5_tiles(const Device& device, index_t /*rows*/, std::span<const offset_t> /*row_offsets*/,
                              std::span<const index_t> /*columns*/, int /*sigma*/, int /*descriptor_bits*/,
                              const std::function<void(const Csr5Tiles&)>& /*meanwhile*/) {
  refuse(device);
}

template <class From, class To>
void permute_csr5_values(const Device& device, const Csr5Tiles& /*tiles*/, std::span<const From> /*values*/,
                         std::span<To> /*permuted*/) {
  refuse(device);
}

template void permute_csr5_values(const Device&, const Csr5Tiles&, std::span<const float>, std::span<float>);
template void permute_csr5_values(const Device&, const Csr5Tiles&, std::span<const double>, std::span<double>);

}  // namespace tessera::cuda
