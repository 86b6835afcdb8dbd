#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Options that have no meaning for a transport or a mode are refused with the reason. --doctor of
# each tool.

# bats file_tags=beside

load helpers

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    touch f
}

# refused TEXT TOOL ARG...: a usage error whose message has the text
refused() {
    local text=$1

    shift
    run_here "$@"
    assert_status 2
    assert_stderr_has "$text"
}

@test "options of one transport are refused over the others, by every tool that connects" {
    local option value fits t

    while read -r option value fits; do
        for t in tcp udp raw sctp xdp; do
            case " $fits " in *" $t "*) continue ;; esac
            refused "$option: -t $t has no" ddp-send -t $t "$option" ${value:+$value} f 127.0.0.1:
            refused "$option: -t $t has no" ddp-recv -t $t "$option" ${value:+$value} 127.0.0.1:f g
            refused "$option: -t $t has no" ddp-bench -t $t "$option" ${value:+$value} 127.0.0.1 write
            refused "$option: -t $t has no" ddp-bench -t $t "$option" ${value:+$value} --listen
        done
    done <<'END'
--udp-port 9899 udp xdp
--require native xdp
--xdp generic xdp
--crc off tcp
--cc cubic tcp udp raw xdp
END
    for t in raw sctp; do
        refused '--udp-port: -t '"$t"' has no UDP port; use it with -t udp or xdp' sctp-ddp-ping -t $t --udp-port 9 127.0.0.1
    done
    refused '--require: -t udp has no XDP program' sctp-ddp-ping -t udp --require native 127.0.0.1
    refused '--xdp: -t udp has no XDP program' sctp-ddp-ping -t udp --xdp copy 127.0.0.1
}

@test "options that would have no effect are refused" {
    refused '--depth 4: pingpong has one message outstanding' ddp-bench 127.0.0.1 pingpong --depth 4
    refused '--plot "x.png": pictures are SVG' ddp-bench 127.0.0.1 write --plot x.png
    refused '--cc reno: not known for -t udp; expected auto, bbr, cubic or rfc9260' ddp-bench 127.0.0.1 write -t udp --cc reno
    refused '--interface: does not apply to the test xdp, which makes no connection; leave it out' ddp-bench xdp -I v0
    refused '--bind: does not apply to the test xdp' ddp-bench xdp -b 127.0.0.1
    refused '--port: does not apply to the test xdp' ddp-bench xdp -p 1
    refused '--port: does not apply to the test xdp' ddp-bench xdp -p 7471
    refused '--timeout: does not apply to the test stag, which makes no connection; leave it out' ddp-bench stag --timeout 3
    refused '--crc: does not apply to the test stag, which makes no connection; leave it out' ddp-bench stag --crc off
    refused '--listen: does not apply to the test stag, which makes no connection; leave it out' ddp-bench stag --listen
    refused '--count: does not apply to the test stag; it has no options of its own' ddp-bench stag -n 5
    refused '--rtr: Rev 1 has no RTR forms; use --rev 2' mpa-probe --rev 1 --rtr read 127.0.0.1
    refused '--peer-to-peer: Rev 1 has no RTR forms; use --rev 2' mpa-probe --rev 1 --peer-to-peer 127.0.0.1
    refused '--exclude "[": a [ without its ]' ddp-send --exclude '[' f 127.0.0.1:
    refused '--include "": an empty pattern matches no name' ddp-recv --include '' 127.0.0.1:f g
}

