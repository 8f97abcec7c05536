#include "huddle/report/record_fields.h"

#include "huddle/record/time_parts.h"
#include "huddle/report/format.h"

namespace huddle {
namespace {

template <typename Value>
auto of(Value Summary::*member) {
  return within(&SummaryFile::summary, member);
}

// Figures of models by name, in this order.
using ModelFigures = std::vector<std::pair<std::string, std::optional<double>>>;

std::optional<double> accuracy_of(const std::optional<Quality>& quality) {
  return quality ? quality->accuracy : std::nullopt;
}

std::optional<double> loss_of(const std::optional<Quality>& quality) {
  return quality ? std::optional(quality->loss) : std::nullopt;
}

// The further models of a run behind those that every run has.
ModelFigures with_others(ModelFigures figures, const Summary& summary,
                         std::optional<double> (*of)(const std::optional<Quality>&)) {
  if (summary.swa) figures.emplace_back("swa", of(summary.swa));
  for (const auto& [name, quality] : summary.others) figures.emplace_back(name, of(quality));
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

// Of the consensus; nothing where there are no classes.
std::optional<std::vector<double>> by_class(const SummaryFile& file) {
  const std::optional<Quality>& consensus = file.summary.consensus;
  if (!consensus || consensus->by_class.empty()) return {};
  return consensus->by_class;
}

}  // namespace

template <>
struct JsonKind<ModelFigures> {
  static Json write(const ModelFigures& figures) {
    Json json = Json::object();
    for (const auto& [name, figure] : figures) json[name] = written(figure);
    return json;
  }
  static Json shape() { return {{"*", "figure"}}; }
};

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
  for (const auto& [name, part] : kTimeParts) fields.push_back({.name = name, .value = part});
  return fields;
}

std::vector<Field<LinkUse>> fields_of(const LinkUse*) {
  return {{.name = "name", .value = &LinkUse::name},
          {.name = "bytes", .value = &LinkUse::bytes},
          {.name = "busy", .value = &LinkUse::busy},
          {.name = "full", .value = &LinkUse::full},
          {.name = "bytes_per_second", .value = &LinkUse::bytes_per_second}};
}

std::vector<Field<CurvePoint>> fields_of(const CurvePoint*) {
  return {{.name = "progress", .value = &CurvePoint::progress},
          {.name = "time", .value = &CurvePoint::time},
          {.name = "loss", .value = within(&CurvePoint::consensus, &Quality::loss)},
          {.name = "accuracy", .value = within(&CurvePoint::consensus, &Quality::accuracy)},
          {.name = "drift", .value = &CurvePoint::drift}};
}

std::vector<Field<SummaryFile>> fields_of(const SummaryFile*) {
  return {{.name = "strategy", .value = of(&Summary::strategy)},
          {.name = "engine", .value = of(&Summary::engine)},
          {.name = "model", .value = of(&Summary::model)},
          {.name = "data", .value = of(&Summary::data)},
          {.name = "split", .value = of(&Summary::split)},
          {.name = "optimizer", .value = of(&Summary::optimizer)},
          {.name = "status", .value = of(&Summary::status)},
          {.name = "workers", .value = of(&Summary::workers)},
          {.name = "batch", .value = of(&Summary::batch)},
          {.name = "steps", .value = of(&Summary::steps)},
          {.name = "steps_done", .value = of(&Summary::steps_done)},
          {.name = "steps_taken", .value = of(&Summary::steps_taken)},
          {.name = "steps_by_worker", .value = of(&Summary::steps_by_worker)},
          {.name = "seed", .value = of(&Summary::seed)},
          {.name = "version", .value = &SummaryFile::version},
          {.name = "machine", .value = &SummaryFile::machine},
          {.name = "parameters", .value = of(&Summary::parameters)},
          {.name = "seconds", .value = of(&Summary::seconds)},
          {.name = "samples_per_second", .value = of(&Summary::samples_per_second)},
          {.name = "loss", .value = of(&Summary::loss)},
          {.name = "accuracy", .value = accuracies},
          {.name = "accuracy_by_class", .value = by_class},
          {.name = "test_loss", .value = test_losses},
          {.name = "curve", .value = of(&Summary::curve)},
          {.name = "drift", .value = of(&Summary::drift)},
          {.name = "figures", .value = of(&Summary::figures)},
          {.name = "bytes_sent_per_worker", .value = of(&Summary::bytes_sent_per_worker)},
          {.name = "time", .value = of(&Summary::time)},
          {.name = "cluster", .value = of(&Summary::cluster), .empty = Empty::null},
          {.name = "network", .value = of(&Summary::network), .empty = Empty::null},
          {.name = "links", .value = of(&Summary::links)},
          {.name = "lost", .value = of(&Summary::lost)},
          {.name = "warnings", .value = of(&Summary::warnings)}};
}

}  // namespace huddle
