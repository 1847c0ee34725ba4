#include "calibration_file.hpp"
#include "commands.hpp"
#include "engine.hpp"
#include "errors.hpp"
#include "option_values.hpp"
#include "outputs.hpp"
#include "predicted_report.hpp"
#include "report_json.hpp"
#include "self_test.hpp"
#include "summary_text.hpp"

#include "support/machine.hpp"
#include "tessera/device.hpp"
#include "tessera/device_figures.hpp"
#include "tessera/error.hpp"
#include "tessera/metis_partition.hpp"
#include "tessera/spmv.hpp"
#include "tessera/text_file.hpp"
#include "tessera/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

struct DoctorFindings {
  CudaSurvey cuda;
  PetscSurvey petsc;
  MetisSurvey metis;
  Device host;
  std::vector<Check> checks;                         ///< of the host, then of the GPUs in their order
  std::size_t gpus = 0;                              ///< that were tested
  std::map<int, DeviceFigures> figures;              ///< in use, by the number of the GPU
  std::optional<std::filesystem::path> calibration;  ///< its file
  std::string calibration_note;                      ///< why it was passed over
  bool calibrated = false;                           ///< by this run
  bool healthy = false;
};

/// GPUs that this build has machine code and kernels for.
[[nodiscard]] std::vector<Device> usable_gpus(const CudaSurvey& survey) {
  std::vector<Device> gpus;
  if (spmv_algorithms(Device::Kind::cuda).empty()) return gpus;
  for (const CudaDeviceInfo& gpu : survey.devices) {
    if (gpu.has_machine_code) gpus.push_back(Device::cuda(gpu.ordinal));
  }
  return gpus;
}

[[nodiscard]] std::string kernel_names(Device::Kind kind) {
  std::string names;
  for (const SpmvAlgorithm algorithm : spmv_algorithms(kind)) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(algorithm));
  }
  return names.empty() ? "none in this build" : names;
}

[[nodiscard]] std::string verdict(const DoctorFindings& findings) {
  const std::string what = findings.gpus == 0 ? "the host backend" : "the host backend and the GPU";
  const auto skipped =
      std::count_if(findings.checks.begin(), findings.checks.end(), [](const Check& check) { return check.skipped; });
  const std::string but =
      skipped == 0 ? "" : fmt::format(" ({} of {} checks skipped)", skipped, findings.checks.size());
  if (findings.healthy) return fmt::format("{} {}{}", what, findings.gpus == 0 ? "works" : "work", but);
  return fmt::format("{} {} NOT work", what, findings.gpus == 0 ? "does" : "do");
}

[[nodiscard]] std::string trouble_of(const CudaDeviceInfo& gpu) {
  if (!gpu.problem.empty()) return fmt::format(" ({})", gpu.problem);
  return gpu.has_machine_code ? "" : " (no machine code in this build)";
}

[[nodiscard]] std::string gpu_lines(const CudaSurvey& survey) {
  std::string text;
  for (const CudaDeviceInfo& gpu : survey.devices) {
    text += fmt::format("gpu         cuda:{}: {}, sm_{}{}{}, {} multiprocessors, {} of {} free\n", gpu.ordinal,
                        gpu.name, gpu.compute_major, gpu.compute_minor, trouble_of(gpu), gpu.multiprocessors,
                        size_text(gpu.memory_free_bytes), size_text(gpu.memory_total_bytes));
  }
  if (survey.devices.empty()) text = fmt::format("gpu         none: {}\n", survey.problem);
  return text;
}

[[nodiscard]] std::string figures_lines(const DoctorFindings& findings) {
  std::string text;
  for (const auto& [ordinal, figures] : findings.figures) {
    text += fmt::format("figures     cuda:{}: {}\n", ordinal, figures_text(figures));
  }
  if (findings.calibrated) text += fmt::format("kept        in {}\n", findings.calibration->string());
  if (!findings.calibration_note.empty()) text += fmt::format("note        {}\n", findings.calibration_note);
  return text;
}

[[nodiscard]] std::string doctor_text(const DoctorFindings& findings) {
  const BuildInfo build = build_info();
  std::string text =
      fmt::format("tessera     {} ({}), {}, {}\n", build.version, build.commit, build.compiler, build.build_type);
  text += fmt::format(
      "cuda        in this build: {}, runtime {}, driver {}\n", findings.cuda.compiled_in ? build.cuda : "no",
      support::cuda_version(findings.cuda.runtime_version), support::cuda_version(findings.cuda.driver_version));
  text += gpu_lines(findings.cuda) + figures_lines(findings);
  text += fmt::format("petsc       {}\n",
                      findings.petsc.versions.empty() ? "none: " + findings.petsc.problem : findings.petsc.versions);
  text += fmt::format("metis       {}\n",
                      findings.metis.library.empty()
                          ? "none: " + findings.metis.problem
                          : fmt::format("{}, numbers of {} bits", findings.metis.library, findings.metis.index_bits));
  text += fmt::format("host        {}, {} ({}), {} of memory available\n", support::cpu_name(),
                      support::threads_text(findings.host.threads()), default_host_threads().reason,
                      size_text(available_host_memory_bytes()));
  text += fmt::format("kernels     host: {}; cuda: {}\n", kernel_names(Device::Kind::host),
                      kernel_names(Device::Kind::cuda));
  for (const Check& check : findings.checks) {
    text += fmt::format("self-test   {}  {}: {}\n",
                        check.skipped  ? "SKIP"
                        : check.passed ? "PASS"
                                       : "FAIL",
                        check.name, check.detail);
  }
  text += fmt::format("verdict     {}\n", verdict(findings));
  return text;
}

