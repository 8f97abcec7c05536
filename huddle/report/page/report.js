"use strict";

// The page: reads the data, fills the sections, and fills them anew when somebody asks for another view. All texts of
// runs and scenarios are set as text, never as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const labels = unique([...data.table, ...data.runs].map((item) => item.label));
const baselines = baselineNames(data);
const darkPreferred = matchMedia("(prefers-color-scheme: dark)");
const state = {
  caseName: data.cases.length > 0 ? data.cases[0].name : "",
  axis: "time",
  baseline: baselines[0],
  measure: decidingMeasure(data),
  loss: "training",
  scale: "linear",
  hidden: new Set(),
  zoom: "target",
  theme: "auto",
};

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "onclick" || key === "onchange") made[key] = value;
    else if (value !== null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const knownRuns = data.runs.filter((run) => run.facts.engine !== "");  // A run that failed at once left no facts.
const isVirtual = knownRuns.length > 0 && knownRuns.every((run) => run.facts.network !== "");
const timeWord = isVirtual ? "virtual time" : "time";
const runsOfCase = () => data.runs.filter((run) => run.case === state.caseName);
const labelsOfCase = () => labels.filter((label) => runsOfCase().some((run) => run.label === label));
const firstRun = (label) => runsOfCase().find((run) => run.label === label);
const styleOf = (label) => seriesStyle(labels.indexOf(label));

function change(changes) {
  Object.assign(state, changes);
  render();
}

// Buttons of which one is pressed. options: [[value, text]].
function segments(name, options, chosen, choose) {
  return element("span", {class: "segments", role: "group", "aria-label": name},
    ...options.map(([value, text]) => element("button", {
      type: "button", id: `${name}: ${value}`, "aria-pressed": String(value === chosen), onclick: () => choose(value),
    }, text)));
}

function casePicker() {
  const choose = (caseName) => change({caseName});
  if (data.cases.length <= 5 && data.cases.every((item) => item.name.length <= 16))
    return segments("case", data.cases.map((item) => [item.name, item.name]), state.caseName, choose);
  const options = data.cases.map((item) => {
    const option = element("option", {value: item.name}, item.name);
    option.selected = item.name === state.caseName;
    return option;
  });
  return element("select", {id: "case", "aria-label": "case", onchange: (event) => choose(event.target.value)}, ...options);
}

function renderControls() {
  const control = (name, content) =>
    element("div", {class: "control"}, element("span", {class: "control-name"}, name), content);
  document.getElementById("controls").replaceChildren(
    ...(data.cases.length > 1 ? [control("Case", casePicker())] : []),
    control("Curves against", segments("axis", [["time", timeWord], ["step", "steps"]], state.axis,
      (axisName) => change({axis: axisName}))),
    control("Colours", segments("colours", [["auto", "auto"], ["light", "light"], ["dark", "dark"]], state.theme,
      (theme) => change({theme}))));
}

function renderTop() {
  const scenarioTitles = data.scenarios.map((scenario) => scenario.title || scenario.name);
  const title = scenarioTitles.length > 0 ? scenarioTitles.join(" \u00b7 ") : counted(data.runs.length, "run");
  document.title = `${title} \u2013 Huddle report`;
  document.getElementById("title").textContent = title;
  document.getElementById("answer").replaceChildren(
    ...headline(data).map((line) => element("span", {class: "line"}, ...breakable(line))));
  document.getElementById("words").replaceChildren(
    ...(data.scenarios.length === 1 ? data.scenarios : []).filter((scenario) => scenario.text)
      .map((scenario) => element("p", {class: "lead plain"}, scenario.text)));
  document.getElementById("why").replaceChildren(...reasons());
  document.getElementById("facts").textContent = factsLine();
  document.getElementById("troubles").replaceChildren(
    ...troubles(data).map((line) => element("li", {}, line)));
}

// A sentence for each case: who wins, and which figures say why. Many are folded away.
function reasons() {
  const told = data.answers.flatMap((answer) => answer.cases);
  const isSaidAbove = headline(data).length === told.length;
  const list = element("dl", {class: "why"}, ...told.filter(({why}) => why !== "").flatMap((one) => [
    element("dt", {}, ...(isSaidAbove ? [one.case] : breakable(`${one.case}: ${one.result}`))),
    element("dd", {}, ...breakable(one.why))]));
  const measures = unique(data.answers.map((answer) => answer.measure).filter(Boolean));
  const foot = measures.length > 0 ? [element("p", {class: "quiet small-text"}, measures.join(" "))] : [];
  if (list.children.length === 0) return foot;
  return [told.length <= 6 ? list
    : element("details", {}, element("summary", {}, `Why, case by case (${told.length})`), list), ...foot];
}

// What all runs have in common, as far as they do.
function factsLine() {
  const shared = (key, say) => {
    const values = unique(knownRuns.map((run) => run.facts[key]));
    return values.length === 1 && values[0] !== "" && values[0] !== null ? say(values[0]) : "";
  };
  const seeds = unique(data.runs.map((run) => run.seed)).length;
  return [
    shared("workers", (count) => counted(count, "worker")),
    shared("model", String) && shared("data", (name) => `${shared("model", String)} on ${name}`),
    shared("split", (split) => (split === "iid" ? "" : `split ${split}`)),
    shared("steps", (count) => counted(count, "step")),
    shared("batch", (count) => `batch ${count}`),
    seeds > 1 ? counted(seeds, "seed") : "",
    shared("cluster", (name) => (data.cases.some((item) => item.name === name) ? "" : name)),
    isVirtual ? "simulated network, virtual time" : shared("engine", (engine) => `engine ${engine}, real time`),
  ].filter(Boolean).join(" \u00b7 ");
}

function section(title, about, ...content) {
  return element("section", {}, element("h2", {}, title), about ? element("p", {class: "about"}, about) : null, ...content);
}

function card(title, aside, ...content) {
  return element("div", {class: "card"},
    element("div", {class: "card-head"}, element("h3", {}, ...breakable(title)), aside), ...content);
}

const emptyNote = (text) => element("p", {class: "empty"}, text);

// Plots are drawn once they are on the page, when their width is known.
function plotCard(title, aside, drawInto, className = "card") {
  const plot = element("div", {class: "plot"});
  pendingPlots.push(() => drawInto(plot));
  const made = card(title, aside, plot);
  made.className = className;
  return made;
}
const pendingPlots = [];

function thinningText() {
  const lines = data.runs.reduce((sum, run) => sum + (run.lines ?? 0), 0);
  const curves = data.runs.some((run) => run.curve_every > 1)
    ? " Of accuracies measured during a run, every n-th and the last are shown." : "";
  return `Made from ${counted(lines, "recorded step")}. Each training curve has at most ${data.most_points} points: `
    + "steps are cut into equal stretches (of steps, or of time), and a point is the mean over all workers and steps of "
    + "its stretch; the band shows the smallest and the largest value inside, so spikes stay visible." + curves;
}

// What scenarios and runs say of themselves, each once.
function saidOf(key) {
  const all = [...data.scenarios.map((scenario) => scenario[key]), ...data.runs.map((run) => run.facts[key])];
  return listed(unique(all.filter(Boolean)));
}

function renderAbout() {
  const machines = saidOf("machine");
  const trained = data.runs.filter((run) => run.trained_in).length;
  document.getElementById("about").replaceChildren(...[
    thinningText(),
    trained > 0 ? `${counted(trained, "run")} ${trained === 1 ? "was" : "were"} timed only, with the values of another `
      + "that trains the same." : "",
    `Runs by Huddle ${saidOf("version") || "of unknown version"}${machines ? ` on ${machines}` : ""}; page by Huddle `
      + `${data.made_by}. This file holds everything it shows and fetches nothing. Charts: Chart.js (MIT licence).`,
  ].filter(Boolean).map((text) => element("p", {}, text)));
}

function render() {
  const focused = document.activeElement ? document.activeElement.id : "";
  const preferred = darkPreferred.matches ? "dark" : "light";
  document.documentElement.dataset.theme = state.theme === "auto" ? preferred : state.theme;
  clearCharts();
  pendingPlots.length = 0;
  setChartDefaults();
  renderControls();
  document.getElementById("sections").replaceChildren(...[
    speedupSection(), learningSection(), timeSection(), sharesSection(), trafficSection(), groupsSection(), tableSection(), scenarioSection(),
  ].filter((made) => made !== null));
  fit();
  for (const drawNow of pendingPlots) drawNow();
  if (focused) document.getElementById(focused)?.focus({preventScroll: true});
}

renderTop();
renderAbout();
render();
darkPreferred.addEventListener("change", render);
let knownWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === knownWidth) return;  // On telephones the height changes while one scrolls.
  knownWidth = innerWidth;
  render();
});
document.documentElement.dataset.ready = "true";
