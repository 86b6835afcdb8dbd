#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The repository itself: its parts agree with each other, and uninstall removes everything that
# install has created.

# bats file_tags=compiles,plain

load helpers

setup() {
    cd "$IW_TOP" || return 1
}

# Prints all files of the project, also in an unpacked tarball.
project_files() {
    if [ -e .git ]; then
        git -c safe.directory='*' ls-files
    else
        find . -path "./${IW_BUILD#"$IW_TOP/"}" -prune -o -type f -print | sed 's|^\./||'
    fi
}

tools() {
    local f

    grep -l '^int main(' cmd/*/*.c | while read -r f; do
        f=${f##*/}
        echo "${f%.c}"
    done
}

tool_help() {
    timeout 10 "$IW_BUILD/$1" "${@:2}" --help 2>/dev/null </dev/null 3>&-
}

# For a tool with commands, also prints the help of each command.
all_help() {
    local command

    tool_help "$1"
    for command in $(tool_help "$1" | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        tool_help "$1" "$command"
    done
}

# Prints the long options in `TOOL --help`: argp writes each on a line of its own, after at most a
# short one.
help_options() {
    all_help "$1" |
        grep -oE '^ {2,6}(-[A-Za-z0-9?](, | ))?(--[a-z0-9][a-z0-9-]*(\[?=[^ ,]*)?(, )?)+' | grep -oE -- '--[a-z0-9][a-z0-9-]*' | sort -u
}

# Prints the options that the page explains: the tags of its lists.
man_options() {
    awk '/^\.TP/ { tag = 2; next } tag > 0 { if ($0 !~ /^\.(PD|TQ)/) { print; tag = 0 } } /^\.TQ/ { tag = 2 }' "man/$1.1" |
        sed 's/\\-/-/g; s/\\f[BIR]//g' | grep -oE -- '--[a-z0-9][a-z0-9-]*' | sort -u
}

completion_options() {
    case $1 in
    bash) grep -oE -- '--[a-z0-9][a-z0-9-]*' "completions/bash/$2" ;;
    zsh) grep -oE -- '--[a-z0-9][a-z0-9-]*' "completions/zsh/_$2" ;;
    fish) grep -oE -- '(^|[[:space:]])(-l|--long-option)[ =][a-z0-9][a-z0-9-]*' "completions/fish/$2.fish" | sed -E 's/.*(-l|--long-option)[ =]/--/' ;;
    esac | sort -u
}

same_options() {
    local diff

    if ! diff=$(diff <(help_options "$1") <("$2" "${@:3}")); then
        echo "$1: --help (<) and $2 ${*:3} (>) differ:"
        echo "$diff"
        return 1
    fi
}

