/// \file
/// Chunks: equal parts of the merge path, the units of work of the host kernels. Their number depends on the matrix
/// alone, and their carries are added in order: results are bitwise the same for every number of threads.
#pragma once

#include "core/parallel.hpp"
#include "spmv/common/epilogue.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace tessera::host {

/// Bounds the stack of a product: products never allocate, and concurrent ones share nothing.
inline constexpr std::int64_t max_chunks = 256;

/// Path items per chunk, while there are at most max_chunks.
inline constexpr std::int64_t items_per_chunk = 8192;

/// Chunks that are worth a thread (bench/NOTES.md).
inline constexpr std::int64_t chunks_per_thread = 2;

/// Chunks of a path of `length` items; 0 for an empty path.
[[nodiscard]] inline std::int64_t chunk_count(std::int64_t length) noexcept {
  const std::int64_t items = grain(items_per_chunk);
  return std::min((length + items - 1) / items, max_chunks);
}

/// body(s) for the chunks s in [0, count), with as many threads as they are worth.
template <class Body>
void for_each_chunk(const Device& device, std::int64_t count, const Body& body) {
  parallel_tasks(device, count, body, chunks_per_thread);
}

/// Results of a chunk that closes the rows [first_row, end_row). Row first_row may have begun before it, and row
/// end_row may continue after it.
template <class T>
struct PathChunk {
  index_t first_row = 0;
  index_t end_row = 0;
  T carry{};  ///< sum of the terms of row end_row
  ProductDots dots;
};

template <class T>
using PathChunks = std::array<PathChunk<T>, max_chunks>;

/// Adds the carries to their rows, then the first rows of the chunks to the inner products, since only now their values
/// are final. Every row has been stored by the one chunk that closed it.
template <class T, class Epilogue>
ProductDots join_chunks(std::span<const PathChunk<T>> chunks, index_t rows, const Epilogue& epilogue) {
  for (const PathChunk<T>& chunk : chunks) {
    if (chunk.end_row < rows) epilogue.add(chunk.end_row, chunk.carry);
  }
  ProductDots total;
  for (const PathChunk<T>& chunk : chunks) {
    if (chunk.first_row < chunk.end_row) epilogue.finish(chunk.first_row, total);
    total += chunk.dots;
  }
  return total;
}

}  // namespace tessera::host
