// A library that says that it was loaded: tests plant it in the working directory under the names of others.
#include <unistd.h>

namespace {

__attribute__((constructor)) void speak() {
  constexpr char text[] = "PLANTED\n";
  static_cast<void>(!::write(STDERR_FILENO, text, sizeof text - 1));
}

}  // namespace
