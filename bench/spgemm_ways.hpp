/// \file
/// Ways to form a product that bench_spgemm_cuda compares, by name; how far their results may be apart; and their
/// reports as JSON.
#pragma once

#include "bench/report.hpp"
#include "tessera/spgemm.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace tessera::bench {

inline constexpr const char* plan_name = "plan";

/// Whether a way, "fp32:NAME", multiplies in single precision.
[[nodiscard]] bool is_single(const std::string& way);

/// "auto", "ordered", "plan" (new values on a stored structure), a workflow, an accumulator, or both ("exact+esc");
/// "esc" alone is the workflow; "tiles-ordered": tiles entry by entry; a precision, in tiles.
[[nodiscard]] SpgemmOptions options_of(const std::string& way, const Device& device);

/// What rounding may make of difference_of().
[[nodiscard]] double tolerance_of(const std::string& way);

/// Largest difference of a value, over the largest value of its row; infinite for other positions.
[[nodiscard]] double difference_of(const Csr<double>& expected, const Csr<double>& found);

/// A copy on another device, in another type.
template <class U, class T>
[[nodiscard]] Csr<U> converted(const Csr<T>& matrix, const Device& device) {
  const Csr<T> on_host = matrix.to(Device{});
  if (on_host.is_pattern()) {
    return Csr<U>::pattern(on_host.rows(), on_host.cols(), Array<offset_t>::copy_of(on_host.row_offsets().span()),
                           Array<index_t>::copy_of(on_host.columns().span()), Check::trusted)
        .to(device);
  }
  Array<U> values(on_host.nnz(), Init::none);
  for (std::int64_t k = 0; k < on_host.nnz(); ++k) values[k] = static_cast<U>(on_host.values()[k]);
  return on_host.template with_values<U>(std::move(values)).to(device);
}

[[nodiscard]] Json json_of_report(const SpgemmReport& report, std::uint64_t product_bytes);

[[nodiscard]] std::string loss_text(const SpgemmLoss& loss);

}  // namespace tessera::bench