@test "no file names a path of a developer's machine or a package host" {
    local bad=0 f

    while IFS= read -r f; do
        case $f in
        *.pcap | *.pcapng | tests/fuzz/corpus/* | tests/bats/repo.bats) continue ;;
        esac
        if grep -nE '(^|[^a-zA-Z0-9_.$}])/(home|root|work|farm|Users)/[a-z]' "$f" || grep -nE 'https?://(deb|ftp|registry|mirror)[.-]' "$f"; then
            echo "$f"
            bad=1
        fi
    done < <(project_files)
    [ $bad -eq 0 ]
}

@test "no file includes a .c file" {
    run ! grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<][^">]*\.c[">]' --include='*.[ch]' cmd lib tests
}

@test "the top level has the expected entries and no others" {
    local d files="README.md CHANGELOG.md CONTRIBUTING.md LICENSE VERSION Makefile Containerfile .clang-format .editorconfig .dockerignore"

    for d in $(project_files | grep / | cut -d / -f 1 | sort -u); do
        case $d in
        cmd | lib | xdp | labs | scripts | tests | completions | man | docs | debian | .ci) ;;
        *)
            echo "folder $d"
            return 1
            ;;
        esac
    done
    for d in $(project_files | grep -v /); do
        [[ " $files .gitignore " == *" $d "* ]] || {
            echo "file $d"
            return 1
        }
    done
    for d in $files; do
        [ -f "$d" ] || {
            echo "no $d"
            return 1
        }
    done
}

@test "every tool has a man page and completions for bash, zsh and fish" {
    local t bad=0

    [ -n "$(tools)" ]
    for t in $(tools); do
        for f in "man/$t.1" "completions/bash/$t" "completions/zsh/_$t" "completions/fish/$t.fish"; do
            [ -s "$f" ] || {
                echo "no $f"
                bad=1
            }
        done
    done
    [ $bad -eq 0 ]
}

@test "--help, man page and completions of each tool name the same long options" {
    local t shell bad=0

    for t in $(tools); do
        [ -n "$(help_options "$t")" ] || {
            echo "$t --help lists no option"
            bad=1
            continue
        }
        same_options "$t" man_options "$t" || bad=1
        for shell in bash zsh fish; do
            same_options "$t" completion_options $shell "$t" || bad=1
        done
    done
    [ $bad -eq 0 ]
}

@test "completions are valid for their shells" {
    local f n=0

    require_tool zsh fish
    for f in completions/bash/*; do
        bash -n "$f"
        n=$((n + 1))
    done
    for f in completions/zsh/*; do zsh -n "$f"; done
    for f in completions/fish/*; do fish --no-execute "$f"; done
    [ $n -gt 0 ]
}

@test "mandoc finds no error in the man pages" {
    local page n=0

    require_tool mandoc
    for page in man/*.[1-8]; do
        run_here mandoc -Tlint -W warning "$page"
        assert_status 0
        n=$((n + 1))
    done
    [ $n -gt 0 ]
}

@test "docs/attack-surface.md has a row for each fuzz target, and the files that it names exist" {
    local f name bad=0 n=0

    for f in tests/fuzz/*_fuzz.c; do
        name=${f##*/}
        name=${name%_fuzz.c}
        grep -qE "^\|.*\`$name\`" docs/attack-surface.md || {
            echo "$name has no row"
            bad=1
        }
        n=$((n + 1))
    done
    [ $n -gt 20 ]
    # shellcheck disable=SC2016 # the backquotes are those of Markdown
    while IFS= read -r f; do
        [ -e "$f" ] || {
            echo "$f does not exist"
            bad=1
        }
    done < <(grep -oE '`(cmd|lib|scripts|tests|xdp)/[a-zA-Z0-9/_.-]+`' docs/attack-surface.md | tr -d '`' | sort -u)
    [ $bad -eq 0 ]
}

@test "every tool prints the version of the file VERSION and exits with 0" {
    local t n=0

    for t in $(tools); do
        run_here "$IW_BUILD/$t" --version
        assert_status 0
        assert_output_has "$t"
        assert_output_has "$(cat VERSION)"
        n=$((n + 1))
    done
    [ $n -gt 0 ]
}

@test "every tool answers a wrong option with exit 2 and a line that names it" {
    local t n=0

    for t in $(tools); do
        run_here "$IW_BUILD/$t" --no-such-option
        assert_status 2
        assert_stderr_has no-such-option
        n=$((n + 1))
    done
    [ $n -gt 0 ]
}

@test "version, symbol map, pages and exported names agree" {
    run_here scripts/check-agree "$IW_BUILD/libiwarp.so"
    assert_status 0
}

@test "install puts everything below DESTDIR and uninstall leaves no file" {
    local root=$BATS_TEST_TMPDIR/root t

    IW_TIMEOUT=120 run_here make --no-print-directory BUILD="$IW_BUILD" install DESTDIR="$root" PREFIX=/usr
    assert_status 0
    for t in $(tools); do
        [ -x "$root/usr/bin/$t" ]
        [ -f "$root/usr/share/man/man1/$t.1" ]
        [ -f "$root/usr/share/bash-completion/completions/$t" ]
    done
    [ -f "$root/usr/include/iwarp/verbs.h" ]
    [ -f "$root/usr/lib/libiwarp.a" ]
    [ -L "$root/usr/lib/libiwarp.so" ]
    [ -f "$root/usr/lib/pkgconfig/libiwarp.pc" ]
    [ -f "$root/usr/lib/wireshark/plugins/ddp-sctp.lua" ]
    [ -f "$root/usr/lib/wireshark/plugins/iwarp-tls.lua" ]
    [ -f "$root/usr/lib/systemd/system/ddp-recv.socket" ]
    grep -q '^ExecStart=/usr/bin/ddp-recv ' "$root/usr/lib/systemd/system/ddp-recv.service"
    [ -f "$root/etc/iwarp-tools/ddp-recv.conf" ]
    run_here make --no-print-directory BUILD="$IW_BUILD" uninstall DESTDIR="$root" PREFIX=/usr
    assert_status 0
    run_here find "$root" ! -type d
    assert_output_is ''
}

