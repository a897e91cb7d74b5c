#!/bin/sh
# The progress line: on a terminal, after a second, erased at the end; never elsewhere.
. "$(dirname "$0")/common"

if ! "$PYTHON" -c 'import pty; pty.openpty()' 2>err; then
    echo "skipped: this machine has no pseudo terminals ($(tail -n 1 err))"
    exit 77
fi

cat >terminal.py <<'PY'
"""terminal.py COMMAND...: runs it with standard error on a terminal of its own; prints what came there. Standard
input is a pipe that gives an empty file after 1.6 seconds."""
import os
import pty
import subprocess
import sys
import time

parent, child = pty.openpty()
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=child)
os.close(child)
time.sleep(1.6)
process.stdin.close()
seen = b""
while True:
    try:
        part = os.read(parent, 4096)
    except OSError:
        break
    if not part:
        break
    seen += part
sys.stdout.write(repr(seen))
sys.exit(process.wait())
PY

expect 0 "$PYTHON" terminal.py "$ATTNC" check -
says out "reading the program, 1 s"
grep -qE "\\\\r\\\\x1b\[K'\$" out || fault "the line is not erased"
expect 0 sh -c '(sleep 1.3) | "$1" check -' sh "$ATTNC"
silent err
# What takes less than a second says nothing.
expect 0 sh -c ': | "$1" check -' sh "$ATTNC"
silent err

finish
