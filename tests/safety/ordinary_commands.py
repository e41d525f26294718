"""Commands as coding agents write them every day, and a project in which most of them work."""

import re
import textwrap
from pathlib import Path

LOOKING = r"""
ls -la && pwd
ls *.md
ls -R src | head -20
cat src/main.py | head -50
head -1 a.txt | tr a-z A-Z
tail -n 5 a.txt
wc -l src/*.py
grep -rn "def " src --include=*.py
grep -oP '(?<=version = ")[^"]+' pyproject.toml
grep -rn nowhere-to-be-found src
rg -n "def \w+\(" src | wc -l
rg one
find . -name '*.py' -not -path './.venv/*' | head
find . -type f -name '*.pyc' -delete
find src -name '*.py' -exec grep -l main {} +
find . -maxdepth 2 -type d
sed -n '1,50p' src/main.py
awk '{print $1}' a.txt | sort | uniq -c | sort -rn
awk -F: '$3 > 1000 {print $1}' /etc/passwd
sort a.txt | uniq -c
cut -c1 a.txt
diff a.txt a.txt
diff a.txt b.txt
diff <(sort a.txt) <(sort b.txt)
cmp a.txt a.txt
stat -c %s a.txt
file a.txt
du -sh .
df . | tail -1
jq .name package.json
jq '.scripts | keys' package.json
xxd a.txt | head -2
head -c 100 a.txt | base64
date +%s
env | sort | head -3
id
whoami
uname -a
hostname
nproc
uptime
free
ps aux | head -2
ps aux | grep python | grep -v grep | head -1; true
which python3 git
command -v node
type cd
ulimit -n
cat /etc/os-release
ls /usr/bin | wc -l
echo "Done: $(date)"
echo 'It costs $5 (`five`)'
printf '%s\n' a b c
printf a | base64
expr 1 + 2
echo $((1+2))
seq 3 | xargs -n1 echo
test -f a.txt && echo yes || echo no
[[ -d node_modules ]] || echo missing
if [ -f setup.py ]; then python3 setup.py build; fi
for f in src/*.py; do echo "== $f"; wc -l "$f"; done
for i in $(seq 1 5); do echo $i; done
for i in {1..5}; do echo $i; done
while read -r line; do echo "$line"; done < a.txt
x=$(git rev-parse HEAD); echo $x
(exit 3)
true
false
"""
FILES = r"""
mkdir -p build/deep && touch build/deep/z
cp -r build build2 && mv build2 build3
rm -rf build3
cp src/main.py src/copy.py && rm src/copy.py
mv b.txt c.txt && mv c.txt b.txt
ln -s a.txt link
ln a.txt hard
touch src/new.py
cat > src/new.py <<'E'
import os


def f(a):
    return a[0]
E
cat a.txt b.txt > c.txt
echo "more" >> c.txt
tee t.txt < a.txt
sed -i 's/one/1/g' c.txt
sed -i.bak '1i# header' c.txt
sed -i -E 's/([a-z]+)o/\1-o/' c.txt
perl -pi -e 's/a/b/' c.txt
sort -u a.txt -o sorted.txt
chmod +x run.sh && ./run.sh
chmod 644 a.txt
mkfifo pipe && rm pipe
tar czf a.tgz a.txt && tar tzf a.tgz
mkdir -p unpacked && tar xzf a.tgz -C unpacked
gzip -k a.txt && gunzip -c a.txt.gz
zip -q a.zip a.txt && unzip -qo a.zip -d unzipped
split -l 1 a.txt part- && rm part-*
truncate -s 0 empty.txt
dd if=/dev/zero of=zeros bs=1k count=4 status=none
mktemp
d=$(mktemp -d) && cp a.txt "$d" && ls "$d"
f=/tmp/tau-$$; echo x > $f && cat $f && rm $f
echo x > /tmp/tau-note.txt && cat /tmp/tau-note.txt
echo x > /dev/null
flock lock true
patch -p0 < change.diff
pushd src && ls && popd
cd src && ls
cd "$(git rev-parse --show-toplevel)" && ls
(cd src && ls)
cp .env.example .env
rm -f src/__pycache__/*.pyc
openssl rand -hex 16
sha256sum a.txt
mkdir -p ~/.cache/tool && echo x > ~/.cache/tool/entry
"""
GIT = r"""
git status
git status --short
git add . && git commit -qm "Fix the parser"
git commit --allow-empty -m "$(printf 'Fix: the parser\n\nDetails (see `foo`).')"
git log --oneline -10 | cat
git log --format='%h %s' -5
git log --pretty=format:"%h %an %s" --since="2 weeks ago"
git diff HEAD~1 --stat
git diff HEAD~1 -- src/main.py
git show HEAD:src/main.py | head -50
git blame a.txt | head -3
git ls-files | wc -l
git checkout -q -b feature/x
echo change >> a.txt && git stash && git stash list && git stash pop
git add a.txt && git commit -qm change
git switch -q main && git merge -q feature/x
git switch -qc topic HEAD~1 && echo t > topic.txt && git add . && git commit -qm topic && git rebase -q main
git switch -q main && git cherry-pick topic
git tag v1 && git describe --tags
git branch -a
git branch -d feature/x
git branch -m topic topic2
git reset -q --hard HEAD~1
git revert --no-edit HEAD
git worktree add -q ../../project-tree main
git worktree add -q tree && git -C tree status --short
git worktree list
git worktree remove tree
git rev-parse HEAD
git rev-list --count HEAD
git reflog | head -3
git gc -q
git fsck
git grep -n one
git shortlog -sn HEAD
git archive -o out.tar HEAD
git format-patch -1 -o patches
git restore a.txt
git rm -q --cached a.tgz && git add a.tgz
git mv a.txt a2.txt && git mv a2.txt a.txt
git clean -fdn
git bisect start HEAD HEAD~2 && git bisect reset
git -c core.quotepath=off status
git notes add -m note
git submodule status
git init -q nested && cd nested && git status
git apply --check change.diff
git check-ignore build
git config --get user.name
git remote -v
git fetch origin
git push -q origin HEAD
git no-such-command
"""
BUILDING = r"""
python3 -c 'import sys; print(sys.version)'
python3 - <<< 'print(1)'
python3 src/main.py
python3 no-such-file.py
python3 -m pytest -q tests/test_x.py 2>&1 | tail -20
python3 -m pytest -x -q --no-header -p no:cacheprovider
python3 -m unittest -q tests.test_x
python3 -m compileall -q src
python3 -m json.tool package.json
python3 -m venv --without-pip v && . v/bin/activate && python -V; deactivate
python3 -c 'import tempfile; tempfile.TemporaryFile().write(b"x")'
python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'
python3 -c 'import sqlite3; sqlite3.connect("d.db").execute("create table t (a)")'
python3 -c 'import threading; threading.Thread(target=print).start()'
python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); s.listen()'
python3 -m ruff check src
python3 -m ruff format --check src
python3 -m mypy --version
sqlite3 shop.db 'create table t (a); insert into t values (1); select * from t;'
FOO=1 BAR="two words" python3 -c 'import os; print(os.environ["BAR"])'
export FOO=bar && echo $FOO
set -o pipefail; grep one a.txt | head -1
make
make broken
make -j4 && cat built
make -C sub
time make
cmake -S . -B out/cmake && cmake --build out/cmake
gcc -o hello hello.c && ./hello
gcc -g -Wall -o hello hello.c && gdb -batch -ex run ./hello
strace -o trace.txt ./hello
node -e 'console.log(1)'
node -e 'console.log(`${1+1}`)'
node --test tests/x.test.js
node -e 'require("http").createServer().listen(0, function () { this.close() })'
npm --version
npm run build
npm test -- --watch=false
npm run
npm pkg get name
npm pack --silent
npm config get registry
npm ls
npx --no-install no-such-tool
java -version
perl -e 'print 1'
bash scripts/test.sh
bash -c 'echo hi'
bash -lc true
sh -c "make && ls"
timeout 5 true
timeout 0.1 sleep 5
sleep 0.01
kill -0 $$
(sleep 5 & kill $!; wait)
SERVE PORT --bind 127.0.0.1 > log 2>&1 & WAIT log; curl -sS http://127.0.0.1:PORT/a.txt; kill $s
SERVE PORT --bind localhost > log2 2>&1 & WAIT log2; wget -qO- http://localhost:PORT/a.txt; kill $s
tmux -L tau-PORT new -d 'sleep 5' && tmux -L tau-PORT ls && tmux -L tau-PORT kill-server
script -qc true /dev/null
gpg --version | head -1
docker ps
sudo -n true
"""


