/// \file
/// --calibration FILE: figures of GPUs that `solve doctor --calibrate` measured, kept per user.
#pragma once

#include "options.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace tessera::cli {

class CalibrationFile {
 public:
  /// Reads the file, if there is one: that of --calibration, else the user's own, in the folder tessera of
  /// $XDG_CONFIG_HOME or of ~/.config. Never throws for what it holds: it is then passed over with a note.
  explicit CalibrationFile(const Options& options);

  /// Nothing where no variable names a folder for it.
  [[nodiscard]] const std::optional<std::filesystem::path>& path() const noexcept { return path_; }
  /// Why the file or a part of it was passed over; empty: it was not.
  [[nodiscard]] const std::string& note() const noexcept { return note_; }

  /// Writes all calibrations of this process, complete or not at all, and makes the folder. What the file had for other
  /// GPUs stays. \throws UsageError without a path; IoError, also for a file of another kind, which stays as it is
  void keep() const;

 private:
  std::optional<std::filesystem::path> path_;
  std::string note_;
  bool is_foreign_ = false;  ///< not a file of figures
};

}  // namespace tessera::cli
