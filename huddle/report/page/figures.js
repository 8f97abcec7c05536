"use strict";

// The sections with words and numbers: the table of all figures, and the scenario.

// "97.6 \u00b1 0.1 %": the unit once where both have it; no spread that rounds to nothing.
function withSpread(entry, format, formatSpread = format) {
  const mean = meanOf(entry);
  if (mean === null) return [kUnknown];
  const [text, spread] = [format(mean), isNumber(entry.spread) ? formatSpread(entry.spread) : ""];
  if (!/[1-9]/.test(spread)) return [text];
  const unit = spread.slice(spread.indexOf(" "));
  const isShared = spread.includes(" ") && text.endsWith(unit);
  return [isShared ? text.slice(0, -unit.length) : text, element("span", {class: "spread"}, ` \u00b1 ${spread}`)];
}

// What a baseline is called: by its label where that is the same in all cases.
function baselineWord(name, measure) {
  const named = baselineLabels(data.table, name, measure);
  return named.length === 1 ? named[0] : name;
}

function timesWithInterval(row, name, measure) {
  const interval = intervalText(row, name, measure);
  const text = formatTimes(speedupOf(row, name, measure));
  return interval ? [text, element("span", {class: "spread"}, ` (${interval})`)] : [text];
}

function speedupColumns(measure) {
  return baselines.map((name) =>
    [`${measure === "step" ? "step" : "to target"}, over ${baselineWord(name, measure)}`, (row) => timesWithInterval(row, name, measure)]);
}

// How a format looks here, of a field's value.
const kFormats = {
  seconds: (value) => withSpread(value, formatSeconds),
  accuracy: (value) => withSpread(value, formatPercent),
  drift: (value) => withSpread(value, formatFigure, (spread) => String(Number(spread.toPrecision(2)))),
  bytes: (value) => [formatBytes(value)],
  share: (value) => [formatPercent(value, 0)],
  text: (value) => [value || kUnknown],
  settings: (value) => [Object.entries(value).map((entry) => entry.join("=")).join(", ") || kUnknown],
};

// [heading, row -> children] of the table, without columns in which nothing is known.
function tableColumns() {
  const columns = data.columns.flatMap(({key, heading, format, factors}) =>
    [[heading, (row) => kFormats[format](row[key])], ...(factors ? speedupColumns(factors) : [])]);
  return columns.filter(([, cell]) => data.table.some((row) => cell(row)[0] !== kUnknown));
}

function figuresTable(cases) {
  const columns = tableColumns();
  const head = element("tr", {}, element("th", {scope: "col", class: "left"}, "strategy"),
    ...columns.map(([name]) => element("th", {scope: "col"}, name)));
  const rowOf = (row) => element("tr", {},
    element("th", {scope: "row", title: row.strategy}, swatch(styleOf(row.label).colour), " ", ...breakable(row.label)),
    ...columns.map(([name, cell]) => element("td", {"data-name": name}, element("span", {}, ...cell(row)))));
  const caseRow = (name) => element("tr", {class: "case"}, element("th", {scope: "rowgroup"}, name),
    element("td", {class: "filler", colspan: columns.length}));
  const rows = cases.flatMap(({name}) =>
    [...(data.cases.length > 1 ? [caseRow(name)] : []), ...rowsOf(data, name).map(rowOf)]);
  return element("div", {class: "fits"},
    element("table", {class: "full"}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

// Many cases are folded away but for the one that is picked.
function tableSection() {
  if (data.table.length === 0) return null;
  const seeds = Math.max(...data.table.map((row) => row.seeds ?? 1));
  const isLong = data.cases.length > 4;
  return section("All figures", seeds > 1 ? `Means over ${counted(seeds, "seed")}, \u00b1 their spread.` : "",
    element("div", {class: "card"},
      figuresTable(isLong ? data.cases.filter((item) => item.name === state.caseName) : data.cases),
      isLong ? element("details", {}, element("summary", {}, `All ${data.cases.length} cases`),
        figuresTable(data.cases)) : null));
}

function folded(title, text) {
  return text ? element("details", {}, element("summary", {}, title), element("pre", {}, text)) : null;
}

function scenarioCard(scenario) {
  const target = isNumber(scenario.target.accuracy) ? `accuracy ${withoutZeros(formatPercent(scenario.target.accuracy))}`
    : isNumber(scenario.target.loss) ? `loss ${formatFigure(scenario.target.loss)}`
    : scenario.target.baseline ? `accuracy that ${scenario.target.baseline} has with the same seed at its end, less ` +
      `${scenario.target.points_below} points,` : "";
  return element("div", {class: "card"}, element("h3", {}, scenario.title || scenario.name),
    data.scenarios.length > 1 && scenario.text ? element("p", {class: "plain"}, scenario.text) : null,
    scenario.claim ? element("div", {}, element("h3", {}, "Published claim"),
      element("blockquote", {}, scenario.claim)) : null,
    scenario.assumptions.length > 0 ? element("h3", {}, "Assumptions") : null,
    scenario.assumptions.length > 0
      ? element("ul", {class: "plain-list"}, ...scenario.assumptions.map((line) => element("li", {}, line))) : null,
    ...expectations(scenario),
    target ? element("p", {class: "plain"}, `Target: ${target} of the consensus on the test set. ` +
      "Where workers do not hold the mean of their models, the time of one average of everybody is added.") : null,
    casesList(scenario), folded("The scenario's file", scenario.source));
}

function expectations(scenario) {
  if (scenario.expectations.length === 0) return [];
  const line = ({text, holds}) => element("li", {}, `${holds ? "✓ holds" : "✗ does not hold"}: ${text}`);
  return [element("h3", {}, "What must hold"),
    element("ul", {class: "plain-list"}, ...scenario.expectations.map(line))];
}

function casesList(scenario) {
  const cases = data.cases.filter((item) => data.scenarios[item.scenario] === scenario && item.text);
  return cases.length === 0 ? null
    : element("dl", {}, ...cases.flatMap((item) => [element("dt", {}, item.name), element("dd", {}, item.text)]));
}

function scenarioSection() {
  const commands = data.runs.filter((run) => run.command).map((run) => run.command).join("\n");
  if (data.scenarios.length === 0 && commands === "") return null;
  return section(data.scenarios.length > 1 ? "Scenarios" : "Scenario", "",
    element("div", {}, ...data.scenarios.map(scenarioCard), folded("The commands that were run", commands)));
}
