#include "core/thread_choice.hpp"

#include "tessera/error.hpp"

#include <gtest/gtest.h>

namespace tessera::host {
namespace {

TEST(ThreadChoice, SmallestOfCpusQuotaAndVariable) {
  struct Row {
    ThreadFacts facts;
    int count;
    const char* reason;
  };
  const std::optional<double> none;
  const Row rows[] = {
      {{8, none, {}}, 8, "8 of 8 CPUs"},
      {{1, none, {}}, 1, "1 of 1 CPU"},
      {{8, 1.5, {}}, 2, "CPU quota of the container, 1.5 of 8 CPUs"},
      {{8, 0.1, {}}, 1, "CPU quota of the container, 0.1 of 8 CPUs"},
      {{2, 6.0, {}}, 2, "2 of 2 CPUs"},
      {{8, none, "3"}, 3, "OMP_NUM_THREADS"},
      {{8, 2.0, "3"}, 2, "CPU quota of the container, 2 of 8 CPUs"},
      {{8, none, "4,2"}, 4, "OMP_NUM_THREADS"},
      {{8, none, "50000"}, 8, "8 of 8 CPUs"},
      {{8, none, "99999999999999999999"}, 8, "8 of 8 CPUs"},
      {{8, none, "0"}, 8, "8 of 8 CPUs"},
      {{8, none, "-3"}, 8, "8 of 8 CPUs"},
      {{8, none, ""}, 8, "8 of 8 CPUs"},
      {{8, none, "many"}, 8, "8 of 8 CPUs"},
      {{8, none, "2.5"}, 8, "8 of 8 CPUs"},
      {{8, none, "nan"}, 8, "8 of 8 CPUs"},
      {{100000, none, {}}, 4096, "4096 of 100000 CPUs"},
  };
  for (const Row& row : rows) {
    const HostThreads choice = choose_threads(row.facts);
    EXPECT_EQ(choice.count, row.count) << row.facts.omp_num_threads.value_or("-");
    EXPECT_EQ(choice.reason, row.reason) << row.facts.omp_num_threads.value_or("-");
  }
}

TEST(ThreadChoice, QuotaOfControlGroups) {
  EXPECT_EQ(quota_of("150000 100000\n"), 1.5);
  EXPECT_EQ(quota_of("50000\n 100000\n"), 0.5);
  for (const char* text : {"", "max 100000\n", "-1 100000", "0 100000", "1000 0", "1000", "a b", "1 2 3"}) {
    EXPECT_EQ(quota_of(text), std::nullopt) << text;
  }
}

TEST(ThreadChoice, FixedNumberHoldsForTheProcess) {
  const int chosen = Device{}.threads();
  set_default_host_threads(3);
  EXPECT_EQ(Device{}.threads(), 3);
  set_default_host_threads(0);
  EXPECT_EQ(Device{}.threads(), chosen);
  for (const int refused : {-1, 4097}) EXPECT_THROW(set_default_host_threads(refused), InvalidArgument);
}

}  // namespace
}  // namespace tessera::host
