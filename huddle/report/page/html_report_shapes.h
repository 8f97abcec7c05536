// The shapes in which a report's page finds its data, whatever the files hold.
//
// Files may be older or newer than this program, or edited by hand; the page must not have to doubt
// every value. So all that goes into it is first brought into one of these shapes: "text" is a
// string, "number" a number or null, a list holds any number of what stands in it, and the key "*"
// stands for any name. What is missing becomes empty or null, what is not named here is left out.

#pragma once

#include <string_view>

namespace huddle {

constexpr std::string_view kTextShape = R"("text")";

constexpr std::string_view kRunShape = R"({
  "id": "text", "case": "text", "label": "text", "strategy": "text", "seed": "text",
  "status": "text", "trained_in": "text", "timed_in": "text", "command": "text",
  "seconds": "number",
  "step_seconds": "number", "time_to_target": "number", "steps_to_target": "number",
  "accuracy": {"*": "number"}, "test_loss": {"*": "number"}, "loss": "number",
  "drift": "number", "bytes_sent_per_worker": "number",
  "time": [{"worker": "number", "compute": "number", "wait": "number", "exchange": "number",
            "hidden": "number"}],
  "links": [{"name": "text", "bytes": "number", "busy": "number", "full": "number",
             "bytes_per_second": "number"}],
  "curve": [{"progress": "number", "time": "number", "loss": "number", "accuracy": "number",
             "drift": "number"}],
  "figures": {"*": "number"}, "warnings": ["text"], "lost": ["text"]})";

// Of summary.json: what a run was asked to do, and where.
constexpr std::string_view kFactsShape = R"({
  "strategy": "text", "engine": "text", "model": "text", "data": "text", "split": "text",
  "optimizer": "text", "workers": "number", "batch": "number", "steps": "number",
  "steps_done": "number", "steps_taken": "number", "parameters": "number", "machine": "text",
  "version": "text", "cluster": "text", "network": "text"})";

constexpr std::string_view kScenarioShape = R"({
  "name": "text", "title": "text", "text": "text", "claim": "text", "assumptions": ["text"],
  "target": {"accuracy": "number", "loss": "number", "baseline": "text", "points_below": "number"},
  "source": "text", "version": "text", "machine": "text"})";

// Who won, and why: report/answer.h.
constexpr std::string_view kAnswerShape = R"({
  "headline": ["text"], "measure": "text",
  "cases": [{"case": "text", "winner": "text", "result": "text", "why": "text"}]})";

constexpr std::string_view kExpectationsShape = R"([{"text": "text", "holds": "text"}])";

constexpr std::string_view kCasesShape = R"([{
  "name": "text", "text": "text", "target": {"*": "number"}, "consensus": {"*": "number"}}])";

constexpr std::string_view kTableShape = R"([{
  "case": "text", "label": "text", "strategy": "text", "seeds": "number",
  "workload": {"*": "text"},
  "baselines": [{"name": "text", "label": "text", "speedup": "number", "target_label": "text",
                 "speedup_to_target": "number", "speedup_interval": {"*": "number"},
                 "speedup_to_target_interval": {"*": "number"}}],
  "accuracy_swa": {"*": "number"},
  "step_seconds": {"*": "number"}, "time_to_target": {"*": "number"},
  "accuracy_consensus": {"*": "number"}, "accuracy_worker_mean": {"*": "number"},
  "drift": {"*": "number"}, "bytes_sent_per_worker": "number", "wait": "number",
  "exchange": "number", "hidden": "number", "bottleneck": "text"}])";

}  // namespace huddle
