// Approvals and dialogs: what the agent asks, answered here or by any other client.
import { api, render, sessionPath } from "./api.js";
import { $, $$, announce, attempt, button, el, showRendered } from "./dom.js";

const IGNORE_MS = 400; // a click or key meant for something else cannot answer a question that just appeared
const KEYS = { once: "y", session: "s", always: "a" };
const LANGUAGES = { command: "shell", code: "python", diff: "diff", patch: "diff" };

export class Questions {
  constructor(root, onChange) {
    this.root = root;
    this.onChange = onChange;
    this.open = new Map();
    root.addEventListener("keydown", (event) => this.key(event));
  }

  /** Show exactly these questions of the session. */
  reset(sessionId, questions) {
    const keeps = (id) => sessionId === this.sessionId && questions.some((one) => one.id === id);
    for (const id of [...this.open.keys()]) if (!keeps(id)) this.remove(id);
    this.sessionId = sessionId;
    for (const question of questions) this.add(question);
  }

  add(question) {
    if (this.open.has(question.id)) return;
    const card = question.approval ? this.approval(question) : this.dialog(question);
    for (const answer of $$("button", card)) answer.disabled = true;
    setTimeout(() => $$("button", card).forEach((answer) => (answer.disabled = false)), IGNORE_MS);
    this.open.set(question.id, card);
    this.root.append(card);
    announce(`tau needs an answer. ${$("h2", card).textContent}`);
    this.onChange(question);
  }

  remove(id) {
    const card = this.open.get(id);
    if (!card) return;
    const hadFocus = card.contains(document.activeElement);
    this.open.delete(id);
    card.remove();
    if (hadFocus) ($("button, input, textarea", this.root) ?? $("#prompt")).focus();
    this.onChange();
  }

  answer({ id }, reply) {
    return attempt(async () => {
      await api(`${sessionPath(this.sessionId)}/questions/${encodeURIComponent(id)}`, { body: reply });
      this.remove(id);
    });
  }

  card(question, title, ...body) {
    const id = `q-${question.id}`;
    const kind = question.approval ? "question approval" : "question";
    return el("section", { class: kind, role: "group", "aria-labelledby": id }, el("h2", { id, text: title, tabindex: "-1" }), ...body);
  }

  approval(question) {
    const { approval } = question;
    const request = el("div", { class: "request", tabindex: "0", role: "region", "aria-label": "What it would do" });
    const line = (text, isWarning) => request.append(el("p", { class: isWarning && "warning", text }));
    for (const row of approval.arguments) request.append(argument(row));
    const run = `run ${approval.contained ? "in the sandbox" : "with your permissions"} in ${approval.cwd}`;
    for (const effect of new Set(approval.effects.map((one) => (one.startsWith("run: ") ? run : one)))) line(`It would ${effect}.`);
    for (const note of approval.notes) line(note, true);
    for (const { name, text } of approval.facts) line(`${name}: ${text}`, name.startsWith("variable "));
    const hint = el("p", { class: "hint", role: "status" });
    const allow = (value) => {
      if (wasRead(request)) return this.answer(question, { value });
      request.scrollBy({ top: request.clientHeight - 40 });
      hint.textContent = "Scroll to the end of the request before you allow it.";
      return undefined;
    };
    const allowed = approval.choices.filter(({ value }) => value !== "no");
    const scope = allowed.find(({ value }) => value === "session")?.about;
    if (scope) hint.textContent = `For this session: ${scope}`;
    const reason = el("input", { "aria-label": "Why not", placeholder: "Tell the agent why", autocomplete: "off", maxlength: "4000" });
    const why = form(reason, "Decline", () => this.answer(question, { value: "no", reason: reason.value.trim() }));
    why.hidden = true;
    const explain = () => {
      why.hidden = false;
      reason.focus();
    };
    const answers = allowed.map(({ value, label, about }) => choice(label, KEYS[value], () => allow(value), { title: about, class: value === "once" && "primary" }));
    answers.push(choice("No", "n", () => this.answer(question, { value: "no" })), choice("No, and tell the agent why", "w", explain));
    return this.card(question, approval.heading, request, hint, el("div", { class: "answers" }, ...answers), why);
  }

  dialog(question) {
    const [title, ...rest] = question.title.split("\n");
    const text = [...rest, question.message ?? ""].join("\n").trim();
    const message = text && el("div", { class: "request typed", tabindex: "0", role: "region", "aria-label": "Details", text });
    const reply = (label, value, properties) => button(label, () => this.answer(question, value), properties);
    const dismiss = reply("Dismiss", { cancelled: true }, { class: "quiet" });
    const answers = (...buttons) => el("div", { class: "answers" }, ...buttons, dismiss);
    switch (question.method) {
      case "select":
        return this.card(question, title, message, answers(...question.options.map((value) => reply(value, { value }))));
      case "confirm":
        return this.card(question, title, message, answers(reply("Yes", { confirmed: true }, { class: "primary" }), reply("No", { confirmed: false })));
    }
    const tag = question.method === "editor" ? "textarea" : "input";
    const field = el(tag, { "aria-label": title, placeholder: question.placeholder, rows: tag === "textarea" && "6" });
    field.value = question.prefill ?? "";
    return this.card(question, title, message, form(field, "Send", () => this.answer(question, { value: field.value }), dismiss));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea")) return;
    const wanted = event.target.closest(".question")?.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (wanted) {
      event.preventDefault();
      wanted.click();
    }
  }

}

function form(field, label, send, ...more) {
  const submit = (event) => {
    event.preventDefault();
    send();
  };
  return el("form", { class: "why", onsubmit: submit }, field, el("button", { class: "primary", text: label }), ...more);
}

function choice(label, key, onclick, properties = {}) {
  const shown = [el("span", { text: label }), el("kbd", { text: key, "aria-hidden": "true" })];
  return el("button", { type: "button", onclick, data: { key }, "aria-keyshortcuts": key, ...properties }, ...shown);
}

const wasRead = (box) => box.scrollTop + box.clientHeight >= box.scrollHeight - 4;

/** An argument in full; its colors follow. */
function argument({ name, text }) {
  const code = el("div", {}, el("pre", { class: "code", text }));
  if (LANGUAGES[name]) render(text, LANGUAGES[name]).then((html) => showRendered(code, html)).catch(() => undefined);
  return name === "command" ? code : el("div", {}, el("p", { class: "name", text: name }), code);
}
