#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Trees: metadata that is sent, entries that are left out, left alone or removed, and trees that are
# meant to do harm.

# bats file_tags=beside

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers
load transfers

# Entries of every kind, many small files, unusual modes and times.
make_tree() {
    local i

    mkdir -p "$1/deep/er" "$1/empty" "$1/many"
    for i in $(seq 300); do
        printf '%s' "$i" >"$1/many/$i"
    done
    : >"$1/many/nothing"
    random_file "$1/deep/er/big" 2500000
    truncate -s 5M "$1/deep/hole"
    printf end >>"$1/deep/hole"
    ln -s deep/er/big "$1/link"
    ln -s /no/where "$1/dangling"
    ln "$1/deep/er/big" "$1/deep/other"
    ln "$1/many/7" "$1/seven"
    chmod 750 "$1/many"
    chmod 640 "$1/many/1"
    chmod 500 "$1/deep/er"
    touch -h -d '2001-02-03 04:05:06.123456789 UTC' "$1/link"
    touch -d '2002-02-03 04:05:06.987654321 UTC' "$1/empty" "$1/many/1" "$1/deep/er"
}

# Prints all properties of a tree except inode numbers.
picture() {
    (cd "$1" && find . -printf '%p %y %m %T@ %n %l\n' | sed 's/^\(.* d [0-7]* [0-9.]*\) [0-9]* /\1 /' | sort)
}

assert_same_tree() {
    diff -r --no-dereference "$1" "$2" || fail_with "trees differ: $1 $2"
    diff <(picture "$1") <(picture "$2") || fail_with "trees look different: $1 $2"
}

teardown() {
    chmod -R u+rwX src dst 2>/dev/null
    helpers_teardown
    [ -z "${MANY:-}" ] || rm -rf "$MANY"
}

@test "a tree arrives with links, holes, modes and times, in every mode and over several connections" {
    local options

    make_tree src/tree
    listen
    for options in '-m write' '-m read' '-m send' '-j 4' '-j 3 -m read' '--verify' '--digest none'; do
        chmod -R u+w dst
        rm -rf dst/tree
        # shellcheck disable=SC2086
        push $options src/tree 127.0.0.1:
        assert_status 0
        assert_same_tree src/tree dst/tree
        assert_equal "$(stat -c %i dst/tree/deep/er/big)" "$(stat -c %i dst/tree/deep/other)"
        [ "$(du -k dst/tree/deep/hole | cut -f 1)" -le 16 ] || fail_with 'the hole was filled'
    done
    # A second transfer moves and changes nothing.
    push --json src/tree 127.0.0.1:
    assert_status 0
    assert_jsonl '.[] | select(.event=="result") | .moved_octets' 0
    assert_same_tree src/tree dst/tree
    assert_equal "$(find dst -name '.iw-*')" ''
}

@test "a tree is pulled the same way" {
    local options

    make_tree src/tree
    serve_here ddp-send -p "$PORT" --listen src
    for options in '' '-m read' '-m send' '-j 3'; do
        chmod -R u+w dst
        rm -rf dst/tree
        # shellcheck disable=SC2086
        run_here ddp-recv -p "$PORT" $options 127.0.0.1:tree dst
        assert_status 0
        assert_same_tree src/tree dst/tree
    done
    run_here ddp-recv -p "$PORT" -j 2 127.0.0.1:tree dst/renamed
    assert_status 0
    assert_same_tree src/tree dst/renamed
}

@test "the contents of a directory go into the target, in either direction, and a second time unchanged" {
    local options

    make_tree src/tree
    listen --delete
    for options in '' '-j 3' '-m send'; do
        # shellcheck disable=SC2086
        push $options src/tree/ 127.0.0.1:made
        assert_status 0
        assert_same_tree src/tree dst/made
        chmod -R u+w dst/made
        rm -r dst/made
    done
    push src/tree/. 127.0.0.1:made
    push --json src/tree/ 127.0.0.1:made
    assert_status 0
    assert_jsonl '.[] | select(.event=="result") | .moved_octets' 0
    # The target itself is compared too, without the excluded names, which are relative to it.
    printf x >dst/made/stranger
    printf x >dst/made/many/stranger
    printf x >dst/made/kept
    printf y >src/tree/kept
    push --delete -n --exclude /kept src/tree/ 127.0.0.1:made
    assert_output_has 'stranger: would be removed'
    push --delete --yes --exclude /kept src/tree/ 127.0.0.1:made
    assert_status 0
    rm dst/made/kept src/tree/kept
    touch -r dst/made src/tree
    assert_same_tree src/tree dst/made
    push src/tree/ src/tree/deep/ 127.0.0.1:
    assert_status 0
    [ -f dst/er/big ] && [ -f dst/deep/er/big ] || fail_with 'the contents of two directories are not in the target'
    printf x >dst/file
    push src/tree/ 127.0.0.1:file
    assert_status 1
    assert_stderr_has 'is a regular file, not a directory; name another target'
    serve_end
    serve_here ddp-send -p "$PORT" --listen src
    for options in '' '-j 3'; do
        # shellcheck disable=SC2086
        run_here ddp-recv -p "$PORT" $options 127.0.0.1:tree/ got
        assert_status 0
        assert_same_tree src/tree got
        chmod -R u+w got
        rm -r got
    done
}

