"use strict";

// Who averaged with whom, as a picture: a column for each worker, a row for each step, or for each meeting where groups
// form on the way. Who averages together has the same letter and the same shade of the strategy's colour, and neighbours grow together.

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

function drawGroup(svg, {members, index, count, hasLetters, hint, label, cell, y}) {
  const shade = groupShade(index, count);
  const group = svgElement("g", {class: "group"});
  const fill = tint(label, 0.25 + 0.75 * shade);
  for (const [first, last] of stretches(members)) {
    const width = (last - first + 1) * cell - 3;
    group.append(svgElement("rect", {x: kSide + first * cell + 1.5, y: y + 3, width, height: kRow - 6, rx: 5, fill}));
  }
  if (hasLetters && index < 26)
    for (const worker of members)
      group.append(svgElement("text", {
        class: "letter", x: kSide + (worker + 0.5) * cell, y: y + kRow / 2 + 4, "text-anchor": "middle",
      }, groupLetter(index)));
  for (const letter of group.querySelectorAll("text")) letter.style.fill = readableOn(fill);
  group.append(svgElement("title", {}, hint));
  svg.append(group);
}

// A thread from the first to the last member, so that the eye finds them in a row that is otherwise empty.
function drawThread(svg, members, cell, y) {
  const at = (worker) => kSide + (worker + 0.5) * cell;
  svg.append(svgElement("line", {
    class: "thread", x1: at(members[0]), x2: at(members[members.length - 1]), y1: y + kRow / 2, y2: y + kRow / 2,
  }));
}

function drawRow(svg, {groups, of, end}, index, label, cell) {
  const isMeeting = isNumber(end);
  const y = kHead + index * kRow;
  const name = isMeeting ? formatSeconds(end) : `step ${index}`;
  svg.append(svgElement("text", {x: kSide - 8, y: y + kRow / 2 + 4, "text-anchor": "end"}, name));
  const shared = groups.map((all, id) => ({all, id})).filter(({all}) => all.length > 1);
  shared.forEach(({all, id}, place) => {
    const members = of.flatMap((group, worker) => (group === id ? [worker] : []));
    if (isMeeting) drawThread(svg, members, cell, y);
    const hint = `${isMeeting ? "done at " : ""}${name}: ${counted(all.length, "worker")}, ${all.join(", ")}`;
    drawGroup(svg, {members, index: place, count: shared.length, hasLetters: !isMeeting, hint, label, cell, y});
  });
  of.forEach((group, worker) => {
    const isAlone = group >= 0 && groups[group].length === 1;
    if (isAlone || (group < 0 && !isMeeting))
      svg.append(svgElement("circle", {
        class: "alone", cx: kSide + (worker + 0.5) * cell, cy: y + kRow / 2, r: Math.min(3, cell / 3),
      }));
  });
}

const hasMeetings = ({rows}) => rows.some((row) => isNumber(row.end));

// The picture as an <svg>; null where nobody ever averaged with anybody.
function groupsPicture({rows}, label) {
  const workers = Math.max(0, ...rows.map((row) => row.of.length));
  if (!rows.some((row) => row.groups.some((group) => group.length > 1))) return null;
  const cell = workers <= 8 ? 24 : workers <= 32 ? 17 : 14;
  const width = kSide + workers * cell + 2;
  const height = kHead + rows.length * kRow;
  const svg = svgElement("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": `who of ${counted(workers, "worker")} averages with whom`,
  });
  const every = workers <= 16 ? 1 : workers <= 32 ? 2 : 4;
  for (let worker = 0; worker < workers; worker += every)
    svg.append(svgElement("text", {x: kSide + (worker + 0.5) * cell, y: 12, "text-anchor": "middle"}, worker));
  rows.forEach((row, index) => drawRow(svg, row, index, label, cell));
  return svg;
}
