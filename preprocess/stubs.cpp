/// \file
/// Stands in for the tile builders of the CUDA backend where it is not built.
#include "preprocess/tiles_cuda.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {

namespace {

[[noreturn]] void refuse(const Device& device) {
  throw DeviceUnavailable("no tiles for " + device.name() + ": this build has no CUDA backend");
}

}  // namespace

MerbitTiles build_merbit_tiles(index_t /*rows*/, std::span<const offset_t> /*row_offsets*/, int /*sigma*/,
                               int /*descriptor_bits*/, const Device& device) {
  refuse(device);
}

SnappedTiles build_snapped_tiles(index_t /*rows*/, std::span<const offset_t> /*row_offsets*/, offset_t /*nnz*/,
                                 const TileRules& /*rules*/, const Device& device) {
  refuse(device);
}

}  // namespace tessera::cuda
