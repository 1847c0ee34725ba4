#include "spgemm/common/backends.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tessera::detail {

template <class T>
void require_reachable(const Csr<T>& matrix, const Device& device, const char* name) {
  if (matrix.device().is_host() || matrix.device() == device) return;
  throw NotSupported(
      fmt::format("{} lies on {}, but the product is formed on {}: copy it there or to the host with to()", name,
                  matrix.device().name(), device.name()));
}

namespace {

void require_accumulator(SpgemmAccumulator accumulator, const Device& device) {
  // Also refuses numbers that are none of the enumerators.
  const std::string_view name = to_string(accumulator);
  const auto known = spgemm_accumulators(device.kind());
  if (accumulator == SpgemmAccumulator::automatic ||
      std::find(known.begin(), known.end(), accumulator) != known.end()) {
    return;
  }
  std::vector<std::string_view> names;
  for (const SpgemmAccumulator other : known) names.push_back(to_string(other));
  throw NotSupported(
      fmt::format("accumulator '{}' is not for {}, which has {}", name, device.name(), fmt::join(names, ", ")));
}

/// `tiles` alone rounds. \tparam T of the factors
template <class T>
void require_precision(const SpgemmOptions& options) {
  // Also refuses numbers that are none of the enumerators.
  const std::string_view name = to_string(options.precision);
  if (options.precision == SpgemmPrecision::working) return;
  if (options.workflow != SpgemmWorkflow::automatic && options.workflow != SpgemmWorkflow::tiles) {
    throw InvalidArgument(
        fmt::format("precision '{}' is for the workflow 'tiles', not for '{}', which goes with working "
                    "precision",
                    name, to_string(options.workflow)));
  }
  if (options.precision == SpgemmPrecision::tf32x3 && !std::is_same_v<T, float>) {
    throw InvalidArgument(fmt::format("precision '{}' is for factors in single precision, these are in double", name));
  }
}

}  // namespace

template <class T>
void check_product(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options, const char* name_a,
                   const char* name_b) {
  if (a.cols() != b.rows()) {
    throw DimensionError(
        fmt::format("{} is {} x {} and {} is {} x {}: the columns of {} must be as many as the rows of {}", name_a,
                    a.rows(), a.cols(), name_b, b.rows(), b.cols(), name_a, name_b));
  }
  require_reachable(a, options.device, name_a);
  require_reachable(b, options.device, name_b);
  const int registers = options.registers;
  if (registers != 0 && registers != 32 && registers != 64 && registers != 128) {
    throw InvalidArgument(fmt::format("registers must be 32, 64 or 128 (or 0 for the rule), got {}", registers));
  }
  // Also refuses numbers that are none of the enumerators.
  static_cast<void>(to_string(options.workflow));
  require_accumulator(options.accumulator, options.device);
  require_precision<T>(options);
}

template void require_reachable(const Csr<float>&, const Device&, const char*);
template void require_reachable(const Csr<double>&, const Device&, const char*);
template void check_product(const Csr<float>&, const Csr<float>&, const SpgemmOptions&, const char*, const char*);
template void check_product(const Csr<double>&, const Csr<double>&, const SpgemmOptions&, const char*, const char*);

}  // namespace tessera::detail
