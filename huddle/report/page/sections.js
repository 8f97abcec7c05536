"use strict";

// The sections with charts. Each function makes one from the picked case, or null where nothing is known for it.

function speedupSection() {
  if (baselines.length === 0) return null;
  const rows = rowsOf(data, state.caseName);
  const over = baselineLabels(rows, state.baseline, state.measure).join(", ") || state.baseline;
  const what = state.measure === "step" ? "time of a step" : "time to the target";
  const bars = rows.map((row) => speedupBar(row, over)).sort((a, b) => (b.value ?? -1) - (a.value ?? -1));
  const largest = Math.max(1, ...bars.map((bar) => bar.value ?? 0));
  return section("Speed-up",
    `How many times as fast as the baseline, by the ${what}. The line stands at 1x, the baseline itself; in brackets, where seeds leave doubt, their 95 % interval.`,
    speedupPickers(), element("div", {class: "cards"},
      card(`Over ${over}${data.cases.length > 1 ? ` \u00b7 ${state.caseName}` : ""}`, null,
        barRows(bars, {largest, mark: 1})),
      data.cases.length > 1 ? heatCard() : null));
}

function speedupBar(row, over) {
  const value = speedupOf(row, state.baseline, state.measure);
  const interval = intervalText(row, state.baseline, state.measure);
  return {
    name: row.label, value, colour: styleOf(row.label).colour,
    text: value === null ? "no result" : `${formatTimes(value)}${interval ? ` (${interval})` : ""}`,
    hint: [`${formatTimes(value)} over ${over}`, `${formatSeconds(meanOf(row.step_seconds))} a step`,
           ...(meanOf(row.time_to_target) === null ? [] : [`${formatSeconds(meanOf(row.time_to_target))} to the target`])]
      .join(", "),
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

// All cases at once: the stronger the colour, the faster.
function heatCard() {
  const speedup = (row) => (row ? speedupOf(row, state.baseline, state.measure) : null);
  const most = Math.max(...data.table.map(speedup).filter(isNumber), 1.0001);
  const rows = data.cases.map((item) => {
    const ofCase = rowsOf(data, item.name);
    const best = Math.max(...ofCase.map((row) => speedup(row) ?? 0));
    const cells = labels.map((label) => {
      const value = speedup(ofCase.find((row) => row.label === label));
      return heatCell(label, value, value === best, most);
    });
    const pick = element("button", {
      type: "button", class: "plain-button", id: `row: ${item.name}`, title: item.text,
      onclick: () => change({caseName: item.name}),
    }, item.name);
    return element("tr", {"aria-current": String(item.name === state.caseName)},
      element("th", {scope: "row"}, pick), ...cells);
  });
  const head = element("tr", {}, element("th", {}),
    ...labels.map((label) => element("th", {scope: "col"}, ...breakable(label))));
  const made = card("All cases", null, element("div", {class: "fits"},
    element("table", {class: "heat"}, element("thead", {}, head), element("tbody", {}, ...rows))));
  if (data.cases.length > 6 || labels.length > 5) made.classList.add("wide");
  return made;
}

function heatCell(label, speedup, isBest, most) {
  const cell = element("td", {class: isBest ? "best" : "", "data-name": label.replace(/[:,=]/g, "$&\u200b")}, formatTimes(speedup));
  if (speedup === null) return cell;
  const fill = tint(label, 0.12 + 0.78 * Math.max(0, Math.log(speedup) / Math.log(most)));
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
    return {name: curve.name, value, text: y.format(value), colour: curve.style.colour};
  });
  return card(title, aside("at the end"), barRows(bars, {largest: Math.max(...bars.map((bar) => bar.value), 1e-300)}));
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
    isLogarithmic: state.scale === "logarithmic", target: isTest && target && target.kind === "loss"
      ? {...target, marks: crossings().filter((mark) => mark.x !== null)} : null,
  }, "No loss was recorded: these runs were timed only.");
}

// When a strategy reached the target, as the mean of its seeds along the axis; null unless all of them did.
function crossing(label) {
  const key = state.axis === "time" ? "time_to_target" : "steps_to_target";
  const at = runsOfCase().filter((run) => run.label === label).map((run) => run[key]);
  return at.length > 0 && at.every(isNumber) ? at.reduce((sum, each) => sum + each, 0) / at.length : null;
}

// Who crossed the target when, the first one first.
function crossings() {
  return labelsOfCase().filter((label) => !state.hidden.has(label))
    .map((label) => ({label, x: crossing(label), colour: styleOf(label).colour}))
    .sort((a, b) => (a.x ?? Infinity) - (b.x ?? Infinity));
}

// As much of the plot as the crossings need: up to the last of them, and from well below the target to the best.
function nearTarget(curves, target, marks) {
  const last = Math.max(...marks.map((mark) => mark.x).filter(isNumber));
  if (!Number.isFinite(last)) return {};
  const best = Math.max(...curves.flatMap((curve) => curve.points.map(({y}) => y)), target.value);
  const below = Math.max(4 * (best - target.value), 0.02);
  const even = (value) => Math.floor(value * 50) / 50;  // Whole multiples of two points.
  return {x: {max: 1.35 * last}, y: {min: Math.max(0, even(target.value - below)), max: Math.min(1, even(best + 0.02))}};
}

function crossingList(marks) {
  return element("ol", {class: "crossings", "aria-label": "who reaches the target when"},
    ...marks.map(({label, x, colour: fill}) => element("li", {}, swatch(fill),
      element("span", {}, ...breakable(label)),
      element("b", {}, x === null ? "not reached" : xAxis().format(x)))));
}

