/// \file
/// Exceptions of parallel loops, whose functions must not throw: one is kept, and thrown again behind the loop.
#pragma once

#include <atomic>
#include <exception>
#include <utility>

namespace tessera::host {

/// For functions that may run out of memory. \code parallel_for(device, n, [&](Range range) { first.keep([&] { ... });
/// }); first.rethrow(); \endcode
class FirstException {
 public:
  /// function(), by any thread.
  template <class Function>
  void keep(Function&& function) noexcept {
    try {
      std::forward<Function>(function)();
    } catch (...) {
      if (!is_kept_.test_and_set()) cause_ = std::current_exception();
    }
  }

  /// By the thread that ran the loop, behind it. \throws what a function threw first
  void rethrow() {
    if (cause_ != nullptr) std::rethrow_exception(std::exchange(cause_, nullptr));
  }

 private:
  std::atomic_flag is_kept_ = ATOMIC_FLAG_INIT;
  std::exception_ptr cause_;
};

}  // namespace tessera::host
