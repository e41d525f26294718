// Helpers for JavaScript cells: files, text, the environment, and calls to tau.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import util from "node:util";

import { unifiedDiff } from "./diff.mjs";

const TREE_ENTRIES = 1000;
const LEFT_OUT = new Set([".git", "node_modules", "__pycache__", ".venv", "venv"]);

// A tool's result text, with `details` and `images` as properties.
class ToolText extends String {
  constructor(answer) {
    super(answer.text);
    this.text = answer.text;
    this.details = answer.details;
    this.images = answer.images ?? [];
  }
}

// Show the value of a cell's last line.
export function showValue(kernel, value) {
  if (isPicture(value)) showPicture(kernel, value);
  else kernel.write(`${plain(value)}\n`);
}

function display(kernel, value) {
  if (isPicture(value)) return showPicture(kernel, value);
  if (value?.type === "markdown" && typeof value.text === "string") {
    return kernel.show("markdown", { text: value.text });
  }
  if (value?.type === "html" && typeof value.text === "string") return kernel.show("html", { text: value.text });
  if (Array.isArray(value) || isPlainObject(value)) {
    const text = json(value);
    if (text !== undefined) return kernel.show("json", { value: JSON.parse(text) });
  }
  return kernel.write(`${plain(value)}\n`);
}

function json(value) {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined; // circular, or a number that JSON cannot represent
  }
}

function plain(value) {
  if (typeof value === "string" || value instanceof ToolText) return String(value);
  return util.inspect(value, { depth: 6, maxArrayLength: 200, maxStringLength: 100_000 });
}

function isPlainObject(value) {
  const prototype = typeof value === "object" && value !== null ? Object.getPrototypeOf(value) : undefined;
  return prototype === Object.prototype || prototype === null;
}

function isPicture(value) {
  return value?.type === "image" && value.data !== undefined;
}

function showPicture(kernel, { data, mimeType }) {
  const text = typeof data === "string" ? data : Buffer.from(data).toString("base64");
  kernel.show("image", { data: text, mime: mimeType ?? "image/png" });
}

function placeOf(name) {
  const text = String(name);
  if (text.includes("://")) throw new Error(`${text} is a URL; use tool.read({path}).`);
  return path.resolve(text.replace(/^~(?=\/|$)/, os.homedir()));
}

