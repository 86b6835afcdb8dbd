#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# ddp-send pushing to a listening ddp-recv: every mode and size, streams, unusual names, scp's
# rules, and errors at the source.

# bats file_tags=beside

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers
load transfers

mode_and_time() {
    stat -c '%a %.9Y %s' "$1"
}

@test "files of every size arrive in every mode, with mode and time" {
    local mode f

    : >src/empty
    printf x >src/one
    random_file src/chunk 1M
    random_file src/odd 5000001
    chmod 640 src/odd
    chmod 755 src/one
    touch -d '1969-07-20 20:17:40.123456789 UTC' src/one
    listen
    for mode in write read send; do
        rm -rf dst/*
        push -m $mode src/empty src/one src/chunk src/odd 127.0.0.1:
        assert_status 0
        assert_output_has '4 files'
        for f in empty one chunk odd; do
            assert_same_file src/$f dst/$f
            assert_equal "$(mode_and_time src/$f)" "$(mode_and_time dst/$f)"
        done
        assert_no_parts dst
    done
}

@test "digests and CRC off, markers, revision 1, FPDUs of one segment: the same file" {
    local options

    random_file src/f 3M
    listen --crc off
    for options in '--digest none' '--digest xxh3' '--digest sha256' '--crc off' '--markers' '--rev 1' '--mulpdu emss' '--mulpdu 4096' \
        '--rev 1 -m read' '--markers -m send --mulpdu emss'; do
        # shellcheck disable=SC2086
        push --force $options src/f 127.0.0.1:
        assert_status 0
        assert_same_file src/f dst/f
        rm dst/f
    done
}

# data_of FILE: prints a line of offset and octets for each part of FILE that is not zero. Reading
# holes takes as long as reading data.
data_of() {
    python3 - "$1" <<'END'
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
at, end = 0, os.fstat(fd).st_size
while at < end:
    try:
        at = os.lseek(fd, at, os.SEEK_DATA)
    except OSError:
        break
    hole = os.lseek(fd, at, os.SEEK_HOLE)
    piece = os.pread(fd, hole - at, at).lstrip(b'\0')
    if piece:
        print(hole - len(piece), piece.rstrip(b'\0').decode())
    at = hole
END
}

@test "a sparse file of 5 GiB stays sparse, and only its data moves" {
    local mode

    require_tool python3
    truncate -s 5G src/sparse
    # Below and above 2^32.
    printf low | dd of=src/sparse bs=1 seek=3000000000 conv=notrunc status=none
    printf high | dd of=src/sparse bs=1 seek=5000000000 conv=notrunc status=none
    # Allocated zeros also become holes.
    dd if=/dev/zero of=src/zeros bs=1M count=9 status=none
    printf end >>src/zeros
    listen
    for mode in write read send; do
        rm -f dst/*
        push -m $mode --json src/sparse src/zeros 127.0.0.1:
        assert_status 0
        assert_jsonl '[.[] | select(.event=="result") | .moved_octets <= 3145728][0]' true
        assert_equal "$(stat -c %s dst/sparse)" 5368709120
        [ "$(du -k dst/sparse | cut -f 1)" -le 1024 ] || fail_with "dst/sparse takes $(du -k dst/sparse) KiB"
        [ "$(du -k dst/zeros | cut -f 1)" -le 1024 ] || fail_with "dst/zeros takes $(du -k dst/zeros) KiB"
        assert_equal "$(data_of dst/sparse)" $'3000000000 low\n5000000000 high'
        assert_same_file src/zeros dst/zeros
    done
}

@test "a stream from standard input goes into a named file" {
    local mode size

    listen
    for mode in write read send; do
        for size in 0 1 1048576 7000003; do
            random_file stream "$size"
            IW_STDIN=stream push -m $mode - 127.0.0.1:out.$mode.$size
            assert_status 0
            assert_same_file stream dst/out.$mode.$size
        done
    done
    # A newly created file has the mode of the receiver's umask.
    assert_equal "$(stat -c %a dst/out.write.1)" "$(printf '%o' $((0666 & ~0$(umask))))"
    IW_STDIN=stream push - 127.0.0.1:
    assert_status 1
    assert_stderr_has 'a stream needs the name of a file, such as HOST:NAME'
}

@test "from pipe to pipe, through ddp-recv -" {
    local mode

    random_file stream 9000001
    for mode in write read send; do
        PORT=$(free_port)
        serve_here ddp-recv -p "$PORT" -
        run_here bash -c "cat stream | ddp-send -m $mode -p $PORT - 127.0.0.1:"
        assert_status 0
        wait_served
        assert_status 0
        assert_same_file stream "$OUTPUT_FILE"
        assert_stderr_has 'listening on'
    done
}

@test "names with blanks, newlines, UTF-8 and other octets arrive unchanged" {
    local names=('with blank' $'new\nline' 'äöü €' $'\xff\xfe\x80' '-rf' '*' $'\x1b[31mred' 'a:b') n

    for n in "${names[@]}"; do
        printf '%s' "$n" >"src/$n"
    done
    listen
    (cd src && exec find . -type f -print0) >list
    cd src || return 1
    push --json -- ./* 127.0.0.1:
    cd .. || return 1
    assert_status 0
    assert_jsonl '[.[] | select(.event=="file")] | length' 8
    # A name that is not UTF-8 is also present as octets.
    assert_jsonl '[.[] | select(.name_b64 == "//6A")] | length' 1
    for n in "${names[@]}"; do
        assert_same_file "src/$n" "dst/$n"
    done
    assert_equal "$(find dst -type f | wc -l)" "$(find src -type f | wc -l)"
}

@test "scp's rules: into a directory, under another name; one name for several sources is refused" {
    printf 1 >src/a
    printf 2 >src/b
    mkdir dst/sub
    listen
    push src/a 127.0.0.1:sub
    assert_status 0
    assert_same_file src/a dst/sub/a
    push src/a 127.0.0.1:sub/renamed
    assert_same_file src/a dst/sub/renamed
    push src/a 127.0.0.1:./sub//./renamed
    assert_output_has 'up to date'
    push src/a src/b 127.0.0.1:sub/
    assert_same_file src/b dst/sub/b
    push src/a src/b 127.0.0.1:sub/renamed
    assert_status 1
    assert_stderr_has 'is a regular file, not a directory; name another target'
    push src/a src/b 127.0.0.1:nowhere
    assert_status 1
    assert_stderr_has 'does not exist; create it first'
    push src/a 127.0.0.1:nowhere/
    assert_status 1
    push src/a 127.0.0.1:nowhere/a
    assert_status 1
    assert_stderr_has 'does not exist; create it first'
    assert_equal "$(cat dst/sub/renamed)" 1
}

@test "a directory arrives complete under its own name, and a second time unchanged" {
    mkdir -p src/tree/deep/er src/tree/empty
    printf 1 >src/tree/a
    random_file src/tree/deep/er/b 2M
    listen
    push src/tree 127.0.0.1:
    assert_status 0
    run_here diff -r src/tree dst/tree
    assert_status 0
    push --json src/tree 127.0.0.1:
    assert_status 0
    assert_jsonl '.[] | select(.event=="result") | .files_same' 2
    assert_jsonl '.[] | select(.event=="result") | .moved_octets' 0
    # An entry that is neither a file nor a directory nor a link is reported.
    mkfifo src/tree/pipe
    push src/tree 127.0.0.1:
    assert_status 1
    assert_stderr_has 'tree/pipe: a named pipe cannot be sent as a file; --exclude leaves it out'
    [ ! -e dst/tree/pipe ] || fail_with 'the pipe was sent'
}

@test "of two files with the same name at the target, the second is refused by name" {
    mkdir src/q
    echo first >src/f
    echo later >src/q/f
    touch -r src/f src/q/f
    listen
    push src/f src/q/f 127.0.0.1:
    assert_status 1
    assert_stderr_is 'ddp-send: src/q/f: name refused: src/q/f and src/f would have one name at the target; use two target directories'
    assert_same_file src/f dst/f
    rm dst/f
    # The contents are merged, except entries with the same name.
    echo 1 >src/q/g
    push src/q/ src/f 127.0.0.1:
    assert_status 1
    assert_stderr_is 'ddp-send: src/f: name refused: src/f and src/q/f would have one name at the target; use two target directories'
    assert_same_file src/q/f dst/f
    assert_same_file src/q/g dst/g
    # Naming the same file twice loses nothing.
    rm dst/f
    push src/f src/f 127.0.0.1:
    assert_status 0
    assert_same_file src/f dst/f
}

@test "a source that cannot be sent is named as it was typed, with a remedy" {
    mkdir -p src/d
    mkfifo src/pipe
    listen
    push src/d/nosuch 127.0.0.1:
    assert_status 1
    assert_stderr_is 'ddp-send: src/d/nosuch: cannot open it: no such file or directory'
    push 'src/d/*.txt' 127.0.0.1:
    assert_status 1
    assert_stderr_is 'ddp-send: src/d/*.txt: cannot open it: no such file or directory; only the shell expands wildcards: the pattern matches nothing, or is quoted'
    push src/pipe 127.0.0.1:
    assert_status 1
    assert_stderr_is 'ddp-send: src/pipe: a named pipe cannot be sent as a file; to send its data, use: ddp-send - HOST:NAME <src/pipe'
    push /dev/zero 127.0.0.1:
    assert_status 1
    assert_stderr_is 'ddp-send: /dev/zero: a character device cannot be sent as a file; to send its data, use: ddp-send - HOST:NAME </dev/zero'
}

@test "a command without a source or a target says which one is missing" {
    local try=$'\nTry `ddp-send --help\' or `ddp-send --usage\' for more information.'

    printf 1 >src/f
    run_here ddp-send
    assert_status 2
    assert_stderr_is "ddp-send: no source and no target; expected SOURCE... HOST:[PATH], --listen DIR, or --to URI$try"
    run_here ddp-send src/f
    assert_status 2
    assert_stderr_is "ddp-send: \"src/f\": no target after the source; expected SOURCE... HOST:[PATH]$try"
    run_here ddp-send 127.0.0.1:
    assert_status 2
    assert_stderr_is "ddp-send: \"127.0.0.1:\": no source before the target; expected SOURCE... HOST:[PATH]$try"
    run_here ddp-send --include src 127.0.0.1:
    assert_status 2
    assert_stderr_is "ddp-send: \"127.0.0.1:\": no source before the target, because \"src\" is the value of --include; expected SOURCE... HOST:[PATH]$try"
    run_here ddp-send --delete --yes src/f 127.0.0.1:
    assert_status 2
    assert_stderr_is "ddp-send: --delete needs a directory as source: \"src/f\" is not a directory; leave --delete out$try"
}

@test "a target or a request that is refused is shown as it was typed" {
    printf 1 >src/a
    listen
    push src/a 127.0.0.1:/abs
    assert_status 1
    assert_stderr_has "127.0.0.1:$PORT: the peer ended the transfer: not a possible target: the target's path \"/abs\" is absolute"
    push src/a 127.0.0.1:../up
    assert_stderr_has 'the peer ended the transfer: not a possible target: the target'\''s path "../up" has a component ".."'
    serve_end
    serve_here ddp-send --listen -p "$PORT" src
    run_here ddp-recv -p "$PORT" 127.0.0.1:../up dst
    assert_status 1
    serve_end
    assert_stderr_has 'ddp-send: ../up: name refused'
}

@test "patterns that leave nothing to send are named" {
    mkdir src/d
    printf 1 >src/d/f
    listen
    push --exclude '*' src/d 127.0.0.1:
    assert_status 0
    assert_output_is "127.0.0.1:$PORT: nothing to send: --exclude '*' leaves no file"
    push --include '*.c' --exclude '*' src/d 127.0.0.1:
    assert_status 0
    assert_output_is "127.0.0.1:$PORT: nothing to send: the --include and --exclude patterns leave no file"
}

@test "a pattern that would exclude a source, or match no name, is not ignored silently" {
    mkdir src/d
    printf 1 >src/d/f
    listen
    push --exclude d --exclude f src/d 127.0.0.1:
    assert_status 0
    assert_stderr_is 'ddp-send: warning: src/d: sent in spite of --exclude, because it is named itself: patterns choose among the names below it'
    # After --include, --exclude '*' excludes all other names.
    push --include '*.c' --exclude '*' src/d 127.0.0.1:
    assert_status 0
    assert_stderr_is ''
    # Patterns do not match the name of a directory whose contents are sent.
    for dir in . ../src/d/; do
        run_here env -C src ddp-send -p "$PORT" --exclude '.*' --exclude d "$dir" 127.0.0.1:
        assert_status 0
        assert_stderr_is ''
    done
    push --exclude ./d/f src/d 127.0.0.1:
    assert_status 2
    assert_stderr_has '--exclude "./d/f": matches no name: patterns are relative to the source; leave out ./ and ../'
    serve_end
    serve_here ddp-send --listen -p "$PORT" src
    run_here ddp-recv -p "$PORT" --exclude f 127.0.0.1:d/f dst
    assert_status 0
    assert_stderr_has 'd/f: fetched in spite of --exclude'
}

@test "a listener of another tool is not a ddp-recv: the message names it, and the status is 1" {
    PORT=$(free_port)
    serve_here ddp-bench --listen -p "$PORT"
    printf 1 >src/f
    push src/f 127.0.0.1:
    assert_status 1
    assert_stderr_is "ddp-send: 127.0.0.1:$PORT: not a ddp-recv: ddp-bench --listen listens there; start \`ddp-recv DIR\` there, or correct --port"
    serve_end
    PORT=$(free_port)
    serve_here mpa-probe --listen -p "$PORT" --reject --private-data 'closed for today'
    push src/f 127.0.0.1:
    assert_status 1
    assert_stderr_is "ddp-send: connect to 127.0.0.1:$PORT: mpa: the peer rejected the connection: \"closed for today\"; start \`ddp-recv DIR\` there, or correct --port"
    serve_end
    PORT=$(free_port)
    serve_here mpa-probe --listen -p "$PORT"
    push src/f 127.0.0.1:
    assert_status 1
    assert_stderr_is "ddp-send: 127.0.0.1:$PORT: not a ddp-recv: its Reply lacks the Private Data of ddp-transfer (0 octets seen); start \`ddp-recv DIR\` there, or correct --port"
}

@test "a file with the same size and time is not sent again, unless --force" {
    local before

    random_file src/f 1M
    listen
    push src/f 127.0.0.1:
    before=$(stat -c %i dst/f)
    push src/f 127.0.0.1:
    assert_status 0
    assert_output_has 'nothing to do: 1 file is up to date'
    assert_equal "$before" "$(stat -c %i dst/f)"
    push --force src/f 127.0.0.1:
    assert_output_has '1 file,'
    [ "$before" != "$(stat -c %i dst/f)" ] || fail_with 'it was not rewritten'
    touch src/f
    push src/f 127.0.0.1:
    assert_output_has '1 file,'
}

@test "a source that is missing or cannot be read fails alone" {
    require_root
    printf 1 >src/a
    printf 2 >src/secret
    printf 3 >src/z
    chmod 0 src/secret
    chmod 755 . src
    listen
    run_here setpriv --reuid 65534 --regid 65534 --clear-groups ddp-send -p "$PORT" src/a src/missing src/secret src/z 127.0.0.1:
    assert_status 1
    assert_stderr_has 'missing: cannot open it: no such file or directory'
    assert_stderr_has 'secret: cannot open it: permission denied'
    assert_output_has '2 files, 2 FAILED'
    assert_same_file src/a dst/a
    assert_same_file src/z dst/z
    [ ! -e dst/secret ] || fail_with 'dst/secret exists'
    ln -s nowhere src/dangling
    push src/dangling 127.0.0.1:
    assert_status 1
    assert_stderr_is 'ddp-send: src/dangling: cannot open it: no such file or directory; it is a symbolic link to "nowhere"'
    push /dev/null 127.0.0.1:
    assert_status 1
    assert_stderr_has '/dev/null: a character device cannot be sent as a file'
}

# begin_slowly FILE...: sends to a listener that is stopped in the middle of a file; sets $SEND_PID
begin_slowly() {
    local receiver

    listen
    receiver=$SERVE_PID
    ddp-send -p "$PORT" --timeout 20s --bwlimit 400M "$@" 127.0.0.1: >send.out 2>send.err </dev/null 3>&- &
    SEND_PID=$!
    wait_until 10 eval 'compgen -G "dst/.iw-*.part"' || fail_with 'the transfer did not begin'
    kill -STOP "$receiver"
    RECEIVER=$receiver
    # The transfer must still be in the middle of the file; otherwise the machine was faster than
    # the test.
    compgen -G 'dst/.iw-*.part' >/dev/null || {
        kill -CONT "$receiver"
        fail_with 'the file was done too soon'
    }
}

end_slowly() {
    kill -CONT "$RECEIVER"
    status=0
    wait "$SEND_PID" || status=$?
    output=$(cat send.out)
    # fail_with prints them.
    # shellcheck disable=SC2034
    stderr=$(cat send.err) COMMAND='ddp-send (in the background)'
}

@test "a source that is changed while it is sent fails, whatever the change, and the old file stays" {
    local change

    for change in 'truncate -s 1M src/big' 'printf more >>src/big' 'printf x | dd of=src/big bs=1 seek=5 conv=notrunc status=none'; do
        PORT=$(free_port)
        random_file src/big 64M
        printf old >dst/big
        printf small >src/small
        rm -f dst/small
        begin_slowly src/big src/small
        eval "$change"
        end_slowly
        assert_status 1
        assert_stderr_has 'while it was being sent; send it again when no program writes to it'
        assert_equal "$(cat dst/big)" old
        assert_same_file src/small dst/small
        assert_no_parts dst
        serve_end
    done
}

@test "a source that is removed while it is sent arrives whole" {
    random_file src/big 64M
    cp --reflink=auto src/big copy
    begin_slowly src/big
    rm src/big
    end_slowly
    assert_status 0
    assert_same_file copy dst/big
}

@test "a receiver that stops answering is abandoned after --timeout" {
    random_file src/big 64M
    listen
    kill -STOP "$SERVE_PID"
    # The timeout applies before the set-up is complete, and in the middle of a file.
    push --timeout 1s src/big 127.0.0.1:
    assert_status 4
    kill -CONT "$SERVE_PID"
    begin_on_listener() {
        ddp-send -p "$PORT" --timeout 2s --bwlimit 400M src/big 127.0.0.1: >send.out 2>send.err </dev/null 3>&- &
        SEND_PID=$!
        wait_until 10 eval 'compgen -G "dst/.iw-*.part"'
        kill -STOP "$SERVE_PID"
    }
    begin_on_listener
    RECEIVER=$SERVE_PID
    status=0
    wait "$SEND_PID" || status=$?
    kill -CONT "$SERVE_PID"
    stderr=$(cat send.err)
    assert_status 4
    [ ! -e dst/big ] || fail_with 'dst/big exists'
}

@test "a receiver that is killed leaves the old file as it was" {
    random_file src/big 64M
    printf old >dst/big
    begin_slowly src/big
    kill -KILL "$RECEIVER"
    status=0
    wait "$SEND_PID" || status=$?
    stderr=$(cat send.err)
    assert_status 4
    assert_equal "$(cat dst/big)" old
}

@test "usage errors end with status 2" {
    push
    assert_status 2
    push src
    assert_status 2
    push src dst
    assert_status 2
    assert_stderr_has 'no colon in "dst": write dst: for its served directory'
    push src me@dst
    assert_status 2
    assert_stderr_has 'no colon in "me@dst": write me@dst: for its home directory'
    push --ssh src dst
    assert_status 2
    assert_stderr_has 'no colon in "dst": write dst: for its home directory'
    push host:a .
    assert_status 2
    assert_stderr_has 'the source is remote; to fetch, use ddp-recv host:a .'
    run_here ddp-send host:a host:b .
    assert_status 2
    assert_stderr_has 'the source is remote; to fetch, use ddp-recv host:a .'
    : >f
    run_here ddp-send f host: .
    assert_status 2
    assert_stderr_has '".": one argument too many after the target "host:"'
    run_here ddp-send host: f
    assert_status 2
    assert_stderr_has '"host:": the host comes last; expected ddp-send f host:'
    push host:a host:b
    assert_status 2
    push - - 127.0.0.1:x
    assert_status 2
    push -m fast src/a 127.0.0.1:
    assert_status 2
    push --once src/a 127.0.0.1:
    assert_status 2
    run_here ddp-send --listen
    assert_status 2
    run_here ddp-send --listen -m read src
    assert_status 2
    push ::1:x
    assert_status 2
}

@test "usage errors are an error event with --json, before or after it" {
    push --json src dst
    assert_status 2
    assert_stderr_has 'no colon in "dst"'
    assert_jsonl '[.[] | [.event, .tool, .error, .text, .exit_status]] | tostring' \
        '[["error","ddp-send","INVAL","no colon in \"dst\": write dst: for its served directory",2]]'
    push --bogus --json src dst
    assert_status 2
    assert_jsonl '[.[] | .text] | tostring' '["unrecognized option '"'--bogus'"'"]'
    push --bogus src dst
    [ -z "$output" ] || fail_with "output without --json: $output"
}

@test "-h lists the options in every tool" {
    local tool

    for tool in ddp-send ddp-recv ddp-bench ddp-dump ddp-xdp mpa-probe sctp-ddp-ping stag-reg; do
        run_here "$tool" -h
        assert_status 0
        assert_output_has "Usage: $tool"
    done
}

@test "a missing UDP listener is named with its ports and what to start" {
    printf 1 >src/a
    push -t udp --udp-port 1 src/a 127.0.0.1:
    assert_status 4
    assert_stderr_is "ddp-send: connect to 127.0.0.1:$PORT, UDP port 1: unreachable; is a listener with -t udp running there, and does it have --udp-port 1? (RFC 9260)"
}

@test "a listener with another profile is named, with both indications" {
    local port

    printf 1 >src/a
    port=$(free_port)
    listen -t udp --udp-port "$port"
    push -t udp --udp-port "$port" --profile sctp-draft-02 src/a 127.0.0.1:
    assert_status 1
    assert_stderr_is "ddp-send: connect to 127.0.0.1:$PORT, UDP port $port: the peer aborted the association: its adaptation indication is 0x00000001, this end has 0x00000002; use the same --profile at both ends (RFC 5043 11.1)"
}

@test "a port that never answers, and one that closes, are told from a listener" {
    require_tool python3
    printf 1 >src/a
    serve_here python3 -c 'import socket, sys
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
kept = []
while True:
    c = s.accept()[0]
    if c.recv(1000)[16:18] and len(kept) < 1:
        kept.append(c)
    else:
        c.close()' "$PORT"
    push --timeout 1500ms --redial 0 src/a 127.0.0.1:
    assert_status 4
    assert_stderr_is "ddp-send: connect to 127.0.0.1:$PORT: no answer to the MPA Request within 1.5 s; another program may use that port: give the iWARP listener's port with -p (RFC 5044 7.1.2)"
    push --redial 0 src/a 127.0.0.1:
    assert_status 4
    assert_stderr_is "ddp-send: connect to 127.0.0.1:$PORT: the peer closed the connection before it answered the MPA Request; is the port (-p) that of an iWARP listener? (RFC 5044 8)"
}

@test "--rev 2 and a listener with --rev 1: the message says which to change" {
    local port

    printf 1 >src/a
    listen --rev 1
    push --rev 2 src/a 127.0.0.1:
    assert_status 4
    assert_stderr_has "ddp-send: connect to 127.0.0.1:$PORT: the peer closed the connection before it answered the MPA Request of revision 2: use --rev 1 if the peer has it; is the port (-p) that of an iWARP listener? (RFC 5044 "
    push --rev 1 src/a 127.0.0.1:
    assert_status 0
    serve_end
    port=$(free_port)
    listen --rev 1 -t udp --udp-port "$port"
    push --rev 2 -t udp --udp-port "$port" src/a 127.0.0.1:
    assert_status 1
    assert_stderr_has 'with Terminate: use --rev 1 if the peer has it; otherwise it has no room for the session'
}

@test "a missing listener and one of another program are reported in a sentence" {
    printf 1 >src/a
    push src/a 127.0.0.1:
    assert_status 4
    assert_stderr_has "127.0.0.1 port $PORT: connection refused; is a listener with -t tcp running on this machine?"
    listen
    push src/a 127.0.1.1:
    assert_status 4
    assert_stderr_has "127.0.1.1 port $PORT: connection refused; is a listener with -t tcp and --bind for this address running on this machine?"
    serve_end
    serve_here ddp-send --listen -p "$PORT" src
    push src/a 127.0.0.1:
    assert_status 1
    assert_stderr_has "the listener is a ddp-send, which sends files; to store files on its host, start \`ddp-recv DIR\` there"
    serve_end
    serve_here ddp-recv -p "$PORT" dst
    run_here ddp-recv -p "$PORT" 127.0.0.1:a src
    assert_status 1
    assert_stderr_has "the listener is a ddp-recv, which receives files; to fetch files from its host, start \`ddp-send --listen DIR\` there"
    serve_end
    listen --crc required
    push --crc off src/a 127.0.0.1:
    assert_status 0
}

@test "--json reports events as objects that begin with schema and event" {
    printf 123 >src/a
    listen
    push --json src/a src/none 127.0.0.1:
    assert_status 1
    assert_jsonl 'map(keys_unsorted[0:2] == ["schema", "event"]) | all' true
    assert_jsonl '.[] | select(.event=="file" and .name=="a") | [.outcome, .size_octets]' '["done",3]'
    assert_jsonl '.[] | select(.event=="file" and .name=="none") | [.outcome, .code, .told_by_peer]' '["failed","NOENT",false]'
    assert_jsonl '.[] | select(.event=="file" and .name=="none") | has("size_octets")' false
    assert_jsonl '.[] | select(.event=="result") | [.role, .mode, .digest, .complete, .files_done, .files_failed, .moved_octets]' \
        '["source","write","xxh3",true,1,1,3]'
    PORT=1
    push --json src/a 127.0.0.1:
    assert_status 4
    assert_jsonl '.[] | select(.event=="error") | .exit_status' 4
}

@test "over IPv6" {
    require_ipv6
    random_file src/f 2M
    serve_here ddp-recv -p "$PORT" --bind ::1 dst
    push src/f '[::1]:'
    assert_status 0
    assert_same_file src/f dst/f
}

@test "every protocol event is in the trace" {
    printf 1 >src/a
    listen
    push --trace trace.jsonl src/a 127.0.0.1:
    assert_status 0
    output=$(cat trace.jsonl)
    assert_jsonl 'length > 5' true
}

@test "progress covers the transfer and the current file, as objects and on a terminal" {
    mkdir src/t
    random_file src/t/a 30M
    random_file src/t/b 30M
    listen
    push --json --bwlimit 200M src/t 127.0.0.1:
    assert_status 0
    assert_jsonl '[.[] | select(.event=="progress" and .file_total_octets==31457280 and (.name=="t/a" or .name=="t/b")
        and .file_done_octets <= 31457280 and .done_octets <= .total_octets and .bits_per_second > 0)] | length > 0' true
    assert_jsonl '[.[] | select(.event=="progress" and .left_ns > 0 and .file_left_ns > 0 and .left_ns >= .file_left_ns)] | length > 0' true
    command -v script >/dev/null || return 0
    rm -r dst/t
    run_here script -qec "stty cols 100; ddp-send -p $PORT --bwlimit 200M src/t 127.0.0.1:" /dev/null
    assert_status 0
    grep -aqE 't/[ab] [0-9]+% 0:0[0-9]  +[0-9]+%  [0-9.]+ MiB of 60.0 MiB .* left' <<<"$output" || fail_with 'no line with both'
}

@test "a peer that speaks HTTP is named, with its address and its answer" {
    python3 -c '
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print(s.getsockname()[1], flush=True)
s.settimeout(20)
c = s.accept()[0]
c.sendall(b"H")
try:
    c.recv(1)
except OSError:
    pass
' >port &
    local server=$!
    wait_until 10 test -s port
    echo octets >f
    run_here ddp-send -p "$(<port)" f 127.0.0.1:
    wait $server
    assert_status 1
    assert_stderr_has "connect to 127.0.0.1:$(<port): not an iWARP listener: an HTTP server answers like this; give the listener's port with -p"
}

@test "an echo service is not taken for an initiator" {
    IW_READY=ready serve_here python3 -u -c "
import socket
s = socket.create_server(('127.0.0.1', $PORT))
print('ready')
while True:
    c = s.accept()[0]
    c.sendall(c.recv(65536))
"
    echo octets >f
    push f 127.0.0.1:
    assert_status 1
    assert_stderr_has "connect to 127.0.0.1:$PORT: mpa: got an MPA Request, expected a Reply: both ends are initiators, or an echo service is there; give the listener's port with -p"
}

@test "a stream has its name at the target in the file event, and a result the octets of all connections" {
    local i

    random_file src/in 100000
    serve_here ddp-recv --json -p "$PORT" dst
    IW_STDIN=src/in run_here ddp-send --json -p "$PORT" - 127.0.0.1:stream.out
    assert_status 0
    assert_jsonl '[.[]|select(.event=="file")|[.name,.kind,.outcome]]' '[["stream.out","stream","done"]]'
    mkdir src/many
    for i in 1 2 3 4 5 6 7 8; do random_file src/many/$i 2M; done
    run_here ddp-send --json -j 4 -p "$PORT" src/many 127.0.0.1:
    assert_status 0
    assert_jsonl '[.[]|select(.event=="result")][0]|.connections, .moved_octets, .tx_octets > 16777216' $'4\n16777216\ntrue'
    serve_end
    assert_jsonl '[.[]|select(.event=="file" and .kind=="stream")|.name]' '["stream.out"]'
    assert_jsonl '[.[]|select(.event=="result")]|last|.rx_octets > 16777216' true
}
