/// \file
/// Reports of the library as dictionaries, of which tessera.report makes dataclasses.
#pragma once

#include "tessera/report.hpp"

#include <nanobind/nanobind.h>

#include <vector>

namespace tessera::python {

/// (iterations, seconds, residuals, true residuals) as NumPy arrays; None for an empty history.
[[nodiscard]] nanobind::object history_of(const std::vector<HistoryEntry>& history);
[[nodiscard]] nanobind::dict facts_of(const SolveReport& report);
[[nodiscard]] nanobind::dict facts_of(const Timings& times);

}  // namespace tessera::python
