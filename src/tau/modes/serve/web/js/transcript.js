// The conversation: loads from the end, keeps a bounded part of it in the page, and never moves what is read.
import { api, sessionPath } from "./api.js";
import { $$, attempt, el, showRendered } from "./dom.js";
import { LiveMessage } from "./live.js";

const PAGE = 40;
const MOST_ITEMS = 160;
const AT_END_PX = 48;
const TAIL_LINES = 60; // of the output of a running call

export class Transcript {
  constructor({ scroller, list, older, newer, latest, onFork }) {
    Object.assign(this, { scroller, list, older, newer, latest, onFork });
    this.live = new LiveMessage();
    this.running = new Map(); // call id -> the text of its output so far
    this.lastTop = 0;
    scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    older.addEventListener("click", () => attempt(() => this.loadOlder()));
    newer.addEventListener("click", () => attempt(() => this.loadNewer()));
    latest.addEventListener("click", () => attempt(() => (this.after ? this.reload() : this.toEnd())));
    list.addEventListener("click", (event) => {
      const summary = event.target.closest("summary");
      if (summary) summary.parentElement.dataset.touched = "yes";
    });
    new ResizeObserver(() => this.follow && this.toEnd()).observe(list);
    const near = new IntersectionObserver((seen) => seen.forEach((one) => one.isIntersecting && one.target.click()), {
      root: scroller,
      rootMargin: "800px 0px",
    });
    near.observe(older);
    near.observe(newer);
  }

  /** Show the end of a session's conversation. */
  async open(sessionId) {
    this.sessionId = sessionId;
    this.running.clear();
    this.live.clear();
    await this.reload();
  }

  close() {
    this.sessionId = undefined;
    this.live.clear();
    this.list.replaceChildren();
    this.bounds({});
  }

  async reload() {
    const page = await this.fetch(`limit=${PAGE}`);
    if (!page) return;
    this.list.replaceChildren(...page.items.map((item) => this.element(item)), this.live.element);
    this.bounds(page);
    this.follow = true;
    this.toEnd();
  }

  async fetch(query) {
    const { sessionId } = this;
    const page = await api(`${sessionPath(sessionId)}/transcript?${query}`);
    return sessionId === this.sessionId ? page : undefined;
  }

  get items() {
    return $$(":scope > .item", this.list);
  }

  bounds({ before = this.before, after }) {
    this.before = before;
    this.after = after;
    this.older.hidden = !before;
    this.newer.hidden = !after;
    this.live.element.hidden = Boolean(after);
    this.list.dataset.empty = this.list.firstElementChild === this.live.element && !before ? "yes" : "no";
    this.scrolled();
  }

  async loadOlder() {
    if (this.loading || !this.before) return;
    this.loading = true;
    try {
      const page = await this.fetch(`before=${this.before}&limit=${PAGE}`);
      if (!page) return;
      const fromEnd = this.scroller.scrollHeight - this.scroller.scrollTop;
      this.list.prepend(...page.items.map((item) => this.element(item)));
      this.scroller.scrollTop = this.scroller.scrollHeight - fromEnd;
      let { after } = this;
      for (const item of this.items.slice(MOST_ITEMS)) {
        if (after === this.after) after = item.dataset.id;
        item.remove();
      }
      this.before = page.before;
      this.bounds({ before: page.before, after });
    } finally {
      this.loading = false;
    }
  }

  async loadNewer() {
    if (this.loading || !this.after) return;
    this.loading = true;
    try {
      const page = await this.fetch(`from=${this.after}&limit=${PAGE}`);
      if (!page) return;
      this.live.element.before(...page.items.map((item) => this.element(item)));
      const fromEnd = this.scroller.scrollHeight - this.scroller.scrollTop;
      this.trimTop();
      this.scroller.scrollTop = this.scroller.scrollHeight - fromEnd;
      this.bounds({ after: page.after });
    } finally {
      this.loading = false;
    }
  }

  trimTop() {
    const extra = this.items.slice(0, -MOST_ITEMS);
    for (const item of extra) item.remove();
    if (extra.length) this.before = this.items[0].dataset.id;
  }

