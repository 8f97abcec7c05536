"use strict";

// Numbers for people, in the words that the terminal uses too. All take null for "not known".

const kUnknown = "\u2013";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function shortNumber(value) {
  return Math.abs(value) < 99.95 ? value.toFixed(1) : value.toFixed(0);
}

function formatSeconds(seconds) {
  if (!isNumber(seconds)) return kUnknown;
  if (seconds < 0) return "-" + formatSeconds(-seconds);
  if (seconds === 0) return "0 s";
  if (seconds >= 59.5) return longSeconds(seconds);
  if (seconds >= 0.9995) return shortNumber(seconds) + " s";
  if (seconds >= 0.9995e-3) return shortNumber(seconds * 1e3) + " ms";
  return shortNumber(seconds * 1e6) + " \u00b5s";
}

function longSeconds(seconds) {
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} m ${whole % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
}

function formatBytes(bytes) {
  if (!isNumber(bytes)) return kUnknown;
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  for (; bytes >= 999.5 && unit + 1 < units.length; ++unit) bytes /= 1000;
  return `${unit === 0 ? bytes.toFixed(0) : shortNumber(bytes)} ${units[unit]}`;
}

function formatCount(count) {
  return isNumber(count) ? Math.round(count).toLocaleString("en-US") : kUnknown;
}

function formatPercent(share, decimals = 1) {
  return isNumber(share) ? `${(share * 100).toFixed(decimals)} %` : kUnknown;
}

function formatFigure(figure) {
  if (!isNumber(figure)) return kUnknown;
  const size = Math.abs(figure);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return figure.toExponential(2);
  return figure.toPrecision(size >= 1000 ? 4 : 3);
}

function formatTimes(factor) {
  return isNumber(factor) ? `${factor.toFixed(factor < 9.995 ? 2 : 1)}x` : kUnknown;
}

// "10 s" for "10.0 s" and "2 m" for "2 m 0 s", where the zero says nothing, as along an axis.
const withoutZeros = (text) =>
  text.replace(/(\.\d*?)0+(?= |$)/, "$1").replace(/\.(?= |$)/, "").replace(/(?<= [mh]) 0 [sm]$/, "");

// The decimals that tell percentages apart which are `spacing` from one another.
function percentDecimals(spacing) {
  return spacing > 0 ? Math.min(4, Math.max(0, Math.ceil(-Math.log10(spacing * 100) - 1e-9))) : 1;
}

// The next round number from `value` on.
function roundedUp(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value * 0.9999);
}

// "a, b and c".
function listed(words) {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

// "1 run", "3 runs".
function counted(count, noun) {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

const unique = (values) => [...new Set(values)];
