#include "emulator.hpp"
#include "core/cuda/memory.hpp"
#include "core/cuda/device_query.hpp"
#include <vector>
#include <random>
#include <algorithm>
namespace emu {
Dim3 thread_idx, block_idx, block_dim, grid_dim;
std::uint64_t slots[4096];
unsigned char* dynamic_shared = nullptr;
struct Fiber { void* sp = nullptr; unsigned char* stack = nullptr; bool done = true; int state = 0; };  // state 1: at warp barrier, 2: at block barrier
static std::vector<Fiber> fibers(2048);
static void* main_sp; static unsigned current; static const std::function<void()>* body_;
constexpr std::size_t stack_size = 128 * 1024;
extern "C" void emu_switch(void** save, void* to);
asm(R"(
.globl emu_switch
emu_switch:
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
)");
static void to_main() { emu_switch(&fibers[current].sp, main_sp); }
static void entry() { (*body_)(); fibers[current].done = true; to_main(); std::abort(); }
unsigned lane() { return thread_idx.x % 32; }
unsigned warp_base() { return thread_idx.x / 32 * 32; }
void warp_barrier() { fibers[current].state = 1; to_main(); }
void pause() { to_main(); }
void block_barrier() { fibers[current].state = 2; to_main(); }
static std::mt19937 rng(12345);
void run_grid(unsigned blocks, int threads, std::size_t shared, const std::function<void()>& body, const char* name) {
  body_ = &body; grid_dim.x = blocks; block_dim.x = static_cast<unsigned>(threads);
  const unsigned n = static_cast<unsigned>(threads);
  unsigned char* mem = shared ? static_cast<unsigned char*>(std::aligned_alloc(128, (shared + 127) / 128 * 128)) : nullptr;
  for (unsigned b0 = 0; b0 < blocks; ++b0) {
    block_idx.x = b0; dynamic_shared = mem; if (mem) std::memset(mem, 0xff, shared);
    for (unsigned t = 0; t < n; ++t) {
      Fiber& f = fibers[t]; if (!f.stack) f.stack = static_cast<unsigned char*>(std::malloc(stack_size));
      auto* top = reinterpret_cast<void**>((reinterpret_cast<std::uintptr_t>(f.stack) + stack_size) & ~std::uintptr_t{15});
      *--top = nullptr; *--top = reinterpret_cast<void*>(&entry);
      for (int i = 0; i < 6; ++i) *--top = nullptr;
      f.sp = top; f.done = false; f.state = 0;
    }
    const unsigned warps = (n + 31) / 32;
    std::vector<unsigned> order(warps); for (unsigned w = 0; w < warps; ++w) order[w] = w;
    unsigned alive = n;
    while (alive > 0) {
      std::shuffle(order.begin(), order.end(), rng);
      for (unsigned w : order) {
        // run lanes of the warp that may run, in random rotation
        for (int again = 0; again < 1; ++again) {
          const unsigned begin = w * 32, end = std::min(n, begin + 32), rot = rng() % 32; const bool back = rng() & 1;
          for (unsigned i = 0; i < end - begin; ++i) {
            unsigned t = begin + (back ? (end - begin - 1 - (i + rot) % (end - begin)) : (i + rot) % (end - begin));
            Fiber& f = fibers[t]; if (f.done || f.state != 0) continue;
            current = t; thread_idx.x = t; emu_switch(&main_sp, f.sp);
            if (f.done) --alive;
          }
          unsigned at = 0, live = 0; 
          for (unsigned t = begin; t < end; ++t) { if (!fibers[t].done) { ++live; at += fibers[t].state == 1; } }
          if (live && at == live) { if (live != end - begin) { std::printf("EMU %s: warp op with exited lanes\n", name); std::abort(); } for (unsigned t = begin; t < end; ++t) fibers[t].state = 0; }
          else if (at && at != live) { unsigned blk = 0; for (unsigned t = begin; t < end; ++t) blk += !fibers[t].done && fibers[t].state == 2; if (blk) { std::printf("EMU %s: divergent barriers\n", name); std::abort(); } }
        }
      }
      unsigned at2 = 0, live = 0; for (unsigned t = 0; t < n; ++t) if (!fibers[t].done) { ++live; at2 += fibers[t].state == 2; }
      if (live && at2 == live) for (unsigned t = 0; t < n; ++t) fibers[t].state = 0;
    }
  }
  std::free(mem);
}
}
static unsigned count_acc[2]; 
int __syncthreads_count(int p) {
  emu::slots[threadIdx.x] = p != 0; emu::block_barrier();
  int c = 0; for (unsigned i = 0; i < blockDim.x; ++i) c += static_cast<int>(emu::slots[i]);
  emu::block_barrier(); (void)count_acc; return c;
}
namespace tessera::cuda {
CudaSurvey survey() { CudaSurvey s; s.compiled_in = true; s.runtime_version = 13000; s.driver_version = 13000; CudaDeviceInfo d; d.name = "emulated"; d.compute_major = 9; d.multiprocessors = 2; d.memory_total_bytes = d.memory_free_bytes = 1ull << 36; d.l2_bytes = 60 << 20; d.has_machine_code = true; s.devices.push_back(d); return s; }
void* allocate_bytes(const Device&, std::uint64_t bytes) { void* p = nullptr; if (posix_memalign(&p, 256, bytes)) std::abort(); std::memset(p, 0xff, bytes); return p; }
void deallocate_bytes(const Device&, void* data) noexcept { std::free(data); }
void zero_bytes(const Device&, void* data, std::uint64_t bytes) { std::memset(data, 0, bytes); }
void copy_bytes(const Device&, void* target, const Device&, const void* source, std::uint64_t bytes) { if (bytes) std::memcpy(target, source, bytes); }
void synchronize(const Device&) {}
}
