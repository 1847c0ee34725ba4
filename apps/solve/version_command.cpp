#include "commands.hpp"
#include "outputs.hpp"
#include "report_json.hpp"

#include "tessera/device.hpp"
#include "tessera/text_file.hpp"
#include "tessera/version.hpp"

#include <fmt/format.h>

namespace tessera::cli {

ExitCode version_command(const Options& options) {
  const BuildInfo build = build_info();
  const CudaSurvey survey = survey_cuda();
  if (const auto json = options.text("json")) {
    Json gpus = Json::array();
    for (const CudaDeviceInfo& gpu : survey.devices) gpus.push_back(gpu.name);
    const Json document{{"schema", "solve.version/1"}, {"name", "solve"},
                        {"version", build.version},    {"commit", build.commit},
                        {"compiler", build.compiler},  {"build_type", build.build_type},
                        {"flags", build.flags},        {"cuda", build.cuda},
                        {"gpus", std::move(gpus)}};
    const std::string text = document_text(document);
    json == "-" ? write_stdout(text) : write_text_file(*json, text);
    return ExitCode::success;
  }
  std::string text = fmt::format("solve (Tessera) {} commit {}, {}, {}, CUDA {}\n", build.version, build.commit,
                                 build.compiler, build.build_type, build.cuda);
  for (const CudaDeviceInfo& gpu : survey.devices) text += fmt::format("gpu cuda:{}: {}\n", gpu.ordinal, gpu.name);
  write_stdout(text);
  return ExitCode::success;
}

}  // namespace tessera::cli
