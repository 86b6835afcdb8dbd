# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Every .bats file loads this file first. It runs the tools, checks their output, and runs servers
# that end with the test.
#
#   run_here CMD...          runs a command under a time limit; sets $status, $output (standard
#                            output), $stderr
#   serve_here CMD...        starts a server and waits until it listens; $SERVED is its number,
#                            $SERVE_PID its process
#   serve_end [N] [SIGNAL]   ends a server; sets $status, $output, $stderr
#   wait_served [N]          waits until a server ends by itself; sets the same
#   assert_...               fail, and show command, status and output
#   wait_until SECONDS CMD...   polls a condition: no test sleeps for a guessed time
#   require_...              skip the test, with a reason for IW_MUST_RUN
#
# bats 1.8 fails a file whose setup_file skips. So setup_file calls `file_requires require_... || return 0`, and
# setup calls skip_with_file, which skips each test for the same reason.
#
# net.bash adds a pair of network namespaces, and functions that run there: run_in left CMD...,
# serve_in right CMD...

bats_require_minimum_version 1.7.0

IW_TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
: "${IW_BUILD:=$IW_TOP/build}"
: "${IW_TIMEOUT:=30}"       # for one command, in seconds
: "${IW_SERVE_TIMEOUT:=150}" # for one server, in seconds
: "${IW_TIME_FACTOR:=1}"    # multiplies both limits
export IW_TOP IW_BUILD
IW_RUNS=0 # commands that this shell has run
# The PATH of an ordinary user may lack the folder of ethtool and similar tools.
PATH=$IW_BUILD:$PATH:/usr/sbin:/sbin
# argp and the tools format text by these variables. The tests need one fixed format.
export LC_ALL=C.UTF-8 COLUMNS=100
unset ARGP_HELP_FMT
# A killed server leaves its control socket; this directory is removed with the tests.
export XDG_RUNTIME_DIR=${BATS_FILE_TMPDIR:-${BATS_RUN_TMPDIR:-/tmp}}
# Not the configuration of the user who runs the tests.
export XDG_CONFIG_HOME=$XDG_RUNTIME_DIR/config

# --- conditions ----------------------------------------------------------------------------------------------------------

file_requires() {
    # shellcheck disable=SC2317
    FILE_SKIPS=$(
        exec 4>&1 >&2
        skip() { echo "$1" >&4 && exit 0; }
        "$@"
    )
    export FILE_SKIPS
    [ -z "$FILE_SKIPS" ]
}

skip_with_file() {
    [ -z "${FILE_SKIPS:-}" ] || skip "$FILE_SKIPS"
}

# A build with OpenSSL, and the command openssl.
require_openssl() {
    local why rc=0

    require_tool openssl
    why=$(XDG_CONFIG_HOME="$(mktemp -d "$XDG_RUNTIME_DIR/probe.XXXXXX")" ddp-recv --show-key 2>&1) || rc=$?
    [ $rc -ne 3 ] || skip "needs openssl: ${why##*: }"
    assert_equal $rc 0 "$why"
}

require_root() {
    [ "$(id -u)" -eq 0 ] || skip "needs root: run as uid $(id -u)"
}

require_tool() {
    local tool

    for tool in "$@"; do
        command -v "$tool" >/dev/null || skip "needs $tool: it is not installed"
    done
}

require_localhost() {
    getent hosts localhost >/dev/null || skip 'needs localhost: the name does not resolve'
}

require_ipv6() {
    [ -e /proc/net/if_inet6 ] || skip 'needs ipv6: this kernel has none'
}

require_raw() {
    local caps

    caps=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
    (((0x$caps >> 13) & 1)) || skip 'needs raw: no CAP_NET_RAW'
}

# require_transport xdp: skips the test, with the tool's own reason, if xdp cannot run here
require_transport() {
    local why rc=0

    why=$(timeout 10 "$IW_BUILD/ddp-recv" -t "$1" --once -p 0 "$BATS_TEST_TMPDIR" 2>&1 >/dev/null </dev/null 3>&-) || rc=$?
    [ $rc -ne 3 ] || skip "needs $1: ${why##*: }"
}

# --- one command -----------------------------------------------------------------------------------------------------------

# Like run of BATS, with three differences: standard error is separate, standard input is empty
# unless $IW_STDIN names a file, and the command has a time limit.
run_here() {
    iw_run '' "$@"
}

