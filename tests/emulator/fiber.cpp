#include "tests/emulator/fiber.hpp"

#include <cstdint>
#include <cstdlib>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/// Saves the callee-saved registers and the stack pointer in *save; continues where `to` was saved.
extern "C" void tessera_emulator_switch(void** save, void* to);

asm(R"(
.text
.globl tessera_emulator_switch
.type tessera_emulator_switch, @function
tessera_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size tessera_emulator_switch, . - tessera_emulator_switch
)");

namespace tessera::emulator {

namespace {

constexpr int saved_registers = 6;

Fiber* current = nullptr;
void* resumer = nullptr;
StackExtent resumer_extent;
bool resumed = false;  // by resume(), not by another fiber

/// Around every switch.
void leave_stack(void** fake, const StackExtent& to) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(fake, to.bottom, to.bytes);
#else
  static_cast<void>(fake);
  static_cast<void>(to);
#endif
}

void enter_stack(void* fake, StackExtent* from) {
#ifdef __SANITIZE_ADDRESS__
  if (from == nullptr) {
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
  } else {
    __sanitizer_finish_switch_fiber(fake, &from->bottom, &from->bytes);
  }
#else
  static_cast<void>(fake);
  static_cast<void>(from);
#endif
}

}  // namespace

void Fiber::use_stack(unsigned char* stack, std::size_t bytes) noexcept {
  stack_ = stack;
  extent_ = {stack, bytes, nullptr};
}

void Fiber::begin(void (*function)()) noexcept {
#ifdef __SANITIZE_ADDRESS__
  if (!finished_) __asan_unpoison_memory_region(stack_, extent_.bytes);
#endif
  function_ = function;
  finished_ = false;
  extent_.fake = nullptr;
  const auto end = reinterpret_cast<std::uintptr_t>(stack_ + extent_.bytes) & ~std::uintptr_t{15};
  auto* top = reinterpret_cast<void**>(end);
  *--top = nullptr;  // where run() would return to
  *--top = reinterpret_cast<void*>(&Fiber::run);
  for (int i = 0; i < saved_registers; ++i) *--top = nullptr;
  stack_pointer_ = top;
}

void Fiber::resume() noexcept {
  current = this;
  resumed = true;
  void* fake = nullptr;
  leave_stack(&fake, extent_);
  tessera_emulator_switch(&resumer, stack_pointer_);
  enter_stack(fake, nullptr);
}

void Fiber::leave_to(void* stack_pointer, const StackExtent& extent) noexcept {
  leave_stack(finished_ ? nullptr : &extent_.fake, extent);
  tessera_emulator_switch(&stack_pointer_, stack_pointer);
  enter_stack(extent_.fake, resumed ? &resumer_extent : nullptr);
}

void Fiber::suspend() noexcept { current->leave_to(resumer, resumer_extent); }

void Fiber::take_over() noexcept {
  Fiber* const before = current;
  current = this;
  resumed = false;
  before->leave_to(stack_pointer_, extent_);
}

void Fiber::run() noexcept {
  enter_stack(nullptr, resumed ? &resumer_extent : nullptr);
  current->function_();
  current->finished_ = true;
  suspend();
  std::abort();  // nobody resumes it
}

}  // namespace tessera::emulator
