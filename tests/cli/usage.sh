#!/bin/sh
# The command line itself: commands, options, help, exit codes. No file is compiled.
. "$(dirname "$0")/common"

commands="run build check params dump opt explain bench fmt"

expect 2 "$ATTNC"
says err "which command"
silent out
expect 0 "$ATTNC" --help
silent err
for c in $commands; do
    says out "  $c "
done
expect 0 "$ATTNC" -h
expect 0 "$ATTNC" --version
says out "attnc "
says out LLVM

expect 2 "$ATTNC" rum
says err "no command 'rum'"
says err 'did you mean `attnc run`?'
expect 2 "$ATTNC" zzzzzzzz
says_not err "did you mean"
expect 2 "$ATTNC" --seed 1 run x.attn
says err "unknown option --seed before the command"

# Help of each command, also beside other arguments; hidden options stay hidden.
for c in $commands; do
    expect 0 "$ATTNC" "$c" --help
    says out "usage: attnc $c "
    says out --time
    says_not out fail-alloc
    silent err
    expect 0 "$ATTNC" "$c" missing.attn -h
    expect 2 "$ATTNC" "$c"
    says err "needs a file"
    expect 2 "$ATTNC" "$c" --no-such-option x.attn
    says err "\`attnc $c\` has no option --no-such-option"
    says err "attnc $c --help"
done

# Every option in the table is in the help of some command, and every option takes a value or none.
expect 2 "$ATTNC" run a.attn --ouput x.npz
says err "did you mean --output?"
expect 2 "$ATTNC" run a.attn --emit=so
says err "it is an option of: build"
expect 2 "$ATTNC" run a.attn -x
says err "has no option -x"
expect 2 "$ATTNC" check a.attn -w w.npz
says err "it is an option of: run"
expect 2 "$ATTNC" run a.attn -strict
says err "did you mean --strict?"
expect 2 "$ATTNC" run a.attn --interp=yes
says err "--interp takes no value"
expect 2 "$ATTNC" fmt a.attn -ix
says err "-i takes no value"
for o in --inputs --weights --output --heat --seed --threads --define --entry --real --passes --disable-pass \
    --start-from --stop-after --pass-limit --optimize --target-cpu --color; do
    expect 2 "$ATTNC" run a.attn $o
    says err "$o needs a value"
    expect 0 "$ATTNC" run --help
    says out "$o "
done
for o in -i -w -o -D -O; do
    expect 2 "$ATTNC" run a.attn $o
    says err "$o needs a value"
done
for o in --stage --after --dump-dir --target; do
    expect 2 "$ATTNC" dump a.attn $o
    says err "$o needs a value"
done

# Values.
expect 2 "$ATTNC" run a.attn --seed=-1
says err "--seed takes a whole number from 0, not '-1'"
expect 2 "$ATTNC" run a.attn --seed 99999999999999999999
says err "--seed takes a whole number"
expect 2 "$ATTNC" run a.attn --threads 0
says err "--threads takes a whole number from 1, not '0'"
expect 2 "$ATTNC" run a.attn --threads two
expect 2 "$ATTNC" run a.attn --real f16
says err "--real takes f32 or f64, not 'f16'"
expect 2 "$ATTNC" run a.attn -O4
says err "from 0 to 3"
expect 2 "$ATTNC" run a.attn -D N
says err "-D takes NAME=VALUE, not 'N'"
expect 2 "$ATTNC" run a.attn -D =3
expect 2 "$ATTNC" run a.attn -D N=
expect 2 "$ATTNC" run a.attn -DN=1 --define=N=2
says err "-D N is given twice"
expect 2 "$ATTNC" run a.attn --color sometimes
says err "--color takes auto, always or never"
expect 2 "$ATTNC" run a.attn b.attn
says err "'b.attn' is one too many"
expect 2 "$ATTNC" build a.attn --emit=so,exe
says err "not 'exe'"
expect 2 "$ATTNC" build a.attn --emit=
expect 2 "$ATTNC" dump a.attn --stage=ast
says err "not 'ast'"

# What contradicts each other.
expect 2 "$ATTNC" fmt a.attn --write --check
expect 2 "$ATTNC" fmt --write -
expect 2 "$ATTNC" dump a.attn --dot --stage=llvm
expect 2 "$ATTNC" dump a.attn --each --stage=asm
expect 2 "$ATTNC" dump a.attn --after=simplify --stop-after=simplify
expect 2 "$ATTNC" run a.attn --interp --passes=simplify

# `--` ends the options; a wrong file is the user's error, not one of usage.
expect 1 "$ATTNC" check -- -no-such-file.attn
says err "cannot read -no-such-file.attn"

finish
