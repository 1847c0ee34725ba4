/// \file
/// Reads a zip archive in memory, by minizip.
#pragma once

#include "core/memory_budget.hpp"
#include "io/source.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tessera::io {

class ZipArchive {
 public:
  /// \param name for messages \throws ParseError for what is no archive; NotSupported in a build without minizip
  ZipArchive(std::string_view bytes, const std::string& name);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  /// A file of the archive, inflated and its checksum compared; nothing where there is none of that name. Memory grows
  /// with what comes out, whatever the directory claims. \throws ParseError for damaged data; OutOfMemory
  [[nodiscard]] std::optional<ByteBuffer> read(const std::string& member, MemoryBudget& budget);

  /// The first names, for messages.
  [[nodiscard]] std::string names();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::io
