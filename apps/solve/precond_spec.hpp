/// \file
/// The words of --precond and --preconds: a name, and of polynomials and incomplete factors parameters after a colon.
#pragma once

#include "settings.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// One form of --precond, for lists and messages.
struct PrecondForm {
  std::string_view name;         ///< "ilut"
  std::string_view form;         ///< "ilut:TAU,P"
  std::string_view parameters;   ///< what they are: "TAU a number >= 0, P a whole number >= 1"; empty: none
  std::string_view description;  ///< one line
  bool is_factors = true;        ///< incomplete factors
};

/// All but auto.
[[nodiscard]] std::span<const PrecondForm> precond_forms();

/// "auto", "none", ..., "ilut:TAU,P", ...: what messages list.
[[nodiscard]] std::vector<std::string_view> precond_words();

/// Reads "jacobi", "poly:4,explicit", "fsai:2:0.05", "ilut", "ilut:1e-3,20", "ilut:1e-3:20" or "bjacobi:8:ilut:1e-3";
/// parameters that are left out keep their defaults: those of IncompleteFactorOptions, 1e-2 and 10 for ict; those of
/// PolynomialOptions, degree 3 for neumann. \param option name without dashes, for messages \param result takes the
/// preconditioner and its parameters \throws OptionError naming the form, or the nearest name
void read_precond(std::string_view option, std::string_view text, PrecondSettings& result);

/// Entries of --preconds, separated by commas; so parameters are separated by colons. No entry is auto.
/// \throws UsageError as read_precond(), and for an entry given twice
[[nodiscard]] std::vector<PrecondSettings> read_precond_list(std::string_view text);

}  // namespace tessera::cli
