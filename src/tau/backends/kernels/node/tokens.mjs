// Splits JavaScript into tokens and top-level statements, as far as rewriting a cell needs it.

const OPENING = { "(": ")", "[": "]", "{": "}" };
const CLOSING = new Set([")", "]", "}"]);
const PUNCTUATION =
  /^(?:>>>=|\.\.\.|===|!==|\*\*=|<<=|>>=|>>>|&&=|\|\|=|\?\?=|=>|==|!=|<=|>=|&&|\|\||\?\?|\?\.(?!\d)|\+\+|--|\+=|-=|\*=|\/=|%=|&=|\|=|\^=|<<|>>|\*\*|[\s\S])/;
const NAME = /^(?:[\p{ID_Start}$_#@]|\\u)(?:[\p{ID_Continue}$\u200c\u200d]|\\u\{?[0-9a-fA-F]+\}?)*/u;
const NUMBER = /^(?:0[xXbBoO][\da-fA-F_]+n?|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?n?)/;
const SPACE = /^(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|#![^\n]*)+/;
// Words after which a slash begins a regex and a newline continues the expression.
const OPERATORS = new Set(
  "return typeof instanceof in of new delete void throw case do else await yield extends default".split(" "),
);
const JOINING = new Set("in instanceof of as".split(" "));

export function tokenize(code) {
  const tokens = [];
  const open = []; // the closer each open bracket needs; "`" for template text
  let at = 0;
  const add = (type, length, joined = false) => {
    const text = code.slice(at, at + length);
    tokens.push({ type, text, start: at, end: at + length, depth: open.length, newline: false, joined });
    at += length;
  };
  const template = (joined) => {
    let end = at + 1;
    while (end < code.length) {
      if (code[end] === "\\") end += 2;
      else if (code[end] === "`") return add("template", end + 1 - at, joined);
      else if (code[end] === "$" && code[end + 1] === "{") {
        add("template", end + 2 - at, joined);
        return open.push("`");
      } else end += 1;
    }
    return add("template", code.length - at, joined);
  };
  let newline = false;
  while (at < code.length) {
    const rest = code.slice(at, at + 4096);
    const first = rest[0];
    const count = tokens.length;
    let match;
    if (/\s/.test(first) || rest.startsWith("//") || rest.startsWith("/*") || (at === 0 && rest.startsWith("#!"))) {
      const space = SPACE.exec(code.slice(at))[0];
      newline ||= space.includes("\n");
      at += space.length;
      continue;
    }
    if (first === '"' || first === "'") add("string", stringLength(code, at, first));
    else if (first === "`") template(false);
    else if (first === "}" && open.at(-1) === "`") {
      open.pop();
      template(true);
    } else if (/\d/.test(first) || (first === "." && /\d/.test(rest[1] ?? ""))) {
      add("number", NUMBER.exec(rest)[0].length);
    } else if ((match = NAME.exec(rest))) add("name", match[0].length);
    else if (first === "/" && !endsExpression(tokens.at(-1))) add("regex", regexLength(code, at));
    else {
      const text = PUNCTUATION.exec(rest)[0];
      if (CLOSING.has(text) && open.at(-1) === text) open.pop();
      add("punctuation", text.length);
      if (text in OPENING) open.push(OPENING[text]);
    }
    if (tokens.length > count) tokens[count].newline = newline;
    newline = false;
  }
  return tokens;
}

function stringLength(code, at, quote) {
  let end = at + 1;
  while (end < code.length && code[end] !== quote && code[end] !== "\n") end += code[end] === "\\" ? 2 : 1;
  return Math.min(end + 1, code.length) - at;
}

function regexLength(code, at) {
  let end = at + 1;
  let inClass = false;
  while (end < code.length && code[end] !== "\n" && (inClass || code[end] !== "/")) {
    if (code[end] === "\\") end += 1;
    else if (code[end] === "[") inClass = true;
    else if (code[end] === "]") inClass = false;
    end += 1;
  }
  end += 1;
  while (/[a-z]/i.test(code[end] ?? "")) end += 1;
  return Math.min(end, code.length) - at;
}

export function endsExpression(token) {
  if (token === undefined) return false;
  if (token.type === "name") return !OPERATORS.has(token.text);
  return token.type !== "punctuation" || [")", "]", "}", "++", "--"].includes(token.text);
}

function beginsStatement(token) {
  if (token.joined || token.type === "template") return false;
  if (token.type === "name") return !JOINING.has(token.text);
  return token.type !== "punctuation" || ["{", "++", "--", "!", "~", ";"].includes(token.text);
}

const DECLARING = new Set("const let var class function import export".split(" "));
const CONTROL = new Set(
  "if for while do switch try throw return break continue debugger with else catch finally case".split(" "),
);
const WITH_BODY = new Set("if for while do switch try with else catch finally".split(" "));

// The top-level statements of a cell, with their tokens and kinds.
export function statements(tokens) {
  const found = [];
  let from = 0;
  const finish = (to) => {
    if (to > from) found.push(statement(tokens.slice(from, to)));
    from = to;
  };
  tokens.forEach((token, index) => {
    const before = tokens[index - 1];
    if (token.depth > 0 || index === from) return;
    if (before.depth === 0 && before.text === ";" && before.type === "punctuation") finish(index);
    else if (before.depth === 0 && before.text === "}" && endsWithBody(tokens, from, token)) finish(index);
    else if (endsImport(tokens, from, index)) finish(index);
    else if (token.newline && endsExpression(before) && beginsStatement(token)) finish(index);
  });
  finish(tokens.length);
  return found.filter((one) => one.kind !== "empty");
}

function statement(tokens) {
  let [first, second] = tokens;
  let kind = "expression";
  if (first.text === ";" && tokens.length === 1) kind = "empty";
  else if (first.type === "punctuation" && first.text === "{") kind = "control";
  else if (first.type === "name") {
    if (first.text === "async" && second?.text === "function" && !second.newline) kind = "function";
    else if (first.text === "import" && (second?.text === "(" || second?.text === ".")) kind = "expression";
    else if (first.text === "let" && !declares(second)) kind = "expression";
    else if (DECLARING.has(first.text)) kind = first.text;
    else if (CONTROL.has(first.text)) kind = first.text === "return" ? "return" : "control";
    else if (second?.text === ":" && second.depth === 0) kind = "control";
  }
  return { kind, tokens, start: first.start, end: tokens.at(-1).end };
}

function declares(token) {
  return token !== undefined && (token.type === "name" || token.text === "[" || token.text === "{");
}

// An import ends after the module name and an optional `with` clause.
function endsImport(tokens, from, index) {
  if (tokens[from].text !== "import" || ["(", "."].includes(tokens[from + 1]?.text)) return false;
  const [before, token] = [tokens[index - 1], tokens[index]];
  if (before.depth > 0) return false;
  if (before.type === "string") return !["with", "assert", ";"].includes(token.text);
  return before.text === "}" && !["from", ",", ";"].includes(token.text);
}

function endsWithBody(tokens, from, next) {
  const { kind } = statement(tokens.slice(from, from + 2));
  if (kind === "function" || kind === "class") return true;
  const first = tokens[from];
  if (kind !== "control" || !(first.text === "{" || WITH_BODY.has(first.text) || tokens[from + 1]?.text === ":")) {
    return false;
  }
  if (next.type === "name") {
    return !["else", "catch", "finally"].includes(next.text) && !(next.text === "while" && first.text === "do");
  }
  return beginsStatement(next) || ["(", "["].includes(next.text) || next.type === "template";
}
