#include "io/data_chunks.hpp"

#include <fmt/format.h>

#include <algorithm>

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
    Chunk& chunk = data.chunks[static_cast<std::size_t>(c)];
    const PlainLines plain = count_plain_lines(chunk.begin, chunk.end);
    chunk.lines = plain.plain ? plain.lines : count_data_lines(chunk.begin, chunk.end, comments);
  });
  for (Chunk& chunk : data.chunks) {
    chunk.first_line = data.count;
    data.count += chunk.lines;
  }
  return data;
}

const char* find_data_line(const Document& document, const DataLines& data, std::int64_t line, Comments comments) {
  for (const Chunk& chunk : data.chunks) {
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

}  // namespace tessera::io