@test "an option without its value does not take the next option" {
    mkdir d
    refused "--exclude needs a value, PATTERN; \`-n\` is an option (write --exclude=-n if that is meant)" ddp-send --exclude -n d 127.0.0.1:
    refused "--excl needs a value, PATTERN; \`--dry-run\` is an option" ddp-send --excl --dry-run d 127.0.0.1:
    refused "--trace needs a value, FILE; \`--json\` is an option (write --trace=--json if that is meant)" ddp-send --trace --json d 127.0.0.1:
    refused "-b needs a value, ADDR; \`-nv\` is an option" ddp-send -vb -nv d 127.0.0.1:
    refused "-I needs a value, NAME; \`--mode=read\` is an option" ddp-recv -I --mode=read 127.0.0.1:d .
    refused "--control needs a value, PATH; \`--help\` is an option" ddp-recv --control --help d
    refused "--include needs a value, PATTERN; \`--\` is an option" ddp-recv --include -- 127.0.0.1:d .
    refused "--private-data needs a value, DATA; \`-l\` is an option" mpa-probe --private-data -l
    refused "-b needs a value, ADDR; \`-l\` is an option" sctp-ddp-ping -b -l
    refused "-b needs a value, ADDR; \`-l\` is an option" ddp-bench -b -l
    refused "-w needs a value, FILE; \`-I\` is an option" ddp-dump -w -I lo
    refused "--control needs a value, PATH; \`--json\` is an option" stag-reg list --control --json
    refused "-c needs a value, COUNT; \`-a\` is an option" mpa-probe -c -a 127.0.0.1 -v
    refused '--all: only for probing; leave it out, or --app rping' mpa-probe --app rping -a 127.0.0.1 -c 5
    refused '-C 5: the number of rounds of --app rping is given with -c' mpa-probe --app rping 127.0.0.1 -C 5
    refused '-P 4: the number of connections is given with -j' ddp-bench 127.0.0.1 write -P 4
    refused '-i 1: the time between results is given with --interval' ddp-bench 127.0.0.1 write -i 1
    refused "--timeout needs a value, TIME; \`-q\` is an option" stag-reg --timeout -q list
    [ -z "$(find . -name '-*')" ] || fail_with "a file is named after an option: $(ls)"
    # An argument that is not an option, that is joined to its option, or that follows -- or a
    # command is used as it is.
    refused 'no target after the source' ddp-send --exclude -0 --exclude=-n --trace=--json -- d
    refused 'no source before the target' ddp-send -- 127.0.0.1:
    refused "expected options only" stag-reg list -- --timeout -q
    refused '--bind "127.0.0.1:d": not an address of this machine' ddp-recv -b 127.0.0.1:d .
    refused '--interface "127.0.0.1:": not an interface name' ddp-send d -I 127.0.0.1:
    refused 'no source before the target, because "d" is the value of --bind' ddp-send -b d 127.0.0.1:
    refused 'no source before the target, because "f" is the value of --interface' ddp-send -I f 127.0.0.1:
}

@test "an option of a transfer that would have no effect is refused" {
    mkdir d
    refused '--yes: a listener does not ask: leave it out' ddp-recv --delete --yes d
    refused '-: --delete has no effect on a stream: leave it out' ddp-recv --delete -
    refused '-: --delete has no effect on a stream: leave it out' ddp-recv --delete 127.0.0.1:f -
    refused '-: --checksum has no effect on a stream: leave it out' ddp-send --checksum - 127.0.0.1:f
    refused '-: --checksum has no effect on a stream: leave it out' ddp-recv -c 127.0.0.1:f -
    refused '-: --redial has no effect on a stream: leave it out' ddp-recv --redial 5 127.0.0.1:f -
    refused '-: --redial has no effect on a stream: leave it out' ddp-send --redial 5 - 127.0.0.1:f
    for option in --delete --no-clobber --force --verify --owner --xattr; do
        refused "$option is set by the connecting side, not by a listener" ddp-send --listen $option d
    done
    refused "--include \"*.c\": no effect without --exclude" ddp-send --include '*.c' d 127.0.0.1:
    refused "--include \"*.c\": no effect without --exclude" ddp-recv --include '*.c' 127.0.0.1:d .
    refused '--exclude "f" applies to names in a directory: "f" is not a directory' ddp-send --exclude f f 127.0.0.1:
    refused '--force replaces what exists, and --no-clobber keeps it' ddp-send --no-clobber --force f 127.0.0.1:
    refused '--force sends every file, so --checksum has no effect' ddp-recv --force -c 127.0.0.1:f .
    refused '--verify needs a digest: remove --digest none' ddp-send --verify --digest none f 127.0.0.1:
    refused '--bind "*": every address is for a listener' ddp-send -b '*' f 127.0.0.1:
    refused '--bind "*": every address is for a listener' ddp-recv -b '*' 127.0.0.1:f .
}

