"use strict";

// The charts, drawn by Chart.js. Each function fills a `.plot` element; colours come from the style sheet, so that both
// schemes share one palette.

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
  times: (value) => `${Number(value.toPrecision(3))}\u00d7`,
};

// A labelled horizontal line, for a target.
function targetLine(value, text) {
  return {
    id: "target",
    afterDatasetsDraw({ctx, chartArea, scales}) {
      const y = scales.y.getPixelForValue(value);
      if (y < chartArea.top || y > chartArea.bottom) return;
      ctx.save();
      ctx.strokeStyle = ctx.fillStyle = colour("quiet");
      ctx.setLineDash([4, 4]);
      ctx.beginPath();
      ctx.moveTo(chartArea.left, y);
      ctx.lineTo(chartArea.right, y);
      ctx.stroke();
      ctx.font = `11px ${Chart.defaults.font.family}`;
      ctx.textAlign = "right";
      ctx.fillText(text, chartArea.right - 4, y + 13);
      ctx.restore();
    },
  };
}

// The value of each bar behind its end.
const barLabels = (format) => ({
  id: "labels",
  afterDatasetsDraw(chart) {
    const {ctx} = chart;
    ctx.save();
    ctx.font = `600 12px ${Chart.defaults.font.family}`;
    ctx.fillStyle = colour("ink");
    ctx.textBaseline = "middle";
    chart.getDatasetMeta(0).data.forEach((bar, i) => ctx.fillText(format(i), bar.x + 6, bar.y));
    ctx.restore();
  },
});

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
function drawCurves(plot, curves, {x, y, hasSpread = false, isLogarithmic = false, target = null}) {
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
        x: axis(x.title, x.tick, {type: "linear", beginAtZero: true}),
        y: axis("", y.tick, {type: isLogarithmic ? "logarithmic" : "linear"}),
      },
      plugins: {
        tooltip: {
          filter: (item) => item.dataset.label !== "",
          callbacks: {title: (items) => (items.length ? `${x.word} ${x.format(items[0].parsed.x)}` : ""), label},
        },
      },
    },
    plugins: target ? [targetLine(target.value, `target ${withoutZeros(y.format(target.value))}`)] : [],
  });
}

// bars: {name, value, text, colour, hint: [lines]}.
function drawBars(plot, bars, {title, tick, row = 30, largest = undefined, mark = null}) {
  const markLine = {
    id: "mark",
    beforeDatasetsDraw({ctx, chartArea, scales}) {
      if (mark === null) return;
      const at = scales.x.getPixelForValue(mark);
      ctx.save();
      ctx.strokeStyle = colour("quiet");
      ctx.beginPath();
      ctx.moveTo(at, chartArea.top);
      ctx.lineTo(at, chartArea.bottom);
      ctx.stroke();
      ctx.restore();
    },
  };
  const textWidth = 7.5 * Math.max(...bars.map((bar) => bar.text.length)) + 10;
  const letters = plot.clientWidth < 420 ? 16 : 34;
  draw(plot, 46 + bars.length * row, title, {
    type: "bar",
    data: {
      labels: bars.map((bar) => bar.name),
      datasets: [{data: bars.map((bar) => bar.value), backgroundColor: bars.map((bar) => bar.colour),
                  borderRadius: 3, barPercentage: 0.8, categoryPercentage: 0.9}],
    },
    options: {
      indexAxis: "y",
      layout: {padding: {right: textWidth}},
      scales: {
        x: axis(title, tick, {beginAtZero: true, max: largest}),
        y: {grid: {display: false, drawBorder: false},
            ticks: {autoSkip: false, padding: 6, color: colour("ink"), callback: (i) => shortened(bars[i].name, letters)}},
      },
      plugins: {
        tooltip: {
          callbacks: {title: (items) => bars[items[0].dataIndex].name, label: (item) => bars[item.dataIndex].hint},
        },
      },
    },
    plugins: [barLabels((i) => bars[i].text), markLine],
  });
}

function shortened(text, most) {
  return text.length <= most ? text : text.slice(0, most - 1) + "\u2026";
}

const kParts = ["compute", "exchange", "wait", "hidden"];

function partColour(part) {
  return {compute: colour("compute"), exchange: colour("accent"), wait: colour("wait"),
          hidden: colour("hidden")}[part];
}

function workerName(entry) {
  return isNumber(entry.last) && entry.last !== entry.worker ? `${entry.worker}\u2013${entry.last}` : `${entry.worker}`;
}

// The time of each worker: what it saw in one stack, what was hidden beside it.
function drawTimes(plot, times, largest) {
  const datasets = kParts.map((part) => ({
    label: part, data: times.map((entry) => entry[part]), backgroundColor: partColour(part),
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
