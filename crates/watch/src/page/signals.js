// Signals of samplers, as an oscilloscope shows them: the newest stretch, of each column the least and the largest value.

import { byId, count, element, frame, get, ink, short, widthOf } from "/draw.js";

const HEIGHT = 130;
let span = 1000, held = false, triggered = true, timer = 0, last = [];

// Three ticks around what there is, on steps of 1, 2 or 5.
const axis = (least, largest) => {
  const room = largest > least ? largest - least : Math.abs(largest) || 1;
  const rough = room / 2, decade = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * decade).find((step) => step >= rough * 0.999);
  let from = Math.floor(least / step) * step, to = Math.ceil(largest / step) * step;
  if (to === from) [from, to] = [from - step, to + step];
  const ticks = [];
  for (let n = 0; n <= Math.round((to - from) / step); n++) ticks.push(Number((from + n * step).toPrecision(6)));
  return { from, to, ticks };
};

const sound = (columns) => columns.filter(([, low, high]) => Number.isFinite(low) && Number.isFinite(high) && low !== null && high !== null);

// The column in which the signal last rose through its middle.
const crossing = (columns) => {
  const lows = columns.map((column) => column[1]), highs = columns.map((column) => column[2]);
  const middle = (Math.min(...lows) + Math.max(...highs)) / 2;
  for (let n = columns.length - 1; n > 0; n--) {
    if (columns[n - 1][1] < middle && columns[n][2] >= middle && columns[n][1] + columns[n][2] > columns[n - 1][1] + columns[n - 1][2]) return columns[n][0];
  }
  return undefined;
};

const scope = (sampler, channel, number, end, width) => {
  const left = 76, right = width - 14, top = 26, bottom = HEIGHT - 24;
  const unit = channel.unit ? ` (${channel.unit})` : "";
  const svg = frame(width, HEIGHT, `Signal ${channel.name}${unit}, the newest ${short(sampler.span_ms * 1e6)}`);
  const columns = sound(channel.columns).filter(([at]) => at <= end);
  const y_axis = axis(Math.min(...columns.map((one) => one[1]), columns.length ? Infinity : 0), Math.max(...columns.map((one) => one[2]), columns.length ? -Infinity : 1));
  const y = (value) => bottom - (value - y_axis.from) / (y_axis.to - y_axis.from) * (bottom - top);
  const x = (at) => right - (end - at) / (sampler.columns - 1) * (right - left);
  for (const tick of y_axis.ticks) {
    svg.append(element("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }));
    svg.append(element("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, String(tick)));
  }
  for (let n = 0; n <= 4; n++) {
    const at = right - n / 4 * (right - left);
    svg.append(element("line", { class: "grid", x1: at, x2: at, y1: top, y2: bottom }));
    if (n % 2 === 0 || width > 500) svg.append(element("text", { x: Math.min(at, right - 4), y: HEIGHT - 6, "text-anchor": n === 0 ? "end" : "middle" }, n === 0 ? "0" : `−${short(sampler.span_ms * 1e6 * n / 4)}`));
  }
  // Each column is a stroke from its least to its largest value, begun at the end that is nearer to the one before.
  let path = "", pen = 0;
  for (const [at, low, high] of columns) {
    const [first, second] = Math.abs(low - pen) <= Math.abs(high - pen) ? [low, high] : [high, low];
    path += `${path ? "L" : "M"}${x(at).toFixed(1)} ${y(first).toFixed(1)}`;
    if (first !== second) path += `L${x(at).toFixed(1)} ${y(second).toFixed(1)}`;
    pen = second;
  }
  if (path) svg.append(element("path", { class: "line", stroke: ink(number), d: path }));
  if (columns.length === 1) svg.append(element("circle", { class: "dot", fill: ink(number), r: 2.5, cx: x(columns[0][0]), cy: y(columns[0][1]) }));
  const name = element("text", { class: "name", x: 10, y: 17 }, `${channel.name}${unit}`);
  svg.append(name);
  return svg;
};

const line = (tag, text, classes) => {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  made.textContent = text;
  return made;
};

const draw = (samplers, box) => {
  byId("signals").hidden = false;
  const width = widthOf(box), parts = [];
  for (const sampler of samplers) {
    const rate = sampler.rate === null ? "" : ` · ${Number(sampler.rate.toPrecision(4))} samples a second`;
    const late = sampler.channels.length ? ` · missed ${count(sampler.missed)} · at most ${short(sampler.late_max_ns)} late` : "";
    parts.push(line("h3", sampler.from), line("p", `${sampler.state}${rate}${late}`, sampler.up ? "good" : "bad"));
    const first = sampler.channels[0] ? sound(sampler.channels[0].columns) : [];
    const end = (triggered ? crossing(first) : undefined) ?? sampler.columns - 1;
    const plots = document.createElement("div");
    plots.className = "plot";
    sampler.channels.forEach((channel, number) => plots.append(scope(sampler, channel, number, end, width)));
    parts.push(plots);
    if (sampler.more_channels) parts.push(line("p", `${sampler.more_channels} more channels are not shown.`, "note"));
  }
  box.replaceChildren(...parts);
  box.dataset.channels = samplers.reduce((sum, one) => sum + one.channels.length, 0);
};

const ask = async (still, tries) => {
  clearTimeout(timer);
  if (!document.hidden && !held) {
    try {
      last = await get(`/api/signals?span=${span}`);
      // None was named, and none will be.
      if (last.length === 0) return;
      draw(last, byId("each-signal"));
    } catch (error) {
      byId("each-signal").replaceChildren(line("p", `no figures: ${error.message}`, "bad"));
    }
  }
  if (still && (tries <= 0 || last.every((one) => one.channels.some((channel) => channel.columns.length > 200)))) return;
  timer = setTimeout(ask, 400, still, tries - 1);
};

export const signals = (still) => {
  const buttons = [...document.querySelectorAll("button[data-stretch]")];
  for (const button of buttons) button.addEventListener("click", () => {
    span = Number(button.dataset.stretch);
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    hold(false);
    ask(still, 20);
  });
  const hold = (on) => { held = on; byId("hold").setAttribute("aria-pressed", String(on)); };
  byId("hold").addEventListener("click", () => hold(!held));
  byId("trigger").addEventListener("click", () => {
    triggered = !triggered;
    byId("trigger").setAttribute("aria-pressed", String(triggered));
    if (last.length) draw(last, byId("each-signal"));
  });
  addEventListener("resize", () => { if (last.length) draw(last, byId("each-signal")); });
  ask(still, 20);
};
