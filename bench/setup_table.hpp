/// \file
/// A table of whole times with the set-up in parentheses, a row a problem and a column a kernel.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tessera::bench {

class SetupTable {
 public:
  /// \param total_ms set-up and all the rest
  void add(const std::string& row, const std::string& column, double total_ms, double setup_ms);
  /// For what has no time: why.
  void add(const std::string& row, const std::string& column, const std::string& text);
  /// Nothing when nothing was added. \param title printed above
  void print(const std::string& title) const;

 private:
  struct Row {
    std::string name;
    std::vector<std::pair<std::string, std::string>> cells;  ///< column, text
  };
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

}  // namespace tessera::bench
