#include "io/input_file.hpp"

#include "tessera/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace tessera::io {

namespace {

[[noreturn]] void fail_to(const char* action, const std::string& name, int error) {
  throw IoError(fmt::format("cannot {} \"{}\": {}", action, name, std::generic_category().message(error)));
}

/// Wraps around for a time that is centuries away: equal times stay equal.
std::int64_t nanoseconds(const timespec& time) {
  const std::uint64_t seconds = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U;
  return static_cast<std::int64_t>(seconds + static_cast<std::uint64_t>(time.tv_nsec));
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path)
    : name_(path.string()), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail_to("open", name_, errno);
}

InputFile::~InputFile() { ::close(descriptor_); }

FileStamp InputFile::stamp() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) fail(errno);
  FileStamp stamp;
  stamp.regular = S_ISREG(status.st_mode);
  stamp.size_bytes = stamp.regular && status.st_size > 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  stamp.modified_ns = nanoseconds(status.st_mtim);
  stamp.changed_ns = nanoseconds(status.st_ctim);
  stamp.device = status.st_dev;
  stamp.inode = status.st_ino;
  stamp.permissions = status.st_mode & 0666U;
  stamp.group = status.st_gid;
  return stamp;
}

std::size_t InputFile::read(char* target, std::size_t bytes) const {
  while (true) {
    const ssize_t got = ::read(descriptor_, target, bytes);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail(errno);
  }
}

void InputFile::skip_to(std::uint64_t offset) const {
  if (::lseek(descriptor_, static_cast<off_t>(offset), SEEK_SET) < 0) fail(errno);
}

InputFile::Got InputFile::read_at(std::uint64_t offset, char* target, std::size_t bytes) const noexcept {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(descriptor_, target + done, bytes - done, static_cast<off_t>(offset + done));
    if (got == 0) break;
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      return {done, errno};
    }
  }
  return {done, 0};
}

void InputFile::fail(int error) const { fail_to("read", name_, error); }

}  // namespace tessera::io