has_journal() {
    [ -n "$(find "$1" -name '*.journal' 2>/dev/null)" ]
}

@test "a directory gets the name of its target, also when the command is repeated after an interruption" {
    local options

    make_tree src/tree
    random_file src/tree/large 8M
    listen
    for options in '' '-j 3'; do
        # shellcheck disable=SC2086
        push $options src/tree 127.0.0.1:new
        assert_status 0
        assert_same_tree src/tree dst/new
        chmod -R u+w dst/new
        rm -r dst/new
    done
    # Interrupted when the first file is partly stored.
    ddp-send -p "$PORT" --bwlimit 16M src/tree 127.0.0.1:new >out 2>&1 3>&- &
    wait_until 10 has_journal dst/new
    kill -INT $!
    wait $! && fail_with 'it was complete before it was interrupted'
    # A file that cannot be read does not make the new directory complete either.
    mkfifo src/tree/pipe
    push src/tree 127.0.0.1:new
    assert_status 1
    rm src/tree/pipe
    touch -d '2003-01-01 UTC' src/tree
    push src/tree 127.0.0.1:new
    assert_status 0
    assert_same_tree src/tree dst/new
    # The directory is complete now, so the source goes into it as into any other.
    push src/tree 127.0.0.1:new
    assert_status 0
    assert_same_tree src/tree dst/new/tree
}

@test "a file in many parts is one file" {
    random_file src/big 300M
    listen
    push -j 4 src/big 127.0.0.1:
    assert_status 0
    assert_output_has '1 file,'
    assert_same_file src/big dst/big
    assert_equal "$(find dst -name '.iw-*')" ''
    serve_end
    PORT=$(free_port)
    serve_here ddp-send -p "$PORT" --listen src
    mkdir got
    run_here ddp-recv -p "$PORT" -j 3 --verify 127.0.0.1:big got
    assert_status 0
    assert_same_file src/big got/big
}

# Several connections select large files at the same time.
@test "each of many large files that several connections send in parts arrives completely" {
    local n

    require_tool python3
    mkdir -p src/many
    for n in {1..20}; do
        printf 'file %s' "$n" >src/many/"$n"
        truncate -s 140M src/many/"$n"
        printf 'end %s' "$n" >>src/many/"$n"
    done
    listen
    push -j 8 src/many 127.0.0.1:
    assert_status 0
    assert_output_has ' 20 files,'
    for n in {1..20}; do
        python3 "$IW_TOP/tests/bats/same_sparse.py" src/many/"$n" dst/many/"$n" || fail_with "file $n differs"
    done
}

@test "a file that fails in several parts is one file in the counts and in the messages" {
    local n

    truncate -s 600M src/large
    for n in 1 150 250 350 450 599; do
        printf 'data %s' "$n" | dd of=src/large bs=1M seek="$n" conv=notrunc status=none
    done
    mkdir -p dst/large
    listen
    push -j 4 src/large 127.0.0.1:
    assert_status 1
    assert_output_has ': 0 files, 1 FAILED'
    assert_equal "$(grep -c 'large: ' <<<"$stderr")" 1
    push -j 4 --json src/large 127.0.0.1:
    assert_jsonl '[.[] | select(.event=="result")][0] | [.files_done, .files_failed]' '[0,1]'
    assert_jsonl 'map(select(.event=="file")) | length' 1
}

@test "directories are not counted as files, and a run that changes nothing reports that" {
    mkdir -p src/t/a/b src/t/empty
    printf 1 >src/t/f
    printf 2 >src/t/a/b/g
    random_file src/t/big 200K
    listen
    push src/t 127.0.0.1:
    assert_status 0
    assert_output_has ': 3 files, '
    push src/t 127.0.0.1:
    assert_status 0
    assert_output_has 'nothing to do: 3 files are up to date'
    push --json src/t 127.0.0.1:
    assert_jsonl '[.[] | select(.event=="result")][0] | [.files_done, .files_same, .directories]' '[0,3,4]'
    # A new directory is a change.
    mkdir src/t/new
    push src/t 127.0.0.1:
    assert_output_has ': 0 files, 3 unchanged'
    # A new file is a change, even an empty one.
    : >src/t/new/zero
    push src/t 127.0.0.1:
    assert_output_has ': 1 file, 3 unchanged'
    push -n src/t 127.0.0.1:
    [[ $output != *'nothing to do'* ]] || fail_with 'a dry run prints the message too'
}

@test "a file in place of a directory is one message at each end, not one for each name below it" {
    mkdir -p src/t/d/sub dst/t
    for n in $(seq 430); do echo "$n" >src/t/d/sub/"$n"; done
    echo kept >dst/t/d
    echo good >src/t/good
    listen
    push src/t 127.0.0.1:
    assert_status 1
    assert_stderr_has ': the peer says: not a possible target: at the target, "t/d" is a regular file, not a directory; remove it, or name another target'
    assert_stderr_has '431 more names failed: at the target, "t/d" is a regular file, not a directory; remove it, or name another target'
    assert_equal "$(wc -l <<<"$stderr")" 2
    assert_output_has '432 FAILED'
    assert_equal "$(cat dst/t/d dst/t/good | tr '\n' ' ')" 'kept good '
    assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/serve.$SERVED.err")" 2
    # The target itself is a file.
    echo kept >dst/file
    push src/t 127.0.0.1:file
    assert_status 1
    assert_stderr_has 'not a possible target: at the target, "file" is a regular file, not a directory; remove it, or name another target'
    assert_equal "$(wc -l <<<"$stderr")" 2
    assert_equal "$(cat dst/file)" kept
}

