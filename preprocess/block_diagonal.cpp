/// \file
/// Block-diagonal matrix of several: sizes, the table of parts, and its arrays.
#include "preprocess/block_diagonal.hpp"

#include "core/cuda/memory.hpp"
#include "tessera/array.hpp"
#include "tessera/block_diagonal.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tessera {

using namespace detail;

namespace {

template <class T>
struct Sizes {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  ValueStorage storage = ValueStorage::weighted;

  /// \throws DimensionError
  explicit Sizes(std::span<const CsrView<T>> parts) {
    for (const CsrView<T>& part : parts) {
      rows += part.rows;
      cols += part.cols;
    }
    constexpr std::int64_t most = std::numeric_limits<index_t>::max();
    if (rows > most || cols > most) {
      throw DimensionError(fmt::format("{} matrices on one diagonal are {} x {}: at most {} rows and columns",
                                       parts.size(), rows, cols, most));
    }
    const auto is_pattern = [](const CsrView<T>& part) { return part.is_pattern(); };
    if (!parts.empty() && std::all_of(parts.begin(), parts.end(), is_pattern)) storage = ValueStorage::pattern;
  }
};

/// The parts one behind the other, and where the last one ends.
template <class T>
std::vector<DiagonalPart<T>> table_of(std::span<const CsrView<T>> parts) {
  std::vector<DiagonalPart<T>> table;
  table.reserve(parts.size() + 1);
  DiagonalPart<T> next;
  for (const CsrView<T>& part : parts) {
    next.row_offsets = part.row_offsets.data();
    next.columns = part.columns.data();
    next.values = part.is_pattern() ? nullptr : part.values.data();
    table.push_back(next);
    next.first_entry += part.nnz();
    next.first_row += part.rows;
    next.first_column += part.cols;
  }
  table.push_back({nullptr, nullptr, nullptr, next.first_entry, next.first_row, next.first_column});
  return table;
}

template <class T>
void fill(const Device& device, const std::vector<DiagonalPart<T>>& table, BlockDiagonal<T> matrix) {
  matrix.count = std::ssize(table) - 1;
  if (device.is_host()) {
    matrix.parts = table.data();
    return host::fill_block_diagonal(device, matrix);
  }
  const auto there = Array<DiagonalPart<T>>::copy_of(table, device);
  matrix.parts = there.data();
  cuda::fill_block_diagonal(device, matrix, table.back().first_row, table.back().first_entry);
}

/// Work of `to` after that of the contexts of all parts, or theirs after its.
template <class T>
void order_contexts(std::span<const Csr<T>> parts, const Device& to, bool parts_first) {
  for (const Csr<T>& part : parts) {
    if (part.device().shares_context_with(to)) continue;
    parts_first ? cuda::order(part.device(), to) : cuda::order(to, part.device());
  }
}

}  // namespace

template <class T>
Csr<T> block_diagonal(std::span<const CsrView<T>> parts, const Device& device) {
  const Sizes<T> sizes(parts);
  const std::vector<DiagonalPart<T>> table = table_of(parts);
  const offset_t nnz = table.back().first_entry;
  const bool is_pattern = sizes.storage == ValueStorage::pattern;
  Array<offset_t> offsets(sizes.rows + 1, Init::none, device);
  Array<index_t> columns(nnz, Init::none, device);
  Array<T> values(is_pattern ? 0 : nnz, Init::none, device);
  fill(device, table, {nullptr, 0, offsets.data(), columns.data(), values.data()});
  if (is_pattern) {
    return Csr<T>::pattern(sizes.rows, sizes.cols, std::move(offsets), std::move(columns), Check::trusted);
  }
  return Csr<T>(sizes.rows, sizes.cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template <class T>
Csr<T> block_diagonal(std::span<const Csr<T>> parts) {
  if (parts.empty()) return Csr<T>();
  const Device& device = parts.front().device();
  std::vector<CsrView<T>> views;
  views.reserve(parts.size());
  for (const Csr<T>& part : parts) {
    if (!(part.device() == device)) {
      throw InvalidArgument(
          fmt::format("the parts of a block-diagonal matrix lie on one device: part 0 is on {}, part "
                      "{} on {}",
                      device.name(), views.size(), part.device().name()));
    }
    views.push_back(part.view());
  }
  order_contexts(parts, device, true);
  Csr<T> joined = block_diagonal<T>(views, device);
  order_contexts(parts, device, false);
  return joined;
}

template Csr<float> block_diagonal(std::span<const CsrView<float>>, const Device&);
template Csr<double> block_diagonal(std::span<const CsrView<double>>, const Device&);
template Csr<float> block_diagonal(std::span<const Csr<float>>);
template Csr<double> block_diagonal(std::span<const Csr<double>>);

}  // namespace tessera
