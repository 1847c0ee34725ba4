#include "bench/krylov_rows.hpp"

#include "bench/speedup.hpp"

#include <string_view>
#include <utility>

namespace tessera::bench {

std::vector<KrylovRow> rows_of(KrylovContenders& contenders, const KrylovTask& task) {
  std::vector<KrylovRow> rows;
  for (KrylovContender& contender : contenders.of(task)) {
    KrylovRow row{std::move(contender)};
    row.failure = row.contender.refusal;
    rows.push_back(std::move(row));
  }
  return rows;
}

Json header(KrylovSystem& system, const KrylovTask& task) {
  return {{"problem", system.name()},
          {"method", to_string(task.method)},
          {"preconditioner", task.jacobi ? "jacobi" : "none"},
          {"unknowns", system.host().rows()},
          {"nonzeros", system.host().nnz()},
          {"upload_ms", system.upload_ms()}};
}

Json facts_of(const KrylovRow& row) {
  return {{"solver", row.contender.name},
          {"pass", !row.wrong},
          {"refused", !row.contender.refusal.empty()},
          {"setup_ms", row.contender.setup_ms},
          {"iterations", row.outcome.iterations},
          {"ending", row.outcome.ending},
          {"mends", row.outcome.mends},
          {"reported_residual", row.outcome.residual},
          {"true_residual", row.true_residual}};
}

void add_speedups(const std::vector<KrylovRow>& rows, const KrylovRow& row, Json& json) {
  for (const std::string_view name : {hand_written_name, sparing_name}) {
    for (const KrylovRow& baseline : rows) {
      if (baseline.contender.name != name || &baseline == &row || baseline.time.count == 0) continue;
      add_speedup(json, baseline.contender.name, baseline.samples, row.samples);
    }
  }
}

}  // namespace tessera::bench
