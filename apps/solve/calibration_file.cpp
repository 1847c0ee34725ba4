/// \file
/// --calibration FILE: figures of GPUs that `solve doctor --calibrate` measured, kept per user.
#include "calibration_file.hpp"

#include "config.hpp"
#include "errors.hpp"
#include "summary_text.hpp"

#include "tessera/device_figures.hpp"
#include "tessera/error.hpp"
#include "tessera/text_file.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

namespace tessera::cli {

namespace {

/// An absolute path in a variable of the environment: the XDG Base Directory Specification ignores others.
[[nodiscard]] std::optional<std::filesystem::path> folder_in(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr || !std::filesystem::path(value).is_absolute()) return std::nullopt;
  return value;
}

[[nodiscard]] std::optional<std::filesystem::path> path_of(const Options& options) {
  const std::filesystem::path file = std::filesystem::path("tessera") / "calibration.txt";
  if (const std::optional<std::string> named = options.text("calibration")) return *named;
  if (const auto folder = folder_in("XDG_CONFIG_HOME")) return *folder / file;
  if (const auto home = folder_in("HOME")) return *home / ".config" / file;
  return std::nullopt;
}

}  // namespace

CalibrationFile::CalibrationFile(const Options& options) : path_(path_of(options)) {
  std::error_code ignored;
  if (!path_ || !std::filesystem::exists(*path_, ignored)) return;
  try {
    const std::string text = contents_of(path_->string());
    if (text.empty()) return;
    is_foreign_ = !text.starts_with("tessera device figures ");
    const ImportedFigures imported = import_device_figures(text, path_->string());
    if (imported.damaged > 0) {
      note_ = fmt::format("{}: {} damaged, passed over", path_->string(), counted(imported.damaged, "line"));
    } else if (imported.outdated > 0) {
      note_ =
          fmt::format("{}: {} of another version, passed over", path_->string(), counted(imported.outdated, "line"));
    }
  } catch (const ParseError& error) {
    note_ = fmt::format("{}: passed over", error.what());
  } catch (const IoError& error) {
    note_ = error.what();
  }
}

void CalibrationFile::keep() const {
  if (!path_) {
    throw UsageError("no folder for the calibration: neither XDG_CONFIG_HOME nor HOME is set", "--calibration FILE");
  }
  if (is_foreign_) {
    throw IoError(fmt::format("cannot write {}: it is a file of another kind", path_->string()));
  }
  if (path_->has_parent_path()) {
    std::error_code error;
    std::filesystem::create_directories(path_->parent_path(), error);
    if (error) {
      throw IoError(fmt::format("cannot make the folder {}: {}", path_->parent_path().string(), error.message()));
    }
  }
  write_text_file(*path_, export_device_figures());
}

}  // namespace tessera::cli
