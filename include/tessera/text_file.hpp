/// \file
/// Text files that appear only when complete.
#pragma once

#include <filesystem>
#include <string_view>

namespace tessera {

/// Writes `text` to a file, which appears under its name only when complete and keeps its permissions if it existed. A
/// symbolic link keeps pointing at the file it names. A path that ends in ".gz" is compressed. A pipe or a device is
/// written to directly, and so is the present target of standard output and standard error.
/// \throws IoError with the system's reason; an existing file is then as it was
void write_text_file(const std::filesystem::path& path, std::string_view text);

}  // namespace tessera
