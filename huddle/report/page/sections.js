"use strict";

// The sections with charts. Each function makes one from the picked case, or null where nothing is known for it.

function speedupSection() {
  if (baselines.length === 0) return null;
  const rows = rowsOf(data, state.caseName);
  const over = baselineLabels(rows, state.baseline, state.measure).join(", ");
  const what = state.measure === "step" ? "time of a step" : "time to the target";
  const bars = rows.map((row) => speedupBar(row, over)).sort((a, b) => (b.value ?? -1) - (a.value ?? -1));
  const bar = plotCard(`Over ${over}${data.cases.length > 1 ? ` \u00b7 ${state.caseName}` : ""}`, null,
    (plot) => drawBars(plot, bars, {title: "speed-up", tick: kTicks.times, mark: 1}),
    data.cases.length > 6 ? "card wide" : "card");
  return section("Speed-up",
    `How many times as fast as the baseline, by the ${what}. The line stands at 1\u00d7, the baseline itself.`,
    speedupPickers(), element("div", {class: "cards"}, bar, data.cases.length > 1 ? heatCard() : null));
}

function speedupBar(row, over) {
  const value = speedupOf(row, state.baseline, state.measure);
  return {
    name: row.label, value, colour: styleOf(row.label).colour, text: value === null ? "no result" : formatTimes(value),
    hint: [` ${formatTimes(value)} over ${over}`, ` ${formatSeconds(meanOf(row.step_seconds))} a step`,
           ...(meanOf(row.time_to_target) === null ? [] : [` ${formatSeconds(meanOf(row.time_to_target))} to the target`])],
  };
}

function speedupPickers() {
  const pickers = [
    baselines.length > 1
      ? segments("baseline", baselines.map((name) => [name, `${name} baseline`]), state.baseline,
        (baseline) => change({baseline}))
      : null,
    decidingMeasure(data) === "target"
      ? segments("measure", [["target", "time to target"], ["step", "time of a step"]], state.measure,
        (measure) => change({measure}))
      : null,
  ].filter((picker) => picker !== null);
  return pickers.length > 0 ? element("div", {class: "chips"}, ...pickers) : null;
}

// All cases at once: the darker, the faster.
function heatCard() {
  const speedups = data.table.map((row) => speedupOf(row, state.baseline, state.measure)).filter(isNumber);
  const most = Math.max(...speedups, 1.0001);
  const rows = data.cases.map((item) => {
    const ofCase = rowsOf(data, item.name);
    const best = Math.max(...ofCase.map((row) => speedupOf(row, state.baseline, state.measure) ?? 0));
    const cells = labels.map((label) => {
      const row = ofCase.find((candidate) => candidate.label === label);
      return heatCell(row ? speedupOf(row, state.baseline, state.measure) : null, best, most);
    });
    const pick = element("button", {
      type: "button", class: "plain-button", id: `row: ${item.name}`, title: item.text,
      onclick: () => change({caseName: item.name}),
    }, item.name);
    return element("tr", {"aria-current": String(item.name === state.caseName)},
      element("th", {scope: "row"}, pick), ...cells);
  });
  const head = element("tr", {}, element("th", {}), ...labels.map((label) => element("th", {scope: "col"}, label)));
  const made = card("All cases", null, element("div", {class: "scroll"},
    element("table", {class: "heat"}, element("thead", {}, head), element("tbody", {}, ...rows))));
  if (data.cases.length > 6) made.classList.add("wide");
  return made;
}

function heatCell(speedup, best, most) {
  const cell = element("td", {class: speedup !== null && speedup === best ? "best" : ""}, formatTimes(speedup));
  if (speedup === null) return cell;
  const share = Math.max(0, Math.log(speedup) / Math.log(most));
  const fill = mixed(colour("card"), colour("accent"), 0.85 * share);
  cell.style.backgroundColor = fill;
  cell.style.color = readableOn(fill);
  return cell;
}

function labelChips() {
  return element("div", {class: "chips", role: "group", "aria-label": "strategies shown"},
    ...labelsOfCase().map((label) => element("button", {
      type: "button", class: "chip", id: `chip: ${label}`, "aria-pressed": String(!state.hidden.has(label)),
      title: "show or hide",
      onclick: () => {
        state.hidden.has(label) ? state.hidden.delete(label) : state.hidden.add(label);
        render();
      },
    }, swatch(styleOf(label).colour), label)));
}

function swatch(fill) {
  const made = element("span", {class: "swatch", "aria-hidden": "true"});
  made.style.backgroundColor = fill;
  return made;
}

