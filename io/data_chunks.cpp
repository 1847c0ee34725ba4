#include "io/data_chunks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <vector>

namespace tessera::io {

namespace {

constexpr std::int64_t chunk_bytes = std::int64_t{1} << 20;

std::int64_t count_data_lines(const char* begin, const char* end, Comments comments) {
  std::int64_t lines = 0;
  for (const char* p = next_data_line(begin, end, comments); p < end; p = next_data_line(p, end, comments)) {
    ++lines;
    p = line_end(p, end);
  }
  return lines;
}

/// Whether every line of the chunk is a data line, and how many there are; without a branch per byte or line.
struct PlainLines {
  bool plain = true;
  std::int64_t lines = 1;  ///< ends of lines in it, and its own end
};

PlainLines count_plain_lines(const char* begin, const char* end) {
  PlainLines result;
  // A blank, a line end or a comment sign behind a line end may begin a line without data.
  constexpr std::ptrdiff_t block = 128;  // counters of 8 bits do not overflow
  bool special = *begin <= ' ' || *begin == '%' || *begin == '#';
  const char* p = begin;
  const auto look = [&](std::ptrdiff_t count) {
    std::uint8_t ends = 0;
    std::uint8_t found = 0;
    for (std::ptrdiff_t k = 0; k < count; ++k) {
      const auto is_end = static_cast<std::uint8_t>(p[k] == '\n' ? 1 : 0);
      const char next = p[k + 1];
      const auto odd = static_cast<std::uint8_t>((next <= ' ' ? 1 : 0) | (next == '%' ? 1 : 0) | (next == '#' ? 1 : 0));
      ends = static_cast<std::uint8_t>(ends + is_end);
      found = static_cast<std::uint8_t>(found | (is_end & odd));
    }
    result.lines += ends;
    special |= found != 0;
    p += count;
  };
  while (end - p > block) look(block);
  if (end - p > 1) look(end - p - 1);
  result.plain = !special && end[-1] != '\n';
  return result;
}

}  // namespace

DataLines split_data_lines(const Document& document, const char* body, Comments comments, const Device& device) {
  DataLines data;
  const char* const end = document.end();
  for (const char* begin = body; begin < end;) {
    const char* last = line_end(begin + std::min<std::ptrdiff_t>(chunk_bytes, end - begin), end);
    if (last > begin) data.chunks.push_back({begin, last, 0, 0});
    begin = last == end ? end : last + 1;
  }
  host::parallel_tasks(device, static_cast<std::int64_t>(data.chunks.size()), [&](std::int64_t c) {
    LineChunk& chunk = data.chunks[static_cast<std::size_t>(c)];
    const PlainLines plain = count_plain_lines(chunk.begin, chunk.end);
    chunk.lines = plain.plain ? plain.lines : count_data_lines(chunk.begin, chunk.end, comments);
  });
  for (LineChunk& chunk : data.chunks) {
    chunk.first_line = data.count;
    data.count += chunk.lines;
  }
  return data;
}

const char* find_data_line(const Document& document, const DataLines& data, std::int64_t line, Comments comments) {
  for (const LineChunk& chunk : data.chunks) {
    if (line >= chunk.first_line + chunk.lines) continue;
    const char* p = next_data_line(chunk.begin, chunk.end, comments);
    for (std::int64_t k = chunk.first_line; k < line; ++k) {
      p = next_data_line(line_end(p, chunk.end), chunk.end, comments);
    }
    return p;
  }
  return document.end();
}

std::optional<Problem> problem_of_count(const Document& document, const DataLines& data, std::int64_t expected,
                                        Comments comments, const char* size_line) {
  if (data.count == expected) return std::nullopt;
  const std::int64_t declared_in = line_number(document, size_line);
  const char* where = find_data_line(document, data, expected, comments);
  if (data.count < expected) {
    return Problem{where, fmt::format("expected {} entries (sizes in line {}), found end of file after {}", expected,
                                      declared_in, data.count)};
  }
  Token token{where, line_end(where, document.end())};
  while (is_blank(token.last[-1])) --token.last;
  return Problem{where, fmt::format("expected end of file after {} entries (sizes in line {}), found {}", expected,
                                    declared_in, quoted(token.text()))};
}

void fail_at_first(const Document& document, const std::vector<Problem>& problems) {
  const auto first = std::min_element(problems.begin(), problems.end(),
                                      [](const Problem& a, const Problem& b) { return a.where < b.where; });
  if (first != problems.end()) fail_at(document, first->where, first->message);
}

namespace {

template <class T>
LineRules rules_of(MatrixMarketField field) {
  LineRules rules;
  rules.format = MatrixMarketFormat::array;
  rules.field = field;
  rules.single_precision = std::is_same_v<T, float>;
  return rules;
}

template <MatrixMarketField field, class T>
const char* read_values(Array<T>& out, const DataLines& lines, Comments comments, const Device& device) {
  const LineRules rules = rules_of<T>(field);
  return read_data_lines(
      lines, out.size(), comments, device,
      [&rules, values = out.data()](std::size_t /*chunk*/, std::int64_t line, const char*& p, const char* end) {
        TextEntry<T> entry;
        if (!read_line<MatrixMarketFormat::array, field>(p, end, rules, entry)) return false;
        values[line] = entry.value;
        return true;
      });
}

template <class T>
Array<T> allocate(std::int64_t count, MemoryBudget& budget) {
  budget.reserve(static_cast<std::uint64_t>(count) * sizeof(T), "values of the file");
  return Array<T>(count, Init::none);
}

}  // namespace

template <class T>
Array<T> read_array_values(const Document& document, const ParsedHeader& parsed, const Device& device,
                           MemoryBudget& budget) {
  const DataLines lines = split_data_lines(document, parsed.body, Comments::percent, device);
  // Bounded by the lines that are there, whatever the header claims.
  Array<T> values = allocate<T>(std::min(lines.count, parsed.header.entries), budget);
  const bool integer = parsed.header.field == MatrixMarketField::integer;
  const char* malformed = integer ? read_values<MatrixMarketField::integer>(values, lines, Comments::percent, device)
                                  : read_values<MatrixMarketField::real>(values, lines, Comments::percent, device);
  std::vector<Problem> problems;
  if (malformed != nullptr) {
    problems.push_back(problem_of_line<T>(document, malformed, rules_of<T>(parsed.header.field)));
  }
  if (auto count = problem_of_count(document, lines, parsed.header.entries, Comments::percent, parsed.size_line)) {
    problems.push_back(*count);
  }
  fail_at_first(document, problems);
  return values;
}

template <class T>
Array<T> read_plain_values(const Document& document, const Device& device, MemoryBudget& budget) {
  const DataLines lines = split_data_lines(document, document.begin(), Comments::percent_or_hash, device);
  if (lines.count == 0) {
    fail_at(document, document.end(), "expected at least one number, found end of file");
  }
  Array<T> values = allocate<T>(lines.count, budget);
  const char* malformed = read_values<MatrixMarketField::real>(values, lines, Comments::percent_or_hash, device);
  if (malformed != nullptr) {
    fail_at_first(document, {problem_of_line<T>(document, malformed, rules_of<T>(MatrixMarketField::real))});
  }
  return values;
}

template Array<float> read_array_values(const Document&, const ParsedHeader&, const Device&, MemoryBudget&);
template Array<double> read_array_values(const Document&, const ParsedHeader&, const Device&, MemoryBudget&);
template Array<float> read_plain_values(const Document&, const Device&, MemoryBudget&);
template Array<double> read_plain_values(const Document&, const Device&, MemoryBudget&);

}  // namespace tessera::io
