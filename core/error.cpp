#include "tessera/error.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera {

ParseError::ParseError(std::string file, std::int64_t line, std::int64_t column, const std::string& message)
    : Error(fmt::format("{}:{}:{}: {}", file, line, column, message)),
      file_(std::move(file)),
      line_(line),
      column_(column) {}

namespace {

std::string memory_message(std::uint64_t requested, std::uint64_t available, const std::string& purpose) {
  constexpr double mib = 1024.0 * 1024.0;
  std::string text = fmt::format("out of memory: {} needs {:.1f} MiB", purpose, static_cast<double>(requested) / mib);
  if (available != 0) text += fmt::format(", {:.1f} MiB are available", static_cast<double>(available) / mib);
  return text;
}

}  // namespace

OutOfMemory::OutOfMemory(std::uint64_t requested_bytes, std::uint64_t available_bytes, const std::string& purpose)
    : Error(memory_message(requested_bytes, available_bytes, purpose)),
      requested_bytes_(requested_bytes),
      available_bytes_(available_bytes) {}

}  // namespace tessera