@test "several long files are verified at the same time" {
    local f

    mkdir -p src/t
    for f in a b c; do random_file src/t/$f 12M; done
    listen
    push --timeout 5s --verify src/t 127.0.0.1:
    assert_status 0
    assert_output_has ' 3 files'
    diff -r src/t dst/t || fail_with 'the trees differ'
}

@test "files that end in zeros are verified" {
    local size mode

    for size in 65536 1048576 2500000; do
        random_file src/$size 80
        truncate -s $size src/$size
    done
    listen
    for mode in write read send; do
        push -m $mode --verify --force src/ 127.0.0.1:$mode
        assert_status 0
        diff -r src dst/$mode || fail_with 'the trees differ'
    done
}

@test "owners are sent with --owner at both ends, and set-id bits with --setid at both" {
    require_root
    mkdir src/t
    printf 1 >src/t/f
    chown 12345:23456 src/t/f src/t
    chmod 4755 src/t/f
    listen
    push --owner src/t 127.0.0.1:
    assert_status 1
    assert_stderr_has 'the listener does not accept owners'
    push --xattr src/t 127.0.0.1:
    assert_status 1
    assert_stderr_has 'the listener does not accept attributes'
    push src/t 127.0.0.1:
    assert_status 0
    assert_equal "$(stat -c '%a %u' dst/t/f)" "755 $(id -u)"
    serve_end
    PORT=$(free_port)
    listen --owner --owner-from-anyone
    # Existing entries get them too.
    push --owner src/t 127.0.0.1:
    assert_status 0
    assert_equal "$(stat -c '%a %u %g' dst/t/f)" '755 12345 23456'
    assert_equal "$(stat -c '%u %g' dst/t)" '12345 23456'
    push --owner --setid src/t 127.0.0.1:
    assert_status 1
    assert_stderr_has 'the listener does not accept set-id bits: start it with --setid'
    serve_end
    PORT=$(free_port)
    listen --owner --setid --owner-from-anyone
    push --owner --setid src/t 127.0.0.1:
    assert_status 0
    assert_equal "$(stat -c '%a %u %g' dst/t/f)" '4755 12345 23456'
    # A new file too: chown(2) clears the bit, so it must be called before chmod(2).
    rm -r dst/t
    push --owner --setid src/t 127.0.0.1:
    assert_status 0
    assert_equal "$(stat -c '%a %u %g' dst/t/f)" '4755 12345 23456'
}

@test "extended attributes are sent if both ends request that" {
    require_tool setfattr getfattr
    mkdir src/t
    printf 1 >src/t/f
    setfattr -n user.colour -v blue src/t/f 2>/dev/null || skip 'needs xattr: this file system has none'
    listen --xattr
    push --xattr src/t 127.0.0.1:
    assert_status 0
    assert_equal "$(getfattr --only-values -n user.colour dst/t/f)" blue
    # An attribute that the source no longer has is removed.
    setfattr -x user.colour src/t/f
    push --xattr src/t 127.0.0.1:
    assert_status 0
    run_here getfattr -n user.colour dst/t/f
    assert_status 1
}

@test "include and exclude choose by name, at either end" {
    local options=(--include keep.o --exclude '*.o' --exclude cache/ --exclude 't/a/**')

    mkdir -p src/t/a/b src/t/cache src/t/x
    touch src/t/{f.o,keep.o,f.c} src/t/a/{one,b/two} src/t/cache/c src/t/x/cache
    listen
    push "${options[@]}" src/t 127.0.0.1:
    assert_status 0
    assert_equal "$(cd dst && find t -type f | sort | tr '\n' ' ')" 't/f.c t/keep.o t/x/cache '
    serve_end
    rm -rf dst/t
    PORT=$(free_port)
    serve_here ddp-send -p "$PORT" --listen src
    run_here ddp-recv -p "$PORT" "${options[@]}" 127.0.0.1:t dst
    assert_status 0
    assert_equal "$(cd dst && find t -type f | sort | tr '\n' ' ')" 't/f.c t/keep.o t/x/cache '
    run_here ddp-recv -p "$PORT" --exclude /a --exclude cache/ 127.0.0.1:t/ got
    assert_status 0
    assert_equal "$(cd got && find . -type f | sort | tr '\n' ' ')" './f.c ./f.o ./keep.o ./x/cache '
}

