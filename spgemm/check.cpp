#include "spgemm/check.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

namespace tessera {

template <class T>
void require_on_host(const Csr<T>& matrix, const char* name) {
  if (matrix.device().is_host()) return;
  throw NotSupported(
      fmt::format("{} lies on {}: sparse products run on the host alone so far; copy it with "
                  "to(Device::host())",
                  name, matrix.device().name()));
}

template <class T>
void check_product(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options, const char* name_a,
                   const char* name_b) {
  if (a.cols() != b.rows()) {
    throw DimensionError(
        fmt::format("{} is {} x {} and {} is {} x {}: the columns of {} must be as many as the rows of {}", name_a,
                    a.rows(), a.cols(), name_b, b.rows(), b.cols(), name_a, name_b));
  }
  if (!options.device.is_host()) {
    throw NotSupported(fmt::format("sparse products run on the host alone so far, not on {}", options.device.name()));
  }
  require_on_host(a, name_a);
  require_on_host(b, name_b);
  const int registers = options.registers;
  if (registers != 0 && registers != 32 && registers != 64 && registers != 128) {
    throw InvalidArgument(fmt::format("registers must be 32, 64 or 128 (or 0 for the rule), got {}", registers));
  }
  // Also refuses numbers that are none of the enumerators.
  static_cast<void>(to_string(options.workflow));
  static_cast<void>(to_string(options.accumulator));
}

template void require_on_host(const Csr<float>&, const char*);
template void require_on_host(const Csr<double>&, const char*);
template void check_product(const Csr<float>&, const Csr<float>&, const SpgemmOptions&, const char*, const char*);
template void check_product(const Csr<double>&, const Csr<double>&, const SpgemmOptions&, const char*, const char*);

}  // namespace tessera
