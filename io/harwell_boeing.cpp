// Harwell-Boeing and Rutherford-Boeing files: compressed columns in the fixed-width fields of Fortran formats.
// (I. Duff, R. Grimes, J. Lewis, "Users' Guide for the Harwell-Boeing Sparse Matrix Collection", 1992; the same,
// "The Rutherford-Boeing Sparse Matrix Collection", 1997.)
#include "io/document.hpp"
#include "io/matrix_readers.hpp"
#include "io/parse_number.hpp"
#include "io/stored_arrays.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::io {

namespace {

[[nodiscard]] char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

[[nodiscard]] Token first_token(std::string_view line) { return next_token(line.data(), line.data() + line.size()); }

/// R, C, P, I or Q; S, U, H, Z or R; A or E.
[[nodiscard]] bool is_type(std::string_view type) {
  const auto among = [](char c, std::string_view letters) { return letters.find(upper(c)) != std::string_view::npos; };
  return type.size() == 3 && among(type[0], "RCPIQ") && among(type[1], "SUHZR") && among(type[2], "AE");
}

/// "(5E16.8)": five numbers per line in 16 characters each.
struct FieldFormat {
  std::int64_t per_line = 1;
  std::int64_t width = 0;
  char letter = 'I';
  std::int64_t decimals = 0;
};

/// Of "(10I8)", "(1P,5E16.8)", "(1P5D16.8)"; nothing for others. The scale factor P does not change numbers with
/// exponent.
[[nodiscard]] std::optional<FieldFormat> parse_format(std::string_view text) {
  FieldFormat format;
  std::string plain;
  for (const char c : text) {
    if (c != ' ' && c != '(' && c != ')' && c != ',') plain += upper(c);
  }
  const char* p = plain.data();
  const char* const end = p + plain.size();
  const auto number = [&](std::int64_t& value) {
    const auto [last, error] = std::from_chars(p, end, value);
    const bool found = error == std::errc{};
    p = found ? last : p;
    return found;
  };
  if (number(format.per_line) && p < end && *p == 'P') {
    ++p;
    format.per_line = 1;
    static_cast<void>(number(format.per_line));
  }
  if (p == end || std::string_view("IEDFG").find(*p) == std::string_view::npos) return std::nullopt;
  format.letter = *p++;
  if (!number(format.width)) return std::nullopt;
  if (p < end && *p == '.') {
    ++p;
    if (!number(format.decimals)) return std::nullopt;
  }
  if (p < end && *p == 'E' && format.letter != 'I') {  // digits of the exponent
    std::int64_t ignored = 0;
    ++p;
    if (!number(ignored)) return std::nullopt;
  }
  constexpr std::int64_t longest = 1 << 16;
  const auto sensible = [](std::int64_t value) { return value >= 1 && value <= longest; };
  if (p != end || !sensible(format.per_line) || !sensible(format.width)) return std::nullopt;
  return format;
}

struct BoeingHeader {
  MatrixMarketHeader sizes;
  FieldFormat pointers;
  FieldFormat indices;
  FieldFormat values;
  std::optional<FieldFormat> rhs;  ///< of full right-hand sides
  std::int64_t rhs_columns = 0;
};

/// Reads from line to line; errors name the place.
class BoeingParser {
 public:
  explicit BoeingParser(const Document& document) : document_(document), rest_(document.text) {}

  [[nodiscard]] BoeingHeader header() {
    BoeingHeader h;
    static_cast<void>(take_line(rest_));  // title and key
    const bool has_rhs = numbers_of(take_line(rest_), 4, 5)[4] > 0;
    read_type(take_line(rest_), h);
    read_formats(take_line(rest_), has_rhs, h);
    if (has_rhs) read_rhs_line(take_line(rest_), h);
    return h;
  }

