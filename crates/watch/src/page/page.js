// Draws what the service measured. Everything comes from this host.

import { byId, clock, count, dark, element, frame, get, ink, ink_of, legend, logarithmic, row, short, time, way, when, widthOf } from "/draw.js";
import { signals } from "/signals.js";
import { switches } from "/switches.js";

const asked = new URLSearchParams(location.search);
let span = Number(asked.get("span")) || 3600;
let newest = 0, latest = null, all_causes = false;

const show = (now) => {
  newest = now.at;
  const machine = now.environment || {};
  const named = [machine.machine, machine.processor, machine.kernel && `Linux ${machine.kernel}`, machine.preemption && `preemption ${machine.preemption}`];
  byId("machine").textContent = named.filter(Boolean).join(" · ");
  byId("now").tBodies[0].replaceChildren(...now.cpus.map((cpu) => measured(cpu.cpu, cpu)));
  const round_trips = now.round_trips || [];
  byId("round-trips").hidden = round_trips.length === 0;
  byId("round-trips-now").tBodies[0].replaceChildren(...round_trips.map((one) => measured(way(one.name), one)));
  const causes = byId("causes");
  causes.hidden = now.causes.length === 0;
  const unknown = (one) => one.cause === "unknown" && one.detail === "not traced";
  const some = all_causes ? now.causes : now.causes.slice(0, 8), more = byId("more-causes");
  more.hidden = now.causes.length <= 8;
  more.textContent = all_causes ? "the most frequent" : `all ${now.causes.length} causes`;
  more.setAttribute("aria-expanded", String(all_causes));
  latest = now;
  byId("causes-of").tBodies[0].replaceChildren(...some.map((one) => {
    const name = unknown(one) ? "not looked for" : [one.cause, one.detail].filter(Boolean).join(" ");
    return row([name, count(one.count), time(one.max_ns), when(one.last)]);
  }));
  byId("untraced").hidden = !now.causes.some(unknown);
  const findings = `${now.bad} bad findings and ${now.warnings} warnings (ontick check lists them)`;
  byId("cost").textContent = `This service uses ${(now.duty * 100).toFixed(2)} % of a CPU. ${findings}.`;
};

// A series now: its last block, or why there is none, and all of its samples.
const measured = (name, series) => {
  const last = series.last || {}, total = series.total;
  const rest = [time(total.p99_ns), time(total.p999_ns), time(total.max_ns), count(total.samples), count(total.missed)];
  if (!series.paused) return row([name, time(last.p50_ns), time(last.p99_ns), time(last.max_ns), ...rest]);
  const made = row([name, series.paused, ...rest]);
  made.cells[1].colSpan = 3;
  made.cells[1].className = "paused";
  return made;
};

