// The todo list, the queue of messages, and the line that says what is going on.
import { $, el } from "./dom.js";

const MARKS = { completed: "done", in_progress: "current", abandoned: "dropped", pending: "open" };

export function showTodos(phases = []) {
  const tasks = phases.flatMap((phase) => phase.tasks);
  const done = tasks.filter((task) => task.status === "completed").length;
  const current = tasks.find((task) => task.status === "in_progress") ?? tasks.find((task) => task.status === "pending");
  $("#todos").hidden = !tasks.length;
  $("#todo-count").textContent = `${done} of ${tasks.length}`;
  $("#todo-now").textContent = current?.content ?? "All done";
  $("#todo-bar").max = Math.max(1, tasks.length);
  $("#todo-bar").value = done;
  const task = ({ content, status }) =>
    el("li", { class: MARKS[status] }, el("span", { text: content }), el("span", { class: "hidden-text", text: `, ${MARKS[status]}` }));
  $("#todo-list").replaceChildren(...phases.map(({ name, tasks: own }) => el("li", {}, el("b", { text: name }), el("ul", {}, ...own.map(task)))));
}

export function showQueue({ steering, followUp }) {
  const row = (kind) => (text) => el("li", {}, el("span", { class: "mark", text: kind }), el("span", { class: "what", text }));
  $("#queue").hidden = !(steering.length + followUp.length);
  $("#queue ul").replaceChildren(...steering.map(row("next")), ...followUp.map(row("later")));
}

/** What runs now, and for how long. */
export class ActivityLine {
  constructor() {
    this.line = $("#activity");
    setInterval(() => this.show(), 1000);
  }

  set(text) {
    if (text && !this.text) this.since = Date.now();
    this.text = text;
    this.show();
  }

  show() {
    this.line.hidden = !this.text;
    if (!this.text || document.hidden) return;
    const seconds = Math.floor((Date.now() - this.since) / 1000);
    $("#activity-text").textContent = this.text;
    $("#activity-time").textContent = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  }
}

const tokens = (count) => (count >= 1e6 ? `${(count / 1e6).toFixed(1)}M` : count >= 1000 ? `${Math.round(count / 1000)}k` : String(count));

export function showUsage(cost, context) {
  $("#cost").textContent = cost > 0 ? `$${cost.toFixed(cost < 0.1 ? 3 : 2)}` : "";
  const window = context?.contextWindow;
  $("#context").hidden = !window;
  if (!window) return;
  $("#context-bar").value = Math.min(100, context.percent);
  $("#context-text").textContent = `${Math.round(context.percent)} % of ${tokens(window)}`;
  $("#context").title = `${context.tokens.toLocaleString("en-US")} tokens of context used`;
}