  /// `count` numbers that begin in a new line. As many words as numbers are these, which also takes lines whose writer
  /// left the fields too narrow, as SciPy's does for some exponents; else fields have their width. \param what for
  /// messages
  template <class U>
  [[nodiscard]] std::vector<U> block(std::int64_t count, const FieldFormat& format, const char* what,
                                     MemoryBudget& budget) {
    // Each has a character of the file at least.
    if (count > static_cast<std::int64_t>(rest_.size())) {
      fail_at(document_, rest_.data(),
              fmt::format("expected {} {}, found {} characters to the end of the file", count, what, rest_.size()));
    }
    budget.reserve(static_cast<std::uint64_t>(count) * sizeof(U), "numbers of the file");
    std::vector<U> numbers(static_cast<std::size_t>(count));
    for (std::int64_t k = 0; k < count;) {
      if (rest_.empty()) {
        fail_at(document_, document_.end(),
                fmt::format("expected {} {}, found the end of the file after {}", count, what, k));
      }
      const std::string_view line = take_line(rest_);
      const std::int64_t end = std::min(count, k + format.per_line);
      const bool separated = token_count(line) == end - k;
      Token token{line.data(), line.data()};
      for (std::size_t at = 0; k < end; ++k, at += static_cast<std::size_t>(format.width)) {
        token = next_token(token.last, line.data() + line.size());
        const std::string_view field = separated ? token.text() : fixed_field(line, at, format, what);
        read_field(field, format, what, numbers[static_cast<std::size_t>(k)]);
      }
    }
    return numbers;
  }

 private:
  [[nodiscard]] static std::int64_t token_count(std::string_view line) {
    std::int64_t count = 0;
    const char* const end = line.data() + line.size();
    for (Token token = first_token(line); !token.empty(); token = next_token(token.last, end)) ++count;
    return count;
  }

  [[nodiscard]] std::string_view fixed_field(std::string_view line, std::size_t at, const FieldFormat& format,
                                             const char* what) const {
    const auto width = static_cast<std::size_t>(format.width);
    const std::string_view field = line.substr(std::min(at, line.size()), width);
    const bool cut = rest_.empty() && !document_.text.ends_with('\n') && field.size() < width;
    if (!cut) return field;
    fail_at(document_, field.data(),
            fmt::format("the file ends within a number: expected {} characters of the {}, found {}", width, what,
                        quoted(field)));
  }

  /// Whole numbers >= 0 between blanks; those that are missing are 0.
  [[nodiscard]] std::array<std::int64_t, 5> numbers_of(std::string_view line, std::size_t least, std::size_t most) {
    std::array<std::int64_t, 5> numbers{};
    const char* const end = line.data() + line.size();
    Token token = first_token(line);
    for (std::size_t k = 0; k < most && !(token.empty() && k >= least); ++k) {
      const bool good = parse_integer(token.text(), numbers[k]) == NumberStatus::ok && numbers[k] >= 0;
      if (!good) {
        fail_at(document_, token.first,
                fmt::format("expected a whole number >= 0 in the header, found {}",
                            token.empty() ? "the end of the line" : quoted(token.text())));
      }
      token = next_token(token.last, end);
    }
    return numbers;
  }

