"use strict";

// How parts of the page fit its width: rows of cards without holes, tables that turn into lists, bars with room for their
// names. What can be text is text: it wraps, and nothing is cut off.

// A label that may be broken behind the marks of a spec, and is copied as it is.
function breakable(label) {
  return label.split(/(?<=[:,=])(?=\S)/).flatMap((part, i) => (i === 0 ? [part] : [element("wbr"), part]));
}

function swatch(fill) {
  const made = element("span", {class: "swatch", "aria-hidden": "true"});
  made.style.backgroundColor = fill;
  return made;
}

// Bars on one scale, each with its name before it and its text behind its end.
// bars: {name, value or null, text, colour, hint}; mark: a value at which a line stands.
function barRows(bars, {largest, mark = null}) {
  const longest = (texts) => Math.max(...texts.map((text) => text.length), 0);
  const percent = (value) => `${(100 * Math.min(1, Math.max(0, value / largest))).toFixed(2)}%`;
  const made = element("div", {class: "bars"}, ...bars.map((bar) => {
    const fill = element("div", {class: "bar-fill"});
    const text = element("span", {class: "bar-text"}, bar.text);
    fill.style.width = text.style.left = percent(bar.value ?? 0);
    fill.style.backgroundColor = bar.colour;
    const line = mark === null ? null : element("div", {class: "bar-mark"});
    if (line) line.style.left = percent(mark);
    return element("div", {class: "bar", title: bar.hint ?? null}, element("div", {class: "bar-name"}, ...breakable(bar.name)),
      element("div", {class: "bar-space"}, fill, line, text));
  }));
  made.style.setProperty("--name", `${Math.min(20, 0.53 * longest(bars.map((bar) => bar.name)) + 0.5)}rem`);
  made.style.setProperty("--text", `${0.55 * longest(bars.map((bar) => bar.text)) + 0.8}rem`);
  return made;
}

const kGap = 16;
const remPixels = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

// Rows of as equal length as possible; the last one is as wide as the others.
function fitCards() {
  for (const cards of document.querySelectorAll(".cards")) {
    const least = (cards.classList.contains("small") ? 20 : 31) * remPixels();
    const count = cards.children.length;
    const most = Math.max(1, Math.floor((cards.clientWidth + kGap) / (least + kGap)));
    const inRow = Math.ceil(count / Math.ceil(count / most));
    cards.style.setProperty("--in-row", inRow);
  }
}

// A table that is wider than its place becomes a list, in which every figure carries its column's name.
function fitTables() {
  for (const table of document.querySelectorAll(".fits > table")) {
    table.classList.remove("as-list");
    if (table.scrollWidth > table.parentElement.clientWidth) table.classList.add("as-list");
  }
}

function fit() {
  fitCards();
  fitTables();
}
