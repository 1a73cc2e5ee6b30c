#!/usr/bin/env python3
"""Runs what the documents say, and looks up what they name.

    docs.py SOURCE BINARY CC

SOURCE is the tree, BINARY its build, CC the C compiler. In each of DOCUMENTS:

- Of a block fenced as `console`, each line that begins with "$ " is a command (a backslash at its end
  goes on in the next line), and the lines behind it are what it prints. "..." alone on a line stands
  for any lines, and within a line for anything. The commands run in a copy of the tree whose
  build/release has the built programs, and whose script/run runs train_example. A status other than
  0 is a fault, but for programs that a diff has changed.
- <!-- not run: why --> before such a block leaves it out.
- <!-- file: PATH --> before a block of C writes it there; <!-- same as: PATH --> compares it with a
  file of the tree (without that file's first line, a comment), compiles it and runs it.
- A block fenced as `diff` changes a file, until the next heading: "--- PATH", then the lines that go
  ("-"), which stand in it once, and those that come ("+"). The programs are linked again with it.
- Files, functions and options in backticks must exist; so must a function in the file, where it
  reads `function` in `file`.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

DOCUMENTS = ["README.md", "docs/tutorial.md", "docs/recipes.md"]
COPIED = ["README.md", "tapegrad.h", "docs", "tensor", "autograd", "nn", "optim", "train", "examples",
          "tests", "script"]
PROGRAMS = ["train_example", "article_tables", "predict", "seed_study"]
FLAGS = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-ffp-contract=off", "-I.", "-Iexamples"]
ARTICLE = "build/release/examples/libtapegrad_article.a"
LIBRARIES = ["build/release/libtapegrad.a", "-lz", "-lm", "-pthread"]
EXTERNAL = {"git", "cmake", "ctest", "ninja", "sed", "awk", "sudo", "apt-get"}
SECONDS = 60  # that a command may take

RUN = '#!/bin/sh\nexec "$(dirname "$0")/../build/release/examples/train_example" "$@"\n'
BUILD = "#!/bin/sh\n# The programs are built already.\n"


class Block:
    """A fenced block: its language, its lines, the comment before it, where it stands."""

    def __init__(self, language, note, line):
        self.language, self.note, self.line = language, note, line
        self.lines = []

    def text(self):
        return "".join(line + "\n" for line in self.lines)


def parse(text):
    """The document's blocks, a None for each heading, and its text without the blocks."""
    parts, prose, block, note = [], [], None, ""
    for number, line in enumerate(text.split("\n"), 1):
        if block is not None:
            if line.startswith("```"):
                parts.append(block)
                block, note = None, ""
            else:
                block.lines.append(line)
        elif line.startswith("```"):
            block = Block(line[3:].strip(), note, number)
        else:
            prose.append("" if line.startswith("    ") else line)
            comment = re.fullmatch(r"<!-- (.*) -->", line)
            note = comment.group(1) if comment else note if not line.strip() else ""
            if line.startswith("#"):
                parts.append(None)
    return parts, "\n".join(prose)


def commands(block):
    """(line, command, expected lines) of a console block."""
    found = []
    lines = iter(enumerate(block.lines, block.line + 1))
    for number, line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command += "\n" + next(lines)[1]
            found.append((number, command, []))
        elif found:
            found[-1][2].append(line.rstrip())
    return found


def same_line(expected, line):
    return re.fullmatch(re.escape(expected).replace(r"\.\.\.", ".*"), line) is not None


def matches(expected, lines):
    """Whether the lines are the expected ones, where "..." is any number of them."""
    runs = [[]]
    for line in expected:
        if line == "...":
            runs.append([])
        else:
            runs[-1].append(line)

    def here(run, at):
        return at >= 0 and at + len(run) <= len(lines) and all(map(same_line, run, lines[at:]))

    if not here(runs[0], 0):
        return False
    at = len(runs[0])
    if len(runs) == 1:
        return at == len(lines)
    for run in runs[1:-1]:
        while at <= len(lines) and not here(run, at):
            at += 1
        at += len(run)
    return at <= len(lines) - len(runs[-1]) and here(runs[-1], len(lines) - len(runs[-1]))


