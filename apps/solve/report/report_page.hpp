/// \file
/// The page of `solve report` and --report: one HTML file without scripts that loads nothing, made from documents of
/// --json alone, so that both ways to it give the same page.
#pragma once

#include "report/document.hpp"

#include <string>
#include <vector>

namespace tessera::cli {

/// A page for one or several documents of this program. Long histories are thinned to what a screen shows: the page of
/// a few documents has less than 1 MB.
[[nodiscard]] std::string report_page(const std::vector<report::Document>& documents);

}  // namespace tessera::cli