# bats test_tags=all
@test "a program finds the installed library by pkg-config" {
    local root=$BATS_TEST_TMPDIR/root

    require_tool pkg-config
    IW_TIMEOUT=120 run_here make --no-print-directory BUILD="$IW_BUILD" install PREFIX="$root"
    assert_status 0
    printf '%s\n' '#include <stdio.h>' '#include <iwarp/verbs.h>' 'int main(void) { puts(iw_version()); return 0; }' >"$BATS_TEST_TMPDIR/p.c"
    export PKG_CONFIG_PATH=$root/lib/pkgconfig
    # The installed archive must not contain code for link-time optimization, which only one
    # compiler can read.
    run_here readelf -SW "$root/lib/libiwarp.a"
    assert_status 0
    assert_output_lacks '.gnu.lto_'
    # shellcheck disable=SC2046,SC2086
    ${CC:-gcc} -o "$BATS_TEST_TMPDIR/p" "$BATS_TEST_TMPDIR/p.c" $(pkg-config --cflags --libs libiwarp)
    LD_LIBRARY_PATH=$root/lib run_here "$BATS_TEST_TMPDIR/p"
    assert_status 0
    assert_output_is "$(cat VERSION)"
    # shellcheck disable=SC2046,SC2086
    ${CC:-gcc} -o "$BATS_TEST_TMPDIR/s" "$BATS_TEST_TMPDIR/p.c" $(pkg-config --cflags libiwarp) "$root/lib/libiwarp.a" \
        $(pkg-config --static --libs-only-l libiwarp | sed 's/-liwarp//')
    run_here "$BATS_TEST_TMPDIR/s"
    assert_status 0
}

# bats test_tags=all
@test "the tarball of make dist builds, the library with nothing but libc" {
    local name top

    name=iwarp-tools-$(cat VERSION)
    top=$BATS_TEST_TMPDIR/$name
    run_here make --no-print-directory BUILD="$BATS_TEST_TMPDIR/d" dist
    assert_status 0
    tar -C "$BATS_TEST_TMPDIR" -xzf "$BATS_TEST_TMPDIR/d/$name.tar.gz"
    IW_TIMEOUT=170 run_here make --no-print-directory -C "$top" -j2 lib BUILD=build CFLAGS=-O0 \
        WITHOUT='isal sctp xdp sdt cbor json xxhash openssl pcap seccomp cmocka'
    assert_status 0
    run_here bash -c "ldd '$top/build/libiwarp.so' | grep -vE 'libc\.so|linux-vdso|ld-linux'"
    assert_output_is ''
}

# bats test_tags=all
@test "without libpcap the answer of ddp-dump is 3 and the reason" {
    local out=$BATS_TEST_TMPDIR/b

    IW_TIMEOUT=170 run_here make --no-print-directory -j2 BUILD="$out" CFLAGS=-O0 WITHOUT=pcap "$out/ddp-dump"
    assert_status 0
    run_here "$out/ddp-dump" -r "tests/vectors/traces/rping.pcap"
    assert_status 3
    assert_stderr_has 'built without libpcap'
    # A second run must not build again.
    touch "$BATS_TEST_TMPDIR/then"
    run_here make --no-print-directory BUILD="$out" CFLAGS=-O0 WITHOUT=pcap "$out/ddp-dump"
    assert_status 0
    [ "$BATS_TEST_TMPDIR/then" -nt "$out/ddp-dump" ] || fail_with 'built again'
}

