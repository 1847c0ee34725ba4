#include "io/matrix_market_header.hpp"

#include "io/document.hpp"
#include "io/foreign_formats.hpp"
#include "io/parse_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace tessera {

std::string_view to_string(MatrixMarketFormat format) {
  return format == MatrixMarketFormat::coordinate ? "coordinate" : "array";
}

std::string_view to_string(MatrixMarketField field) {
  switch (field) {
    case MatrixMarketField::real:
      return "real";
    case MatrixMarketField::integer:
      return "integer";
    case MatrixMarketField::pattern:
      return "pattern";
  }
  return "unknown";
}

std::string_view to_string(MatrixMarketSymmetry symmetry) {
  switch (symmetry) {
    case MatrixMarketSymmetry::general:
      return "general";
    case MatrixMarketSymmetry::symmetric:
      return "symmetric";
    case MatrixMarketSymmetry::skew_symmetric:
      return "skew-symmetric";
  }
  return "unknown";
}

namespace io {

namespace {

constexpr std::string_view banner_word = "%%MatrixMarket";
constexpr std::string_view banner_form =
    "\"%%MatrixMarket matrix <coordinate|array> <real|integer|pattern> <general|symmetric|skew-symmetric>\"";

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

/// The enumerator that a word of the banner names. \throws ParseError that lists what is supported
template <class Enum, std::size_t N>
Enum parse_word(const Document& document, const Token& token, const char* what, const std::array<Enum, N>& known) {
  std::string supported;
  for (const Enum candidate : known) {
    if (same_word(token.text(), to_string(candidate))) return candidate;
    supported += (supported.empty() ? "" : ", ") + std::string(to_string(candidate));
  }
  const bool refused = same_word(token.text(), "complex") || same_word(token.text(), "hermitian");
  fail_at(document, token.first,
          fmt::format("expected a supported {} ({}), found {}{}", what, supported,
                      token.empty() ? "end of line" : quoted(token.text()),
                      refused ? ": complex matrices are not supported" : ""));
}

[[noreturn]] void refuse_without_banner(const Document& document) {
  if (const auto foreign = foreign_format(document.text)) {
    fail_at(document, document.begin(),
            fmt::format("expected a Matrix Market file, found {}; hint: {}", foreign->name, foreign->remedy));
  }
  const char* end = line_end(document.begin(), document.end());
  const std::string_view line(document.begin(), static_cast<std::size_t>(end - document.begin()));
  fail_at(document, document.begin(),
          fmt::format("expected {}, found {}", banner_form, document.text.empty() ? "an empty file" : quoted(line)));
}

/// Fills format, field and symmetry; returns the end of the line.
const char* parse_banner(const Document& document, MatrixMarketHeader& header) {
  if (!has_banner(document)) refuse_without_banner(document);
  const char* end = line_end(document.begin(), document.end());
  const Token object = next_token(document.begin() + banner_word.size(), end);
  if (!same_word(object.text(), "matrix")) {
    fail_at(document, object.first,
            fmt::format("expected the object \"matrix\", found {}",
                        object.empty() ? "end of line" : quoted(object.text())));
  }
  const Token format = next_token(object.last, end);
  header.format =
      parse_word(document, format, "format", std::array{MatrixMarketFormat::coordinate, MatrixMarketFormat::array});
  const Token field = next_token(format.last, end);
  header.field =
      parse_word(document, field, "field",
                 std::array{MatrixMarketField::real, MatrixMarketField::integer, MatrixMarketField::pattern});
  const Token symmetry = next_token(field.last, end);
  header.symmetry = parse_word(
      document, symmetry, "symmetry",
      std::array{MatrixMarketSymmetry::general, MatrixMarketSymmetry::symmetric, MatrixMarketSymmetry::skew_symmetric});
  const Token extra = next_token(symmetry.last, end);
  if (!extra.empty())
    fail_at(document, extra.first, fmt::format("expected end of line, found {}", quoted(extra.text())));
  if (header.field == MatrixMarketField::pattern && header.format == MatrixMarketFormat::array) {
    fail_at(document, field.first, "expected a field with values (real, integer) in an array file, found \"pattern\"");
  }
  if (header.field == MatrixMarketField::pattern && header.symmetry == MatrixMarketSymmetry::skew_symmetric) {
    fail_at(
        document, symmetry.first,
        "expected symmetry general or symmetric of a pattern file, found \"skew-symmetric\": a pattern has no signs");
  }
  return end;
}

constexpr std::array<const char*, 3> size_names{"rows", "columns", "entries"};

std::int64_t parse_size(const Document& document, const Token& token, std::size_t which) {
  const std::int64_t largest =
      which == 2 ? std::numeric_limits<std::int64_t>::max() : std::int64_t{std::numeric_limits<index_t>::max()};
  std::int64_t size = 0;
  if (parse_integer(token.text(), size) != NumberStatus::ok || size < 0 || size > largest) {
    fail_at(document, token.first,
            fmt::format("expected the number of {}, an integer in 0 ... {}, found {}", size_names[which], largest,
                        quoted(token.text())));
  }
  return size;
}

void check_shape(const Document& document, const ParsedHeader& parsed) {
  const MatrixMarketHeader& h = parsed.header;
  if (h.symmetry != MatrixMarketSymmetry::general && h.rows != h.cols) {
    fail_at(document, parsed.size_line,
            fmt::format("expected a square matrix in a {} file, found {} x {}", to_string(h.symmetry), h.rows, h.cols));
  }
  if (h.entries > 0 && (h.rows == 0 || h.cols == 0)) {
    fail_at(document, parsed.size_line,
            fmt::format("expected 0 entries in a {} x {} matrix, found {}", h.rows, h.cols, h.entries));
  }
}

/// Values that an array file must hold: whole columns, or their part below (and on) the diagonal.
std::int64_t array_entries(const MatrixMarketHeader& h) {
  switch (h.symmetry) {
    case MatrixMarketSymmetry::general:
      return h.rows * h.cols;
    case MatrixMarketSymmetry::symmetric:
      return h.rows * (h.rows + 1) / 2;
    case MatrixMarketSymmetry::skew_symmetric:
      return h.rows * (h.rows - 1) / 2;
  }
  return 0;
}

}  // namespace

bool has_banner(const Document& document) {
  const Token first = next_token(document.begin(), line_end(document.begin(), document.end()));
  return first.first == document.begin() && same_word(first.text(), banner_word);
}

ParsedHeader parse_header(const Document& document) {
  ParsedHeader parsed;
  MatrixMarketHeader& header = parsed.header;
  const char* p = next_data_line(parse_banner(document, header), document.end(), Comments::percent);
  const bool coordinate = header.format == MatrixMarketFormat::coordinate;
  const std::size_t expected = coordinate ? 3 : 2;
  const char* form = coordinate ? "3 sizes (rows, columns, entries)" : "2 sizes (rows, columns)";
  if (p == document.end()) fail_at(document, p, fmt::format("expected {}, found end of file", form));
  parsed.size_line = p;
  parsed.body = line_end(p, document.end());
  std::array<std::int64_t*, 3> targets{&header.rows, &header.cols, &header.entries};
  for (std::size_t k = 0; k < expected; ++k) {
    const Token token = next_token(p, parsed.body);
    if (token.empty()) fail_at(document, token.first, fmt::format("expected {}, found {}", form, k));
    *targets[k] = parse_size(document, token, k);
    p = token.last;
  }
  const Token extra = next_token(p, parsed.body);
  if (!extra.empty()) fail_at(document, extra.first, fmt::format("expected {}, found {}", form, quoted(extra.text())));
  check_shape(document, parsed);
  if (!coordinate) header.entries = array_entries(header);
  return parsed;
}

}  // namespace io

}  // namespace tessera
