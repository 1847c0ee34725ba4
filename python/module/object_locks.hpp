/// \file
/// Locks of objects that several threads use: plans and preconditioners are read by many, or changed by
/// one; a solver, and the context of a GPU, serve one.
#pragma once

#include "tessera/device.hpp"

#include <initializer_list>
#include <span>
#include <thread>
#include <vector>

namespace tessera::python {

enum class LockMode {
  shared,     ///< beside others that share it
  exclusive,  ///< alone
  reentrant,  ///< alone among threads: a call of a callback has the turn of the call around it
};

struct LockRequest {
  const void* object;  ///< null: nothing
  LockMode mode = LockMode::shared;
};

/// A thread that holds locks, and how many: above 0 in callbacks.
struct LockOwner {
  std::thread::id thread = std::this_thread::get_id();
  int locks = 0;

  [[nodiscard]] static LockOwner& of_this_thread();
};

/// Holds all that a call uses from its first look to its last; waits until other threads have left it. Made and
/// destroyed without the interpreter's lock, by the thread that does the work.
class ObjectLock {
 public:
  /// \param what the call, for the message \param device whose context it works in
  /// \throws InvalidArgument where it would wait for itself: called by a callback of a call that has the object, or of
  /// one that another thread, whose object it wants, waits for; nb::python_error what a signal asked for meanwhile
  ObjectLock(const char* what, const Device& device, std::initializer_list<LockRequest> objects);
  ObjectLock(const ObjectLock&) = delete;
  ObjectLock& operator=(const ObjectLock&) = delete;
  ~ObjectLock();

 private:
  void wait(const char* what);

  std::thread::id thread_;
  std::vector<LockRequest> objects_;
};

/// While it lives, this thread owns the locks of the one that waits for it, if that is in a callback.
class LockOwnerScope {
 public:
  explicit LockOwnerScope(const LockOwner& caller) : own_(LockOwner::of_this_thread()) {
    if (caller.locks > 0) LockOwner::of_this_thread() = caller;
  }
  LockOwnerScope(const LockOwnerScope&) = delete;
  LockOwnerScope& operator=(const LockOwnerScope&) = delete;
  ~LockOwnerScope() { LockOwner::of_this_thread() = own_; }

 private:
  LockOwner own_;
};

}  // namespace tessera::python
