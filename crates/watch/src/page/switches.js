// Switches at work: gates as bars over a cycle, and how many frames left each stage.

import { byId, count, element, frame, get, ink, row, short, when, widthOf } from "/draw.js";

const STAGES = ["classifier", "queue", "gate", "egress"];
let before = new Map(), before_at = 0;

const words = (tag, text, classes) => {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  made.textContent = text;
  return made;
};

// Bars where a class's gate is open, on an axis of one cycle.
const gates = (port, width) => {
  const lane = 20, left = 118, right = width - 30, bottom = 8 + lane * port.classes.length, height = bottom + 22;
  const svg = frame(width, height, `Gates of port ${port.name}: when each class may send within a cycle of ${short(port.cycle_ns)}`);
  const x = (ns) => left + ns / port.cycle_ns * (right - left);
  for (let n = 0; n <= 4; n++) {
    const at = port.cycle_ns * n / 4;
    svg.append(element("line", { class: "grid", x1: x(at), x2: x(at), y1: 6, y2: bottom }));
    if (n % 2 === 0 || width > 500) svg.append(element("text", { x: x(at), y: height - 7, "text-anchor": "middle" }, short(at)));
  }
  port.classes.forEach((one, n) => {
    const y = 8 + n * lane;
    svg.append(element("text", { x: left - 8, y: y + 14, "text-anchor": "end" }, one.name.length > 15 ? `${one.name.slice(0, 14)}…` : one.name));
    for (const [from, length] of one.windows) {
      const bar = element("rect", { class: "window", x: x(from).toFixed(1), y: y + 3, width: Math.max(1, x(from + length) - x(from)).toFixed(1), height: lane - 6, rx: 2, fill: ink(n) });
      bar.append(element("title", {}, `${one.name} may send from ${short(from)} to ${short(from + length)} of each cycle`));
      svg.append(bar);
    }
  });
  return svg;
};

const reasons = (stage) => stage.dropped.map(([why, frames]) => `${count(frames)} ${why}`);

const table = (port, rate) => {
  const made = document.createElement("table");
  made.className = "stages";
  const head = row([]);
  for (const name of ["class", ...STAGES, "per second", "waiting", "dropped"]) {
    const cell = words("th", name);
    cell.scope = "col";
    head.append(cell);
  }
  made.createTHead().append(head);
  const body = made.createTBody();
  for (const one of port.classes) {
    const gone = STAGES.flatMap((stage) => one[stage].dropped).reduce((sum, [, frames]) => sum + frames, 0);
    body.append(row([one.name, ...STAGES.map((stage) => count(one[stage].out)), rate(one), count(one.queue.waiting), count(gone)]));
    for (const stage of STAGES) for (const why of reasons(one[stage])) {
      const line = row([`dropped at the ${stage}: ${why}`], "why");
      line.cells[0].colSpan = 8;
      body.append(line);
    }
  }
  const wide = document.createElement("div");
  wide.className = "wide";
  wide.append(made);
  return wide;
};

const draw = (found, now, box) => {
  const counted = new Map(), seconds = (now - before_at) / 1000;
  const per_second = (key, frames) => {
    counted.set(key, frames);
    const last = before.get(key);
    if (last === undefined || seconds <= 0.2 || frames < last) return "–";
    return count(Math.round((frames - last) / seconds));
  };
  // Its own width is known once it is there.
  byId("switches").hidden = false;
  const width = widthOf(box);
  const parts = [];
  for (const one of found.switches) {
    parts.push(words("h3", `${one.name} · ${one.plane} data plane`));
    parts.push(words("p", one.state, one.fine ? "good" : "bad"));
    for (const port of one.path.ports) {
      const key = `${one.name} ${port.name}`;
      const came = `came in ${count(port.ingress.into)} (${per_second(key, port.ingress.into)} per second), forwarded ${count(port.ingress.out)}`;
      const cycle = port.cycle_ns > 0 ? ` · cycle ${short(port.cycle_ns)}` : " · no gates";
      parts.push(words("h4", `port ${port.name} · ${port.link}${cycle}`));
      parts.push(words("p", [came, ...reasons(port.ingress).map((why) => `dropped ${why}`)].join(", "), "note"));
      const gated = document.createElement("div");
      gated.className = "plot";
      if (port.cycle_ns > 0 && port.classes.some((one) => one.windows.length)) gated.append(gates(port, width));
      parts.push(gated, table(port, (of) => per_second(`${key} ${of.name}`, of.egress.out)));
      for (const remark of port.remarks) parts.push(words("p", remark, "note"));
    }
    if (one.path.about) parts.push(words("p", `${one.path.about}; as of ${when(Math.floor(now / 1000))}.`, "note"));
  }
  for (const why of found.unknown) parts.push(words("p", why, "note"));
  box.replaceChildren(...parts);
  box.dataset.switches = found.switches.length;
  [before, before_at] = [counted, now];
};

// Asks again soon where there are switches, and now and then where there are none. The section is shown once there is something.
export const switches = async (still) => {
  let pause = 20000;
  if (!document.hidden) {
    try {
      const found = await get("/api/switches");
      if (found.switches.length || found.unknown.length) draw(found, Date.now(), byId("each-switch"));
      else byId("switches").hidden = true;
      if (found.switches.length) pause = 2000;
    } catch (error) {
      byId("each-switch").replaceChildren(words("p", `no figures: ${error.message}`, "bad"));
    }
  }
  if (!still) setTimeout(switches, pause);
};
