/// \file
/// A checked generator spec, and the interface of the families.
#pragma once

#include "io/structure.hpp"
#include "tessera/generators.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::io {

/// As many rows as an index can count.
inline constexpr std::int64_t max_rows = std::numeric_limits<index_t>::max();

/// A spec whose family, size and parameters are in range.
class Recipe {
 public:
  /// \throws InvalidArgument when they are not
  explicit Recipe(const GeneratorSpec& spec);

  [[nodiscard]] const GeneratorFamily& family() const noexcept { return *family_; }
  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return spec_.seed; }
  /// Value of a parameter of the family, given or standard.
  [[nodiscard]] double operator[](std::string_view parameter) const;
  /// The same for a parameter that is an integer.
  [[nodiscard]] std::int64_t whole(std::string_view parameter) const;

 private:
  GeneratorSpec spec_;
  const GeneratorFamily* family_;
  std::int64_t size_;
};

/// Expected size of a matrix.
struct Expected {
  double rows = 0.0;
  double drawn = 0.0;  ///< entries before duplicates are removed
  bool with_duplicates = false;
  bool renumbered = false;     ///< the matrix, a renumbered copy and the new numbers exist at a time
  double scratch_bytes = 0.0;  ///< besides the matrix, while it is made
};

/// Functions of a family: either `structure` (positions, to which random values are added) or both matrix functions.
struct GeneratorEntry {
  GeneratorFamily family;
  Expected (*expected)(const Recipe&);
  Structure (*structure)(const Recipe&) = nullptr;
  Csr<float> (*matrix_float)(const Recipe&) = nullptr;
  Csr<double> (*matrix_double)(const Recipe&) = nullptr;
  std::vector<double> (*coordinates)(const Recipe&) = nullptr;
};

[[nodiscard]] std::span<const GeneratorEntry> generator_entries();

// In *_families.cpp, rmat.cpp and web.cpp.
[[nodiscard]] GeneratorEntry lap2d_family();
[[nodiscard]] GeneratorEntry fem3d_family();
[[nodiscard]] GeneratorEntry rmat_family();
[[nodiscard]] GeneratorEntry road_family();
[[nodiscard]] GeneratorEntry kmer_family();
[[nodiscard]] GeneratorEntry mawi_family();
[[nodiscard]] GeneratorEntry web_family();
[[nodiscard]] GeneratorEntry band_family();
[[nodiscard]] GeneratorEntry rowskew_family();
[[nodiscard]] GeneratorEntry poisson2d_family();
[[nodiscard]] GeneratorEntry poisson3d_family();
[[nodiscard]] GeneratorEntry anisotropic2d_family();
[[nodiscard]] GeneratorEntry anisotropic3d_family();
[[nodiscard]] GeneratorEntry rotaniso2d_family();
[[nodiscard]] GeneratorEntry helmholtz2d_family();
[[nodiscard]] GeneratorEntry stokes2d_family();
[[nodiscard]] GeneratorEntry convdiff_family();
[[nodiscard]] GeneratorEntry recirc3d_family();
[[nodiscard]] GeneratorEntry jump3d_family();
[[nodiscard]] GeneratorEntry elasticity3d_family();
[[nodiscard]] GeneratorEntry circuit_family();
[[nodiscard]] GeneratorEntry plgraph_family();
[[nodiscard]] GeneratorEntry powerlaw_family();

}  // namespace tessera::io