# iw_run PREFIX CMD...: PREFIX is a command that enters a namespace, in words without spaces, or ''
iw_run() {
    local prefix=$1 out err
    shift

    # Tests run thousands of commands: mktemp and tr would take a process each.
    out=$BATS_TEST_TMPDIR/out.$BASHPID.$((IW_RUNS += 1))
    err=$BATS_TEST_TMPDIR/err.$BASHPID.$IW_RUNS
    json_note "$out" "$@"
    status=0
    COMMAND="${prefix:+$prefix }$*"
    # In the background, because only then the shell handles Ctrl-C at once.
    # shellcheck disable=SC2086
    setpriv --pdeathsig TERM timeout -k 5 $((IW_TIMEOUT * IW_TIME_FACTOR)) $prefix "$@" <"${IW_STDIN:-/dev/null}" >"$out" 2>"$err" 3>&- &
    wait $! 2>/dev/null || status=$?
    read_texts "$out" "$err"
    [ $status -ne 124 ] || stderr="$stderr"$'\n'"(ended after $((IW_TIMEOUT * IW_TIME_FACTOR)) s)"
}

# read_texts OUT ERR: sets $output and $stderr. A variable cannot hold NUL octets: bash drops them
# with a warning. Tests compare binary output as a file, $OUTPUT_FILE.
read_texts() {
    { output=$(<"$1") stderr=$(<"$2"); } 2>/dev/null
    OUTPUT_FILE=$1
}

# --- the schema of JSON lines ------------------------------------------------------------------------------------------------

# json_note FILE CMD...: if CMD is a tool with --json, its lines are in FILE. At the end of the
# test, all lines and the files of --trace are compared with iwarp-json(5).
json_note() {
    local file=$1 tool='' arg before=''
    shift

    [ -n "${BATS_TEST_TMPDIR:-}" ] || return 0
    for arg in "$@"; do
        case $tool:$arg in
            :*ddp-send | :*ddp-recv | :*ddp-bench | :*ddp-dump | :*ddp-impair | :*ddp-xdp | :*mpa-probe | :*sctp-ddp-ping | :*stag-reg)
                tool=${arg##*/}
                ;;
            :measure) tool=fabric ;;
            :*) ;;
            *:--json)
                printf '%s\n' "$tool" "$file" >>"$BATS_TEST_TMPDIR/json.list"
                JSON_NOTED=$file
                ;;
            *:--trace=*) printf '%s\n' trace "$(realpath -m "${arg#*=}")" >>"$BATS_TEST_TMPDIR/json.list" ;;
            *) [ "$before" != --trace ] || printf '%s\n' trace "$(realpath -m "$arg")" >>"$BATS_TEST_TMPDIR/json.list" ;;
        esac
        before=$arg
    done
}