@test "the last one of -v and -q applies" {
    local port

    port=$(free_port)
    serve_here ddp-recv -p "$port" .
    run_here ddp-send -p "$port" -q -v --force f 127.0.0.1:g
    assert_status 0
    assert_output_has '127.0.0.1'
    run_here ddp-send -p "$port" -v -q --force f 127.0.0.1:g
    assert_status 0
    assert_output_is ''
    assert_stderr_is ''
}

@test "stag-reg: an option at the wrong place names its command" {
    local command

    for command in '' list watch revoke; do
        # shellcheck disable=SC2086 # No argument if it is empty.
        refused "--size: an option of \`stag-reg add\`" stag-reg $command --size 5
        # shellcheck disable=SC2086
        refused "--uri: an option of \`stag-reg add\` and \`stag-reg show\`" stag-reg $command --uri
    done
    refused "--no-key: an option of \`stag-reg add\`" stag-reg show --no-key 0000beef
    refused "--count: an option of \`stag-reg watch\`" stag-reg list -c 2
    refused "--all: an option of \`stag-reg revoke\`" stag-reg list --all
    refused "--control: it follows the command, as in \`stag-reg list --control PATH\`" stag-reg --control /x list
    refused '--range is for files, not for --size' stag-reg add --size 5 --range 0:1
    refused '--json, --shell and --uri: use only one of them' stag-reg add --uri --shell f
    refused '--json, --shell and --uri: use only one of them' stag-reg show --shell --uri 0000beef
    run_here stag-reg add --uri --uri --control /x/nosuch f
    assert_status 4
}

@test "arguments that are probably mistakes are named with the reason" {
    local port

    refused '"y": one argument too many after the target "127.0.0.1:x"' ddp-send f 127.0.0.1:x y
    refused '--require-digest no: the value follows =: --require-digest=no' ddp-recv --require-digest no .
    refused '"[fe80::1%eth99]:": no interface eth99 here' ddp-send f '[fe80::1%eth99]:'
    refused '"[127.0.0.1:x": the ] after the address is missing' ddp-send f '[127.0.0.1:x'
    refused 'the URI of a registered buffer; expected HOST:[PATH]' ddp-send f ddp+tcp://127.0.0.1:7471/stag/0000beef
    refused "use \`ddp-send --to URI\` to write to it" ddp-recv ddp+tcp://127.0.0.1:7471/stag/0000beef .
    port=$(free_port)
    mkdir d
    serve_here ddp-recv -p "$port" d
    run_here ddp-send f 127.0.0.9:7472
    assert_status 4
    assert_stderr_has '"7472" is taken as the name of the target; a port is given with -p 7472'
    run_here ddp-send -q f 127.0.0.9:7472
    assert_stderr_lacks 'is taken as'
    run_here ddp-send -p "$port" f 127.0.0.1:7472
    assert_status 0
    assert_stderr_is ''
    run_here ddp-recv 127.0.0.9:7472 .
    assert_stderr_has '"7472" is taken as the name of the source; a port is given with -p 7472'
    run_here ddp-send f 127.0.0.9:7472/d
    assert_stderr_has '"7472/d" is taken as the name of the target; a port is given with -p 7472'
    run_here ddp-send f '127.0.0.9:~/f'
    assert_status 4
    assert_stderr_has '"~/f": ~ is not a home directory here; paths are relative to the directory that the listener serves'
}