  /** Fetch what is new. Calls that come while one runs are joined. */
  async refresh() {
    if (this.after || !this.sessionId) return;
    if (this.refreshing) {
      this.again = true;
      return;
    }
    this.refreshing = true;
    try {
      do {
        this.again = false;
        const { ended } = this.live;
        const items = this.items;
        const start = unfinished(items);
        const page = await this.fetch(start ? `from=${start.dataset.id}` : `limit=${PAGE}`);
        if (!page || this.after) return;
        if (page.after) return void (await this.reload());
        this.replace(start ? items.slice(items.indexOf(start)) : items, page.items);
        if (ended && ended === this.live.ended) this.live.clear();
        if (!start) this.before = page.before;
        if (this.follow) this.trimTop();
        this.bounds({});
        if (this.follow) this.toEnd();
      } while (this.again);
    } catch (error) {
      if (error.status === 404 || error.status === 400) await this.reload();
      else if (error.status) throw error;
    } finally {
      this.refreshing = false;
    }
  }

  replace(old, items) {
    const byId = new Map(old.map((item) => [item.dataset.id, item]));
    const fresh = items.map((item) => {
      const before = byId.get(item.id);
      if (before?.source === item.html) return before;
      const element = this.element(item);
      if (before) keepState(before, element);
      return element;
    });
    for (const item of old) if (!fresh.includes(item)) item.remove();
    for (const item of fresh) if (item.nextSibling === null || item.parentElement === null) this.live.element.before(item);
  }

  element(item) {
    const element = el("div", { class: "item", data: { id: item.id, role: item.role } });
    element.source = item.html;
    element.calls = item.calls ?? [];
    showRendered(element, item.html);
    for (const [index, card] of cards(element).entries()) {
      const call = element.calls[index];
      if (call && !call.done && this.running.has(call.id)) this.showRunning(card, this.running.get(call.id));
    }
    if (item.role === "user") {
      const fork = el("button", { type: "button", class: "quiet fork-here", text: "Fork here", onclick: () => this.onFork(item.id) });
      element.querySelector("header")?.append(fork);
    }
    return element;
  }

  /** A call runs and has printed `text` so far; undefined: it has ended. */
  setRunning(id, text) {
    if (text === undefined) return void this.running.delete(id);
    this.running.set(id, text);
    for (const item of this.items.slice(-20)) {
      const index = item.calls.findIndex((call) => call.id === id);
      if (index >= 0 && !item.calls[index].done) this.showRunning(cards(item)[index], text);
    }
  }

  showRunning(card, text) {
    card.classList.add("running");
    const state = card.querySelector(".state");
    if (state) state.textContent = "running";
    const body = card.querySelector(".body");
    const output = card.querySelector(".live-output") ?? body.appendChild(el("pre", { class: "code live-output" }));
    output.hidden = !text;
    output.textContent = text.split("\n").slice(-TAIL_LINES).join("\n");
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const atEnd = scrollHeight - scrollTop - clientHeight < AT_END_PX;
    if (atEnd) this.follow = !this.after;
    else if (scrollTop < this.lastTop) this.follow = false;
    this.lastTop = scrollTop;
    this.latest.hidden = atEnd && !this.after;
  }

  toEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.lastTop = this.scroller.scrollTop;
    this.follow = true;
    this.latest.hidden = true;
  }
}

const cards = (item) => $$(":scope > article > details.tool", item);

/** The item from which on something may have changed: the answer whose calls run, or the last one. */
function unfinished(items) {
  for (let at = items.length - 1; at >= 0; at -= 1) {
    if (items[at].calls.some((call) => !call.done)) return items[at];
    if (items[at].dataset.role === "assistant") break;
  }
  return items.at(-1);
}

/** What the user has opened stays open, and the focus stays where it was. */
function keepState(old, fresh) {
  const before = $$(":scope > article > details", old);
  for (const [index, details] of $$(":scope > article > details", fresh).entries()) {
    if (!before[index]) continue;
    if (before[index].dataset.touched) {
      details.open = before[index].open;
      details.dataset.touched = "yes";
    }
    if (before[index].firstElementChild === document.activeElement) {
      queueMicrotask(() => details.firstElementChild.focus({ preventScroll: true }));
    }
  }
}
