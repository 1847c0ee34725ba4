// Configurations worth a try: which methods a matrix allows, with which preconditioners.
#include "tune_candidates.hpp"

#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <string_view>

namespace tessera::cli {

namespace {

using Words = std::initializer_list<const char*>;

void add(std::vector<TuneCandidate>& candidates, const char* method, Words preconds) {
  for (const char* precond : preconds) candidates.push_back({{method, precond, "auto"}});
}

/// Methods for any matrix that the facts allow, most often the best first.
[[nodiscard]] std::vector<std::string_view> methods_for(const TuneFacts& facts) {
  std::vector<std::string_view> methods;
  if (facts.may_be_definite()) methods = {"cg", "chebyshev"};
  if (facts.is_symmetric) methods.emplace_back("minres");
  methods.insert(methods.end(), {"bicgstab", "idr", "gmres", "richardson"});
  return methods;
}

[[nodiscard]] bool needs_diagonal(std::string_view precond) {
  return precond == "jacobi" || precond.starts_with("poly") || precond.starts_with("neumann");
}

void drop_those_without_diagonal(const TuneFacts& facts, TuneCandidates& candidates) {
  if (facts.has_full_diagonal) return;
  std::erase_if(candidates.tried, [](const TuneCandidate& each) { return needs_diagonal(each.configuration.precond); });
  candidates.skipped.emplace_back("jacobi, poly: a diagonal entry is missing or zero");
}

/// Other parameters of a preconditioner, written in full.
[[nodiscard]] std::vector<std::string> variants_of(const std::string& precond) {
  const std::string name = precond.substr(0, precond.find(':'));
  if (name == "ilu0" || name == "iluk") return {"iluk:1", "iluk:2", "ilut:1e-2:10", "ilut:1e-3:20"};
  if (name == "ilut") return {"ilut:1e-2:10", "ilut:1e-3:20", "ilut:1e-6:100"};
  if (name == "ilutp") return {"ilutp:1e-2:10", "ilutp:1e-3:20", "ilutp:1e-6:100"};
  if (name == "ic0" || name == "ict") return {"ict:1e-1:5", "ict:1e-3:20", "ict:1e-4:50"};
  if (name == "fsai") return {"fsai:1:0.05", "fsai:2", "fsai:3:0.05"};
  if (name == "spai") return {"spai:0"};
  if (name == "jacobi" || name == "poly") return {"poly:2", "poly:4", "poly:8", "poly:16"};
  return {};
}

/// Other parameters that are options.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> options_of(const BenchConfiguration& best) {
  std::vector<std::pair<std::string, std::string>> result;
  if (best.precond == "amg") {
    for (const char* key : {"smoother=chebyshev", "smoother=spai0", "cycle=k"}) result.emplace_back("precond-opt", key);
  }
  if (best.method == "gmres") {
    for (const char* length : {"25", "100", "200"}) result.emplace_back("restart", length);
  }
  return result;
}

}  // namespace

TuneFacts tune_facts(const Json& document) {
  TuneFacts facts;
  const Json& matrix = document.at("matrix");
  facts.rows = matrix.at("rows");
  facts.cols = matrix.at("cols");
  facts.nnz = matrix.at("nnz");
  facts.is_symmetric = matrix.at("symmetric");
  const Json& diagonal = document.at("diagonal");
  facts.has_full_diagonal = diagonal.at("missing") == 0 && diagonal.at("zero") == 0;
  facts.has_positive_diagonal = facts.has_full_diagonal && diagonal.at("negative") == 0;
  return facts;
}

std::string to_string(const TuneFacts& facts) {
  std::string text = fmt::format("{} x {}, {} nonzeros", facts.rows, facts.cols, facts.nnz);
  if (!facts.is_square()) return text;
  text += facts.is_symmetric ? ", symmetric" : ", not symmetric";
  if (!facts.has_full_diagonal) return text + ", diagonal entries are missing or zero";
  return text + (facts.has_positive_diagonal ? ", positive diagonal" : ", diagonal of both signs or negative");
}

std::string to_string(const TuneCandidate& candidate) {
  std::string text = to_string(candidate.configuration);
  for (const auto& [name, value] : candidate.more) {
    text += name == "precond-opt" ? fmt::format(" {}", value) : fmt::format(" {}={}", name, value);
  }
  return text;
}

TuneCandidates tune_candidates(const TuneFacts& facts) {
  TuneCandidates result;
  add(result.tried, "auto", {"auto"});
  if (!facts.is_square()) {
    result.skipped.emplace_back("all but lsmr and cgls: the matrix is not square");
    add(result.tried, "lsmr", {"none", "jacobi"});
    add(result.tried, "cgls", {"none", "jacobi"});
    return result;
  }
  if (facts.may_be_definite()) {
    add(result.tried, "cg", {"jacobi", "ic0"});
    add(result.tried, "direct", {"auto"});
    add(result.tried, "cg", {"amg", "ict", "fsai", "poly:4", "none"});
  } else {
    add(result.tried, "bicgstab", {"ilu0", "jacobi"});
    add(result.tried, "direct", {"auto"});
    result.skipped.emplace_back(facts.is_symmetric
                                    ? "cg, chebyshev: the diagonal is not positive, so A is not positive definite"
                                    : "cg, chebyshev, minres: the matrix is not symmetric");
  }
  if (facts.is_symmetric) add(result.tried, "minres", {"jacobi"});
  if (facts.may_be_definite()) add(result.tried, "bicgstab", {"jacobi", "ilu0"});
  add(result.tried, "bicgstab", {"ilutp", "ilut", "amg", "spai", "none"});
  add(result.tried, "idr", {"jacobi", "ilu0"});
  add(result.tried, "gmres", {"jacobi", "ilu0", "ilutp"});
  add(result.tried, "richardson", {"amg", "ilutp"});
  drop_those_without_diagonal(facts, result);
  return result;
}

std::vector<TuneCandidate> tune_neighbours(const TuneCandidate& best, const TuneFacts& facts) {
  std::vector<TuneCandidate> result;
  const BenchConfiguration& at = best.configuration;
  if (!facts.is_square() || at.method == "direct" || at.method == "auto") return result;
  for (const std::string_view method : methods_for(facts)) {
    if (method != at.method) result.push_back({{std::string(method), at.precond, at.kernel}});
  }
  for (const std::string& precond : variants_of(at.precond)) {
    if (precond != at.precond) result.push_back({{at.method, precond, at.kernel}});
  }
  for (const auto& option : options_of(at)) result.push_back({at, {option}});
  return result;
}

}  // namespace tessera::cli