@test "an option of the other side is refused by its name" {
    refused '--memory: only for a server; add --listen' ddp-bench --memory 1M 127.0.0.1 write
    refused '--depth: the client chooses what is measured' ddp-bench --listen --depth 2
    refused '--size "1K,": nothing before or after a comma; expected sizes such as 64,4K-64K,1M' ddp-bench 127.0.0.1 write -s 1K,
    refused '--size: does not apply to the test xdp' ddp-bench xdp -s 1
    refused '--count 50: expected 1 to 5 for the test xdp' ddp-bench xdp -n 50
    refused 'an interface name has at most 15 characters' ddp-bench xdp --between abcdefghijklmnopq,b
    refused '"more": one argument too many; expected HOST and MODE only' ddp-bench 127.0.0.1 write more
    refused '"write" is a mode, and the host comes first: ddp-bench HOST write' ddp-bench write 127.0.0.1
    refused '"127.0.0.1": the test stag has no host; leave it out' ddp-bench stag 127.0.0.1
    for t in mpa-probe sctp-ddp-ping; do
        refused '"7471": expected one host; give the port with -p 7471' $t localhost 7471
        refused '"two": a second host after "one"; expected one' $t one two
    done
    refused '"7471": expected HOST and MODE only; give the port with -p 7471' ddp-bench localhost write 7471
    refused "--interval: an option of \`ddp-xdp status\`" ddp-xdp attach -I lo --interval 1s
    refused "--mode: an option of \`ddp-xdp attach\`" ddp-xdp status --mode native
    refused "--pin: an option of \`ddp-xdp attach\`" ddp-xdp status --pin=/x
    refused 'no STag given; expected one; stag-reg list shows them' stag-reg show
    refused '"9999": expected options only; give the port with -p 9999' stag-reg list 9999
    refused '"lo": expected options only; name an interface with -I lo' ddp-xdp status lo
    refused '"localhost:7471": expected a host without a port; give the port with -p 7471' mpa-probe localhost:7471
    refused '"127.0.0.1:7471": expected a host without a port; give the port with -p 7471' sctp-ddp-ping 127.0.0.1:7471
    refused '--bind names an address' ddp-bench --listen 127.0.0.1
    refused '--all: needs a host to probe; leave out --listen' mpa-probe --listen --all
    refused '--count: only for the connecting side; leave out --listen' mpa-probe --listen --app rping -c 1
    refused '--once: only for a listener; add --listen' mpa-probe --once 127.0.0.1
    refused '--transport "foo": unknown name; expected one of tcp' mpa-probe -t foo 127.0.0.1
    refused '--transport sctp: MPA needs tcp; for DDP over SCTP use sctp-ddp-ping' mpa-probe -t sctp 127.0.0.1
    refused '--transport tcp: expected sctp, raw, udp or xdp; for MPA over TCP use mpa-probe' sctp-ddp-ping -t tcp 127.0.0.1
    refused '--port "70000": too large; expected a port from 1 to 65535' mpa-probe -p 70000 127.0.0.1
    refused '--quirk: only for rping and for a listener; add --app rping or --listen' mpa-probe --quirk none 127.0.0.1
    refused '--markers: not with --all, which tries many Requests' mpa-probe --all --markers 127.0.0.1
    refused '--crc off: with --profile rdmac the CRC is always on' mpa-probe --profile rdmac --crc off 127.0.0.1
}

@test "lost output and closed descriptors are errors, with their cause" {
    [ -c /dev/full ] || skip 'needs devfull: there is no /dev/full'
    local port

    mkdir dst
    port=$(free_port)
    serve_here ddp-recv -p "$port" dst
    echo octets >file
    run_here bash -c 'ddp-send --help >/dev/full'
    assert_status 4
    assert_stderr_is 'ddp-send: standard output: no space left on device'
    run_here bash -c "ddp-send -p $port file 127.0.0.1: >/dev/full"
    assert_status 4
    assert_stderr_is 'ddp-send: standard output: no space left on device'
    run_here bash -c "ddp-send -p $port --force file 127.0.0.1: >&-"
    assert_status 4
    assert_stderr_is 'ddp-send: standard output: closed'
    run_here bash -c "ddp-send -p $port --force file 127.0.0.1: | true; exit \${PIPESTATUS[0]}"
    [ "$status" -eq 0 ] || assert_stderr_is 'ddp-send: standard output: broken pipe: the program that read it has ended'
    run_here bash -c "ddp-send -p $port - 127.0.0.1:empty <&-"
    assert_status 1
    assert_stderr_has 'read standard input: bad file descriptor'
    [ ! -e dst/empty ] || fail_with 'a closed standard input was sent as an empty file'
}

