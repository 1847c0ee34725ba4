/// Readers. Timed: a large Matrix Market file and its binary form. Compared with: Eigen's loadMarket, in turn in one
/// run. A reader counts only after its matrix was found equal to the one written, entry by entry.
///
///   bench_reader --entries 5e6 --json results.json
#include "bench/report.hpp"
#include "tessera/assemble.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/matrix_market.hpp"

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <Eigen/SparseCore>
#include <unsupported/Eigen/SparseExtra>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <random>
#include <vector>

namespace tessera::bench {

namespace {

using EigenMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;

struct Settings {
  double entries = 5e6;
  std::string field = "real";
  std::string directory = std::filesystem::temp_directory_path().string();
  std::string json;
};

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
bool equal(const CsrView<double>& expected, const Offsets* offsets, const Columns* columns, const Values* values) {
  for (std::size_t i = 0; i < expected.row_offsets.size(); ++i) {
    if (expected.row_offsets[i] != offsets[i]) return false;
  }
  for (std::size_t k = 0; k < expected.columns.size(); ++k) {
    if (expected.columns[k] != columns[k]) return false;
  }
  return std::memcmp(expected.values.data(), values, expected.values.size_bytes()) == 0;
}

void check_results(const Entries& entries, const std::filesystem::path& text, const std::filesystem::path& binary) {
  const auto expected = assemble<double>(entries.size, entries.size, entries.rows, entries.columns, entries.values);
  const CsrView<double> view = expected.matrix.view();
  const auto check = [&](const CsrView<double>& a, const char* name) {
    require(a.rows == view.rows && a.cols == view.cols && a.nnz() == view.nnz() &&
                equal(view, a.row_offsets.data(), a.columns.data(), a.values.data()),
            std::string(name) + " gives another matrix");
  };
  const auto file = read_matrix_market<double>(text);
  check(file.matrix.view(), "the reader");
  write_binary(binary, file);
  check(read_binary<double>(binary).matrix.view(), "the binary file");
  EigenMatrix matrix;
  require(Eigen::loadMarket(matrix, text.string()), "Eigen refuses the file");
  require(matrix.rows() == view.rows && matrix.cols() == view.cols && matrix.nonZeros() == view.nnz() &&
              equal(view, matrix.outerIndexPtr(), matrix.innerIndexPtr(), matrix.valuePtr()),
          "Eigen gives another matrix");
}

Json measure(const std::filesystem::path& text, const std::filesystem::path& binary) {
  const std::vector<TimingCandidate> candidates{
      {"eigen loadMarket",
       [&] {
         EigenMatrix matrix;
         Eigen::loadMarket(matrix, text.string());
       },
       {}},
      {"read_matrix_market", [&] { (void)read_matrix_market<double>(text); }, {}},
      {"read_binary", [&] { (void)read_binary<double>(binary); }, {}}};
  TimingOptions timing;
  timing.warmup = 1;
  timing.max_seconds = 20.0;
  const TimingSamples samples = time_interleaved(candidates, timing);
  Json rows = Json::array();
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    const TimingSummary summary = summarise(samples[c]);
    const TimingRatio speedup = median_ratio(samples[0], samples[c]);
    const std::uintmax_t bytes = std::filesystem::file_size(c == 2 ? binary : text);
    const double rate = static_cast<double>(bytes) / summary.median * 1e-6;
    rows.push_back({{"reader", candidates[c].name},
                    {"time", json_of(summary)},
                    {"file_bytes", bytes},
                    {"gbytes_per_s", rate},
                    {"speedup_over_eigen", json_of(speedup)}});
    fmt::print("  {:18} {:9.2f} ms  {:6.3f} GB/s  {:6.2f}x [{:.2f}, {:.2f}]\n", candidates[c].name, summary.median,
               rate, speedup.ratio, speedup.low, speedup.high);
  }
  return rows;
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

void run(const Settings& settings) {
  const bool integer = settings.field == "integer";
  const Files files(settings.directory);
  const Entries entries = random_entries(static_cast<std::int64_t>(settings.entries), integer);
  write_text(files.text, entries, integer);
  check_results(entries, files.text, files.binary);
  fmt::print("{} entries, {} rows, {}\n", entries.rows.size(), entries.size, settings.field);
  Json report = document("reader");
  report["baseline"] = fmt::format("Eigen {}.{}.{}, loadMarket of SparseMatrix<double, RowMajor, int>",
                                   EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
  report["entries"] = entries.rows.size();
  report["rows"] = entries.size;
  report["field"] = settings.field;
  report["checked"] = "all three matrices are equal bit by bit";
  report["readers"] = measure(files.text, files.binary);
  write(report, settings.json);
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  try {
    tessera::bench::Settings settings;
    CLI::App app("Tessera's readers against Eigen's loadMarket");
    app.add_option("--entries", settings.entries, "Entries of the matrix")
        ->check(CLI::Range(1.0, 1e9))
        ->capture_default_str();
    app.add_option("--field", settings.field, "Kind of the values")
        ->check(CLI::IsMember({"real", "integer"}))
        ->capture_default_str();
    app.add_option("--directory", settings.directory, "Place for the files, which it removes")->capture_default_str();
    app.add_option("--json", settings.json, "Write the results here");
    CLI11_PARSE(app, argc, argv);
    tessera::bench::run(settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_reader: {}\n", error.what());
    return 1;
  }
  return 0;
}
