/// \file
/// Work space of const calls that run side by side: each borrows one, and a later call takes it again.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tessera::detail {

/// On a GPU a call may give its space back before its work is done: later work comes after it in the stream.
template <class Space>
class WorkspacePool {
 public:
  WorkspacePool() = default;
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;

  /// A space for this call alone; its pointer gives it back. \param make makes another one where all are lent
  template <class Make>
  [[nodiscard]] auto borrow(const Make& make) const {
    const auto give_back = [this](Space* space) {
      const std::scoped_lock lock(mutex_);
      idle_.emplace_back(space);  // within the room that was reserved
    };
    std::unique_ptr<Space, decltype(give_back)> lent(nullptr, give_back);
    {
      const std::scoped_lock lock(mutex_);
      if (!idle_.empty()) {
        lent.reset(idle_.back().release());
        idle_.pop_back();
        return lent;
      }
      idle_.reserve(++made_);
    }
    auto made = std::make_unique<Space>(make());
    lent.reset(made.release());
    return lent;
  }

 private:
  mutable std::mutex mutex_;  ///< of what follows
  mutable std::vector<std::unique_ptr<Space>> idle_;
  mutable std::size_t made_ = 0;
};

}  // namespace tessera::detail
