/// \file
/// Refuses a call of an object that serves one at a time, while another one runs: in another thread, or around it.
#pragma once

#include "tessera/error.hpp"

#include <atomic>
#include <string>
#include <string_view>

namespace tessera::detail {

class ExclusiveCalls {
 public:
  class Scope {
   public:
    explicit Scope(std::atomic<bool>& is_running) noexcept : is_running_(is_running) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { is_running_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool>& is_running_;
  };

  /// \param who the object, for the message \throws InvalidArgument while another call runs
  [[nodiscard]] Scope enter(std::string_view who) {
    if (is_running_.exchange(true, std::memory_order_acquire)) {
      throw InvalidArgument(std::string(who) +
                            " serves one call at a time, and one is running: in another thread, or "
                            "this one comes from its observer or from one of its operators");
    }
    return Scope(is_running_);
  }

 private:
  std::atomic<bool> is_running_ = false;
};

}  // namespace tessera::detail
