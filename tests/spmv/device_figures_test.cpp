// Figures of GPUs: built in and derived, calibrations as text, and texts that are not to be trusted.
#include "spmv/prediction/device_figures.hpp"
#include "tessera/error.hpp"
#include "tests/support/error_message.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace tessera {

using namespace detail;
namespace {

GpuAttributes some_gpu() {
  GpuAttributes gpu;
  gpu.name = "Some GPU";
  gpu.multiprocessors = 66;
  gpu.l2_bytes = 30'000'000;
  gpu.memory_clock_khz = 1'000'000;
  gpu.bus_bits = 4096;
  gpu.driver_version = 13000;
  gpu.runtime_version = 12080;
  return gpu;
}

class DeviceFiguresTest : public ::testing::Test {
 protected:
  void SetUp() override { forget_device_figures(); }
  void TearDown() override { forget_device_figures(); }
};

/// A text with one calibration, of which this process then knows nothing.
std::string text_of_one() {
  DeviceFigures figures = figures_of(some_gpu());
  figures.copy_gbytes_per_s = 1234.5;
  figures.source = FigureSource::calibrated;
  figures.date = "2026-11-26T20:30:00Z";
  remember_figures(gpu_key(some_gpu()), figures);
  std::string text = export_device_figures();
  forget_device_figures();
  return text;
}

TEST_F(DeviceFiguresTest, BuiltInForAnH200) {
  GpuAttributes gpu = some_gpu();
  gpu.name = "NVIDIA H200";
  gpu.multiprocessors = 132;
  const DeviceFigures figures = figures_of(gpu);
  EXPECT_EQ(figures.source, FigureSource::built_in);
  EXPECT_EQ(figures.multiprocessors, 132);
  EXPECT_EQ(figures.l2_bytes, 30e6);  // what the driver says
  EXPECT_NEAR(figures.copy_gbytes_per_s, 4240.0, 50.0);
  EXPECT_TRUE(are_plausible(figures));
}

TEST_F(DeviceFiguresTest, DerivedFromAttributes) {
  const DeviceFigures figures = figures_of(some_gpu());
  EXPECT_EQ(figures.source, FigureSource::derived);
  // 2 * 1 GHz * 512 bytes, of which copies reach 88 %.
  EXPECT_NEAR(figures.copy_gbytes_per_s, 0.88 * 1024.0, 1e-9);
  GpuAttributes h200 = some_gpu();
  h200.name = "NVIDIA H200";
  EXPECT_NEAR(figures.l2_gbytes_per_s, figures_of(h200).l2_gbytes_per_s / 2.0, 1e-9);
  EXPECT_TRUE(are_plausible(figures));
}

TEST_F(DeviceFiguresTest, WithoutAttributesThoseOfAnH200) {
  const DeviceFigures figures = figures_of({});
  EXPECT_TRUE(are_plausible(figures));
  EXPECT_GT(figures.multiprocessors, 0);
  EXPECT_EQ(figures.source, FigureSource::derived);
}

TEST_F(DeviceFiguresTest, TheHostHasNone) {
  EXPECT_THROW(static_cast<void>(device_figures(Device::host(1))), InvalidArgument);
  EXPECT_NE(testing::message_of<NotSupported>([] { calibrate(Device::host(1)); }).find("host"), std::string::npos);
}

TEST_F(DeviceFiguresTest, ReadsWhatItWrote) {
  const std::string text = text_of_one();
  const ImportedFigures imported = import_device_figures(text);
  EXPECT_EQ(imported.read, 1);
  EXPECT_EQ(imported.damaged + imported.outdated, 0);
  const auto figures = recall_figures(gpu_key(some_gpu()));
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->copy_gbytes_per_s, 1234.5);
  EXPECT_EQ(figures->latency_ns, figures_of(some_gpu()).latency_ns);
  EXPECT_EQ(figures->multiprocessors, 66);
  EXPECT_EQ(figures->source, FigureSource::calibrated);
  EXPECT_EQ(figures->date, "2026-11-26T20:30:00Z");
  EXPECT_EQ(export_device_figures(), text);
  EXPECT_EQ(import_device_figures(text).read, 0) << "known already";
}

