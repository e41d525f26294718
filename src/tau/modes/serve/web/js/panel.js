// The side panel: the files that the session has changed, with undo, and what it has cost.
import { api, command, render, sessionPath } from "./api.js";
import { $, announce, attempt, button, el, notify, plural, showRendered } from "./dom.js";

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
    $("#change-count").textContent = files.length ? String(files.length) : "";
    $("#panel-button").setAttribute("aria-label", files.length ? `Changes, ${plural(files.length, "file")}` : "Changes");
    const source = JSON.stringify(changes);
    if (source === this.source || !this.visible) return;
    this.source = source;
    const undoable = turns.filter((turn) => turn.open);
    $("#undo").disabled = !undoable.length;
    $("#redo").disabled = !changes.canRedo;
    $("#no-changes").hidden = files.length > 0;
    $("#files").replaceChildren(...files.map((file) => this.file(file)));
    $("#turns").replaceChildren(...undoable.reverse().map((turn, index) => this.turn(turn, index + 1)));
    $("#turns-title").hidden = !undoable.length;
  }

  file({ path, status, added, removed, diff }) {
    const counts = el("span", { class: "counts" }, el("span", { class: "plus", text: added ? `+${added}` : "" }), el("span", { class: "minus", text: removed ? `−${removed}` : "" }));
    const name = el("span", { class: "what" }, el("bdi", { text: path }));
    const body = el("div", { class: "body" });
    const details = el("details", { class: "tool", open: this.open.has(path) }, el("summary", { title: path }, name, el("span", { class: "state", text: status === "changed" ? "" : status }), counts), body);
    const show = async () => {
      if (!details.open) return void this.open.delete(path);
      this.open.add(path);
      if (body.hasChildNodes()) return;
      body.append(el("p", { class: "left-out", text: "Loading" }));
      const html = diff ? await attempt(() => render(diff, "diff")) : "";
      const revert = button("Undo this file", () => this.revert("undo", { paths: [path] }), { class: "small" });
      const shown = el("div");
      if (html) showRendered(shown, html);
      else shown.append(el("p", { class: "left-out", text: "There is no difference to show." }));
      body.replaceChildren(shown, revert);
    };
    details.addEventListener("toggle", show);
    return el("li", {}, details);
  }

  turn({ id, title, files }, count) {
    const label = count === 1 ? "Undo" : `Undo ${plural(count, "turn")}`;
    return el("li", {}, el("span", { class: "title", text: title || "A turn" }), el("span", { class: "about", text: plural(files.length, "file") }), button(label, () => this.revert("undo", count === 1 ? { turn: id } : { count }), { class: "small", "aria-label": `${label}: ${title}` }));
  }

  async revert(name, body = {}) {
    const result = await attempt(() => command(this.sessionId, name, body));
    if (!result) return;
    const { summary, lines = [] } = result;
    const left = lines.filter((line) => /^(conflict|failed|not kept)/.test(line));
    notify([summary, ...left].filter(Boolean).join("\n"), left.length ? "error" : "info");
    announce(summary);
    await attempt(() => this.load(this.sessionId));
  }
}