@test "progress is compared with the octets of the whole tree, in either direction" {
    local sum=$((200 * 1000 + 3 * 1048576)) same=300000 side i
    local all='[.[] | select(.event=="progress") | .total_octets // empty]'

    mkdir -p src/t/many
    for i in $(seq 200); do head -c 1000 /dev/urandom >src/t/many/"$i"; done
    random_file src/t/many/big 3M
    ln src/t/many/big src/t/hard
    head -c 5000 /dev/urandom >src/t/skip.o
    head -c $same /dev/urandom >src/t/same
    for side in push pull; do
        rm -rf dst/t
        mkdir -p dst/t
        cp -p src/t/same dst/t/same
        PORT=$(free_port)
        if [ $side = push ]; then
            listen
            push --json --bwlimit 12M --exclude '*.o' src/t 127.0.0.1:
        else
            serve_here ddp-send --listen -p "$PORT" src
            run_here ddp-recv -p "$PORT" --json --bwlimit 12M --exclude '*.o' 127.0.0.1:t dst
        fi
        assert_status 0
        assert_jsonl "$all | length > 0" true
        # A file is part of the total until it is known to be unchanged or excluded. A pulling sink
        # may learn of exclusions only at the end. While the 200 small files move together, each may
        # add one octet.
        assert_jsonl "$all | .[-1] - $sum | (. >= 0 and . <= 200) or (\"$side\" == \"pull\" and . >= 5000 and . <= 5200)" true
        assert_jsonl "$all | all((. - $sum) as \$more | [0, 5000, $same, $same + 5000] | any(\$more >= . and \$more <= . + 200))" true
        assert_jsonl '[.[] | select(.event=="progress" and .total_octets) | .done_octets <= .total_octets] | all' true
        assert_jsonl '[.[] | select(.event=="result")][0] | [.moved_octets, .content_octets]' "[$sum,$sum]"
        serve_end
    done
}

@test "--dry-run changes nothing and lists what would change" {
    make_tree src/tree
    mkdir -p dst/tree/stale
    printf old >dst/tree/seven
    listen --delete
    push --dry-run --delete --json src/tree 127.0.0.1:
    assert_status 0
    assert_jsonl '[.[] | select(.name=="tree/deep/er/big") | .outcome][0]' would
    assert_jsonl '[.[] | select(.event=="result") | .moved_octets][0]' 0
    assert_jsonl '[.[] | select(.event=="result") | .removed][0]' 1
    assert_equal "$(find dst | sort | tr '\n' ' ')" 'dst dst/tree dst/tree/seven dst/tree/stale '
    assert_equal "$(cat dst/tree/seven)" old
    push -n src/tree 127.0.0.1:new
    assert_status 0
    [ ! -e dst/new ] || fail_with 'dst/new was made'
}

@test "--no-clobber keeps existing files, --update newer ones" {
    mkdir src/t
    printf new >src/t/a
    printf new >src/t/b
    listen
    mkdir dst/t
    printf older >dst/t/a
    printf newer >dst/t/b
    touch -d '1 hour ago' dst/t/a
    touch -d '1 hour' dst/t/b
    push --no-clobber --stats src/t 127.0.0.1:
    assert_status 0
    assert_output_has "127.0.0.1:$PORT: nothing to do: 2 files kept: exist at the target (--no-clobber)"
    assert_output_has 'files:       0 sent, 0 unchanged, 2 kept, 0 left out, 0 failed'
    push --no-clobber --json src/t 127.0.0.1:
    assert_jsonl '.[] | select(.event=="result") | [.files_done, .files_same, .files_kept]' '[0,0,2]'
    assert_equal "$(cat dst/t/a) $(cat dst/t/b)" 'older newer'
    push --update src/t 127.0.0.1:
    assert_status 0
    assert_output_has ": 1 file, 1 kept: newer at the target (--update), 3 B in"
    push --update src/t 127.0.0.1:
    assert_output_is "127.0.0.1:$PORT: nothing to do: 1 file is up to date, 1 kept: newer at the target (--update)"
    assert_equal "$(cat dst/t/a) $(cat dst/t/b)" 'new newer'
    push src/t 127.0.0.1:
    assert_status 0
    assert_equal "$(cat dst/t/a) $(cat dst/t/b)" 'new new'
    serve_end
    listen --no-clobber
    push --update src/t/a 127.0.0.1:t
    assert_output_is "127.0.0.1:$PORT: nothing to do: 1 file kept: exists at the target (--no-clobber of the target)"
}

@test "--update compares links as it compares files" {
    mkdir src/t dst/t
    ln -s new src/t/kept
    ln -s new src/t/replaced
    touch -h -d '2 hours ago' src/t/kept src/t/replaced
    printf newer >dst/t/kept
    ln -s older dst/t/replaced
    touch -h -d '3 hours ago' dst/t/replaced
    listen
    push --update --json src/t 127.0.0.1:
    assert_status 0
    assert_jsonl '.[] | select(.event=="result") | [.files_done, .files_kept]' '[1,1]'
    assert_equal "$(cat dst/t/kept) $(readlink dst/t/replaced)" 'newer new'
}

@test "a dry run names the directory whose contents would be sent" {
    mkdir src/t
    random_file src/t/f 100
    listen
    push -n src/t/ 127.0.0.1:new
    assert_status 0
    assert_equal "$(head -2 <<<"$output" | sort)" $'f: would be sent\nsrc/t/: would be sent'
}

