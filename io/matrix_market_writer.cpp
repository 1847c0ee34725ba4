#include "core/parallel.hpp"
#include "io/atomic_file.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/multi_vector_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace tessera {

namespace {

/// Two indices of 10 digits, a number of at most 24 characters, blanks and a line end.
constexpr std::int64_t longest_line = 64;
constexpr std::int64_t block_entries = 1 << 14;

std::string comment_lines(const std::vector<std::string>& comments) {
  std::string text;
  for (const std::string& comment : comments) {
    // A line end inside a comment would turn its rest into data.
    std::string line = comment;
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    text += "%" + line + "\n";
  }
  return text;
}

template <class Number>
char* put(char* out, Number number) {
  return std::to_chars(out, out + longest_line / 2, number).ptr;
}

bool in_triangle(index_t row, index_t column, MatrixMarketSymmetry symmetry) {
  switch (symmetry) {
    case MatrixMarketSymmetry::general:
      return true;
    case MatrixMarketSymmetry::symmetric:
      return row >= column;
    case MatrixMarketSymmetry::skew_symmetric:
      return row > column;
  }
  return true;
}

/// Position of (row, column) in the nonzero arrays, or -1.
template <class T>
offset_t find_entry(const CsrView<T>& a, index_t row, index_t column) {
  const auto r = static_cast<std::size_t>(row);
  const auto begin = a.columns.begin() + a.row_offsets[r];
  const auto end = a.columns.begin() + a.row_offsets[r + 1];
  const auto found = std::lower_bound(begin, end, column);
  return found == end || *found != column ? -1 : found - a.columns.begin();
}

/// First row in [0, rows) for which the predicate holds, or rows.
template <class Predicate>
std::int64_t first_row_where(std::int64_t rows, Predicate&& predicate) {
  struct First {
    std::int64_t row = std::numeric_limits<std::int64_t>::max();
    First& operator+=(const First& other) {
      row = std::min(row, other.row);
      return *this;
    }
  };
  const auto first = host::parallel_sum<First>(Device{}, rows, [&](host::Range range) {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      if (predicate(static_cast<index_t>(i))) return First{i};
    }
    return First{};
  });
  return std::min(first.row, rows);
}

/// Whether some entry of the row satisfies the predicate, called as predicate(column, position).
template <class T, class Predicate>
bool any_in_row(const CsrView<T>& a, index_t row, Predicate&& predicate) {
  const auto r = static_cast<std::size_t>(row);
  for (offset_t k = a.row_offsets[r]; k < a.row_offsets[r + 1]; ++k) {
    if (predicate(a.columns[static_cast<std::size_t>(k)], k)) return true;
  }
  return false;
}

template <class T>
void check_finite(const CsrView<T>& a) {
  const std::int64_t bad = first_row_where(a.rows, [&](index_t i) {
    return any_in_row(a, i, [&](index_t, offset_t k) { return !std::isfinite(a.value(k)); });
  });
  if (bad < a.rows) {
    throw InvalidMatrix(fmt::format("row {} holds NaN or infinity, which a Matrix Market file cannot hold", bad + 1));
  }
}

template <class T>
void check_symmetry(const CsrView<T>& a, MatrixMarketSymmetry symmetry) {
  if (symmetry == MatrixMarketSymmetry::general) return;
  const bool skew = symmetry == MatrixMarketSymmetry::skew_symmetric;
  if (!a.is_square()) {
    throw InvalidMatrix(fmt::format("a {} x {} matrix cannot be {}", a.rows, a.cols, to_string(symmetry)));
  }
  if (skew && a.is_pattern()) throw InvalidMatrix("a pattern matrix cannot be skew-symmetric: it has no signs");
  const T sign = skew ? T{-1} : T{1};
  const std::int64_t bad = first_row_where(a.rows, [&](index_t i) {
    return any_in_row(a, i, [&](index_t j, offset_t k) {
      const offset_t mirrored = find_entry(a, j, i);
      return mirrored < 0 || a.value(mirrored) != sign * a.value(k);
    });
  });
  if (bad < a.rows) {
    throw InvalidMatrix(
        fmt::format("the matrix is not {}: row {} differs from column {}", to_string(symmetry), bad + 1, bad + 1));
  }
}

template <class T>
offset_t count_stored(const CsrView<T>& a, MatrixMarketSymmetry symmetry) {
  if (symmetry == MatrixMarketSymmetry::general) return a.nnz();
  return host::parallel_sum<offset_t>(Device{}, a.rows, [&](host::Range range) {
    offset_t stored = 0;
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const auto row = static_cast<index_t>(i);
      static_cast<void>(any_in_row(a, row, [&](index_t j, offset_t) {
        stored += in_triangle(row, j, symmetry) ? 1 : 0;
        return false;
      }));
    }
    return stored;
  });
}

/// Formats [0, count) in blocks, several at a time in parallel, and writes them in order.
/// \param format called as format(Range, out): writes at most longest_line bytes per item, returns the end
template <class Sink, class Format>
void write_in_blocks(std::int64_t count, Sink&& sink, Format&& format) {
  const Device device;
  const std::int64_t blocks = (count + block_entries - 1) / block_entries;
  const std::int64_t at_once = std::min<std::int64_t>(blocks, std::int64_t{4} * device.threads());
  constexpr std::int64_t block_bytes = block_entries * longest_line;
  Array<char> text(at_once * block_bytes, Init::none);
  std::vector<std::size_t> used(static_cast<std::size_t>(at_once));
  for (std::int64_t first = 0; first < blocks; first += at_once) {
    const std::int64_t batch = std::min(at_once, blocks - first);
    host::parallel_tasks(device, batch, [&](std::int64_t b) {
      const std::int64_t begin = (first + b) * block_entries;
      char* out = text.data() + b * block_bytes;
      const char* end = format(host::Range{begin, std::min(begin + block_entries, count)}, out);
      used[static_cast<std::size_t>(b)] = static_cast<std::size_t>(end - out);
    });
    for (std::int64_t b = 0; b < batch; ++b) {
      sink(std::string_view(text.data() + b * block_bytes, used[static_cast<std::size_t>(b)]));
    }
  }
}

