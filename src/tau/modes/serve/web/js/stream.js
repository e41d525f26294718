// The events of a session: reconnects, resumes after sleep, and says what the state of the connection is.
import { request, sessionPath } from "./api.js";

const SILENCE_MS = 25_000; // the server pings every 10 s
const STALE_MS = 12_000; // after a sleep, do not wait for the timeout
const LONGEST_WAIT_MS = 10_000;
const WAKERS = [[document, "visibilitychange"], [window, "online"], [window, "offline"], [window, "pageshow"], [window, "focus"]];

export class EventStream {
  constructor(sessionId, after, onEvent, onState) {
    Object.assign(this, { after, onEvent, onState, lastId: "", closed: false, heard: 0, failures: 0 });
    this.path = `${sessionPath(sessionId)}/events`;
    this.onWake = () => (document.hidden && navigator.onLine) || this.wake();
    for (const [target, type] of WAKERS) target.addEventListener(type, this.onWake);
    this.run();
  }

  close() {
    this.closed = true;
    for (const [target, type] of WAKERS) target.removeEventListener(type, this.onWake);
    this.connection?.abort();
    this.retry?.();
  }

  wake() {
    this.retry?.();
    if (!navigator.onLine || performance.now() - this.heard > STALE_MS) this.connection?.abort();
  }

  async run() {
    const watch = setInterval(() => performance.now() - this.heard > SILENCE_MS && this.connection.abort(), 5000);
    while (!this.closed) {
      await this.read().catch((error) => error.gone && this.onEvent({ type: "reset" }));
      if (this.closed) break;
      this.onState(navigator.onLine ? "reconnecting" : "offline");
      this.failures += 1;
      await new Promise((resolve) => {
        this.retry = resolve;
        setTimeout(resolve, Math.min(LONGEST_WAIT_MS, 125 * 2 ** Math.min(this.failures, 7)));
      });
    }
    clearInterval(watch);
  }

  async read() {
    this.connection = new AbortController();
    this.heard = performance.now();
    const query = this.lastId ? "" : `?after=${encodeURIComponent(this.after)}`;
    const headers = this.lastId ? { "Last-Event-ID": this.lastId } : {};
    const response = await request(this.path + query, { headers, signal: this.connection.signal });
    if (!response.ok) throw Object.assign(new Error("refused"), { gone: response.status === 404 || response.status === 409 });
    this.failures = 0;
    this.onState("connected");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      this.heard = performance.now();
      const frames = (rest + value).split("\n\n");
      rest = frames.pop();
      for (const frame of frames) this.take(frame);
    }
  }

  take(frame) {
    const fields = frame.split("\n").map((line) => /^(id|data): ?(.*)$/.exec(line));
    const data = fields.find((field) => field?.[1] === "data")?.[2];
    this.lastId = fields.find((field) => field?.[1] === "id")?.[2] ?? this.lastId;
    if (data && !this.closed) this.onEvent(JSON.parse(data));
  }
}