@test "--checksum compares contents instead of times, and sets the times of equal files" {
    local options before

    mkdir src/t
    random_file src/t/same 3000000
    random_file src/t/other 3000000
    random_file src/t/small 100
    random_file src/big 150M
    listen
    push src/t src/big 127.0.0.1:
    assert_status 0
    for options in '' '-m send --digest sha256' '-j 3'; do
        touch -d '2003-01-01 UTC' src/t/same src/t/small src/big
        # Same size and time, and without --checksum only these are compared.
        printf %s "$RANDOM$options" | dd of=src/t/other bs=1 seek=2000000 conv=notrunc status=none
        touch -r dst/t/other src/t/other
        push src/t 127.0.0.1:
        cmp -s src/t/other dst/t/other && fail_with 'the test proves nothing'
        before=$(stat -c %i dst/t/same dst/big)
        touch src/t/same src/t/small src/big
        # shellcheck disable=SC2086
        push -n -c $options src/t src/big 127.0.0.1:
        assert_output_has 't/other: would be sent'
        # shellcheck disable=SC2086
        push -c --json $options src/t src/big 127.0.0.1:
        assert_status 0
        assert_jsonl '.[] | select(.event=="result") | [.files_done, .files_same, .moved_octets >= 3000000, .moved_octets < 4000000]' '[1,3,true,true]'
        assert_same_file src/t/other dst/t/other
        assert_equal "$before" "$(stat -c %i dst/t/same dst/big)"
        assert_equal "$(stat -c %y src/t/same src/t/small src/big)" "$(stat -c %y dst/t/same dst/t/small dst/big)"
    done
    push -c --digest none src/t 127.0.0.1:
    assert_status 2
    assert_stderr_has '--checksum needs a digest'
    serve_end
    serve_here ddp-send -p "$PORT" --listen src
    touch src/t/same
    run_here ddp-recv -p "$PORT" -c 127.0.0.1:t dst
    assert_status 0
    assert_output_has 'nothing to do'
}

@test "a file has at most 256 KiB of extended attributes; one with more fails alone" {
    local many i

    command -v setfattr >/dev/null || skip 'needs setfattr: extended attributes'
    many=$(mktemp -d /dev/shm/iw-attrs.XXXXXX) || skip 'needs /dev/shm: a file system with large attributes'
    MANY=$many
    mkdir -p "$many/src/t" "$many/dst"
    for i in large more; do
        echo $i >"$many/src/t/$i"
        setfattr -n user.one -v "$(head -c 60000 /dev/zero | tr '\0' a)" "$many/src/t/$i" 2>/dev/null ||
            skip 'needs xattr: this file system has no large ones'
    done
    # 240,000 octets are below the limit, 300,000 are above it.
    for i in two three four; do setfattr -n user.$i -v "$(head -c 60000 /dev/zero | tr '\0' b)" "$many/src/t/large"; done
    for i in two three four five; do setfattr -n user.$i -v "$(head -c 60000 /dev/zero | tr '\0' c)" "$many/src/t/more"; done
    printf small >"$many/src/t/small"
    serve_here ddp-recv -p "$PORT" --xattr "$many/dst"
    push --xattr "$many/src/t" 127.0.0.1:
    assert_status 1
    assert_stderr_has 't/more: above a limit: its extended attributes exceed 256 KiB'
    assert_output_has ' 2 files, 1 FAILED'
    assert_equal "$(cd "$many/src/t" && getfattr -d large)" "$(cd "$many/dst/t" && getfattr -d large)"
    assert_same_file "$many/src/t/small" "$many/dst/t/small"
}

@test "--delete asks once it knows how many names it would remove, and removes none if the answer is no" {
    command -v script >/dev/null || skip 'needs script: a terminal to be asked on'
    mkdir -p src/t dst/t/old/deep
    printf 1 >src/t/a
    touch dst/t/stale dst/t/old/deep/x
    listen --delete
    printf 'n\n' >answer
    IW_STDIN=answer run_here script -qec "ddp-send -p $PORT --delete src/t 127.0.0.1:" /dev/null
    assert_status 1
    assert_output_has 't/old/deep/x: would be removed'
    assert_output_has '4 files and directories that are not at the source would be removed from the target. Continue?'
    [ -e dst/t/stale ] && [ ! -e dst/t/a ] || fail_with 'something was changed'
    grep -q '4 would be removed' "$BATS_TEST_TMPDIR/serve.$SERVED.out" || fail_with 'the listener reports something else'
    printf 'y\n' >answer
    IW_STDIN=answer run_here script -qec "ddp-send -p $PORT --delete src/t 127.0.0.1:" /dev/null
    assert_status 0
    assert_output_has '4 removed'
    assert_equal "$(cd dst && find . | sort | tr '\n' ' ')" '. ./t ./t/a '
    # Nothing would be removed, so there is no question.
    IW_STDIN=/dev/null run_here script -qec "ddp-send -p $PORT --delete src/t 127.0.0.1:" /dev/null
    assert_status 0
    [[ $output != *'Continue?'* ]] || fail_with 'it asks a question'
}

@test "--delete is not ignored if the listener does not accept it and a terminal is there for the question" {
    command -v script >/dev/null || skip 'needs script: a terminal to be asked on'
    mkdir -p src/t dst/t
    printf 1 >src/t/a
    touch dst/t/stale
    listen
    IW_STDIN=/dev/null run_here script -qec "ddp-send -p $PORT --delete src/t 127.0.0.1:" /dev/null
    assert_status 1
    assert_output_has 'the listener does not accept removals: start it with --delete'
    assert_output_has 'nothing was sent or removed'
    assert_equal "$(cd dst && find . | sort | tr '\n' ' ')" '. ./t ./t/stale '
}

# fill_stale DIR: creates 10,003 names that the source does not have, some of them unusual
fill_stale() {
    mkdir -p "$1/many" "$1/odd dir"
    (cd "$1/many" && seq -f 'stale %05g' 9995 | xargs -d '\n' touch)
    touch "$1/"$'new\nline' "$1/"$'tab\tand"quote' "$1/"$'bytes\xff\xfe' "$1/-n" "$1/odd dir/ "
    touch "$1/"$'esc\e[31m'
}