@test "a library that was installed, changed or removed after the configuration is detected" {
    local out=$BATS_TEST_TMPDIR/b

    # Simulates a machine with only this library; the .pc file of cmocka names a library that the
    # linker does not find.
    mkdir "$BATS_TEST_TMPDIR/pc"
    export PKG_CONFIG_LIBDIR=$BATS_TEST_TMPDIR/pc
    printf '%s\n' 'Name: cmocka' 'Description: broken' 'Version: 1' 'Libs: -lno-such-library' >"$PKG_CONFIG_LIBDIR/cmocka.pc"
    # make configures before it prints the variable.
    have() { make --no-print-directory -s BUILD="$out" WITHOUT='xdp usrsctp' print-IW_HAVE_CMOCKA 2>/dev/null; }
    [ -z "$(have)" ] || fail_with 'found although it does not link'
    touch -d '1 hour ago' "$out/config.h" "$out/flags.key" "$BATS_TEST_TMPDIR/before"
    rm "$PKG_CONFIG_LIBDIR/cmocka.pc"
    [ "$(have)" = 1 ] || fail_with 'the repaired library was not detected'
    # Only tests use cmocka: nothing is compiled again.
    [ ! "$out/config.h" -nt "$BATS_TEST_TMPDIR/before" ] || fail_with 'config.h was written again'
    [ ! "$out/flags.key" -nt "$BATS_TEST_TMPDIR/before" ] || fail_with 'the flags were written again'
    # Nothing changed: it must not be configured again.
    touch "$BATS_TEST_TMPDIR/then"
    [ "$(have)" = 1 ]
    [ "$BATS_TEST_TMPDIR/then" -nt "$out/config.mk" ] || fail_with 'configured again without a reason'
}

@test "one build folder has one name, however it is spelled" {
    local flags

    flags=$(make --no-print-directory -s BUILD=build/one-name print-IW_CPPFLAGS 2>/dev/null)
    run_here make --no-print-directory -s BUILD="$PWD/build/one-name" print-IW_CPPFLAGS
    assert_output_is "$flags"
    run_here make --no-print-directory -s BUILD=./build//one-name/ print-O
    assert_output_is build/one-name
    run_here make --no-print-directory -s BUILD="$BATS_TEST_TMPDIR/elsewhere/" print-BUILD
    rm -rf build/one-name
    assert_output_is "$BATS_TEST_TMPDIR/elsewhere"
}

@test "the list of mutants fits the sources" {
    run_here scripts/mutants --check
    assert_status 0
}

# A tree of five rooms, with its objects, that scripts/check-layers accepts.
layers_tree() {
    mkdir -p "$tree"/{scripts,lib,tests,xdp}
    cp scripts/check-cycles "$tree/scripts/"
    layers_lists "[util]='' [wire]='' [os]='' [cli]='os' [transfer/protocol]='wire'"
    printf 'IWARP_0 {\nglobal:\n\tiw_version;\nlocal:\n\t*;\n};\n' >"$tree/lib/libiwarp.map"
    layers_source lib/util/range.h 'int iw_range_len(int n);'
    layers_source lib/util/range.c '#include "util/range.h"' '#include <string.h>' 'int iw_range_len(int n) { return n + 1; }'
    layers_source lib/wire/mpa.h 'int iw_mpa_len(int n);'
    layers_source lib/wire/mpa.c '#include "wire/mpa.h"' '#include "util/range.h"' 'int iw_mpa_len(int n) { return iw_range_len(n); }'
    layers_source lib/os/clock.h 'int iw_clock_now(void);'
    layers_source lib/os/clock.c '#include <unistd.h>' '#include "os/clock.h"' 'int iw_clock_now(void) { return getpid(); }'
    layers_source cmd/cli/json.c '#include "os/clock.h"' 'int iw_json_open(void) { return iw_clock_now(); }'
    layers_source cmd/transfer/protocol/pack.c '#include "wire/mpa.h"' 'int iw_pack_len(void) { return iw_mpa_len(1); }'
}

