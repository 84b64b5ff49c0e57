"use strict";
(() => {
  const CONFIG = {
    displaylogo: false,
    responsive: true,
    doubleClick: "reset",
    // Named one by one: plotly's own list has buttons that send the chart to a service.
    modeBarButtons: [["toImage"], ["zoom2d", "pan2d", "resetScale2d"]],
  };
  // Paper is narrower than the window, and white. More cells than these are printed without their charts.
  const PAPER_WIDTH = 700;
  const PRINTED_MAX = 24;
  // A key press zooms by this factor, and moves by this share of what is shown.
  const ZOOM = 0.7;
  const MOVE = 0.2;
  // The pointer moves more often than a screen shows.
  const FRAME_MS = 16;
  const parse = (id) => JSON.parse(document.getElementById(id).textContent);
  const report = parse("report-data");
  const choice = document.getElementById("cell-choice");
  const sections = [...document.querySelectorAll("section.cell")];
  const darkPage = window.matchMedia("(prefers-color-scheme: dark)");
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
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

  function resolve(figure, cell, axes) {
    return figure.data.map((trace) => {
      if (!trace.series) return trace;
      const { series, scale, positive, ...rest } = trace;
      const line = cell.lines[series];
      const y = line.v.map((value) => (value === null || (positive && value <= 0) ? null : value * scale));
      return { ...rest, x: axes[line.t], y };
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

  function draw(plot, figure, data) {
    drawn.set(plot, { figure, data });
    // Plotly changes what it is given; the template is shared.
    const layout = { ...coloured(figure.layout), height: figure.height, template: coloured(report.template) };
    if (printing && !sheet) layout.width = PAPER_WIDTH;
    return Plotly.newPlot(plot, coloured(data), layout, CONFIG);
  }

  // What grows (`flatwater serve`) is handed in again and again: a figure, and its traces with their points. Whoever
  // has zoomed keeps what is shown.
  function show(parent, figure, data) {
    const plot = document.getElementById("chart-" + figure.key);
    if (!plot) return draw(frame(parent, figure), figure, data);
    const before = drawn.get(plot).figure;
    const home = before.layout.xaxis.range.map(Number);
    const zoomed = plot.layout?.xaxis?.range?.some((end, i) => Math.abs(Number(end) - home[i]) > 1e-9);
    if (!zoomed && plot.layout?.xaxis) plot.layout.xaxis.range = figure.layout.xaxis.range.slice();
    plot.style.height = figure.height + "px";
    drawn.set(plot, { figure, data });
    return redraw(plot);
  }
  window.flatwater = { show, drop, times, resolve };

  function drop(plot) {
    Plotly.purge(plot);
    drawn.delete(plot);
  }

  // What is shown keeps its zoom when the colours change.
  function redraw(plot) {
    const { figure, data } = drawn.get(plot);
    const range = plot.layout?.xaxis?.range?.slice();
    const layout = { ...coloured(figure.layout), height: figure.height, template: coloured(report.template) };
    if (range && figure.linked) layout.xaxis = { ...layout.xaxis, range };
    if (printing && !sheet) layout.width = PAPER_WIDTH;
    return Plotly.react(plot, coloured(data), layout, CONFIG);
  }

  // The charts over time show one span: what one of them zooms to, all of them do.
  function linkZoom(plots) {
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

  // One upright line through all charts over time at the moment under the pointer, and their values there. All of them
  // have the same margins, so a moment is at the same pixel in each.
  function linkPointer(plots) {
    const lines = plots.map((plot) => {
      const line = document.createElement("div");
      line.className = "crosshair";
      line.hidden = true;
      plot.append(line);
      return line;
    });
    let wanted = null;
    function show() {
      const { from, at, x } = wanted;
      wanted = null;
      plots.forEach((plot, i) => {
        lines[i].style.left = x + "px";
        lines[i].hidden = false;
        const place = plot.getBoundingClientRect();
        const seen = place.bottom > 0 && place.top < window.innerHeight;
        if (plot !== from && seen) Plotly.Fx.hover(plot, { xval: at });
      });
    }
    plots.forEach((plot) => {
      plot.on("plotly_hover", (found) => {
        // The values that other charts show for this line are no pointer of theirs.
        if (!found.event || found.event.clientX === undefined || !found.xvals) return;
        const first = wanted === null;
        const x = found.event.clientX - plot.getBoundingClientRect().left;
        wanted = { from: plot, at: found.xvals[0], x };
        if (first) setTimeout(show, FRAME_MS);
      });
      plot.addEventListener("mouseleave", () => {
        plots.forEach((one, i) => {
          lines[i].hidden = true;
          if (one !== plot) Plotly.Fx.unhover(one);
        });
      });
    });
  }

  function withKeys(plot, home) {
    plot.addEventListener("keydown", (event) => {
      const [low, high] = plot.layout.xaxis.range.map(Number);
      const span = high - low;
      const middle = (low + high) / 2;
      const moved = {
        "+": () => [middle - (span * ZOOM) / 2, middle + (span * ZOOM) / 2],
        "-": () => [middle - span / ZOOM / 2, middle + span / ZOOM / 2],
        ArrowLeft: () => [low - span * MOVE, high - span * MOVE],
        ArrowRight: () => [low + span * MOVE, high + span * MOVE],
        Home: () => home,
      }[event.key === "=" ? "+" : event.key];
      if (!moved || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      const [from, to] = moved();
      // Nothing was recorded before the start and after the end.
      const width = Math.min(to - from, home[1] - home[0]);
      const start = Math.min(Math.max(from, home[0]), home[1] - width);
      Plotly.relayout(plot, { "xaxis.range": [start, start + width] });
    });
  }

  function framesOf(section) {
    const cell = parse("cell-" + section.dataset.cell);
    const axes = cell.times.map((table) => times(table, cell.factor));
    const parent = section.querySelector(".cell-charts");
    parent.replaceChildren();
    return cell.figures.map((figure) => ({
      figure,
      plot: frame(parent, figure),
      data: () => resolve(figure, cell, axes),
    }));
  }

  let drawing = 0;
  async function showCell(index) {
    const turn = ++drawing;
    document.body.dataset.state = "drawing";
    for (const plot of document.querySelectorAll(".cell-charts .plot")) drop(plot);
    for (const section of sections) {
      section.querySelector(".cell-charts").replaceChildren();
      section.hidden = section.dataset.cell !== String(index);
    }
    if (choice) choice.value = String(index);
    const frames = framesOf(sections.find((section) => !section.hidden));
    for (const { plot, figure, data } of frames) {
      await draw(plot, figure, data());
      if (turn !== drawing) return; // another cell was chosen meanwhile
    }
    const linked = frames.filter(({ figure }) => figure.linked).map(({ plot }) => plot);
    linkZoom(linked);
    linkPointer(linked);
    for (const plot of linked) withKeys(plot, plot.layout.xaxis.range.slice());
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
    for (let i = 0; i < frames.length; i++) await draw(frames[i], report.sweep[i], report.sweep[i].data);
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

  darkPage.addEventListener("change", () => {
    for (const plot of drawn.keys()) redraw(plot);
  });

  // Every cell is printed, in the colours of paper.
  const added = [];
  window.addEventListener("beforeprint", () => {
    printing = true;
    for (const plot of drawn.keys()) redraw(plot);
    sections.forEach((section, place) => {
      if (!section.hidden) return;
      section.hidden = false;
      added.push(section);
      if (place >= PRINTED_MAX) return;
      for (const { plot, figure, data } of framesOf(section)) draw(plot, figure, data());
    });
  });
  window.addEventListener("afterprint", () => {
    printing = false;
    for (const section of added.splice(0)) {
      for (const plot of section.querySelectorAll(".plot")) drop(plot);
      section.querySelector(".cell-charts").replaceChildren();
      section.hidden = true;
    }
    for (const plot of drawn.keys()) redraw(plot);
  });

  start();
})();
