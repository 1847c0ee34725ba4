// Reading a large Matrix Market file: Tessera's reader, its binary file, and Eigen's loadMarket, in turn in one run.
// Prints JSON. Every result is compared entry by entry with the matrix that was written before a time counts.
//
//   bench_reader [ENTRIES [real|integer [DIRECTORY]]]     ENTRIES: default 5e6; DIRECTORY: for the files, which it
//   removes
#include "tessera/assemble.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/device.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/timing.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <Eigen/SparseCore>
#include <nlohmann/json.hpp>
#include <unsupported/Eigen/SparseExtra>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using tessera::index_t;
using tessera::offset_t;
using EigenMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;

/// Entries in random order, as programs write them that do not sort; positions are distinct with few exceptions.
struct Entries {
  index_t size = 0;
  std::vector<index_t> rows;
  std::vector<index_t> columns;
  std::vector<double> values;
};

Entries random_entries(std::int64_t count, bool integer) {
  Entries entries;
  entries.size = static_cast<index_t>(std::max<std::int64_t>(count / 5, 1));
  std::mt19937_64 random(1);
  std::uniform_int_distribution<index_t> index(0, entries.size - 1);
  std::uniform_real_distribution<double> real(-1.0, 1.0);
  std::uniform_int_distribution<int> whole(-9999, 9999);
  for (std::int64_t k = 0; k < count; ++k) {
    entries.rows.push_back(index(random));
    entries.columns.push_back(index(random));
    entries.values.push_back(integer ? whole(random) : real(random));
  }
  return entries;
}

void write_text(const std::filesystem::path& path, const Entries& entries, bool integer) {
  std::ofstream file(path, std::ios::binary);
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "%%MatrixMarket matrix coordinate {} general\n{} {} {}\n",
                 integer ? "integer" : "real", entries.size, entries.size, entries.rows.size());
  for (std::size_t k = 0; k < entries.rows.size(); ++k) {
    fmt::format_to(std::back_inserter(text), "{} {} ", entries.rows[k] + 1, entries.columns[k] + 1);
    if (integer) {
      fmt::format_to(std::back_inserter(text), "{:.0f}\n", entries.values[k]);
    } else {
      fmt::format_to(std::back_inserter(text), "{:.17g}\n", entries.values[k]);
    }
    if (text.size() < (std::size_t{1} << 20) && k + 1 < entries.rows.size()) continue;
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    text.clear();
  }
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

/// Whether columns, values and offsets are the expected ones, bit by bit.
template <class Offsets, class Columns, class Values>
bool equal(const tessera::CsrView<double>& expected, const Offsets* offsets, const Columns* columns,
           const Values* values) {
  for (std::size_t i = 0; i < expected.row_offsets.size(); ++i) {
    if (expected.row_offsets[i] != offsets[i]) return false;
  }
  for (std::size_t k = 0; k < expected.columns.size(); ++k) {
    if (expected.columns[k] != columns[k]) return false;
  }
  return std::memcmp(expected.values.data(), values, expected.values.size_bytes()) == 0;
}

void check_results(const Entries& entries, const std::filesystem::path& text, const std::filesystem::path& binary) {
  const auto expected =
      tessera::assemble<double>(entries.size, entries.size, entries.rows, entries.columns, entries.values);
  const tessera::CsrView<double> view = expected.matrix.view();
  const auto check = [&](const tessera::CsrView<double>& a, const char* name) {
    require(a.rows == view.rows && a.cols == view.cols && a.nnz() == view.nnz() &&
                equal(view, a.row_offsets.data(), a.columns.data(), a.values.data()),
            std::string(name) + " gives another matrix");
  };
  const auto file = tessera::read_matrix_market<double>(text);
  check(file.matrix.view(), "the reader");
  tessera::write_binary(binary, file);
  check(tessera::read_binary<double>(binary).matrix.view(), "the binary file");
  EigenMatrix matrix;
  require(Eigen::loadMarket(matrix, text.string()), "Eigen refuses the file");
  require(matrix.rows() == view.rows && matrix.cols() == view.cols && matrix.nonZeros() == view.nnz() &&
              equal(view, matrix.outerIndexPtr(), matrix.innerIndexPtr(), matrix.valuePtr()),
          "Eigen gives another matrix");
}

nlohmann::json row(const tessera::TimingSummary& summary, std::uintmax_t bytes) {
  return {{"median_ms", summary.median},
          {"lower_quartile_ms", summary.lower_quartile},
          {"upper_quartile_ms", summary.upper_quartile},
          {"samples", summary.count},
          {"file_bytes", bytes},
          {"gb_per_s", static_cast<double>(bytes) / summary.median / 1e6}};
}

nlohmann::json row(const tessera::TimingRatio& ratio) {
  return {{"ratio", ratio.ratio}, {"low", ratio.low}, {"high", ratio.high}};
}

nlohmann::json measure(const std::filesystem::path& text, const std::filesystem::path& binary) {
  const std::vector<tessera::TimingCandidate> candidates{
      {"eigen loadMarket",
       [&] {
         EigenMatrix matrix;
         Eigen::loadMarket(matrix, text.string());
       },
       {}},
      {"read_matrix_market", [&] { static_cast<void>(tessera::read_matrix_market<double>(text)); }, {}},
      {"read_binary", [&] { static_cast<void>(tessera::read_binary<double>(binary)); }, {}}};
  tessera::TimingOptions options;
  options.warmup = 1;
  options.max_seconds = 20.0;
  const tessera::TimingSamples samples = tessera::time_interleaved(candidates, options);
  const auto text_bytes = std::filesystem::file_size(text);
  const auto binary_bytes = std::filesystem::file_size(binary);
  nlohmann::json json;
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    json["times"][candidates[c].name] = row(tessera::summarise(samples[c]), c == 2 ? binary_bytes : text_bytes);
  }
  json["speedups"]["reader over eigen"] = row(tessera::median_ratio(samples[0], samples[1]));
  json["speedups"]["binary over reader"] = row(tessera::median_ratio(samples[1], samples[2]));
  return json;
}

/// Removes the files, whatever happens.
struct Files {
  std::filesystem::path text;
  std::filesystem::path binary;

  explicit Files(const std::filesystem::path& directory) {
    const std::string name = fmt::format("tessera-bench-{}", ::getpid());
    text = directory / (name + ".mtx");
    binary = directory / (name + ".tsb");
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  ~Files() {
    std::error_code ignored;
    std::filesystem::remove(text, ignored);
    std::filesystem::remove(binary, ignored);
  }
};

void run(int argc, char** argv) {
  const std::int64_t count = argc > 1 ? static_cast<std::int64_t>(std::stod(argv[1])) : 5'000'000;
  const std::string field = argc > 2 ? argv[2] : "real";
  require(count > 0 && (field == "real" || field == "integer"),
          "usage: bench_reader [ENTRIES [real|integer [DIRECTORY]]]");
  const Files files(argc > 3 ? std::filesystem::path(argv[3]) : std::filesystem::temp_directory_path());
  const Entries entries = random_entries(count, field == "integer");
  write_text(files.text, entries, field == "integer");
  check_results(entries, files.text, files.binary);
  nlohmann::json json = measure(files.text, files.binary);
  json["benchmark"] = "reader";
  json["entries"] = count;
  json["rows"] = entries.size;
  json["field"] = field;
  json["threads"] = tessera::Device{}.threads();
  json["checked"] = "all three matrices are equal bit by bit";
  std::cout << json.dump(2) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
    return std::cout.flush() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "bench_reader: " << error.what() << '\n';
    return 1;
  }
}
