/// Groups of devices, and their names.
#include "solvers/distributed/group.hpp"

#include "tessera/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace tessera {

namespace {

constexpr std::string_view gpus = "cuda:";
constexpr std::string_view hosts = "host,host";

void check_devices(const std::vector<Device>& devices, const DeviceGroupOptions& options) {
  if (devices.empty() || devices.size() > detail::most_ranks) {
    throw InvalidArgument(fmt::format("a group has 1 to {} devices, got {}", detail::most_ranks, devices.size()));
  }
  const auto is_other_kind = [&](const Device& each) { return each.kind() != devices.front().kind(); };
  if (std::any_of(devices.begin(), devices.end(), is_other_kind)) {
    throw InvalidArgument("a group has GPUs or the host, not both");
  }
  if (!(options.patience_seconds > 0.0)) {
    throw InvalidArgument(fmt::format("patience_seconds must be > 0, got {}", options.patience_seconds));
  }
}

/// Every usable GPU.
std::vector<Device> all_gpus() {
  const CudaSurvey found = survey_cuda();
  std::vector<Device> result;
  for (const CudaDeviceInfo& gpu : found.devices) {
    if (gpu.has_machine_code && gpu.problem.empty()) result.push_back(Device::cuda(gpu.ordinal));
  }
  if (result.empty()) {
    throw DeviceUnavailable("cuda:all: " + (found.problem.empty() ? "no GPU can be used" : found.problem));
  }
  return result;
}

[[noreturn]] void refuse(std::string_view text) {
  throw InvalidArgument(
      fmt::format("\"{}\" names no group of devices: expected cuda:0,1, cuda:all or host,host", text));
}

/// The numbers of "cuda:0,1", before any GPU is asked for.
std::vector<int> listed_gpus(std::string_view text) {
  std::vector<int> result;
  std::string_view rest = text.substr(gpus.size());
  for (;;) {
    int ordinal = -1;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), ordinal);
    if (error != std::errc{} || ordinal < 0) refuse(text);
    if (std::find(result.begin(), result.end(), ordinal) != result.end()) {
      throw InvalidArgument(fmt::format("\"{}\" names GPU {} twice", text, ordinal));
    }
    result.push_back(ordinal);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) return result;
    if (rest.front() != ',') refuse(text);
    rest.remove_prefix(1);
  }
}

}  // namespace

DeviceGroup::DeviceGroup(std::vector<Device> devices, const DeviceGroupOptions& options)
    : impl_(std::make_shared<Impl>()) {
  check_devices(devices, options);
  impl_->options = options;
  std::vector<std::string> names;
  for (const Device& each : devices) {
    names.push_back(each.name());
    impl_->devices.push_back(each.is_host() ? each : Context(each).device());
  }
  impl_->communicator = std::make_shared<detail::Communicator>(std::move(names));
  if (devices.front().is_host()) return;
  if (options.peer_access) impl_->links = cuda::PeerLinks::make(impl_->devices, options.patience_seconds);
  if (impl_->links != nullptr) impl_->communicator->on_failure([links = impl_->links.get()] { links->stop(); });
}

DeviceGroup DeviceGroup::parse(std::string_view text) {
  if (text == "cuda:all") return DeviceGroup(all_gpus());
  if (text.starts_with(gpus)) {
    std::vector<Device> devices;
    for (const int ordinal : listed_gpus(text)) devices.push_back(Device::cuda(ordinal));
    return DeviceGroup(std::move(devices));
  }
  if (!is_group(text)) refuse(text);
  // One host per word, with equal shares of its threads.
  const auto count = std::count(text.begin(), text.end(), ',') + 1;
  const int threads = std::max(1, Device{}.threads() / static_cast<int>(count));
  return DeviceGroup(std::vector<Device>(static_cast<std::size_t>(count), Device::host(threads)));
}

bool DeviceGroup::is_group(std::string_view text) noexcept {
  if (text.starts_with(gpus)) return text == "cuda:all" || text.find(',') != std::string_view::npos;
  if (!text.starts_with(hosts)) return false;
  for (text.remove_prefix(4); !text.empty(); text.remove_prefix(5)) {
    if (!text.starts_with(",host")) return false;
  }
  return true;
}

int DeviceGroup::size() const noexcept { return static_cast<int>(impl_->devices.size()); }
Device DeviceGroup::device(int number) const { return impl_->devices.at(static_cast<std::size_t>(number)); }
bool DeviceGroup::has_peer_access() const noexcept { return impl_->links != nullptr; }

Device DeviceGroup::Impl::rank(int number, index_t first_row, index_t rows) const {
  detail::GroupRank rank{.communicator = communicator, .number = number, .first_row = first_row, .rows = rows};
  if (links != nullptr) {
    rank.lost = links->lost(number);
    rank.patience_seconds = options.patience_seconds;
    rank.exchange = links->exchange(number);
  }
  return detail::RankAccess::as_rank(devices[static_cast<std::size_t>(number)],
                                     std::make_shared<const detail::GroupRank>(std::move(rank)));
}

void DeviceGroup::Impl::run(const std::function<void(int)>& body) const {
  const auto scope = calls.enter("a group of devices");
  if (links != nullptr) links->begin();
  communicator->run(body);
}

}  // namespace tessera