template <class T>
char* format_entries(const CsrView<T>& a, MatrixMarketSymmetry symmetry, host::Range range, char* out) {
  const auto after = std::upper_bound(a.row_offsets.begin(), a.row_offsets.end(), range.begin);
  auto row = static_cast<std::size_t>(after - a.row_offsets.begin()) - 1;
  for (offset_t k = range.begin; k < range.end; ++k) {
    while (a.row_offsets[row + 1] <= k) ++row;
    const index_t column = a.columns[static_cast<std::size_t>(k)];
    if (!in_triangle(static_cast<index_t>(row), column, symmetry)) continue;
    out = put(out, row + 1);
    *out++ = ' ';
    out = put(out, column + std::int64_t{1});
    if (!a.is_pattern()) {
      *out++ = ' ';
      out = put(out, a.value(k));
    }
    *out++ = '\n';
  }
  return out;
}

/// \param columns into which the elements are divided, one after the other
template <class T, class Sink>
void format_vector_into(std::span<const T> vector, std::int64_t columns, const std::vector<std::string>& comments,
                        Sink&& sink) {
  const auto bad = std::find_if(vector.begin(), vector.end(), [](T v) { return !std::isfinite(v); });
  if (bad != vector.end()) {
    throw InvalidMatrix(fmt::format(
        "element {} of the vector is NaN or infinity, which a Matrix Market file cannot hold", bad - vector.begin()));
  }
  sink(fmt::format("%%MatrixMarket matrix array real general\n{}{} {}\n", comment_lines(comments),
                   columns == 1 ? vector.size() : vector.size() / static_cast<std::size_t>(columns), columns));
  write_in_blocks(static_cast<std::int64_t>(vector.size()), sink, [&](host::Range range, char* out) {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      out = put(out, vector[static_cast<std::size_t>(i)]);
      *out++ = '\n';
    }
    return out;
  });
}

}  // namespace

template <class T>
void write_matrix_market(const std::filesystem::path& path, const CsrView<T>& matrix, const WriteOptions& options) {
  check_finite(matrix);
  check_symmetry(matrix, options.symmetry);
  const MatrixMarketField field = matrix.is_pattern() ? MatrixMarketField::pattern : MatrixMarketField::real;
  io::AtomicFile file(path);
  file.write(fmt::format("%%MatrixMarket matrix coordinate {} {}\n{}{} {} {}\n", to_string(field),
                         to_string(options.symmetry), comment_lines(options.comments), matrix.rows, matrix.cols,
                         count_stored(matrix, options.symmetry)));
  write_in_blocks(
      matrix.nnz(), [&](std::string_view text) { file.write(text); },
      [&](host::Range range, char* out) { return format_entries(matrix, options.symmetry, range, out); });
  file.commit();
}

template <class T>
void write_vector(const std::filesystem::path& path, std::span<const T> vector,
                  const std::vector<std::string>& comments) {
  io::AtomicFile file(path);
  format_vector_into(vector, 1, comments, [&](std::string_view text) { file.write(text); });
  file.commit();
}

template <class T>
std::string format_vector(std::span<const T> vector, const std::vector<std::string>& comments) {
  std::string result;
  format_vector_into(vector, 1, comments, [&](std::string_view text) { result += text; });
  return result;
}

template <class T>
void write_multi_vector(const std::filesystem::path& path, const MultiVector<T>& multi_vector,
                        const std::vector<std::string>& comments) {
  io::AtomicFile file(path);
  format_vector_into(std::span<const T>(multi_vector.elements), multi_vector.columns, comments,
                     [&](std::string_view text) { file.write(text); });
  file.commit();
}

template <class T>
std::string format_multi_vector(const MultiVector<T>& multi_vector, const std::vector<std::string>& comments) {
  std::string result;
  format_vector_into(std::span<const T>(multi_vector.elements), multi_vector.columns, comments,
                     [&](std::string_view text) { result += text; });
  return result;
}

template void write_multi_vector(const std::filesystem::path&, const MultiVector<float>&,
                                 const std::vector<std::string>&);
template void write_multi_vector(const std::filesystem::path&, const MultiVector<double>&,
                                 const std::vector<std::string>&);
template std::string format_multi_vector(const MultiVector<float>&, const std::vector<std::string>&);
template std::string format_multi_vector(const MultiVector<double>&, const std::vector<std::string>&);
template void write_matrix_market(const std::filesystem::path&, const CsrView<float>&, const WriteOptions&);
template void write_matrix_market(const std::filesystem::path&, const CsrView<double>&, const WriteOptions&);
template void write_vector(const std::filesystem::path&, std::span<const float>, const std::vector<std::string>&);
template void write_vector(const std::filesystem::path&, std::span<const double>, const std::vector<std::string>&);
template std::string format_vector(std::span<const float>, const std::vector<std::string>&);
template std::string format_vector(std::span<const double>, const std::vector<std::string>&);

}  // namespace tessera
