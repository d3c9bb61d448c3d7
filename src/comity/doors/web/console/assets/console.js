// What the console does beyond HTML: times in the viewer's zone, live regions, the keyboard, questions before
// something is destroyed, and the numbers of a plot at the pointer. Reading works without any of it.
"use strict";

(() => {
  const root = document.documentElement;
  root.classList.add("scripts");

  // --- Times -------------------------------------------------------------------------------------------------------

  const formats = {
    full: { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
    exact: {
      year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
    },
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
    for (const option of within.querySelectorAll("option[data-at]")) {
      const text = `${write("exact", new Date(option.dataset.at))} · ${option.dataset.about}`;
      if (option.textContent !== text) option.textContent = text;
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

  function countDown(within) {
    for (const time of within.querySelectorAll("time[data-countdown]")) {
      const left = Math.ceil((new Date(time.dateTime) - Date.now()) / 1000);
      const text = left > 0 ? `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}` : "ran out";
      time.classList.toggle("is-over", left <= 0);
      if (time.textContent !== text) time.textContent = text;
    }
  }

  setInterval(() => countDown(document), 1000);

  // --- Live regions ------------------------------------------------------------------------------------------------
  // One stream for the whole page, and none while the page is hidden: a browser has few connections to one server.

  let stream = null;
  let followed = "";
  let retry = 0;
  let telling = 0;
  let leavingSince = -Infinity;
  const old = document.querySelector("[data-old]");

  function regions() {
    return [...document.querySelectorAll("[data-live]")];
  }

  // Change a tree into another in place, so that what stays the same keeps its focus, its position and its selection.
  // A link that leads elsewhere is another link: who is about to press Enter must not go there.
  function isSame(shown, next) {
    if (shown.nodeType !== next.nodeType || shown.nodeName !== next.nodeName) return false;
    return shown.nodeType !== Node.ELEMENT_NODE || shown.getAttribute("href") === next.getAttribute("href");
  }

  function become(shown, next) {
    if (shown.nodeType !== Node.ELEMENT_NODE) {
      if (shown.data !== next.data) shown.data = next.data;
      return;
    }
    const isOpened = shown.nodeName === "DETAILS";  // or closed, by the viewer
    for (const { name } of [...shown.attributes]) {
      if (!next.hasAttribute(name) && !(isOpened && name === "open")) shown.removeAttribute(name);
    }
    for (const { name, value } of next.attributes) {
      if (shown.getAttribute(name) !== value && !(isOpened && name === "open")) shown.setAttribute(name, value);
    }
    becomeWithin(shown, next);
  }

  function becomeWithin(shown, next) {
    const before = [...shown.childNodes];
    const after = [...next.childNodes];
    after.forEach((each, index) => {
      const there = before[index];
      if (!there) shown.append(each);
      else if (isSame(there, each)) become(there, each);
      else there.replaceWith(each);
    });
    for (const each of before.slice(after.length)) each.remove();
  }

  function replace(region, html) {
    const next = document.createElement("template");
    next.innerHTML = html;
    const before = region.querySelector("[data-phase]")?.dataset.phase;
    settle(next.content);
    becomeWithin(region, next.content);
    // What has ended has other buttons and figures beside this region. A text that is being typed is not lost to them.
    const now = region.querySelector("[data-phase]")?.dataset.phase;
    if (before && now && before !== now && !document.activeElement?.value && !hasUnsent()) reload();
  }

  // A viewer who has followed a link is not called back: a reload would cancel it. After a download, the page is still there.
  window.addEventListener("beforeunload", () => { leavingSince = performance.now(); });

  function reload() {
    const wait = leavingSince + 10000 - performance.now();
    if (wait <= 0) location.reload();
    else setTimeout(() => { if (!hasUnsent()) reload(); }, wait);
  }

  // Whether something was entered that a reload would lose.
  function hasUnsent() {
    return [...document.querySelectorAll("main form[method=post]")].some((form) => [...form.elements].some((each) => (
      each.type === "checkbox" ? each.checked !== each.defaultChecked : "defaultValue" in each && each.value !== each.defaultValue
    )));
  }

  // A server that starts again is back within seconds; a viewer hears of what takes longer.
  function markOld(isOld) {
    if (!isOld) {
      clearTimeout(telling);
      telling = 0;
      old.hidden = true;
    } else if (!telling) {
      telling = setTimeout(() => { old.hidden = false; }, 8000);
    }
  }

  function follow() {
    const names = [...new Set(regions().map((each) => each.dataset.live))];
    if (stream && followed === names.join()) return;
    leave();
    if (document.hidden || !names.length) return;
    followed = names.join();
    const query = new URLSearchParams(names.map((name) => ["view", name]));
    stream = new EventSource(`${document.body.dataset.prefix}/live?${query}`);
    names.forEach((name, index) => stream.addEventListener(String(index), (event) => {
      markOld(false);
      for (const region of regions()) if (region.dataset.live === name) replace(region, event.data);
    }));
    stream.addEventListener("open", () => { retry = 0; });
    stream.addEventListener("failed", () => markOld(true));
    stream.addEventListener("ended", () => {
      leave();
      if (!hasUnsent()) { reload(); return; }
      old.querySelector("span").textContent = "Your session has ended. Your entries are kept when you send the form.";
      old.hidden = false;
    });
    stream.addEventListener("error", () => {
      markOld(true);
      if (stream.readyState !== EventSource.CLOSED) return;  // the browser connects again by itself
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

  // --- Filters -----------------------------------------------------------------------------------------------------
  // The form has the whole query: what the address has besides it is of the rows that were shown before.

  document.addEventListener("htmx:configRequest", (event) => {
    const { elt, parameters } = event.detail;
    if (!elt.matches("form.filters")) return;
    event.detail.path = event.detail.path.split("?")[0];
    for (const name of Object.keys(parameters)) if (!parameters[name].length) delete parameters[name];
  });

  // The answer brings the form again, as it was when it was sent. What was typed since then is kept, and asked for.
  let typed = null;

  document.addEventListener("htmx:beforeSwap", () => {
    const field = document.activeElement;
    typed = null;
    if (!field?.id || !field.matches("form.filters input")) return;
    const { id, value, selectionStart, selectionEnd } = field;
    typed = { id, value, selectionStart, selectionEnd };
  });

  document.addEventListener("htmx:afterSwap", () => {
    const field = typed && document.getElementById(typed.id);
    if (!field || field.value === typed.value) return;
    field.value = typed.value;
    field.setSelectionRange(typed.selectionStart, typed.selectionEnd);
  });

  // Compared with what was sent: the answer may hold it in another form, without blanks at its ends.
  document.addEventListener("htmx:afterSettle", (event) => {
    const field = typed && document.getElementById(typed.id);
    const sent = event.detail.requestConfig?.parameters;
    typed = null;
    if (!field || !sent || field.value === (sent[field.name] ?? "")) return;
    field.dispatchEvent(new Event("change", { bubbles: true }));
  });

  // What is shown after a request that failed is from before it, and looks as if it were the answer.
  const unanswered = document.querySelector("[data-unanswered]");

  function tellUnanswered(reason) {
    unanswered.querySelector("span").textContent = `${reason} What is shown is from before.`;
    unanswered.hidden = false;
  }

  document.addEventListener("htmx:sendError", () => tellUnanswered("The server does not answer."));
  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    tellUnanswered(status === 429 ? "Too many requests at once: try again in a moment." : `The server answered with an error (${status}).`);
  });
  document.addEventListener("htmx:beforeSwap", (event) => { if (event.detail.shouldSwap) unanswered.hidden = true; });

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
    countDown(within);
    within.querySelectorAll("form[data-bulk]").forEach(count);
  }

  document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  document.body.addEventListener("htmx:afterSettle", () => { settle(document); follow(); });
  settle(document);
  follow();
})();