check_json() {
    local list=$BATS_TEST_TMPDIR/json.list tool file args=()

    [ -e "$list" ] && command -v python3 >/dev/null || return 0
    while read -r tool && read -r file; do
        [ ! -f "$file" ] || args+=("$tool" "$file")
    done <"$list"
    [ ${#args[@]} -eq 0 ] || python3 -S -E "$IW_TOP/tests/bats/json_schema.py" lines "${args[@]}"
}

# --- servers -----------------------------------------------------------------------------------------------------------------

# A server always ends with the test: by teardown, by its time limit, or by SIGTERM from the kernel
# when the test's process dies (Ctrl-C, kill -9).
serve_here() {
    iw_serve '' "$@"
}

iw_serve() {
    local prefix=$1 n wrapper
    shift

    n=$((${SERVED:-0} + 1))
    SERVED=$n
    SERVE_COMMAND[n]="${prefix:+$prefix }$*"
    SERVE_CONTROL[n]=$(iw_control_of "$@")
    json_note "$BATS_TEST_TMPDIR/serve.$n.out" "$@"
    # shellcheck disable=SC2086
    setpriv --pdeathsig TERM timeout -k 5 $((IW_SERVE_TIMEOUT * IW_TIME_FACTOR)) $prefix "$@" \
        <"${IW_STDIN:-/dev/null}" >"$BATS_TEST_TMPDIR/serve.$n.out" 2>"$BATS_TEST_TMPDIR/serve.$n.err" 3>&- &
    wrapper=$!
    SERVE_WRAPPER[n]=$wrapper
    SERVE_ENDED[n]=
    wait_until 5 iw_started "$wrapper" || fail_with "server does not start: ${SERVE_COMMAND[n]}"
    # Tests use it to stop or kill the server.
    # shellcheck disable=SC2034
    SERVE_PID=$(iw_served_pid "$wrapper") || SERVE_PID=''
    if ! wait_until "${IW_READY_TIMEOUT:-15}" iw_serve_ready "$n" "$prefix"; then
        fail_with "server does not listen: ${SERVE_COMMAND[n]}" "$(iw_served_said "$n")"
    fi
    if ! kill -0 "$wrapper" 2>/dev/null && [ -z "${IW_MAY_END:-}" ]; then
        fail_with "server ended at once: ${SERVE_COMMAND[n]}" "$(iw_served_said "$n")"
    fi
}

# The process of the command, a child of timeout. setpriv, nsenter and env exec the command.
iw_served_pid() {
    local list=/proc/$1/task/$1/children pid=''

    # Some kernels lack this list (CONFIG_PROC_CHILDREN). pgrep is slower: it reads all of /proc.
    if [ -e "$list" ]; then
        # The list does not end with a newline, so read returns 1 even if it has read a process id.
        { read -r pid _ || [ -n "$pid" ]; } 2>/dev/null <"$list" && echo "$pid"
    else
        pgrep -P "$1"
    fi
}

iw_started() {
    iw_served_pid "$1" || iw_gone "$1"
}

# The path after --control; nothing without it, or if it is "none".
iw_control_of() {
    while [ $# -gt 1 ]; do
        if [ "$1" = --control ] && [ "$2" != none ]; then echo "$2"; fi
        shift
    done
}

# The server is ready if it has bound a socket to a port and created its control socket, if it has
# one, or if it has ended. If $IW_READY is set, it is ready when a line of its output matches it.
iw_serve_ready() {
    local n=$1 prefix=$2 wrapper=${SERVE_WRAPPER[$1]} pid

    kill -0 "$wrapper" 2>/dev/null || return 0
    if [ -n "${IW_READY:-}" ]; then
        grep -qE -- "$IW_READY" "$BATS_TEST_TMPDIR/serve.$n.out" "$BATS_TEST_TMPDIR/serve.$n.err"
        return
    fi
    pid=$(iw_served_pid "$wrapper") || return 1
    [ -z "${SERVE_CONTROL[n]}" ] || [ -S "${SERVE_CONTROL[n]}" ] || return 1
    # shellcheck disable=SC2086
    $prefix ss -Hnlptuwx 2>/dev/null | grep -v '^u_str.*ESTAB' | grep -q "pid=$pid,"
}

iw_served_said() {
    local n=$1

    echo "standard output:"
    head -c 4000 "$BATS_TEST_TMPDIR/serve.$n.out" | tr -d '\0'
    echo "standard error:"
    head -c 4000 "$BATS_TEST_TMPDIR/serve.$n.err" | tr -d '\0'
}

# Waits until server N (default: the last one) has ended by itself.
wait_served() {
    local n=${1:-$SERVED}

    if ! wait_until $((IW_TIMEOUT * IW_TIME_FACTOR)) iw_gone "${SERVE_WRAPPER[n]}"; then
        fail_with "server does not end: ${SERVE_COMMAND[n]}" "$(iw_served_said "$n")"
    fi
    iw_collect "$n"
}

# serve_end [N] [SIGNAL]: signals server N (default: the last one) and waits for its end.
serve_end() {
    local n=${1:-$SERVED} signal=${2:-TERM} pid

    # The server may have ended by itself.
    if pid=$(iw_served_pid "${SERVE_WRAPPER[n]}"); then kill -s "$signal" "$pid" 2>/dev/null || true; fi
    wait_served "$n"
}

iw_gone() {
    ! kill -0 "$1" 2>/dev/null
}

iw_collect() {
    local n=$1

    status=0
    wait "${SERVE_WRAPPER[n]}" || status=$?
    SERVE_ENDED[n]=yes
    COMMAND=${SERVE_COMMAND[n]}
    read_texts "$BATS_TEST_TMPDIR/serve.$n.out" "$BATS_TEST_TMPDIR/serve.$n.err"
}

# timeout passes the signal on to its process group: the server and all processes that it started.
end_servers() {
    local n

    for ((n = 1; n <= ${SERVED:-0}; n++)); do
        [ -z "${SERVE_ENDED[n]}" ] || continue
        kill -TERM "${SERVE_WRAPPER[n]}" 2>/dev/null || continue
        wait_until 6 iw_gone "${SERVE_WRAPPER[n]}" || kill -KILL "${SERVE_WRAPPER[n]}" 2>/dev/null || continue
    done
}

# A file with its own teardown must call helpers_teardown there.
helpers_teardown() {
    local n keep

    end_servers
    if [ -z "${BATS_TEST_COMPLETED:-}" ] && [ -z "${BATS_TEST_SKIPPED:-}" ]; then
        for ((n = 1; n <= ${SERVED:-0}; n++)); do
            echo "--- server $n: ${SERVE_COMMAND[n]}"
            iw_served_said "$n"
        done
        # Keep the captures and outputs of a failed test if they are small.
        keep=$IW_BUILD/test-logs/kept/$(basename "$BATS_TEST_FILENAME" .bats)-$BATS_TEST_NUMBER
        if [ "$(du -sm "$BATS_TEST_TMPDIR" 2>/dev/null | cut -f 1)" -le 64 ] && mkdir -p "$keep" 2>/dev/null; then
            cp -r "$BATS_TEST_TMPDIR/." "$keep" 2>/dev/null && echo "--- kept in $keep"
        fi
    fi
    # check_json is the last command: its status is that of the test.
    [ -z "${BATS_TEST_COMPLETED:-}" ] || check_json
}

teardown() {
    helpers_teardown
}

# --- waiting, ports, files ---------------------------------------------------------------------------------------------------

# wait_until SECONDS CMD...: returns 0 as soon as CMD succeeds, 1 after SECONDS
wait_until() {
    local end now delay seconds=$1 polls=0
    shift

    end=$((${EPOCHREALTIME/[.,]/} + seconds * 1000000))
    until "$@" >/dev/null 2>&1; do
        now=${EPOCHREALTIME/[.,]/}
        [ "$now" -lt "$end" ] || return 1
        # Polling takes processor time from other tests: after 25 polls, ten a second.
        delay=0.02
        [ $((polls += 1)) -le 25 ] || delay=0.1
        sleep $delay
    done
}

# Prints a port that has no listener and that this function did not print shortly before. The kernel
# does not assign these ports automatically. Each .bats file has its own range of ports: files run
# at the same time, and a port has no listener before its test starts one.
free_port() {
    local files=("$IW_TOP"/tests/{bats,interop}/*.bats) size file used port try

    size=$((12000 / ${#files[@]}))
    for file in "${!files[@]}"; do
        [ ! "${files[file]}" -ef "$BATS_TEST_FILENAME" ] || break
    done
    read -r used 2>/dev/null <"$BATS_FILE_TMPDIR/port" || used=$RANDOM
    for ((try = 0; try < size; try++)); do
        used=$(((used + 1) % size))
        port=$((20000 + file * size + used))
        if [ -z "$(ss -Hnltu "sport = :$port")" ]; then
            echo "$used" >"$BATS_FILE_TMPDIR/port"
            echo "$port"
            return
        fi
    done
    return 1
}

# random_file PATH SIZE: SIZE as for head -c (64K, 3M, 1)
random_file() {
    head -c "$2" /dev/urandom >"$1"
}

# --- assertions ----------------------------------------------------------------------------------------------------------------

# fail_with TEXT [MORE]: fails the test, and shows the last command and its output
fail_with() {
    {
        echo "$1"
        [ -z "${2:-}" ] || echo "$2"
        if [ -n "${COMMAND:-}" ]; then
            echo "command: $COMMAND"
            echo "status:  $status"
            echo "standard output:"
            head -c 6000 <<<"$output"
            echo "standard error:"
            head -c 6000 <<<"$stderr"
        fi
    } | tr -d '\000-\010\013-\037'
    return 1
}

assert_status() {
    [ "$status" -eq "$1" ] || fail_with "status $status, expected $1"
}

assert_output_has() {
    [[ $output == *"$1"* ]] || fail_with "standard output lacks: $1"
}

assert_output_lacks() {
    [[ $output != *"$1"* ]] || fail_with "standard output has: $1"
}

assert_output_is() {
    [ "$output" = "$1" ] || fail_with "standard output is not: $1"
}

assert_stderr_has() {
    [[ $stderr == *"$1"* ]] || fail_with "standard error lacks: $1"
}

assert_stderr_lacks() {
    [[ $stderr != *"$1"* ]] || fail_with "standard error has: $1"
}

assert_stderr_is() {
    [ "$stderr" = "$1" ] || fail_with "standard error is not: $1"
}

assert_same_file() {
    cmp "$1" "$2" || fail_with "files differ: $1 $2"
}

assert_equal() {
    [ "$1" = "$2" ] || fail_with "'$1' is not '$2'${3:+: $3}"
}

# assert_jsonl FILTER EXPECTED: each line of standard output must be JSON. jq reads all lines as one
# array and applies FILTER; the compact result must be EXPECTED.
assert_jsonl() {
    local got file

    [ -n "$output" ] || fail_with 'standard output is empty, expected JSON lines'
    # Also note the JSON lines of a tool that a shell has started.
    if [[ ${JSON_NOTED:-} != "${OUTPUT_FILE:-}" &&
        ${COMMAND:-} =~ (ddp-(send|recv|bench|dump|impair|xdp)|mpa-probe|sctp-ddp-ping|stag-reg).*' --json' ]]; then
        file=$(mktemp "$BATS_TEST_TMPDIR/json.XXXXXX")
        printf '%s\n' "$output" >"$file"
        printf '%s\n' any "$file" >>"$BATS_TEST_TMPDIR/json.list"
    fi
    got=$(jq -s -r -c "$1" <<<"$output" 2>&1) || fail_with "jq: $got"
    [ "$got" = "$2" ] || fail_with "jq '$1': '$got', expected '$2'"
}
