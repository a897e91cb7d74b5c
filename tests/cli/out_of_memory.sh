#!/bin/sh
# Each allocation of a small compilation fails once: exit code 3, one message, no file. Built with
# ATTNC_TORTURE every block of an arena is an allocation of its own, and this reaches far more of them.
. "$(dirname "$0")/common"

tensors write x.npz x:F32:2x3
tensors write w.npz layer.weight:F32:2x3 b:F32:2
printf 'fn f( x:[T] )->[T]{\n  return   x+1\n}\n' >plain.attn
cp plain.attn plain.before

# starve MOST COMMAND...: until the command succeeds, or MOST allocations have failed.
starve() {
    most=$1
    shift
    n=1
    before=$faults
    while [ "$n" -le "$most" ]; do
        last="$* --fail-alloc=$n"
        got=0
        "$@" --fail-alloc=$n >out 2>err </dev/null || got=$?
        [ "$got" -ne 0 ] || break
        if [ "$got" -ne 3 ]; then
            fault "exit code $got, not 3"
            break
        fi
        says err "out of memory"
        [ "$(wc -l <err)" -eq 1 ] || fault "more than one line"
        silent out
        cmp -s plain.attn plain.before || fault "the source was changed"
        gone y.npz y.safetensors liblayer.so liblayer.h attn_abi.h sub
        [ "$faults" -eq "$before" ] || break
        n=$((n + 1))
    done
    [ "$n" -gt 1 ] || fault "no allocation failed"
    # From the n-th on, all fail: nothing works around a failure that stays.
    for from in 1 2 3; do
        if [ "$from" -lt "$n" ]; then
            expect 3 "$@" --fail-alloc-from=$from
            says err "out of memory"
        fi
    done
    rm -rf y.npz y.safetensors liblayer.so liblayer.h attn_abi.h sub
    cp plain.before plain.attn
}

most=${ATTNC_STARVE:-60}
starve "$most" "$ATTNC" fmt plain.attn
starve "$most" "$ATTNC" fmt --write plain.attn
starve "$most" "$ATTNC" check plain.attn
starve "$most" "$ATTNC" opt layer.ir
starve "$most" "$ATTNC" dump layer.ir --stage=kernel
starve "$most" "$ATTNC" run layer.ir -i x.npz -w w.npz -o y.npz
starve "$most" "$ATTNC" run layer.ir -i x.npz -w w.npz -o y.safetensors --interp
starve "$most" "$ATTNC" run layer.ir --seed 1 -D T=2 -D E=3 -D H=4
starve "$most" "$ATTNC" build layer.ir

finish
