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
expect 0 "$ATTNC" dump layer.ir --each --stage=kernel
for pass in schedule place lanes; do
    says out "; after $pass"
done
says out "kernel @run"
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

# The schedule and what it decides are rows like the passes.
expect 0 "$ATTNC" dump layer.ir --stage=kernel --passes=
cp out bare.ir
expect 0 "$ATTNC" opt layer.ir --passes=schedule
cmp -s out bare.ir || fault "a kernel without any pass is not what the schedule alone makes"
expect 0 "$ATTNC" dump layer.ir --stage=kernel --pass-limit=0
cmp -s out bare.ir || fault "--pass-limit=0 is not the schedule alone"
expect 0 "$ATTNC" dump layer.ir --stage=kernel --passes=domains,fuse-maps,tiles
cp out all.ir
expect 0 "$ATTNC" opt layer.ir --passes=domains,fuse-maps,tiles,schedule
cmp -s out all.ir || fault "what the schedule decides is not to be named for opt as for dump"
cmp -s all.ir bare.ir && fault "domains and fuse-maps make no difference"
expect 0 "$ATTNC" opt layer.ir --passes=domains,fuse-maps,tiles,schedule,place,lanes
cp out whole.ir
expect 0 "$ATTNC" dump layer.ir --stage=kernel --start-from=domains
cmp -s out whole.ir || fault "--start-from=domains is not what follows the passes over graphs"
expect 0 "$ATTNC" dump layer.ir --after=schedule --start-from=domains
cmp -s out all.ir || fault "--after=schedule shows another kernel"
for pass in domains fuse-maps tiles schedule; do
    expect 0 "$ATTNC" dump layer.ir --after="$pass"
    says out "kernel @run"
    grep -q "^  $pass " help || fault "attnc opt --help does not list $pass"
    expect 0 "$ATTNC" dump layer.ir --stage=kernel --time
    says err " $pass"
done
for pass in domains fuse-maps tiles; do
    expect 0 "$ATTNC" dump layer.ir --stage=kernel --time --disable-pass="$pass"
    says_not err " $pass"
done
expect 1 "$ATTNC" dump layer.ir --stage=kernel --disable-pass=schedule
says err "the pass schedule cannot be left out"
expect 1 "$ATTNC" opt layer.ir --passes=domains
says err "domains decides for the schedule, which is not to run"
expect 1 "$ATTNC" opt layer.ir --passes=place
says err "the pass place works on kernels, and this is a graph"
says err "\`schedule\` in front of it makes a kernel of the graph"
expect 1 "$ATTNC" opt layer.ir --passes=schedule,domains
says err "the pass domains works on graphs, and this is a kernel"
expect 1 "$ATTNC" opt kernel.ir --passes=schedule
says err "the pass schedule works on graphs, and this is a kernel"

# Files.
expect 0 "$ATTNC" dump layer.ir --dump-dir stages
says out "files in stages"
there stages/00-graph.ir
for kind in schedule.ir place.ir lanes.ir kernel.ir llvm.ll asm.s; do
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
