/// \file
/// Claims of calls on objects that other threads use too: plans and preconditioners are read by many, or changed by
/// one; a solver, and the context of a GPU, serve one.
#pragma once

#include "tessera/device.hpp"

#include <initializer_list>
#include <span>
#include <thread>
#include <vector>

namespace tessera::python {

enum class Access {
  shared,     ///< beside others that share it
  exclusive,  ///< alone
  turn,       ///< alone among threads: a call of a callback has the turn of the call around it
};

struct Claimed {
  const void* object;  ///< null: nothing
  Access access = Access::shared;
};

/// A thread with claims, and how many it has: above 0 in callbacks.
struct Claimant {
  std::thread::id thread = std::this_thread::get_id();
  int claims = 0;

  [[nodiscard]] static Claimant& of_this_thread();
};

/// Holds all that a call uses from its first look to its last; waits until other threads have left it. Made and
/// destroyed without the interpreter's lock, by the thread that does the work.
class Claim {
 public:
  /// \param what the call, for the message \param device whose context it works in
  /// \throws InvalidArgument where it would wait for itself: called by a callback of a call that has the object, or of
  /// one that another thread, whose object it wants, waits for; nb::python_error what a signal asked for meanwhile
  Claim(const char* what, const Device& device, std::initializer_list<Claimed> objects);
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim();

 private:
  void wait(const char* what);

  std::thread::id thread_;
  std::vector<Claimed> objects_;
};

/// While it lives, this thread has the claims of the one that waits for it, if that is in a callback.
class ClaimsFor {
 public:
  explicit ClaimsFor(const Claimant& caller) : own_(Claimant::of_this_thread()) {
    if (caller.claims > 0) Claimant::of_this_thread() = caller;
  }
  ClaimsFor(const ClaimsFor&) = delete;
  ClaimsFor& operator=(const ClaimsFor&) = delete;
  ~ClaimsFor() { Claimant::of_this_thread() = own_; }

 private:
  Claimant own_;
};

}  // namespace tessera::python
