#!/bin/sh
# attnc fmt: to standard output, in place, and as a check.
. "$(dirname "$0")/common"

cat >plain.attn <<'ATTN'
# A comment that stays.
fn   f( x:[T] )->[T]{
  return   x+1
}
ATTN
cp plain.attn before.attn
expect 0 "$ATTNC" fmt plain.attn
cp out canonical.attn
says out "# A comment that stays."
cmp -s plain.attn before.attn || fault "fmt without --write changed the file"
expect 0 sh -c '"$1" fmt - <plain.attn' sh "$ATTNC"
cmp -s out canonical.attn || fault "standard input is formatted differently"

expect 1 "$ATTNC" fmt --check plain.attn
says err "plain.attn is not in canonical layout"
silent out
expect 0 "$ATTNC" fmt --check canonical.attn
silent err

# In place: through a link, with the mode kept.
chmod 640 plain.attn
ln -s plain.attn link.attn
expect 0 "$ATTNC" fmt -i link.attn
silent out
[ -L link.attn ] || fault "the link was replaced"
cmp -s plain.attn canonical.attn || fault "--write wrote something else"
[ "$(stat -c %a plain.attn)" = 640 ] || fault "the mode changed"
touch -d '2001-01-01' plain.attn
expect 0 "$ATTNC" fmt --write plain.attn
[ "$(stat -c %Y plain.attn)" -lt 1000000000 ] || fault "a canonical file was rewritten"

# A file that does not parse is left alone.
printf 'fn f(\n' >wrong.attn
cp wrong.attn before.attn
expect 1 "$ATTNC" fmt --write wrong.attn canonical.attn
cmp -s wrong.attn before.attn || fault "a wrong file was rewritten"
no_temporaries

# What is shipped is in canonical layout, and the layout of a layout is itself.
for file in "$root"/examples/*.attn "$root"/frontend/std/*.attn; do
    [ -e "$file" ] || continue
    expect 0 "$ATTNC" fmt --check "$file"
    "$ATTNC" fmt "$file" >once.attn && expect 0 "$ATTNC" fmt --check once.attn
done

finish
