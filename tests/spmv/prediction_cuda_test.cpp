// Predicted times on a GPU: samples equal those of the host, a calibration gives plausible figures, and reasons name
// predictions.
#include "spmv/prediction/device_figures.hpp"
#include "spmv/prediction/predicted_time.hpp"
#include "tessera/generators.hpp"
#include "tessera/measured_choices.hpp"
#include "tests/spmv/measured_choice_cases.hpp"
#include "tests/support/adversarial.hpp"
#include "tests/support/cuda_test.hpp"

#include <cmath>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

class CudaPrediction : public testing::CudaTest {
 protected:
  void TearDown() override { forget_device_figures(); }
  [[nodiscard]] static SpmvOptions options(SpmvAlgorithm algorithm = SpmvAlgorithm::automatic) {
    SpmvOptions result;
    result.device = gpu();
    result.algorithm = algorithm;
    return result;
  }
};

std::vector<Csr<double>> some_matrices() {
  std::vector<Csr<double>> result;
  result.push_back(poisson2d<double>(90, 70));
  result.push_back(
      testing::with_row_lengths<double>(testing::power_law_lengths(5000, 900, 3), 4000, ValueStorage::weighted));
  result.push_back(testing::with_row_lengths<double>({7000, 3, 0, 1}, 8000, ValueStorage::weighted));
  result.push_back(testing::with_row_lengths<double>({1}, 1, ValueStorage::weighted));
  result.push_back(testing::with_row_lengths<double>({0, 0}, 3, ValueStorage::weighted));
  result.push_back(testing::with_row_lengths<double>({}, 0, ValueStorage::weighted));
  return result;
}

TEST_F(CudaPrediction, SamplesAreThoseOfTheHost) {
  for (const Csr<double>& matrix : some_matrices()) {
    const Csr<double> there = matrix.to(gpu());
    const MatrixSample here = sample_matrix(matrix.row_offsets(), matrix.columns(), Device::host(1));
    const MatrixSample sample = sample_matrix(there.row_offsets(), there.columns(), gpu());
    EXPECT_EQ(sample.columns, here.columns) << matrix.nnz();
    EXPECT_EQ(sample.row_offsets, here.row_offsets) << matrix.nnz();
  }
}

TEST_F(CudaPrediction, EveryMatrixIsPredicted) {
  const DeviceFigures figures = device_figures(gpu());
  for (const Csr<double>& matrix : some_matrices()) {
    const Csr<double> there = matrix.to(gpu());
    const ProductTraits traits = product_traits(there.view(), options());
    const std::vector<PredictedProduct> predicted = predict_products(traits, figures);
    EXPECT_GE(predicted.size(), 4U);
    for (const PredictedProduct& each : predicted) {
      EXPECT_TRUE(std::isfinite(each.ms) && each.ms > 0.0) << to_string(each.algorithm);
    }
  }
}

TEST_F(CudaPrediction, AGridSuitsItsLayouts) {
  const Csr<double> there = poisson2d<double>(90, 70).to(gpu());
  const ProductTraits traits = product_traits(there.view(), options());
  EXPECT_EQ(traits.longest_row, 5);
  EXPECT_TRUE(traits.pattern_bytes);
  EXPECT_TRUE(traits.sell_bytes);
  EXPECT_TRUE(traits.tile_bytes);
}

TEST_F(CudaPrediction, AMeasuredChoiceNamesPredictions) {
  const SpmvPlan<double> plan(poisson2d<double>(60, 50), options(SpmvAlgorithm::measured));
  EXPECT_NE(plan.info().reason.find("; predicted "), std::string::npos) << plan.info().reason;
  testing::expect_least_of_measured(plan.info(), 1000, 2);
}

/// Kernels that are predicted to be far too slow are not built: where launches take a millisecond, those of several.
TEST_F(CudaPrediction, HopelessKernelsAreNotTried) {
  DeviceFigures figures = device_figures(gpu());
  figures.launch_us = 1000.0;
  remember_figures(gpu_key(attributes_of(gpu())), figures);
  forget_measured_choices();
  const SpmvPlan<double> plan(poisson2d<double>(60, 50), options(SpmvAlgorithm::measured));
  forget_measured_choices();
  EXPECT_NE(plan.info().reason.find("; too slow by prediction: "), std::string::npos) << plan.info().reason;
  for (const testing::MeasuredKernel& kernel : testing::kernels_of_reason(plan.info().reason)) {
    EXPECT_NE(kernel.name, "merge");
    EXPECT_NE(kernel.name, "csr5");
  }
}

