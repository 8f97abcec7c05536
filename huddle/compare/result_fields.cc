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
  return {{.name = "mean", .value = &Spread::mean},
          {.name = "spread", .value = &Spread::deviation}};
}

std::vector<Field<Confidence>> fields_of(const Confidence*) {
  return {{.name = "low", .value = &Confidence::low}, {.name = "high", .value = &Confidence::high}};
}

std::vector<Field<Target>> fields_of(const Target*) {
  return {
      {.name = "baseline", .value = &Target::baseline, .empty = Empty::left_out},
      {.name = "points_below", .value = points_below, .empty = Empty::left_out},
      {.name = "loss", .value = target_value(Target::Of::loss), .empty = Empty::left_out},
      {.name = "accuracy", .value = target_value(Target::Of::accuracy), .empty = Empty::left_out}};
}

std::vector<Field<ConsensusCost>> fields_of(const ConsensusCost*) {
  return {{.name = "seconds", .value = &ConsensusCost::seconds},
          {.name = "bytes_per_worker", .value = &ConsensusCost::bytes_per_worker}};
}

std::vector<Field<Bottleneck>> fields_of(const Bottleneck*) {
  return {{.name = "name", .value = within(&Bottleneck::link, &LinkUse::name)},
          {.name = "load", .value = &Bottleneck::load}};
}

std::vector<Field<Speedup>> fields_of(const Speedup*) {
  return {{.name = "name", .value = &Speedup::name},
          {.name = "label", .value = &Speedup::label, .empty = Empty::null},
          {.name = "speedup", .value = within(&Speedup::of_step, &Measured::value)},
          {.name = "speedup_interval", .value = within(&Speedup::of_step, &Measured::interval)},
          {.name = "target_label", .value = &Speedup::target_label, .empty = Empty::null},
          {.name = "speedup_to_target", .value = within(&Speedup::to_target, &Measured::value)},
          {.name = "speedup_to_target_interval",
           .value = within(&Speedup::to_target, &Measured::interval)},
          {.name = "points", .value = within(&Speedup::points, &Measured::value)},
          {.name = "points_interval", .value = within(&Speedup::points, &Measured::interval)}};
}

std::vector<Field<CaseAnswer>> fields_of(const CaseAnswer*) {
  return {{.name = "case", .value = &CaseAnswer::case_name},
          {.name = "winner", .value = &CaseAnswer::winner, .empty = Empty::null},
          {.name = "result", .value = &CaseAnswer::result},
          {.name = "why", .value = &CaseAnswer::why}};
}

std::vector<Field<ComparisonAnswer>> fields_of(const ComparisonAnswer*) {
  return {{.name = "headline", .value = &ComparisonAnswer::headline},
          {.name = "measure", .value = &ComparisonAnswer::measure},
          {.name = "cases", .value = &ComparisonAnswer::cases}};
}

std::vector<Field<Comparison::Case>> fields_of(const Comparison::Case*) {
  return {{.name = "name", .value = &Comparison::Case::name},
          {.name = "text", .value = &Comparison::Case::text},
          {.name = "cluster", .value = &Comparison::Case::cluster},
          {.name = "target", .value = &Comparison::Case::target},
          {.name = "consensus", .value = &Comparison::Case::consensus}};
}

std::vector<Field<Tuning>> fields_of(const Tuning*) {
  return {{.name = "id", .value = &Tuning::id},
          {.name = "case", .value = &Tuning::case_name},
          {.name = "label", .value = &Tuning::label},
          {.name = "value", .value = &Tuning::value},
          {.name = "status", .value = &Tuning::status},
          {.name = "accuracy", .value = &Tuning::accuracy},
          {.name = "loss", .value = &Tuning::loss},
          {.name = "is_best", .value = &Tuning::is_best},
          {.name = "command", .value = &Tuning::command}};
}

std::vector<Field<Training>> fields_of(const Training*) {
  return {{.name = "id", .value = &Training::id},
          {.name = "strategy", .value = &Training::strategy},
          {.name = "seed", .value = &Training::seed},
          {.name = "status", .value = &Training::status},
          {.name = "command", .value = &Training::command}};
}

std::vector<Field<Verdict>> fields_of(const Verdict*) {
  return {{.name = "text", .value = &Verdict::text}, {.name = "holds", .value = &Verdict::holds}};
}

std::vector<Field<WallClock>> fields_of(const WallClock*) {
  return {{.name = "machine", .value = &WallClock::machine},
          {.name = "seconds", .value = &WallClock::seconds},
          {.name = "by_run", .value = &WallClock::by_run}};
}

std::vector<Field<Results>> fields_of(const Results*) {
  return {{.name = "format", .value = &Results::format},
          {.name = "version", .value = &Results::version},
          {.name = "scenario", .value = &Results::comparison},
          {.name = "note", .value = of_comparison(&Comparison::note)},
          {.name = "answer", .value = &Results::answer},
          {.name = "cases", .value = of_comparison(&Comparison::cases)},
          {.name = "tunings", .value = of_comparison(&Comparison::tunings)},
          {.name = "trainings", .value = of_comparison(&Comparison::trainings)},
          {.name = "runs", .value = of_comparison(&Comparison::runs)},
          {.name = "table", .value = of_comparison(&Comparison::table)},
          {.name = "expectations", .value = of_comparison(&Comparison::verdicts)},
          {.name = "wall", .value = &Results::wall}};
}

std::vector<Field<Comparison>> fields_of(const Comparison*) {
  return {{.name = "name", .value = &Comparison::name},
          {.name = "title", .value = &Comparison::title},
          {.name = "text", .value = &Comparison::text},
          {.name = "claim", .value = &Comparison::claim},
          {.name = "assumptions", .value = &Comparison::assumptions},
          {.name = "target", .value = &Comparison::target},
          {.name = "source", .value = &Comparison::source}};
}

