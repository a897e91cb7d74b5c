#!/bin/sh
# What is said of a source file that cannot be read, for every command that reads one.
. "$(dirname "$0")/common"

mkdir folder
printf 'fn f(x: [T]) -> [T] {\n  return x\0x\n}\n' >nul.attn
printf '\377\376f\0n\0' >utf16.attn
printf 'fn f(x: [T]) -> [T] {\n  return \377\n}\n' >invalid.attn
: >empty.attn
dd if=/dev/zero bs=1048576 count=17 2>/dev/null | tr '\0' '#' >large.attn
ln -s loop.attn loop.attn

for c in run build check params dump opt fmt; do
    expect 1 "$ATTNC" "$c" missing.attn
    says err "cannot read missing.attn: No such file or directory"
    silent out
    expect 1 "$ATTNC" "$c" folder
    says err "folder is a folder, not a file"
    expect 1 "$ATTNC" "$c" nul.attn
    says err "nul.attn:2:11: error: a NUL byte"
    expect 1 "$ATTNC" "$c" utf16.attn
    says err "utf16.attn is UTF-16"
    expect 1 "$ATTNC" "$c" large.attn
    says err "large.attn is larger than 16 MiB"
    expect 1 "$ATTNC" "$c" loop.attn
    says err "cannot read loop.attn: Too many levels of symbolic links"
    expect 1 "$ATTNC" "$c" ""
    says err "cannot read"
    if [ "$c" != opt ]; then
        expect 1 "$ATTNC" "$c" invalid.attn
        says err "invalid.attn:2:10"
    fi
done
gone libmissing.so libfolder.so libnul.so out.npz

if [ "$(id -u)" -ne 0 ]; then
    touch secret.attn
    chmod 000 secret.attn
    expect 1 "$ATTNC" check secret.attn
    says err "cannot read secret.attn: Permission denied"
fi

# Standard input.
expect 0 sh -c '"$1" check - <"$2"' sh "$ATTNC" empty.attn
says out "ok: 0 functions, 0 models"
expect 0 "$ATTNC" check empty.attn
expect 1 sh -c 'printf "model\n" | "$1" check -' sh "$ATTNC"
says err "<stdin>:"

# Each of several files is checked; the reports of one do not stop the others.
printf 'fn f(\n' >wrong.attn
expect 1 "$ATTNC" check wrong.attn empty.attn missing.attn
says err "wrong.attn:"
says out "empty.attn: ok"
says err "missing.attn"

finish
