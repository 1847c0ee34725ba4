/// \file
/// Warnings of a solve, and of a product of matrices.
#pragma once

#include "outcome.hpp"
#include "settings.hpp"

#include "tessera/csr.hpp"

namespace tessera::cli {

/// W008, when an option was typed that the method chosen by auto does not use.
void warn_about_unused(const RunSettings& settings, Method method, Warnings& warnings);

/// All that follow from what a finished solve found: W001 to W006, W009 to W018, W025.
void warn_about_run(const RunOutcome& outcome, Warnings& warnings);

/// W026, when values of the product of finite factors overflowed.
template <class T>
void warn_about_overflow(const CsrView<T>& product, Warnings& warnings);

}  // namespace tessera::cli
