#include "verbose.hpp"

#include "support/machine.hpp"
#include "tessera/version.hpp"

#include <fmt/format.h>

namespace tessera::cli {

void print_banner(const Options& options, const MachineSettings& machine, Progress& progress) {
  const int verbosity = options.flag_count("verbose");
  if (verbosity == 0) return;
  const BuildInfo build = build_info();
  progress.detail(fmt::format("Tessera {} ({}), {}, {}", build.version, build.commit, build.compiler,
                              machine.device_undecided ? "device chosen once the matrix is known"
                                                       : support::device_text(machine.device, machine.host)));
  if (verbosity == 1) return;
  for (const OptionSpec& spec : option_table()) {
    if (!uses(options.command(), spec) || spec.kind == ValueKind::flag) continue;
    const auto text = options.text(spec.name);
    if (!text) continue;
    const Setting* setting = options.setting(spec.name);
    const bool placed = setting != nullptr && !setting->place.empty();
    progress.detail(
        fmt::format("  --{} {} ({})", spec.name, *text, placed ? setting->place : options.source(spec.name)));
  }
}

void print_device(const MachineSettings& machine, Progress& progress) {
  if (machine.device_reason.empty()) return;
  progress.detail(
      fmt::format("device {} (auto: {})", support::device_text(machine.device, machine.host), machine.device_reason));
}

}  // namespace tessera::cli
