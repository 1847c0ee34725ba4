#include "bench/zoo.hpp"

#include "core/parallel.hpp"
#include "core/random.hpp"
#include "core/stopwatch.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

namespace tessera::bench {

namespace {

/// Largest of some numbers, for parallel_sum.
struct Worst {
  double value = 0.0;
  Worst& operator+=(const Worst& other) noexcept {
    if (!(other.value <= value)) value = other.value;
    return *this;
  }
};

/// 27 points in 3D with a dense block of `unknowns` x `unknowns` for every entry.
struct BlockFamily {
  const char* name;
  std::int64_t nodes;
  index_t unknowns;
};
constexpr BlockFamily block_families[] = {{"elast3", 64000, 3}, {"block4", 32768, 4}, {"block6", 15625, 6}};

/// A number in [0, 1), a multiple of 2^-24.
double value_of_entry(std::int64_t k) {
  return static_cast<double>(static_cast<std::uint32_t>(k) * 2654435761U >> 8) * 0x1p-24;
}

Csr<double> blocks_of(const Csr<double>& nodes, index_t unknowns) {
  const std::int64_t rows = std::int64_t{nodes.rows()} * unknowns;
  Array<offset_t> offsets(rows + 1);
  Array<index_t> columns(nodes.nnz() * unknowns * unknowns, Init::none);
  Array<double> values(columns.size(), Init::none);
  offset_t next = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t node = row / unknowns;
    for (offset_t k = nodes.row_offsets()[node]; k < nodes.row_offsets()[node + 1]; ++k) {
      for (index_t d = 0; d < unknowns; ++d, ++next) {
        columns[next] = nodes.columns()[k] * unknowns + d;
        values[next] = value_of_entry(next);
      }
    }
    offsets[row + 1] = next;
  }
  return Csr<double>(rows, rows, std::move(offsets), std::move(columns), std::move(values));
}

/// Constant coefficients on grids as large as those of lap2d and fem3d, numbered row by row or at random.
std::optional<Csr<double>> make_stencil(const std::string& family, double part) {
  if (family == "stencil5") {
    return generate<double>(parse_generator("poisson2d:" + std::to_string(std::lround(5000 * std::sqrt(part)))),
                            ValueStorage::weighted);
  }
  if (family == "stencil27") {
    const std::string side = std::to_string(std::lround(140 * std::cbrt(part)));
    return generate<double>(parse_generator("poisson3d:" + side + ",points=27"), ValueStorage::weighted);
  }
  if (family == "shuffled5" || family == "shuffled27") {
    const bool plane = family == "shuffled5";
    const double side = plane ? 5000 * std::sqrt(part) : 140 * std::cbrt(part);
    return generate<double>(parse_generator(fmt::format("poisson{}d:{},points={},shuffle=1", plane ? 2 : 3,
                                                        std::lround(side), plane ? 5 : 27)),
                            ValueStorage::weighted);
  }
  return std::nullopt;
}

std::optional<Csr<double>> make_block_matrix(const std::string& family, double part) {
  if (family == "band120") {
    const auto rows = static_cast<std::int64_t>(60000 * part);
    return generate<double>(parse_generator("band:" + std::to_string(rows) + ",width=120"), ValueStorage::weighted);
  }
  for (const BlockFamily& known : block_families) {
    if (family != known.name) continue;
    const GeneratorSpec nodes{"fem3d", static_cast<std::int64_t>(part * static_cast<double>(known.nodes))};
    return blocks_of(generate<double>(nodes, ValueStorage::weighted), known.unknowns);
  }
  return std::nullopt;
}

/// A matrix of a file; the entries of a pattern are 1.
Csr<double> read_weighted(const std::filesystem::path& file) {
  Csr<double> matrix = read_matrix_market<double>(file).matrix;
  if (!matrix.is_pattern()) return matrix;
  Array<double> ones(matrix.nnz(), Init::none);
  std::fill(ones.begin(), ones.end(), 1.0);
  return matrix.with_values(std::move(ones));
}

std::int64_t full_size(const std::string& family) {
  for (const GeneratorFamily& known : generator_families()) {
    if (known.name == family) return known.default_size;
  }
  throw std::runtime_error("unknown family " + family);
}

}  // namespace

const std::vector<std::string>& zoo_families() {
  static const std::vector<std::string> names{"lap2d", "fem3d", "rmat", "road",   "kmer",
                                              "mawi",  "web",   "band", "rowskew"};
  return names;
}

