// Rows of bench_end_to_end by device, and what their measurements share. A row that is on the list keeps its name and
// its input: builds are compared by them.
#include "bench/end_to_end.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "io/checksum.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace tessera::bench {

namespace {

enum class On : std::uint8_t { both, host, gpu };
enum class Set : std::uint8_t { full, quick };
enum class Process : std::uint8_t { shared, alone };

/// A system by generator. Alone: it may be lost, or take longer than all others together.
struct SystemRow {
  const char* generator;
  On on = On::both;
  Set set = Set::full;
  Process process = Process::shared;
};

/// A solve that takes longer counts as lost: peers need 0.3 to 5 s for these systems on a GPU, 0.5 to 5 s on a host.
constexpr double gpu_limit_seconds = 12.0;
constexpr double host_limit_seconds = 30.0;

constexpr SystemRow systems[] = {
    {"poisson2d:1000", On::both, Set::quick},
    {"poisson2d:2000", On::gpu},
    {"poisson3d:80", On::both, Set::quick},
    {"poisson3d:100", On::gpu},
    {"poisson3d:150", On::gpu},
    {"jump3d:60,contrast=1e6", On::host},
    {"jump3d:100,contrast=1e6", On::gpu, Set::quick},
    {"jump3d:150,contrast=1e6", On::gpu},
    {"rotaniso2d:1000", On::both},
    {"rotaniso2d:2000", On::gpu},
    {"plgraph:200000", On::both, Set::quick},
    {"convdiff:100", On::gpu, Set::quick},
    {"convdiff:60", On::host, Set::quick},
    {"recirc3d:60,pe=1e4", On::both},
    {"recirc3d:100,pe=1e4", On::gpu},
    {"elasticity3d:30", On::both},
    {"elasticity3d:40", On::gpu, Set::full, Process::alone},
    {"elasticity3d:60", On::gpu, Set::full, Process::alone},
    {"jump3d:100,contrast=1e8", On::gpu, Set::full, Process::alone},
    {"helmholtz2d:400", On::both, Set::full, Process::alone},
    {"helmholtz2d:1000", On::gpu, Set::full, Process::alone},
    {"stokes2d:200", On::both, Set::full, Process::alone},
    {"stokes2d:400", On::gpu, Set::full, Process::alone},
    {"circuit:50000", On::host, Set::full, Process::alone},
    {"circuit:200000", On::both, Set::full, Process::alone},
};

/// A matrix of TESSERA_TEST_DATA.
struct RealRow {
  const char* name;
  On on = On::host;
};

constexpr RealRow real_systems[] = {
    {"bcsstk38", On::both}, {"case13659pegase_Bdc", On::both},
    {"bips98_606"},         {"memplus"},
    {"bcsstk15", On::both}, {"G3_circuit_lead400k", On::both},
    {"jnlbrng1"},           {"bcsstk16"},
    {"bcsstk08"},           {"crystm01"},
};

using Measure = Json (*)(const EndToEndRow&, const EndToEndSettings&);

struct OtherRow {
  const char* name;
  Measure measure;
  On on = On::both;
  Set set = Set::full;
};

constexpr OtherRow others[] = {
    {"spgemm/fem27", measure_sparse_product},
    {"spgemm/rmat16", measure_sparse_product},
    {"spgemm/lap2d", measure_sparse_product},
    {"spgemm/circuit", measure_sparse_product, On::both, Set::quick},
    {"spgemm/lprect", measure_sparse_product},
    {"spgemm/mg7-100:r0ap", measure_sparse_product},
    {"pagerank/web:200000", measure_ranking, On::host, Set::quick},
    {"pagerank/rmat:131072", measure_ranking, On::host},
    {"pagerank/road:500000", measure_ranking, On::host},
    {"pagerank/web:2e6", measure_ranking, On::gpu, Set::quick},
    {"pagerank/rmat:1048576", measure_ranking, On::gpu},
    {"pagerank/road:4e6", measure_ranking, On::gpu},
    {"small/cg@poisson2d:60", measure_small_system, On::both, Set::quick},
    {"small/bicgstab@convdiff:20", measure_small_system, On::both, Set::quick},
    {"small/gmres@convdiff:20", measure_small_system},
    {"columns/cg@poisson2d:150", measure_columns, On::host, Set::quick},
    {"columns/cg@poisson2d:500", measure_columns, On::gpu, Set::quick},
    {"columns/bicgstab@convdiff:40", measure_columns},
    {"steps/200", measure_heat_step, On::host, Set::quick},
    {"steps/500", measure_heat_step, On::gpu, Set::quick},
    {"refresh/poisson3d:50", measure_refresh, On::host, Set::quick},
    {"refresh/poisson3d:100", measure_refresh, On::gpu, Set::quick},
};

[[nodiscard]] EndToEndRow row_of(std::string name, Measure measure, On on, Set set) {
  EndToEndRow row;
  row.name = std::move(name);
  row.on_host = on != On::gpu;
  row.on_gpu = on != On::host;
  row.is_quick = set == Set::quick;
  row.measure = measure;
  return row;
}

[[nodiscard]] std::vector<EndToEndRow> all_rows() {
  std::vector<EndToEndRow> rows;
  for (const SystemRow& system : systems) {
    rows.push_back(row_of(std::string("systems/") + system.generator, measure_system, system.on, system.set));
    rows.back().is_alone = system.process == Process::alone;
  }
  const char* folder = std::getenv("TESSERA_TEST_DATA");
  for (const RealRow& real : real_systems) {
    if (folder == nullptr || !std::filesystem::exists(std::string(folder) + "/" + real.name + ".mtx.gz")) continue;
    rows.push_back(row_of(std::string("real/") + real.name, measure_system, real.on, Set::full));
  }
  // The quick ones in one precision.
  std::size_t number = 0;
  for (const std::string& structure : drawn_structures()) {
    const bool is_quick = number++ % 3 == 0;
    rows.push_back(row_of("spmv/" + structure + ":fp64", measure_product, On::both, is_quick ? Set::quick : Set::full));
    rows.push_back(row_of("spmv/" + structure + ":fp32", measure_product, On::both, Set::full));
  }
  for (const OtherRow& other : others) rows.push_back(row_of(other.name, other.measure, other.on, other.set));
  return rows;
}

[[nodiscard]] std::uint64_t checksum_of(const void* data, std::uint64_t bytes) {
  return io::checksum(io::Checksum::xxh3, static_cast<const char*>(data), bytes, Device{});
}

[[nodiscard]] std::string hexadecimal(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace

std::vector<EndToEndRow> end_to_end_rows(const EndToEndSettings& settings) {
  std::vector<EndToEndRow> rows = all_rows();
  std::erase_if(rows, [&](const EndToEndRow& row) {
    const bool is_here = settings.device.is_host() ? row.on_host : row.on_gpu;
    return !is_here || (settings.quick && !row.is_quick);
  });
  for (EndToEndRow& row : rows) {
    row.limit_seconds = settings.device.is_host() ? host_limit_seconds : gpu_limit_seconds;
  }
  return rows;
}

template <class T>
std::string bits_of(std::span<const T> elements) {
  return hexadecimal(checksum_of(elements.data(), elements.size_bytes()));
}

template <class T>
std::string bits_of(const CsrView<T>& matrix, std::span<const T> vector) {
  const std::uint64_t parts[] = {checksum_of(matrix.row_offsets.data(), matrix.row_offsets.size_bytes()),
                                 checksum_of(matrix.columns.data(), matrix.columns.size_bytes()),
                                 checksum_of(matrix.values.data(), matrix.values.size_bytes()),
                                 checksum_of(vector.data(), vector.size_bytes())};
  return hexadecimal(checksum_of(parts, sizeof parts));
}

template std::string bits_of(std::span<const float>);
template std::string bits_of(std::span<const double>);
template std::string bits_of(const CsrView<float>&, std::span<const float>);
template std::string bits_of(const CsrView<double>&, std::span<const double>);

std::vector<double> repeat(const EndToEndSettings& settings, const std::function<void()>& work,
                           const std::function<void()>& after) {
  constexpr std::size_t least = 3;
  constexpr std::size_t most = 40;
  const Stopwatch watch;
  std::vector<double> samples{timed(settings.device, work)};
  after();
  if (watch.seconds() > settings.seconds_of_row()) return samples;
  samples.clear();  // it was the first of this process
  while (samples.size() < most && (samples.size() < least || watch.seconds() < settings.seconds_of_row())) {
    samples.push_back(timed(settings.device, work));
    after();
  }
  return samples;
}

std::vector<double> oracle_product(const CsrView<double>& matrix, std::span<const double> x) {
  std::vector<double> y(static_cast<std::size_t>(matrix.rows));
  host::parallel_for(Device{}, matrix.rows, [&](host::Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      long double sum = 0.0L;
      for (offset_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
        sum += static_cast<long double>(matrix.value(k)) *
               x[static_cast<std::size_t>(matrix.columns[static_cast<std::size_t>(k)])];
      }
      y[i] = static_cast<double>(sum);
    }
  });
  return y;
}

double relative_residual(const CsrView<double>& matrix, std::span<const double> b, std::span<const double> x) {
  long double squares = 0.0L;
  long double norm = 0.0L;
  for (std::size_t i = 0; i < b.size(); ++i) {
    long double r = b[i];
    for (offset_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
      r -= static_cast<long double>(matrix.value(k)) *
           x[static_cast<std::size_t>(matrix.columns[static_cast<std::size_t>(k)])];
    }
    squares += r * r;
    norm += static_cast<long double>(b[i]) * b[i];
  }
  return static_cast<double>(std::sqrt(squares / norm));
}

Json checked_outcome(double measured, double bound, const std::string& failed) {
  const bool solved = measured <= bound;
  return {{"solved", solved},
          {"status", solved ? "checked" : fmt::format("{}: {:.3g} > {:.3g}", failed, measured, bound)},
          {"residual", support::number_or_null(measured)},
          {"error", nullptr},
          {"claim", nullptr},
          {"warnings", nullptr},
          {"false_claim", nullptr},
          {"exit_code", nullptr}};
}

}  // namespace tessera::bench
