"use strict";
(() => {
  // A run under way: first all that was recorded, then what is new, drawn by the report's own charts (page.js).
  const { show, drop, times, resolve } = window.flatwater;
  const charts = document.getElementById("sweep-charts");
  const told = document.getElementById("told");
  // Seconds of the cell's time, one list for each time axis; and the lines on them.
  let axes = [];
  let lines = {};
  // Seconds to the unit of the charts; the number of the cell; and the points of the span that is looked at.
  let factor = 1;
  let cell = null;
  let detail = null;
  // Zooming asks once the hand has come to rest.
  const REST_MS = 200;
  let drawing = false;
  let waiting = null;

  function row(parent, kind, texts) {
    const made = document.createElement(parent.tagName === "DL" ? "div" : "tr");
    texts.forEach((text, place) => {
      const cell = document.createElement(kind[place] ?? kind[0]);
      cell.textContent = text;
      made.append(cell);
    });
    parent.append(made);
  }

  function head(found) {
    told.textContent = found.told;
    told.dataset.state = found.state;
    if (found.state === "ended") document.getElementById("stop")?.remove();
    document.getElementById("place").textContent = found.place;
    const tiles = document.getElementById("tiles");
    tiles.replaceChildren();
    for (const tile of found.tiles) row(tiles, ["dt", "dd"], tile);
    const soFar = document.getElementById("so-far");
    soFar.hidden = !found.verdict;
    soFar.textContent = found.verdict ? "So far: " + found.verdict : "";
    const rows = document.getElementById("happened-rows");
    rows.replaceChildren();
    for (const event of found.events.toReversed()) row(rows, ["td"], event);
    document.getElementById("happened").hidden = !found.events.length;
  }

  // The points of the span in place of those that the whole run has there.
  function withDetail() {
    const found = { axes: [], lines: {} };
    for (const [name, line] of Object.entries(lines)) {
      const axis = axes[line.t];
      const fine = detail.lines[name];
      let first = axis.findIndex((at) => at >= detail.from);
      let rest = axis.findIndex((at) => at > detail.to);
      if (first < 0) first = axis.length;
      if (rest < 0) rest = axis.length;
      const inside = fine ? detail.axes[fine.t] : axis.slice(first, rest);
      const values = fine ? fine.v : line.v.slice(first, rest);
      const kept = [...inside.keys()].filter((i) => inside[i] >= detail.from && inside[i] <= detail.to);
      found.lines[name] = {
        t: found.axes.length,
        v: [...line.v.slice(0, first), ...kept.map((i) => values[i]), ...line.v.slice(rest)],
      };
      found.axes.push([...axis.slice(0, first), ...kept.map((i) => inside[i]), ...axis.slice(rest)]);
    }
    return found;
  }

  const watched = new WeakMap();
  let shown = [];
  let resting = null;
  function watchZoom(plot, figure) {
    const known = watched.has(plot);
    watched.set(plot, figure);
    if (known || !figure.linked) return;
    plot.on("plotly_relayout", (change) => {
      if (!Object.keys(change).some((name) => name.startsWith("xaxis."))) return;
      clearTimeout(resting);
      resting = setTimeout(() => look(plot), REST_MS);
    });
  }

  // Whoever looks at a part of the time gets its points; the whole needs none.
  async function look(plot) {
    const home = watched.get(plot).layout.xaxis.range.map(Number);
    const [from, to] = plot.layout.xaxis.range.map(Number);
    const whole = from <= home[0] && to >= home[1];
    if (whole) detail = null;
    else {
      const place = charts.dataset.events.replace(/events$/, "span");
      const answer = await fetch(`${place}?from=${from / factor}&to=${to / factor}`);
      if (!answer.ok) return; // the run is over and nobody watches it any more: what is drawn stays
      const found = await answer.json();
      if (!found.times || found.cell !== cell) return;
      const fine = found.times.map((table) => Array.from(times(table, 1)));
      const last = Math.max(...fine.map((axis) => axis.at(-1) ?? 0));
      // What is recorded later comes with the next message.
      detail = { from: from / factor, to: Math.min(to / factor, last), axes: fine, lines: found.lines };
      const count = Math.max(...fine.map((axis) => axis.length));
      document.body.dataset.detail = String(count);
    }
    draw({ figures: shown, factor });
  }

  // Drawing takes longer than a message now and then: the last one is drawn, with all points of those before.
  async function draw(found) {
    waiting = found;
    if (drawing) return;
    drawing = true;
    while (waiting) {
      const { figures } = waiting;
      factor = waiting.factor;
      waiting = null;
      const keys = new Set(figures.map((figure) => "chart-" + figure.key));
      const whole = detail ? withDetail() : { axes, lines };
      const scaled = whole.axes.map((axis) => axis.map((at) => at * factor));
      for (const plot of [...charts.querySelectorAll(".plot")]) {
        if (keys.has(plot.id)) continue;
        drop(plot);
        plot.closest("section").remove();
      }
      for (const figure of figures) {
        await show(charts, { ...figure, wide: true }, resolve(figure, whole, scaled));
        watchZoom(document.getElementById("chart-" + figure.key), figure);
      }
      shown = figures;
      document.body.dataset.state = "ready";
      document.body.dataset.points = String(Math.max(0, ...axes.map((axis) => axis.length)));
    }
    drawing = false;
  }

  const source = new EventSource(charts.dataset.events);
  source.addEventListener("all", (event) => {
    const found = JSON.parse(event.data);
    axes = found.times.map((table) => Array.from(times(table, 1)));
    lines = found.lines;
    cell = found.cell;
    detail = null;
    head(found);
    draw(found);
  });
  source.addEventListener("more", (event) => {
    const found = JSON.parse(event.data);
    head(found);
    if (!found.figures) return;
    for (const axis of axes) axis.push(...found.times);
    for (const [name, line] of Object.entries(lines)) {
      found.times.forEach((_, place) => line.v.push(found.lines[name]?.[place] ?? null));
    }
    draw(found);
    if (found.state === "ended") source.close();
  });
  source.addEventListener("failed", (event) => {
    told.textContent = JSON.parse(event.data).told;
    told.dataset.state = "failed";
    source.close();
  });
  source.addEventListener("error", () => {
    if (told.dataset.state === "ended" || told.dataset.state === "failed") source.close();
    else told.textContent = "The connection to flatwater serve is lost; it is tried again.";
  });
  window.addEventListener("pagehide", () => source.close());
})();