ZooMatrix make_zoo_matrix(const std::string& family, double part) {
  const Stopwatch watch;
  if (const std::size_t colon = family.rfind(':'); colon != std::string::npos) {
    const Csr<double> matrix = make_zoo_matrix(family.substr(0, colon), part).matrix;
    const std::string change = family.substr(colon + 1);
    return {family, change == "rcm" ? in_rcm_order(matrix) : with_zoo_values(matrix, change), watch.milliseconds()};
  }
  if (const std::filesystem::path file(family); file.has_extension()) {
    Csr<double> matrix = read_weighted(file);
    const std::string name = file.filename().string();
    return {name.substr(0, name.find('.')), std::move(matrix), watch.milliseconds()};
  }
  if (std::optional<Csr<double>> blocks = make_block_matrix(family, part)) {
    return {family, *std::move(blocks), watch.milliseconds()};
  }
  if (std::optional<Csr<double>> stencil = make_stencil(family, part)) {
    return {family, *std::move(stencil), watch.milliseconds()};
  }
  GeneratorSpec spec{family, static_cast<std::int64_t>(part * static_cast<double>(full_size(family)))};
  Csr<double> matrix = generate<double>(spec, ValueStorage::weighted);
  return {family, std::move(matrix), watch.milliseconds()};
}

template <class T>
Csr<T> with_type(const Csr<double>& matrix) {
  const Device host;
  Array<T> values(matrix.nnz(), Init::none);
  host::parallel_for(host, matrix.nnz(), [&](host::Range range) {
    for (std::int64_t k = range.begin; k < range.end; ++k) values[k] = static_cast<T>(matrix.values()[k]);
  });
  return Csr<T>(matrix.rows(), matrix.cols(), matrix.row_offsets().to(host), matrix.columns().to(host),
                std::move(values), Check::trusted);
}

template <class T>
Csr<T> pattern_of(const Csr<double>& matrix) {
  const Device host;
  return Csr<T>::pattern(matrix.rows(), matrix.cols(), matrix.row_offsets().to(host), matrix.columns().to(host),
                         Check::trusted);
}

template <class T>
std::vector<T> input_vector(index_t n) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (std::size_t j = 0; j < x.size(); ++j) {
    x[j] = static_cast<T>(static_cast<std::uint32_t>(j) * 2654435761U >> 8) * static_cast<T>(0x1p-24);
  }
  return x;
}

template <class T>
Reference reference_product(const CsrView<T>& matrix, std::span<const T> x, bool round_values) {
  Reference reference;
  reference.y.resize(static_cast<std::size_t>(matrix.rows));
  reference.magnitude.resize(reference.y.size());
  reference.length.resize(reference.y.size());
  // Rows differ much in length, so they are handed out in small groups.
  constexpr std::int64_t group = 4096;
  host::parallel_tasks(Device{}, (matrix.rows + group - 1) / group, [&](std::int64_t g) {
    const std::int64_t end = std::min<std::int64_t>(matrix.rows, (g + 1) * group);
    for (auto row = static_cast<std::size_t>(g * group); row < static_cast<std::size_t>(end); ++row) {
      long double sum = 0.0L;
      long double magnitude = 0.0L;
      for (offset_t k = matrix.row_offsets[row]; k < matrix.row_offsets[row + 1]; ++k) {
        const T stored = matrix.value(k);
        const double value =
            round_values ? static_cast<double>(static_cast<float>(stored)) : static_cast<double>(stored);
        const auto column = static_cast<std::size_t>(matrix.columns[static_cast<std::size_t>(k)]);
        const long double term = static_cast<long double>(value) * static_cast<long double>(x[column]);
        sum += term;
        magnitude += std::abs(term);
      }
      reference.y[row] = static_cast<double>(sum);
      reference.magnitude[row] = static_cast<double>(magnitude);
      reference.length[row] = matrix.row_offsets[row + 1] - matrix.row_offsets[row];
    }
  });
  return reference;
}

template <class T>
double error_over_bound(const Reference& reference, std::span<const T> y) {
  constexpr double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  // Long rows are summed in parts, whose errors partly cancel; the bound of one long sum would accept anything.
  constexpr double most_roundings = 4096.0;
  return host::parallel_sum<Worst>(
             Device{}, static_cast<std::int64_t>(y.size()),
             [&](host::Range range) {
               Worst worst;
               for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
                 const double error = std::abs(static_cast<double>(y[i]) - reference.y[i]);
                 const double roundings = std::min(static_cast<double>(reference.length[i] + 4), most_roundings);
                 const double bound = roundings * epsilon * reference.magnitude[i];
                 if (error == 0.0) continue;
                 const double ratio = error / bound;
                 worst += {std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio};
               }
               return worst;
             })
      .value;
}

template Csr<float> with_type(const Csr<double>&);
template Csr<double> with_type(const Csr<double>&);
template Csr<float> pattern_of(const Csr<double>&);
template Csr<double> pattern_of(const Csr<double>&);
template std::vector<float> input_vector(index_t);
template std::vector<double> input_vector(index_t);
template Reference reference_product(const CsrView<float>&, std::span<const float>, bool);
template Reference reference_product(const CsrView<double>&, std::span<const double>, bool);
template double error_over_bound(const Reference&, std::span<const float>);
template double error_over_bound(const Reference&, std::span<const double>);

}  // namespace tessera::bench
