#!/bin/sh
# The commands on a program in the language: check, params, dump, run, build.
. "$(dirname "$0")/common"

cat >layer.attn <<'ATTN'
# A layer over every step of a sequence.
fn layer(x: [T, E]) -> [T, H] {
  param W: [H, E] from "layer.weight"
  param b: [H]
  y[t] = tanh(W @ x[t] + b)
  return y
}
model run(x: [T, E]) -> (y: [T, H]) {
  part hidden = layer from "net.{}"
  y[t] = hidden(x)[t]
}
ATTN

expect 0 "$ATTNC" check layer.attn
says out "ok: 1 function, 1 model"
silent err

expect 0 "$ATTNC" params layer.attn
says out "NAME"
says out "net.layer.weight"
says out "[H, E]"
expect 0 "$ATTNC" params layer.attn -D E=3
says out "[H, 3]"

expect 0 "$ATTNC" dump layer.attn
cp out graph.ir
expect 0 "$ATTNC" opt graph.ir
cmp -s out graph.ir || fault "the printed graph reads back as another text"

tensors write x.npz x:F32:2x3=1,2,3,4,5,6
tensors write w.npz net.layer.weight:F32:2x3=0.1,-0.1,0.2,0.3,0.1,-0.2 net.b:F32:2=0.5,-0.4
for mode in "" --interp --real=f64; do
    expect 0 "$ATTNC" run layer.attn $mode -i x.npz -w w.npz
    says out "0.7616"
done
expect 0 "$ATTNC" run layer.attn -i x.npz -w w.npz -D E=3
expect 1 "$ATTNC" run layer.attn -i x.npz -w w.npz -D E=4
says err "4"
expect 0 "$ATTNC" build layer.attn
there liblayer.so liblayer.h

expect 1 "$ATTNC" check layer.attn --entry ran
says err "ran"
sed 's/tanh(W/tanh(V/' layer.attn >wrong.attn
for c in check params dump run build; do
    expect 1 "$ATTNC" $c wrong.attn
    says err "wrong.attn:5:"
    silent out
done
gone libwrong.so libwrong.h

# Imports: beside the importing file, and of the standard library without any file.
mkdir lib
sed '/^model/,$d' layer.attn >lib/layer.attn
cat >main.attn <<'ATTN'
import "lib/layer.attn"
import "std/score.attn"
model run[B] = layer
ATTN
expect 0 "$ATTNC" check main.attn
# A file is one file, however its path is written and whoever imports it.
mkdir lib/more
{
    printf 'import "../layer.attn"\nimport "../../main2.attn"\n'
    printf 'fn twice(x: [E]) -> [E] { return 2 * x }\n'
} >lib/more/twice.attn
sed '1i import "lib/more/../more/twice.attn"' main.attn >main2.attn
expect 0 "$ATTNC" check main2.attn
silent err
mkdir elsewhere
(cd elsewhere && "$ATTNC" check ../main.attn) >out 2>err || fault "an import from another folder"
sed 's/lib\/layer/lib\/none/' main.attn >wrong.attn
expect 1 "$ATTNC" check wrong.attn
says err "wrong.attn:1:"
says err "lib/none.attn"

finish
