#!/bin/sh
# attnc dump and opt: stages, passes, files; what they print reads back.
. "$(dirname "$0")/common"

expect 0 "$ATTNC" opt layer.ir
cp out read.ir
says out "graph @run real f32"
expect 0 "$ATTNC" dump layer.ir
cmp -s out read.ir || fault "dump and opt print different graphs"
expect 0 "$ATTNC" opt read.ir
cmp -s out read.ir || fault "the printed graph reads back as another text"
expect 0 sh -c '"$1" opt - <read.ir' sh "$ATTNC"
cmp -s out read.ir || fault "standard input reads differently"

expect 0 "$ATTNC" dump layer.ir --stage=kernel
says out "kernel @run real f32"
cp out kernel.ir
expect 0 "$ATTNC" opt kernel.ir
cmp -s out kernel.ir || fault "the printed kernel reads back as another text"
expect 0 "$ATTNC" dump kernel.ir --stage=llvm
cp out from_kernel.ll
expect 0 "$ATTNC" dump layer.ir --stage=llvm
says out "define"
says out "@run"
cmp -s out from_kernel.ll || fault "the kernel's text gives other code than the graph"
expect 0 "$ATTNC" dump layer.ir --stage=asm
says out "run:"
expect 1 "$ATTNC" dump kernel.ir --stage=graph
says err "the file holds a kernel"
expect 1 "$ATTNC" opt kernel.ir --passes=simplify
says err "the pass simplify works on graphs, and this is a kernel"
expect 0 "$ATTNC" dump layer.ir --dot
says out "digraph"

# Passes, by the names that the compiler says it has.
expect 0 "$ATTNC" dump layer.ir --each
says out "; before the passes: run"
sed -n 's/^; after \([^ ]*\).*/\1/p' out >passes
expect 1 "$ATTNC" dump layer.ir --after=no-such-pass
says err "there is no pass named 'no-such-pass'"
expect 1 "$ATTNC" opt layer.ir --passes=no-such-pass
says err "no-such-pass"
expect 0 "$ATTNC" opt --help
cp out help
while read -r pass; do
    grep -q "^  $pass " help || fault "attnc opt --help does not list $pass"
    expect 0 "$ATTNC" dump layer.ir --after="$pass"
    cp out after.ir
    expect 0 "$ATTNC" opt after.ir
    cmp -s out after.ir || fault "the graph after $pass reads back as another text"
    expect 0 "$ATTNC" opt layer.ir --passes="$pass"
    expect 0 "$ATTNC" dump layer.ir --stop-after="$pass"
    expect 0 "$ATTNC" dump layer.ir --start-from="$pass"
    expect 0 "$ATTNC" dump layer.ir --disable-pass="$pass"
done <passes
expect 0 "$ATTNC" dump layer.ir --pass-limit=0

# Files.
expect 0 "$ATTNC" dump layer.ir --dump-dir stages
says out "files in stages"
there stages/00-graph.ir
for kind in kernel.ir llvm.ll asm.s; do
    ls stages | grep -q -- "-$kind\$" || fault "no file of $kind: $(ls stages)"
done
cmp -s stages/00-graph.ir read.ir || fault "the first file is not the graph"
expect 1 "$ATTNC" dump layer.ir --dump-dir no/such/folder
says err "cannot make the folder no/such/folder"
no_temporaries

# IR that is wrong.
echo 'graph @x real f32 {' >wrong.ir
expect 1 "$ATTNC" opt wrong.ir
says err "wrong.ir:"
silent out
echo 'nonsense' >wrong.ir
expect 1 "$ATTNC" opt wrong.ir
: >wrong.ir
expect 0 "$ATTNC" opt wrong.ir

finish
