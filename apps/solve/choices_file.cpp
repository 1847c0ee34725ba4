/// \file
/// --choices FILE: what --spmv measured chose, kept from run to run.
#include "choices_file.hpp"

#include "config.hpp"
#include "tessera/measured_choices.hpp"
#include "tessera/spmv.hpp"
#include "tessera/text_file.hpp"

#include <filesystem>

namespace tessera::cli {

namespace {

/// Adds what a file holds, if it exists. An empty one holds nothing.
void read_choices(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  const std::string text = contents_of(path);
  if (!text.empty()) import_measured_choices(text, path);
}

}  // namespace

ChoicesFile::ChoicesFile(const Options& options) {
  if (options.text("spmv") != to_string(SpmvAlgorithm::measured)) return;
  path_ = options.text("choices");
  if (!path_) return;
  read_choices(*path_);
  known_ = export_measured_choices();
}

void ChoicesFile::keep() const {
  if (!path_ || export_measured_choices() == known_) return;
  read_choices(*path_);
  write_text_file(*path_, export_measured_choices());
}

}  // namespace tessera::cli
