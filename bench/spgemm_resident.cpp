#include "bench/spgemm_resident.hpp"

#include "core/cuda/memory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::bench {

namespace {

constexpr std::array<const char*, 5> ways{"tiles-resident", "to-tiles", "to-csr", "cube", "cube-resident"};

}  // namespace

std::string resident_ways() { return fmt::format("{}", fmt::join(ways, ", ")); }

bool is_resident_way(const std::string& way) { return std::find(ways.begin(), ways.end(), way) != ways.end(); }

ResidentTiles::ResidentTiles(const Csr<double>& a, const Csr<double>& b, const Device& device)
    : matrix_(a), same_(&a == &b), device_(device), a_(to_tiles(a)) {
  if (!same_) b_ = to_tiles(b);
}

SpgemmOptions ResidentTiles::options() const {
  SpgemmOptions options;
  options.workflow = SpgemmWorkflow::tiles;
  options.device = device_;
  return options;
}

TileProduct<double> ResidentTiles::multiply() const { return spgemm(a_, same_ ? a_ : b_, options()); }

Csr<double> ResidentTiles::product() const { return to_csr(multiply().matrix); }

std::optional<SpgemmReport> ResidentTiles::run(const std::string& way) {
  if (way == "tiles-resident") return multiply().report;
  std::optional<SpgemmReport> report;
  if (way == "to-tiles") {
    static_cast<void>(to_tiles(matrix_));
  } else if (way == "to-csr") {
    if (c_.nnz() == 0) c_ = multiply().matrix;
    static_cast<void>(to_csr(c_));
  } else if (way == "cube") {
    report = matrix_power(matrix_, 3, options()).products.back();
  } else {
    TilePower<double> power = matrix_power(to_tiles(matrix_), 3, options());
    static_cast<void>(to_csr(power.matrix));
    report = std::move(power.products.back());
  }
  cuda::synchronize(device_);
  return report;
}

}  // namespace tessera::bench
