#include "spmv/csr_vector/even_rows.hpp"
#include "spmv/registry_cuda.hpp"
#include "tessera/error.hpp"

namespace tessera {

SpmvBackend cuda_backend(SpmvAlgorithm /*algorithm*/) { return {}; }

double cuda::row_length_spread(const Device& device, std::span<const offset_t> /*row_offsets*/) {
  throw DeviceUnavailable("no row lengths on " + device.name() + ": this build has no CUDA backend");
}

bool cuda::is_product_in_one_kernel(const Device& device, std::span<const offset_t> /*row_offsets*/) {
  throw DeviceUnavailable("no row lengths on " + device.name() + ": this build has no CUDA backend");
}

}  // namespace tessera