# Prints the names in the target that the source does not have, each as a JSON string, sorted.
stale_names() {
    (cd dst && find t -mindepth 1 ! -path t/a -print0) | python3 -c "
import json, sys
print(json.dumps(sorted(n.decode('utf-8', 'surrogateescape') for n in sys.stdin.buffer.read().split(b'\0') if n), ensure_ascii=True))"
}

# Prints the names of the "removed" events on standard output, likewise; would: true or false.
removed_names() {
    python3 -c "
import base64, json, sys
names = []
for line in open(sys.argv[1], 'rb'):
    e = json.loads(line.decode('utf-8', 'surrogateescape'))
    if e['event'] == 'removed' and e['would'] == (sys.argv[2] == 'true') and e.get('dry_run', False) == e['would']:
        n = base64.b64decode(e['name_b64']) if 'name_b64' in e else e['name'].encode('utf-8', 'surrogateescape')
        names.append(n.decode('utf-8', 'surrogateescape'))
print(json.dumps(sorted(names), ensure_ascii=True))" "$OUTPUT_FILE" "$1"
}

@test "-n --delete lists the names that --delete removes, in push and pull, also unusual ones" {
    local side before

    mkdir src/t
    printf 1 >src/t/a
    for side in push pull; do
        rm -rf dst/t
        mkdir -p dst/t
        fill_stale dst/t
        before=$(stale_names)
        PORT=$(free_port)
        if [ $side = push ]; then
            listen --delete
            push --json -n --delete src/t 127.0.0.1:
        else
            serve_here ddp-send -p "$PORT" --listen src
            run_here ddp-recv -p "$PORT" --json -n --delete 127.0.0.1:t dst
        fi
        assert_status 0
        [ "$(jq -s -c '[.[] | select(.event=="result")][0] | [.removed, .dry_run]' "$OUTPUT_FILE")" = '[10003,true]' ] ||
            fail_with "$side: the result has another count"
        [ "$(removed_names true)" = "$before" ] || fail_with "$side: the list differs from the names in the target"
        [ "$(stale_names)" = "$before" ] || fail_with "$side: the dry run changed something"
        if [ $side = push ]; then
            push --json --delete --yes src/t 127.0.0.1:
        else
            run_here ddp-recv -p "$PORT" --json --delete --yes 127.0.0.1:t dst
        fi
        assert_status 0
        [ "$(removed_names false)" = "$before" ] || fail_with "$side: something else was removed"
        assert_equal "$(cd dst && find . | sort | tr '\n' ' ')" '. ./t ./t/a '
        serve_end
    done
}

@test "--delete removes the names that the question listed, and none that appeared since" {
    require_tool script
    mkdir -p src/t dst/t
    printf 1 >src/t/a
    fill_stale dst/t
    listen --delete
    # The answer is given after another name has appeared.
    mkfifo answer
    exec 9<>answer
    (
        exec 3>&- 9>&-
        wait_until 20 grep -q 'Continue?' asked
        mkdir 'dst/t/odd dir/late'
        touch dst/t/new 'dst/t/odd dir/late/er'
        printf 'y\n' >answer
    ) &
    IW_STDIN=/dev/fd/9 run_here script -qefc "ddp-send -p $PORT -j 2 --delete src/t 127.0.0.1:" asked
    exec 9>&-
    assert_status 0
    assert_output_has '... and 9993 more'
    assert_equal "$(grep -c 'would be removed' asked)" 11 'ten names and the question'
    assert_output_has '10003 files and directories that are not at the source would be removed'
    assert_output_has '10002 removed'
    assert_output_has '3 names at the target not removed: not on the confirmed list'
    assert_equal "$(cd dst && find t | sort | tr '\n' ' ')" 't t/a t/new t/odd dir t/odd dir/late t/odd dir/late/er '
}

@test "--delete removes only names in sent directories that the source does not have" {
    mkdir -p src/t/sub src/t/cache dst/t/sub dst/t/gone/deep dst/t/cache dst/beside outside
    touch src/t/a src/t/sub/b src/t/cache/mine dst/t/{sub/old,gone/deep/x,stale} dst/t/cache/theirs dst/beside/f outside/f
    ln -s "$PWD/outside" dst/t/link
    listen
    push --delete --yes src/t 127.0.0.1:
    assert_status 1
    assert_stderr_has 'start it with --delete'
    serve_end
    PORT=$(free_port)
    listen --delete
    push --delete src/t 127.0.0.1:
    assert_status 2
    assert_stderr_has 'standard input is not a terminal'
    push --delete --yes --exclude cache src/t 127.0.0.1:
    assert_status 0
    assert_output_has '6 removed'
    assert_equal "$(cd dst && find . -type f | sort | tr '\n' ' ')" './beside/f ./t/a ./t/cache/theirs ./t/sub/b '
    [ -e outside/f ] || fail_with 'a link was followed'
    # Entries that could not be sent are not treated as removed.
    if [ "$(id -u)" -ne 0 ]; then
        chmod 0 src/t/sub
        push --delete --yes src/t 127.0.0.1:
        assert_status 1
        [ -e dst/t/sub/b ] || fail_with 'a name that could not be read at the source was removed'
    fi
}