class Checker:
    def __init__(self, source, binary, compiler, root):
        self.source, self.binary, self.root = source, binary, root
        self.compiler = shutil.which(compiler) or compiler
        self.faults, self.ran, self.looked_up = [], 0, 0
        self.changed = None  # the file that a diff has changed
        self.environment = {k: v for k, v in os.environ.items() if k != "TAPEGRAD_KERNELS"}
        self.environment.update(LC_ALL="C", PATH=f"{root / 'bin'}:{os.environ['PATH']}")
        self.make_tree()

    def make_tree(self):
        for name in COPIED:
            if (self.source / name).is_dir():
                shutil.copytree(self.source / name, self.root / name)
            else:
                shutil.copy(self.source / name, self.root / name)
        (self.root / "bin").mkdir()
        self.write_script("bin/cc", f'#!/bin/sh\nexec {shlex.quote(self.compiler)} "$@"\n')
        self.write_script("script/run", RUN)
        self.write_script("script/build", BUILD)
        (self.root / "build/release/examples").mkdir(parents=True)
        self.link_programs()
        for name in ("libtapegrad.a", "libtapegrad_f64.a", "examples/libtapegrad_article.a"):
            (self.root / "build/release" / name).symlink_to(self.binary / name)

    def write_script(self, path, text):
        (self.root / path).write_text(text)
        (self.root / path).chmod(0o755)

    def link_programs(self):
        for program in PROGRAMS:
            path = self.root / "build/release/examples" / program
            path.unlink(missing_ok=True)
            path.symlink_to(self.binary / "examples" / program)

    def fault(self, document, line, text):
        self.faults.append(f"{document}:{line}: {text}")

    def run(self, command):
        """Runs a command of the shell in the tree's copy; one that takes too long is ended, with all
        that it has started, and has the status of timeout(1)."""
        process = subprocess.Popen(["sh", "-c", command], cwd=self.root, env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, universal_newlines=True,
                                   start_new_session=True)
        try:
            out, errors = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, errors = process.communicate()
            return subprocess.CompletedProcess(command, 124, out, f"took over {SECONDS} s\n{errors}")
        return subprocess.CompletedProcess(command, process.returncode, out, errors)

    def compile(self, arguments):
        return self.run(" ".join(map(shlex.quote, ["cc", *FLAGS, *arguments])))

    # ---- blocks ----

    def check_console(self, document, block):
        for line, command, expected in commands(block):
            self.ran += 1
            done = self.run(command)
            lines = [l.rstrip() for l in done.stdout.split("\n")[:-1]]
            if done.returncode != 0 and self.changed is None:
                self.fault(document, line, f"$ {command}\nends with status {done.returncode}:\n"
                                           f"{done.stderr}")
            elif not matches(expected, lines):
                wanted = "\n".join(expected)
                got = "\n".join(lines[-60:])
                self.fault(document, line, f"$ {command}\nis to print\n{wanted}\nbut prints\n{got}")

    def check_c(self, document, block):
        kind, _, path = block.note.partition(": ")
        if kind == "file":
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(block.text())
        elif kind == "same as":
            if (self.source / path).read_text().split("\n", 1)[1] != block.text():
                self.fault(document, block.line, f"is not {path} without its first line")
            (self.root / "bin/block.c").write_text(block.text())
            done = self.compile(["bin/block.c", *LIBRARIES, "-o", "bin/block"])
            if done.returncode != 0 or self.run("bin/block").returncode != 0:
                self.fault(document, block.line, f"does not compile and run:\n{done.stderr}")
        else:
            self.fault(document, block.line, "C without a comment that says what it is")

    def apply(self, document, block):
        """Changes the tree as a diff says, and links the programs with the changed file."""
        path = block.lines[0][4:].strip()
        old = "".join(l[1:] + "\n" for l in block.lines[1:] if l.startswith("-"))
        new = "".join(l[1:] + "\n" for l in block.lines[1:] if l.startswith("+"))
        self.revert()
        self.changed = path
        text = "\n" + (self.source / path).read_text()
        if not old or text.count("\n" + old) != 1:
            self.fault(document, block.line, f"{path} has not these lines, or not once")
            return
        (self.root / path).write_text(text.replace("\n" + old, "\n" + new)[1:])
        done = self.compile(["-c", path, "-o", "bin/changed.o"])
        for program in PROGRAMS:
            out = f"build/release/examples/{program}"
            (self.root / out).unlink()
            if done.returncode == 0:
                done = self.compile([f"examples/{program}.c", "bin/changed.o", ARTICLE, *LIBRARIES,
                                     "-o", out])
        if done.returncode != 0:
            self.fault(document, block.line, f"does not compile:\n{done.stderr}")

    def revert(self):
        if self.changed is not None:
            shutil.copy(self.source / self.changed, self.root / self.changed)
            self.link_programs()
            self.changed = None

    def check_blocks(self, document, parts):
        for part in parts:
            if part is None:
                self.revert()
            elif part.language == "console" and not part.note.startswith("not run"):
                self.check_console(document, part)
            elif part.language == "c":
                self.check_c(document, part)
            elif part.language == "diff":
                self.apply(document, part)
        self.revert()

    # ---- names ----

    def read_tree(self):
        """What names are looked up in: the tree's words, and its text."""
        files = [p for p in self.source.glob("*/**/*") if p.suffix in (".c", ".h", ".cmake", ".txt")
                 and p.relative_to(self.source).parts[0] != "build"]
        files += [self.source / "CMakeLists.txt", self.source / "tapegrad.h"]
        self.text = "\n".join(p.read_text() for p in files)
        self.words = set(re.findall(r"\w+", self.text))
        self.names = {p.name for p in self.root.glob("**/*")}
        self.options = set()
        for program in PROGRAMS:
            shown = self.run(f"build/release/examples/{program} --help").stdout
            self.options |= set(re.findall(r"--[a-z][a-z-]*", shown))

    def is_file(self, name):
        if "/" not in name:
            return name in self.names or re.search(rf"\b{re.escape(name)}\b", self.text) is not None
        built = self.binary / name.replace("build/release/", "", 1)
        return (self.root / name).exists() or (self.source / name).exists() or built.exists() or \
            any(str(p).endswith("/" + name.rstrip("/")) for p in self.source.glob("*/*/"))

    def unknown(self, span):
        """The parts of what stands in backticks that should be in the tree and are not."""
        if span.split(" ")[0] in EXTERNAL:
            return []
        missing = [o for o in re.findall(r"(?<!\S)--[a-z][a-z-]*", span) if o not in self.options]
        for name in re.findall(r"(?<![\w./-])(?:[\w-]+/)+[\w.-]*|(?<![\w./-])[\w-]+\."
                               r"(?:c|h|md|svg|csv|gp|npz|json|html|cmake|py|sh|txt)\b", span):
            if not self.is_file(name):
                missing.append(name)
        for name in re.findall(r"(?<![\w./-])(?:TG_\w+|[a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w./])", span):
            if name not in self.words:
                missing.append(name)
        return missing

    def check_names(self, document, parts, prose):
        written = " ".join(p.text() for p in parts if p is not None and p.language == "c")
        for paragraph in prose.split("\n\n"):
            for span in re.findall(r"`([^`]+)`", paragraph):
                self.looked_up += 1
                for name in self.unknown(span.replace("\n", " ")):
                    if name not in written:
                        self.fault(document, self.line_of(document, span),
                                   f"`{name}` is not in the tree")
        for span, function, path in re.findall(r"`((\w+)` in\s+`([\w./-]+\.[ch]))`", prose):
            file = self.source / path
            if not file.exists() or not re.search(rf"\b{function}\b", file.read_text()):
                self.fault(document, self.line_of(document, span), f"`{function}` is not in `{path}`")

    def line_of(self, document, span):
        text = (self.source / document).read_text()
        return text[: max(text.find(f"`{span}`"), 0)].count("\n") + 1

    def check(self):
        documents = {}
        for document in DOCUMENTS:
            if (self.source / document).exists():
                documents[document] = parse((self.source / document).read_text())
        for document, (parts, _) in documents.items():
            self.check_blocks(document, parts)
        self.read_tree()
        for document, (parts, prose) in documents.items():
            self.check_names(document, parts, prose)


def main():
    source, binary = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as root:
        checker = Checker(source, binary, sys.argv[3], Path(root))
        checker.check()
    for fault in checker.faults:
        print(fault, end="\n\n")
    print(f"{checker.ran} commands run, {checker.looked_up} names looked up, "
          f"{len(checker.faults)} faults")
    return 1 if checker.faults else 0


if __name__ == "__main__":
    sys.exit(main())
