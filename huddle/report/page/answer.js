"use strict";

// The answer in a sentence, made from the table: who is fastest, over which baseline, and at what price.

const kNotWorthSaying = 0.005;  // Of accuracy: half a point.

const meanOf = (entry) => (entry && isNumber(entry.mean) ? entry.mean : null);

// What is compared: the time of a step, or the time to the scenario's target.
const kMeasures = {
  step: {speedup: "speedup", label: "label", time: "step_seconds"},
  target: {speedup: "speedup_to_target", label: "target_label", time: "time_to_target"},
};

function speedupOf(row, baseline, measure) {
  const found = row.baselines.find((entry) => entry.name === baseline);
  const speedup = found ? found[kMeasures[measure].speedup] : null;
  return isNumber(speedup) ? speedup : null;
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
  if (isNumber(scenario.target.accuracy)) return {kind: "accuracy", value: scenario.target.accuracy};
  if (isNumber(scenario.target.loss)) return {kind: "loss", value: scenario.target.loss};
  return null;
}

// The time that decides.
const timeOf = (data, row) => meanOf(row[kMeasures[decidingMeasure(data)].time]);

// The row of the fastest strategy, the first of those that are equally fast; null where nobody has a time.
function winnerOf(data, caseName) {
  const time = (row) => timeOf(data, row);
  const isComplete = (row) => data.runs.some((run) =>
    run.case === row.case && run.label === row.label && run.status === "complete");
  const rows = rowsOf(data, caseName).filter((row) => time(row) !== null && isComplete(row));
  return rows.reduce((best, row) => (best === null || time(row) < time(best) ? row : best), null);
}

function range(values, format) {
  const least = format(Math.min(...values));
  const most = format(Math.max(...values));
  return least === most ? least : `${least} to ${most}`;
}

// "1.80x over ring, 4 buckets", over all the winner's rows; "" where the winner is the baseline or none is named.
function gainPhrase(winners, baseline, measure) {
  const gains = winners.map((row) => speedupOf(row, baseline, measure)).filter(isNumber);
  const over = baselineLabels(winners, baseline, measure);
  if (gains.length === 0 || (over.length === 1 && winners.every((row) => row.label === over[0]))) return "";
  return `${range(gains, formatTimes)} over ${over.length === 1 ? over[0] : "the " + baseline + " baseline"}`;
}

function singleRunAnswer(run) {
  const accuracy = run.accuracy.consensus;
  const result = isNumber(accuracy) ? `${formatPercent(accuracy)} accuracy`
    : isNumber(run.loss) ? `a loss of ${formatFigure(run.loss)}` : "no result";
  if (run.status !== "complete") return `${run.label} did not finish: ${run.status}`;
  return `${run.label} reached ${result} in ${formatSeconds(run.seconds)}${run.facts.network ? " of virtual time" : ""}`;
}

// "is fastest", or "reaches 95.0 % accuracy first".
function winPhrase(data) {
  const target = data.cases.map((item) => targetOf(data, item.name)).find((found) => found !== null);
  if (decidingMeasure(data) === "step" || !target) return "is fastest";
  return target.kind === "accuracy" ? `reaches ${withoutZeros(formatPercent(target.value))} accuracy first`
    : `reaches a loss of ${formatFigure(target.value)} first`;
}

// Without a baseline nobody said that these runs may be compared.
const isComparable = (data) => baselineNames(data).length > 0;

function headline(data) {
  if (data.runs.length === 1) return singleRunAnswer(data.runs[0]);
  if (!isComparable(data)) return `${counted(data.runs.length, "run")} side by side`;
  const winners = data.cases.map((item) => winnerOf(data, item.name)).filter((row) => row !== null);
  if (winners.length === 0) return "No run came to an end";
  const labels = unique(winners.map((row) => row.label));
  if (labels.length > 1) {
    const wins = labels.map((label) => [label, winners.filter((row) => row.label === label).length])
      .sort((a, b) => b[1] - a[1]);
    return `It depends: ${listed(wins.map(([label, count]) => `${label} ${winPhrase(data)} in ${count}`))} `
      + `of ${winners.length} cases`;
  }
  const everywhere = winners.length > 1 ? ` in all ${winners.length} cases` : "";
  const gain = gainPhrase(winners, baselineNames(data)[0], decidingMeasure(data));
  return `${labels[0]} ${winPhrase(data)}${everywhere}: ${gain || "nothing beats the baseline"}`;
}

// What the winner gives away, or that it gives away nothing.
function accuracyPhrase(data, winners) {
  let worst = null;
  for (const winner of winners) {
    const own = meanOf(winner.accuracy_consensus);
    for (const row of rowsOf(data, winner.case)) {
      const other = meanOf(row.accuracy_consensus);
      if (own === null || other === null || (worst && other - own <= worst.loss)) continue;
      worst = {loss: other - own, row, own, other};
    }
  }
  if (worst === null) return "";
  const where = data.cases.length > 1 ? ` (${worst.row.case})` : "";
  if (worst.loss <= kNotWorthSaying) return "Its accuracy is within half a point of the best.";
  return `But its accuracy is ${(worst.loss * 100).toFixed(1)} points below that of ${worst.row.label}${where}: `
    + `${formatPercent(worst.own)} against ${formatPercent(worst.other)}.`;
}

// "Exactly as fast: sesgd (1 ms).", with the case where there are several.
function tiePhrase(data, winners) {
  const where = (row) => (data.cases.length > 1 ? ` (${row.case})` : "");
  const tied = winners.flatMap((winner) => rowsOf(data, winner.case)
    .filter((row) => row !== winner && timeOf(data, row) === timeOf(data, winner))
    .map((row) => row.label + where(row)));
  return tied.length > 0 ? `Exactly as fast: ${listed(tied)}.` : "";
}

function details(data) {
  const winners = data.cases.map((item) => winnerOf(data, item.name)).filter((row) => row !== null);
  if (data.runs.length < 2 || !isComparable(data)) return "";
  const ties = tiePhrase(data, winners);
  if (unique(winners.map((row) => row.label)).length !== 1) return ties;
  const measure = decidingMeasure(data);
  const others = baselineNames(data).slice(1).map((name) => gainPhrase(winners, name, measure)).filter(Boolean);
  const gains = others.length > 0 ? `It is ${listed(others)}.` : "";
  const step = measure === "target" ? gainPhrase(winners, baselineNames(data)[0], "step") : "";
  return [ties, gains, step ? `Per step it is ${step}.` : "", accuracyPhrase(data, winners)].filter(Boolean).join(" ");
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
