/// \file
/// Fibers: threads of execution that take turns. Each has a separate stack and runs from resume() to its next
/// suspend().
#pragma once

#include <cstddef>

namespace tessera::emulator {

/// Facts for the sanitizers when the stack is switched; unused without them.
struct StackExtent {
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  void* fake = nullptr;
};

class Fiber {
 public:
  /// \param stack memory that outlives the fiber's run; its contents are lost
  void use_stack(unsigned char* stack, std::size_t bytes) noexcept;
  /// The next resume() begins function(). An unfinished earlier run is abandoned, without destructors.
  void begin(void (*function)()) noexcept;
  /// Runs until the function suspends or returns. Not from within a fiber.
  void resume() noexcept;
  [[nodiscard]] bool finished() const noexcept { return finished_; }

  // From within a fiber only.

  /// Back to resume().
  static void suspend() noexcept;
  /// The same, where this fiber goes on instead.
  void take_over() noexcept;

 private:
  static void run() noexcept;
  void leave_to(void* stack_pointer, const StackExtent& extent) noexcept;

  void* stack_pointer_ = nullptr;
  unsigned char* stack_ = nullptr;
  void (*function_)() = nullptr;
  StackExtent extent_;
  bool finished_ = true;
};

}  // namespace tessera::emulator
