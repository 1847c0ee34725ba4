/// solve doctor --calibrate and --calibration: files of figures, good and bad; machines without a GPU.

#include "solve_process.hpp"

#include "calibration_file.hpp"
#include "errors.hpp"
#include "inspect.hpp"
#include "predicted_report.hpp"

#include "spmv/prediction/device_figures.hpp"
#include "tessera/device_figures.hpp"
#include "tessera/error.hpp"

#include <utility>

namespace tessera::testing {

namespace {

using nlohmann::json;

class CalibrationTest : public SolveTest {
 protected:
  void TearDown() override {
    forget_device_figures();
    SolveTest::TearDown();
  }

  [[nodiscard]] cli::CalibrationFile calibrations(const std::string& file) const {
    return cli::CalibrationFile(cli::resolve_options({"doctor", "--calibration", path(file)}));
  }

  /// Figures of a GPU that no machine has, as its calibration would leave them.
  static void measure_some_gpu() {
    detail::GpuAttributes gpu;
    gpu.name = "Some GPU";
    DeviceFigures figures = detail::figures_of(gpu);
    figures.source = FigureSource::calibrated;
    figures.date = "2026-11-26T20:30:00Z";
    detail::remember_figures(detail::gpu_key(gpu), figures);
  }
};

TEST_F(CalibrationTest, IsKeptAndReadAgain) {
  measure_some_gpu();
  calibrations("some/folder/c.txt").keep();
  const std::string text = contents(path("some/folder/c.txt"));
  EXPECT_EQ(text, export_device_figures());
  forget_device_figures();
  EXPECT_EQ(calibrations("some/folder/c.txt").note(), "");
  EXPECT_EQ(export_device_figures(), text);
}

TEST_F(CalibrationTest, OtherGpusOfTheFileStay) {
  measure_some_gpu();
  calibrations("c.txt").keep();
  const std::string one = contents(path("c.txt"));
  forget_device_figures();
  detail::GpuAttributes other;
  other.name = "Another GPU";
  DeviceFigures figures = detail::figures_of(other);
  figures.date = "2026-11-27T20:30:00Z";
  const cli::CalibrationFile file = calibrations("c.txt");
  detail::remember_figures(detail::gpu_key(other), figures);
  file.keep();
  const std::string both = contents(path("c.txt"));
  EXPECT_NE(both.find("Some GPU"), std::string::npos);
  EXPECT_NE(both.find("Another GPU"), std::string::npos);
}

TEST_F(CalibrationTest, ADamagedLineIsPassedOverAndReplaced) {
  measure_some_gpu();
  calibrations("c.txt").keep();
  forget_device_figures();
  std::string text = contents(path("c.txt"));
  text[text.size() - 2] = text[text.size() - 2] == '1' ? '2' : '1';
  file("c.txt", text);
  const cli::CalibrationFile damaged = calibrations("c.txt");
  EXPECT_EQ(damaged.note(), path("c.txt") + ": 1 line damaged, passed over");
  EXPECT_EQ(export_device_figures(), "tessera device figures 1\n");
  measure_some_gpu();
  damaged.keep();
  EXPECT_EQ(calibrations("c.txt").note(), "");
}

TEST_F(CalibrationTest, AFileOfAnotherKindStaysAsItIs) {
  file("a.mtx", laplace4);
  const cli::CalibrationFile foreign = calibrations("a.mtx");
  EXPECT_NE(foreign.note().find("a file of device figures begins with"), std::string::npos) << foreign.note();
  EXPECT_THROW(foreign.keep(), IoError);
  EXPECT_EQ(contents(path("a.mtx")), laplace4);
}

TEST_F(CalibrationTest, AnEmptyFileAndNoneAreNothingToNote) {
  file("empty.txt", "");
  EXPECT_EQ(calibrations("empty.txt").note(), "");
  EXPECT_EQ(calibrations("missing.txt").note(), "");
  EXPECT_NE(calibrations(".").note(), "") << "a folder cannot be read";
  EXPECT_THROW(calibrations("empty.txt/c.txt").keep(), IoError) << "a file is no folder";
}

TEST_F(CalibrationTest, ABadFileIsANoteOfDoctor) {
  file("bad.txt", "hello\n");
  const ProcessResult text = run("doctor --calibration bad.txt --threads 1");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("note        bad.txt:1:1: a file of device figures begins with "
                          "\"tessera device figures 1\": passed over"),
            std::string::npos)
      << text.out;
  const json document = json::parse(run("doctor --json --calibration bad.txt --threads 1").out);
  EXPECT_EQ(document["calibration"]["file"], "bad.txt");
  EXPECT_FALSE(document["calibration"]["kept"]);
  EXPECT_FALSE(document["calibration"]["note"].get<std::string>().empty());
}

TEST_F(CalibrationTest, TheFileIsThatOfTheUser) {
  const auto file_of = [this](std::vector<std::string> variables) {
    return json::parse(run_with(std::move(variables), "doctor --json --threads 1").out)["calibration"]["file"];
  };
  EXPECT_EQ(file_of({"XDG_CONFIG_HOME=/c", "HOME=/h"}), "/c/tessera/calibration.txt");
  EXPECT_EQ(file_of({"XDG_CONFIG_HOME=", "HOME=/h"}), "/h/.config/tessera/calibration.txt");
  EXPECT_EQ(file_of({"XDG_CONFIG_HOME=relative", "HOME=/h"}), "/h/.config/tessera/calibration.txt");
  EXPECT_EQ(file_of({"XDG_CONFIG_HOME=/c", "SOLVE_CALIBRATION=mine.txt"}), "mine.txt");
  EXPECT_EQ(file_of({"XDG_CONFIG_HOME=", "HOME="}), nullptr);
}

TEST_F(CalibrationTest, WithoutAGpu) {
  const ProcessResult result = run("doctor --calibrate --calibration c.txt");
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.err.find("solve: error: nothing to calibrate: "), 0U) << result.err;
  EXPECT_FALSE(std::filesystem::exists(path("c.txt")));
  EXPECT_EQ(run("doctor --calibrate --device cuda:0 --calibration c.txt").exit_code, 7);
}

