"use strict";

// What the table says of baselines, targets and speed-ups, the headline, and what is wrong with runs.

const meanOf = (entry) => (entry && isNumber(entry.mean) ? entry.mean : null);

// What is compared: the time of a step, or the time to the scenario's target.
const kMeasures = {
  step: {speedup: "speedup", label: "label"},
  target: {speedup: "speedup_to_target", label: "target_label"},
};

function speedupOf(row, baseline, measure) {
  const found = row.baselines.find((entry) => entry.name === baseline);
  const speedup = found ? found[kMeasures[measure].speedup] : null;
  return isNumber(speedup) ? speedup : null;
}

// Between which factors the seeds leave the truth, as text; empty where they leave no doubt, or nobody knows.
function intervalText(row, baseline, measure) {
  const found = row.baselines.find((entry) => entry.name === baseline);
  const interval = found ? found[`${kMeasures[measure].speedup}_interval`] : null;
  if (!interval || !isNumber(interval.low) || !isNumber(interval.high)) return "";
  const [low, high] = [formatTimes(interval.low), formatTimes(interval.high)];
  return low === high ? "" : `${low} to ${high}`;
}

// Who stands for a baseline in these rows; it may be another one in each case.
function baselineLabels(rows, baseline, measure) {
  const entries = rows.flatMap((row) => row.baselines).filter((entry) => entry.name === baseline);
  return unique(entries.map((entry) => entry[kMeasures[measure].label]).filter(Boolean));
}

// The target decides where the table says how much faster it was reached.
function decidingMeasure(data) {
  const isKnown = data.table.some((row) => row.baselines.some((entry) => isNumber(entry.speedup_to_target)));
  return isKnown ? "target" : "step";
}

// The names of baselines, in the table's order.
function baselineNames(data) {
  return unique(data.table.flatMap((row) => row.baselines.map((entry) => entry.name)));
}

function rowsOf(data, caseName) {
  return data.table.filter((row) => row.case === caseName);
}

function targetOf(data, caseName) {
  const found = data.cases.find((item) => item.name === caseName);
  const scenario = found && isNumber(found.scenario) ? data.scenarios[found.scenario] : null;
  if (!scenario) return null;
  if (isNumber(found.target?.accuracy)) return {kind: "accuracy", value: found.target.accuracy};
  if (isNumber(scenario.target.accuracy)) return {kind: "accuracy", value: scenario.target.accuracy};
  if (isNumber(scenario.target.loss)) return {kind: "loss", value: scenario.target.loss};
  return null;
}

function singleRunAnswer(run) {
  const accuracy = run.accuracy.consensus;
  const result = isNumber(accuracy) ? `${formatPercent(accuracy)} accuracy`
    : isNumber(run.loss) ? `a loss of ${formatFigure(run.loss)}` : "no result";
  if (run.status !== "complete") return `${run.label} did not finish: ${run.status}`;
  return `${run.label} reached ${result} in ${formatSeconds(run.seconds)}${run.facts.network ? " of virtual time" : ""}`;
}

// The lines of the headline. Who wins is said by the comparison itself; here is only what no comparison says.
function headline(data) {
  if (data.runs.length === 1) return [singleRunAnswer(data.runs[0])];
  const lines = data.answers.flatMap((answer) => answer.headline);
  return lines.length > 0 ? lines : [`${counted(data.runs.length, "run")} side by side`];
}

// What is wrong with runs, a line each.
function troubles(data) {
  const lines = [...data.notes];
  const hasSeeds = (run) => data.runs.some((other) =>
    other !== run && other.case === run.case && other.label === run.label);
  const name = (run) => [run.case, run.label, hasSeeds(run) ? `seed ${run.seed}` : ""].filter(Boolean).join(", ");
  for (const run of data.runs) {
    if (run.status !== "complete") lines.push(`${name(run)}: ${run.status || "no status"}.`);
    if (run.is_cut_off) lines.push(`${name(run)}: the last line of its steps is cut off; those before it are shown.`);
    if (isNumber(run.diverged_step) && run.series.loss_by_step.at.length > 0)
      lines.push(`${name(run)}: the loss was not a number at step ${run.diverged_step}.`);
    for (const line of run.lost) lines.push(`${name(run)}: ${line}`);
    for (const line of run.warnings) lines.push(`${name(run)}: ${line}`);
  }
  return unique(lines);
}
