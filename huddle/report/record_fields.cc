#include "huddle/report/record_fields.h"

#include <map>
#include <optional>
#include <utility>

#include "huddle/record/time_parts.h"
#include "huddle/report/format.h"

namespace huddle {
namespace {

template <typename Value>
auto of(Value Summary::*member) {
  return within(&SummaryFile::summary, member);
}

std::optional<double> accuracy_of(const std::optional<Quality>& quality) {
  return quality ? quality->accuracy : std::nullopt;
}

std::optional<double> loss_of(const std::optional<Quality>& quality) {
  return quality ? std::optional(quality->loss) : std::nullopt;
}

// The further models of a run beside those that every run has.
ModelFigures with_others(ModelFigures figures, const Summary& summary,
                         std::optional<double> (*of)(const std::optional<Quality>&)) {
  if (summary.swa) figures["swa"] = of(summary.swa);
  for (const auto& [name, quality] : summary.others) figures[name] = of(quality);
  return figures;
}

ModelFigures accuracies(const SummaryFile& file) {
  const std::optional<WorkerAccuracy> workers = worker_accuracy(file.summary);
  return with_others({{"consensus", accuracy_of(file.summary.consensus)},
                      {"worker_mean", workers ? std::optional(workers->mean) : std::nullopt},
                      {"worker_min", workers ? std::optional(workers->smallest) : std::nullopt}},
                     file.summary, accuracy_of);
}

ModelFigures test_losses(const SummaryFile& file) {
  return with_others({{"consensus", loss_of(file.summary.consensus)},
                      {"worker_mean", worker_test_loss(file.summary)}},
                     file.summary, loss_of);
}

std::optional<std::vector<double>> unless_empty(std::vector<double> list) {
  return list.empty() ? std::nullopt : std::optional(std::move(list));
}

// Of the consensus; nothing where there are no classes.
std::optional<std::vector<double>> by_class(const SummaryFile& file) {
  const std::optional<Quality>& consensus = file.summary.consensus;
  return consensus ? unless_empty(consensus->by_class) : std::nullopt;
}

std::optional<std::vector<double>> shares(const SummaryFile& file) {
  return unless_empty(step_shares(file.summary));
}

}  // namespace

Json JsonKind<std::vector<TimeSplit>>::write(const std::vector<TimeSplit>& times) {
  Json json = Json::array();
  for (const TimeSplit& time : times) {
    Json entry = {{"worker", json.size()}};
    entry.update(written(time));
    json.push_back(std::move(entry));
  }
  return json;
}

bool JsonKind<std::vector<TimeSplit>>::read(const Json& json, std::vector<TimeSplit>& times) {
  times.clear();
  for (const Json& entry : json.is_array() ? json : Json::array())
    read_into(entry, times.emplace_back());
  return json.is_array();
}

Json JsonKind<std::vector<TimeSplit>>::shape() {
  Json entry = {{"worker", "number"}};
  entry.update(JsonKind<TimeSplit>::shape());
  return Json::array({entry});
}

std::vector<Field<TimeSplit>> fields_of(const TimeSplit*) {
  std::vector<Field<TimeSplit>> fields;
  for (const auto& [name, part] : kTimeParts) fields.push_back({name, part});
  return fields;
}

std::vector<Field<LinkUse>> fields_of(const LinkUse*) {
  return {{"name", &LinkUse::name},
          {"bytes", &LinkUse::bytes},
          {"busy", &LinkUse::busy},
          {"full", &LinkUse::full},
          {"bytes_per_second", &LinkUse::bytes_per_second}};
}

std::vector<Field<CurvePoint>> fields_of(const CurvePoint*) {
  return {{"progress", &CurvePoint::progress},
          {"time", &CurvePoint::time},
          {"loss", within(&CurvePoint::consensus, &Quality::loss)},
          {"accuracy", within(&CurvePoint::consensus, &Quality::accuracy)},
          {"drift", &CurvePoint::drift}};
}

std::vector<Field<SummaryFile>> fields_of(const SummaryFile*) {
  return {{"strategy", of(&Summary::strategy)},
          {"settled", of(&Summary::settled), {}, Empty::left_out},
          {"engine", of(&Summary::engine)},
          {"model", of(&Summary::model)},
          {"data", of(&Summary::data)},
          {"split", of(&Summary::split)},
          {"optimizer", of(&Summary::optimizer)},
          {"status", of(&Summary::status)},
          {"workers", of(&Summary::workers)},
          {"batch", of(&Summary::batch)},
          {"steps", of(&Summary::steps)},
          {"steps_done", of(&Summary::steps_done)},
          {"steps_taken", of(&Summary::steps_taken)},
          {"steps_by_worker", of(&Summary::steps_by_worker)},
          {"share_by_worker", shares, {}, Empty::left_out},
          {"rate_factor_by_worker", of(&Summary::rate_factor_by_worker), {}, Empty::left_out},
          {"seed", of(&Summary::seed)},
          {"version", &SummaryFile::version},
          {"machine", &SummaryFile::machine},
          {"parameters", of(&Summary::parameters)},
          {"seconds", of(&Summary::seconds)},
          {"samples_per_second", of(&Summary::samples_per_second)},
          {"loss", of(&Summary::loss)},
          {"accuracy", accuracies},
          {"accuracy_by_class", by_class},
          {"test_loss", test_losses},
          {"curve", of(&Summary::curve)},
          {"drift", of(&Summary::drift)},
          {"figures", of(&Summary::figures)},
          {"bytes_sent_per_worker", of(&Summary::bytes_sent_per_worker)},
          {"time", of(&Summary::time)},
          {"cluster", of(&Summary::cluster), {}, Empty::null},
          {"network", of(&Summary::network), {}, Empty::null},
          {"links", of(&Summary::links)},
          {"lost", of(&Summary::lost)},
          {"warnings", of(&Summary::warnings)}};
}

}  // namespace huddle
