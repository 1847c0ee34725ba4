/// \file
/// Uniform rows: rows of a warp that are all on the most frequent list. Its columns and values travel as parameters of
/// the kernel, so that such a warp reads x and its codes alone.
#pragma once

#include "spmv/patterns/pattern_values.hpp"
#include "spmv/patterns/row_patterns.hpp"

#include <optional>

namespace tessera::cuda {

/// The most frequent list, by value.
template <class T>
struct FrequentList {
  int length = 0;
  index_t columns[most_uniform_terms] = {};  ///< relative; the last is repeated
  T values[most_uniform_terms] = {};         ///< of templates
};

/// List 0, where it is short enough and names all rows of most slices. O(rows); waits. \param found with its codes
/// already in the order of slices \returns nothing where uniform slices are too few to be told apart
template <class T>
[[nodiscard]] std::optional<FrequentList<T>> find_frequent_list(const Device& device,
                                                                const detail::RowPatterns<T>& found,
                                                                const SliceShape& shape);

}  // namespace tessera::cuda
