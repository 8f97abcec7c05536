"use strict";

// The groups of the first steps as a picture: a row for each step, a column for each worker; who averages together has the
// same letter and the same shade, and neighbours grow together.

const kSvg = "http://www.w3.org/2000/svg";
const kRow = 26;
const kHead = 20;
const kSide = 52;

function svgElement(name, attributes, text) {
  const made = document.createElementNS(kSvg, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// a, b, ..., z, aa, ab, ...
function groupLetter(index) {
  const last = String.fromCharCode(97 + (index % 26));
  return index < 26 ? last : groupLetter(Math.floor(index / 26) - 1) + last;
}

// [first, last] of every run of neighbours in the group.
function stretches(members) {
  const found = [];
  for (const worker of members) {
    const open = found[found.length - 1];
    if (open && open[1] === worker - 1) open[1] = worker;
    else found.push([worker, worker]);
  }
  return found;
}

function groupShade(index, count) {
  return count < 2 ? 0.45 : index / (count - 1);
}

function drawGroup(svg, {members, index, count, all, step, cell, y}) {
  const shade = groupShade(index, count);
  const group = svgElement("g", {class: "group"});
  const fill = mixed(colour("accent-tint"), colour("accent"), shade);
  for (const [first, last] of stretches(members)) {
    const width = (last - first + 1) * cell - 3;
    group.append(svgElement("rect", {x: kSide + first * cell + 1.5, y: y + 3, width, height: kRow - 6, rx: 5, fill}));
  }
  if (index < 26)
    for (const worker of members)
      group.append(svgElement("text", {
        class: "letter", x: kSide + (worker + 0.5) * cell, y: y + kRow / 2 + 4, "text-anchor": "middle",
      }, groupLetter(index)));
  for (const letter of group.querySelectorAll("text")) letter.style.fill = readableOn(fill);
  group.append(svgElement("title", {}, `step ${step}: ${all.length === 1 ? "worker" : "workers"} ${all.join(", ")}`));
  svg.append(group);
}

// The group of each worker. Where groups form on the way, a passive partner's own record may not name the group that
// took it in.
function groupsByWorker({groups, of}) {
  return of.map((group, worker) => {
    if (group >= 0 && groups[group].length > 1) return group;
    const taker = groups.findIndex((members) => members.length > 1 && members.includes(worker));
    return taker >= 0 ? taker : group;
  });
}

function drawStep(svg, record, step, cell) {
  const {groups} = record;
  const of = groupsByWorker(record);
  const y = kHead + step * kRow;
  svg.append(svgElement("text", {x: kSide - 8, y: y + kRow / 2 + 4, "text-anchor": "end"}, `step ${step}`));
  const shared = groups.map((all, id) => ({all, id})).filter(({all}) => all.length > 1);
  shared.forEach(({all, id}, index) => {
    const members = of.flatMap((group, worker) => (group === id ? [worker] : []));
    drawGroup(svg, {members, index, count: shared.length, all, step, cell, y});
  });
  of.forEach((group, worker) => {
    if (group >= 0 && groups[group].length > 1) return;
    svg.append(svgElement("circle", {
      class: "alone", cx: kSide + (worker + 0.5) * cell, cy: y + kRow / 2, r: Math.min(3, cell / 3),
    }));
  });
}

// The picture as an <svg>; null where no step is known.
function groupsPicture({steps}) {
  const workers = Math.max(0, ...steps.map((step) => step.of.length));
  if (workers === 0) return null;
  const cell = workers <= 8 ? 24 : workers <= 32 ? 17 : 14;
  const width = kSide + workers * cell + 2;
  const height = kHead + steps.length * kRow;
  const svg = svgElement("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": `groups of ${counted(workers, "worker")} in the first ${counted(steps.length, "step")}`,
  });
  const every = workers <= 16 ? 1 : workers <= 32 ? 2 : 4;
  for (let worker = 0; worker < workers; worker += every)
    svg.append(svgElement("text", {x: kSide + (worker + 0.5) * cell, y: 12, "text-anchor": "middle"}, worker));
  steps.forEach((step, index) => drawStep(svg, step, index, cell));
  return svg;
}