TEST_F(DeviceFiguresTest, IsThatOfOneDriver) {
  import_device_figures(text_of_one());
  GpuAttributes later = some_gpu();
  later.driver_version = 13010;
  EXPECT_FALSE(recall_figures(gpu_key(later)));
}

TEST_F(DeviceFiguresTest, EveryChangedCharacterIsNoticed) {
  const std::string text = text_of_one();
  const std::size_t line = text.find('\n') + 1;
  for (std::size_t place = line; place + 1 < text.size(); ++place) {
    std::string damaged = text;
    damaged[place] = damaged[place] == '7' ? '8' : '7';
    const ImportedFigures imported = import_device_figures(damaged);
    EXPECT_EQ(imported.read, 0) << place;
    EXPECT_EQ(imported.damaged, 1) << place;
  }
  EXPECT_EQ(import_device_figures(text.substr(0, text.size() - 9)).damaged, 1) << "cut off";
}

TEST_F(DeviceFiguresTest, OthersOfADamagedTextAreRead) {
  const std::string text = text_of_one();
  const std::string line = text.substr(text.find('\n') + 1);
  const ImportedFigures imported = import_device_figures(text + "garbage\n\n" + line);
  EXPECT_EQ(imported.read, 1);
  EXPECT_EQ(imported.damaged, 2);
}

TEST_F(DeviceFiguresTest, OtherTextsAreRefused) {
  for (const char* text : {"", "%%MatrixMarket matrix", "tessera device figures 2\n", "tessera measured choices 1\n"}) {
    EXPECT_NE(testing::message_of<ParseError>([&] { import_device_figures(text, "a.txt"); }).find("a.txt"),
              std::string::npos)
        << text;
  }
  EXPECT_EQ(import_device_figures("tessera device figures 1\n").read, 0);
}

/// Figures that no GPU has are damaged, whatever their checksum says.
TEST_F(DeviceFiguresTest, OutOfRange) {
  for (const double wrong :
       {0.0, -1.0, 1e12, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    DeviceFigures figures = figures_of(some_gpu());
    figures.copy_gbytes_per_s = wrong;
    EXPECT_FALSE(are_plausible(figures)) << wrong;
    remember_figures(gpu_key(some_gpu()), figures);
    const std::string text = export_device_figures();
    forget_device_figures();
    EXPECT_EQ(import_device_figures(text).damaged, 1) << wrong;
    EXPECT_FALSE(recall_figures(gpu_key(some_gpu())));
  }
}

TEST_F(DeviceFiguresTest, OfAnotherVersionAreOutdated) {
  const std::string text = text_of_one();
  // The checksum of a line of another version is right: written by that version's program.
  const std::size_t version = text.find('\t', text.find('\n')) + 1;
  const std::size_t end = text.find('\t', version);
  const std::string rest = "9.9.9" + text.substr(end, text.size() - end - 1);
  const ImportedFigures imported = import_device_figures("tessera device figures 1\n" + checked_figure_line(rest));
  EXPECT_EQ(imported.outdated, 1);
  EXPECT_EQ(imported.read + imported.damaged, 0);
  EXPECT_FALSE(recall_figures(gpu_key(some_gpu())));
}

TEST_F(DeviceFiguresTest, SourcesHaveNames) {
  EXPECT_EQ(to_string(FigureSource::built_in), "built in");
  EXPECT_EQ(to_string(FigureSource::derived), "derived");
  EXPECT_EQ(to_string(FigureSource::calibrated), "calibrated");
}

TEST_F(DeviceFiguresTest, CalibrationIsFarBeyondTheCacheAndInsideIt) {
  for (const std::int64_t l2 : {std::int64_t{0}, std::int64_t{4} << 20, std::int64_t{60} << 20}) {
    const CalibrationSizes sizes = calibration_sizes(l2);
    EXPECT_GE(sizes.memory_bytes, 6 * l2);
    EXPECT_GT(sizes.cache_bytes, 0);
    EXPECT_LE(sizes.cache_bytes, std::max(l2, std::int64_t{4} << 20) / 4);
  }
}

}  // namespace
}  // namespace tessera
