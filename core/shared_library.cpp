/// Loads shared libraries by the dynamic linker.
#include "core/shared_library.hpp"

#include "tessera/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

namespace tessera::detail {

namespace {

/// What the dynamic linker says of the latest failure.
std::string linker_error() {
  const char* text = dlerror();
  return text != nullptr ? text : "no reason given";
}

}  // namespace

SharedLibrary::SharedLibrary(std::string name, const std::string& purpose)
    : name_(std::move(name)), handle_(dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  throw NotSupported(fmt::format(
      "{} needs the library {}, which cannot be loaded ({}): install it or name its folder in LD_LIBRARY_PATH", purpose,
      name_, linker_error()));
}

void* SharedLibrary::find(const char* symbol) const {
  void* address = dlsym(handle_, symbol);
  if (address != nullptr) return address;
  throw NotSupported(fmt::format("the library {} lacks {} ({})", name_, symbol, linker_error()));
}

}  // namespace tessera::detail
