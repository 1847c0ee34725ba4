/// \file
/// Decimation of a history while it grows: the first rows and every 2^k-th of the others.
#pragma once

#include "tessera/report.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::detail {

/// Appends rows in order of their iterations. With a bound it keeps the first 100, the latest, and of the others those
/// whose iteration divides by a step that doubles whenever the bound is reached.
class HistoryStep {
 public:
  /// \param most_rows 0: no bound; else at least 1000
  explicit HistoryStep(std::int64_t most_rows) : most_(static_cast<std::size_t>(most_rows)) {}

  void append(std::vector<HistoryEntry>& history, const HistoryEntry& entry) {
    if (most_ != 0) {
      if (!history.empty() && !stays(history.back())) history.pop_back();
      if (history.size() >= most_) {
        step_ *= 2;
        std::erase_if(history, [this](const HistoryEntry& row) { return !stays(row); });
      }
    }
    history.push_back(entry);
  }

 private:
  [[nodiscard]] bool stays(const HistoryEntry& row) const {
    constexpr std::int64_t first = 100;
    return row.iteration <= first || row.iteration % step_ == 0;
  }

  std::size_t most_;
  std::int64_t step_ = 1;
};

}  // namespace tessera::detail
