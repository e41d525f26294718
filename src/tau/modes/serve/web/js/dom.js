// The only place that turns text into markup: what the server has rendered, and nothing else.
const policy = globalThis.trustedTypes?.createPolicy("tau", { createHTML: (html) => html });

export const $ = (query, root = document) => root.querySelector(query);
export const $$ = (query, root = document) => [...root.querySelectorAll(query)];

/** Show HTML that the server has rendered and escaped. */
export function showRendered(element, html) {
  element.innerHTML = policy ? policy.createHTML(html) : html;
}

/** An element: `on...` properties are listeners, `class`, `text` and `data` what they say, others attributes. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const button = (label, onclick, properties = {}) => el("button", { type: "button", text: label, onclick, ...properties });

export function iconButton(name, label, onclick) {
  const made = button("", onclick, { class: "quiet square", "aria-label": label });
  made.append(document.importNode($(`#i-${name}`).content, true));
  return made;
}

/** Call `run` once, `ms` after the first of several calls. */
export function soon(run, ms) {
  let timer = 0;
  return () => {
    timer ||= setTimeout(() => {
      timer = 0;
      run();
    }, ms);
  };
}

/** Show a message for a while; errors stay until dismissed. */
export function notify(text, level = "info") {
  const isError = level === "error";
  const close = iconButton("close", "Dismiss", () => toast.remove());
  const toast = el("div", { class: `toast ${level}`, role: isError ? "alert" : "status" }, el("p", { text }), close);
  $("#toasts").append(toast);
  for (const old of $$(".toast").slice(0, -4)) old.remove();
  if (!isError) setTimeout(() => toast.remove(), 6000);
}

/** Say something to screen readers only. */
export function announce(text) {
  $("#announcer").textContent = text;
}

/** Run an action of the user and show why it failed. */
export async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    if (error.name !== "AbortError") notify(error.message, "error");
    return undefined;
  }
}

export const plural = (count, noun) => `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;

export function ago(time) {
  const minutes = (Date.now() - new Date(time).getTime()) / 60_000;
  if (minutes >= 7 * 1440) return new Date(time).toLocaleDateString(undefined, { day: "numeric", month: "short" });
  const [count, unit] = minutes >= 1440 ? [minutes / 1440, "d"] : minutes >= 60 ? [minutes / 60, "h"] : [minutes, "min"];
  return minutes < 1 ? "now" : `${Math.floor(count)} ${unit}`;
}
