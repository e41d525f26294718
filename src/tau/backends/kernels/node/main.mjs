// Entry point of a JavaScript kernel: it serves the private channel and runs cells in order.

import fs from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import util from "node:util";

import { installHelpers, showValue } from "./prelude.mjs";
import { prepare } from "./rewrite.mjs";

const channel = Number(process.env.TAU_KERNEL);
delete process.env.TAU_KERNEL;
const secret = Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString("hex");
const OURS = path.dirname(fileURLToPath(import.meta.url));
const MAX_MESSAGE_CHARS = 32 * 1024 * 1024;
const MAX_CELLS = 1000;

const toOutput = process.stdout.write.bind(process.stdout);
const reallyExit = process.exit.bind(process);
const pause = new Int32Array(new SharedArrayBuffer(4));
const calls = new Map();
const versions = new Map(); // modification time of each local file when last imported
const cellLines = new Map();
let lastCall = 0;
let sequence = 0;
let running = false;
let waiting = Promise.resolve();

class Exit extends Error {
  constructor(code) {
    super(`process.exit(${code ?? ""})`);
    this.code = code;
  }
}

// Write synchronously: a cell may be blocking the event loop.
function writeAll(number, data) {
  let rest = Buffer.from(data);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(fs.writeSync(number, rest));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(pause, 0, 0, 1);
    }
  }
}

function send(message) {
  const line = JSON.stringify(message);
  if (line.length > MAX_MESSAGE_CHARS) throw new RangeError("it is larger than 32 MB");
  writeAll(channel, line + "\n");
}

function mark() {
  toOutput(`\0${secret}${sequence.toString(16).padStart(8, "0")}\0`);
}

const kernel = {
  call(op, args) {
    lastCall += 1;
    const id = lastCall;
    return new Promise((resolve, reject) => {
      calls.set(id, { resolve, reject });
      send({ t: "call", id, op, args });
    });
  },
  show(kind, what) {
    sequence += 1;
    try {
      send({ ...what, t: "show", seq: sequence, kind });
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
      toOutput(`[This ${kind} is not shown: ${error.message}]\n`);
      return;
    }
    mark();
  },
  status(op, facts) {
    send({ t: "status", event: { op, ...facts } });
  },
  write: toOutput,
};

async function execute({ id, code }) {
  cellLines.set(String(id), code.split("\n").length);
  if (cellLines.size > MAX_CELLS) cellLines.delete(cellLines.keys().next().value);
  const { script, names, isAsync, hasValue } = prepare(code, `cell ${id}`);
  for (const name of names) settle(name);
  send({ t: "begun", id });
  let value = script.runInThisContext({ breakOnSigint: true });
  if (isAsync || value instanceof Promise) value = await value;
  if (hasValue && value !== undefined) showValue(kernel, value);
}

// Some Node globals cannot be assigned to; let a cell's declaration replace them.
function settle(name) {
  const there = Object.getOwnPropertyDescriptor(globalThis, name);
  if (there === undefined || (!("value" in there) && there.configurable)) {
    Object.defineProperty(globalThis, name, { value: undefined, writable: true, configurable: true, enumerable: true });
  }
}

async function run(cell) {
  const end = { status: "ok", exit: 0 };
  running = true;
  try {
    await execute(cell);
  } catch (error) {
    end.status = "error";
    end.exit = 1;
    if (error instanceof Exit) {
      end.exit = Number(error.code ?? process.exitCode ?? 0) & 0xff;
      end.status = end.exit === 0 ? "ok" : "error";
      process.exitCode = undefined;
    } else if (error?.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED") {
      calls.clear(); // nothing waits for their replies any more, and a rejection would count as uncaught
      end.status = "interrupted";
      end.exit = 130;
    } else toOutput(describe(error));
  }
  running = false;
  sequence += 1;
  send({ t: "done", id: cell.id, seq: sequence, ...end });
  mark();
}

// Format an error without frames of ours or of Node.
function describe(error) {
  if (!(error instanceof Error) && typeof error?.stack !== "string") return `Uncaught ${util.inspect(error)}\n`;
  const lines = String(error.stack).split("\n");
  const kept = lines.filter((line) => !/^\s+at /.test(line) || !isOurs(line));
  const facts = Object.keys(error).filter((key) => !["stack", "message"].includes(key));
  const more = facts.length > 0 ? ` ${util.inspect(Object.fromEntries(facts.map((key) => [key, error[key]])))}` : "";
  const cause = error.cause instanceof Error ? `Caused by: ${describe(error.cause)}` : "";
  return `${kept.join("\n")}${more}\n${cause}`;
}

function isOurs(frame) {
  const [, cell, line] = /cell (\d+):(\d+):/.exec(frame) ?? [];
  if (cell !== undefined) return Number(line) > cellLines.get(cell); // the wrapper function around a cell
  return /\(?node:/.test(frame) || frame.includes(OURS);
}

// Import relative to the folder where cells run; reload a local file if it changed.
async function importFromHere(specifier, options) {
  const wanted = String(specifier);
  const here = pathToFileURL(path.join(process.cwd(), "cell.mjs")).href;
  if (/^(?:\.{0,2}\/|\.{1,2}$|~\/|[A-Za-z]:[\\/])/.test(wanted)) {
    const place = path.resolve(wanted.replace(/^~(?=\/)/, os.homedir()));
    const file = existing(place);
    const changed = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (changed === undefined) throw new Error(`There is no module ${wanted} (${file}).`);
    if (versions.has(file) && versions.get(file) !== changed) delete globalThis.require.cache[file];
    versions.set(file, changed);
    return import(`${pathToFileURL(file).href}?${changed}`, options);
  }
  if (/^[a-z][a-z0-9+.-]*:/i.test(wanted)) return import(wanted, options);
  let url;
  try {
    url = await import.meta.resolve(wanted, here);
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    const found = createRequire(here).resolve(wanted);
    url = path.isAbsolute(found) ? pathToFileURL(found).href : found;
  }
  return import(url, options);
}

// Resolve a path like `require` does.
function existing(place) {
  try {
    return createRequire(pathToFileURL(path.join(process.cwd(), "cell.js"))).resolve(place);
  } catch {
    return place;
  }
}

function take(message) {
  if (message.t === "run") waiting = waiting.then(() => run(message));
  else if (message.t === "ping") send({ t: "pong", id: message.id });
  else if (message.t === "close") reallyExit(0);
  else if (message.t === "reply") {
    const call = calls.get(message.id);
    calls.delete(message.id);
    if (message.ok) call?.resolve(message.value);
    else call?.reject(new Error(message.error));
  }
}

function listen() {
  const socket = new net.Socket({ fd: channel, readable: true, writable: false });
  let rest = "";
  socket.setEncoding("utf8");
  socket.on("data", (data) => {
    const lines = (rest + data).split("\n");
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  });
  socket.on("close", () => reallyExit(0));
  socket.on("error", () => reallyExit(0));
}

process.exit = (code) => {
  throw new Exit(code);
};
process.on("uncaughtException", (error) => {
  if (!(error instanceof Exit)) toOutput(describe(error));
});
process.on("SIGINT", () => {
  // A pending await cannot be cancelled: only exiting the process reliably stops the cell.
  if (running) reallyExit(130);
});
globalThis.require = createRequire(pathToFileURL(path.join(process.cwd(), "cell.js")));
globalThis.fs = fs;
Object.defineProperty(globalThis, "__tau_import__", { value: importFromHere });
util.inspect.defaultOptions.colors = false;
installHelpers(kernel);
listen();
send({ t: "ready", version: process.versions.node, mark: secret });
