/// \file
/// The data lines of a file, cut into chunks for threads; files with one number per line.
#pragma once

#include "core/memory_budget.hpp"
#include "core/parallel.hpp"
#include "io/data_line.hpp"
#include "io/document.hpp"
#include "io/matrix_market_header.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::io {

using tessera::detail::MemoryBudget;

/// Whole lines, the number of data lines before them and in them.
struct LineChunk {
  const char* begin = nullptr;
  const char* end = nullptr;
  std::int64_t first_line = 0;
  std::int64_t lines = 0;
};

/// All lines after the header, in pieces of about a megabyte. The data lines are counted first, so that arrays are
/// allocated for the lines of the file, not for the claim of its header.
struct DataLines {
  std::vector<LineChunk> chunks;
  std::int64_t count = 0;
};

[[nodiscard]] DataLines split_data_lines(const Document& document, const char* body, Comments comments,
                                         const Device& device);

/// First character of data line number `line`, counted from 0; the end of the text when there are fewer.
[[nodiscard]] const char* find_data_line(const Document& document, const DataLines& data, std::int64_t line,
                                         Comments comments);

/// A problem at a position of the text. Of several problems the first in the text is reported.
struct Problem {
  const char* where = nullptr;
  std::string message;
};

/// Reads the first `limit` data lines in parallel.
/// \param reader called as reader(chunk number, line number, p, end): reads the data line that starts at p and moves p
///        to its end. Returns false, without moving p, when the line is malformed. Must not throw.
/// \return first character of the first malformed line; nullptr when there is none
template <class Reader>
[[nodiscard]] const char* read_data_lines(const DataLines& data, std::int64_t limit, Comments comments,
                                          const Device& device, Reader&& reader) {
  std::vector<const char*> malformed(data.chunks.size(), nullptr);
  host::parallel_tasks(device, static_cast<std::int64_t>(data.chunks.size()), [&](std::int64_t number) {
    const auto c = static_cast<std::size_t>(number);
    const LineChunk& chunk = data.chunks[c];
    const std::int64_t stop = std::min(chunk.first_line + chunk.lines, limit);
    const char* p = chunk.begin;
    for (std::int64_t line = chunk.first_line; line < stop; ++line) {
      p = next_data_line(p, chunk.end, comments);
      if (!reader(c, line, p, chunk.end)) {
        malformed[c] = p;
        return;
      }
    }
  });
  for (const char* where : malformed) {
    if (where != nullptr) return where;
  }
  return nullptr;
}

/// Reads one data line: the fast way, else the careful way. \return false when it is malformed
template <MatrixMarketFormat format, MatrixMarketField field, class T>
[[nodiscard]] inline bool read_line(const char*& p, const char* end, const LineRules& rules,
                                    TextEntry<T>& entry) noexcept {
  if (read_fast<format, field>(p, end, rules, entry)) return true;
  const char* last = line_end(p, end);
  if (read_carefully(p, last, rules, entry).fault != Fault::none) return false;
  p = last;
  return true;
}

/// What is wrong with the data line at `line`, which read_line() rejected.
template <class T>
[[nodiscard]] Problem problem_of_line(const Document& document, const char* line, const LineRules& rules) {
  const char* end = line_end(line, document.end());
  TextEntry<T> entry;
  const LineFault fault = read_carefully(line, end, rules, entry);
  return {fault.token.first, describe(fault, {line, static_cast<std::size_t>(end - line)}, rules)};
}

/// Whether the file holds `expected` data lines; the problem is the first line too many, or the end of the file.
[[nodiscard]] std::optional<Problem> problem_of_count(const Document& document, const DataLines& data,
                                                      std::int64_t expected, Comments comments, const char* size_line);

/// \throws ParseError for the first of these problems, if there are any
void fail_at_first(const Document& document, const std::vector<Problem>& problems);

/// The values of an array file in the order of its lines. \throws ParseError, OutOfMemory
template <class T>
[[nodiscard]] Array<T> read_array_values(const Document& document, const ParsedHeader& parsed, const Device& device,
                                         MemoryBudget& budget);

/// The numbers of a text without header; '%' and '#' start comment lines. \throws ParseError, OutOfMemory
template <class T>
[[nodiscard]] Array<T> read_plain_values(const Document& document, const Device& device, MemoryBudget& budget);

extern template Array<float> read_array_values(const Document&, const ParsedHeader&, const Device&, MemoryBudget&);
extern template Array<double> read_array_values(const Document&, const ParsedHeader&, const Device&, MemoryBudget&);
extern template Array<float> read_plain_values(const Document&, const Device&, MemoryBudget&);
extern template Array<double> read_plain_values(const Document&, const Device&, MemoryBudget&);

}  // namespace tessera::io
