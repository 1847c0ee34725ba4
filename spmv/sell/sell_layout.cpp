/// \file
/// Sliced ELL: layouts in words, and why a matrix is refused.
#include "spmv/sell/sell_layout.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

namespace tessera::detail {

namespace {

[[nodiscard]] std::string describe_values(SellValues values, int distinct) {
  switch (values) {
    case SellValues::none:
      return "no values";
    case SellValues::coded:
      return fmt::format("a byte per value for {} distinct ones", distinct);
    case SellValues::rounded:
      return "values that single precision holds exactly";
    case SellValues::full:
      break;
  }
  return "values in full";
}

}  // namespace

std::string describe_layout(const SellLayout& layout, int distinct) {
  return fmt::format(
      "{}, {}",
      layout.columns == SellColumns::relative ? "columns relative to their row in 16 bits" : "columns in 32 bits",
      describe_values(layout.values, distinct));
}

std::string describe_sell(const SellLayout& layout, int distinct, const SellPadding& padding, std::int64_t long_rows,
                          double bytes_per_nonzero) {
  const auto percent = [](double ratio) { return 100.0 * (ratio - 1.0); };
  std::string slices = fmt::format("slices padded by {:.2g} %", percent(padding.places_per_nonzero));
  if (padding.window_rows > 0) {
    slices += fmt::format(", by {:.2g} % without sorting rows in windows of {}", percent(padding.among_neighbours),
                          padding.window_rows);
  }
  const std::string others = long_rows > 0 ? fmt::format(", {} long rows read from CSR", long_rows) : "";
  return fmt::format("; {}; {}{}: {:.3g} bytes per nonzero", describe_layout(layout, distinct), slices, others,
                     bytes_per_nonzero);
}

void require_few_long_rows(const UnslicedRows& rows, offset_t nnz) {
  if (rows.longest > longest_long_row) {
    throw NotSupported(
        fmt::format("kernel sell reads rows of more than {} nonzeros by one warp each: one has {}, more than {}",
                    rows.limit, rows.longest, longest_long_row));
  }
  if (static_cast<double>(rows.nonzeros) > most_in_long_rows * static_cast<double>(nnz)) {
    throw NotSupported(
        fmt::format("kernel sell slices rows of at most {} nonzeros: {} longer ones hold {} of {} "
                    "nonzeros, more than {:g} %",
                    rows.limit, rows.count, rows.nonzeros, nnz, 100.0 * most_in_long_rows));
  }
}

SellLayout SellSample::layout(bool is_pattern, bool is_double) const noexcept {
  SellLayout result;
  if (far_rows == 0) result.columns = SellColumns::relative;
  if (is_pattern) {
    result.values = SellValues::none;
  } else if (values.promises_dictionary()) {
    result.values = SellValues::coded;
  } else if (is_double && values.promises_float()) {
    result.values = SellValues::rounded;
  }
  return result;
}

double SellSample::bytes_per_nonzero(const SellLayout& layout, double value_bytes) const noexcept {
  if (nonzeros == 0) return 0.0;
  const double entry = layout.bytes_per_entry(value_bytes);
  if (!sorts()) return entry * static_cast<double>(padded_nonzeros) / static_cast<double>(nonzeros);
  constexpr double bytes_of_order = sizeof(std::uint16_t);
  return (entry * static_cast<double>(sorted_nonzeros) + bytes_of_order * static_cast<double>(rows)) /
         static_cast<double>(nonzeros);
}

bool SellSample::pays(const SellLayout& layout, double value_bytes) const noexcept {
  if (nonzeros == 0 || long_rows > 0 || layout.columns != SellColumns::relative) return false;
  const double bytes = bytes_per_nonzero(layout, value_bytes);
  const double of_csr = csr_entry_bytes(value_bytes);
  return sorts() ? of_csr - bytes >= least_saving_worth_sorting : bytes <= most_bytes_worth_sell * of_csr;
}

}  // namespace tessera::detail
