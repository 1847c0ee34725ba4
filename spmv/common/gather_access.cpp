/// \file
/// Classification of the reads of x by a sample of the columns.
#include "spmv/common/gather_access.hpp"

#include "core/host_memory.hpp"

#include <algorithm>
#include <array>

namespace tessera::detail {

namespace {

constexpr offset_t window = 128;  ///< nonzeros looked at together
constexpr offset_t max_windows = 256;

/// At least one in so many windows has to span several rows.
constexpr offset_t least_seen_part = 16;

/// Between structured matrices (at most 0.2) and graphs (at least 0.28); see bench/NOTES.md.
constexpr double scattered_line_share = 0.24;

constexpr std::uint64_t cache_line_bytes = 64;

/// Whether these nonzeros lie in one row, whose ascending reads the hardware can predict.
bool in_one_row(std::span<const index_t> columns) {
  return std::adjacent_find(columns.begin(), columns.end(), [](index_t a, index_t b) { return a >= b; }) ==
         columns.end();
}

std::int64_t distinct_lines(std::span<const index_t> columns, index_t entries_per_line) {
  std::array<index_t, window> lines{};
  std::transform(columns.begin(), columns.end(), lines.begin(),
                 [entries_per_line](index_t column) { return column / entries_per_line; });
  std::sort(lines.begin(), lines.end());
  return std::unique(lines.begin(), lines.end()) - lines.begin();
}

}  // namespace

template <class T>
double sampled_line_share(const CsrView<T>& a) {
  if (a.nnz() < window) return 0.0;
  const offset_t windows = std::min(max_windows, a.nnz() / window);
  std::int64_t seen = 0;
  std::int64_t lines = 0;
  for (offset_t w = 0; w < windows; ++w) {
    // Dividing first keeps the product below 2^63; windows never overlap.
    const offset_t begin = (a.nnz() - window) / windows * w;
    const auto columns = a.columns.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(window));
    if (in_one_row(columns)) continue;
    seen += window;
    lines += distinct_lines(columns, static_cast<index_t>(cache_line_bytes / sizeof(T)));
  }
  // A few windows across the ends of long rows say nothing about the matrix.
  if (seen * least_seen_part < windows * window) return 0.0;
  return static_cast<double>(lines) / static_cast<double>(seen);
}

template <class T>
GatherAccess classify_gathers(const CsrView<T>& a) {
  const std::uint64_t vector_bytes = static_cast<std::uint64_t>(a.cols) * sizeof(T);
  if (vector_bytes <= cached_vector_bytes) return GatherAccess::streamed;
  return sampled_line_share(a) > scattered_line_share ? GatherAccess::scattered : GatherAccess::streamed;
}

template double sampled_line_share(const CsrView<float>&);
template double sampled_line_share(const CsrView<double>&);
template GatherAccess classify_gathers(const CsrView<float>&);
template GatherAccess classify_gathers(const CsrView<double>&);

}  // namespace tessera::detail
