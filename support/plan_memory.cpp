/// \file
/// Memory of a product's plan, bounded before it is built.
#include "support/plan_memory.hpp"

#include "support/machine.hpp"
#include "tessera/tile_matrix.hpp"

#include <fmt/format.h>

namespace tessera::support {

namespace {

/// Offsets of tiles and slices, which are few.
constexpr std::uint64_t small_parts = 65536;

}  // namespace

std::uint64_t most_plan_bytes(SpmvAlgorithm algorithm, std::int64_t rows, offset_t nnz, std::size_t value_bytes) {
  const auto entries = static_cast<std::uint64_t>(nnz);
  const std::uint64_t path = static_cast<std::uint64_t>(rows) + entries;
  switch (algorithm) {
    case SpmvAlgorithm::csr5:
      // The entries once more in the order of tiles; lanes take less than a byte per entry.
      return entries * (sizeof(index_t) + value_bytes + 1) + small_parts;
    case SpmvAlgorithm::tiles:
      // The values once more, and per tile its column, bitmap and first value: at worst a tile per entry.
      return entries * (value_bytes + sizeof(index_t) + sizeof(std::uint64_t) + sizeof(offset_t)) +
             (static_cast<std::uint64_t>(rows) / tile_size + 2) * sizeof(offset_t) + small_parts;
    case SpmvAlgorithm::patterns:
      // A byte per row, the numbers of the few rows on no list, and lists.
      return 2 * static_cast<std::uint64_t>(rows) + 2 * small_parts;
    case SpmvAlgorithm::sell:
      // On the host two bytes per column and one per value.
      return entries * (sizeof(std::uint16_t) + (value_bytes > 0 ? 1 : 0)) + small_parts;
    case SpmvAlgorithm::measured:
      // Two at a time, none of which takes more than the matrix.
      return 2 * entries * (sizeof(index_t) + value_bytes) + path + 2 * small_parts;
    case SpmvAlgorithm::merbit:
    case SpmvAlgorithm::automatic:  // which takes no larger plan on the host
      return path + small_parts;
    default:
      return 0;
  }
}

template <class T>
void require_memory_of_plan(std::uint64_t limit_bytes, std::uint64_t held_bytes, const CsrView<T>& matrix,
                            const SpmvOptions& options) {
  if (limit_bytes == 0 || !options.device.is_host()) return;
  const std::size_t value_bytes = matrix.is_pattern() ? 0 : sizeof(T);
  require_memory(limit_bytes, held_bytes, most_plan_bytes(options.algorithm, matrix.rows, matrix.nnz(), value_bytes),
                 fmt::format("the plan of kernel {}", to_string(options.algorithm)));
}

template void require_memory_of_plan(std::uint64_t, std::uint64_t, const CsrView<float>&, const SpmvOptions&);
template void require_memory_of_plan(std::uint64_t, std::uint64_t, const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::support
