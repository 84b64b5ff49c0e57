"use strict";
// More points of the time that is looked at, from `flatwater serve`: a page has at most some thousands of each line.
(() => {
  const { times } = window.flatwater;
  // Zooming asks once the hand has come to rest.
  const REST_MS = 200;

  // `address` is where a span is asked for, `tell` what is called with why there is none, or with nothing.
  window.flatwater.closer = (address, tell) => {
    let found = null;
    let turn = 0;
    let resting = null;

    function forget() {
      clearTimeout(resting);
      turn++;
      found = null;
    }

    // Asks for a span of a cell, in seconds; `then` is called when there is another one to draw.
    function look(cell, from, to, then) {
      const before = found;
      forget();
      // What is there stays until there is better: its points are right for their time.
      found = before;
      const ours = turn;
      resting = setTimeout(async () => {
        const fetched = await ask(cell, from, to);
        if (ours !== turn || !fetched) return;
        found = fetched;
        then();
      }, REST_MS);
    }

    async function ask(cell, from, to) {
      const place = `${address}?${new URLSearchParams({ cell, from, to })}`;
      const answer = await fetch(place).catch(() => null);
      if (!answer?.ok) {
        tell(answer ? `flatwater serve answers with ${answer.status}` : "flatwater serve does not answer");
        return null;
      }
      const span = await answer.json();
      tell("");
      const axes = span.times.map((table) => times(table, 1));
      const last = Math.max(...axes.map((axis) => axis.at(-1) ?? 0));
      document.body.dataset.closer = String(Math.max(0, ...axes.map((axis) => axis.length)));
      // What was recorded later, the page has itself.
      return { from, to: Math.min(to, last), axes, lines: span.lines };
    }

    // The lines of a page with the points of the span in place of those that they have there.
    function within(lines, axes) {
      if (!found) return { lines, axes };
      const merged = { lines: {}, axes: [] };
      const places = new Map();
      for (const [name, line] of Object.entries(lines)) {
        const fine = found.lines[name];
        const key = `${line.t} ${fine ? fine.t : ""}`;
        if (!places.has(key)) {
          places.set(key, { t: merged.axes.length, ...around(axes[line.t], fine && found.axes[fine.t]) });
          merged.axes.push(places.get(key).axis);
        }
        const { t, before, inside, after } = places.get(key);
        const values = fine ? inside.map((i) => fine.v[i]) : line.v.slice(before, after);
        merged.lines[name] = { t, v: [...line.v.slice(0, before), ...values, ...line.v.slice(after)] };
      }
      return merged;
    }

    // Where the span is on an axis of the page and on its own: the times of both, and the places of their samples.
    function around(axis, fine) {
      const all = Array.from(axis);
      const end = (at) => (at < 0 ? all.length : at);
      const before = end(all.findIndex((at) => at >= found.from));
      const after = end(all.findIndex((at) => at > found.to));
      if (!fine) return { axis: all, before, after, inside: [] };
      const inside = [...fine.keys()].filter((i) => fine[i] >= found.from && fine[i] <= found.to);
      const axisWithin = [...all.slice(0, before), ...inside.map((i) => fine[i]), ...all.slice(after)];
      return { axis: axisWithin, before, after, inside };
    }

    return { look, forget, within };
  };
})();
