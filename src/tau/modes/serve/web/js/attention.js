// Calls a user who looks elsewhere: a mark in the title, and a notification if allowed.
import { $, notify } from "./dom.js";

export class Attention {
  constructor() {
    this.state = { name: "", busy: false, asks: false, others: false, unseen: false };
    const button = $("#notifications");
    button.hidden = globalThis.Notification?.permission !== "default";
    button.addEventListener("click", async () => {
      const answer = await Notification.requestPermission();
      button.hidden = answer !== "default";
      notify(answer === "granted" ? "tau notifies you when this page is hidden." : "The browser does not allow notifications of this page.");
    });
    document.addEventListener("visibilitychange", () => document.hidden || this.set({ unseen: false }));
  }

  set(changes) {
    const { name, busy, asks, others, unseen } = Object.assign(this.state, changes);
    const mark = asks || others ? "(!) " : busy ? "… " : unseen ? "• " : "";
    document.title = `${mark}${name && `${name} – `}tau`;
  }

  call(sessionId, text) {
    if (!document.hidden) return;
    this.set({ unseen: true });
    if (globalThis.Notification?.permission !== "granted") return;
    try {
      const options = { body: text.split("\n")[0], tag: `tau-${sessionId}` };
      new Notification(this.state.name || "tau", options).onclick = () => window.focus();
    } catch {} // phones show notifications of service workers only; the title has the mark
  }
}