function accuracyCard(target) {
  const curves = curvesOf((run) => measuredPoints(run, "accuracy", run.accuracy.consensus));
  const y = {title: "accuracy", format: formatPercent, tick: kTicks.percent};
  const isJudged = target !== null && target.kind === "accuracy" && curves.some((curve) => curve.points.length > 1);
  if (!isJudged) return curveCard("Accuracy of the consensus", null, curves, {y}, "No accuracy was measured.");
  const marks = crossings();
  const picker = segments("zoom", [["target", "near the target"], ["all", "whole run"]], state.zoom, (zoom) => change({zoom}));
  const made = curveCard("Accuracy of the consensus", picker, curves, {
    y, target: {...target, marks: marks.filter((mark) => mark.x !== null)},
    window: state.zoom === "target" ? nearTarget(curves, target, marks) : {},
  }, "");
  made.append(crossingList(marks));
  return made;
}

function learningSection() {
  const target = targetOf(data, state.caseName);
  const drifts = curvesOf((run) => {
    const measured = measuredPoints(run, "drift", null);
    return measured.points.length > 0 ? measured : measuredPoints(run, "drift", run.drift);
  });
  const isBanded = hasBands() ? "; the band reaches from the smallest to the largest of them" : "";
  return section("Learning", `Training loss is the mean of all workers' batches${isBanded}. `
    + "Accuracy and test loss are those of the consensus, the mean of all workers' models. Drift is how far the "
    + "workers' models are from that mean, relative to its size.",
    labelChips(),
    element("div", {class: "cards small"}, lossCard(target), accuracyCard(target),
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
    ...parts.map((part) => element("span", {class: "chip"},
      element("span", {class: `swatch kind ${part}`, "aria-hidden": "true"}), words[part])));
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

// Who took which share of the steps, where shares differ, and what that counts for.
function sharesSection() {
  const isUneven = (run) => run.time.some((entry) => isNumber(entry.share) && entry.share !== run.time[0].share);
  const runs = labelsOfCase().map(firstRun).filter(isUneven);
  if (runs.length === 0) return null;
  const largest = Math.max(...runs.flatMap((run) => run.time.map((entry) => Math.max(entry.share, entry.heard))));
  const isBalanced = runs.some((run) => run.time.some((entry) => entry.heard !== entry.share));
  return section("Who took the steps", "The share of each worker in all steps of the run; a worker that takes fewer is heard less."
    + (isBalanced ? " Where learning rates are scaled (balance=on), the full bars are what the steps then count for." : ""),
    element("div", {class: "cards small"},
      ...runs.map((run) => plotCard(run.label, aside(`${formatPercent(Math.min(...run.time.map((entry) => entry.share)))} the least`),
        (plot) => drawShares(plot, run, roundedUp(largest))))));
}

// The links of all strategies on one scale; those of one strategy that are loaded alike are one bar.
function trafficSection() {
  const runs = labelsOfCase().map(firstRun).filter((run) => run.links.length > 0 && run.seconds > 0);
  if (runs.length === 0) return null;
  const share = (run, link) => (isNumber(link.full) ? link.full / run.seconds : null);
  const barOf = (run, link) => ({
    name: runs.length > 1 ? `${run.label}: ${link.name}` : link.name, value: share(run, link),
    text: `${formatPercent(share(run, link), 0)}, ${formatBytes(link.bytes)}${link.count > 1 ? " each" : ""}`,
    colour: styleOf(run.label).colour,
    hint: `${link.names}: ${formatPercent(share(run, link))} of the run at full bandwidth, ${formatBytes(link.bytes)} carried, `
      + `${formatSeconds(link.busy)} with a message on it, bandwidth ${formatBytes(link.bytes_per_second)}/s`,
  });
  const bars = runs.flatMap((run) => run.links.map((link) => barOf(run, link)));
  const left = runs.filter((run) => run.links_left_out > 0)
    .map((run) => `${counted(run.links_left_out, "link")} of ${run.label}`);
  const rest = left.length > 0 ? ` Not shown, because others had more load: ${listed(left)}.` : "";
  return section("Traffic per link", "The share of the run for which a link would have been full, and the bytes it carried. "
    + `Links of a strategy that are loaded alike are one bar.${rest}`,
    element("div", {class: "card"}, barRows(bars, {largest: roundedUp(Math.max(...bars.map((bar) => bar.value ?? 0)))})));
}

// What a row of the picture is.
function rowWords({groups}) {
  const {rows, repeat} = groups;
  if (hasMeetings(groups)) return `a row is a meeting; the first ${rows.length}`;
  if (repeat && rows.length === 1) return "every step alike";
  return repeat ? `a row is a step; ${rows.length} steps, then again` : `a row is a step; the first ${rows.length}`;
}

function groupsSection() {
  const pictures = labelsOfCase().map(firstRun).filter((run) => run.groups && run.groups.rows)
    .map((run) => [run, groupsPicture(run.groups, run.label)]).filter(([, picture]) => picture !== null);
  if (pictures.length === 0) return null;
  const isMany = pictures.some(([run]) => run.groups.rows[0].of.length > 16);
  const isCut = pictures.some(([run]) => (run.facts.workers ?? 0) > 64);
  const meetings = pictures.some(([run]) => hasMeetings(run.groups))
    ? " Where groups form on the way, a row is one meeting, at the time when its last member was done with it." : "";
  return section("Who averages with whom", "A column is a worker, a row a step that all take together; the same letter and "
    + `shade is one group, a ring is a worker that stays alone.${meetings}${isCut ? " The first 64 workers are shown." : ""}`,
    element("div", {class: isMany ? "cards" : "cards small"},
      ...pictures.map(([run, picture]) => card(run.label, aside(rowWords(run)),
        element("div", {class: "scroll picture"}, picture)))));
}
