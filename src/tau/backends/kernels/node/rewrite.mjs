// Rewrites a cell into a script: declarations persist for later cells, and `await`, `return` and `import`
// work at the top level.

import vm from "node:vm";

import { statements, tokenize } from "./tokens.mjs";

const IMPORT = "__tau_import__";
// A function sent elsewhere as text, such as to a browser page, falls back to the plain import.
const IMPORT_CALL = `(typeof ${IMPORT} === "function" ? ${IMPORT} : (s, o) => import(s, o))`;

// Prepare a cell: `names` are its declarations, `hasValue` means its last line is a value.
export function prepare(code, filename) {
  const failures = [];
  for (const { text, ...way } of waysToRun(code)) {
    const source = way.isAsync ? `(async () => { ${text}\n})()` : text;
    try {
      return { script: new vm.Script(source, { filename, columnOffset: way.isAsync ? -15 : 0 }), ...way };
    } catch (error) {
      failures.push(error);
    }
  }
  // The engine's error for the original code is best, unless our rewrite caused it.
  throw /import statement/.test(failures.at(-1).message) ? failures[0] : failures.at(-1);
}

function waysToRun(code) {
  try {
    return rewritten(code);
  } catch {
    return [{ text: code, names: [], isAsync: false, hasValue: false }]; // not parseable: the engine reports why
  }
}

// Candidate rewrites, best first; the original code comes last.
function rewritten(code) {
  const tokens = tokenize(code);
  const parts = statements(tokens);
  const last = parts.at(-1);
  const has = (word) => tokens.some((token) => token.type === "name" && token.text === word);
  const isAsync = has("await") || parts.some((part) => part.kind === "import" || part.kind === "return");
  const imports = importCalls(tokens);
  const ways = [{ ...asVariables(code, parts), isAsync: false, hasValue: last?.kind === "expression" }];
  if (isAsync || has("return")) {
    const { edits, names } = asAssignments(code, parts);
    const inside = [{ edits, names, isAsync: true, hasValue: true }];
    if (last?.kind === "expression") {
      const withValue = [...edits, { at: last.start, to: last.start, text: "return " }];
      inside.unshift({ ...inside[0], edits: withValue });
    }
    ways.splice(isAsync ? 0 : 1, 0, ...inside);
  }
  const made = ways.map(({ edits, ...way }) => ({ ...way, text: apply(code, [...edits, ...imports]) }));
  return [...made, { text: code, names: [], isAsync: isAsync || has("return"), hasValue: false }];
}

function apply(code, edits) {
  const pieces = [];
  let at = 0;
  for (const edit of [...edits].sort((a, b) => a.at - b.at || a.to - b.to)) {
    pieces.push(code.slice(at, edit.at), edit.text);
    at = edit.to;
  }
  return pieces.join("") + code.slice(at);
}

function importCalls(tokens) {
  return tokens
    .filter((token, index) => token.type === "name" && token.text === "import" && tokens[index + 1]?.text === "(")
    .filter((token) => tokens[tokens.indexOf(token) - 1]?.text !== ".")
    .map((token) => ({ at: token.start, to: token.end, text: IMPORT_CALL }));
}

// Without `await`: a script whose constants can be redeclared.
function asVariables(code, parts) {
  const edits = [];
  const names = [];
  for (const part of parts) {
    const [first] = part.tokens;
    if (part.kind === "const" || part.kind === "let") edits.push({ at: first.start, to: first.end, text: "var" });
    if (["const", "let", "var"].includes(part.kind)) {
      for (const one of declarators(part.tokens)) names.push(...one.names);
    }
    if (part.kind === "class") {
      const name = part.tokens[1].text;
      names.push(name);
      edits.push({ at: part.start, to: part.start, text: `var ${name} = ` });
      edits.push({ at: part.end, to: part.end, text: ";" });
    }
    if (part.kind === "export") edits.push({ at: first.start, to: first.end, text: "" });
  }
  return { edits, names };
}