const curve = (box, rows, from, to, label) => {
  const width = widthOf(box), height = 240, left = 62, right = width - 12, top = 12, bottom = height - 26;
  const svg = frame(width, height, label);
  const y = logarithmic(rows.map((row) => row[6]), bottom, top);
  const x = (at) => left + (at - from) / (to - from) * (right - left);
  for (const tick of y.ticks) {
    svg.append(element("line", { class: "grid", x1: left, x2: right, y1: y.place(tick), y2: y.place(tick) }));
    svg.append(element("text", { x: left - 8, y: y.place(tick) + 4, "text-anchor": "end" }, short(tick)));
  }
  for (const [at, text] of clock(from, to)) svg.append(element("text", { x: x(at), y: height - 8, "text-anchor": "middle" }, text));
  const all = [...new Set(rows.map((row) => row[1]))];
  for (const [n, series] of all.entries()) {
    const own = rows.filter((row) => row[1] === series), colour = ink_of(series, n);
    const gap = Math.max(2 * (to - from) / 500, 60, 4 * typical(own));
    let before = -Infinity;
    const path = own.map((row) => {
      const move = row[0] - before > gap ? "M" : "L";
      before = row[0];
      return `${move}${x(row[0]).toFixed(1)} ${y.place(row[6]).toFixed(1)}`;
    });
    svg.append(element("path", { class: "line", stroke: colour, d: path.join("") || "M0 0" }));
    if (own.length < 40) for (const row of own) svg.append(element("circle", { class: "dot", fill: colour, r: 2.2, cx: x(row[0]), cy: y.place(row[6]) }));
  }
  legend(svg, all, left, top);
  box.replaceChildren(svg);
  box.dataset.points = rows.length;
};
// The usual time between two rows.
const typical = (rows) => {
  const steps = rows.slice(1).map((row, n) => row[0] - rows[n][0]).sort((a, b) => a - b);
  return steps[Math.floor(steps.length / 2)] || 0;
};
// One ink, from quick to late: light to dark on light ground, and the reverse on dark.
const shade = (share) => `hsl(20 ${30 + 60 * share}% ${dark() ? 22 + 48 * share : 93 - 58 * share}%)`;
const heat = (rows, from, to) => {
  const box = byId("heat"), width = widthOf(box), left = 62, right = width - 12;
  const cpus = [...new Set(rows.map((row) => row[1]))].sort((a, b) => a - b);
  const lane = Math.max(4, Math.min(22, 400 / Math.max(1, cpus.length))), height = 10 + lane * cpus.length + 26;
  const svg = frame(width, height, "Largest latency over time by shade, a row for each CPU");
  const most = Math.max(...rows.map((row) => row[6]), 1e5), least = Math.min(...rows.map((row) => row[6] || Infinity), 1e4);
  const share = (ns) => Math.max(0, Math.min(1, Math.log(Math.max(ns, least) / least) / Math.log(most / least)));
  const columns = Math.min(300, Math.floor((right - left) / 3)), step = (to - from) / columns;
  cpus.forEach((cpu, lane_of) => {
    const worst = new Map();
    for (const row of rows) if (row[1] === cpu) {
      const column = Math.floor((row[0] - from) / step);
      worst.set(column, Math.max(worst.get(column) || 0, row[6]));
    }
    for (const [column, ns] of worst) {
      const cell = element("rect", { x: (left + column * (right - left) / columns).toFixed(1), y: 6 + lane_of * lane, width: ((right - left) / columns + .4).toFixed(1), height: lane - 1, fill: shade(share(ns)) });
      cell.append(element("title", {}, `CPU ${cpu}, ${when(Math.round(from + column * step))}: ${time(ns)}`));
      svg.append(cell);
    }
    if (lane >= 10 || lane_of % 8 === 0) svg.append(element("text", { x: left - 8, y: 6 + lane_of * lane + lane / 2 + 4, "text-anchor": "end" }, `CPU ${cpu}`));
  });
  for (const [at, text] of clock(from, to)) svg.append(element("text", { x: left + (at - from) / (to - from) * (right - left), y: height - 8, "text-anchor": "middle" }, text));
  box.replaceChildren(svg);
  box.dataset.cells = svg.querySelectorAll("rect").length;
  byId("scale").textContent = rows.length ? `From ${short(least)} (weak) to ${short(most)} (strong).` : "Nothing was measured in this time.";
};

const exceedance = (series) => {
  const box = byId("exceedance"), width = widthOf(box), height = 260, left = 92, right = width - 26, top = 12, bottom = height - 28;
  const svg = frame(width, height, "Share of samples later than a latency");
  const ends = series.flatMap((one) => one.buckets.map(([low, wide]) => low + wide));
  const x = logarithmic(ends, left, right);
  const most = Math.max(10, ...series.map((one) => one.samples));
  const decades = Math.ceil(Math.log10(most));
  const y = (share) => top + Math.min(decades, -Math.log10(share)) / decades * (bottom - top);
  for (const tick of x.ticks) {
    svg.append(element("line", { class: "grid", y1: top, y2: bottom, x1: x.place(tick), x2: x.place(tick) }));
    svg.append(element("text", { x: x.place(tick), y: height - 9, "text-anchor": "middle" }, short(tick)));
  }
  for (let n = 0; n <= decades; n += Math.ceil(decades / 5)) {
    svg.append(element("line", { class: "grid", x1: left, x2: right, y1: y(10 ** -n), y2: y(10 ** -n) }));
    svg.append(element("text", { x: left - 8, y: y(10 ** -n) + 4, "text-anchor": "end" }, n === 0 ? "all" : `1 in ${count(10 ** n)}`));
  }
  for (const one of series) {
    let left_over = one.samples, path = "";
    for (const [low, wide, number] of one.buckets) {
      const at = x.place(low + wide).toFixed(1), before = y(left_over / one.samples).toFixed(1);
      path += `${path ? "L" : "M"}${at} ${before}`;
      left_over -= number;
      if (left_over > 0) path += `L${at} ${y(left_over / one.samples).toFixed(1)}`;
    }
    if (path) svg.append(element("path", { class: "line", stroke: ink(one.cpu), d: path }));
  }
  legend(svg, series.map((one) => one.cpu), right - 90 * Math.min(series.length, 8), top);
  box.replaceChildren(svg);
};

