/// End-to-end times of seeded systems and products, by what the library chooses: from a matrix on the host to a result
/// that is checked against sums in long double. Times, errors against claims, memory, choices and bits, a JSON object a
/// line, for scripts/compare-builds, which runs two builds in turns.
///
///   bench_end_to_end --device cuda --list
///   bench_end_to_end --device host --quick
///   bench_end_to_end --rows 'systems/poisson2d:1000;spmv/hubs:fp64' --claims build/release/bin/solve
#include "bench/end_to_end.hpp"
#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/error.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace tessera::bench {

namespace {

void print_line(const Json& json) {
  fmt::print("{}\n", support::line_text(json));
  std::fflush(stdout);
}

void list(const std::vector<EndToEndRow>& rows) {
  for (const EndToEndRow& row : rows) {
    print_line({{"row", row.name}, {"area", row.area()}, {"alone", row.is_alone}, {"limit_s", row.limit_seconds}});
  }
}

/// All keys of a row, so that every one has the same.
[[nodiscard]] Json empty_result(const EndToEndRow& row) {
  Json result{{"row", row.name}, {"area", row.area()}};
  for (const char* key : {"input", "samples_ms", "setup_ms", "choice", "outcome", "memory", "bits", "bits_stable",
                          "failure", "seconds"}) {
    result[key] = nullptr;
  }
  result["samples_ms"] = Json::array();
  result["choice"] = Json::object();
  return result;
}

[[nodiscard]] Json measured(const EndToEndRow& row, const EndToEndSettings& settings) {
  Json result = empty_result(row);
  const Stopwatch watch;
  try {
    const Json figures = row.measure(row, settings);
    for (const auto& [key, value] : figures.items()) result[key] = value;
  } catch (const std::exception& error) {
    result["failure"] = error.what();
  }
  result["seconds"] = watch.seconds();
  return result;
}

/// \throws InvalidArgument for a name that no row of the device has
[[nodiscard]] std::vector<EndToEndRow> named(const std::vector<EndToEndRow>& rows,
                                             const std::vector<std::string>& names) {
  std::vector<EndToEndRow> found;
  for (const std::string& name : names) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& each) { return each.name == name; });
    if (row == rows.end()) throw InvalidArgument("no row is named " + name + ": --list names all");
    found.push_back(*row);
  }
  return found;
}

void run(const EndToEndSettings& settings, const std::vector<std::string>& names, bool only_list) {
  const std::vector<EndToEndRow> rows = end_to_end_rows(settings);
  if (only_list) return list(rows);
  const std::vector<EndToEndRow> wanted = names.empty() ? rows : named(rows, names);
  Json head = document("end_to_end");
  head["machine"]["gpu"] = support::gpu_json(settings.device);
  head["tessera"]["cuda_toolkit"] = build_info().cuda;
  head["device"] = settings.device.name();
  head["seed"] = settings.seed;
  print_line({{"document", head}});
  if (!settings.device.is_host()) {
    // The driver takes memory of the process at first use, which is no row's.
    EndToEndRow first;
    first.name = "small/cg@poisson2d:20";
    static_cast<void>(measure_small_system(first, settings));
  }
  for (const EndToEndRow& row : wanted) print_line(measured(row, settings));
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::EndToEndSettings settings;
  std::string device = "host";
  std::vector<std::string> rows;
  bool only_list = false;
  CLI::App app("Seeded systems and products, each to a checked result; a JSON object a line");
  app.add_option("--device", device, "host, cuda or cuda:N")->capture_default_str();
  app.add_flag("--quick", settings.quick, "The rows of two minutes");
  app.add_flag("--list", only_list, "Name the rows, and measure none");
  app.add_option("--rows", rows, "These alone, separated by semicolons")->delimiter(';');
  app.add_option("--claims", settings.command,
                 "The program solve: run it on every system, for warnings, exit codes and predicted memory")
      ->check(CLI::ExistingFile);
  app.add_option("--seed", settings.seed, "Of matrices and vectors")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_end_to_end", [&] {
    settings.device = tessera::Device::parse(device);
    tessera::bench::run(settings, rows, only_list);
  });
}
