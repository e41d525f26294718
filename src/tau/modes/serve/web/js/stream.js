// The events of a session: reconnects, resumes after sleep, and says what the state of the connection is.
import { request, sessionPath } from "./api.js";

const SILENCE_MS = 25_000; // the server pings every 10 s
const STALE_MS = 12_000; // after a sleep, do not wait for the timeout
const LONGEST_WAIT_MS = 10_000;

export class EventStream {
  constructor(sessionId, after, { onEvent, onState }) {
    this.path = `${sessionPath(sessionId)}/events`;
    this.lastId = "";
    this.after = after;
    this.onEvent = onEvent;
    this.onState = onState;
    this.failures = 0;
    this.closed = false;
    this.wake = () => {
      if (document.visibilityState !== "visible" && navigator.onLine) return;
      if (this.waiting) this.waiting();
      else if (performance.now() - this.heard > STALE_MS) this.abort?.abort();
    };
    for (const [target, type] of this.wakers()) target.addEventListener(type, this.wake);
    this.run();
  }

  wakers() {
    return [[document, "visibilitychange"], [window, "online"], [window, "pageshow"], [window, "focus"]];
  }

  close() {
    this.closed = true;
    this.abort?.abort();
    this.waiting?.();
    for (const [target, type] of this.wakers()) target.removeEventListener(type, this.wake);
  }

  async run() {
    while (!this.closed) {
      this.onState(this.failures ? "reconnecting" : "connecting");
      try {
        await this.read();
      } catch (error) {
        if (this.closed) return;
        if (error.status) this.onEvent({ type: "stream_failed", status: error.status });
        this.failures += 1;
      }
      if (this.closed) return;
      this.onState(navigator.onLine ? "reconnecting" : "offline");
      await this.pause(Math.min(LONGEST_WAIT_MS, 250 * 2 ** Math.min(this.failures, 6)));
    }
  }

  pause(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(done, ms);
      const self = this;
      function done() {
        clearTimeout(timer);
        self.waiting = undefined;
        resolve();
      }
      this.waiting = done;
    });
  }

  async read() {
    this.abort = new AbortController();
    const { signal } = this.abort;
    this.heard = performance.now();
    const watch = setInterval(() => {
      if (performance.now() - this.heard > SILENCE_MS) this.abort.abort();
    }, 5000);
    try {
      const headers = { Accept: "text/event-stream", ...(this.lastId && { "Last-Event-ID": this.lastId }) };
      const query = this.lastId || !this.after ? "" : `?after=${encodeURIComponent(this.after)}`;
      const response = await request(this.path + query, { headers, signal });
      if (!response.ok) throw Object.assign(new Error("refused"), { status: response.status });
      this.failures = 0;
      this.onState("connected");
      await this.parse(response.body.pipeThrough(new TextDecoderStream()).getReader());
    } finally {
      clearInterval(watch);
    }
  }

  async parse(reader) {
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
    let data = "";
    for (const line of frame.split("\n")) {
      if (line.startsWith("id:")) this.lastId = line.slice(3).trim();
      else if (line.startsWith("data:")) data += line.slice(5);
    }
    if (!data || this.closed) return;
    try {
      this.onEvent(JSON.parse(data));
    } catch (error) {
      console.error("An event could not be shown.", error);
    }
  }
}
