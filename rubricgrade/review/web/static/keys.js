// Presses what bears the key that was pressed: every shortcut is a button, a link or a field of the page.
(() => {
  "use strict";
  const quiet = /^(radio|checkbox|button|submit)$/;
  const typing = (el) => /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName) && !quiet.test(el.type);
  const waiting = () => document.querySelector(".htmx-request") !== null;
  let quote = -1;

  const steps = {
    // Puts the selected text of the transcript into the field for quotes, one a line.
    select(el) {
      const field = document.getElementById(el.dataset.into);
      const text = String(window.getSelection()).replace(/\s*\n\s*/g, " ").trim();
      if (text) field.value = field.value ? `${field.value.trimEnd()}\n${text}` : text;
      else field.focus();
    },
    // Goes from quote to quote.
    cycle(el) {
      const links = [...document.querySelectorAll("a.to-quote")];
      if (!links.length) return;
      quote = (quote + Number(el.dataset.by) + links.length) % links.length;
      links[quote].click();
    },
  };

  const press = (el) => {
    if (el.dataset.step) steps[el.dataset.step](el);
    else if (el.tagName === "SUMMARY") {
      el.parentElement.open = !el.parentElement.open;
      if (el.parentElement.open) el.parentElement.querySelector("textarea, input:not([type=hidden])")?.focus();
    } else if (typing(el)) el.focus();
    else el.click();
  };

  document.addEventListener("click", (event) => {
    const el = event.target.closest("[data-step]");
    if (el && event.detail) {
      event.preventDefault();
      press(el);
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.altKey || event.isComposing || document.body.dataset.keys === "off") return;
    const held = event.ctrlKey || event.metaKey;
    if (!held && typing(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const key = held ? `ctrl+${event.key.toLowerCase()}` : event.key;
    if (waiting() || (key !== "?" && document.querySelector("[popover]:popover-open"))) return;
    const el = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key && one.checkVisibility());
    if (!el) return;
    event.preventDefault();
    press(el);
  });
})();
