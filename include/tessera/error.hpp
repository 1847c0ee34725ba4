/// \file
/// The exceptions that Tessera throws; all derive from tessera::Error. Not reaching a tolerance is no error but a
/// Status in the report (see report.hpp).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace tessera {

/// Root of all exceptions thrown by the library.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument outside its documented range (a negative size, an unknown name, a tolerance that can never be met).
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// Operands whose sizes do not fit together; the message names them with their sizes.
class DimensionError : public Error {
 public:
  using Error::Error;
};

/// Matrix data that break an invariant (unsorted columns, index out of range, zero diagonal where one is needed).
class InvalidMatrix : public Error {
 public:
  using Error::Error;
};

/// A matrix without an inverse, by its structure or to rounding, where one is needed.
class SingularMatrix : public InvalidMatrix {
 public:
  using InvalidMatrix::InvalidMatrix;
};

/// A feature that this build does not have for these arguments (a determinism class that a kernel cannot keep).
class NotSupported : public Error {
 public:
  using Error::Error;
};

/// A file that cannot be opened, read or written; the message carries the operating system's reason.
class IoError : public Error {
 public:
  using Error::Error;
};

/// A file that violates its format. what() reads "file:line:column: message", and "file: byte 40:
/// message" for a binary file, which has no lines: its line() and column() are 0.
class ParseError : public Error {
 public:
  /// \param file    name of the source, as the user gave it
  /// \param line    1-based line number
  /// \param column  1-based byte position in that line
  /// \param message what was expected and what was found
  ParseError(std::string file, std::int64_t line, std::int64_t column, const std::string& message);

  /// For a binary file. \param byte 0-based position in the file
  [[nodiscard]] static ParseError at_byte(std::string file, std::uint64_t byte, const std::string& message);

  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] std::int64_t line() const noexcept { return line_; }
  [[nodiscard]] std::int64_t column() const noexcept { return column_; }
  /// Position in a binary file; 0 for text.
  [[nodiscard]] std::uint64_t byte() const noexcept { return byte_; }

 private:
  ParseError(const std::string& what, std::string file, std::uint64_t byte);

  std::string file_;
  std::int64_t line_ = 0;
  std::int64_t column_ = 0;
  std::uint64_t byte_ = 0;
};

/// Memory that could not be allocated. Thrown before the system runs out of memory where that can be foreseen.
class OutOfMemory : public Error {
 public:
  /// \param requested_bytes size of the allocation that failed
  /// \param available_bytes free memory at that moment (0 when unknown)
  /// \param purpose         its use, e.g. "row offsets"
  OutOfMemory(std::uint64_t requested_bytes, std::uint64_t available_bytes, const std::string& purpose);

  [[nodiscard]] std::uint64_t requested_bytes() const noexcept { return requested_bytes_; }
  [[nodiscard]] std::uint64_t available_bytes() const noexcept { return available_bytes_; }

 private:
  std::uint64_t requested_bytes_;
  std::uint64_t available_bytes_;
};

/// A factorization that needs more work, memory or time than its options allow. The message says how much of what.
class BudgetExceeded : public Error {
 public:
  using Error::Error;
};

/// The device asked for does not exist, or this build has no backend for it.
class DeviceUnavailable : public Error {
 public:
  using Error::Error;
};

/// A device that failed, or did not answer in time, while others worked with it on one solve.
class DeviceFailure : public Error {
 public:
  /// \param device its name, e.g. "cuda:1" \param message what happened there
  DeviceFailure(std::string device, const std::string& message)
      : Error("device " + device + " failed during work on several devices: " + message), device_(std::move(device)) {}
  [[nodiscard]] const std::string& device() const noexcept { return device_; }

 private:
  std::string device_;
};

/// A call of the CUDA runtime, cuBLAS or cuSPARSE failed.
class CudaError : public Error {
 public:
  /// \param code status code of the library that failed
  CudaError(int code, const std::string& message) : Error(message), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace tessera
