// Files of other programs, as a matrix and as a vector, in both precisions. A name with a suffix makes the reader of
// the format take whatever does not begin like another one.
#include "tessera/matrix_file.hpp"
#include "tests/fuzz/fuzzing.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::fuzzing {
namespace {

template <class T>
std::optional<MatrixFile<T>> read_as(std::string_view bytes, const std::string& name) {
  auto file = accepted(name, [&] { return parse_matrix<T>(bytes, name, limited()); });
  if (file) validate(file->matrix.view());
  return file;
}

void read_vector(std::string_view bytes, const std::string& name) {
  // A text of numbers is a vector whatever its name, so that any of the documented errors may come.
  const auto vector = accepted(name, [&] { return parse_vector<double>(bytes, name, limited()); });
  if (!vector) return;
  for (const double value : *vector) require(std::isfinite(value), "values are finite");
}

void read(std::string_view bytes, const std::string& name) {
  const auto in_double = read_as<double>(bytes, name);
  const auto in_float = read_as<float>(bytes, name);
  require(in_double.has_value() || !in_float.has_value(), "what is refused in double is refused in float");
  read_vector(bytes, name);
  if (!in_double) return;
  const CsrView<double> a = in_double->matrix.view();
  require(in_double->header.rows == a.rows && in_double->header.cols == a.cols,
          "the header has the sizes of the matrix");
  require(in_double->labels.empty() || in_double->labels.size() == static_cast<std::size_t>(a.rows),
          "a vertex has an id");
  require_round_trips(*in_double);
}

}  // namespace

void fuzz_edges(std::string_view bytes) { read(bytes, "fuzz.csv"); }
void fuzz_boeing(std::string_view bytes) { read(bytes, "fuzz.rb"); }
void fuzz_numpy(std::string_view bytes) { read(bytes, "fuzz.npz"); }
void fuzz_matlab(std::string_view bytes) { read(bytes, "fuzz.mat"); }
void fuzz_petsc(std::string_view bytes) { read(bytes, "fuzz.petsc"); }
void fuzz_amgx(std::string_view bytes) { read(bytes, "fuzz.amgx"); }

}  // namespace tessera::fuzzing