# layers_lists LISTS: gives the tree scripts/check-layers with these lists of rooms.
layers_lists() {
    awk -v lists="$1" '/^declare -A may=/ { print "declare -A may=(" lists; skip = 1 } /^[)]/ { skip = 0 } !skip' \
        scripts/check-layers >"$tree/scripts/check-layers"
    chmod +x "$tree/scripts/check-layers"
}

# layers_source FILE LINE...: writes the file, and compiles it if it is a .c file.
layers_source() {
    local obj=$tree/build/obj/${1%.c}.o

    mkdir -p "$tree/${1%/*}"
    printf '%s\n' "${@:2}" >"$tree/$1"
    case $1 in
    *.c)
        mkdir -p "${obj%/*}"
        # shellcheck disable=SC2086
        ${CC:-gcc} -fno-lto -I"$tree/lib" -I"$tree/cmd" -c -o "$obj" "$tree/$1"
        ;;
    esac
}

# layers_reject TEXT FILE LINE...: with that file in the tree, scripts/check-layers fails, and its
# report has TEXT.
layers_reject() {
    layers_source "${@:2}"
    run_here "$tree/scripts/check-layers" build
    assert_status 1
    assert_output_has "$1"
    assert_output_has 'breaches of the layers'
    rm -f "$tree/$2" "$tree/build/obj/${2%.c}.o"
}

@test "scripts/check-layers reports each breach of the layers, and accepts a tree without one" {
    local tree=$BATS_TEST_TMPDIR/tree n

    layers_tree
    run_here "$tree/scripts/check-layers" build
    assert_status 0
    assert_output_has 'keep to the layers'

    # A room includes and uses the rooms below it only.
    layers_reject 'lib/util/up.c:1: room util includes wire/mpa.h: it may use only: util' \
        lib/util/up.c '#include "wire/mpa.h"'
    layers_reject 'lib/os/up.h:1: includes cli/json.h: lib/ includes nothing from cmd/ and tests/' \
        lib/os/up.h '#include "cli/json.h"'
    layers_reject 'lib/os/inner.h:1: wire/internal.h is private to room wire' lib/os/inner.h '#include "wire/internal.h"'
    layers_source lib/wire/part.h '/* Private to wire: one half. */'
    layers_reject 'lib/os/inner.h:1: wire/part.h is private to room wire' lib/os/inner.h '#include "wire/part.h"'
    rm "$tree/lib/wire/part.h"
    layers_reject 'lib/os/twin.h:1: includes os/clock.c: a .c file is never included' lib/os/twin.h '#include "os/clock.c"'
    layers_reject 'lib/attic/old.h: attic is not a room' lib/attic/old.h '#include <stdint.h>'
    layers_reject 'util: up.o: uses iw_mpa_len of room wire: it may use only: util' \
        lib/util/up.c 'int iw_mpa_len(int n);' 'int iw_up_len(void) { return iw_mpa_len(1); }'

    # A global name begins with iw_OBJECT_, and an object belongs to one room.
    layers_reject 'os: defines clock_bare: a global name begins with iw_' \
        lib/os/bare.c 'int clock_bare(void) { return 0; }'
    layers_reject 'names of one prefix belong to one room' lib/os/mpa.c 'int iw_mpa_print(void) { return 0; }'
    layers_reject 'os(iw_mpa_print)' lib/os/mpa.c 'int iw_mpa_print(void) { return 0; }'

    # A pure room includes freestanding headers and <string.h> only, and calls no function outside
    # the pure rooms.
    layers_reject 'lib/wire/print.h:1: pure room wire includes <stdio.h>' lib/wire/print.h '#include <stdio.h>'
    layers_reject 'wire: when.o: uses time, which is neither a memory or string function nor defined in a room' \
        lib/wire/when.c 'long time(long *t);' 'long iw_when_now(void) { return time(0); }'
    layers_reject 'transfer/protocol: own.o: uses getpid, which is neither a memory or string function' \
        cmd/transfer/protocol/own.c 'int getpid(void);' 'int iw_own_id(void) { return getpid(); }'

    # It has no writable variable.
    layers_reject 'wire: state.o: 4 octets in .bss: a pure room has no global state' \
        lib/wire/state.c 'int iw_state_next(void) { static int n; return n++; }'
    layers_reject 'wire: state.o: 4 octets in .data: a pure room has no global state' \
        lib/wire/state.c 'int iw_state_next(void) { static int n = 1; return n++; }'

    # Three files may call each other in a cycle, four may not. Rooms may not.
    for n in 1 2 3; do
        layers_source "lib/os/ring$n.c" "int iw_ring_$((n % 3 + 1))(void);" "int iw_ring_$n(void) { return iw_ring_$((n % 3 + 1))(); }"
    done
    run_here "$tree/scripts/check-layers" build
    assert_status 0
    layers_source lib/os/ring3.c 'int iw_ring_4(void);' 'int iw_ring_3(void) { return iw_ring_4(); }'
    layers_reject 'lib/os: 4 files call each other: ring1 ring2 ring3 ring4: at most 3 are allowed' \
        lib/os/ring4.c 'int iw_ring_1(void);' 'int iw_ring_4(void) { return iw_ring_1(); }'
    rm "$tree"/lib/os/ring?.c
    layers_lists "[util]='' [wire]='' [os]='cli' [cli]='os' [transfer/protocol]='wire'"
    run_here "$tree/scripts/check-layers" build
    assert_status 1
    assert_output_has 'rooms that may use each other: '
    assert_output_has 'the list of room os names cli, from which it includes nothing'
}

