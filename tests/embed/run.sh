#!/bin/sh
# run.sh ATTNC HOST FOLDER: builds examples/bahdanau.attn once and uses the object as an embedder would: other sizes
# without compiling again, two threads at once, nothing needed but libc and libm, a header that compiles.
set -eu
attnc=$1 host=$2 here=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$here"
"$attnc" build "$root/examples/bahdanau.attn" --entry run -o "$here/libbahdanau.so" >/dev/null
"$host" "$here/libbahdanau.so" run B=2,S=5,T=4 B=3,S=9,T=2
"$host" "$here/libbahdanau.so" run B=1,S=1,T=1 B=4,S=17,T=6,H=5,A=7
needed=$(readelf -d "$here/libbahdanau.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
    grep -vx 'lib[cm]\.so\.6' || true)
[ -z "$needed" ] || { echo "the object needs $needed"; exit 1; }
cat >"$here/use.c" <<'C'
#include "libbahdanau.h"
int main(void)
{
    run_dims d = {0};
    return run_workspace(&d, 1) == 0;
}
C
cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I "$here" -fsyntax-only "$here/use.c"
echo "1 object, 4 sizes, 2 threads: ok"
