"""One small program per language: a name, a text, and which lines each block spans."""

from msgspec import Struct


class Sample(Struct, frozen=True):
    """`blocks` has the last line of the block starting on a line, or None."""

    name: str
    text: str
    blocks: dict[int, int | None]


SAMPLES = [
    Sample(
        "a.py",
        "@cached\n@other\ndef f(a):\n    x = [\n        1,\n    ]\n\n    return x\n\nclass A:\n    y = 1\n",
        {1: 8, 2: 8, 3: 8, 4: 6, 5: 5, 6: None, 7: None, 8: 8, 9: None, 10: 11, 11: 11},
    ),
    Sample(
        "a.ts",
        "@C({\n  x: 1,\n})\nexport class A {\n  m(x: number): void {\n    y();\n  }\n}\n"
        "const f = useCallback(() => {\n  z();\n}, [a]);\ninterface I {\n  a: string;\n}\n",
        {1: 8, 3: None, 4: 8, 5: 7, 6: 6, 7: None, 8: None, 9: 11, 10: 10, 11: None, 12: 14},
    ),
    Sample(
        "a.tsx",
        "export function A() {\n  return (\n    <div>\n      <b>x</b>\n    </div>\n  );\n}\n",
        {1: 7, 2: 6, 3: 5, 4: 4, 5: None, 6: None, 7: None},
    ),
    Sample(
        "a.js",
        "if (a) {\n  b();\n} else {\n  c();\n}\nfoo\n  .bar(() => {\n    x();\n  })\n  .baz();\n"
        "describe('x', () => {\n  it('y', async () => {\n    z();\n  });\n});\n",
        {1: 5, 2: 2, 3: None, 5: None, 6: 10, 8: 8, 9: None, 11: 15, 12: 14, 14: None, 15: None},
    ),
    Sample(
        "a.rs",
        "/// doc\n#[derive(Debug)]\npub struct A {\n    x: i32,\n}\nimpl A {\n    #[inline]\n"
        "    pub fn f(&self) -> i32 {\n        self.x\n    }\n}\n",
        {1: 1, 2: 2, 3: 5, 4: 4, 5: None, 6: 11, 7: 7, 8: 10, 9: 9, 10: None, 11: None},
    ),
    Sample(
        "a.go",
        'package a\n\nimport (\n\t"b"\n)\n\nfunc F(x int) int {\n'
        "\tgo func() {\n\t\tx()\n\t}()\n\treturn x\n}\n",
        {1: 1, 2: None, 3: 5, 4: 4, 5: None, 7: 12, 8: 10, 9: 9, 10: None, 11: 11, 12: None},
    ),
    Sample(
        "A.java",
        "class A {\n  @Override\n  public int f(int x) {\n    return x;\n  }\n  int g() { return 1; }\n}\n",
        {1: 7, 2: 5, 3: 5, 4: 4, 5: None, 6: 6, 7: None},
    ),
    Sample(
        "a.c",
        "#include <a.h>\nstruct A {\n  int x;\n};\nint f(int x)\n{\n  return x;\n}\n",
        {1: 1, 2: 4, 3: 3, 4: None, 5: 8, 6: 8, 7: 7, 8: None},
    ),
    Sample(
        "a.cpp",
        "namespace a {\nclass B {\n  template <class T>\n  void f(T t) {\n    auto l = [&]() {\n"
        "      z();\n    };\n  }\n};\n}  // namespace a\n",
        {1: 10, 2: 9, 3: 8, 4: 8, 5: 7, 6: 6, 7: None, 8: None, 9: None, 10: None},
    ),
    Sample(
        "a.cs",
        "namespace A\n{\n  public class B\n  {\n    [Test]\n    public int F(int x)\n"
        "    {\n      return x;\n    }\n  }\n}\n",
        {1: 11, 2: 11, 3: 10, 4: 10, 5: 9, 6: 9, 7: 9, 8: 8, 9: None},
    ),
    Sample(
        "a.rb",
        "class B\n  def f(x)\n    y = <<~EOS\n      a\n      b\n    EOS\n    y\n  end\nend\n"
        "foo do |x|\n  bar\nend\n",
        {1: 9, 2: 8, 3: 6, 7: 7, 8: None, 9: None, 10: 12, 11: 11, 12: None},
    ),
    Sample(
        "a.php",
        "<?php\nclass B {\n  #[Attr]\n  public function f($x) {\n    return $x;\n  }\n}\n$a = [\n  1,\n];\n",
        {2: 7, 3: 6, 4: 6, 5: 5, 6: None, 7: None, 8: 10, 9: 9, 10: None},
    ),
    Sample(
        "a.sh",
        "f() {\n  echo 1\n}\nif x; then\n  y\nfi\ncat <<EOF\na\nEOF\n",
        {1: 3, 2: 2, 3: None, 4: 6, 5: 5, 6: None, 7: 9, 9: None},
    ),
    Sample(
        "a.html",
        "<html>\n<body>\n<div>\n<p>x</p>\n<script>\nfoo();\n</script>\n</div>\n</body>\n</html>\n",
        {1: 10, 2: 9, 3: 8, 4: 4, 5: 7, 7: None, 8: None, 9: None, 10: None},
    ),
    Sample(
        "a.css",
        "@media x {\n  .a {\n    b: c;\n  }\n}\n.d {\n  e: f;\n}\n",
        {1: 5, 2: 4, 3: 3, 4: None, 5: None, 6: 8, 7: 7, 8: None},
    ),
    Sample(
        "a.json",
        '{\n  "a": 1,\n  "b": {\n    "c": [\n      1\n    ]\n  }\n}\n',
        {1: 8, 2: 2, 3: 7, 4: 6, 5: 5, 6: None, 7: None, 8: None},
    ),
    Sample(
        "a.yaml",
        "a: 1\nb:\n  c: 2\n  d:\n    - x\n    - y: 1\n      z: 2\n\ne: |\n  text\n",
        {1: 1, 2: 7, 3: 3, 4: 7, 5: 5, 6: 7, 7: 7, 8: None, 9: 10},
    ),
    Sample(
        "a.kt",
        "class A {\n  @Test\n  fun f(x: Int): Int {\n    val y = 1\n    return y\n  }\n  fun g() = 3\n}\n",
        {1: 8, 2: 6, 3: 6, 4: 4, 5: 5, 6: None, 7: 7, 8: None},
    ),
    Sample(
        "a.swift",
        "class A {\n  @objc\n  func f(x: Int) -> Int {\n    let y = 1\n    return y\n  }\n}\n",
        {1: 7, 2: 6, 3: 6, 4: 4, 5: 5, 6: None, 7: None},
    ),
    Sample(
        "a.lua",
        "local function f(a)\n  local x = 1\n  return x\nend\nM.g = function()\n  x()\nend\n",
        {1: 4, 2: 2, 3: 3, 4: None, 5: 7, 6: 6, 7: None},
    ),
    Sample(
        "a.scala",
        "object A {\n  def f(x: Int): Int = {\n    val y = 1\n    y\n  }\n}\nclass B:\n  def h =\n    3\n",
        {1: 6, 2: 5, 3: 3, 4: 4, 5: None, 6: None, 7: 9, 8: 9, 9: 9},
    ),
    Sample(
        "a.ex",
        "defmodule A do\n  def f(x) do\n    y = 1\n    y\n  end\nend\n",
        {1: 6, 2: 5, 3: 3, 4: 4, 5: None, 6: None},
    ),
    Sample(
        "a.hs",
        "module A where\nimport B\nf :: Int -> Int\nf x = y\n  where\n    y = 1\ng n = 2\n",
        {1: 1, 2: 2, 3: 3, 4: 6, 6: 6, 7: 7},
    ),
    Sample(
        "a.nix",
        "{ pkgs }:\nlet\n  x = 1;\nin {\n  a = [\n    1\n  ];\n}\n",
        {1: 8, 3: 3, 4: None, 5: 7, 7: None},
    ),
    Sample(
        "a.tf",
        'resource "a" "b" {\n  x = 1\n  y {\n    z = [\n      1,\n    ]\n  }\n}\n',
        {1: 8, 2: 2, 3: 7, 4: 6, 6: None, 7: None, 8: None},
    ),
    Sample(
        "a.sol",
        "contract A {\n  function f(uint x) public returns (uint) {\n    return x;\n  }\n}\n",
        {1: 5, 2: 4, 3: 3, 4: None, 5: None},
    ),
    Sample(
        "a.dart", "class A {\n  int f(int x) {\n    return x;\n  }\n}\n", {1: 5, 2: 4, 3: 3, 4: None, 5: None}
    ),
    Sample(
        "a.zig",
        'const A = struct {\n  pub fn f(x: i32) i32 {\n    return x;\n  }\n};\ntest "a" {\n  try b();\n}\n',
        {1: 5, 2: 4, 3: 3, 4: None, 5: None, 6: 8, 7: 7, 8: None},
    ),
    Sample(
        "a.md",
        "# A\n\ntext\nmore\n\n## B\n\n- x\n- y\n\n```py\nx\n```\n\n# C\nz\n",
        {1: 13, 2: None, 3: 4, 6: 13, 8: 8, 9: 9, 11: 13, 13: None, 15: 16},
    ),
]
