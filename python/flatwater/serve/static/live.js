"use strict";
(() => {
  // A run under way: first all that was recorded, then what is new, drawn by the report's own charts (page.js).
  const { show, drop, times, resolve } = window.flatwater;
  const charts = document.getElementById("sweep-charts");
  const told = document.getElementById("told");
  // Seconds of the cell's time, one list for each time axis; and the lines on them.
  let axes = [];
  let lines = {};
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

  // Drawing takes longer than a message now and then: the last one is drawn, with all points of those before.
  async function draw(found) {
    waiting = found;
    if (drawing) return;
    drawing = true;
    while (waiting) {
      const { figures, factor } = waiting;
      waiting = null;
      const keys = new Set(figures.map((figure) => "chart-" + figure.key));
      const scaled = axes.map((axis) => axis.map((at) => at * factor));
      for (const plot of [...charts.querySelectorAll(".plot")]) {
        if (keys.has(plot.id)) continue;
        drop(plot);
        plot.closest("section").remove();
      }
      for (const figure of figures) {
        await show(charts, { ...figure, wide: true }, resolve(figure, { lines }, scaled));
      }
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
