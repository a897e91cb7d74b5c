#!/bin/sh
# Every example compiles, and what is dumped of it reads back as the same text, before and after each pass.
. "$(dirname "$0")/common"

"$ATTNC" opt --help | sed -n '/^passes/,$s/^  \([a-z-]*\) .*/\1/p' >passes
[ -s passes ] || fault "attnc opt --help lists no passes"

for example in "$root"/examples/*.attn; do
    name=$(basename "$example" .attn)
    # Some leave a size to the caller, such as the number of layers: the message says which.
    given=--real=f32
    if ! "$ATTNC" check "$example" >out 2>err && grep -q "must be known when compiling" err; then
        given=-D$(sed -n 's/.*-D \([A-Za-z_]*\)=.*/\1/p' err | head -n 1)=2
    fi
    expect 0 "$ATTNC" check "$example" $given
    [ "$got" -eq 0 ] || continue
    expect 0 "$ATTNC" params "$example" $given
    expect 0 "$ATTNC" dump "$example" $given
    mv out "$name.ir"
    : >out
    expect 0 "$ATTNC" opt "$name.ir"
    cmp -s out "$name.ir" || fault "the graph of $name reads back as another text"
    while read -r pass; do
        expect 0 "$ATTNC" dump "$example" $given --after="$pass"
        mv out after.ir
        : >out
        if grep -q '^kernel' after.ir; then
            # A text holds one kernel, and an example several models.
            awk '/^kernel/ { if (n++) exit } { print }' after.ir | sed '${/^$/d}' >kernel.ir
            expect 0 "$ATTNC" opt kernel.ir
            cmp -s out kernel.ir || fault "the kernel of $name after $pass reads back as another text"
            # What decides for the schedule works on graphs, though a kernel is what it leads to.
            ! grep -q "^KERNEL_PASS(.*\"$pass\"" "$root/passes/passes.def" ||
                expect 0 "$ATTNC" opt kernel.ir --passes="$pass"
            continue
        fi
        expect 0 "$ATTNC" opt after.ir
        cmp -s out after.ir || fault "the graph of $name after $pass reads back as another text"
        expect 0 "$ATTNC" opt "$name.ir" --passes="$pass"
    done <passes
done

finish
