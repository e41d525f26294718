// The side panel: the files that the session has changed, with undo, and what it has cost.
import { api, render, sessionPath } from "./api.js";
import { $, attempt, button, el, notify, plural, showRendered } from "./dom.js";

export class Panel {
  constructor() {
    this.root = $("#panel");
    this.open = new Set();
    $("#undo").addEventListener("click", () => this.revert("undo"));
    $("#redo").addEventListener("click", () => this.revert("redo"));
  }

  get visible() {
    return !this.root.hidden;
  }

  show(open) {
    this.root.hidden = !open;
    document.body.dataset.panel = open ? "open" : "closed";
    $("#panel-button").setAttribute("aria-expanded", String(open));
    this.source = undefined;
  }

  async load(sessionId) {
    this.sessionId = sessionId;
    const changes = await api(`${sessionPath(sessionId)}/changes`);
    if (sessionId !== this.sessionId) return;
    const { files, turns = [] } = changes;
    $("#change-count").textContent = files.length || "";
    const source = JSON.stringify(changes);
    if (source === this.source || !this.visible) return;
    this.source = source;
    const undoable = turns.filter((turn) => turn.open);
    $("#undo").disabled = !undoable.length;
    $("#redo").disabled = !changes.canRedo;
    $("#no-changes").hidden = files.length > 0;
    $("#files").replaceChildren(...files.map((file) => this.file(file)));
    $("#turns").replaceChildren(...undoable.reverse().map((turn) => this.turn(turn)));
    $("#turns-title").hidden = !undoable.length;
  }

  file({ path, status, added, removed, diff }) {
    const body = el("div", { class: "body" });
    const counts = [el("span", { class: "plus", text: added ? `+${added}` : "" }), el("span", { class: "minus", text: removed ? `−${removed}` : "" })];
    const about = [el("span", { class: "state", text: status === "changed" ? "" : status }), el("span", { class: "counts" }, ...counts)];
    const summary = el("summary", { title: path }, el("span", { class: "what" }, el("bdi", { text: path })), ...about);
    const show = async () => {
      this.open[details.open ? "add" : "delete"](path);
      if (!details.open || body.hasChildNodes()) return;
      const shown = el("div", {}, el("p", { class: "left-out", text: diff ? "Loading" : "There is no difference to show." }));
      body.append(shown, button("Undo this file", () => this.revert("undo", { paths: [path] }), { class: "small" }));
      if (diff) await attempt(async () => showRendered(shown, await render(diff, "diff")));
    };
    const details = el("details", { class: "tool", open: this.open.has(path), ontoggle: show }, summary, body);
    return el("li", {}, details);
  }

  turn({ id, title, files }) {
    const undo = button("Undo", () => this.revert("undo", { turn: id }), { class: "small", "aria-label": `Undo: ${title}` });
    return el("li", {}, el("span", { class: "title", text: title }), el("span", { class: "about", text: plural(files.length, "file") }), undo);
  }

  async revert(name, body = {}) {
    const { sessionId } = this;
    const { lines, summary } = (await attempt(() => api(`${sessionPath(sessionId)}/changes/${name}`, { body }))) ?? {};
    if (!summary) return;
    const left = lines.filter((line) => /^(conflict|failed|not kept)/.test(line));
    notify([summary, ...left].join("\n"), left.length ? "error" : "info");
    await attempt(() => this.load(sessionId));
  }
}
