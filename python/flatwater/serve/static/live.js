"use strict";
(() => {
  // A run under way: first all that was recorded, then what is new, drawn by the report's own charts (charts.js).
  const { times, resolve, frame, draw, update, drop, onPaper } = window.flatwater;
  const charts = document.getElementById("sweep-charts");
  const told = document.getElementById("told");
  const { run } = charts.dataset;
  // Seconds of the cell's time, one list for each time axis; and the lines on them.
  let axes = [];
  let lines = {};
  // The number of the cell; seconds to the unit of the charts; and whether lines have fewer points than were recorded.
  let cell = null;
  let factor = 1;
  let thinned = false;
  // The span that the charts show, in their unit; null is all of it.
  let shown = null;
  let figures = [];
  let drawing = false;
  let waiting = false;
  const closer = window.flatwater.closer(`${run}/span`, () => {}); // without more points, what is drawn stays
  const group = window.flatwater.together((range) => {
    shown = range;
    if (range) look();
    else {
      closer.forget();
      redraw();
    }
  });

  function look() {
    if (shown && thinned) closer.look(cell, shown[0] / factor, shown[1] / factor, redraw);
  }

  function row(parent, kind, texts) {
    const made = document.createElement(parent.tagName === "DL" ? "div" : "tr");
    texts.forEach((text, place) => {
      const part = document.createElement(kind[place] ?? kind[0]);
      part.textContent = text;
      made.append(part);
    });
    parent.append(made);
  }

  function tell(state, text, unfinished = false) {
    told.textContent = text;
    told.dataset.state = state;
    const resume = document.getElementById("resume");
    if (resume) resume.hidden = !unfinished;
    if (state !== "ended") return;
    document.getElementById("stop")?.remove();
    const report = document.getElementById("report");
    report.querySelector("a").textContent = "The report";
    told.after(report);
  }

  function head(found) {
    tell(found.state, found.told, found.unfinished);
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

  function remove(plot) {
    group.remove(plot);
    drop(plot);
    plot.closest("section").remove();
  }

  // Drawing takes longer than a message now and then: the last one is drawn, with all points of those before. As long
  // as it took, the browser has for its user.
  async function redraw() {
    waiting = true;
    if (drawing) return;
    drawing = true;
    while (waiting) {
      waiting = false;
      const began = performance.now();
      await drawFigures();
      document.body.dataset.state = "ready";
      document.body.dataset.points = String(Math.max(0, ...axes.map((axis) => axis.length)));
      const took = performance.now() - began;
      await new Promise((done) => setTimeout(done, took));
    }
    drawing = false;
  }

  async function drawFigures() {
    const fine = closer.within(lines, axes);
    const keys = new Set(figures.map((figure) => "chart-" + figure.key));
    for (const plot of [...charts.querySelectorAll(".plot")]) if (!keys.has(plot.id)) remove(plot);
    for (const figure of figures.map((one) => ({ ...one, wide: true }))) {
      const data = resolve(figure, fine.lines, fine.axes, factor);
      const there = document.getElementById("chart-" + figure.key);
      if (there) await update(there, figure, data);
      else {
        const plot = frame(charts, figure);
        await draw(plot, figure, data);
        (figure.linked ? group.add : window.flatwater.withKeys)(plot);
      }
    }
  }

  // Hours have another unit than minutes.
  function measure(found) {
    if (found.factor !== factor) group.rescale(found.factor / factor);
    if (shown) shown = shown.map((at) => (at * found.factor) / factor);
    factor = found.factor;
    figures = found.figures;
  }

  const feed = window.flatwater.feed(
    `${run}/events`,
    {
      all(found) {
        if (found.state === "ended") feed.end();
        if (found.state === "ended" && !found.figures.length) {
          // It ended while nobody looked: what was drawn stays, and otherwise the report has it.
          if (figures.length) tell(found.state, found.told, found.unfinished);
          else location.replace(run);
          return;
        }
        if (found.cell !== cell) {
          closer.forget();
          [...charts.querySelectorAll(".plot")].forEach(remove);
          group.whole();
          shown = null;
        }
        ({ cell, thinned, lines } = found);
        axes = found.times.map((table) => Array.from(times(table, 1)));
        head(found);
        measure(found);
        look();
        redraw();
      },
      more(found) {
        if (found.state === "ended") feed.end();
        head(found);
        if (!found.figures) return;
        for (const axis of axes) axis.push(...found.times);
        for (const [name, line] of Object.entries(lines)) {
          found.times.forEach((_, place) => line.v.push(found.lines[name]?.[place] ?? null));
        }
        measure(found);
        redraw();
      },
      failed(found) {
        feed.end();
        tell("failed", found.told);
      },
    },
    (why) => tell("lost", why),
  );
  window.addEventListener("beforeprint", () => onPaper(true));
  window.addEventListener("afterprint", () => onPaper(false));
})();
