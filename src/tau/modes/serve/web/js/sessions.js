// The list of sessions with its search.
import { api } from "./api.js";
import { $, ago, attempt, el, plural, soon } from "./dom.js";

const PAGE = 40;
const POLL_MS = 10_000;

export class SessionList {
  constructor(onList) {
    this.list = $("#sessions");
    this.more = $("#more-sessions");
    this.onList = onList;
    this.limit = PAGE;
    const search = soon(() => attempt(() => this.load()), 200);
    $("#search").addEventListener("input", () => {
      this.limit = PAGE;
      search();
    });
    this.more.addEventListener("click", () => {
      this.limit += PAGE;
      attempt(() => this.load());
    });
    setInterval(() => document.hidden || this.load().catch(() => undefined), POLL_MS);
  }

  async load() {
    const query = $("#search").value.trim();
    const asked = (this.asked = {});
    const { sessions, nextCursor } = await api(`/sessions?limit=${this.limit}&query=${encodeURIComponent(query)}`);
    if (asked !== this.asked) return;
    this.sessions = sessions;
    this.more.hidden = !nextCursor;
    $("#no-sessions").hidden = sessions.length > 0;
    $("#no-sessions").textContent = query ? `No session has “${query}”.` : "No sessions yet.";
    this.show();
    this.onList(sessions);
  }

  select(id) {
    this.current = id;
    this.show();
  }

  show() {
    const focused = document.activeElement?.closest?.("#sessions a")?.hash;
    this.list.replaceChildren(...(this.sessions ?? []).map((session) => this.row(session)));
    if (focused) $(`a[href="${CSS.escape(focused)}"]`, this.list)?.focus({ preventScroll: true });
  }

  row(session) {
    const { id, cwd, needsYou, busy } = session;
    const state = needsYou ? "needs you" : busy ? "working" : "";
    const about = el("span", { class: "about" }, state && el("span", { class: `mark ${needsYou ? "needs" : ""}`, text: state }));
    about.append(el("span", { class: "folder", text: cwd.split("/").at(-1) }), el("span", { text: ago(session.modified) }));
    const title = el("span", { class: "title", text: session.name || session.title });
    const link = { href: `#/s/${encodeURIComponent(id)}`, title: `${cwd}, ${plural(session.messageCount, "message")}`, "aria-current": id === this.current && "page" };
    return el("li", {}, el("a", link, title, about));
  }
}
