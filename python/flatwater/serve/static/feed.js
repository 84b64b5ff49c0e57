"use strict";
// The messages of a run under way. Whoever does not look has no connection: a browser has six for one server, and every
// page in a hidden tab would take one. Whoever is refused is told why.
(() => {
  // Milliseconds until a server that has refused, or does not answer, is asked again.
  const AGAIN_MS = 5000;
  // Answers that stay the same: no token, not from here, no such run.
  const FINAL = [401, 403, 404];

  // `heard` has a function for each kind of message; `lost` is told in a sentence what keeps them away.
  window.flatwater.feed = (address, heard, lost) => {
    let source = null;
    let again = null;
    let ended = false;

    function open() {
      close();
      if (ended || document.hidden) return;
      source = new EventSource(address);
      for (const [name, hear] of Object.entries(heard)) {
        source.addEventListener(name, (event) => hear(JSON.parse(event.data)));
      }
      source.addEventListener("error", () => {
        if (ended) close();
        // A browser tries again by itself when a connection breaks, and never when it was answered with an error.
        else if (source.readyState === EventSource.CONNECTING) lost("The connection to flatwater serve is lost; it is tried again.");
        else explain();
      });
    }

    function close() {
      clearTimeout(again);
      source?.close();
      source = null;
    }

    async function explain() {
      close();
      const asking = new AbortController();
      const answer = await fetch(address, { signal: asking.signal }).catch(() => null);
      if (answer?.ok) asking.abort(); // only its status was asked for
      else if (!answer) lost("flatwater serve does not answer; it is asked again.");
      else {
        const text = sentence(await answer.text());
        const final = FINAL.includes(answer.status);
        lost(`flatwater serve refuses: ${text}${final ? "" : " It is asked again."}`);
        if (final) return;
      }
      again = setTimeout(open, AGAIN_MS);
    }

    // What a page of an error says, or a line of text.
    function sentence(text) {
      const page = new DOMParser().parseFromString(text, "text/html");
      return (page.querySelector(".verdict") ?? page.body).textContent.trim();
    }

    // Nothing more will come.
    function end() {
      ended = true;
      close();
    }

    document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
    window.addEventListener("pagehide", close);
    window.addEventListener("pageshow", (event) => event.persisted && open());
    open();
    return { end };
  };
})();