# A row of a list of mutants: the text that replaces a check of lib/wire/atomic.c, and the expected
# result.
mutant() {
    printf 'RFC 7306 5.2\tlib/wire/atomic.c\tiw_atomic_req_decode\t%s\t%s\t%s\n' 'if (len < IW_RDMAP_ATOMIC_REQ_LEN)' "$1" "$2"
}

# The state of the sources and of TMPDIR.
mutants_leave() {
    (cd "$IW_TOP" && project_files | xargs -d '\n' sha256sum 2>/dev/null; ls -A "$BATS_TEST_TMPDIR/tmp")
}

# bats test_tags=all
@test "scripts/mutants separates noticed mutants from unnoticed ones, and cleans up" {
    local list=$BATS_TEST_TMPDIR/list before

    [ -e "$IW_BUILD/mutants.flags" ] || skip "needs cmocka: the unit tests are not built"
    mkdir "$BATS_TEST_TMPDIR/tmp"
    export TMPDIR=$BATS_TEST_TMPDIR/tmp
    before=$(mutants_leave)
    { mutant 'if (0)' wire_atomic_test; mutant 'if (IW_RDMAP_ATOMIC_REQ_LEN > len)' wire_atomic_test; } >"$list"
    run_here scripts/mutants --build "$IW_BUILD" --list "$list" --verbose
    assert_status 1
    assert_output_has 'killed     1: RFC 7306 5.2 lib/wire/atomic.c'
    assert_output_has 'survived   2: RFC 7306 5.2 lib/wire/atomic.c'
    assert_output_has '2 mutants: 1 noticed, 1 survived, 0 stale, 0 do not compile; 1 not as the list expects'

    # With a reason the second mutant is as expected; with a reason the first is not.
    { mutant 'if (0)' wire_atomic_test; mutant 'if (IW_RDMAP_ATOMIC_REQ_LEN > len)' 'survives: the same'; } >"$list"
    run_here scripts/mutants --build "$IW_BUILD" --list "$list"
    assert_status 0
    mutant 'if (0)' 'survives: wrongly' >"$list"
    run_here scripts/mutants --build "$IW_BUILD" --list "$list"
    assert_status 1

    # A text that does not occur, and one that does not compile.
    { mutant 'if (0)' wire_atomic_test | sed 's/(len </(length </'; mutant 'if (' wire_atomic_test; } >"$list"
    run_here scripts/mutants --build "$IW_BUILD" --list "$list"
    assert_status 1
    assert_output_has 'stale      1:'
    assert_output_has 'broken     2:'
    [ "$(mutants_leave)" = "$before" ]
}
