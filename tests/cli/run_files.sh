#!/bin/sh
# attnc run: tensors in and out, what is said of wrong ones, and that nothing partial is left.
. "$(dirname "$0")/common"

tensors write x.safetensors x:F32:2x3=1,2,3,4,5,6
tensors write w.safetensors layer.weight:F32:2x3=0.1,-0.1,0.2,0.3,0.1,-0.2 b:F32:2=0.5,-0.4

# Good runs: by compiled code and by the interpreter, to every kind of file.
for mode in "" --interp; do
    expect 0 "$ATTNC" run layer.ir $mode -i x.safetensors -w w.safetensors -o y.safetensors --strict
    silent out
    silent err
    tensors read y.safetensors >got
    echo "y F32 2x2 0.761594 -0.462117 0.921669 0.099668" >wanted
    sed 's/\(\.[0-9]\{4\}\)[0-9]*/\1/g' got >got.short
    sed 's/\(\.[0-9]\{4\}\)[0-9]*/\1/g' wanted >wanted.short
    cmp -s got.short wanted.short || fault "y is $(cat got)"
    rm y.safetensors
    expect 0 "$ATTNC" run layer.ir $mode -i x.safetensors -w w.safetensors
    says out "y  f32[t: 2, h: 2]"
    says out "0.7616"
    expect 0 "$ATTNC" run layer.ir $mode -i x.safetensors -w w.safetensors -o y.npz
    tensors read y.npz >got.npz
    cmp -s got got.npz || fault "npz: $(cat got.npz)"
    expect 0 "$ATTNC" run layer.ir $mode -i x.safetensors -w w.safetensors -o y.npy
    there y.npy
    expect 0 "$ATTNC" run layer.ir $mode -i x.safetensors -w w.safetensors -o folder/
    there folder/y.npy
    rm -r y.npz y.npy folder
done

# Other formats in; one file for both; other element types.
tensors write x.npy x:F64:2x3=1,2,3,4,5,6
tensors write w.npz layer.weight:F16:2x3=0.1,-0.1,0.2,0.3,0.1,-0.2 b:F64:2=0.5,-0.4
expect 0 "$ATTNC" run layer.ir -i x.npy -w w.npz
says out "0.761"
tensors write both.npz x:F32:2x3 layer.weight:F32:2x3 b:F32:2
expect 0 "$ATTNC" run layer.ir -i both.npz -w both.npz --strict
silent err

# run_bad CODE TEXT option...: an error with the text, and no result.
bad() {
    text=$1
    shift
    expect 1 "$ATTNC" run layer.ir -o y.safetensors "$@"
    says err "$text"
    silent out
    gone y.safetensors
}

# Files that are not what they say.
head -c 20 x.safetensors >cut.safetensors
bad "cut.safetensors" -i cut.safetensors -w w.safetensors
head -c 5 x.safetensors >cut5.safetensors
bad "cut5.safetensors" -i cut5.safetensors -w w.safetensors
size=$(wc -c <x.safetensors)
head -c $((size - 4)) x.safetensors >short.safetensors
bad "short.safetensors" -i short.safetensors -w w.safetensors
tensors raw past.safetensors '{"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}' 8
bad "past.safetensors" -i past.safetensors -w w.safetensors
tensors raw product.safetensors \
    '{"x":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,24]}}' 24
bad "product.safetensors" -i product.safetensors -w w.safetensors
tensors raw huge.safetensors '{"x":{"dtype":"F32","shape":[1099511627776],"data_offsets":[0,4398046511104]}}' 8
bad "huge.safetensors" -i huge.safetensors -w w.safetensors
tensors raw json.safetensors '{"x":{"dtype":"F32",' 8
bad "json.safetensors" -i json.safetensors -w w.safetensors
: >none.safetensors
bad "none.safetensors" -i none.safetensors -w w.safetensors
head -c 100 w.npz >cut.npz
bad "cut.npz" -i x.safetensors -w cut.npz
head -c 40 x.npy >cut.npy
bad "cut.npy" -i cut.npy -w w.safetensors
bad "missing.npz" -i missing.npz -w w.safetensors
bad "layer.ir" -i layer.ir -w w.safetensors

# Element types.
tensors write ints.npz x:I64:2x3=1
bad "ints.npz: tensor 'x' is i64, but the input x of the model is f32" -i ints.npz -w w.safetensors

# Names.
bad "the model needs the input 'x'" -w w.safetensors
says err "give -i FILE, or --seed N"
bad "the model needs the parameters 'layer.weight', 'b'" -i x.safetensors
tensors write names.npz layer.weights:F32:2x3 b:F32:2
bad "names.npz lacks the parameter 'layer.weight'" -i x.safetensors -w names.npz
says err "it has 'layer.weights', which resembles 'layer.weight'"
tensors write empty.npz other:F32:1
bad "empty.npz lacks the parameters 'layer.weight', 'b'" -i x.safetensors -w empty.npz
tensors write extra.npz x:F32:2x3 mask:F32:2
expect 0 "$ATTNC" run layer.ir -i extra.npz -w w.safetensors
says err "note: extra.npz: not used: 'mask'"
bad "extra.npz has 1 tensor that the model does not use: 'mask'" -i extra.npz -w w.safetensors --strict

# Shapes: both sides are named.
tensors write wide.npz x:F32:2x4
bad "E" -i wide.npz -w w.safetensors
tensors write rank.npz x:F32:3
bad "x" -i rank.npz -w w.safetensors
bad "T" -i x.safetensors -w w.safetensors -D T=3
bad "there is no dimension named 'Q'" -i x.safetensors -w w.safetensors -D Q=3
bad "from 0 to 2^40" -i x.safetensors -w w.safetensors -D T=-1

# Several faults at once are all named.
bad "lacks the parameter" -i ints.npz -w names.npz
says err "but the input x of the model is f32"

# Where results cannot go.
expect 1 "$ATTNC" run layer.ir -i x.safetensors -w w.safetensors -o no/such/folder/y.npz
says err "no/such/folder/y.npz"
expect 1 "$ATTNC" run layer.ir -i x.safetensors -w w.safetensors -o y.txt
says err "does not say which format"
mkdir taken.npz
expect 1 "$ATTNC" run layer.ir -i x.safetensors -w w.safetensors -o taken.npz/missing/y.npz
gone y.txt
if [ -w /dev/full ]; then
    ln -s /dev/full full.safetensors
    expect 1 "$ATTNC" run layer.ir -i x.safetensors -w w.safetensors -o full.safetensors
    says err "No space left on device"
fi
# What was there before stays when the run fails.
echo old >y.safetensors
expect 1 "$ATTNC" run layer.ir -i cut.npy -w w.safetensors -o y.safetensors
[ "$(cat y.safetensors)" = old ] || fault "an old file was changed"

finish
