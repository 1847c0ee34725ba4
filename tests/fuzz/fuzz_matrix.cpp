// Text as a Matrix Market file, in both precisions and with both policies for repeated positions.
#include "tests/fuzz/fuzzing.hpp"

#include <cstdint>

namespace tessera::fuzzing {
namespace {

void read(std::string_view text) {
  const std::string name = "fuzz.mtx";
  const auto in_double = accepted(name, [&] { return parse_matrix_market<double>(text, name, limited()); });
  const auto in_float = accepted(name, [&] { return parse_matrix_market<float>(text, name, limited()); });
  ReadOptions strict = limited();
  strict.duplicates = Duplicates::error;
  const auto distinct = accepted(name, [&] { return parse_matrix_market<double>(text, name, strict); });
  if (in_float) validate(in_float->matrix.view());
  if (!in_double) {
    require(!distinct, "what is refused with repetitions is refused without");
    return;
  }
  validate(in_double->matrix.view());
  require(in_double->matrix.rows() == in_double->header.rows && in_double->matrix.cols() == in_double->header.cols,
          "the matrix has the sizes of the header");
  require(distinct.has_value() == (in_double->duplicates == 0), "repetitions are refused exactly where there are any");
  require_round_trips(*in_double);
  if (in_float) require_round_trips(*in_float);
}

}  // namespace

void fuzz_matrix(std::string_view bytes) { read(bytes); }

}  // namespace tessera::fuzzing
