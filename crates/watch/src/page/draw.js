// What the parts of the page draw with. Text is set as text, never as markup.

export const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
// Told apart with and without colour vision (Okabe and Ito).
const INKS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d00", "#7a7a7a"];
// The same, light enough for dark ground.
const LIGHT_INKS = ["#5ab4f0", "#ff9250", "#34cfa0", "#e8a6ca", "#f3ba45", "#a5dcff", "#cdb25c", "#b8b8b8"];
export const dark = () => matchMedia("(prefers-color-scheme: dark)").matches;
export const ink = (cpu) => (dark() ? LIGHT_INKS : INKS)[cpu % INKS.length];
// Three figures, and the next unit where they round up to it.
const three = (value) => Number(value.toPrecision(3)) >= 1000 ? value.toFixed(0) : value.toPrecision(3);
export const time = (ns) => {
  if (ns === null || ns === undefined) return "–";
  if (ns < 1000) return `${ns} ns`;
  if (ns < 999500) return `${three(ns / 1e3)} µs`;
  if (ns < 999500000) return `${three(ns / 1e6)} ms`;
  return `${three(ns / 1e9)} s`;
};
// The same without zeros at the end, for axes and sentences.
export const short = (ns) => {
  const [figure, unit] = time(ns).split(" ");
  return unit ? `${Number(figure)} ${unit}` : figure;
};
export const count = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");
export const when = (at) => {
  const date = new Date(at * 1000), two = (n) => String(n).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
};

export const element = (name, attributes, text) => {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
};
export const row = (cells, classes) => {
  const made = document.createElement("tr");
  if (classes) made.className = classes;
  for (const cell of cells) made.insertCell().textContent = cell;
  return made;
};

// A logarithmic axis from 1-2-5 steps around what there is.
export const logarithmic = (values, from, to) => {
  const some = values.filter((value) => value > 0);
  const low = Math.floor(Math.log10(Math.min(...some, 1e4))), high = Math.ceil(Math.log10(Math.max(...some, 1e5)));
  const place = (value) => from + (Math.log10(Math.max(value, 10 ** low)) - low) / (high - low) * (to - from);
  return { place, ticks: Array.from({ length: high - low + 1 }, (_, n) => 10 ** (low + n)) };
};
const TIMES = [60, 300, 600, 1800, 3600, 10800, 21600, 43200, 86400, 259200, 604800, 1209600, 2678400, 7948800];
export const clock = (from, to) => {
  const step = TIMES.find((step) => (to - from) / step <= 7) || 31622400;
  const shift = new Date(from * 1000).getTimezoneOffset() * 60;
  const first = Math.ceil((from - shift) / step) * step + shift;
  const ticks = [];
  for (let at = first; at < to; at += step) ticks.push(at);
  const text = (at) => (step < 86400 ? when(at).slice(11, 16) : when(at).slice(5, 10));
  return ticks.map((at) => [at, text(at)]);
};
export const frame = (width, height, label) => element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
export const widthOf = (box) => Math.max(320, Math.round(box.clientWidth || 900));

// A CPU has its number's; of round trips the n-th that are drawn.
export const ink_of = (series, n) => ink(typeof series === "number" ? series : n);
// The name of round trips where it is plain that they are ones.
export const way = (name) => name.replace(/^round trip /, "");
// CPUs stand side by side, longer names below each other.
export const legend = (svg, all, left, top) => {
  if (all.length > 8) return;
  all.forEach((series, n) => {
    const is_cpu = typeof series === "number", x = left + (is_cpu ? 74 * n : 0), y = top + (is_cpu ? 0 : 16 * n);
    svg.append(element("rect", { x: x + 8, y: y + 2, width: 12, height: 4, fill: ink_of(series, n) }));
    svg.append(element("text", { x: x + 24, y: y + 9 }, is_cpu ? `CPU ${series}` : way(series)));
  });
};

export const get = async (path) => {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
};
