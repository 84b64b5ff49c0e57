"use strict";
// Charts as plotly draws them, from the figures of a page: in its colours, on the screen and on paper.
window.flatwater = {};
(() => {
  const CONFIG = {
    displaylogo: false,
    responsive: true,
    doubleClick: "reset",
    // Named one by one: plotly's own list has buttons that send the chart to a service.
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d", "resetScale2d"]],
  };
  // Paper is narrower than the window, and white.
  const PAPER_WIDTH = 700;
  const parse = (id) => JSON.parse(document.getElementById(id).textContent);
  const report = parse("report-data");
  const darkPage = window.matchMedia("(prefers-color-scheme: dark)");
  // A sheet has the width of paper already.
  const sheet = document.body.classList.contains("sheet");
  let printing = false;
  // Each drawn chart -> its figure and its points, to draw it in other colours.
  const drawn = new Map();

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

  // The traces of a figure with the points of their lines, whose times are seconds; an axis is in the figure's unit.
  function resolve(figure, lines, axes, factor) {
    return figure.data.map((trace) => {
      if (!trace.series) return trace;
      const { series, scale, positive, ...rest } = trace;
      const line = lines[series];
      const y = line.v.map((value) => (value === null || (positive && value <= 0) ? null : value * scale));
      return { ...rest, x: axes[line.t].map((at) => at * factor), y };
    });
  }

  // A copy in the colours of the page. Points are never colours, so they are not looked at.
  function coloured(value) {
    const dark = darkPage.matches && !printing;
    const copy = (one) => {
      if (typeof one === "string") return dark ? (report.dark[one] ?? one) : one;
      if (Array.isArray(one)) return one.map(copy);
      if (one === null || typeof one !== "object" || ArrayBuffer.isView(one)) return one;
      return Object.fromEntries(
        Object.entries(one).map(([name, part]) => [name, name === "x" || name === "y" ? part : copy(part)]),
      );
    };
    return copy(value);
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
    plot.tabIndex = 0;
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", figure.title + ". " + figure.about);
    section.append(title, about, plot);
    parent.append(section);
    return plot;
  }

  function layoutOf(figure) {
    // Plotly changes what it is given; the template is shared.
    const layout = { ...coloured(figure.layout), height: figure.height, template: coloured(report.template) };
    if (printing && !sheet) layout.width = PAPER_WIDTH;
    return layout;
  }

  function draw(plot, figure, data) {
    drawn.set(plot, { figure, data });
    return Plotly.newPlot(plot, coloured(data), layoutOf(figure), CONFIG);
  }

  // A chart that is drawn, with other points or as another figure. Whoever has zoomed keeps what is shown.
  function update(plot, figure, data) {
    const home = homeOf(plot);
    const zoomed = home && rangeOf(plot)?.some((end, i) => Math.abs(end - home[i]) > 1e-9);
    if (home && !zoomed) plot.layout.xaxis.range = figure.layout.xaxis.range.slice();
    plot.style.height = figure.height + "px";
    drawn.set(plot, { figure, data });
    return redraw(plot);
  }

  // What is shown keeps its zoom when the colours change.
  function redraw(plot) {
    const { figure, data } = drawn.get(plot);
    const range = plot.layout?.xaxis?.range?.slice();
    const layout = layoutOf(figure);
    if (range && figure.layout.xaxis?.range) layout.xaxis = { ...layout.xaxis, range };
    return Plotly.react(plot, coloured(data), layout, CONFIG);
  }

  function drop(plot) {
    Plotly.purge(plot);
    drawn.delete(plot);
  }

  // The x axis of a chart as it is shown, and as it was drawn; null if it has no numbers.
  const rangeOf = (plot) => numbers(plot.layout?.xaxis?.range);
  const homeOf = (plot) => numbers(drawn.get(plot)?.figure.layout.xaxis?.range);
  function numbers(range) {
    const found = range?.map(Number);
    return found?.length === 2 && found.every(Number.isFinite) ? found : null;
  }

  function onPaper(wanted) {
    printing = wanted;
    for (const plot of drawn.keys()) redraw(plot);
  }

  darkPage.addEventListener("change", () => {
    for (const plot of drawn.keys()) redraw(plot);
  });

  Object.assign(window.flatwater, {
    ...{ parse, report, times, resolve, frame, draw, update, drop, rangeOf, homeOf, onPaper },
  });
})();