  void read_type(std::string_view line, BoeingHeader& h) {
    const Token type = first_token(line);
    if (!is_type(type.text()))
      fail_at(document_, type.first, fmt::format("expected a matrix type, found {}", quoted(type.text())));
    const char field = upper(type.text()[0]);
    const char symmetry = upper(type.text()[1]);
    if (field == 'C' || field == 'Q' || symmetry == 'H' || upper(type.text()[2]) == 'E') {
      fail_at(document_, type.first,
              fmt::format("matrices of type {} are not read: expected an assembled (A) one with values "
                          "real (R), integer (I) or none (P)",
                          quoted(type.text())));
    }
    const char* rest = type.last;
    const auto sizes = numbers_of({rest, static_cast<std::size_t>(line.data() + line.size() - rest)}, 3, 4);
    if (std::max(sizes[0], sizes[1]) > max_size) {
      fail_at(document_, type.first,
              fmt::format("expected up to {} rows and columns, found {} x {}", max_size, sizes[0], sizes[1]));
    }
    h.sizes.rows = sizes[0];
    h.sizes.cols = sizes[1];
    h.sizes.entries = sizes[2];
    h.sizes.field = field == 'P'   ? MatrixMarketField::pattern
                    : field == 'I' ? MatrixMarketField::integer
                                   : MatrixMarketField::real;
    if (symmetry == 'S') h.sizes.symmetry = MatrixMarketSymmetry::symmetric;
    if (symmetry == 'Z') h.sizes.symmetry = MatrixMarketSymmetry::skew_symmetric;
    if (symmetry == 'Z' && field == 'P') fail_at(document_, type.first, "a skew-symmetric pattern has no signs");
  }

