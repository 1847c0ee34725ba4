#include "io/value_lines.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace tessera::io {

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
        Entry<T> entry;
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
