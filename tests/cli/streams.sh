#!/bin/sh
# Standard output that cannot be written, and readers who leave.
. "$(dirname "$0")/common"

# Much text: more than a pipe holds.
{
    echo 'graph @big real f32 {'
    echo '  dims T'
    echo '  %x = input "x" f32 : f32<t:T>'
    i=0
    last='%x'
    while [ $i -lt 4000 ]; do
        echo "  %$i = add $last, %x : f32<t:T>"
        last="%$i"
        i=$((i + 1))
    done
    echo "  output \"y\" f32 ${last}[t]"
    echo '}'
} >big.ir

expect 0 "$ATTNC" opt big.ir
[ "$(wc -c <out)" -gt 100000 ] || fault "the text is too short for this test"
expect 0 sh -c '{ "$1" opt big.ir 2>err.txt; echo $? >code; } | head -c 10 >/dev/null' sh "$ATTNC"
[ "$(cat code)" -eq 1 ] || fault "broken pipe: exit code $(cat code)"
[ ! -s err.txt ] || fault "broken pipe: $(cat err.txt)"

if [ -w /dev/full ]; then
    expect 1 sh -c '"$1" opt layer.ir >/dev/full' sh "$ATTNC"
    says err "cannot write to standard output: No space left on device"
    expect 1 sh -c '"$1" --help >/dev/full' sh "$ATTNC"
    says err "cannot write to standard output"
fi
expect 1 sh -c '"$1" opt layer.ir >&-' sh "$ATTNC"
says err "cannot write to standard output"

finish