const past = async () => {
  const to = (newest || Math.floor(Date.now() / 1000)) + 1, from = to - span;
  const [rows, events, record] = await Promise.all([
    get(`/api/history?from=${from}&to=${to}&points=500`),
    get(`/api/events?from=${Math.max(0, from)}&to=${to}&points=100`),
    get("/api/record"),
  ]);
  // Rows of CPUs have their number, those of round trips a name; where no request was answered there is no time.
  const of_cpus = rows.filter((row) => typeof row[1] === "number");
  const answered = rows.filter((row) => typeof row[1] !== "number" && row[2] > 0);
  curve(byId("curve"), of_cpus, from, to, "Largest latency over time, each CPU");
  curve(byId("round-trips-curve"), answered, from, to, "Largest round trip over time");
  heat(of_cpus, from, to);
  exceedance(record.series.filter((one) => !one.round_trips).map((one) => ({
    cpu: one.settings.cpu,
    buckets: one.latency.buckets,
    samples: one.latency.buckets.reduce((sum, bucket) => sum + bucket[2], 0),
  })).filter((one) => one.samples > 0));
  byId("host").textContent = `ontick watch · ${location.hostname}`;
  byId("events").tBodies[0].replaceChildren(...events.map((event) => row([when(event.at), event.kind, event.text], event.bad ? "bad" : "")));
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn || 0) + 1);
  performance.mark("drawn");
};

// One at a time, and again if something came meanwhile.
let drawing = false, again = false;
const redraw = async () => {
  if (drawing) { again = true; return; }
  drawing = true;
  try { await past(); } catch (error) { lost(`no figures: ${error.message}`); }
  drawing = false;
  if (again) { again = false; redraw(); }
};
const lost = (text) => { const line = byId("connection"); line.textContent = text; line.className = "lost"; };

for (const button of document.querySelectorAll("button[data-span]")) {
  button.setAttribute("aria-pressed", String(Number(button.dataset.span) === span));
  button.addEventListener("click", () => {
    span = Number(button.dataset.span);
    for (const other of document.querySelectorAll("button[data-span]")) other.setAttribute("aria-pressed", String(other === button));
    redraw();
  });
}
// Wide spans change slowly: what comes every few seconds is drawn when it shows.
let drawn_at = 0;
const take = (now, how) => {
  show(now);
  const line = byId("connection");
  line.textContent = `${how} ${when(now.at)}`;
  line.className = "";
  if (now.at - drawn_at >= span / 720) { drawn_at = now.at; redraw(); }
};
// With ?still the page is as of now and stays so: to be printed, or looked at by a program.
byId("more-causes").addEventListener("click", () => { all_causes = !all_causes; show(latest); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw());
signals(asked.has("still"));
switches(asked.has("still"));
if (asked.has("still")) {
  get("/api/now").then((now) => take(now, "as of")).catch((error) => lost(error.message));
} else {
  const stream = new EventSource("/stream");
  stream.onmessage = (message) => take(JSON.parse(message.data), "live,");
  stream.onerror = () => lost("no connection to the service; trying again");
}
addEventListener("resize", () => { clearTimeout(redraw.timer); redraw.timer = setTimeout(redraw, 200); });