  /// The next format between parentheses. \param p moved behind it
  [[nodiscard]] FieldFormat take_format(const char*& p, const char* end, bool whole, const char* what) {
    const char* const first = std::find(p, end, '(');
    int depth = 0;
    for (p = first; p < end; ++p) {
      depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    p = std::min(p + 1, end);
    const std::string_view text(first, static_cast<std::size_t>(p - first));
    const std::optional<FieldFormat> format = parse_format(text);
    if (format && (!whole || format->letter == 'I')) return *format;
    fail_at(document_, first,
            fmt::format("expected a Fortran format of {} like {}, found {}", what, whole ? "(10I8)" : "(5E16.8)",
                        text.empty() ? "the end of the line" : quoted(text)));
  }

  void read_formats(std::string_view line, bool has_rhs, BoeingHeader& h) {
    const char* p = line.data();
    const char* const end = p + line.size();
    h.pointers = take_format(p, end, true, "pointers");
    h.indices = take_format(p, end, true, "row indices");
    const bool weighted = h.sizes.field != MatrixMarketField::pattern;
    if (weighted) h.values = take_format(p, end, false, "values");
    if (!has_rhs) return;
    // A pattern may have a format of values all the same; that of the right-hand sides is the last.
    h.rhs = take_format(p, end, false, "right-hand sides");
    if (std::find(p, end, '(') != end) h.rhs = take_format(p, end, false, "right-hand sides");
  }

  void read_rhs_line(std::string_view line, BoeingHeader& h) {
    const Token type = first_token(line);
    const auto sizes = numbers_of({type.last, static_cast<std::size_t>(line.data() + line.size() - type.last)}, 1, 2);
    h.rhs_columns = sizes[0];
    if (type.empty() || upper(type.text()[0]) != 'F') h.rhs.reset();
  }

  template <class U>
  void read_field(std::string_view field, const FieldFormat& format, const char* what, U& value) {
    while (!field.empty() && is_blank(field.back())) field.remove_suffix(1);
    while (!field.empty() && is_blank(field.front())) field.remove_prefix(1);
    NumberStatus status = NumberStatus::malformed;
    if constexpr (std::is_same_v<U, std::int64_t>) {
      status = parse_integer(field, value);
    } else {
      status = format.letter == 'I' ? whole(field, value) : fortran_real(field, format, value);
    }
    if (status == NumberStatus::ok) return;
    fail_at(document_, field.data(),
            fmt::format("expected one of the {}, {} characters wide, found {}", what, format.width,
                        field.empty() ? "blanks" : quoted(field)));
  }

  template <class T>
  [[nodiscard]] static NumberStatus whole(std::string_view field, T& value) {
    std::int64_t number = 0;
    const NumberStatus status = parse_integer(field, number);
    value = static_cast<T>(number);
    return status;
  }

  /// Fortran leaves out the letter of an exponent with three digits, and counts decimals where there is no point.
  template <class T>
  [[nodiscard]] static NumberStatus fortran_real(std::string_view field, const FieldFormat& format, T& value) {
    const std::size_t sign = field.find_last_of("+-");
    const bool bare = sign != std::string_view::npos && sign > 0 &&
                      std::string_view("eEdD").find(field[sign - 1]) == std::string_view::npos;
    std::string text(field);
    if (bare) text.insert(sign, 1, 'e');
    const NumberStatus status = parse_real(text, value);
    const bool has_point = text.find('.') != std::string::npos;
    if (status == NumberStatus::ok && !has_point && format.decimals > 0 && value != T{0})
      return NumberStatus::malformed;
    return status;
  }

  const Document& document_;
  std::string_view rest_;
};

template <class U>
[[nodiscard]] PackedNumbers packed(const std::vector<U>& numbers) {
  constexpr NumberType type = std::is_same_v<U, std::int64_t> ? NumberType::int64
                              : std::is_same_v<U, float>      ? NumberType::float32
                                                              : NumberType::float64;
  return {reinterpret_cast<const char*>(numbers.data()), static_cast<std::int64_t>(numbers.size()), type,
          std::endian::native};
}

}  // namespace

bool is_harwell_boeing(std::string_view text) {
  static_cast<void>(take_line(text));
  static_cast<void>(take_line(text));
  return is_type(first_token(take_line(text)).text());
}

template <class T>
MatrixMarketMatrix<T> read_harwell_boeing(const FileBytes& file, const ReadOptions& options, MemoryBudget& budget) {
  const Document document{file.bytes, file.name};
  BoeingParser parser(document);
  const BoeingHeader h = parser.header();
  const auto pointers = parser.block<std::int64_t>(h.sizes.cols + 1, h.pointers, "pointers", budget);
  const auto indices = parser.block<std::int64_t>(h.sizes.entries, h.indices, "row indices", budget);
  std::vector<T> values;
  if (h.sizes.field != MatrixMarketField::pattern)
    values = parser.block<T>(h.sizes.entries, h.values, "values", budget);
  CompressedArrays arrays{packed(pointers), packed(indices), packed(values)};
  arrays.by_columns = true;
  arrays.base = 1;
  return assemble_entries(expand<T>(h.sizes, arrays, file.name, budget), file.name, options, budget);
}

template <class T>
MultiVector<T> read_harwell_boeing_columns(const FileBytes& file, MemoryBudget& budget) {
  const Document document{file.bytes, file.name};
  BoeingParser parser(document);
  const BoeingHeader h = parser.header();
  if (!h.rhs)
    fail_at(document, document.begin(), "expected right-hand sides in full storage (F), found none in the file");
  static_cast<void>(parser.block<std::int64_t>(h.sizes.cols + 1, h.pointers, "pointers", budget));
  static_cast<void>(parser.block<std::int64_t>(h.sizes.entries, h.indices, "row indices", budget));
  if (h.sizes.field != MatrixMarketField::pattern) {
    static_cast<void>(parser.block<double>(h.sizes.entries, h.values, "values", budget));
  }
  std::int64_t count = 0;
  if (__builtin_mul_overflow(h.sizes.rows, h.rhs_columns, &count)) {
    fail_at(document, document.begin(), fmt::format("{} right-hand sides of {} elements", h.rhs_columns, h.sizes.rows));
  }
  const auto values = parser.block<T>(count, *h.rhs, "elements of right-hand sides", budget);
  return dense_columns<T>({packed(values), h.sizes.rows, h.rhs_columns, true}, file.name, budget);
}

template MatrixMarketMatrix<float> read_harwell_boeing(const FileBytes&, const ReadOptions&, MemoryBudget&);
template MatrixMarketMatrix<double> read_harwell_boeing(const FileBytes&, const ReadOptions&, MemoryBudget&);
template MultiVector<float> read_harwell_boeing_columns(const FileBytes&, MemoryBudget&);
template MultiVector<double> read_harwell_boeing_columns(const FileBytes&, MemoryBudget&);

}  // namespace tessera::io
