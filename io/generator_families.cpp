#include "io/recipe.hpp"

#include <array>
#include <vector>

namespace tessera {

std::span<const io::GeneratorEntry> io::generator_entries() {
  static const std::array<GeneratorEntry, 14> entries{
      lap2d_family(),     fem3d_family(),         rmat_family(),     road_family(),    kmer_family(),
      mawi_family(),      web_family(),           band_family(),     rowskew_family(), poisson2d_family(),
      poisson3d_family(), anisotropic2d_family(), convdiff_family(), powerlaw_family()};
  return entries;
}

std::span<const GeneratorFamily> generator_families() {
  static const std::vector<GeneratorFamily> families = [] {
    std::vector<GeneratorFamily> result;
    for (const io::GeneratorEntry& entry : io::generator_entries()) result.push_back(entry.family);
    return result;
  }();
  return families;
}

}  // namespace tessera
