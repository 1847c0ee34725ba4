#pragma once
#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"
#include <cstdint>
#include <string_view>
#include <utility>
namespace tessera::cuda {
inline constexpr int warp_size = 32;
inline constexpr unsigned full_warp = 0xffffffffu;
[[nodiscard]] inline unsigned blocks_for(std::int64_t items, int items_per_block) {
  const std::int64_t blocks = (items + items_per_block - 1) / items_per_block;
  return blocks < 1 ? 1u : static_cast<unsigned>(blocks);
}
struct Grid { unsigned blocks = 1; int threads = 256; std::size_t shared_bytes = 0; };
template <class... P, class... A>
void launch(std::string_view name, const Context&, const Grid& g, void (*kernel)(P...), A&&... a) {
  emu::run_grid(g.blocks, g.threads, g.shared_bytes, [&] { kernel(static_cast<P>(a)...); }, std::string(name).c_str());
}
}
