#!/bin/sh
# A fault of the compiler (here: made on purpose): what went into the stage that failed is kept, and the command
# that is printed repeats it.
. "$(dirname "$0")/common"

cat >m.attn <<'ATTN'
recurrence rnn(x: [T, H]) -> (h: [T, H]) {
  param W: [H, H]
  h[-1] = 0
  h[t]  = tanh(W @ h[t-1] + 1 * x[t])
}
model run[B] = rnn
ATTN
mkdir tmp
export TMPDIR="$work/tmp"

# broken CODE STAGE WORD COMMAND...: it fails, keeps its input, and attnc WORD reads that.
broken() {
    code=$1 stage=$2 word=$3
    shift 3
    rm -rf tmp/*
    expect "$code" "$@"
    says err "what went into $stage is in $TMPDIR/attnc-"
    again=$(sed -n 's/^help: this repeats it: attnc //p' err | head -1)
    case $again in
    "$word "*) ;;
    *) fault "it does not say attnc $word" ;;
    esac
    # shellcheck disable=SC2086 # a list of words
    expect 0 "$ATTNC" $again
    silent err
}

broken 3 simplify opt "$ATTNC" run m.attn --seed 1 -D B=1 -D T=2 -D H=3 --sabotage ice:simplify
expect 0 "$ATTNC" dump m.attn -D B=1 -D T=2 -D H=3
cmp -s out tmp/*/before-simplify.ir || fault "what was kept is not what went in"
broken 1 simplify opt "$ATTNC" build m.attn --sabotage verify:simplify
broken 3 simplify opt "$ATTNC" dump m.attn --each --sabotage ice:simplify
broken 3 schedule opt "$ATTNC" dump m.attn --stage=kernel --sabotage ice:schedule
says out "kernel @run"
broken 1 schedule opt "$ATTNC" dump m.attn --stage=kernel --sabotage verify:schedule
broken 1 lanes opt "$ATTNC" dump m.attn --stage=kernel --sabotage verify:lanes
broken 3 schedule opt "$ATTNC" dump m.attn --stage=kernel --disable-pass domains --sabotage ice:schedule
case $again in
*"--passes=fuse-maps,tiles,schedule "*) ;;
*) fault "it repeats another schedule than the one that failed: $again" ;;
esac
broken 3 schedule opt "$ATTNC" dump m.attn --stage=kernel --steps --sabotage ice:schedule
broken 3 place opt "$ATTNC" dump m.attn --stage=kernel --sabotage ice:place
says out "kernel @run"
broken 3 compiling dump "$ATTNC" run m.attn --seed 1 -D B=1 -D T=2 -D H=3 --sabotage ice:compile
says out "define"

# Nowhere to write: it says so and ends as before.
TMPDIR=$work/nowhere
expect 3 "$ATTNC" dump m.attn --each --sabotage ice:simplify
says err "could not be written"
gone nowhere

finish