TEST_F(CudaPrediction, ACalibrationIsUsed) {
  DeviceFigures figures = device_figures(gpu());
  EXPECT_NE(figures.source, FigureSource::calibrated);
  figures.copy_gbytes_per_s = 777.0;
  figures.source = FigureSource::calibrated;
  remember_figures(gpu_key(attributes_of(gpu())), figures);
  EXPECT_EQ(device_figures(gpu()).copy_gbytes_per_s, 777.0);
  EXPECT_EQ(device_figures(gpu()).source, FigureSource::calibrated);
}

/// All kernels of a calibration, on little memory.
TEST_F(CudaPrediction, MeasuresEveryFigure) {
  const CalibrationSizes sizes{1 << 18, 1 << 16, 1 << 15, 2, 3, 64, 2};
  const DeviceFigures figures = cuda::measure_figures(gpu(), sizes);
  EXPECT_EQ(figures.multiprocessors, attributes_of(gpu()).multiprocessors);
  EXPECT_EQ(figures.l2_bytes, static_cast<double>(attributes_of(gpu()).l2_bytes));
  for (const double figure : {figures.copy_gbytes_per_s, figures.l2_gbytes_per_s, figures.memory_gathers_per_ns,
                              figures.l2_gathers_per_ns, figures.launch_us, figures.latency_ns}) {
    EXPECT_TRUE(std::isfinite(figure) && figure > 0.0) << figure;
  }
}

/// On a GPU alone: an emulated one would take minutes.
TEST_F(CudaPrediction, ACalibrationIsPlausible) {
  if (testing::gpu_is_emulated) GTEST_SKIP() << "times of an emulated GPU say nothing";
  const DeviceFigures before = figures_of(attributes_of(gpu()));
  const DeviceFigures figures = calibrate(gpu());
  RecordProperty("figures", export_device_figures());
  EXPECT_EQ(figures.source, FigureSource::calibrated);
  EXPECT_TRUE(are_plausible(figures));
  EXPECT_EQ(device_figures(gpu()).copy_gbytes_per_s, figures.copy_gbytes_per_s);
  const auto near = [](double measured, double expected) {
    return measured > expected / 2.0 && measured < 2.0 * expected;
  };
  EXPECT_TRUE(near(figures.copy_gbytes_per_s, before.copy_gbytes_per_s)) << figures.copy_gbytes_per_s;
  EXPECT_TRUE(near(figures.l2_gbytes_per_s, before.l2_gbytes_per_s)) << figures.l2_gbytes_per_s;
  EXPECT_TRUE(near(figures.memory_gathers_per_ns, before.memory_gathers_per_ns)) << figures.memory_gathers_per_ns;
  EXPECT_TRUE(near(figures.l2_gathers_per_ns, before.l2_gathers_per_ns)) << figures.l2_gathers_per_ns;
  EXPECT_TRUE(near(figures.launch_us, before.launch_us)) << figures.launch_us;
  EXPECT_TRUE(near(figures.latency_ns, before.latency_ns)) << figures.latency_ns;
  EXPECT_GT(figures.l2_gathers_per_ns, figures.memory_gathers_per_ns);
  const ImportedFigures again = import_device_figures(export_device_figures());
  EXPECT_EQ(again.damaged + again.outdated, 0);
}

/// A matrix that is worth it has predicted times in the reason of `automatic`.
TEST_F(CudaPrediction, AutomaticNamesPredictionsOfLargeMatrices) {
  if (testing::gpu_is_emulated) GTEST_SKIP() << "ten million nonzeros are too many for an emulated GPU";
  const SpmvPlan<double> large(poisson2d<double>(1500, 1500), options());
  EXPECT_NE(large.info().reason.find("; predicted "), std::string::npos) << large.info().reason;
  const SpmvPlan<double> small(poisson2d<double>(100, 100), options());
  EXPECT_EQ(small.info().reason.find("predicted"), std::string::npos) << small.info().reason;
}

}  // namespace
}  // namespace tessera
