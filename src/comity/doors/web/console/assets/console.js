// What the console does beyond HTML: times in the viewer's zone, live regions, the keyboard, questions before
// something is destroyed, and the numbers of a plot at the pointer. Reading works without any of it.
"use strict";

(() => {
  const root = document.documentElement;
  root.classList.add("scripts");

  // --- Times -------------------------------------------------------------------------------------------------------

  const formats = {
    full: { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
    seconds: { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
    minutes: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
    weekday: { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
    day: { day: "2-digit", month: "short" },
  };
  const writers = new Map();

  function write(kind, moment) {
    if (!writers.has(kind)) writers.set(kind, new Intl.DateTimeFormat("en-CA", formats[kind]));
    return writers.get(kind).format(moment).replace(",", "");
  }

  function relative(seconds) {
    const spans = [[31536000, "y"], [86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    const far = Math.abs(seconds);
    if (far < 1) return "now";
    const [length, unit] = spans.find(([each]) => far >= each);
    const text = `${Math.floor(far / length)} ${unit}`;
    return seconds > 0 ? `in ${text}` : `${text} ago`;
  }

  function showTimes(within) {
    for (const time of within.querySelectorAll("time[data-shown]")) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      const kind = time.dataset.shown;
      const text = kind === "relative" ? relative((moment - Date.now()) / 1000) : write(kind, moment);
      if (time.textContent !== text) time.textContent = text;
    }
    for (const label of within.querySelectorAll("text[data-shown]")) {
      label.textContent = write(label.dataset.shown, new Date(label.dataset.at));
    }
    for (const band of within.querySelectorAll(".band[data-at]")) {
      const title = band.firstElementChild;
      if (title && title.textContent.includes(" UTC · ")) {
        title.textContent = `${write("full", new Date(band.dataset.at))} · ${title.textContent.split(" UTC · ")[1]}`;
      }
    }
  }

  for (const zone of document.querySelectorAll("[data-zone]")) {
    zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone || "your zone";
  }
  setInterval(() => showTimes(document), 10000);

  // --- Countdowns --------------------------------------------------------------------------------------------------

  function countDown() {
    for (const time of document.querySelectorAll("time[data-countdown]")) {
      const left = Math.ceil((new Date(time.dateTime) - Date.now()) / 1000);
      const text = left > 0 ? `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}` : "ran out";
      time.classList.toggle("is-over", left <= 0);
      if (time.textContent !== text) time.textContent = text;
    }
  }

  setInterval(countDown, 1000);

  // --- Live regions ------------------------------------------------------------------------------------------------
  // One stream for the whole page, and none while the page is hidden: a browser has few connections to one server.

  let stream = null;
  let retry = 0;

  function regions() {
    return [...document.querySelectorAll("[data-live]")];
  }

  function replace(region, html) {
    // A table that scrolls may have the focus, because it was clicked: it keeps its focus and its position.
    const boxes = [...region.querySelectorAll(".scroll")];
    const focused = boxes.indexOf(document.activeElement);
    if (focused < 0 && region.contains(document.activeElement) && document.activeElement !== region) return;
    if (region.matches(":hover") && window.getSelection()?.toString()) return;
    const open = [...region.querySelectorAll("details")].map((each) => each.open);
    const before = region.querySelector("[data-phase]")?.dataset.phase;
    const positions = boxes.map((each) => [each.scrollLeft, each.scrollTop]);
    region.innerHTML = html;
    // What has ended has other buttons and figures beside this region. A text that is being typed is not lost to them.
    const now = region.querySelector("[data-phase]")?.dataset.phase;
    if (before && now && before !== now && !document.activeElement?.value) location.reload();
    region.querySelectorAll("details").forEach((each, index) => { each.open = open[index] ?? each.open; });
    region.querySelectorAll(".scroll").forEach((each, index) => {
      [each.scrollLeft, each.scrollTop] = positions[index] ?? [0, 0];
      if (index === focused) each.focus({ preventScroll: true });
    });
    settle(region);
  }

  function follow() {
    const names = [...new Set(regions().map((each) => each.dataset.live))];
    if (stream || document.hidden || !names.length) return;
    const query = new URLSearchParams(names.map((name) => ["view", name]));
    stream = new EventSource(`${document.body.dataset.prefix}/live?${query}`);
    names.forEach((name, index) => stream.addEventListener(String(index), (event) => {
      for (const region of regions()) if (region.dataset.live === name) replace(region, event.data);
    }));
    stream.addEventListener("open", () => { retry = 0; });
    stream.addEventListener("ended", () => { leave(); location.reload(); });
    stream.addEventListener("error", () => {
      if (stream.readyState !== EventSource.CLOSED) return;
      leave();
      retry = Math.min(retry + 1, 6);
      setTimeout(follow, retry * 10000);
    });
  }

  function leave() {
    stream?.close();
    stream = null;
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
  window.addEventListener("pagehide", leave);
  window.addEventListener("pageshow", (event) => { if (event.persisted) follow(); });

  // --- Questions ---------------------------------------------------------------------------------------------------

  const question = document.createElement("dialog");
  question.setAttribute("aria-labelledby", "question-text");
  question.innerHTML = '<form method="dialog" class="dialog-body stack"><p id="question-text"></p><div class="form-actions">' +
    '<button class="button is-danger" value="yes"></button><button class="button is-quiet" value="">Cancel</button></div></form>';
  document.body.append(question);

  document.addEventListener("submit", (event) => {
    const form = event.target;
    const asks = event.submitter?.dataset.confirm || form.dataset.confirm;
    if (!asks || form.dataset.confirmed) {
      if (form.getAttribute("method") === "post") once(form);
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    const button = event.submitter;
    question.querySelector("p").textContent = asks.replace("{count}", ticked(form).length);
    question.querySelector("[value=yes]").textContent = button?.textContent.trim() || button?.getAttribute("aria-label") || "Yes";
    question.returnValue = "";
    question.onclose = () => {
      if (question.returnValue !== "yes") return;
      form.dataset.confirmed = "yes";
      form.requestSubmit(button);
      delete form.dataset.confirmed;
    };
    question.showModal();
  }, true);

  function once(form) {
    if (form.hasAttribute("hx-post")) return;
    setTimeout(() => form.querySelectorAll("button").forEach((each) => { each.disabled = true; }));
    setTimeout(() => form.querySelectorAll("button").forEach((each) => { each.disabled = false; }), 8000);
  }

  // --- Ticked rows -------------------------------------------------------------------------------------------------

  function idOf(form) {
    return CSS.escape(form.getAttribute("id"));  // `form.id` would be the field of that name
  }

  function ticked(form) {
    return [...document.querySelectorAll(`[data-tick][form="${idOf(form)}"]:checked`)];
  }

  function count(form) {
    const number = ticked(form).length;
    form.querySelector("[data-bulk-count]").textContent = number;
    form.classList.toggle("has-ticked", number > 0);
    form.querySelectorAll("button").forEach((each) => { each.disabled = !number; });
    const all = document.querySelector(`[data-tick-all][form="${idOf(form)}"]`);
    const boxes = document.querySelectorAll(`[data-tick][form="${idOf(form)}"]`).length;
    if (all) { all.checked = number > 0 && number === boxes; all.indeterminate = number > 0 && number < boxes; }
  }

  document.addEventListener("change", (event) => {
    const box = event.target;
    if (!box.form?.hasAttribute("data-bulk")) return;
    if (box.hasAttribute("data-tick-all")) {
      for (const each of document.querySelectorAll(`[data-tick][form="${idOf(box.form)}"]`)) each.checked = box.checked;
    }
    count(box.form);
  });

  // --- Rows and plots ----------------------------------------------------------------------------------------------

  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("[data-help]")) {
      event.preventDefault();
      document.getElementById("keys")?.showModal();
      return;
    }
    const copied = event.target.closest("[data-copy]");
    if (copied) { navigator.clipboard?.writeText(copied.dataset.copy); copied.classList.add("is-copied"); return; }
    if (event.target.closest("a, button, input, select, textarea, label, summary, form, dialog")) return;
    const row = event.target.closest("tr[data-href]");
    if (row && !window.getSelection()?.toString()) location.assign(row.dataset.href);
  });

  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);

  document.addEventListener("pointermove", (event) => {
    const shape = event.target.closest?.(".band, .mark, .move");
    const title = shape?.querySelector("title");
    tip.hidden = !title;
    if (!title) return;
    tip.textContent = title.textContent;
    const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    tip.style.transform = `translate(${Math.max(left, 8)}px, ${Math.max(event.clientY - tip.offsetHeight - 12, 8)}px)`;
  });

  // --- Keyboard ----------------------------------------------------------------------------------------------------

  let isGoing = false;

  function rows() {
    return [...document.querySelectorAll("main .table tbody tr")];
  }

  function move(step) {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((row) => row.classList.contains("is-at"));
    const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
    if (at >= 0) all[at].classList.remove("is-at");
    next.classList.add("is-at");
    next.scrollIntoView({ block: "nearest" });
    next.querySelector("a, button")?.focus({ preventScroll: true });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (field) {
      if (event.key === "Escape") field.blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (isGoing) {
      isGoing = false;
      const link = document.querySelector(`.nav-link[data-letter="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); location.assign(link.href); }
      return;
    }
    const at = document.querySelector("tr.is-at");
    switch (event.key) {
      case "/": focus(event, "[data-search]", ".filters input[type=text]", ".why input"); break;
      case "w": focus(event, ".why input"); break;
      case "?": event.preventDefault(); document.getElementById("keys")?.showModal(); break;
      case "g": isGoing = true; setTimeout(() => { isGoing = false; }, 1500); break;
      case "j": move(1); break;
      case "k": move(-1); break;
      case "x": at?.querySelector("[data-tick]")?.click(); break;
      case "n": document.querySelector("main a[rel=next]")?.click(); break;
      case "p": document.querySelector("main a[rel=prev]")?.click(); break;
      case "Enter":
        if (at?.dataset.href && (event.target === document.body || at.contains(event.target)) && !event.target.closest("button")) {
          location.assign(at.dataset.href);
        }
        break;
      default:
    }
  });

  function focus(event, ...selectors) {
    const field = selectors.map((each) => document.querySelector(each)).find(Boolean);
    if (!field) return;
    event.preventDefault();
    field.focus();
    field.select?.();
  }

  // --- What is new in the page -------------------------------------------------------------------------------------

  function settle(within) {
    showTimes(within);
    within.querySelectorAll("form[data-bulk]").forEach(count);
  }

  document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  document.body.addEventListener("htmx:afterSettle", () => { settle(document); follow(); });
  settle(document);
  follow();
})();