std::vector<Field<ComparedRun>> fields_of(const ComparedRun*) {
  return {
      {.name = "id", .value = &ComparedRun::id},
      {.name = "case", .value = &ComparedRun::case_name},
      {.name = "label", .value = &ComparedRun::label},
      {.name = "strategy", .value = &ComparedRun::strategy},
      {.name = "seed", .value = &ComparedRun::seed},
      {.name = "status", .value = of_outcome(&RunOutcome::status)},
      {.name = "trained_in", .value = &ComparedRun::trained_in, .empty = Empty::null},
      {.name = "timed_in", .value = &ComparedRun::timed_in, .empty = Empty::null},
      {.name = "command", .value = &ComparedRun::command},
      {.name = "seconds", .value = of_outcome(&RunOutcome::seconds)},
      {.name = "step_seconds", .value = of_outcome(&RunOutcome::step_seconds)},
      {.name = "target", .value = &ComparedRun::target},
      {.name = "time_to_target", .value = when_reached(&Reached::time)},
      {.name = "steps_to_target", .value = when_reached(&Reached::progress)},
      {.name = "bytes_to_target", .value = when_reached(&Reached::bytes_per_worker)},
      {.name = "forms_at_target", .value = when_reached(&Reached::must_form)},
      {.name = "accuracy", .value = of_outcome(&RunOutcome::accuracy)},
      {.name = "test_loss", .value = of_outcome(&RunOutcome::test_loss)},
      {.name = "loss", .value = of_outcome(&RunOutcome::loss)},
      {.name = "drift", .value = of_outcome(&RunOutcome::drift)},
      {.name = "bytes_sent_per_worker", .value = of_outcome(&RunOutcome::bytes_sent_per_worker)},
      {.name = "time", .value = of_outcome(&RunOutcome::time)},
      {.name = "links", .value = of_outcome(&RunOutcome::links)},
      {.name = "bottleneck",
       .value = [](const ComparedRun& run) { return bottleneck_of(run.outcome); }},
      {.name = "curve", .value = of_outcome(&RunOutcome::curve)},
      {.name = "figures", .value = of_outcome(&RunOutcome::figures)},
      {.name = "warnings", .value = of_outcome(&RunOutcome::warnings)},
      {.name = "lost", .value = of_outcome(&RunOutcome::lost)}};
}

std::vector<Field<ComparedRow>> fields_of(const ComparedRow*) {
  using Row = ComparedRow;
  return {
      {.name = "case", .value = &Row::case_name},
      {.name = "label", .value = &Row::label, .shown = {"text", {"strategy", 10}}},
      {.name = "strategy", .value = &Row::strategy},
      {.name = "status", .value = &Row::status},
      {.name = "seeds", .value = &Row::seeds},
      {.name = "workload",
       .value = &Row::workload,
       .shown = {"settings", {}, {"own settings", 120}}},
      {.name = "carries", .value = &Row::carries},
      {.name = "baselines", .value = &Row::speedups},
      {.name = "step_seconds",
       .value = &Row::step_seconds,
       .shown = {"seconds", {"step", 20}, {"step time", 10}, "step"}},
      {.name = "time_to_target",
       .value = &Row::time_to_target,
       .shown = {"seconds", {"to target", 30}, {"to target", 20}, "target"}},
      {.name = "reached", .value = &Row::reached},
      {.name = "bytes_to_target", .value = &Row::bytes_to_target},
      {.name = "forms_at_target", .value = &Row::forms_at_target},
      {.name = "tuned", .value = &Row::tuned, .shown = {"rate", {"rate", 50}}},
      {.name = "accuracy_consensus",
       .value = &Row::accuracy_consensus,
       .shown = {"accuracy", {"consensus", 40}, {"accuracy, consensus", 30}}},
      {.name = "accuracy_worker_mean",
       .value = &Row::accuracy_worker_mean,
       .shown = {"accuracy", {"worker mean", 120}, {"accuracy, workers", 50}}},
      {.name = "accuracy_swa",
       .value = &Row::accuracy_swa,
       .shown = {"accuracy", {"swa", 60}, {"accuracy, SWA", 40}}},
      {.name = "loss_consensus",
       .value = &Row::loss_consensus,
       .shown = {"loss", {"test loss", 70}}},
      {.name = "drift", .value = &Row::drift, .shown = {"drift", {"drift", 130}, {"drift", 60}}},
      {.name = "bytes_sent_per_worker",
       .value = &Row::bytes_sent_per_worker,
       .shown = {"bytes", {"sent", 110}, {"sent per worker", 70}}},
      {.name = "wait", .value = &Row::wait, .shown = {"share", {"wait", 80}, {"wait", 80}}},
      {.name = "exchange",
       .value = &Row::exchange,
       .shown = {"share", {"exchange", 90}, {"exchange", 90}}},
      {.name = "hidden",
       .value = &Row::hidden,
       .shown = {"share", {"hidden", 100}, {"hidden", 100}}},
      {.name = "bottleneck",
       .value = &Row::bottleneck,
       .empty = Empty::null,
       .shown = {"text", {"bottleneck", 140}, {"bottleneck", 110}}}};
}

std::vector<const Field<ComparedRow>*> columns_in(Column Shown::*table) {
  std::vector<const Field<ComparedRow>*> columns;
  for (const Field<ComparedRow>& field : JsonKind<ComparedRow>::fields())
    if (!(field.shown.*table).heading.empty()) columns.push_back(&field);
  std::sort(columns.begin(), columns.end(), [table](const auto* a, const auto* b) {
    return (a->shown.*table).place < (b->shown.*table).place;
  });
  return columns;
}

}  // namespace huddle