TEST_F(CalibrationTest, TheHostIsRefusedByName) {
  const ProcessResult result = run("doctor --calibrate --device host");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "solve: error: calibration of host: products of the host are not predicted; name a GPU\n");
}

/// A bad file of the user ends no run.
TEST_F(CalibrationTest, ABadFileEndsNoRun) {
  file("bad.txt", "hello\n");
  EXPECT_EQ(run("--poisson2d 8 --calibration bad.txt").exit_code, 0);
  EXPECT_EQ(run("inspect --poisson2d 8 --calibration bad.txt --no-spy").exit_code, 0);
  EXPECT_EQ(run("pagerank --powerlaw 100 --calibration bad.txt").exit_code, 0);
}

TEST_F(CalibrationTest, InspectOfTheHostPredictsNothing) {
  EXPECT_TRUE(json::parse(run("inspect --poisson2d 8 --json").out)["predictions"].is_null());
  EXPECT_EQ(run("inspect --poisson2d 8 --no-spy").out.find("predicted   "), std::string::npos);
}

cli::KernelPredictions some_predictions() {
  cli::KernelPredictions result;
  result.figures = detail::figures_of({});
  result.kernels = {{SpmvAlgorithm::patterns, 0.289, 5.05}, {SpmvAlgorithm::merbit, 0.4823, 12.35}};
  return result;
}

TEST_F(CalibrationTest, PredictionsAsText) {
  cli::KernelPredictions predictions = some_predictions();
  EXPECT_EQ(cli::predictions_text(predictions),
            "patterns 0.29 ms (5.05 B per nonzero), merbit 0.48 ms (12.3 B); figures derived");
  predictions.figures.source = FigureSource::calibrated;
  predictions.figures.date = "2026-11-26T20:30:00Z";
  EXPECT_NE(cli::predictions_text(predictions).find("figures calibrated on 2026-11-26T20:30:00Z"), std::string::npos);
  EXPECT_NE(cli::figures_text(predictions.figures).find("(calibrated on 2026-11-26T20:30:00Z)"), std::string::npos);

  cli::InspectOutcome outcome;
  outcome.predictions = predictions;
  outcome.calibration_note = "c.txt: 1 line damaged, passed over";
  EXPECT_NE(cli::inspect_text(outcome).find("\npredicted   patterns 0.29 ms"), std::string::npos);
  const cli::Warnings warnings = cli::inspect_warnings(outcome);
  ASSERT_FALSE(warnings.empty());
  EXPECT_EQ(warnings.front().code, "W107");
}

TEST_F(CalibrationTest, PredictionsAsJson) {
  const auto document = cli::predictions_json(some_predictions());
  EXPECT_EQ(document["kernels"][0]["kernel"], "patterns");
  EXPECT_EQ(document["kernels"][1]["predicted_ms"], 0.4823);
  EXPECT_EQ(document["figures"]["source"], "derived");
  EXPECT_TRUE(document["figures"]["date"].is_null());
  EXPECT_EQ(document["figures"]["multiprocessors"], 132);
}

}  // namespace
}  // namespace tessera::testing
