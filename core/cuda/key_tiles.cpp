#include "core/cuda/key_tiles.hpp"

#include <vector>

namespace tessera::cuda {

TileTable::TileTable(const Device& device, std::span<const offset_t> begins)
    : keys_(begins.back()), begins_(Array<offset_t>::copy_of(begins, device)) {
  std::vector<std::int64_t> befores{0};
  std::vector<index_t> segments;
  for (std::size_t s = 0; s + 1 < begins.size(); ++s) {
    befores.push_back(befores.back() + tiles_of(begins[s + 1] - begins[s]));
    segments.resize(static_cast<std::size_t>(befores.back()), static_cast<index_t>(s));
  }
  befores_ = Array<std::int64_t>::copy_of(befores, device);
  segments_ = Array<index_t>::copy_of(segments, device);
}

}  // namespace tessera::cuda