@test "a tool ends when the program that reads its output has ended" {
    local gone='standard output: broken pipe: the program that read it has ended' port tool udp

    port=$(free_port)
    udp=$(free_port)
    serve_here sctp-ddp-ping --listen -p "$port" --udp-port "$udp"
    run_here bash -c "sctp-ddp-ping -i 50ms -p $port --udp-port $udp 127.0.0.1 | head -n 3; exit \${PIPESTATUS[0]}"
    assert_status 4
    assert_stderr_is "sctp-ddp-ping: $gone"
    serve_here ddp-bench --listen -p "$port"
    run_here bash -c "ddp-bench --time 1h --interval 50ms -p $port 127.0.0.1 rate | head -n 1; exit \${PIPESTATUS[0]}"
    assert_status 4
    assert_stderr_is "ddp-bench: $gone"
    end_servers
    mkfifo pipe
    for tool in 'sctp-ddp-ping --listen' 'ddp-bench --listen' 'mpa-probe --listen' 'mpa-probe --listen --app rping'; do
        # The pipe has a writer and no reader.
        run_here bash -c "exec 3<>pipe 4>pipe 3<&-; exec $tool -p $port >&4 4>&-"
        assert_status 4
        assert_stderr_is "${tool%% *}: $gone"
    done
}

@test "options of rsync and scp: those for the default behaviour are accepted, others are refused with the reason" {
    local option port

    mkdir dst
    port=$(free_port)
    serve_here ddp-recv -p "$port" -a dst
    run_here ddp-send -aP -r --archive --recursive --partial --progress -p "$port" f 127.0.0.1:
    assert_status 0
    assert_same_file f dst/f
    for option in -z --compress -C; do
        refused 'contents are not compressed: leave it out; to compress a stream: tar cz' ddp-send $option f 127.0.0.1:
    done
    for option in '-e ssh' --rsh=ssh; do
        # shellcheck disable=SC2086 # Two arguments.
        refused '-e, --rsh: the command for ssh is --ssh=COMMAND' ddp-send $option f 127.0.0.1:
    done
    refused "-i: options of ssh belong to its command, as in --ssh='ssh -i FILE'" ddp-recv -i key 127.0.0.1:f g
    refused '-o: options of ssh belong to its command' ddp-send -o Port=1 f 127.0.0.1:
    refused '-H, --hard-links: hard links are always kept' ddp-send -aH f 127.0.0.1:
    refused 'patterns are not read from a file; give each one with --exclude' ddp-send --exclude-from=list f 127.0.0.1:
    refused 'patterns are not read from a file; give each one with --exclude' ddp-send --include-from list f 127.0.0.1:
    for option in --delete-before --delete-during --delete-after; do
        refused 'use --delete, which removes after all files are sent' ddp-send $option f 127.0.0.1:
    done
    refused '--size-only: files of the same size are compared by modification time' ddp-recv --size-only 127.0.0.1:f g
    refused '--ignore-existing: use --no-clobber' ddp-send --ignore-existing f 127.0.0.1:
    refused '-L, --copy-links: symbolic links are sent as links' ddp-recv -L 127.0.0.1:f dst
    refused '-A, --acls: use --owner --xattr' ddp-send -A f 127.0.0.1:
    refused '-X, --xattrs: use --xattr' ddp-send -X f 127.0.0.1:
    refused '-P 7471: the port is -p 7471' ddp-send -P 7471 f 127.0.0.1:
    refused '-P 7471: the port is -p 7471' ddp-recv -P 7471 127.0.0.1:f dst
    # A file of that name is sent.
    cp f 7471
    run_here ddp-send -p "$port" -P 7471 127.0.0.1:
    assert_status 0
}

@test "options of ping, iperf3 and tcpdump are refused with the option to use" {
    refused '-W 1: the time to wait for a reply is given with --timeout' sctp-ddp-ping -W 1 127.0.0.1
    refused '-w 5: a run is limited by the number of messages, with -c' sctp-ddp-ping -w 5 127.0.0.1
    refused '-4: leave it out, and give an IPv4 address instead of a name' sctp-ddp-ping -4 localhost
    refused '-6: leave it out, and give an IPv6 address instead of a name' sctp-ddp-ping -6 localhost
    refused '-c 127.0.0.1: a client is ddp-bench HOST MODE, a server ddp-bench --listen' ddp-bench -c 127.0.0.1
    refused '-t 5: -t names a transport; the length of the measurement is given with --time' ddp-bench 127.0.0.1 write -t 5
    refused '-R: use the mode read, in which the server sends: ddp-bench HOST read' ddp-bench 127.0.0.1 write -R
    refused '-u: the transport is given with -t: -t udp' ddp-bench 127.0.0.1 write -u
    refused '-n: addresses are never shown as names: leave it out' ddp-dump -n -i lo
    refused '-X: use -x, which shows the payload in hex and as text' ddp-dump -X -i lo
}