# fill_excluded: creates files that only the target has, some of them excluded
fill_excluded() {
    rm -rf dst/t
    mkdir -p dst/t/old/deep dst/t/cache
    touch dst/t/{stale,keep.o,old/x,old/keep.o,old/deep/y,cache/z}
}

@test "--delete keeps excluded names that only the target has, and their directories" {
    local options=(--delete --yes --exclude '*.o' --exclude cache/) i

    mkdir -p src/t
    touch src/t/a
    for i in push look pull contents; do
        fill_excluded
        PORT=$(free_port)
        case $i in
        push | look)
            listen --delete
            [ $i = push ] || push -n "${options[@]}" --json src/t 127.0.0.1:
            [ $i = push ] || assert_jsonl '[.[] | select(.event=="removed") | .name] | sort' '["t/old/deep","t/old/deep/y","t/old/x","t/stale"]'
            push "${options[@]}" src/t 127.0.0.1:
            ;;
        pull)
            serve_here ddp-send -p "$PORT" --listen src
            run_here ddp-recv -p "$PORT" "${options[@]}" 127.0.0.1:t dst
            ;;
        contents)
            serve_here ddp-send -p "$PORT" --listen src
            run_here ddp-recv -p "$PORT" "${options[@]}" 127.0.0.1:t/ dst/t
            ;;
        esac
        assert_status 0
        assert_output_has '4 removed'
        assert_output_lacks 'not removed'
        assert_equal "$(cd dst && find t | sort | tr '\n' ' ')" 't t/a t/cache t/cache/z t/keep.o t/old t/old/keep.o '
        serve_end
    done
}

@test "the patterns of a listening ddp-send apply to the contents of directories, and hide no name" {
    mkdir -p src/t dst/t
    touch src/t/{a,b.o} dst/t/{b.o,old.o}
    serve_here ddp-send -p "$PORT" --listen --exclude '*.o' src
    run_here ddp-recv -p "$PORT" 127.0.0.1:t got
    assert_status 0
    assert_equal "$(ls got)" a
    run_here ddp-recv -p "$PORT" 127.0.0.1:t/b.o got
    assert_status 0
    assert_equal "$(echo got/*)" 'got/a got/b.o'
    run_here ddp-recv -p "$PORT" --delete --yes 127.0.0.1:t dst
    assert_status 0
    assert_equal "$(echo dst/t/*)" 'dst/t/a dst/t/b.o'
}

@test "planted links are not followed, whatever is sent through them" {
    mkdir -p src/t/d outside dst/t
    printf evil >src/t/d/f
    printf precious >outside/f
    listen
    ln -s ../../outside dst/t/d
    push src/t 127.0.0.1:
    assert_status 1
    assert_equal "$(cat outside/f)" precious
    assert_equal "$(ls outside)" f
    # The name is first sent as a link, then as a directory.
    rm -rf dst/t
    mkdir -p src/u
    ln -s "$PWD/outside" src/u/d
    push src/u 127.0.0.1:
    assert_status 0
    rm -rf src/u
    mkdir -p src/u/d
    printf evil >src/u/d/f
    push src/u 127.0.0.1:
    assert_status 1
    assert_equal "$(cat outside/f)" precious
    # A link in place of a file is replaced, not followed.
    ln -s "$PWD/outside/f" dst/plain
    printf new >src/plain
    push src/plain 127.0.0.1:
    assert_status 0
    assert_equal "$(cat outside/f)" precious
    assert_equal "$(cat dst/plain)" new
}

@test "a receiver limits the files that it accepts" {
    local i

    mkdir -p src/t/a/b/c
    random_file src/t/large 3M
    printf 1 >src/t/a/b/c/deep
    printf 1 >src/t/a-name-that-is-too-long
    for i in 1 2 3 4; do random_file src/t/f$i 400K; done
    listen --max-size 2M --max-depth 4 --max-name 20
    push src/t 127.0.0.1:
    assert_status 1
    assert_stderr_has "t/large: the peer says: above a limit: 3145728 octets: above the receiver's --max-size"
    [ -e dst/t/f1 ] && [ ! -e dst/t/large ] && [ ! -e dst/t/a/b/c/deep ] && [ ! -e dst/t/a-name-that-is-too-long ] ||
        fail_with "$(find dst)"
    serve_end
    rm -rf dst/t
    PORT=$(free_port)
    listen --quota 1M --max-files 100
    push src/t/f1 src/t/f2 src/t/f3 src/t/f4 127.0.0.1:
    assert_status 1
    assert_output_has '2 FAILED'
    IW_STDIN=src/t/large push - 127.0.0.1:stream
    assert_status 1
    assert_stderr_has "above the receiver's --quota 1048576"
    serve_end
    PORT=$(free_port)
    listen --max-files 3
    push src/t 127.0.0.1:
    assert_status 1
    assert_equal "$(find dst/t | wc -l)" 3
    serve_end
    PORT=$(free_port)
    listen --max-connections 2
    push -j 5 src/t/large 127.0.0.1:
    assert_status 0
    assert_same_file src/t/large dst/large
    # Three connections were rejected for the same reason, which is reported once.
    assert_equal "$(grep -c 'the other connections continue' <<<"$stderr")" 1
}

