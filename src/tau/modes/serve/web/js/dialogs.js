// Dialogs of the page itself.
import { $, attempt, button, el } from "./dom.js";

function open(title, body, label, action) {
  const send = (event) => {
    event.preventDefault();
    dialog.close();
    attempt(action);
  };
  const answers = el("div", { class: "answers" }, el("button", { class: "primary", text: label }), button("Cancel", () => dialog.close()));
  const form = el("form", { onsubmit: send }, el("h2", { id: "dialog-title", text: title }), body, answers);
  const dialog = el("dialog", { "aria-labelledby": "dialog-title", onclose: () => dialog.remove() }, form);
  document.body.append(dialog);
  dialog.showModal();
}

export function ask(title, name, value, label, action) {
  const input = el("input", { "aria-label": name, maxlength: "200", autocomplete: "off", value });
  open(title, input, label, () => action(input.value));
}

export const confirm = (title, text, label, action) => open(title, el("p", { text }), label, action);
