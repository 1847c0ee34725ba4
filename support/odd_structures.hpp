/// \file
/// Odd structures: matrices of any size on which algorithms that are fast on meshes may grow faster than their entries.
#pragma once

#include "tessera/csr.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace tessera::support {

struct OddStructure {
  std::string_view name;
  std::string_view description;
};

/// Ten structures: "star", "hubs", "chain", "components", "powerlaw", "random", "triangular", "kkt", "rectangular",
/// "empty-rows".
[[nodiscard]] std::span<const OddStructure> odd_structures();

/// The matrix of a structure. Equal arguments give bitwise the same matrix on every machine. No value is 0. The
/// diagonal is full but for kkt, rectangular and empty-rows; star, chain, components and powerlaw are symmetric
/// positive definite, kkt is symmetric.
/// \param rows 1 ... 2^31 - 1; of powerlaw at most 2^30. A rectangular matrix has half as many columns
/// \throws InvalidArgument for an unknown name or a number of rows out of range; OutOfMemory
/// O(rows + nnz) and sorting inside rows.
[[nodiscard]] Csr<double> odd_matrix(std::string_view name, std::int64_t rows, std::uint64_t seed);

}  // namespace tessera::support
