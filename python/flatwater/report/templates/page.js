"use strict";
// The report: the charts of the sweep, and those of one cell after the other.
(() => {
  const { parse, report, times, resolve, frame, draw, update, drop, onPaper } = window.flatwater;
  // More cells than these are printed without their charts.
  const PRINTED_MAX = 24;
  const choice = document.getElementById("cell-choice");
  const sections = [...document.querySelectorAll("section.cell")];
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const { spans } = document.body.dataset;
  const closer = spans ? window.flatwater.closer(spans, tellOfMore) : null;

  function tellOfMore(why) {
    const told = document.getElementById("closer");
    told.hidden = !why;
    told.textContent = why ? `There are no more points of this time: ${why}.` : "";
  }

  function framesOf(section) {
    const cell = parse("cell-" + section.dataset.cell);
    const axes = cell.times.map((table) => times(table, 1));
    const parent = section.querySelector(".cell-charts");
    parent.replaceChildren();
    const frames = cell.figures.map((figure) => ({ figure, plot: frame(parent, figure) }));
    return { frames, cell, axes, data: (figure) => resolve(figure, cell.lines, axes, cell.factor) };
  }

  // What the charts of a cell show of its time has changed: null is all of it.
  function zoomed(index, { frames, cell, axes }, range) {
    if (!closer || !cell.thinned) return;
    const redraw = async () => {
      const fine = closer.within(cell.lines, axes);
      for (const { figure, plot } of frames) {
        if (!plot.isConnected) return; // another cell was chosen meanwhile
        if (figure.linked) await update(plot, figure, resolve(figure, fine.lines, fine.axes, cell.factor));
      }
    };
    if (range) closer.look(index, range[0] / cell.factor, range[1] / cell.factor, redraw);
    else {
      closer.forget();
      redraw();
    }
  }

  let drawing = 0;
  async function showCell(index) {
    const turn = ++drawing;
    document.body.dataset.state = "drawing";
    closer?.forget();
    for (const plot of document.querySelectorAll(".cell-charts .plot")) drop(plot);
    for (const section of sections) {
      section.querySelector(".cell-charts").replaceChildren();
      section.hidden = section.dataset.cell !== String(index);
    }
    if (choice) choice.value = String(index);
    const shown = framesOf(sections.find((section) => !section.hidden));
    for (const { plot, figure } of shown.frames) {
      await draw(plot, figure, shown.data(figure));
      if (turn !== drawing) return; // another cell was chosen meanwhile
    }
    const group = window.flatwater.together((range) => zoomed(index, shown, range));
    for (const { plot, figure } of shown.frames) (figure.linked ? group.add : window.flatwater.withKeys)(plot);
    document.body.dataset.state = "ready";
  }

  function asked() {
    const match = /^#cell-(\d+)$/.exec(location.hash);
    return match && document.getElementById("cell-" + match[1]) ? match[1] : null;
  }

  function step(by) {
    const place = Math.min(Math.max(choice.selectedIndex + by, 0), choice.options.length - 1);
    location.hash = "cell-" + choice.options[place].value;
  }

  async function start() {
    // All frames before the first drawing: a chart takes the width that its frame then has.
    const frames = report.sweep.map((figure) => frame(document.getElementById("sweep-charts"), figure));
    for (let i = 0; i < frames.length; i++) {
      await draw(frames[i], report.sweep[i], report.sweep[i].data);
      window.flatwater.withKeys(frames[i]);
    }
    const first = asked() ?? sections[0]?.dataset.cell;
    if (first === undefined) document.body.dataset.state = "ready";
    else await showCell(first);
    choice?.addEventListener("change", () => {
      location.hash = "cell-" + choice.value;
    });
    document.getElementById("cell-before")?.addEventListener("click", () => step(-1));
    document.getElementById("cell-after")?.addEventListener("click", () => step(1));
    window.addEventListener("hashchange", () => {
      const index = asked();
      if (index === null) return;
      showCell(index);
      document.getElementById("cells").scrollIntoView({ behavior: calm.matches ? "auto" : "smooth" });
    });
  }

  // Every cell is printed, in the colours of paper.
  const added = [];
  window.addEventListener("beforeprint", () => {
    onPaper(true);
    sections.forEach((section, place) => {
      if (!section.hidden) return;
      section.hidden = false;
      added.push(section);
      if (place >= PRINTED_MAX) return;
      const { frames, data } = framesOf(section);
      for (const { plot, figure } of frames) draw(plot, figure, data(figure));
    });
  });
  window.addEventListener("afterprint", () => {
    for (const section of added.splice(0)) {
      for (const plot of section.querySelectorAll(".plot")) drop(plot);
      section.querySelector(".cell-charts").replaceChildren();
      section.hidden = true;
    }
    onPaper(false);
  });

  start();
})();
