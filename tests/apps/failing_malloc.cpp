/// \file
/// Fault injection: a malloc to preload that fails once, or from then on, at the k-th request of a certain size.
#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

namespace {

using Main = int (*)(int, char**, char**);

std::atomic<long> requests{0};
std::atomic<bool> counts{false};
Main real_main = nullptr;

/// What happens before main() is not the program's.
int counted_main(int argc, char** argv, char** environment) {
  counts = true;
  const int result = real_main(argc, argv, environment);
  counts = false;
  return result;
}

/// FAILING_MALLOC_AT counts from 1; 0 or absent: nothing fails.
[[nodiscard]] long setting(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atol(text);
}

[[nodiscard]] bool fails(std::size_t bytes) {
  static const long at = setting("FAILING_MALLOC_AT");
  static const long least_bytes = setting("FAILING_MALLOC_BYTES");
  static const bool forever = setting("FAILING_MALLOC_FOREVER") != 0;
  if (!counts || at == 0 || bytes < static_cast<std::size_t>(least_bytes)) return false;
  const long request = ++requests;
  return forever ? request >= at : request == at;
}

}  // namespace

extern "C" int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(), void (*rtld_fini)(),
                                 void* stack_end) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  real_main = main;
  return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

extern "C" void* malloc(std::size_t bytes) {
  using Malloc = void* (*)(std::size_t);
  static const auto next = reinterpret_cast<Malloc>(dlsym(RTLD_NEXT, "malloc"));
  if (fails(bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return next(bytes);
}

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  using AlignedAlloc = void* (*)(std::size_t, std::size_t);
  static const auto next = reinterpret_cast<AlignedAlloc>(dlsym(RTLD_NEXT, "aligned_alloc"));
  if (fails(bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return next(alignment, bytes);
}