// The curves of the case: one for each run, those of the first seed in front. pointsOf: run -> {points, spread} or null.
function curvesOf(pointsOf) {
  const curves = runsOfCase().filter((run) => !state.hidden.has(run.label)).map((run) => {
    const found = pointsOf(run);
    const isFirst = firstRun(run.label) === run;
    const hasSeeds = runsOfCase().filter((other) => other.label === run.label).length > 1;
    return found && found.points.length > 0
      ? {...found, isFirst, style: styleOf(run.label), name: hasSeeds ? `${run.label}, seed ${run.seed}` : run.label}
      : null;
  });
  return curves.filter((curve) => curve !== null).sort((a, b) => b.isFirst - a.isFirst);
}

const xAxis = () => state.axis === "time"
  ? {title: timeWord, word: "at", format: formatSeconds, tick: kTicks.seconds}
  : {title: "steps", word: "step", format: formatCount, tick: kTicks.count};

const pairs = (xs, ys) => xs.map((x, i) => ({x, y: ys[i]})).filter(({y}) => isNumber(y));

// A thinned series of steps.jsonl.
function seriesPoints(run, name) {
  if (!run.series) return null;
  const {at, mean, least, most} = run.series[`${name}_by_${state.axis}`];
  return {points: pairs(at, mean), spread: {least: pairs(at, least), most: pairs(at, most)}};
}

// What was measured on the consensus during the run; at least its end.
function measuredPoints(run, key, atEnd) {
  const at = (entry) => (state.axis === "time" ? entry.time : entry.progress);
  const points = run.curve.map((entry) => ({x: at(entry), y: entry[key]})).filter(({x, y}) => isNumber(x) && isNumber(y));
  const end = state.axis === "time" ? run.seconds : run.facts.steps_done ?? run.steps;
  if (points.length === 0 && isNumber(end) && isNumber(atEnd)) points.push({x: end, y: atEnd});
  return {points, spread: null};
}

function curveCard(title, aside, curves, options, missing) {
  if (curves.length === 0) return card(title, aside, emptyNote(missing));
  if (curves.every((curve) => curve.points.length === 1)) return endCard(title, curves, options.y);
  return plotCard(title, aside, (plot) => drawCurves(plot, curves, {x: xAxis(), ...options}));
}

// Where nothing but the end of each run was measured, bars say more than single points.
function endCard(title, curves, y) {
  const bars = curves.map((curve) => {
    const value = curve.points[0].y;
    return {name: curve.name, value, text: y.format(value), colour: curve.style.colour, hint: [` ${y.format(value)}`]};
  });
  return plotCard(title, aside("at the end"), (plot) => drawBars(plot, bars, {title: y.title, tick: y.tick}));
}

// Bands of more strategies would hide one another.
const hasBands = () => labelsOfCase().filter((label) => !state.hidden.has(label)).length <= 3;

function lossCard(target) {
  const isTest = state.loss === "test";
  const curves = curvesOf((run) => (isTest ? measuredPoints(run, "loss", run.test_loss.consensus)
    : seriesPoints(run, "loss")));
  const pickers = element("span", {},
    segments("loss", [["training", "training"], ["test", "test"]], state.loss, (loss) => change({loss})), " ",
    segments("scale", [["linear", "linear"], ["logarithmic", "log"]], state.scale, (scale) => change({scale})));
  return curveCard("Loss", pickers, curves, {
    y: {title: `${state.loss} loss`, format: formatFigure, tick: kTicks.figure}, hasSpread: hasBands(),
    isLogarithmic: state.scale === "logarithmic", target: isTest && target && target.kind === "loss" ? target : null,
  }, "No loss was recorded: these runs were timed only.");
}

function learningSection() {
  const target = targetOf(data, state.caseName);
  const accuracies = curvesOf((run) => measuredPoints(run, "accuracy", run.accuracy.consensus));
  const drifts = curvesOf((run) => {
    const measured = measuredPoints(run, "drift", null);
    return measured.points.length > 0 ? measured : measuredPoints(run, "drift", run.drift);
  });
  const isBanded = hasBands() ? "; the band reaches from the smallest to the largest of them" : "";
  return section("Learning", `Training loss is the mean of all workers' batches${isBanded}. `
    + "Accuracy and test loss are those of the consensus, the mean of all workers' models. Drift is how far the "
    + "workers' models are from that mean, relative to its size.",
    labelChips(),
    element("div", {class: "cards small"}, lossCard(target),
      curveCard("Accuracy of the consensus", null, accuracies,
        {y: {title: "accuracy", format: formatPercent, tick: kTicks.percent},
         target: target && target.kind === "accuracy" ? target : null},
        "No accuracy was measured."),
      curveCard("Drift", null, drifts, {y: {title: "drift", format: formatFigure, tick: kTicks.figure}},
        "No drift was measured.")));
}

