/// \file
/// `hits` and `katz`: their options understood.
#pragma once

#include "settings.hpp"

#include "tessera/centrality.hpp"

namespace tessera::cli {

struct CentralitySettings {
  ProblemSettings problem;
  MachineSettings machine;
  OutputSettings output;
  bool is_hits = true;    ///< else Katz centrality
  KatzOptions iteration;  ///< of hits the base
  SpmvOptions spmv;
  RankingSettings ranking;
};

/// \throws UsageError naming option and text; DeviceUnavailable for a device that does not exist
[[nodiscard]] CentralitySettings centrality_settings(const Options& options);

}  // namespace tessera::cli
