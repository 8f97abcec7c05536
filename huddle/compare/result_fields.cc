#include "huddle/compare/result_fields.h"

#include <algorithm>

namespace huddle {
namespace {

template <typename Value>
auto of_outcome(Value RunOutcome::*member) {
  return within(&ComparedRun::outcome, member);
}

template <typename Value>
auto of_comparison(Value Comparison::*member) {
  return within(&Results::comparison, member);
}

// Nothing where the target was not reached.
template <typename Value>
auto when_reached(Value Reached::*member) {
  return [member](const ComparedRun& run) {
    return run.reached ? std::optional(*run.reached.*member) : std::nullopt;
  };
}

// The value of a target of this kind that is not over a baseline.
auto target_value(Target::Of of) {
  return [of](const Target& target) {
    return target.baseline.empty() && target.of == of ? std::optional(target.value) : std::nullopt;
  };
}

std::optional<double> points_below(const Target& target) {
  return target.baseline.empty() ? std::nullopt : std::optional(100 * target.below);
}

}  // namespace

std::vector<Field<Spread>> fields_of(const Spread*) {
  return {{"mean", &Spread::mean}, {"spread", &Spread::deviation}};
}

std::vector<Field<ConfidenceInterval>> fields_of(const ConfidenceInterval*) {
  return {{"low", &ConfidenceInterval::low}, {"high", &ConfidenceInterval::high}};
}

std::vector<Field<Target>> fields_of(const Target*) {
  return {{"baseline", &Target::baseline, {}, Empty::left_out},
          {"points_below", points_below, {}, Empty::left_out},
          {"loss", target_value(Target::Of::loss), {}, Empty::left_out},
          {"accuracy", target_value(Target::Of::accuracy), {}, Empty::left_out}};
}

std::vector<Field<ConsensusCost>> fields_of(const ConsensusCost*) {
  return {{"seconds", &ConsensusCost::seconds},
          {"bytes_per_worker", &ConsensusCost::bytes_per_worker}};
}

std::vector<Field<Bottleneck>> fields_of(const Bottleneck*) {
  return {{"name", within(&Bottleneck::link, &LinkUse::name)}, {"load", &Bottleneck::load}};
}

std::vector<Field<Speedup>> fields_of(const Speedup*) {
  return {{"name", &Speedup::name},
          {"label", &Speedup::label, {}, Empty::null},
          {"speedup", within(&Speedup::of_step, &Measured::value)},
          {"speedup_interval", within(&Speedup::of_step, &Measured::interval)},
          {"target_label", &Speedup::target_label, {}, Empty::null},
          {"speedup_to_target", within(&Speedup::to_target, &Measured::value)},
          {"speedup_to_target_interval", within(&Speedup::to_target, &Measured::interval)},
          {"points", within(&Speedup::points, &Measured::value)},
          {"points_interval", within(&Speedup::points, &Measured::interval)}};
}

std::vector<Field<CaseAnswer>> fields_of(const CaseAnswer*) {
  return {{"case", &CaseAnswer::case_name},
          {"winner", &CaseAnswer::winner, {}, Empty::null},
          {"result", &CaseAnswer::result},
          {"why", &CaseAnswer::why}};
}

std::vector<Field<ComparisonAnswer>> fields_of(const ComparisonAnswer*) {
  return {{"headline", &ComparisonAnswer::headline},
          {"measure", &ComparisonAnswer::measure},
          {"cases", &ComparisonAnswer::cases}};
}

std::vector<Field<Comparison::Case>> fields_of(const Comparison::Case*) {
  return {{"name", &Comparison::Case::name},
          {"text", &Comparison::Case::text},
          {"cluster", &Comparison::Case::cluster},
          {"target", &Comparison::Case::target},
          {"consensus", &Comparison::Case::consensus}};
}

std::vector<Field<Tuning>> fields_of(const Tuning*) {
  return {{"id", &Tuning::id},       {"case", &Tuning::case_name},  {"label", &Tuning::label},
          {"value", &Tuning::value}, {"status", &Tuning::status},   {"accuracy", &Tuning::accuracy},
          {"loss", &Tuning::loss},   {"is_best", &Tuning::is_best}, {"command", &Tuning::command}};
}

std::vector<Field<Training>> fields_of(const Training*) {
  return {{"id", &Training::id},
          {"strategy", &Training::strategy},
          {"seed", &Training::seed},
          {"status", &Training::status},
          {"command", &Training::command}};
}

std::vector<Field<Verdict>> fields_of(const Verdict*) {
  return {{"text", &Verdict::text}, {"holds", &Verdict::holds}};
}

std::vector<Field<WallClock>> fields_of(const WallClock*) {
  return {{"machine", &WallClock::machine},
          {"seconds", &WallClock::seconds},
          {"by_run", &WallClock::by_run}};
}

std::vector<Field<Results>> fields_of(const Results*) {
  return {{"format", &Results::format},
          {"version", &Results::version},
          {"scenario", &Results::comparison},
          {"note", of_comparison(&Comparison::note)},
          {"answer", &Results::answer},
          {"cases", of_comparison(&Comparison::cases)},
          {"tunings", of_comparison(&Comparison::tunings)},
          {"trainings", of_comparison(&Comparison::trainings)},
          {"runs", of_comparison(&Comparison::runs)},
          {"table", of_comparison(&Comparison::table)},
          {"expectations", of_comparison(&Comparison::verdicts)},
          {"wall", &Results::wall}};
}

std::vector<Field<Comparison>> fields_of(const Comparison*) {
  return {{"name", &Comparison::name},
          {"title", &Comparison::title},
          {"text", &Comparison::text},
          {"claim", &Comparison::claim},
          {"assumptions", &Comparison::assumptions},
          {"target", &Comparison::target},
          {"source", &Comparison::source}};
}

std::vector<Field<ComparedRun>> fields_of(const ComparedRun*) {
  return {{"id", &ComparedRun::id},
          {"case", &ComparedRun::case_name},
          {"label", &ComparedRun::label},
          {"strategy", &ComparedRun::strategy},
          {"seed", &ComparedRun::seed},
          {"status", of_outcome(&RunOutcome::status)},
          {"trained_in", &ComparedRun::trained_in, {}, Empty::null},
          {"timed_in", &ComparedRun::timed_in, {}, Empty::null},
          {"command", &ComparedRun::command},
          {"seconds", of_outcome(&RunOutcome::seconds)},
          {"step_seconds", of_outcome(&RunOutcome::step_seconds)},
          {"target", &ComparedRun::target},
          {"time_to_target", when_reached(&Reached::time)},
          {"steps_to_target", when_reached(&Reached::progress)},
          {"bytes_to_target", when_reached(&Reached::bytes_per_worker)},
          {"forms_at_target", when_reached(&Reached::must_form)},
          {"accuracy", of_outcome(&RunOutcome::accuracy)},
          {"test_loss", of_outcome(&RunOutcome::test_loss)},
          {"loss", of_outcome(&RunOutcome::loss)},
          {"drift", of_outcome(&RunOutcome::drift)},
          {"bytes_sent_per_worker", of_outcome(&RunOutcome::bytes_sent_per_worker)},
          {"time", of_outcome(&RunOutcome::time)},
          {"share_by_worker", of_outcome(&RunOutcome::share_by_worker), {}, Empty::left_out},
          {"rate_factor_by_worker",
           of_outcome(&RunOutcome::rate_factor_by_worker),
           {},
           Empty::left_out},
          {"links", of_outcome(&RunOutcome::links)},
          {"bottleneck", [](const ComparedRun& run) { return bottleneck_of(run.outcome); }},
          {"curve", of_outcome(&RunOutcome::curve)},
          {"figures", of_outcome(&RunOutcome::figures)},
          {"warnings", of_outcome(&RunOutcome::warnings)},
          {"lost", of_outcome(&RunOutcome::lost)}};
}

std::vector<Field<ComparedRow>> fields_of(const ComparedRow*) {
  using Row = ComparedRow;
  return {
      {"case", &Row::case_name},
      {"label", &Row::label, {"text", {"strategy", 10}}},
      {"strategy", &Row::strategy},
      {"status", &Row::status},
      {"seeds", &Row::seeds},
      {"workload", &Row::workload, {"settings", {}, {"own settings", 120}}},
      {"carries", &Row::carries},
      {"baselines", &Row::speedups},
      {"step_seconds", &Row::step_seconds, {"seconds", {"step", 20}, {"step time", 10}, "step"}},
      {"time_to_target",
       &Row::time_to_target,
       {"seconds", {"to target", 30}, {"to target", 20}, "target"}},
      {"reached", &Row::reached},
      {"bytes_to_target", &Row::bytes_to_target},
      {"forms_at_target", &Row::forms_at_target},
      {"tuned", &Row::tuned, {"rate", {"rate", 50}}},
      {"accuracy_consensus",
       &Row::accuracy_consensus,
       {"accuracy", {"consensus", 40}, {"accuracy, consensus", 30}}},
      {"accuracy_worker_mean",
       &Row::accuracy_worker_mean,
       {"accuracy", {"worker mean", 120}, {"accuracy, workers", 50}}},
      {"accuracy_swa", &Row::accuracy_swa, {"accuracy", {"swa", 60}, {"accuracy, SWA", 40}}},
      {"loss_consensus", &Row::loss_consensus, {"loss", {"test loss", 70}}},
      {"drift", &Row::drift, {"drift", {"drift", 130}, {"drift", 60}}},
      {"bytes_sent_per_worker",
       &Row::bytes_sent_per_worker,
       {"bytes", {"sent", 110}, {"sent per worker", 70}}},
      {"wait", &Row::wait, {"share", {"wait", 80}, {"wait", 80}}},
      {"exchange", &Row::exchange, {"share", {"exchange", 90}, {"exchange", 90}}},
      {"hidden", &Row::hidden, {"share", {"hidden", 100}, {"hidden", 100}}},
      {"least_heard",
       &Row::least_heard,
       {"share", {"least heard", 135}, {"least heard", 105}},
       Empty::left_out},
      {"bottleneck",
       &Row::bottleneck,
       {"text", {"bottleneck", 140}, {"bottleneck", 110}},
       Empty::null}};
}

std::vector<const Field<ComparedRow>*> columns_in(Column Shown::*table) {
  std::vector<const Field<ComparedRow>*> columns;
  for (const Field<ComparedRow>& field : JsonKind<ComparedRow>::fields())
    if (!(field.shown.*table).heading.empty()) columns.push_back(&field);
  std::ranges::sort(columns, {},
                    [table](const auto* field) { return (field->shown.*table).place; });
  return columns;
}

}  // namespace huddle
