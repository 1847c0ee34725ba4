/// \file
/// A preconditioner as text and as JSON.
#pragma once

#include "outcome.hpp"
#include "report_json.hpp"

#include <string>

namespace tessera::cli {

/// Of AMG: memory, complexities, where set-up went, and the table of levels. Of polynomials: products or
/// entries, interval, memory. Of factors: fill, memory, pivots, a condition estimate, and how the matrix was prepared.
/// Of approximate inverses: entries, fill, memory, and where set-up went. Of others nothing.
[[nodiscard]] std::string precond_lines(const PrecondOutcome& precond, std::size_t width);

/// "preconditioner" of a document. \param setup_ms of the run
[[nodiscard]] Json precond_json(const PrecondOutcome& precond, double setup_ms);

/// W011 where AMG does not coarsen, W012 where M is not symmetric and the method asks for a symmetric M, W013 where
/// pivots of factors vanished, W014 where factors are nearly singular.
void warn_about_precond(const PrecondOutcome& precond, const std::string& method, Warnings& warnings);

}  // namespace tessera::cli
