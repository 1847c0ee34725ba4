/// \file
/// Shared libraries loaded at first use, so that programs run on machines without them.
#pragma once

#include <string>

namespace tessera::detail {

/// A shared library that stays loaded for the life of the process: that of one that uses the CUDA runtime
/// cannot be undone.
class SharedLibrary {
 public:
  /// \param name    for the dynamic linker, e.g. "libcusparse.so.12"
  /// \param purpose for the error message, e.g. "kernel vendor-csr"
  /// \throws NotSupported naming the library, the purpose and what the dynamic linker said
  SharedLibrary(std::string name, const std::string& purpose);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// A function of the library. \tparam Function its type, e.g. decltype(&cusparseCreate)
  /// \throws NotSupported naming the library and the function it lacks
  template <class Function>
  [[nodiscard]] Function function(const char* symbol) const {
    return reinterpret_cast<Function>(find(symbol));
  }

 private:
  [[nodiscard]] void* find(const char* symbol) const;

  std::string name_;
  void* handle_;
};

}  // namespace tessera::detail
