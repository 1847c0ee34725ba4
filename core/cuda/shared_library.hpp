/// \file
/// Libraries that are looked for when they are first needed, so that programs run on machines that lack them.
#pragma once

#include <string>

namespace tessera::cuda {

/// A shared library that stays loaded for the life of the process: what it registered with the CUDA runtime cannot be
/// taken back.
class SharedLibrary {
 public:
  /// \param name    as the dynamic linker looks for it, e.g. "libcusparse.so.12"
  /// \param purpose what needs it, for the message, e.g. "kernel vendor-csr"
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

}  // namespace tessera::cuda
