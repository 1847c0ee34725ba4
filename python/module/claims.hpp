/// \file
/// What a call uses, while other threads call too: plans and preconditioners are read by many, or changed by one; a
/// solver, and the context of a GPU, serve one.
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

  std::vector<Claimed> objects_;
};

}  // namespace tessera::python
