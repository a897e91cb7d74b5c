#!/usr/bin/env python3
"""check.py FILE.md... - what the documents show is what the compiler does.

Fenced blocks are taken in order; those of one document share a scratch folder, in which `examples` and
`build/attnc` are what they are at the root of the repository. By the word behind the fence:

    attn            a whole program: `attnc check` accepts it
    attn fragment   statements; the line before is a comment <!-- in: HEADER --> (not shown to readers), and
                    they are the body of HEADER. Declarations that they need stand before it, each ended by ;;
    attn error      a program that is refused; the text block that follows has lines of the report, in order
    console         lines `$ COMMAND` (going on after a backslash) and what it prints; a line `...`
                    is any lines, `...` in a line any text
    c, python       only with a name

A name behind the word, as in `attn mine.attn`, also writes the block to that file, for the commands. Needs $ATTNC.
Exit code 1 if anything differs.
"""

import os
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\S*)[ ]*(.*)$")


def blocks(text):
    """(line number, word, rest, line before, body) of each fenced block."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        match = FENCE.match(lines[at])
        if not match:
            at += 1
            continue
        end = at + 1
        while end < len(lines) and lines[end] != "```":
            end += 1
        before = lines[at - 1] if at else ""
        yield at + 1, match[1], match[2].strip(), before, "\n".join(lines[at + 1 : end]) + "\n"
        at = end + 1


class Checker:
    def __init__(self, path, attnc, root, work):
        self.path, self.attnc, self.work = path, attnc, work
        self.failed = 0
        self.done = 0
        self.refused = None  # (line, report) of the last `attn error`
        os.symlink(os.path.join(root, "examples"), os.path.join(work, "examples"))
        os.mkdir(os.path.join(work, "build"))
        os.symlink(attnc, os.path.join(work, "build", "attnc"))

    def fault(self, line, what, detail=""):
        self.failed += 1
        print(f"{self.path}:{line}: {what}")
        print("".join(f"    {text}\n" for text in detail.splitlines()), end="")

    def write(self, name, text):
        path = os.path.join(self.work, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def check(self, text):
        """The exit code and report of `attnc check` on a program."""
        name = self.write("block.attn", text)
        run = subprocess.run([self.attnc, "check", name], capture_output=True, text=True)
        return run.returncode, run.stderr

    def accept(self, line, text):
        code, report = self.check(text)
        if code:
            self.fault(line, "attnc check refuses this program", report)

    def fragment(self, line, before, text):
        header = re.match(r"^<!-- in: (.*) -->$", before)
        if not header:
            self.fault(line, "a fragment needs the line <!-- in: HEADER --> before it")
            return
        *declarations, function = header[1].split(";;")
        program = "".join(d.strip() + "\n" for d in declarations)
        self.accept(line, program + function.strip() + " {\n" + text + "}\n")

    def error(self, line, text):
        code, report = self.check(text)
        if code != 1:
            self.fault(line, f"this program is to be refused; exit code {code}", report)
        self.refused = (line, report)

    def report(self, line, text):
        """The lines of a text block, in order, in the report on the program before it."""
        said = iter(self.refused[1].splitlines())
        for wanted in text.splitlines():
            if wanted.strip() and not any(wanted.strip() in got for got in said):
                self.fault(line, f"the report lacks, or has elsewhere: {wanted}", self.refused[1])
                break
        self.refused = None

    def console(self, line, text):
        command, wanted, start = None, [], line
        pieces = []
        for number, got in enumerate(text.splitlines(), line + 1):
            if command is not None and command.endswith("\\"):
                command = command[:-1] + got.strip()
                pieces[-1] = (start, command, wanted)
            elif got.startswith("$ "):
                command, wanted, start = got[2:], [], number
                pieces.append((start, command, wanted))
            elif command is None:
                self.fault(number, "a console block begins with `$ COMMAND`")
                return
            else:
                wanted.append(got)
        for start, command, wanted in pieces:
            run = subprocess.run(["sh", "-c", command], cwd=self.work, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            pattern = "".join("(?:.*\n)*" if w.strip() == "..." else
                              ".*".join(re.escape(piece) for piece in w.split("...")) + "\n"
                              for w in wanted)
            printed = "".join(p.rstrip() + "\n" for p in run.stdout.splitlines())
            if not re.fullmatch(pattern, printed):
                self.fault(start, f"`{command}` prints something else (exit code {run.returncode})",
                           run.stdout)

    def block(self, line, word, rest, before, body):
        if self.refused and word != "text":
            self.fault(self.refused[0], "the report on this program does not follow")
            self.refused = None
        if word == "text":
            if self.refused:
                self.report(line, body)
            return
        if word not in ("attn", "console", "c", "python"):
            return
        self.done += 1
        if word == "console":
            self.console(line, body)
            return
        if word == "attn" and rest == "fragment":
            self.fragment(line, before, body)
            return
        if word == "attn" and rest == "error":
            self.error(line, body)
            return
        if word == "attn":
            self.accept(line, body)
        if rest:
            self.write(rest, body)


def main(paths):
    attnc = os.environ.get("ATTNC")
    if not paths or not attnc:
        sys.exit(__doc__)
    failed = 0
    for path in paths:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
        with tempfile.TemporaryDirectory() as work:
            checker = Checker(path, os.path.abspath(attnc), root, work)
            for block in blocks(text):
                checker.block(*block)
            if checker.refused:
                checker.fault(checker.refused[0], "the report on this program does not follow")
        print(f"{path}: {checker.done} blocks, {checker.failed} faults")
        if checker.done == 0:
            checker.fault(1, "no block to check")
        failed += checker.failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