[[nodiscard]] Json gpus_json(const DoctorFindings& findings) {
  Json gpus = Json::array();
  for (const CudaDeviceInfo& gpu : findings.cuda.devices) {
    const auto figures = findings.figures.find(gpu.ordinal);
    gpus.push_back({{"device", fmt::format("cuda:{}", gpu.ordinal)},
                    {"name", gpu.name},
                    {"sm", fmt::format("{}.{}", gpu.compute_major, gpu.compute_minor)},
                    {"multiprocessors", gpu.multiprocessors},
                    {"mem_total_bytes", gpu.memory_total_bytes},
                    {"mem_free_bytes", gpu.memory_free_bytes},
                    {"machine_code", gpu.has_machine_code},
                    {"problem", gpu.problem},
                    {"figures", figures == findings.figures.end() ? Json(nullptr) : figures_json(figures->second)}});
  }
  return gpus;
}

[[nodiscard]] std::string doctor_json(const DoctorFindings& findings, const Invocation& invocation, ExitCode code) {
  Json json = document_head("solve.doctor/1", invocation);
  json["machine"]["threads"] = findings.host.threads();
  json["machine"]["threads_reason"] = default_host_threads().reason;
  json["machine"]["memory_available_bytes"] = available_host_memory_bytes();
  json["machine"]["gpu"] = gpus_json(findings);
  json["cuda"] = {{"compiled_in", findings.cuda.compiled_in},
                  {"runtime", support::cuda_version(findings.cuda.runtime_version)},
                  {"driver", support::cuda_version(findings.cuda.driver_version)},
                  {"problem", findings.cuda.problem}};
  json["calibration"] = {{"file", findings.calibration ? Json(findings.calibration->string()) : Json(nullptr)},
                         {"kept", findings.calibrated},
                         {"note", findings.calibration_note}};
  json["petsc"] = {{"compiled_in", findings.petsc.compiled_in},
                   {"versions", findings.petsc.versions},
                   {"problem", findings.petsc.problem}};
  json["metis"] = {{"library", findings.metis.library},
                   {"index_bits", findings.metis.index_bits},
                   {"problem", findings.metis.problem}};
  Json checks = Json::array();
  for (const Check& check : findings.checks) {
    checks.push_back(
        {{"name", check.name}, {"passed", check.passed}, {"skipped", check.skipped}, {"detail", check.detail}});
  }
  json["self_test"] = std::move(checks);
  json["result"] = {{"status", findings.healthy ? "healthy" : "failed"}, {"exit_code", static_cast<int>(code)}};
  return document_text(json);
}

/// The GPU that --device names, else the first usable one. \throws DeviceUnavailable, UsageError
[[nodiscard]] Device device_to_calibrate(const Options& options, const CudaSurvey& survey) {
  const std::string name = options.text("device").value_or("auto");
  if (name != "auto") return Device::parse(name);
  const std::vector<Device> gpus = usable_gpus(survey);
  if (gpus.empty()) {
    throw DeviceUnavailable(fmt::format("nothing to calibrate: {}; hint: calibration measures a GPU",
                                        survey.problem.empty() ? "no usable GPU" : survey.problem));
  }
  return gpus.front();
}

/// Figures in use of the usable GPUs, after a calibration of one of them where it is asked for.
void find_figures(const Options& options, DoctorFindings& findings) {
  const CalibrationFile file(options);
  findings.calibration = file.path();
  findings.calibration_note = file.note();
  if (options.flag("calibrate")) {
    calibrate(device_to_calibrate(options, findings.cuda));
    file.keep();
    findings.calibrated = true;
  }
  for (const Device& gpu : usable_gpus(findings.cuda)) findings.figures[gpu.ordinal()] = device_figures(gpu);
}

}  // namespace

ExitCode doctor_command(const Options& options, const Invocation& invocation) {
  if (!options.words().empty()) throw UsageError(fmt::format("doctor takes no \"{}\"", options.words().front()));
  OutputSettings outputs;
  outputs.json = options.text("json");
  check_outputs(outputs, {});

  constexpr std::int64_t most_threads = 4096;
  DoctorFindings findings;
  set_default_host_threads(static_cast<int>(count_or_auto_option(options, "threads", 0, most_threads)));
  findings.host = Device{};
  findings.cuda = survey_cuda();
  find_figures(options, findings);
  findings.petsc = survey_petsc();
  findings.metis = survey_metis();
  findings.checks = self_test(findings.host);
  for (const Device& gpu : usable_gpus(findings.cuda)) {
    ++findings.gpus;
    for (Check& check : self_test(gpu)) findings.checks.push_back(std::move(check));
  }
  findings.healthy =
      std::all_of(findings.checks.begin(), findings.checks.end(), [](const Check& c) { return c.passed; });
  const ExitCode code = findings.healthy ? ExitCode::success : ExitCode::verification_failed;
  if (outputs.json && !outputs.json_on_stdout()) {
    write_text_file(*outputs.json, doctor_json(findings, invocation, code));
  }
  outputs.json_on_stdout() ? write_stdout(doctor_json(findings, invocation, code)) : show(doctor_text(findings));
  return code;
}

}  // namespace tessera::cli
