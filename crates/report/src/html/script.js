// Reads values off the plots under the pointer. The page says all it has to say without this.
(() => {
  "use strict";
  const NARROW_SPACE = "\u202f";

  const scale = (described) => {
    const [kind, low, high, from, to] = described.split(" ");
    const part = (high - low) / (to - from);
    return (place) => {
      const inner = +low + (place - from) * part;
      return kind === "log" ? 10 ** inner : inner;
    };
  };

  // A line's points; where the pen is lifted a new part begins.
  const parts = (d) =>
    d.split("M").filter(Boolean).map((part) => part.split("L").map((pair) => pair.trim().split(" ").map(Number)));

  const figures = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

  const time = (ns) => {
    const [length, unit] = ns < 1e3 ? [1, "ns"] : ns < 1e6 ? [1e3, "µs"] : ns < 1e9 ? [1e6, "ms"] : [1e9, "s"];
    return figures(ns / length) + NARROW_SPACE + unit;
  };

  const share = (x) => {
    const nines = Math.max(0, Math.floor(Math.log10(x)));
    return ((1 - 1 / x) * 100).toFixed(Math.max(1, nines)) + NARROW_SPACE + "%";
  };

  const nearest = (points, x) => points.reduce((best, p) => (Math.abs(p[0] - x) < Math.abs(best[0] - x) ? p : best));

  // How each plot is read at a place: what stands there, and a curve's value.
  const readers = {
    samples: {
      where: time,
      at: (lines, x) => {
        for (const points of lines) {
          for (let i = 0; i + 1 < points.length; i++) {
            if (points[i][1] === points[i + 1][1] && points[i][0] <= x && x < points[i + 1][0]) return points[i][1];
          }
        }
        return null;
      },
      say: (value) => (value === null ? "0" : String(Math.max(1, Math.round(value)))) + " samples",
    },
    latency: {
      where: share,
      at: ([points], x) => {
        const next = points.findIndex((p) => p[0] >= x);
        if (next < 0) return null;
        const [a, b] = [points[Math.max(0, next - 1)], points[next]];
        return b[0] === a[0] ? b[1] : a[1] + ((b[1] - a[1]) * (x - a[0])) / (b[0] - a[0]);
      },
      say: (value) => (value === null ? "—" : time(value)),
    },
    maximum: {
      where: (seconds) => figures(seconds) + NARROW_SPACE + "s",
      at: (lines, x) => nearest(lines.flat(), x)[1],
      say: (value) => "max " + time(value),
    },
    p99: {
      where: (order) => "block " + (Math.round(order) + 1),
      at: (lines, x) => {
        const point = nearest(lines.flat(), x);
        return Math.abs(point[0] - x) < 14 ? point[1] : null;
      },
      say: (value) => (value === null ? "" : "p99 " + time(value)),
    },
  };

  const read = (svg) => {
    const group = svg.querySelector("g.curves");
    if (!group) return;
    const curves = [...group.querySelectorAll("g.curve")].map((curve) => ({
      name: curve.dataset.name,
      lines: parts(curve.querySelector("path.line").getAttribute("d")),
    }));
    const sound = curves.filter((c) => c.lines.length > 0 && c.lines.flat(2).every(Number.isFinite));
    svg.dataset.drawn = String(sound.length);
    const readout = svg.parentElement.querySelector(".readout");
    const [x, y] = [scale(group.dataset.x), scale(group.dataset.y)];
    const reader = readers[group.dataset.shows];
    const [from, to] = group.dataset.x.split(" ").slice(3).map(Number);
    const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const [bottom, top] = group.dataset.y.split(" ").slice(3);
    for (const [key, value] of [["class", "cursor"], ["y1", top], ["y2", bottom], ["visibility", "hidden"]]) {
      cursor.setAttribute(key, value);
    }
    svg.append(cursor);
    const hint = readout.textContent;
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const place = ((event.clientX - box.left) * svg.viewBox.baseVal.width) / box.width;
      if (place < from || place > to) return;
      cursor.setAttribute("x1", place);
      cursor.setAttribute("x2", place);
      cursor.setAttribute("visibility", "visible");
      const where = document.createElement("b");
      where.textContent = reader.where(x(place));
      const values = sound.map((curve) => {
        const at = reader.at(curve.lines, place);
        const span = document.createElement("span");
        const said = reader.say(at === null ? null : y(at));
        span.textContent = said && curve.name + " " + said;
        return span;
      });
      readout.replaceChildren(where, ...values.filter((v) => v.textContent));
    });
    svg.addEventListener("pointerleave", () => {
      cursor.setAttribute("visibility", "hidden");
      readout.textContent = hint;
    });
  };

  document.querySelectorAll("figure:not(.panel) .readout").forEach((r) => { r.textContent = "Move over the plot to read values."; });
  document.querySelectorAll("svg.plot").forEach(read);

  // The records that the page was made from, as files again.
  document.querySelectorAll("script.record").forEach((script) => {
    const button = document.createElement("button");
    button.textContent = "Save " + script.dataset.name;
    button.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([script.textContent], { type: "application/json" }));
      link.download = script.dataset.name;
      link.click();
      URL.revokeObjectURL(link.href);
    });
    document.querySelector(".records").append(button, " ");
  });
})();