function linesOf(text) {
  const lines = String(text).split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function fileHelpers(kernel) {
  const read = async (name, { offset = 1, limit } = {}) => {
    const place = placeOf(name);
    if (fs.statSync(place).isDirectory()) throw new Error(`${place} is a directory.`);
    let text = await fs.promises.readFile(place, "utf8");
    if (offset > 1 || limit !== undefined) {
      const first = Math.max(offset, 1) - 1;
      const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
      text = lines.slice(first, limit === undefined ? undefined : first + limit).join("");
    }
    kernel.status("read", { path: place, chars: text.length });
    return text;
  };
  const put = (op, flag) => async (name, content) => {
    const place = placeOf(name);
    await fs.promises.mkdir(path.dirname(place), { recursive: true });
    await fs.promises.writeFile(place, content, { flag });
    kernel.status(op, { path: place, chars: content.length });
    return place;
  };
  return {
    read,
    write: put("write", "w"),
    append: put("append", "a"),
    tree: async (name = ".", { maxDepth = 3, hidden = false } = {}) => {
      const place = placeOf(name);
      const lines = [place];
      branches(place, "", maxDepth, hidden, lines);
      if (lines.length > TREE_ENTRIES) {
        lines.splice(TREE_ENTRIES, lines.length, `[… first ${TREE_ENTRIES} entries only]`);
      }
      kernel.status("tree", { path: place, entries: lines.length - 1 });
      return lines.join("\n");
    },
    diff: async (first, second) => unifiedDiff(await read(first), await read(second), String(first), String(second)),
    output: async (id, { offset, limit } = {}) => {
      const place = await kernel.call("output", { id: String(id).replace("artifact://", "") });
      return read(place, { offset, limit });
    },
  };
}

function branches(folder, indent, depth, hidden, lines) {
  if (depth <= 0 || lines.length > TREE_ENTRIES) return;
  const entries = fs.readdirSync(folder, { withFileTypes: true });
  const shown = entries.filter((entry) => hidden || !entry.name.startsWith("."));
  shown.sort((a, b) => b.isDirectory() - a.isDirectory() || (a.name < b.name ? -1 : 1));
  for (const entry of shown) {
    lines.push(`${indent}  ${entry.name}${entry.isDirectory() ? "/" : ""}`);
    if (entry.isDirectory() && !LEFT_OUT.has(entry.name)) {
      branches(path.join(folder, entry.name), `${indent}  `, depth - 1, hidden, lines);
    }
  }
}

function textHelpers(kernel) {
  return {
    sort: (text, { reverse = false, unique = false } = {}) => {
      const lines = linesOf(text);
      const sorted = (unique ? [...new Set(lines)] : lines).sort();
      return (reverse ? sorted.reverse() : sorted).join("\n");
    },
    uniq: (text, { count = false } = {}) => {
      const runs = [];
      for (const line of linesOf(text)) {
        if (runs.at(-1)?.[1] === line) runs.at(-1)[0] += 1;
        else runs.push([1, line]);
      }
      return count ? runs : runs.map(([, line]) => line).join("\n");
    },
    counter: (items, { limit, reverse = false } = {}) => {
      const counted = new Map();
      for (const item of typeof items === "string" ? linesOf(items) : items) {
        counted.set(item, (counted.get(item) ?? 0) + 1);
      }
      const pairs = [...counted].map(([item, number]) => [number, item]);
      pairs.sort((a, b) => (reverse ? a[0] - b[0] : b[0] - a[0]));
      return pairs.slice(0, limit);
    },
    env: async (key, value) => {
      if (key === undefined) return { ...process.env };
      if (value !== undefined) process.env[key] = String(value);
      kernel.status("env", { key, set: value !== undefined });
      return process.env[key];
    },
    log: (message) => kernel.status("log", { message: plain(message) }),
    phase: (title) => kernel.status("phase", { title: plain(title) }),
    print: (...values) => console.log(...values.map((value) => (value instanceof ToolText ? value.text : value))),
  };
}

function hostHelpers(kernel) {
  const sideBySide = async (works) => {
    const width = (await kernel.call("concurrency", {})) || works.length;
    const results = new Array(works.length);
    let next = 0;
    let failed = false;
    const work = async () => {
      while (next < works.length && !failed) {
        const index = next;
        next += 1;
        try {
          results[index] = await works[index]();
        } catch (error) {
          failed = true;
          throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(width, works.length) }, work));
    return results;
  };
  return {
    completion: (prompt, { model = "default", system = null, schema = null } = {}) =>
      kernel.call("completion", { prompt, model, system, schema }),
    agent: (prompt, { agentType = "task", model = null, label = null, schema = null } = {}) =>
      kernel.call("agent", { prompt, agentType, model, label, schema }),
    parallel: async (thunks) => {
      const works = [...thunks];
      if (works.some((thunk) => typeof thunk !== "function")) {
        throw new TypeError("parallel takes functions without arguments, as in parallel([() => work(1)]).");
      }
      return sideBySide(works);
    },
    pipeline: (items, ...stages) =>
      sideBySide(
        [...items].map((item) => async () => {
          let value = item;
          for (const stage of stages) value = await stage(value);
          return value;
        }),
      ),
    tool: new Proxy(
      {},
      {
        get: (_, name) =>
          typeof name !== "string" || name === "then"
            ? undefined
            : async (args = {}) => new ToolText(await kernel.call("tool", { name, arguments: args })),
      },
    ),
    tools: {
      search: async (query, limit = 8) => (await searchTools(kernel, { query, limit, activate: false })).tools,
      schema: async (name) => (await searchTools(kernel, { query: name, schema_of: name })).schema,
    },
  };
}

// The tools of servers, hidden ones too.
async function searchTools(kernel, args) {
  return (await kernel.call("tool", { name: "search_tool_bm25", arguments: args })).details;
}

export function installHelpers(kernel) {
  const helpers = {
    display: (...values) => values.forEach((value) => display(kernel, value)),
    ...fileHelpers(kernel),
    ...textHelpers(kernel),
    ...hostHelpers(kernel),
  };
  Object.assign(globalThis, helpers);
}
