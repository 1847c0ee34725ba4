#include "io/data_line.hpp"

#include "io/document.hpp"

#include <fmt/format.h>

namespace tessera::io {

namespace {

std::string expected_numbers(const LineRules& rules) {
  if (!rules.has_indices()) return "1 number";
  return rules.has_values() ? "3 numbers (row, column, value)" : "2 numbers (row, column)";
}

std::string describe_count(const LineFault& fault, std::string_view line, const LineRules& rules) {
  int found = 0;
  const char* end = line.data() + line.size();
  Token last{line.data(), line.data()};
  for (Token token = next_token(line.data(), end); !token.empty(); token = next_token(token.last, end)) {
    ++found;
    last = token;
  }
  const std::string_view visible(line.data(), static_cast<std::size_t>(last.last - line.data()));
  std::string hint;
  if (fault.fault == Fault::too_few_numbers && fault.part == LinePart::value && rules.has_indices()) {
    hint = R"(; hint: pattern matrices need the header field "pattern")";
  } else if (fault.fault == Fault::too_many_numbers && !rules.has_values()) {
    hint = R"(; hint: matrices with values need the header field "real" or "integer")";
  } else if (fault.fault == Fault::too_many_numbers && rules.has_indices() && found == 4) {
    hint = "; hint: complex matrices are not supported";
  }
  return fmt::format("expected {}, found {}: {}{}", expected_numbers(rules), found, quoted(visible), hint);
}

std::string describe_index(const LineFault& fault, const LineRules& rules) {
  const bool row = fault.part == LinePart::row;
  std::int64_t number = 1;
  const bool zero = parse_integer(fault.token.text(), number) == NumberStatus::ok && number == 0;
  return fmt::format("expected a {} index in 1 ... {}, found {}{}", row ? "row" : "column",
                     row ? rules.rows : rules.cols, quoted(fault.token.text()),
                     zero ? "; hint: indices are 1-based" : "");
}

std::string describe_value(const LineFault& fault, const LineRules& rules) {
  const std::string found = quoted(fault.token.text());
  const bool integer = rules.field == MatrixMarketField::integer;
  switch (fault.fault) {
    case Fault::overflow:
      return fmt::format("expected a number that fits {}, found {}",
                         integer ? "64 bits" : (rules.single_precision ? "single precision" : "double precision"),
                         found);
    case Fault::not_finite:
      return fmt::format("expected a finite number, found {}", found);
    case Fault::nonzero_diagonal:
      return fmt::format("expected 0 on the diagonal of a skew-symmetric matrix, found {}", found);
    default:
      break;
  }
  double real = 0.0;
  const bool hint = integer && parse_real(fault.token.text(), real) == NumberStatus::ok;
  return fmt::format("expected {}, found {}{}", integer ? "an integer" : "a real number", found,
                     hint ? "; hint: numbers with fractions or exponents need the header field \"real\"" : "");
}

}  // namespace

std::string describe(const LineFault& fault, std::string_view line, const LineRules& rules) {
  switch (fault.fault) {
    case Fault::too_few_numbers:
    case Fault::too_many_numbers:
      return describe_count(fault, line, rules);
    case Fault::bad_index:
      return describe_index(fault, rules);
    default:
      return describe_value(fault, rules);
  }
}

}  // namespace tessera::io
