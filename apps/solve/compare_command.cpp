#include "commands.hpp"
#include "compare/comparison.hpp"
#include "compare/json.hpp"
#include "compare/report.hpp"
#include "compare/tables.hpp"
#include "delivery.hpp"
#include "interrupt.hpp"
#include "messages.hpp"
#include "outputs.hpp"
#include "verbose.hpp"

namespace tessera::cli {

template <class T>
ExitCode compare_and_report(const CompareSettings& settings, const std::vector<Candidate<T>>& candidates,
                            const Options& options, const Invocation& invocation) {
  Progress progress(settings.output.progress, settings.output.verbosity);
  print_banner(options, settings.machine, progress);
  progress.phase(loading_text(settings.problem));
  const Problem<T> problem = load_problem<T>(settings.problem, settings.machine);
  CompareOutcome outcome = compare(settings, problem, candidates, progress);
  progress.finish();
  if (!settings.output.quiet) progress.warn(outcome.warnings);

  Deliverables results;
  results.summary = [&] { return compare_summary(outcome); };
  results.csv = [&] { return compare_csv(outcome); };
  results.markdown = [&] { return compare_markdown(outcome); };
  results.json = [&](ExitCode code) { return document_text(compare_json(outcome, options, invocation, code)); };
  return deliver(settings.output, exit_code_of(outcome, interrupt_signal(), settings.output.exit_zero), results);
}

namespace {

template <class T>
[[nodiscard]] ExitCode compare_registered(const CompareSettings& settings, const Options& options,
                                          const Invocation& invocation) {
  const auto candidates = choose_candidates(registered_candidates<T>(settings.machine.device), settings.kernels);
  return compare_and_report(settings, candidates, options, invocation);
}

}  // namespace

template ExitCode compare_and_report(const CompareSettings&, const std::vector<Candidate<float>>&, const Options&,
                                     const Invocation&);
template ExitCode compare_and_report(const CompareSettings&, const std::vector<Candidate<double>>&, const Options&,
                                     const Invocation&);

ExitCode compare_command(const Options& options, const Invocation& invocation) {
  const CompareSettings settings = compare_settings(options);
  std::vector<std::string> inputs;
  if (settings.problem.source == Source::file) inputs.push_back(settings.problem.path);
  for (const VectorSettings& vector : {settings.rhs, settings.x0}) {
    if (vector.kind == VectorSettings::Kind::file) inputs.push_back(vector.path);
  }
  if (settings.baseline) inputs.push_back(*settings.baseline);
  if (const auto config = options.guarded_config()) inputs.push_back(*config);
  check_outputs(settings.output, inputs);
  return settings.machine.precision == Precision::fp64 ? compare_registered<double>(settings, options, invocation)
                                                       : compare_registered<float>(settings, options, invocation);
}

}  // namespace tessera::cli
