"use strict";

// The charts, drawn by Chart.js. Each function fills a `.plot` element; colours come from the style sheet, so that both
// schemes share one palette. A colour is a strategy, everywhere on the page.

const kSeriesColours = 8;
const kDashes = [[], [7, 4], [2, 3], [9, 3, 2, 3]];
const kPointStyles = ["circle", "triangle", "rect", "rectRot", "crossRot", "star", "rectRounded", "dash"];

const charts = [];  // All that are on the page, to be taken down before the next drawing.

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// `share` of the way from one colour to another, both as #rrggbb.
function mixed(from, to, share) {
  const [a, b] = [channels(from), channels(to)];
  return `rgb(${a.map((value, i) => Math.round(value + (b[i] - value) * share)).join(",")})`;
}

// Black or white, whichever is easier to read on a colour given as rgb(...).
function readableOn(rgb) {
  const [red, green, blue] = rgb.match(/\d+/g).map((value) => (value / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.25 ? "#10161b" : "#ffffff";
}

// The strategy's colour, so much the paler the smaller `share` is.
function tint(label, share) {
  return mixed(colour("card"), styleOf(label).colour, share);
}

function withAlpha(hex, alpha) {
  return `rgba(${channels(hex).join(",")},${alpha})`;
}

// How the strategy with this index looks in every chart.
function seriesStyle(index) {
  return {
    colour: colour(`series-${index % kSeriesColours}`),
    dash: kDashes[Math.floor(index / kSeriesColours) % kDashes.length],
    point: kPointStyles[index % kPointStyles.length],
  };
}

function clearCharts() {
  while (charts.length > 0) charts.pop().destroy();
}

function setChartDefaults() {
  Chart.defaults.animation = false;
  Chart.defaults.maintainAspectRatio = false;
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 12;
  Chart.defaults.color = colour("quiet");
  Chart.defaults.borderColor = colour("line");
  Chart.defaults.plugins.legend.display = false;
  Object.assign(Chart.defaults.plugins.tooltip, {
    backgroundColor: colour("ink"), titleColor: colour("paper"), bodyColor: colour("paper"),
    padding: 10, cornerRadius: 6, boxPadding: 4, usePointStyle: true,
  });
}

function draw(plot, height, description, config) {
  plot.style.height = `${height}px`;
  const canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", description);
  plot.replaceChildren(canvas);
  charts.push(new Chart(canvas, config));
}

function axis(title, format, more = {}) {
  return {
    title: {display: title !== "", text: title, font: {size: 11}},
    grid: {color: colour("line"), drawTicks: false, drawBorder: false},
    ticks: {
      callback: (value, index, ticks) => format(value, ticks.length > 1 ? ticks[1].value - ticks[0].value : 0),
      padding: 6, maxRotation: 0, autoSkipPadding: 14,
    },
    ...more,
  };
}

// How numbers of each kind stand along an axis, given the spacing of its marks.
const kTicks = {
  seconds: (value) => withoutZeros(formatSeconds(value)),
  count: (value) => (Number.isInteger(value) ? formatCount(value) : ""),
  percent: (value, spacing) => formatPercent(value, percentDecimals(spacing)),
  figure: (value) => String(Number(value.toPrecision(3))),
};

// The target as a labelled line, and where each curve crosses it. marks: {x, colour}.
function targetLine(value, text, marks) {
  return {
    id: "target",
    afterDatasetsDraw({ctx, chartArea, scales}) {
      const y = scales.y.getPixelForValue(value);
      if (y < chartArea.top || y > chartArea.bottom) return;
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = colour("quiet");
      ctx.setLineDash([4, 4]);
      line(ctx, chartArea.left, y, chartArea.right, y);
      ctx.font = `11px ${Chart.defaults.font.family}`;
      ctx.textAlign = "left";
      ctx.fillText(text, chartArea.left + 4, y - 5);
      for (const mark of marks) {
        const x = scales.x.getPixelForValue(mark.x);
        ctx.strokeStyle = ctx.fillStyle = mark.colour;
        ctx.setLineDash([2, 3]);
        line(ctx, x, y, x, chartArea.bottom);
        ctx.beginPath();
        ctx.arc(x, y, 4, 0, 2 * Math.PI);
        ctx.fill();
      }
      ctx.restore();
    },
  };
}

function line(ctx, fromX, fromY, toX, toY) {
  ctx.beginPath();
  ctx.moveTo(fromX, fromY);
  ctx.lineTo(toX, toY);
  ctx.stroke();
}

function lineSets(curve, hasSpread) {
  const {style, isFirst} = curve;
  const line = {
    label: curve.name, data: curve.points, borderColor: isFirst ? style.colour : withAlpha(style.colour, 0.45),
    backgroundColor: style.colour, borderWidth: isFirst ? 2 : 1, borderDash: style.dash,
    pointStyle: style.point, pointRadius: curve.points.length <= 30 ? 3 : 0, pointHoverRadius: 5, tension: 0,
  };
  if (!hasSpread || !isFirst || !curve.spread) return [line];
  const edge = (points, fill) => ({
    label: "", data: points, borderWidth: 0, pointRadius: 0, pointHoverRadius: 0, fill,
    backgroundColor: withAlpha(style.colour, 0.14),
  });
  return [line, edge(curve.spread.least, false), edge(curve.spread.most, "-1")];
}

// curves: {name, style, isFirst, points: [{x, y}], spread: {least, most} or null}.
// target: {value, marks} or null. window: {x, y} with the least and the largest value of an axis, as far as it is given.
function drawCurves(plot, curves, {x, y, hasSpread = false, isLogarithmic = false, target = null, window = {}}) {
  const datasets = curves.flatMap((curve) => lineSets(curve, hasSpread));
  const label = (item) => ` ${item.dataset.label}: ${y.format(item.parsed.y)}`;
  draw(plot, 280, `${y.title} against ${x.title}`, {
    type: "line",
    data: {datasets},
    options: {
      parsing: false,
      normalized: true,
      interaction: {mode: "nearest", axis: "x", intersect: false},
      scales: {
        x: axis(x.title, x.tick, {type: "linear", beginAtZero: true, ...window.x}),
        y: axis("", y.tick, {type: isLogarithmic ? "logarithmic" : "linear", ...window.y}),
      },
      plugins: {
        tooltip: {
          filter: (item) => item.dataset.label !== "",
          callbacks: {title: (items) => (items.length ? `${x.word} ${x.format(items[0].parsed.x)}` : ""), label},
        },
      },
    },
    plugins: target ? [targetLine(target.value, `target ${withoutZeros(y.format(target.value))}`, target.marks)] : [],
  });
}

const kParts = ["compute", "exchange", "wait", "hidden"];

// Kinds of time are shades without colour, since colours stand for strategies. What is hidden is hatched: it adds nothing
// to the time that passed.
function partFill(part) {
  if (part !== "hidden") return colour(part);
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const brush = tile.getContext("2d");
  brush.strokeStyle = colour("exchange");
  brush.lineWidth = 1.4;
  for (const shift of [-6, 0, 6]) {
    brush.moveTo(shift, 6);
    brush.lineTo(shift + 6, 0);
  }
  brush.stroke();
  return brush.createPattern(tile, "repeat");
}

function workerName(entry) {
  return isNumber(entry.last) && entry.last !== entry.worker ? `${entry.worker}\u2013${entry.last}` : `${entry.worker}`;
}

// The share of each worker in the steps, and beside it what they count for where that differs.
function drawShares(plot, run, largest) {
  const bars = {barPercentage: 0.92, categoryPercentage: run.time.length > 32 ? 1 : 0.85};
  const isBalanced = run.time.some((entry) => entry.heard !== entry.share);
  const steps = {label: "of the steps", data: run.time.map((entry) => entry.share),
                 backgroundColor: tint(run.label, isBalanced ? 0.4 : 1), ...bars};
  const heard = {label: "counts for", data: run.time.map((entry) => entry.heard),
                 backgroundColor: styleOf(run.label).colour, ...bars};
  draw(plot, 190, "share of each worker in all steps", {
    type: "bar",
    data: {labels: run.time.map(workerName), datasets: isBalanced ? [steps, heard] : [steps]},
    options: {
      interaction: {mode: "index", intersect: false},
      scales: {
        x: axis("worker", (i) => workerName(run.time[i]), {grid: {display: false, drawBorder: false}}),
        y: axis("", kTicks.percent, {min: 0, max: largest}),
      },
      plugins: {
        tooltip: {
          callbacks: {title: (items) => `worker ${items[0].label}`,
                      label: (item) => ` ${item.dataset.label}: ${formatPercent(item.parsed.y)}`},
        },
      },
    },
  });
}

// The time of each worker: what it saw in one stack, what was hidden beside it.
function drawTimes(plot, times, largest) {
  const datasets = kParts.map((part) => ({
    label: part, data: times.map((entry) => entry[part]), backgroundColor: partFill(part),
    stack: part === "hidden" ? "hidden" : "seen", barPercentage: 0.92, categoryPercentage: times.length > 32 ? 1 : 0.85,
  }));
  const hasHidden = times.some((entry) => entry.hidden > 0);
  draw(plot, 190, "seconds of each worker by kind", {
    type: "bar",
    data: {labels: times.map(workerName), datasets: hasHidden ? datasets : datasets.slice(0, -1)},
    options: {
      interaction: {mode: "index", intersect: false},
      scales: {
        x: axis("worker", (i) => workerName(times[i]), {stacked: true, grid: {display: false, drawBorder: false}}),
        y: axis("", kTicks.seconds, {stacked: true, max: largest}),
      },
      plugins: {
        tooltip: {
          callbacks: {title: (items) => `worker ${items[0].label}`,
                      label: (item) => ` ${item.dataset.label}: ${formatSeconds(item.parsed.y)}`},
        },
      },
    },
  });
}
