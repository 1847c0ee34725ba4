#include "tessera/error.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace tessera {

ParseError::ParseError(std::string file, std::int64_t line, std::int64_t column, const std::string& message)
    : Error(fmt::format("{}:{}:{}: {}", file, line, column, message)),
      file_(std::move(file)),
      line_(line),
      column_(column) {}

ParseError::ParseError(const std::string& what, std::string file, std::uint64_t byte)
    : Error(what), file_(std::move(file)), byte_(byte) {}

ParseError ParseError::at_byte(std::string file, std::uint64_t byte, const std::string& message) {
  const std::string what = fmt::format("{}: byte {}: {}", file, byte, message);
  return {what, std::move(file), byte};
}

namespace {

/// "17 B", "1.5 MiB": three significant digits.
std::string size_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024.0 && unit + 1 < units.size(); ++unit) value /= 1024.0;
  // From 1000 on, three digits would be shown as a power of ten.
  return value < 999.5 ? fmt::format("{:.3g} {}", value, units[unit]) : fmt::format("{:.0f} {}", value, units[unit]);
}

std::string memory_message(std::uint64_t requested, std::uint64_t available, const std::string& purpose) {
  std::string text = fmt::format("out of memory: {} needs {}", purpose, size_text(requested));
  if (available != 0) text += fmt::format(", {} are available", size_text(available));
  return text;
}

}  // namespace

OutOfMemory::OutOfMemory(std::uint64_t requested_bytes, std::uint64_t available_bytes, const std::string& purpose)
    : Error(memory_message(requested_bytes, available_bytes, purpose)),
      requested_bytes_(requested_bytes),
      available_bytes_(available_bytes) {}

}  // namespace tessera
