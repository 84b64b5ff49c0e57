"use strict";
// Charts by keys, and charts over one time as one: what one of them zooms to, all of them do.
(() => {
  const { homeOf, rangeOf } = window.flatwater;
  // A key press zooms by this factor, and moves by this share of what is shown.
  const ZOOM = 0.7;
  const MOVE = 0.2;
  // The pointer moves more often than a screen shows.
  const FRAME_MS = 16;
  const same = (one, other) => one.every((end, i) => Math.abs(end - other[i]) <= 1e-9 * (other[1] - other[0]));

  function withKeys(plot) {
    // A chart whose axis was not told in numbers has what plotly chose for it.
    const drawn = rangeOf(plot);
    if (!drawn || plot.layout.xaxis.fixedrange) return;
    plot.addEventListener("keydown", (event) => {
      const home = homeOf(plot) ?? drawn;
      const [low, high] = rangeOf(plot);
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

  // `zoomed` is called with what all charts show from then on, and with null when that is all of it.
  window.flatwater.together = (zoomed = () => {}) => {
    const plots = [];
    let shown = null;
    let source = null;
    let following = false;

    async function follow() {
      if (following) return;
      following = true;
      while (source) {
        const from = source;
        source = null;
        for (const plot of [...plots]) {
          const wanted = shown ?? homeOf(plot);
          if (plot !== from && wanted) await Plotly.relayout(plot, { "xaxis.range": wanted.slice() });
        }
      }
      following = false;
    }

    function linkZoom(plot) {
      // Where plotly's own way back leads: to what was drawn first. A chart that has grown has more by now.
      const first = rangeOf(plot);
      plot.on("plotly_relayout", (change) => {
        const home = homeOf(plot);
        let range = change["xaxis.range"];
        if (change["xaxis.autorange"]) range = home;
        else if (change["xaxis.range[0]"] !== undefined) range = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
        if (!range) return;
        range = range.map(Number);
        const back = same(range, first) || same(range, home);
        const stale = back && !same(range, home) && !change["xaxis.autorange"];
        if (same(back ? home : range, shown ?? home) && !stale) return;
        shown = back ? null : range;
        source = stale ? plots : plot;
        follow();
        zoomed(shown);
      });
    }

    // One upright line through all charts over time at the moment under the pointer, and their values there. All of
    // them have the same margins, so a moment is at the same pixel in each.
    const lines = new Map();
    let wanted = null;
    function point() {
      const { from, at, x } = wanted;
      wanted = null;
      for (const [plot, line] of lines) {
        line.style.left = x + "px";
        line.hidden = false;
        const place = plot.getBoundingClientRect();
        const seen = place.bottom > 0 && place.top < window.innerHeight;
        if (plot !== from && seen) Plotly.Fx.hover(plot, { xval: at });
      }
    }
    function linkPointer(plot) {
      const line = document.createElement("div");
      line.className = "crosshair";
      line.hidden = true;
      plot.append(line);
      lines.set(plot, line);
      plot.on("plotly_hover", (found) => {
        // The values that other charts show for this line are no pointer of theirs.
        if (!found.event || found.event.clientX === undefined || !found.xvals) return;
        const first = wanted === null;
        const x = found.event.clientX - plot.getBoundingClientRect().left;
        wanted = { from: plot, at: found.xvals[0], x };
        if (first) setTimeout(point, FRAME_MS);
      });
      plot.addEventListener("mouseleave", () => {
        for (const [one, upright] of lines) {
          upright.hidden = true;
          if (one !== plot) Plotly.Fx.unhover(one);
        }
      });
    }

    // A chart that is drawn already.
    function add(plot) {
      plots.push(plot);
      linkZoom(plot);
      linkPointer(plot);
      withKeys(plot);
      if (shown) Plotly.relayout(plot, { "xaxis.range": shown.slice() });
    }

    function remove(plot) {
      const place = plots.indexOf(plot);
      if (place >= 0) plots.splice(place, 1);
      lines.delete(plot);
    }

    // The same time in another unit.
    function rescale(ratio) {
      if (!shown) return;
      shown = shown.map((at) => at * ratio);
      for (const plot of plots) plot.layout.xaxis.range = shown.slice();
    }

    // What is drawn from now on is shown as a whole.
    function whole() {
      shown = null;
    }

    return { add, remove, rescale, whole };
  };
  window.flatwater.withKeys = withKeys;
})();
