// Words that an option takes as its value: names of kernels, methods, preconditioners, or those of its own table row.
#include "option_table.hpp"

#include "option_values.hpp"
#include "precond_keys.hpp"
#include "precond_spec.hpp"

#include "support/system.hpp"
#include "tessera/generators.hpp"
#include "tessera/spgemm.hpp"

#include <algorithm>

namespace tessera::cli {

std::vector<std::string> alternatives(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find('|'));
    words.emplace_back(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return words;
}

std::vector<std::string> option_words(const OptionSpec& spec) {
  std::vector<std::string> words;
  if (spec.name == "spmv") {
    const std::vector<std::string_view> kernels = kernel_names();
    words.assign(kernels.begin(), kernels.end());
    return words;
  }
  if (spec.name == "method" && spec.words.empty()) {
    for (const support::Method method : support::methods()) words.push_back(to_string(method));
    words.emplace_back("pagerank");
    return words;
  }
  if (spec.name == "estimate") {
    words.emplace_back(to_string(SpgemmWorkflow::automatic));
    for (const SpgemmWorkflow workflow : spgemm_workflows()) words.emplace_back(to_string(workflow));
    return words;
  }
  if (spec.name == "accumulator") {
    words.emplace_back(to_string(SpgemmAccumulator::automatic));
    for (const auto accumulator : spgemm_accumulators(Device::Kind::cuda)) words.emplace_back(to_string(accumulator));
    return words;
  }
  if (spec.name == "precond-opt") {
    for (const auto& keys : {amg_keys(), factor_keys()}) {
      for (const PrecondKey& key : keys) words.push_back(std::string(key.name) + "=");
    }
    return words;
  }
  if (spec.name == "precond" || spec.name == "preconds") {
    if (spec.name == "precond") words.emplace_back("auto");
    for (const PrecondForm& form : precond_forms()) {
      words.push_back(std::string(form.name) + (form.name == "bjacobi" ? ":" : ""));
    }
    return words;
  }
  if (spec.name == "generate") {
    for (const GeneratorFamily& family : generator_families()) words.push_back(std::string(family.name) + ":");
    return words;
  }
  if (!spec.words.empty()) return alternatives(spec.words);
  words = alternatives(spec.value);
  // "N" and "FILE" stand for something else; "-" is better typed than completed.
  std::erase_if(words, [](const std::string& word) {
    return !std::all_of(word.begin(), word.end(),
                        [](char c) { return c >= '0' && c != '[' && !(c >= 'A' && c <= 'Z'); });
  });
  return words;
}

}  // namespace tessera::cli