// Inside an async function: declarations become assignments to globals.
function asAssignments(code, parts) {
  const edits = [];
  const names = [];
  let hoisted = "";
  for (const part of parts) {
    const [first] = part.tokens;
    if (["const", "let", "var"].includes(part.kind)) {
      edits.push({ at: first.start, to: first.end, text: ";" });
      for (const one of declarators(part.tokens)) {
        names.push(...one.names);
        if (one.isPattern) {
          edits.push({ at: one.start, to: one.start, text: "(" }, { at: one.end, to: one.end, text: ")" });
        } else if (!one.hasValue && part.kind !== "var") {
          edits.push({ at: one.end, to: one.end, text: " = undefined" });
        }
      }
    } else if (part.kind === "class") {
      const name = part.tokens[1].text;
      names.push(name);
      edits.push({ at: part.start, to: part.start, text: `;${name} = ` });
      edits.push({ at: part.end, to: part.end, text: ";" });
    } else if (part.kind === "function") {
      const name = part.tokens.find((token) => token.type === "name" && !["async", "function"].includes(token.text));
      names.push(name.text);
      hoisted += `globalThis.${name.text} = ${name.text}; `;
    } else if (part.kind === "import") {
      const { text, names: imported } = importStatement(part.tokens);
      names.push(...imported);
      edits.push({ at: part.start, to: part.end, text });
    } else if (part.kind === "export") {
      edits.push({ at: first.start, to: first.end, text: "" });
    }
  }
  if (hoisted) edits.push({ at: 0, to: 0, text: hoisted });
  return { edits, names };
}

// The declarators of `const a = 1, {b} = c`, each with its declared names.
function declarators(tokens) {
  const found = [];
  const inner = tokens.slice(1).filter((token) => !(token.depth === 0 && token.text === ";"));
  let group = [];
  const finish = () => {
    if (group.length > 0) found.push(declarator(group));
    group = [];
  };
  for (const token of inner) {
    if (token.depth === 0 && token.text === "," && token.type === "punctuation") finish();
    else group.push(token);
  }
  finish();
  return found;
}

function declarator(tokens) {
  const [first] = tokens;
  const equals = tokens.findIndex((token) => token.depth === 0 && token.text === "=");
  const isPattern = first.type === "punctuation";
  const target = equals < 0 ? tokens : tokens.slice(0, equals);
  return {
    start: first.start,
    end: tokens.at(-1).end,
    isPattern,
    hasValue: equals >= 0,
    names: isPattern ? patternNames(target) : [first.text],
  };
}

// The names in `{a, b: c = 1, ...d}` and `[x, [y]]`.
function patternNames(tokens) {
  const names = [];
  const opening = tokens[0].text;
  const depth = tokens[0].depth + 1;
  let element = [];
  const finish = () => {
    if (element[0]?.text === "...") element.shift();
    const equals = element.findIndex((token) => token.depth === depth && token.text === "=");
    let target = equals < 0 ? element : element.slice(0, equals);
    const colon = target.findIndex((token) => token.depth === depth && token.text === ":");
    if (opening === "{" && colon >= 0) target = target.slice(colon + 1);
    if (target.length > 0) {
      if (target[0].type === "punctuation") names.push(...patternNames(target));
      else if (target[0].type === "name") names.push(target[0].text);
    }
    element = [];
  };
  for (const token of tokens.slice(1)) {
    if (token.depth < depth) break;
    if (token.depth === depth && token.text === ",") finish();
    else element.push(token);
  }
  finish();
  return names;
}

// `import d, {a as b} from "m" with {...}` as assignments.
function importStatement(tokens) {
  const source = tokens.find((token) => token.type === "string" && token.depth === 0);
  if (source === undefined) throw new SyntaxError("This import names no module");
  const after = tokens.slice(tokens.indexOf(source) + 1).filter((token) => token.text !== ";");
  const attributes = after.length > 1 ? `, { with: ${after.slice(1).map((token) => token.text).join(" ")} }` : "";
  const value = `await ${IMPORT}(${source.text}${attributes})`;
  const clause = tokens.slice(1, tokens.indexOf(source)).filter((token) => token.text !== "from" || token.depth > 0);
  if (clause.length === 0) return { text: `;${value};`, names: [] };
  const fields = [];
  const names = [];
  let namespace = "";
  for (let index = 0; index < clause.length; index += 1) {
    const token = clause[index];
    if (token.text === "*") {
      namespace = clause[index + 2].text;
      index += 2;
    } else if (token.type === "name" || token.type === "string") {
      const renamed = clause[index + 1]?.text === "as" ? clause[index + 2].text : undefined;
      const local = renamed ?? token.text;
      fields.push(token.depth === 0 ? `default: ${local}` : `${token.text}: ${local}`);
      names.push(local);
      if (renamed !== undefined) index += 2;
    }
  }
  if (!namespace) return { text: `;({ ${fields.join(", ")} } = ${value});`, names };
  names.push(namespace);
  const rest = fields.length > 0 ? ` ({ ${fields.join(", ")} } = ${namespace});` : "";
  return { text: `;${namespace} = ${value};${rest}`, names };
}