def read_commands(text: str) -> list[str]:
    """One command per line, or up to the end of its here-document."""
    found: list[str] = []
    is_open = False
    for line in text.strip().splitlines():
        if is_open:
            found[-1] += f"\n{line}"
            is_open = line != "E"
        else:
            found.append(line)
            is_open = line.endswith("<<'E'")
    return found


# Until a server that was just started serves, or has ended.
WAIT = r"s=$!; for i in $(seq 100); do grep -q Serving \1 && break; kill -0 $s || break; sleep 0.05; done"
COMMANDS = [
    re.sub(r"WAIT (\w+)", WAIT, command).replace("SERVE", "python3 -u -m http.server")
    for text in (LOOKING, FILES, GIT, BUILDING)
    for command in read_commands(text)
]
# These take as long as all others together: `make soak` runs them.
SLOW = frozenset(
    (
        "python3 -m pytest -x -q --no-header -p no:cacheprovider",
        "npm run",
        "npm pkg get name",
        "npm pack --silent",
        "npm config get registry",
        "npm ls",
        "npx --no-install no-such-tool",
    )
)
# What exits differently in a sandbox, and why.
DIFFERENT = {
    "git branch -m topic topic2": "Git's config is read-only",
    "git push -q origin HEAD": "the remote is a folder outside the workspace",
}
_NO_TEMPORARY = "nothing replaces /tmp; TMPDIR is private"
DIFFERENT_WITH_LANDLOCK = {
    **{command: _NO_TEMPORARY for command in COMMANDS if "/tmp/" in command},
    "mkdir -p ~/.cache/tool && echo x > ~/.cache/tool/entry": "caches are found by variables",
    "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1]))'": "/dev/shm is not private",
}
_FILES = {
    "README.md": "# Shop\n",
    "a.txt": "one\ntwo\nthree\n",
    "b.txt": "two\n",
    "change.diff": "--- b.txt\n+++ b.txt\n@@ -1 +1 @@\n-two\n+second\n",
    ".env.example": "DEBUG=1\n",
    ".gitignore": "build/\n__pycache__/\n",
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1.2"\n',
    "src/main.py": 'def main() -> None:\n    print("main")\n\n\nmain()\n',
    "src/util.py": "def one() -> int:\n    return 1\n",
    "tests/__init__.py": "",
    "tests/test_x.py": """
        import unittest


        class ShopTest(unittest.TestCase):
            def test_x(self):
                self.assertEqual(1, 1)
        """,
    "tests/x.test.js": 'require("node:test")("x", () => {})\n',
    "package.json": (
        '{"name": "shop", "version": "1.0.0", "scripts": {"build": "echo built", "test": "true"}}'
    ),
    "run.sh": "#!/bin/sh\nexit 0\n",
    "scripts/test.sh": "set -eu\necho ok\n",
    "hello.c": "int main(void) { return 0; }\n",
    "CMakeLists.txt": (
        "cmake_minimum_required(VERSION 3.10)\nproject(hello C)\nadd_executable(hello hello.c)\n"
    ),
    "Makefile": "all:\n\techo built > built\nbroken:\n\tfalse\n",
    "sub/Makefile": "all:\n\techo sub\n",
}


def fill(folder: Path) -> None:
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))
