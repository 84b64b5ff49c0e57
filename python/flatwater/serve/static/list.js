"use strict";
(() => {
  // Keys for the list. Everything works without them.
  const links = [...document.querySelectorAll("#runs .what > a")];
  const boxes = [...document.querySelectorAll('#runs input[type="checkbox"]')];
  const compare = document.getElementById("compare");
  const cost = document.getElementById("cost");
  const typing = (one) => /^(INPUT|SELECT|TEXTAREA)$/.test(one.tagName) && one.type !== "checkbox";

  function count() {
    const chosen = boxes.filter((box) => box.checked).length;
    if (compare) compare.disabled = chosen < 2;
    if (cost) cost.disabled = chosen < 1;
  }

  function place() {
    const row = document.activeElement.closest?.("#runs tbody tr");
    return row ? links.findIndex((link) => row.contains(link)) : -1;
  }

  function go(to) {
    links[Math.min(Math.max(to, 0), links.length - 1)]?.focus();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    const steps = {
      "/": () => document.getElementById("search").focus(),
      j: () => go(place() + 1),
      k: () => go(place() - 1),
      x: () => place() >= 0 && boxes[place()].click(),
      c: () => compare?.click(),
    };
    if (!steps[event.key]) return;
    event.preventDefault();
    steps[event.key]();
  });
  for (const box of boxes) box.addEventListener("change", count);
  // A choice in the filter needs no button.
  for (const one of document.querySelectorAll('form[role="search"] select')) {
    one.addEventListener("change", () => one.form.submit());
  }
  count();
  document.body.dataset.state = "ready";
})();
