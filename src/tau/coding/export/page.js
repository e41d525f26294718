"use strict";
(() => {
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const segments = new Map(all(".segment").map((segment) => [segment.id, segment]));
  const children = new Map();
  for (const [id, segment] of segments) {
    const parent = segment.dataset.parent ?? "";
    children.set(parent, [...(children.get(parent) ?? []), id]);
  }
  const wasActive = new Set([...segments].filter(([, segment]) => !segment.hidden).map(([id]) => id));

  // The branch that goes through a segment: up to the root, and down to where it was last worked on.
  const branch = (id) => {
    const path = new Set();
    for (let up = id; segments.has(up); up = segments.get(up).dataset.parent ?? "") path.add(up);
    for (let down = id; ; ) {
      const next = children.get(down) ?? [];
      if (!next.length) return path;
      down = next.find((child) => wasActive.has(child)) ?? next[next.length - 1];
      path.add(down);
    }
  };

  const show = (id) => {
    const path = branch(id);
    for (const [name, segment] of segments) segment.hidden = !path.has(name);
    for (const link of all(".outline a")) link.classList.toggle("on", path.has(link.dataset.segment));
    for (const link of all(".fork a")) {
      if (path.has(link.hash.slice(1))) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };

  const go = () => {
    const target = document.getElementById(location.hash.slice(1));
    const segment = target?.closest(".segment");
    if (!segment) return;
    if (segment.hidden) show(segment.id);
    for (let up = target; up; up = up.parentElement) if (up.localName === "details") up.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", go);
  go();

  const tools = document.querySelector(".tools");
  if (!tools) return;
  tools.hidden = false;
  const [expand, theme] = all("button", tools);
  expand.addEventListener("click", () => {
    const open = expand.dataset.open !== "yes";
    for (const part of all("main details")) part.open = open;
    expand.dataset.open = open ? "yes" : "no";
    expand.textContent = open ? "Collapse everything" : "Expand everything";
  });
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.scheme ? root.dataset.scheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.scheme = dark ? "light" : "dark";
  });
})();
