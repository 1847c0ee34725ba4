/// \file
/// Symmetric permutation on the host: rows in parallel, the entries of each sorted.
#include "core/first_exception.hpp"
#include "core/parallel.hpp"
#include "preprocess/permuted.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::host {

using namespace detail;

namespace {

/// Writes a row of the result from the row `row` of the matrix.
template <class T>
class RowWriter {
 public:
  RowWriter(const CsrView<T>& from, std::span<const index_t> position, const PermutedOutput<T>& out)
      : from_(from), position_(position), out_(out) {}

  /// \param target offset of the new row
  void write(std::size_t row, offset_t target) {
    entries_.clear();
    for (auto k = static_cast<std::size_t>(from_.row_offsets[row]);
         k < static_cast<std::size_t>(from_.row_offsets[row + 1]); ++k) {
      entries_.emplace_back(position_[static_cast<std::size_t>(from_.columns[k])], k);
    }
    std::sort(entries_.begin(), entries_.end());
    for (const auto& [column, k] : entries_) {
      if (out_.columns != nullptr) out_.columns[target] = column;
      if (out_.values != nullptr) out_.values[target] = from_.values[k];
      if (out_.positions != nullptr) out_.positions[target] = static_cast<index_t>(k);
      ++target;
    }
  }

 private:
  const CsrView<T>& from_;
  std::span<const index_t> position_;
  const PermutedOutput<T>& out_;
  std::vector<std::pair<index_t, std::size_t>> entries_;
};

}  // namespace

Array<index_t> inverse_permutation(std::span<const index_t> order) {
  constexpr index_t none = -1;
  Array<index_t> position(std::ssize(order), Init::none);
  std::fill(position.begin(), position.end(), none);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const bool is_row = order[k] >= 0 && static_cast<std::size_t>(order[k]) < order.size();
    if (!is_row || position[order[k]] != none) {
      throw InvalidArgument(fmt::format("not a permutation of 0 to {}: {} at position {} {}", order.size() - 1,
                                        order[k], k, is_row ? "occurs twice" : "is out of range"));
    }
    position[order[k]] = static_cast<index_t>(k);
  }
  return position;
}

template <class T>
void permute_into(const CsrView<T>& matrix, std::span<const index_t> order, std::span<const index_t> position,
                  const Device& device, const PermutedOutput<T>& out) {
  out.row_offsets[0] = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto row = static_cast<std::size_t>(order[k]);
    out.row_offsets[k + 1] = out.row_offsets[k] + matrix.row_offsets[row + 1] - matrix.row_offsets[row];
  }
  FirstException failure;
  parallel_for(device, matrix.rows, [&](Range rows) {
    failure.keep([&] {
      RowWriter<T> writer(matrix, position, out);
      for (std::int64_t k = rows.begin; k < rows.end; ++k) {
        writer.write(static_cast<std::size_t>(order[static_cast<std::size_t>(k)]), out.row_offsets[k]);
      }
    });
  });
  failure.rethrow();
}

template void permute_into(const CsrView<float>&, std::span<const index_t>, std::span<const index_t>, const Device&,
                           const PermutedOutput<float>&);
template void permute_into(const CsrView<double>&, std::span<const index_t>, std::span<const index_t>, const Device&,
                           const PermutedOutput<double>&);

}  // namespace tessera::host
