// Measured choices that are remembered, by the process and in text.
#include "spmv/measured_choices.hpp"
#include "spmv/matrix_hash.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/measured_choices.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

SpmvOptions measured(std::int64_t applications = 1000) {
  SpmvOptions options;
  options.algorithm = SpmvAlgorithm::measured;
  options.device = Device::host(2);
  options.expected_applications = applications;
  return options;
}

[[nodiscard]] bool is_remembered(const PlanInfo& info) { return info.reason.starts_with("measured before"); }

/// Of a plan whose choice was remembered, from the reason of the one that was measured.
[[nodiscard]] std::string remembered(const std::string& reason) {
  return "measured before" + reason.substr(std::string("measured").size());
}

[[nodiscard]] std::int64_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

[[nodiscard]] std::vector<double> values_of(const CsrView<double>& matrix) {
  return {matrix.values.begin(), matrix.values.end()};
}

class MeasuredChoices : public ::testing::Test {
 protected:
  void SetUp() override { forget_measured_choices(); }
  void TearDown() override { forget_measured_choices(); }
};

TEST_F(MeasuredChoices, TheSecondPlanTakesTheKernelOfTheFirst) {
  const SpmvPlan<double> first(poisson2d<double>(40, 30), measured());
  const SpmvPlan<double> second(poisson2d<double>(40, 30), measured());
  EXPECT_FALSE(is_remembered(first.info()));
  EXPECT_EQ(second.info().reason, remembered(first.info().reason));
  EXPECT_EQ(second.info().algorithm, first.info().algorithm);
  EXPECT_EQ(second.info().determinism, first.info().determinism);
}

TEST_F(MeasuredChoices, WhatDiffersIsMeasuredAnew) {
  const SpmvPlan<double> first(poisson2d<double>(40, 30), measured());
  SpmvOptions three_threads = measured();
  three_threads.device = Device::host(3);
  SpmvOptions rounded = measured();
  rounded.fp32_values = true;
  const Csr<double> grid = poisson2d<double>(40, 30);
  std::vector<double> values = values_of(grid.view());
  values[7] = -1.5;
  CsrView<double> other_value = grid.view();
  other_value.values = values;
  EXPECT_FALSE(is_remembered(SpmvPlan<double>(poisson2d<double>(30, 40), measured()).info()));
  EXPECT_FALSE(is_remembered(SpmvPlan<double>(Csr<double>::copy_of(other_value), measured()).info()));
  EXPECT_FALSE(is_remembered(SpmvPlan<double>(poisson2d<double>(40, 30), measured(7)).info()));
  EXPECT_FALSE(is_remembered(SpmvPlan<double>(poisson2d<double>(40, 30), three_threads).info()));
  EXPECT_FALSE(is_remembered(SpmvPlan<double>(poisson2d<double>(40, 30), rounded).info()));
  EXPECT_FALSE(is_remembered(SpmvPlan<float>(poisson2d<float>(40, 30), measured()).info()));
  EXPECT_TRUE(is_remembered(SpmvPlan<double>(poisson2d<double>(40, 30), measured()).info()));
}

TEST_F(MeasuredChoices, TextBringsThemToAnotherProcess) {
  const SpmvPlan<double> plan(poisson2d<double>(40, 30), measured());
  const SpmvPlan<float> other(poisson2d<float>(20, 30), measured());
  const std::string text = export_measured_choices();
  EXPECT_EQ(lines_of(text), 3);
  forget_measured_choices();
  EXPECT_EQ(lines_of(export_measured_choices()), 1);

  const ImportedChoices imported = import_measured_choices(text);
  EXPECT_EQ(imported.read, 2);
  EXPECT_EQ(imported.outdated + imported.damaged, 0);
  EXPECT_EQ(export_measured_choices(), text);
  const SpmvPlan<double> later(poisson2d<double>(40, 30), measured());
  EXPECT_EQ(later.info().reason, remembered(plan.info().reason));
  EXPECT_EQ(later.info().algorithm, plan.info().algorithm);
  EXPECT_EQ(import_measured_choices(text).read, 0);  // known by now
}

TEST_F(MeasuredChoices, AnyFlippedBitOfAChoiceIsFound) {
  const SpmvPlan<double> plan(poisson2d<double>(4, 3), measured());
  const std::string text = export_measured_choices();
  const std::size_t begin = text.find('\n') + 1;
  forget_measured_choices();
  for (std::size_t k = begin; k < text.size(); ++k) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[k] = static_cast<char>(damaged[k] ^ (1 << bit));
      const ImportedChoices imported = import_measured_choices(damaged);
      ASSERT_EQ(imported.read + imported.outdated, 0) << "byte " << k << ", bit " << bit;
      ASSERT_GE(imported.damaged, 1) << "byte " << k << ", bit " << bit;
    }
  }
  for (std::size_t size = begin + 1; size + 1 < text.size(); ++size) {
    ASSERT_EQ(import_measured_choices(text.substr(0, size)).read, 0) << size << " bytes";
  }
  EXPECT_EQ(import_measured_choices(text).read, 1);
}

TEST_F(MeasuredChoices, OfAnotherVersionTheyArePassedOver) {
  remember_choice("0.0.9 abcdef0\thost", {SpmvAlgorithm::merge, false, "measured"});
  const std::string text = export_measured_choices();
  forget_measured_choices();
  const ImportedChoices imported = import_measured_choices(text);
  EXPECT_EQ(imported.outdated, 1);
  EXPECT_EQ(imported.read + imported.damaged, 0);
}