@test "names that fail for one limit are one message, and --verbose lists them" {
    local i

    mkdir -p src/t/a/b
    for i in $(seq 40); do printf x >src/t/a/b/"$i"; done
    listen --max-depth 2
    push src/t 127.0.0.1:
    assert_status 1
    assert_stderr_is "ddp-send: t/a/b: the peer says: above a limit: more components than the receiver's --max-depth 2
ddp-send: 40 more names failed: more components than the receiver's --max-depth 2; --verbose lists them"
    assert_output_has '41 FAILED'
    push --verbose src/t 127.0.0.1:
    assert_stderr_has 't/a/b/7: the peer says: above a limit'
    serve_end
    assert_equal "$(wc -l <<<"$stderr")" 4
}

@test "names that fail for lack of inodes are one message" {
    require_root
    local i

    mkdir -p src/t/a
    for i in $(seq 40); do printf x >src/t/a/"$i"; done
    serve_here unshare -m sh -c "mount -t tmpfs -o nr_inodes=8 room dst && exec ddp-recv -p $PORT dst"
    push src/t 127.0.0.1:
    assert_status 1
    assert_equal "$(grep -c 'no space left' <<<"$stderr")" 2
    assert_stderr_has 'more names failed: cannot create a temporary file in t/a: no space left on device; --verbose lists them'
}

@test "--bwlimit holds the rate" {
    local began mode

    random_file src/f 8M
    listen
    began=$EPOCHREALTIME
    push --bwlimit 32M src/f 127.0.0.1:
    assert_status 0
    assert_same_file src/f dst/f
    # 64 Mb at 32 Mb/s; the tool does not wait after the last chunk.
    ((${EPOCHREALTIME/[.,]/} - ${began/[.,]/} > 1600000)) || fail_with 'it was faster than that'

    # The limit also applies if the end that sets it is not the sender.
    PORT=$(free_port)
    serve_here ddp-send -p "$PORT" --listen src
    for mode in write read send; do
        rm -f dst/f
        began=$EPOCHREALTIME
        run_here ddp-recv -p "$PORT" -m $mode --bwlimit 64M 127.0.0.1:f dst
        assert_status 0
        assert_same_file src/f dst/f
        ((${EPOCHREALTIME/[.,]/} - ${began/[.,]/} > 800000)) || fail_with "pulled by $mode it was faster than that"
    done
}

# The source, process $pid, has connected to the stopped sink, and all of its threads sleep.
source_waits() {
    [ "$(ss -Hlnt "sport = :$PORT" | awk '{ print $2 }')" -eq 1 ] || return
    ! grep -h '^State:' "/proc/$pid/task"/*/status | grep -qv '^State:.S'
}

@test "sources that vanish, shrink or cannot be read fail alone, also in packs" {
    mkdir src/t
    for i in $(seq 50); do printf '%s' "$i" >"src/t/$i"; done
    random_file src/t/zz 1M
    listen
    # When the sink is stopped, the source has listed the files already; then they change.
    kill -STOP "$SERVE_PID"
    ddp-send -p "$PORT" src/t 127.0.0.1: >send.out 2>send.err </dev/null 3>&- &
    pid=$!
    wait_until 10 source_waits || fail_with 'the source does not wait for the Reply'
    rm src/t/7
    printf longer-than-it-was >src/t/8
    kill -CONT "$SERVE_PID"
    status=0
    wait $pid || status=$?
    output=$(cat send.out) stderr=$(cat send.err)
    case $status in
    # the transfer was slower than the changes
    0) [ ! -e dst/t/7 ] && assert_same_file src/t/8 dst/t/8 ;;
    *)
        assert_status 1
        assert_stderr_has 't/8: changed while it was being sent'
        assert_output_has '2 FAILED'
        ;;
    esac
    assert_same_file src/t/9 dst/t/9
    assert_same_file src/t/zz dst/t/zz
}

@test "temporaries that were not resumed are removed after --max-age" {
    mkdir src/t
    printf 1 >src/t/f
    listen --max-age 1h
    mkdir dst/t
    touch -d '2 hours ago' dst/t/.iw-0123456789abcdef.part dst/t/.iw-0123456789abcdef.journal dst/t/.iw-mine
    touch dst/t/.iw-fedcba9876543210.part
    push src/t 127.0.0.1:
    assert_status 0
    # The listener removes old partial files in the background during the transfer.
    wait_until 10 eval '[ ! -e dst/t/.iw-0123456789abcdef.part ] && [ ! -e dst/t/.iw-0123456789abcdef.journal ]'
    assert_equal "$(cd dst/t && echo .iw-*)" '.iw-fedcba9876543210.part .iw-mine'
}

@test "the same file twice is one file, and a target that cannot be written fails file by file" {
    random_file src/f 5M
    printf 1 >src/g
    listen
    push --force -j 2 src/f src/g src/f src/g src/f 127.0.0.1:
    assert_status 0
    assert_same_file src/f dst/f
    assert_same_file src/g dst/g
    assert_equal "$(find dst -name '.iw-*')" ''
    serve_end
    unshare --mount true 2>/dev/null || skip 'needs root: no mount namespace'
    PORT=$(free_port)
    serve_here unshare --mount --propagation private bash -c "mount -t tmpfs -o ro none dst && exec ddp-recv -p $PORT dst"
    push src/f src/g 127.0.0.1:
    assert_status 1
    assert_stderr_is "ddp-send: 127.0.0.1:$PORT: the peer ended the transfer: not a possible target: the target directory is on a read-only file system; name another target"
}
