// Unified diffs of two texts.

const CONTEXT = 3;
const MAX_CELLS = 4_000_000; // size of the comparison table; larger inputs count as fully replaced

export function unifiedDiff(first, second, firstName, secondName) {
  const steps = compare(linesOf(first), linesOf(second));
  const hunks = hunksOf(steps);
  if (hunks.length === 0) return "";
  const text = hunks.map((hunk) => [header(hunk), ...hunk.map(({ sign, line }) => `${sign}${line}`)].join("\n"));
  return [`--- ${firstName}`, `+++ ${secondName}`, ...text, ""].join("\n");
}

function linesOf(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function compare(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const same = (from, lines) => lines.map((line, index) => ({ sign: " ", line, a: from + index }));
  const middle = changed(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const all = [...same(0, a.slice(0, start)), ...middle, ...same(0, a.slice(a.length - end))];
  let [left, right] = [0, 0];
  for (const step of all) {
    step.a = left;
    step.b = right;
    if (step.sign !== "+") left += 1;
    if (step.sign !== "-") right += 1;
  }
  return all;
}

// The longest common subsequence of lines decides what stays.
function changed(a, b) {
  const removed = a.map((line) => ({ sign: "-", line }));
  const added = b.map((line) => ({ sign: "+", line }));
  if (a.length * b.length > MAX_CELLS) return [...removed, ...added];
  const width = b.length + 1;
  const best = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      best[i * width + j] =
        a[i] === b[j]
          ? best[(i + 1) * width + j + 1] + 1
          : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const steps = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      steps.push({ sign: " ", line: a[i] });
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || best[(i + 1) * width + j] >= best[i * width + j + 1])) {
      steps.push(removed[i]);
      i += 1;
    } else {
      steps.push(added[j]);
      j += 1;
    }
  }
  return steps;
}

function hunksOf(steps) {
  const hunks = [];
  let last = -Infinity;
  steps.forEach((step, index) => {
    if (step.sign === " ") return;
    const from = Math.max(index - CONTEXT, 0);
    if (from > last + CONTEXT) hunks.push([from, index]);
    else hunks.at(-1)[1] = index;
    last = index;
  });
  return hunks.map(([from, to]) => steps.slice(from, to + CONTEXT + 1));
}

function header(hunk) {
  const side = (sign, start) => {
    const count = hunk.filter((step) => step.sign !== sign).length;
    return count === 1 ? `${start + 1}` : `${count === 0 ? start : start + 1},${count}`;
  };
  return `@@ -${side("+", hunk[0].a)} +${side("-", hunk[0].b)} @@`;
}
