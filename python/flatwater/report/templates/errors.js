"use strict";
// First on the page: whatever fails after it is said to the reader, and kept where a test can find it.
(() => {
  const failed = [];
  const tell = (text) => {
    failed.push(String(text));
    const show = () => {
      document.body.dataset.errors = JSON.stringify(failed);
      const place = document.getElementById("script-errors");
      if (place) {
        place.hidden = false;
        place.textContent = "A part of this page could not be drawn: " + failed.join("; ");
      }
    };
    if (document.body) show();
    else document.addEventListener("DOMContentLoaded", show);
  };
  window.addEventListener("error", (event) => tell(event.message));
  window.addEventListener("unhandledrejection", (event) => tell(event.reason));
  document.addEventListener("securitypolicyviolation", (event) => tell("blocked: " + event.violatedDirective));
})();