@test "--help of the transfer tools groups the options" {
    local tool

    for tool in ddp-send ddp-recv; do
        run_here $tool --help
        assert_equal "$(sed -n 's/^ \([A-Z].*:\)$/\1/p' <<<"$output" | grep -v Limits | paste -sd' ')" \
            'Which files: Owners and attributes: The transfer: Listeners: Registered buffers: For users of rsync and scp: The connection: Encryption: Start-up by ssh: Common options:'
        # No option precedes the first group.
        assert_equal "$(sed -n '1,/ Which files:/p' <<<"$output" | grep -c '^ *-')" 0
    done
}

@test "a tool has only the common options that it uses" {
    local tool absent option

    while read -r tool absent; do
        run_here "$tool" --help
        assert_status 0
        grep -q -e '--json ' <<<"$output" || fail_with "$tool --help lacks --json"
        for option in $absent; do
            ! grep -qE -e "${option}[ =]" <<<"$output" || fail_with "$tool --help shows $option"
            refused "unrecognized option '$option=1'" "$tool" "$option=1"
        done
    done <<'END'
ddp-dump --transport --port --bind --timeout --trace
ddp-xdp --transport --port --bind --timeout --trace
stag-reg --transport --bind --interface --trace
END
    run_here sctp-ddp-ping --help
    grep -q -e '--transport=NAME  *Transport: sctp, raw, udp or xdp' <<<"$output" || fail_with 'sctp-ddp-ping --help: other transports'
}

@test "--doctor of a tool checks what that tool needs" {
    local tool

    run_here ddp-dump --doctor --json
    assert_jsonl '[.[] | select(.subject == "live capture")] | length' 1
    assert_jsonl '[.[] | select(.subject | startswith("transport "))?] | length' 0
    assert_jsonl '.[-1] | [.can_run, has("transport")]' '[true,false]'
    run_here mpa-probe --doctor no.such.host.invalid
    assert_status 0
    assert_stderr_is 'mpa-probe: warning: --doctor examines only this machine; no.such.host.invalid was not contacted: leave out --doctor for that'
    run_here ddp-bench --doctor no.such.host.invalid write
    assert_stderr_has 'ddp-bench: warning: --doctor examines only this machine; no.such.host.invalid was not contacted'
    for tool in ddp-send ddp-recv ddp-bench mpa-probe sctp-ddp-ping; do
        run_here $tool --doctor --json
        assert_jsonl '[.[] | select(.subject == "encryption")] | length' 1
    done
    run_here ddp-impair --doctor --json
    assert_jsonl '[.[] | select(.subject == "encryption")] | length' 0
    run_here mpa-probe --doctor --json
    assert_jsonl '[.[] | select(.event == "check") | .subject | select(startswith("transport "))]' '["transport tcp"]'
    run_here sctp-ddp-ping --doctor --json
    assert_jsonl '[.[] | select(.event == "check") | .subject | select(. == "transport tcp")]' '[]'
    mkdir "$BATS_TEST_TMPDIR/empty"
    run_here env PATH="$BATS_TEST_TMPDIR/empty" "$(command -v ddp-bench)" --doctor --json
    assert_jsonl '[.[] | select(.subject == "--plot")][0] | [.verdict, (.seen | contains("install gnuplot"))]' '["no",true]'
}

@test "a listening ddp-recv refuses patterns, which the connecting side sets" {
    local option source='expected HOST:PATH... TARGET'

    mkdir in
    for option in --exclude --include; do
        refused "$option is set by the connecting side, not by a listener" ddp-recv "$option" f --delete in
        refused "\"in\": no source before the target, because \"127.0.0.1:f\" is the pattern of $option; $source" ddp-recv "$option" 127.0.0.1:f in
        refused "is the pattern of $option; $source" ddp-recv "$option" 127.0.0.1:f "$option" x in
    done
}
