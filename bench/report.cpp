#include "bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::bench {

namespace {

std::string short_ms(double ms) {
  constexpr int most_decimals = 3;
  int decimals = most_decimals;
  for (double limit = 1.0; decimals > 0 && ms >= limit; limit *= 10.0) --decimals;
  return fmt::format("{:.{}f}", ms, decimals);
}

}  // namespace

void SetupTable::add(const std::string& row, const std::string& column, double total_ms, double setup_ms) {
  add(row, column, fmt::format("{}({})", short_ms(total_ms), short_ms(setup_ms)));
}

void SetupTable::add(const std::string& row, const std::string& column, const std::string& text) {
  if (std::find(columns_.begin(), columns_.end(), column) == columns_.end()) columns_.push_back(column);
  if (rows_.empty() || rows_.back().name != row) rows_.push_back({row, {}});
  rows_.back().cells.emplace_back(column, text);
}

void SetupTable::print(const std::string& title) const {
  if (rows_.empty()) return;
  std::size_t name_width = 0;
  for (const Row& row : rows_) name_width = std::max(name_width, row.name.size());
  constexpr std::size_t cell_width = 15;
  fmt::print("\n{}\n{:{}}", title, "", name_width);
  for (const std::string& column : columns_) fmt::print(" {:>{}}", column, cell_width);
  for (const Row& row : rows_) {
    fmt::print("\n{:{}}", row.name, name_width);
    for (const std::string& column : columns_) {
      const auto cell = std::find_if(row.cells.begin(), row.cells.end(),
                                     [&column](const auto& each) { return each.first == column; });
      fmt::print(" {:>{}}", cell == row.cells.end() ? "-" : cell->second, cell_width);
    }
  }
  fmt::print("\n\n");
}

}  // namespace tessera::bench