TEST_F(MeasuredChoices, OtherTextsAreRefused) {
  for (const char* const text :
       {"", "\n", "%%MatrixMarket matrix coordinate real general\n", "tessera measured choices"}) {
    EXPECT_EQ(testing::message_of<ParseError>([&] { import_measured_choices(text, "choices.txt"); }),
              "choices.txt:1:1: a file of measured choices begins with \"tessera measured choices 1\"");
  }
  EXPECT_EQ(
      testing::message_of<ParseError>([] { import_measured_choices("tessera measured choices 2\n", "c"); }),
      "c:1:1: \"tessera measured choices 2\" is of a later version; this one knows \"tessera measured choices 1\"");
}

TEST_F(MeasuredChoices, OneThatDoesNotSuitIsMeasuredAnew) {
  const Csr<double> matrix = poisson2d<double>(40, 30);
  const std::string key = choice_key(matrix.view(), measured());
  for (const MeasuredChoice& wrong : {MeasuredChoice{SpmvAlgorithm::vendor_csr, false, "not on the host"},
                                      MeasuredChoice{SpmvAlgorithm::merge, true, "automatic takes csr"}}) {
    remember_choice(key, wrong);
    const SpmvPlan<double> plan(Csr<double>::copy_of(matrix.view()), measured());
    EXPECT_FALSE(is_remembered(plan.info())) << wrong.reason;
    const std::optional<MeasuredChoice> now = recall_choice(key);
    ASSERT_TRUE(now);
    EXPECT_TRUE(plan.info().reason.starts_with("measured" + now->reason)) << plan.info().reason;
  }
}

TEST_F(MeasuredChoices, OneThatIsNamedIsMadeByName) {
  const Csr<double> matrix = poisson2d<double>(40, 30);
  remember_choice(choice_key(matrix.view(), measured()), {SpmvAlgorithm::merge, false, ", by hand"});
  const SpmvPlan<double> plan(Csr<double>::copy_of(matrix.view()), measured());
  EXPECT_EQ(plan.info().algorithm, SpmvAlgorithm::merge);
  EXPECT_EQ(plan.info().reason, "measured before, by hand");
}

TEST_F(MeasuredChoices, TheOldestAreForgotten) {
  for (int k = 0; k < 4100; ++k) remember_choice(std::to_string(k), {SpmvAlgorithm::csr, true, "measured"});
  EXPECT_FALSE(recall_choice("3"));
  EXPECT_TRUE(recall_choice("4"));
  EXPECT_TRUE(recall_choice("4099"));
  EXPECT_EQ(lines_of(export_measured_choices()), 4097);
}

TEST_F(MeasuredChoices, ThreadsShareThem) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int k = 0; k < 50; ++k) {
        const std::string key = std::to_string(k % 7);
        remember_choice(key, {SpmvAlgorithm::csr, true, "measured"});
        if (t == 0) forget_choice(key);
        static_cast<void>(recall_choice(key));
        static_cast<void>(export_measured_choices());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(lines_of(export_measured_choices()), 8);
}

TEST(MatrixHash, DependsOnEveryElementAndNotOnThreads) {
  const Csr<double> matrix = poisson2d<double>(9, 7);
  const std::uint64_t hash = matrix_hash(Device::host(1), matrix.view());
  for (const int threads : {2, 3, 8}) EXPECT_EQ(matrix_hash(Device::host(threads), matrix.view()), hash);

  for (std::size_t k = 0; k < matrix.view().columns.size(); ++k) {
    std::vector<double> values = values_of(matrix.view());
    values[k] = std::nextafter(values[k], 8.0);
    CsrView<double> changed = matrix.view();
    changed.values = values;
    EXPECT_NE(matrix_hash(Device::host(1), changed), hash) << k;
    std::vector<index_t> columns(matrix.view().columns.begin(), matrix.view().columns.end());
    ++columns[k];
    CsrView<double> moved = matrix.view();
    moved.columns = columns;
    EXPECT_NE(matrix_hash(Device::host(1), moved), hash) << k;
  }
  for (std::size_t i = 0; i < matrix.view().row_offsets.size() - 1; ++i) {
    std::vector<offset_t> offsets(matrix.view().row_offsets.begin(), matrix.view().row_offsets.end());
    ++offsets[i];
    CsrView<double> moved = matrix.view();
    moved.row_offsets = offsets;
    EXPECT_NE(matrix_hash(Device::host(1), moved), hash) << i;
  }
}

TEST(MatrixHash, TellsNeighboursThatChangePlacesApart) {
  const Csr<double> one = testing::from_dense<double>({{1.0, 2.0}, {3.0, 0.0}}, 2);
  const Csr<double> other = testing::from_dense<double>({{2.0, 1.0}, {3.0, 0.0}}, 2);
  const Csr<double> third = testing::from_dense<double>({{1.0, 2.0}, {0.0, 3.0}}, 2);
  const std::uint64_t hash = matrix_hash(Device{}, one.view());
  EXPECT_NE(hash, matrix_hash(Device{}, other.view()));
  EXPECT_NE(hash, matrix_hash(Device{}, third.view()));
  CsrView<double> pattern = one.view();
  pattern.storage = ValueStorage::pattern;
  pattern.values = {};
  EXPECT_NE(hash, matrix_hash(Device{}, pattern));
}

}  // namespace
}  // namespace tessera
