/// \file
/// Memory of measured choices, and its text.
#include "spmv/measured_choices.hpp"

#include "core/cpu_name.hpp"
#include "core/random.hpp"
#include "spmv/matrix_hash.hpp"
#include "tessera/error.hpp"
#include "tessera/measured_choices.hpp"
#include "tessera/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

namespace detail {

namespace {

constexpr std::size_t most_choices = 4096;
constexpr std::string_view format_line = "tessera measured choices 1";
constexpr std::string_view any_format = "tessera measured choices ";

struct KeyedChoice {
  std::string key;
  MeasuredChoice choice;
};

class ChoiceMemory {
 public:
  [[nodiscard]] std::optional<MeasuredChoice> find(const std::string& key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = choices_.find(key);
    return found == choices_.end() ? std::nullopt : std::optional(found->second.choice);
  }

  /// \returns whether the key was new
  bool add(KeyedChoice fresh, bool replace) {
    const std::scoped_lock lock(mutex_);
    const auto [place, is_new] = choices_.try_emplace(std::move(fresh.key));
    if (is_new) place->second.serial = ++last_serial_;
    if (is_new || replace) place->second.choice = std::move(fresh.choice);
    if (choices_.size() > most_choices) choices_.erase(std::min_element(choices_.begin(), choices_.end(), is_older));
    return is_new;
  }

  void forget(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    choices_.erase(key);
  }

  void clear() noexcept {
    const std::scoped_lock lock(mutex_);
    choices_.clear();
  }

  /// The oldest first.
  [[nodiscard]] std::vector<KeyedChoice> all() const {
    const std::scoped_lock lock(mutex_);
    std::vector<Choices::const_iterator> ordered;
    ordered.reserve(choices_.size());
    for (auto each = choices_.begin(); each != choices_.end(); ++each) ordered.push_back(each);
    std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return is_older(*a, *b); });
    std::vector<KeyedChoice> result;
    result.reserve(ordered.size());
    for (const auto& each : ordered) result.push_back({each->first, each->second.choice});
    return result;
  }

 private:
  struct SerialChoice {
    std::int64_t serial = 0;
    MeasuredChoice choice;
  };
  using Choices = std::map<std::string, SerialChoice>;

  static bool is_older(const Choices::value_type& a, const Choices::value_type& b) {
    return a.second.serial < b.second.serial;
  }

  mutable std::mutex mutex_;
  Choices choices_;
  std::int64_t last_serial_ = 0;
};

ChoiceMemory& memory() {
  static ChoiceMemory of_process;
  return of_process;
}

/// Without what would end a field or a line.
std::string one_field(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string version_field() { return fmt::format("{} {}", build_info().version, build_info().commit); }

/// What products are timed on.
std::string device_field(const Device& device) {
  static const std::string processor = cpu_name();
  if (device.is_host()) return fmt::format("{} threads, {}", device.threads(), processor);
  const CudaSurvey survey = survey_cuda(device.ordinal());
  const auto gpu = std::find_if(survey.devices.begin(), survey.devices.end(),
                                [&](const CudaDeviceInfo& each) { return each.ordinal == device.ordinal(); });
  if (gpu == survey.devices.end()) return device.name();
  return fmt::format("{}, {}.{}, {} multiprocessors, CUDA {} on {}", gpu->name, gpu->compute_major, gpu->compute_minor,
                     gpu->multiprocessors, survey.runtime_version, survey.driver_version);
}

/// 64 bits against accidents.
std::uint64_t line_checksum(std::string_view text) {
  std::uint64_t sum = SplitMix64(text.size()).next();
  for (const char c : text) sum = SplitMix64(sum ^ static_cast<unsigned char>(c)).next();
  return sum;
}

/// Cuts off what stands before the next tab.
std::string_view take_field(std::string_view& line) {
  const std::size_t tab = std::min(line.find('\t'), line.size());
  const std::string_view field = line.substr(0, tab);
  line.remove_prefix(std::min(tab + 1, line.size()));
  return field;
}

/// checksum, kernel, "automatic" or "named", reason, key
std::string line_of(const KeyedChoice& each) {
  const std::string rest = fmt::format("{}\t{}\t{}\t{}", to_string(each.choice.algorithm),
                                       each.choice.is_automatic ? "automatic" : "named", each.choice.reason, each.key);
  return fmt::format("{:016x}\t{}\n", line_checksum(rest), rest);
}

std::optional<KeyedChoice> parse_line(std::string_view line) {
  const std::string_view checksum = take_field(line);
  if (checksum != fmt::format("{:016x}", line_checksum(line))) return std::nullopt;
  KeyedChoice result;
  const std::string_view kernel = take_field(line);
  const std::span<const SpmvAlgorithm> known = known_spmv_algorithms();
  const auto found =
      std::find_if(known.begin(), known.end(), [kernel](SpmvAlgorithm each) { return to_string(each) == kernel; });
  if (found == known.end()) return std::nullopt;
  result.choice.algorithm = *found;
  result.choice.is_automatic = take_field(line) == "automatic";
  result.choice.reason = take_field(line);
  result.key = line;
  return result;
}

}  // namespace

template <class T>
std::string choice_key(const CsrView<T>& a, const SpmvOptions& options) {
  const std::string_view values = a.is_pattern() ? "none" : options.fp32_values ? "rounded" : "full";
  return fmt::format("{}\t{}\t{} x {}, {} nonzeros\tvalues {} of {} bytes\t{} products\t{}{}\t{:016x}", version_field(),
                     one_field(device_field(options.device)), a.rows, a.cols, a.nnz(), values, sizeof(T),
                     options.expected_applications, to_string(options.determinism),
                     options.rank_products ? ", ranks" : "", matrix_hash(options.device, a));
}

std::optional<MeasuredChoice> recall_choice(const std::string& key) { return memory().find(key); }

void remember_choice(std::string key, MeasuredChoice choice) {
  choice.reason = one_field(std::move(choice.reason));
  memory().add({std::move(key), std::move(choice)}, true);
}

void forget_choice(const std::string& key) { memory().forget(key); }

template std::string choice_key(const CsrView<float>&, const SpmvOptions&);
template std::string choice_key(const CsrView<double>&, const SpmvOptions&);

}  // namespace detail

using namespace detail;

std::string export_measured_choices() {
  std::string text(format_line);
  text += '\n';
  for (const KeyedChoice& each : memory().all()) text += line_of(each);
  return text;
}

ImportedChoices import_measured_choices(std::string_view text, std::string_view name) {
  const auto take_line = [&text] {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
  };
  const std::string_view first = take_line();
  if (first != format_line) {
    throw ParseError(std::string(name), 1, 1,
                     first.starts_with(any_format)
                         ? fmt::format(R"("{}" is of a later version; this one knows "{}")", first, format_line)
                         : fmt::format(R"(a file of measured choices begins with "{}")", format_line));
  }
  ImportedChoices result;
  const std::string version = version_field() + "\t";
  while (!text.empty()) {
    std::optional<KeyedChoice> each = parse_line(take_line());
    if (!each) {
      ++result.damaged;
    } else if (!each->key.starts_with(version)) {
      ++result.outdated;
    } else if (memory().add(*std::move(each), false)) {
      ++result.read;
    }
  }
  return result;
}

void forget_measured_choices() noexcept { memory().clear(); }

}  // namespace tessera
