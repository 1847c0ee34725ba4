#include "io/atomic_file.hpp"

#include "tessera/error.hpp"
#include "tessera/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace tessera::io {

namespace {

gzFile handle(void* stream) { return static_cast<gzFile>(stream); }

/// A symbolic link is kept; its target is replaced.
std::filesystem::path resolve(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_symlink(path, ignored)) return path;
  std::filesystem::path target = std::filesystem::weakly_canonical(path, ignored);
  return target.empty() ? path : target;
}

std::filesystem::path temporary_name(const std::filesystem::path& target) {
  static std::atomic<unsigned> counter{0};
  std::filesystem::path name = target;
  name += fmt::format(".tmp-{}-{}", ::getpid(), counter++);
  return name;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : target_(path), written_(path) {
  // Before links are resolved: /dev/stdout leads to a name that may not exist.
  if (open_standard_stream(path)) return;
  target_ = written_ = resolve(path);
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(target_, ignored);
  if (std::filesystem::is_directory(status)) fail(EISDIR);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) {
    open_replacement();
  } else {
    open_directly();
  }
}

bool AtomicFile::open_standard_stream(const std::filesystem::path& path) {
  struct stat target {};
  if (::stat(path.c_str(), &target) != 0) return false;
  for (const int standard : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat stream {};
    if (::fstat(standard, &stream) != 0 || stream.st_dev != target.st_dev || stream.st_ino != target.st_ino) continue;
    attach(::fcntl(standard, F_DUPFD_CLOEXEC, 0));
    return true;
  }
  return false;
}

void AtomicFile::open_replacement() {
  written_ = temporary_name(target_);
  constexpr mode_t everyone = 0666;  // less the umask
  const int descriptor = ::open(written_.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, everyone);
  struct stat old {};
  if (descriptor >= 0 && ::stat(target_.c_str(), &old) == 0) {
    // A replaced file keeps its permissions as far as the process may set them.
    static_cast<void>(::fchmod(descriptor, old.st_mode & 07777U));
  }
  attach(descriptor);
}

void AtomicFile::open_directly() { attach(::open(written_.c_str(), O_WRONLY | O_CLOEXEC)); }

void AtomicFile::attach(int descriptor) {
  if (descriptor < 0) fail(errno);
  const bool compressed = target_.extension() == ".gz";
  stream_ = gzdopen(descriptor, compressed ? "wb6" : "wbT");
  if (stream_ == nullptr) {
    ::close(descriptor);
    if (written_ != target_) ::unlink(written_.c_str());
    fail(ENOMEM);
  }
  constexpr unsigned buffer_bytes = 1U << 18;
  gzbuffer(handle(stream_), buffer_bytes);
}

AtomicFile::~AtomicFile() {
  if (stream_ == nullptr) return;
  gzclose(handle(stream_));
  if (written_ != target_) ::unlink(written_.c_str());
}

void AtomicFile::write(std::string_view text) {
  constexpr std::size_t most = std::size_t{1} << 30;  // gzwrite counts in int
  while (!text.empty()) {
    const std::string_view part = text.substr(0, std::min(text.size(), most));
    errno = 0;
    if (gzwrite(handle(stream_), part.data(), static_cast<unsigned>(part.size())) == 0) fail(errno);
    text.remove_prefix(part.size());
  }
}

void AtomicFile::commit() {
  errno = 0;
  const bool closed = gzclose(handle(std::exchange(stream_, nullptr))) == Z_OK;
  int reason = errno;
  if (closed && (written_ == target_ || std::rename(written_.c_str(), target_.c_str()) == 0)) return;
  if (closed) reason = errno;
  if (written_ != target_) ::unlink(written_.c_str());
  fail(reason);
}

void AtomicFile::fail(int reason) const {
  throw IoError(fmt::format("cannot write \"{}\": {}", target_.string(),
                            reason == 0 ? "unknown reason" : std::generic_category().message(reason)));
}

}  // namespace tessera::io

namespace tessera {

void write_text_file(const std::filesystem::path& path, std::string_view text) {
  io::AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace tessera
