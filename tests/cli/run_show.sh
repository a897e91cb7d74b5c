#!/bin/sh
# attnc run: what it shows, random values, heat maps, and statuses of the compiled code.
. "$(dirname "$0")/common"

# Random values: the same for one seed, other ones for another; every thread count and route agrees.
expect 0 "$ATTNC" run layer.ir --seed 1 -D T=3 -D E=4 -D H=5
says out "y  f32[t: 3, h: 5]"
cp out first
expect 0 "$ATTNC" run layer.ir --seed 1 -D T=3 -D E=4 -D H=5 --threads 2
cmp -s out first || fault "two threads give other results"
expect 0 "$ATTNC" run layer.ir --seed 1 -D T=3 -D E=4 -D H=5 --interp
cmp -s out first || fault "the interpreter shows other results"
expect 0 "$ATTNC" run layer.ir --seed 2 -D T=3 -D E=4 -D H=5
if cmp -s out first; then fault "another seed gives the same results"; fi
expect 1 "$ATTNC" run layer.ir --seed 1 -D T=3 -D E=4
says err "H"
says err "-D H="
expect 0 "$ATTNC" run layer.ir --seed 1 -D T=0 -D E=4 -D H=5
says out "y  f32[t: 0, h: 5]"

# Large results in short, no line wider than the terminal.
expect 0 env COLUMNS=60 "$ATTNC" run layer.ir --seed 1 -D T=300 -D E=4 -D H=500
[ "$(wc -l <out)" -lt 20 ] || fault "$(wc -l <out) lines"
[ "$(awk 'length > 60' out | wc -l)" -eq 0 ] || fault "a line is too wide"
says out "..."
expect 0 env COLUMNS=60 "$ATTNC" run layer.ir --seed 1 -D T=30 -D E=4 -D H=30
[ "$(awk 'length > 60' out | wc -l)" -eq 0 ] || fault "a line is too wide"

# Not-a-number and infinities are shown.
cat >odd.ir <<'IR'
graph @odd real f32 {
  dims T
  %x = input "x" f32 : f32<t:T>
  %n = input "n" i64 : i64<>
  %1 = log %x : f32<t:T>
  %2 = add %n, 1 : i64<>
  output "y" f32 %1[t]
  output "m" i64 %2[]
}
IR
tensors write odd.npz x:F32:4=-1,0,1,2.718281828 n:I64:-=41
for mode in "" --interp; do
    expect 0 "$ATTNC" run odd.ir $mode -i odd.npz
    says out "nan"
    says out "-inf"
    says out "42"
done

# Heat maps: characters here, shades on request; never wider than the terminal.
expect 0 "$ATTNC" run layer.ir --seed 1 -D T=6 -D E=4 -D H=8 --heat y
says out "y  f32[t: 6, h: 8]"
says out '" .:-=+*#%@"'
says out "h 0 .. 7"
expect 0 "$ATTNC" run layer.ir --seed 1 -D T=6 -D E=4 -D H=8 --heat y --color always
says out "$(printf '\033[48;5;')"
expect 0 env COLUMNS=50 "$ATTNC" run layer.ir --seed 1 -D T=200 -D E=4 -D H=300 --heat y
[ "$(awk 'length > 60' out | wc -l)" -eq 0 ] || fault "a line is too wide"
says out "a cell is the largest of"
expect 0 "$ATTNC" run layer.ir --seed 1 -D T=3 -D E=4 -D H=3 --heat y --labels "Ein größerer Satz"
says out "h Ei gr Sa"
says out "größerer 1"
expect 1 "$ATTNC" run layer.ir --seed 1 -D T=6 -D E=4 -D H=8 --heat z
says err "there is no result named 'z'"
expect 0 "$ATTNC" run layer.ir --seed 1 -D T=6 -D E=4 -D H=8 --heat y -o y.npz
says out "h 0 .. 7"
there y.npz

# A status other than done is an error of the data.
cat >gather.ir <<'IR'
graph @gather real f32 {
  dims V, T
  %E = param "E" f32 : f32<v:V>
  %id = input "id" i64 : i64<t:T>
  %1 = read %E[%id] : f32<t:T>
  output "y" f32 %1[t]
}
IR
tensors write e.npz E:F32:3=7,8,9
tensors write good.npz id:I32:2=2,0
tensors write far.npz id:I64:2=0,3
for mode in "" --interp; do
    expect 0 "$ATTNC" run gather.ir $mode -i good.npz -w e.npz
    says out "[9 7]"
    expect 1 "$ATTNC" run gather.ir $mode -i far.npz -w e.npz -o y2.npz
    says err "the run of 'gather' stopped: an index computed from data is outside its axis"
    gone y2.npz
done

# Which model.
cat layer.ir gather.ir >two.ir
expect 1 "$ATTNC" run two.ir --seed 1
says err "the file has 2 models: run, gather"
says err "--entry"
expect 0 "$ATTNC" run two.ir --entry gather -i good.npz -w e.npz
expect 1 "$ATTNC" run two.ir --entry gathr
says err "there is no model named 'gathr'"
says err "did you mean 'gather'?"

# Phases and their times.
expect 0 "$ATTNC" run gather.ir -i good.npz -w e.npz --time
says err "ms  compiling"
says err "ms  running"

finish
