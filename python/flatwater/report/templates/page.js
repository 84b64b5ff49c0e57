"use strict";
(() => {
  const CONFIG = {
    displaylogo: false,
    responsive: true,
    doubleClick: "reset",
    // Named one by one: plotly's own list has buttons that send the chart to a service.
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d", "resetScale2d"]],
  };
  const parse = (id) => JSON.parse(document.getElementById(id).textContent);
  const report = parse("report-data");
  const cellCharts = document.getElementById("cell-charts");
  const choice = document.getElementById("cell-choice");

  // Times come as steps of a unit (report/recorded.py), so that a regular axis costs nothing.
  function times(table, factor) {
    const count = table.count ?? table.steps.length + 1;
    const found = new Float64Array(count);
    let tick = table.first;
    for (let i = 0; i < count; i++) {
      found[i] = tick * table.unit * factor;
      tick += table.steps && i < table.steps.length ? table.steps[i] : 1;
    }
    return found;
  }

  function resolve(figure, cell, axes) {
    return figure.data.map((trace) => {
      if (!trace.series) return trace;
      const { series, scale, positive, ...rest } = trace;
      const line = cell.lines[series];
      const y = line.v.map((value) => (value === null || (positive && value <= 0) ? null : value * scale));
      return { ...rest, x: axes[line.t], y };
    });
  }

  function frame(parent, figure) {
    const section = document.createElement("section");
    section.className = figure.wide ? "chart wide" : "chart";
    const title = document.createElement("h3");
    title.textContent = figure.title;
    const about = document.createElement("p");
    about.textContent = figure.about;
    const plot = document.createElement("div");
    plot.id = "chart-" + figure.key;
    plot.className = "plot";
    plot.style.height = figure.height + "px";
    section.append(title, about, plot);
    parent.append(section);
    return plot;
  }

  async function draw(plot, figure, data) {
    // Plotly changes what it is given; the template is shared.
    const layout = { ...figure.layout, height: figure.height, template: structuredClone(report.template) };
    await Plotly.newPlot(plot, data, layout, CONFIG);
  }

  // The charts over time show one span: what one of them zooms to, all of them do.
  function link(plots) {
    if (plots.length < 2) return;
    const home = plots[0].layout.xaxis.range.slice();
    let shown = home;
    let source = null;
    let following = false;
    async function follow() {
      if (following) return;
      following = true;
      while (source) {
        const from = source;
        source = null;
        for (const plot of plots) {
          if (plot !== from) await Plotly.relayout(plot, { "xaxis.range": shown.slice() });
        }
      }
      following = false;
    }
    for (const plot of plots) {
      plot.on("plotly_relayout", (change) => {
        let range = change["xaxis.range"];
        if (change["xaxis.autorange"]) range = home;
        else if (change["xaxis.range[0]"] !== undefined) range = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
        if (!range || (range[0] === shown[0] && range[1] === shown[1])) return;
        shown = range.map(Number);
        source = plot;
        follow();
      });
    }
  }

  let drawing = 0;
  async function showCell(index) {
    const turn = ++drawing;
    document.body.dataset.state = "drawing";
    for (const plot of cellCharts.querySelectorAll(".plot")) Plotly.purge(plot);
    cellCharts.replaceChildren();
    for (const text of document.querySelectorAll(".cell-text")) text.hidden = text.dataset.cell !== String(index);
    if (choice) choice.value = String(index);
    const cell = parse("cell-" + index);
    const axes = cell.times.map((table) => times(table, cell.factor));
    const plots = cell.figures.map((figure) => frame(cellCharts, figure));
    for (let i = 0; i < plots.length; i++) {
      await draw(plots[i], cell.figures[i], resolve(cell.figures[i], cell, axes));
      if (turn !== drawing) return; // another cell was chosen meanwhile
    }
    link(plots.filter((_, i) => cell.figures[i].linked));
    document.body.dataset.state = "ready";
  }

  function asked() {
    const match = /^#cell-(\d+)$/.exec(location.hash);
    return match && document.getElementById("cell-" + match[1]) ? match[1] : null;
  }

  async function start() {
    // All frames before the first drawing: a chart takes the width that its frame then has.
    const frames = report.sweep.map((figure) => frame(document.getElementById("sweep-charts"), figure));
    for (let i = 0; i < frames.length; i++) await draw(frames[i], report.sweep[i], report.sweep[i].data);
    const first = asked() ?? document.querySelector(".cell-text")?.dataset.cell;
    if (first === undefined) document.body.dataset.state = "ready";
    else await showCell(first);
    choice?.addEventListener("change", () => {
      location.hash = "cell-" + choice.value;
    });
    window.addEventListener("hashchange", () => {
      const index = asked();
      if (index === null) return;
      showCell(index);
      document.getElementById("cells").scrollIntoView();
    });
  }

  // Paper is narrower than the window.
  const PAPER_WIDTH = 700;
  const all = () => document.querySelectorAll(".plot");
  window.addEventListener("beforeprint", () => {
    for (const plot of all()) Plotly.relayout(plot, { width: PAPER_WIDTH });
  });
  window.addEventListener("afterprint", () => {
    for (const plot of all()) Plotly.relayout(plot, { width: null, autosize: true });
  });

  start();
})();
