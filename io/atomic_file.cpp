#include "io/atomic_file.hpp"

#include "tessera/error.hpp"
#include "tessera/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

namespace tessera::io {

namespace {

gzFile handle(void* stream) { return static_cast<gzFile>(stream); }

/// The file that a chain of symbolic links leads to, whether it exists or not: a link keeps pointing at its file.
/// \param reason ELOOP for links that lead in a circle
std::filesystem::path follow_links(std::filesystem::path path, int& reason) {
  constexpr int most_links = 40;  // as Linux counts them
  std::error_code error;
  for (int link = 0; std::filesystem::is_symlink(path, error); ++link) {
    if (link == most_links) {
      reason = ELOOP;
      return path;
    }
    const std::filesystem::path next = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / next;  // an absolute link replaces the whole path
  }
  return path;
}

std::filesystem::path directory_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

/// A name of its own, short where that of the target is as long as the file system allows; hidden, as it is no result.
std::filesystem::path temporary_name(const std::filesystem::path& target) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    static std::atomic<std::uint64_t> counter{0};
    number = (static_cast<std::uint64_t>(::getpid()) << 32U) + counter++;
  }
  return directory_of(target) / fmt::format(".tessera-{:016x}", number);
}

constexpr int most_names = 100;  // tried before giving up; one is enough unless somebody makes them on purpose

/// Where a process finds its own open files by name.
std::string name_of(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

/// \returns 0, or why the content of a file did not reach the disk
int flush_to_disk(int descriptor) {
  if (::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS) return 0;
  return errno;
}

/// Gives a new file to a group; where that is not allowed, another group may do no more than everybody.
void keep_to_group(int descriptor, gid_t group) {
  struct stat made {};
  if (::fstat(descriptor, &made) != 0 || made.st_gid == group) return;
  if (::fchown(descriptor, static_cast<uid_t>(-1), group) == 0) return;
  static_cast<void>(::fchmod(descriptor, made.st_mode & (0707U | (made.st_mode & 07U) << 3U)));
}

/// A file system that cannot do this keeps the names it keeps.
void flush_names(const std::filesystem::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  static_cast<void>(::fsync(descriptor));
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path, const std::optional<FileStamp>& source) : target_(path) {
  // Before links are resolved: /dev/stdout leads to a name that may not exist.
  if (open_standard_stream(path)) return;
  int reason = 0;
  target_ = follow_links(path, reason);
  if (reason != 0) fail(reason);
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(target_, ignored);
  if (std::filesystem::is_directory(status)) fail(EISDIR);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) {
    open_replacement(source);
  } else {
    attach(::open(target_.c_str(), O_WRONLY | O_CLOEXEC));
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

void AtomicFile::open_replacement(const std::optional<FileStamp>& source) {
  replaces_ = true;
  const mode_t mode = source ? source->permissions : 0666U;  // less the umask
  int descriptor = ::open(directory_of(target_).c_str(), O_WRONLY | O_CLOEXEC | O_TMPFILE, mode);
  if (descriptor >= 0 && ::access(name_of(descriptor).c_str(), F_OK) != 0) {
    ::close(std::exchange(descriptor, -1));
  }
  // Some file systems (NFS, FAT) have no files without a name.
  for (int tries = 0; descriptor < 0 && tries < most_names; ++tries) {
    temporary_ = temporary_name(target_);
    descriptor = ::open(temporary_.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, mode);
    if (descriptor >= 0) break;
    temporary_.clear();
    if (errno != EEXIST) break;
  }
  const int reason = errno;
  struct stat old {};
  if (descriptor >= 0 && source) {
    keep_to_group(descriptor, source->group);
  } else if (descriptor >= 0 && ::stat(target_.c_str(), &old) == 0) {
    // A replaced file keeps its permissions as far as the process may set them.
    static_cast<void>(::fchmod(descriptor, old.st_mode & 07777U));
  }
  errno = reason;
  attach(descriptor);
}

void AtomicFile::attach(int descriptor) {
  if (descriptor < 0) fail(errno);
  descriptor_ = descriptor;
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);  // zlib closes its own
  const bool compressed = target_.extension() == ".gz";
  stream_ = copy < 0 ? nullptr : gzdopen(copy, compressed ? "wb6" : "wbT");
  if (stream_ == nullptr) {
    const int reason = copy < 0 ? errno : ENOMEM;
    if (copy >= 0) ::close(copy);
    discard();
    fail(reason);
  }
  constexpr unsigned buffer_bytes = 1U << 18;
  gzbuffer(handle(stream_), buffer_bytes);
}

void AtomicFile::discard() noexcept {
  if (stream_ != nullptr) gzclose(handle(std::exchange(stream_, nullptr)));
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

AtomicFile::~AtomicFile() { discard(); }

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
  bool failed = gzclose(handle(std::exchange(stream_, nullptr))) != Z_OK;
  int reason = errno;
  if (replaces_ && !failed) {
    // The content before the name: after a power failure the name means the old file or the whole new one.
    reason = flush_to_disk(descriptor_);
    if (reason == 0) reason = give_name();
    if (reason == 0 && std::rename(temporary_.c_str(), target_.c_str()) != 0) reason = errno;
    failed = reason != 0;
    if (!failed) {
      temporary_.clear();
      flush_names(directory_of(target_));
    }
  }
  discard();
  if (failed) fail(reason);
}

int AtomicFile::give_name() {
  for (int tries = 0; temporary_.empty() && tries < most_names; ++tries) {
    const std::filesystem::path name = temporary_name(target_);
    if (::linkat(AT_FDCWD, name_of(descriptor_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
    } else if (errno != EEXIST) {
      return errno;
    }
  }
  return temporary_.empty() ? EEXIST : 0;
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
