#!/bin/sh
# attnc build: names of the files, what the library needs, the header, and failures that leave nothing.
. "$(dirname "$0")/common"

expect 0 "$ATTNC" build layer.ir
there liblayer.so liblayer.h attn_abi.h
cmp -s attn_abi.h "$root/runtime/attn_abi.h" || fault "attn_abi.h differs"
for file in liblayer.so liblayer.h attn_abi.h; do
    says out "$file"
done
[ "$(wc -l <out)" -eq 3 ] || fault "more than the three paths"
silent err
no_temporaries

# Self-contained: libc and libm at most, and no symbol of LLVM or the compiler.
if command -v readelf >/dev/null; then
    needed=$(readelf -d liblayer.so | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vxE 'lib[cm]\.so\.6' || true)
    [ -z "$needed" ] || fault "the library needs $needed"
fi

# The header is C and C++; a program that knows only the header gets the right numbers.
cat >host.c <<'C'
#include "liblayer.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    const float x[6] = {1, 2, 3, 4, 5, 6};
    const float w[6] = {0.1f, -0.1f, 0.2f, 0.3f, 0.1f, -0.2f}, b[2] = {0.5f, -0.4f};
    float y[4];
    run_dims d = {0};
    d.T = 2;
    d.E = 3;
    d.H = 2;
    run_params p = {w, b};
    run_inputs in = {x};
    run_outputs out = {y};
    size_t size = run_workspace(&d, 1);
    void *work = aligned_alloc(64, (size + 64) / 64 * 64);
    attn_status s = run(&d, &p, NULL, &in, &out, work, NULL);
    printf("%d %.3f %.3f %.3f %.3f\n", (int)s, (double)y[0], (double)y[1], (double)y[2], (double)y[3]);
    free(work);
    return 0;
}
C
if command -v "$CC" >/dev/null; then
    expect 0 "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror host.c -o host ./liblayer.so -Wl,-rpath,.
    expect 0 ./host
    says out "0 0.762 -0.462 0.922 0.100"
    if command -v c++ >/dev/null; then
        echo '#include "liblayer.h"' >host.cc
        expect 0 c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only host.cc
    fi
fi

# Names.
mkdir sub
expect 0 "$ATTNC" build layer.ir -o sub/model.so
there sub/model.so sub/model.h sub/attn_abi.h
expect 0 "$ATTNC" build layer.ir --emit=asm,llvm,ir
there layer.s layer.ll layer.ir
expect 0 "$ATTNC" build layer.ir --emit=obj -o sub/part.o
there sub/part.o sub/part.h
expect 0 "$ATTNC" build layer.ir --emit=so,llvm -o sub/both.so
there sub/both.so sub/both.ll sub/both.h
no_temporaries

# What is emitted as IR is read again.
expect 0 "$ATTNC" build layer.ir --emit=ir -o sub/again.ir
expect 0 "$ATTNC" opt sub/again.ir
cmp -s out sub/again.ir || fault "the emitted graph reads back as another text"

# Failures leave nothing, and what was there before stays.
expect 1 "$ATTNC" build layer.ir -o no/such/lib.so
says err "no/such/lib.h"
[ ! -e no ] || fault "a folder was made"
mkdir taken taken/lib.h
expect 1 "$ATTNC" build layer.ir -o taken/lib.so
says err "taken/lib.h"
gone taken/lib.so taken/attn_abi.h
echo 'graph @x real f32 {' >wrong.ir
echo old >libwrong.h
expect 1 "$ATTNC" build wrong.ir
[ "$(cat libwrong.h)" = old ] || fault "an old header was changed"
gone libwrong.so
expect 1 "$ATTNC" build layer.ir --target no-such-machine -o sub/t.so
gone sub/t.so sub/t.h

finish