function timeSection() {
  const runs = labelsOfCase().map(firstRun).filter((run) => run.time.length > 0);
  if (runs.length === 0) return null;
  const total = (entry) => (entry.compute ?? 0) + (entry.wait ?? 0) + (entry.exchange ?? 0);
  const largest = Math.max(...runs.flatMap((run) => run.time.map((entry) => Math.max(total(entry), entry.hidden ?? 0))));
  const hasHidden = runs.some((run) => run.time.some((entry) => entry.hidden > 0));
  const hasJoined = runs.some((run) => run.time.some((entry) => entry.last !== entry.worker));
  const parts = hasHidden ? kParts : kParts.slice(0, -1);
  const words = {compute: "compute", exchange: "exchange: blocked after a peer's first bytes",
                 wait: "wait: blocked until then", hidden: "hidden: moving beside compute"};
  const legend = element("div", {class: "chips"},
    ...parts.map((part) => element("span", {class: "chip"}, swatch(partColour(part)), words[part])));
  return section("Where the time went", "Seconds of each worker over the whole run, all on one scale. "
    + "What a worker of a ring loses to a slow one beyond its neighbours counts as exchange."
    + (hasJoined ? " There are many workers, so each bar is the mean of neighbours." : ""), legend,
    element("div", {class: "cards small"},
      ...runs.map((run) => plotCard(run.label, aside(shareText(run)),
        (plot) => drawTimes(plot, run.time, roundedUp(largest))))));
}

const aside = (text) => element("span", {class: "quiet"}, text);

function shareText(run) {
  const sum = (key) => run.time.reduce((total, entry) => total + (entry[key] ?? 0), 0);
  const all = sum("compute") + sum("wait") + sum("exchange");
  return all > 0 ? `${formatPercent(sum("compute") / all, 0)} compute` : "";
}

function trafficSection() {
  const runs = labelsOfCase().map(firstRun).filter((run) => run.links.length > 0);
  if (runs.length === 0) return null;
  const run = runs.find((candidate) => candidate.label === state.linkLabel) ?? runs[0];
  const load = (link) => (run.seconds > 0 && isNumber(link.full) ? link.full / run.seconds : null);
  const bars = run.links.map((link) => ({
    name: link.name, value: load(link), text: `${formatPercent(load(link), 0)}  ${formatBytes(link.bytes)}`,
    colour: mixed(colour("accent-tint"), colour("accent"), Math.min(1, 0.25 + (load(link) ?? 0))),
    hint: [` ${formatPercent(load(link))} of the run at full bandwidth`, ` ${formatBytes(link.bytes)} carried`,
           ` ${formatSeconds(link.busy)} with a message on it`, ` ${formatBytes(link.bytes_per_second)}/s bandwidth`],
  }));
  const most = Math.max(...runs.flatMap((other) => other.links.map((link) => (link.full ?? 0) / other.seconds)));
  const picker = runs.length > 1
    ? segments("links of", runs.map((other) => [other.label, other.label]), run.label, (linkLabel) => change({linkLabel}))
    : null;
  const left = run.links_left_out > 0 ? ` Not shown: ${counted(run.links_left_out, "link")} with less load.` : "";
  return section("Traffic per link",
    `The share of the run for which each link would have been full, and the bytes it carried.${left}`,
    plotCard(run.label, picker,
      (plot) => drawBars(plot, bars, {title: "load", tick: kTicks.percent, row: 21, largest: roundedUp(most)}),
      "card wide"));
}

function groupsSection() {
  const pictures = labelsOfCase().map(firstRun).filter((run) => run.groups && run.groups.steps.length > 0)
    .map((run) => [run, groupsPicture(run.groups)]).filter(([, picture]) => picture !== null);
  if (pictures.length === 0) return null;
  const words = ({groups}) => groups.repeat
    ? `${groups.steps.length === 1 ? "every step" : `${groups.steps.length} steps, then again`}`
    : `the first ${counted(groups.steps.length, "step")}`;
  const isMany = pictures.some(([run]) => run.groups.steps[0].of.length > 16);
  const isCut = pictures.some(([run]) => (run.facts.workers ?? 0) > 64);
  return section("Who averages with whom", "A row is a step, a column a worker; the same letter and shade is one group, a "
    + `ring is a worker that stays alone.${isCut ? " The first 64 workers are shown." : ""}`,
    element("div", {class: isMany ? "cards" : "cards small"},
      ...pictures.map(([run, picture]) => card(run.label, aside(words(run)),
        element("div", {class: "scroll picture"}, picture)))));
}
