// Plays recordings into xterm.js: one JSON object a line in, one JSON object a line out.
// In: {columns, rows, scrollback, reflowCursorLine, events: [["write", text] | ["resize", columns, rows], ...]}
// Out: {tape, history, cursor, wrapped, looks} with all rows of the buffer, oldest first.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const require = createRequire(process.argv[2] + "/");
const { Terminal } = require("@xterm/headless");
const { Unicode11Addon } = require("@xterm/addon-unicode11");

const FLAGS = ["Bold", "Dim", "Italic", "Underline", "Blink", "Inverse", "Invisible", "Strikethrough", "Overline"];

function color(cell, side) {
  if (cell[`is${side}Default`]()) return "";
  const value = cell[`get${side}Color`]();
  return cell[`is${side}RGB`]() ? "#" + value.toString(16).padStart(6, "0") : String(value);
}

function looksOf(line, columns) {
  const runs = [];
  let last = "";
  for (let x = 0; x < columns; x++) {
    const cell = line.getCell(x);
    const flags = FLAGS.filter((flag) => cell[`is${flag}`]()).join(",");
    const look = `${color(cell, "Fg")}|${color(cell, "Bg")}|${flags}`;
    if (look !== last) runs.push([x, look]);
    last = look;
  }
  return runs;
}

async function play(job) {
  const terminal = new Terminal({
    cols: job.columns,
    rows: job.rows,
    scrollback: job.scrollback ?? 100000,
    allowProposedApi: true,
    reflowCursorLine: job.reflowCursorLine ?? true,
  });
  terminal.loadAddon(new Unicode11Addon());
  terminal.unicode.activeVersion = "11";
  for (const [kind, ...rest] of job.events) {
    if (kind === "write") await new Promise((done) => terminal.write(rest[0], done));
    else terminal.resize(rest[0], rest[1]);
  }
  const buffer = terminal.buffer.normal;
  const lines = Array.from({ length: buffer.length }, (_, y) => buffer.getLine(y));
  const active = terminal.buffer.active;
  const result = {
    tape: lines.map((line) => line.translateToString(true)),
    history: buffer.baseY,
    cursor: [active.cursorY, Math.min(active.cursorX, terminal.cols - 1)],
    wrapped: lines.map((line) => line.isWrapped),
    looks: job.looks ? lines.map((line) => looksOf(line, terminal.cols)) : [],
  };
  terminal.dispose();
  return result;
}

process.on("uncaughtException", (error) => {
  console.log(JSON.stringify({ error: String(error) }));
  process.exit(1);
});

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await play(JSON.parse(line))));
}
