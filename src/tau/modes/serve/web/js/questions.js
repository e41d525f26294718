// Approvals and dialogs: what the agent asks, answered here or by any other client.
import { api, render, sessionPath } from "./api.js";
import { $, $$, announce, attempt, button, el, showRendered } from "./dom.js";

const IGNORE_MS = 400; // a click or key meant for something else cannot answer a question that just appeared
const KEYS = { once: "y", session: "s", always: "a", no: "n", why: "w" };
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
    this.sessionId = sessionId;
    for (const id of [...this.open.keys()]) if (!questions.some((one) => one.id === id)) this.remove(id);
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

  async answer(question, reply) {
    const card = this.open.get(question.id);
    if (!card) return;
    card.setAttribute("aria-busy", "true");
    const done = await attempt(async () => {
      await api(`${sessionPath(this.sessionId)}/questions/${encodeURIComponent(question.id)}`, { body: reply });
      return true;
    });
    card.removeAttribute("aria-busy");
    if (done) this.remove(question.id);
  }

  card(question, title, ...body) {
    const id = `q-${question.id}`;
    const kind = question.approval ? "question approval" : "question";
    return el("section", { class: kind, role: "group", "aria-labelledby": id }, el("h2", { id, text: title, tabindex: "-1" }), ...body);
  }

  approval(question) {
    const { approval } = question;
    const request = el("div", { class: "request", tabindex: "0", role: "region", "aria-label": "What it would do" });
    for (const row of approval.arguments) {
      if (approval.effects.some((effect) => row.text.trim() && effect.includes(row.text) && row.name !== "command")) continue;
      request.append(argument(row, LANGUAGES[row.name]));
    }
    const effects = approval.effects.map((effect) => effect.replace(/^run: [\s\S]*/, approval.contained ? "run in the sandbox" : "run with your permissions"));
    for (const effect of new Set(effects)) request.append(el("p", { text: `It would ${effect}${effect.startsWith("run ") ? ` in ${approval.cwd}` : ""}.` }));
    for (const note of approval.notes) request.append(el("p", { class: "warning", text: note }));
    for (const { name, text } of approval.facts) request.append(el("p", { class: name.startsWith("variable ") ? "warning" : "", text: `${name}: ${text}` }));
    const hint = el("p", { class: "hint", role: "status" });
    const allow = (value) => {
      if (value !== "no" && !wasRead(request)) {
        request.scrollBy({ top: request.clientHeight - 40 });
        hint.textContent = "Scroll to the end of the request before you allow it.";
        return;
      }
      this.answer(question, { value });
    };
    const answers = el("div", { class: "answers" });
    for (const { value, label, about } of approval.choices.filter((choice) => choice.value !== "no")) {
      answers.append(choice(label, KEYS[value], () => allow(value), { title: about, class: value === "once" ? "primary" : "" }));
    }
    answers.append(choice("No", KEYS.no, () => allow("no")));
    const reason = el("input", { name: "reason", "aria-label": "Why not", placeholder: "Tell the agent why", autocomplete: "off", maxlength: "4000" });
    const why = el("form", { class: "why", hidden: true, onsubmit: (event) => {
      event.preventDefault();
      this.answer(question, { value: "no", reason: reason.value.trim() });
    } }, reason, el("button", { class: "primary", text: "Decline" }));
    answers.append(choice("No, and tell the agent why", KEYS.why, () => {
      why.hidden = false;
      reason.focus();
    }));
    const abouts = approval.choices.filter((one) => one.about && one.value === "session").map((one) => el("p", { class: "hint", text: `“${one.label}”: ${one.about}` }));
    return this.card(question, approval.heading, request, ...abouts, answers, why, hint);
  }

  dialog(question) {
    const [title, ...rest] = question.title.split("\n");
    const text = [...rest, question.message ?? ""].join("\n").trim();
    const message = text && el("div", { class: "request typed", tabindex: "0", role: "region", "aria-label": "Details", text });
    const dismiss = button("Dismiss", () => this.answer(question, { cancelled: true }), { class: "quiet" });
    if (question.method === "select") {
      const options = question.options.map((option) => button(option, () => this.answer(question, { value: option })));
      return this.card(question, title, message, el("div", { class: "answers column" }, ...options, dismiss));
    }
    if (question.method === "confirm") {
      const yes = button("Yes", () => this.answer(question, { confirmed: true }), { class: "primary" });
      const no = button("No", () => this.answer(question, { confirmed: false }));
      return this.card(question, title, message, el("div", { class: "answers" }, yes, no, dismiss));
    }
    const isEditor = question.method === "editor";
    const field = el(isEditor ? "textarea" : "input", { "aria-label": title, placeholder: question.placeholder, rows: isEditor && "6" });
    field.value = question.prefill ?? "";
    const form = el("form", { class: "why", onsubmit: (event) => {
      event.preventDefault();
      this.answer(question, { value: field.value });
    } }, field, el("button", { class: "primary", text: "Send" }), dismiss);
    return this.card(question, title, message, form);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea")) return;
    const wanted = event.target.closest(".question")?.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
    if (wanted) {
      event.preventDefault();
      wanted.click();
    }
  }

  /** Put the focus on the first open question. */
  focus() {
    $("h2", this.root)?.focus();
  }
}

function choice(label, key, onclick, properties = {}) {
  return el("button", { type: "button", onclick, data: { key }, "aria-keyshortcuts": key, ...properties }, el("span", { text: label }), el("kbd", { text: key, "aria-hidden": "true" }));
}

const wasRead = (box) => box.scrollTop + box.clientHeight >= box.scrollHeight - 4;

/** An argument in full; its colors follow. */
function argument({ name, text }, language) {
  const code = el("div", { class: "argument" }, el("pre", { class: "code", text }));
  if (language) render(text, language).then((html) => showRendered(code, html)).catch(() => undefined);
  return name === "command" ? code : el("div", {}, el("p", { class: "name", text: name }), code);
}
