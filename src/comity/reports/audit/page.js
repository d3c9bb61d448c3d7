"use strict";
// Filters the findings. The page is complete without it: the controls are hidden until they work.
(() => {
  const filter = document.querySelector(".filter");
  const findings = [...document.querySelectorAll(".finding")];
  if (!filter || findings.length === 0) return;
  const input = filter.querySelector("input");
  const shown = filter.querySelector("output");
  let texts = null; // read at the first search: a large report has megabytes of them
  const apply = () => {
    texts ??= findings.map((each) => each.textContent.toLowerCase());
    const wanted = input.value.trim().toLowerCase();
    let count = 0;
    findings.forEach((each, number) => {
      each.hidden = wanted !== "" && !texts[number].includes(wanted);
      if (!each.hidden) count += 1;
    });
    for (const group of document.querySelectorAll(".group")) {
      group.hidden = !group.querySelector(".finding:not([hidden])");
    }
    shown.textContent = wanted === "" ? "" : `${count} of ${findings.length}`;
  };
  input.addEventListener("input", apply);
  for (const button of filter.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      for (const each of findings) if (!each.hidden) each.open = button.value === "open";
    });
  }
  // A link to a finding opens it.
  const reveal = () => {
    const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    if (target) target.scrollIntoView();
  };
  window.addEventListener("hashchange", reveal);
  reveal();
  filter.hidden = false;
})();
