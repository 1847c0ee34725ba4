/// \file
/// Refuses a call of an object that serves one at a time, while another one runs: in another thread, or around it.
#pragma once

#include "tessera/error.hpp"

#include <atomic>
#include <string>
#include <string_view>

namespace tessera::detail {

class OneAtATime {
 public:
  class Turn {
   public:
    explicit Turn(std::atomic<bool>& taken) noexcept : taken_(taken) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() { taken_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool>& taken_;
  };

  /// \param who the object, for the message \throws InvalidArgument where a turn has not ended
  [[nodiscard]] Turn take(std::string_view who) {
    if (taken_.exchange(true, std::memory_order_acquire)) {
      throw InvalidArgument(std::string(who) +
                            " serves one call at a time, and one is running: in another thread, or "
                            "this one comes from its observer or from one of its operators");
    }
    return Turn(taken_);
  }

 private:
  std::atomic<bool> taken_ = false;
};

}  // namespace tessera::detail
