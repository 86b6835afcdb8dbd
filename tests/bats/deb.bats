#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The Debian packages: built from the tarball of scripts/dist in a clean folder, checked by lintian,
# then installed, used and removed in a bare Debian that has nothing else of this project.

# bats file_tags=compiles,all,plain,ordered

load helpers
load debian

readonly DEB_PACKAGES='iwarp-tools libiwarp0 libiwarp-dev iwarp-tools-doc iwarp-labs'

# programs that users of the packages install beside apt
readonly TREE_PACKAGES=gcc,libc6-dev,pkg-config,systemd,libcap2-bin,util-linux,iproute2

require_deb() {
    local missing

    require_root
    require_tool lintian dh
    missing=$("$IW_TOP/scripts/packages" --missing build deb)
    [ -z "$missing" ] || skip "needs deb: not installed: $missing"
    require_bare_debian
}

# in_tree [--user] COMMAND: runs a shell command in the tree, with its own /proc and loopback
# interface
in_tree() {
    local user=

    [ "$1" != --user ] || { user='--userspec=65534:65534'; shift; }
    # shellcheck disable=SC2016
    iw_run 'unshare --mount --pid --fork --kill-child --net' sh -c '
        tree=$1 user=$2
        mount -t proc proc "$tree/proc"
        mount --bind /dev "$tree/dev"
        mount -t tmpfs -o mode=1777 tmp "$tree/tmp"
        ip link set lo up
        cd /
        exec chroot $user "$tree" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            sh -euc "$3"' sh "$TREE" "$user" "$1"
}

# As in_tree, in the network of this machine, for apt.
apt_in_tree() {
    # shellcheck disable=SC2016
    iw_run 'unshare --mount --pid --fork --kill-child' sh -c '
        mount -t proc proc "$1/proc"
        mount --bind /dev "$1/dev"
        cd /
        exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive sh -euc "$2"' sh "$TREE" "$1"
}

# Lists the files of the tree, except those that apt and dpkg always write.
tree_files() {
    (cd "$TREE" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/lib/apt -o -path ./var/log -o -path ./srv \
        -o -path ./tmp -o -path ./proc -o -path ./dev -o -path ./run -o -name ld.so.cache -o -name 'aux-cache' \) -prune -o -print | sort)
}

setup_file() {
    export WORK TREE DEBS

    file_requires require_deb || return 0
    # Another user builds there, and cannot enter the folders of BATS.
    WORK=$(mktemp -d "${TMPDIR:-/tmp}/iw-deb.XXXXXX")
    chmod 755 "$WORK"
    TREE=$WORK/tree DEBS=$WORK/debs
}

teardown_file() {
    # Nothing is mounted there any more: each mount ended with its namespace.
    [ -z "${WORK:-}" ] || rm -rf --one-file-system "$WORK"
}

setup() {
    skip_with_file
    cd "$BATS_TEST_TMPDIR" || return 1
}

# systemd needs a cgroup of version 2; its folder is mounted only in a namespace of this shell's
# child.
boot_tree() {
    local cgroup2
    cgroup2=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
    [ -n "$cgroup2" ] || skip 'needs cgroup2: it is not mounted'
    BOOT_CGROUP=$cgroup2/iw-deb-$$
    mkdir "$BOOT_CGROUP" 2>/dev/null || skip 'needs cgroup2: no cgroup can be made'
    IW_TIMEOUT=60 iw_run 'unshare --mount --pid --fork --kill-child --net --uts --ipc' "$IW_TOP/tests/bats/boot_tree.sh" "$1" "$BOOT_CGROUP"
}

teardown() {
    if [ -n "${BOOT_CGROUP:-}" ]; then
        # The processes in it end with their namespace.
        wait_until 10 remove_cgroup || fail_with "cannot remove $BOOT_CGROUP"
    fi
    helpers_teardown
}

remove_cgroup() {
    find "$BOOT_CGROUP" -depth -type d -exec rmdir {} + 2>/dev/null
    [ ! -e "$BOOT_CGROUP" ]
}

need_packages() {
    [ -e "$DEBS/iwarp-tools.name" ] || fail_with 'the packages were not built: see the first test'
}

need_installed() {
    [ -x "$TREE/usr/bin/ddp-recv" ] || fail_with 'the packages are not installed: see the test that installs them'
}

@test "the tarball of scripts/dist builds the packages" {
    local p

    IW_TIMEOUT=60 run_here "$IW_TOP/scripts/dist" "$WORK/dist"
    assert_status 0
    mkdir "$DEBS"
    tar -x -z -f "$WORK"/dist/iwarp-tools-*.tar.gz -C "$DEBS"
    # An ordinary user builds them, and runs the unit tests of the pure rooms.
    chown -R 65534:65534 "$DEBS"
    IW_TIMEOUT=1600 run_here setpriv --reuid 65534 --regid 65534 --clear-groups env -u TMPDIR -u CC -u CFLAGS -u LDFLAGS -u MAKEFLAGS HOME="$DEBS" \
        make --no-print-directory -C "$DEBS"/iwarp-tools-* deb BUILD="$DEBS/out"
    assert_status 0
    for p in $DEB_PACKAGES; do
        ls "$DEBS"/out/deb/"${p}"_*.deb
    done
    grep -q '\[  PASSED  \]' "$DEBS/out/deb/log"
    # The clone and the tarball contain the same sources.
    cmp "$WORK"/dist/iwarp-tools-*.tar.gz "$DEBS"/out/deb/iwarp-tools_*.orig.tar.gz
    touch "$DEBS/iwarp-tools.name"
}

@test "lintian finds no error and no warning but those about tables in pages" {
    need_packages
    IW_TIMEOUT=120 run_here setpriv --reuid 65534 --regid 65534 --clear-groups env -C / HOME="$DEBS" lintian --fail-on error "$DEBS"/out/deb/*.changes
    assert_status 0
    run_here grep -vE '^(N:|$)|^W: iwarp-tools: groff-message' "$OUTPUT_FILE"
    assert_output_is ''
}

@test "the packages install on a bare Debian with what they depend on, and nothing is started" {
    local deps

    need_packages
    deps=$(for p in "$DEBS"/out/deb/{iwarp-tools,libiwarp0,libiwarp-dev,iwarp-labs}_*.deb; do dpkg-deb -f "$p" Depends; done |
        tr ',' '\n' | sed 's/^ *//; s/[ (|:].*//' | grep -vE '^(libiwarp.*|iwarp.*|)$' | sort -u | tr '\n' ' ')
    bare_debian "$TREE_PACKAGES" "$deps"
    mkdir "$TREE"
    tar -x -f "$BARE_DEBIAN" -C "$TREE" --exclude='./dev/*'
    cp /etc/resolv.conf "$TREE/etc/"
    mkdir "$TREE/srv/debs"
    cp "$DEBS"/out/deb/*.deb "$TREE/srv/debs/"
    rm -f "$TREE"/srv/debs/*dbgsym*
    IW_TIMEOUT=120 apt_in_tree "apt-get -qq -y --no-install-recommends install $deps"
    assert_status 0
    tree_files >"$BATS_FILE_TMPDIR/before"
    IW_TIMEOUT=120 apt_in_tree 'apt-get -qq -y --no-install-recommends install /srv/debs/*.deb'
    assert_status 0
    # All units are disabled: no target wants one.
    run_here find "$TREE/etc/systemd/system" -name 'ddp-recv*'
    assert_output_is ''
    in_tree 'dpkg --audit; dpkg -V '"$DEB_PACKAGES"
    assert_status 0
    assert_output_is ''
}

@test "root and an ordinary user move files with the installed tools" {
    local user work

    # shellcheck disable=SC2016
    work='
        cd "$(mktemp -d)"; mkdir in
        head -c 3000000 /dev/urandom >f
        for t in tcp udp; do
            ddp-recv -t $t -p 7471 --once in >log.$t 2>&1 &
            i=0; until grep -q listening log.$t; do i=$((i + 1)); [ $i -lt 100 ] || { cat log.$t; exit 1; }; sleep 0.1; done
            ddp-send -q -t $t f 127.0.0.1:$t; wait $!
            cmp f in/$t
        done
        for tool in ddp-bench ddp-dump ddp-impair ddp-recv ddp-send ddp-xdp mpa-probe sctp-ddp-ping stag-reg; do $tool --version; done'

    need_installed
    for user in '' --user; do
        # shellcheck disable=SC2086
        in_tree $user "$work"
        assert_status 0
        assert_equal "$(grep -c "$(cat "$IW_TOP/VERSION")\$" <<<"$output")" 9
    done
}

@test "the capabilities that the pages name are enough for raw and xdp" {
    need_installed
    in_tree --user 'ddp-recv -t raw --once /tmp'
    assert_status 3
    assert_stderr_has 'needs CAP_NET_RAW'
    # shellcheck disable=SC2016
    in_tree 'cp /usr/bin/ddp-recv /usr/local/bin/r && cp /usr/bin/ddp-recv /usr/local/bin/x
        trap "rm -f /usr/local/bin/r /usr/local/bin/x" EXIT
        setcap cap_net_raw+ep /usr/local/bin/r
        setcap cap_net_raw,cap_net_admin,cap_bpf,cap_perfmon+ep /usr/local/bin/x
        ip link add v0 type veth peer name v1; ip address add 10.9.0.1/24 dev v0; ip link set v0 up; ip link set v1 up
        for t in "r -t raw" "x -t xdp -I v0"; do
            name=${t%% *}
            setpriv --reuid 65534 --regid 65534 --clear-groups /usr/local/bin/$t --bind 10.9.0.1 /tmp >/tmp/log.$name 2>&1 &
            i=0; until grep -q listening /tmp/log.$name; do i=$((i + 1)); [ $i -lt 50 ] || { cat /tmp/log.$name; exit 1; }; sleep 0.1; done
            kill $!; wait $!
        done'
    case $output in *'6.1 or later'*) skip 'needs xdp: this kernel rejects the program' ;; esac
    assert_status 0
}

@test "the units are accepted, and systemd finds the configuration file" {
    need_installed
    # shellcheck disable=SC2016
    in_tree 'systemd-analyze verify --man=no ddp-recv.service ddp-recv.socket 2>&1
        test -r "$(sed -n "s/^EnvironmentFile=-//p" /lib/systemd/system/ddp-recv.service)"
        test "$(systemctl is-enabled ddp-recv.socket || :)" = disabled
        systemctl enable ddp-recv.socket 2>/dev/null
        test "$(systemctl is-enabled ddp-recv.socket)" = enabled
        systemctl disable ddp-recv.socket 2>/dev/null'
    assert_status 0
    assert_output_is ''
    # shellcheck disable=SC2016
    in_tree 'dpkg-query -W -f "\${Conffiles}" iwarp-tools'
    assert_output_has /etc/iwarp-tools/ddp-recv.conf
}

@test "a program compiles and links with the installed library, shared and static" {
    need_installed
    cp "$IW_TOP"/tests/examples/{initiator,responder}.c "$TREE/srv/"
    # shellcheck disable=SC2016
    in_tree 'cd /tmp
        for p in initiator responder; do gcc -o $p /srv/$p.c $(pkg-config --cflags --libs libiwarp); done
        gcc -o static /srv/initiator.c $(pkg-config --cflags libiwarp) -Wl,-Bstatic -liwarp -Wl,-Bdynamic $(pkg-config --libs --static libiwarp | sed s/-liwarp//)
        ldd initiator | grep -q "libiwarp.so.0 => /lib"
        ! ldd static | grep -q libiwarp'
    assert_status 0
}

@test "a student unpacks the labs, compiles each, and gets all points with the solution of the first" {
    need_installed
    cp "$IW_TOP/labs/.solutions/01-framing/framing.c" "$TREE/srv/"
    # shellcheck disable=SC2016
    IW_TIMEOUT=120 in_tree --user 'cd "$(mktemp -d)"
        tar -xf /usr/share/iwarp-labs/iwarp-labs-*.tar.gz
        cd iwarp-labs-*
        test -s README.md && test -s TEACHING.md && test -s map.svg && test -x grade-all
        for lab in [01][0-9]-*; do
            status=0
            "$lab/check" >said || status=$?
            test $status = 1 && grep -qx "0 of 100 points" said || { echo "$lab: status $status"; cat said; exit 1; }
        done
        cd 01-framing
        cp /srv/framing.c .
        make -s test
        ./check
        ./check --sanitize --seed 7
        make -s trace
        grep -q "<svg" trace.svg'
    assert_status 0
    assert_equal "$(grep -cx '100 of 100 points' <<<"$output")" 2
}

@test "tshark with the plugin of the package dissects DDP over SCTP" {
    local plugins name

    require_tool tshark
    need_installed
    # shellcheck disable=SC2016
    in_tree 'ddp-dump --json -i lo -w /srv/c.pcap udp port 9899 >/tmp/dump 2>/tmp/log & dump=$!
        ddp-recv -t udp --once /tmp >/tmp/recv & recv=$!
        i=0; until grep -q listening /tmp/recv && [ -s /srv/c.pcap ]; do i=$((i + 1)); [ $i -lt 100 ] || { cat /tmp/log; exit 1; }; sleep 0.1; done
        ddp-send -q -t udp /etc/debian_version 127.0.0.1:
        wait $recv
        i=0; until grep -q "\"event\":\"ddp\"" /tmp/dump; do i=$((i + 1)); [ $i -lt 100 ] || { cat /tmp/dump; exit 1; }; sleep 0.1; done
        kill -INT $dump; wait $dump'
    assert_status 0
    # The package installs into the folder in which this tshark searches plugins of all users.
    plugins=$(tshark -G folders 2>/dev/null | sed -n 's/^Global Lua Plugins:[[:space:]]*//p')
    for name in ddp-sctp iwarp-tls; do
        [ -f "$TREE$plugins/$name.lua" ] || fail_with "the package has no $plugins/$name.lua"
    done
    # shellcheck disable=SC2016
    iw_run 'unshare --mount' sh -c 'mount --bind "$1$2" "$2" && exec tshark -r "$1/srv/c.pcap" -Y "ddp_sctp.ssn && iwarp_rdma.opcode"' \
        sh "$TREE" "$plugins"
    assert_status 0
    [ -n "$output" ] || fail_with 'tshark finds no DDP segment'
}

@test "under systemd the socket starts the confined service, and the configuration file sets its options" {
    need_installed
    require_tool findmnt
    # systemd writes files that do not belong to the packages, so it runs in a copy.
    cp -a "$TREE" "$WORK/booted"
    cat >"$WORK/booted/srv/commands" <<'EOF'
systemctl start ddp-recv.socket
test "$(systemctl is-active ddp-recv.service)" = inactive
head -c 3000000 /dev/urandom >/tmp/f
timeout 20 ddp-send -q /tmp/f 127.0.0.1:
cmp /tmp/f /var/lib/private/ddp-recv/f
pid=$(systemctl show -P MainPID ddp-recv.service)
grep -q '^CapBnd:.0000000000000000$' /proc/$pid/status
grep -q '^NoNewPrivs:.1$' /proc/$pid/status
grep -q '^Seccomp:.2$' /proc/$pid/status
XDG_RUNTIME_DIR=/run/ddp-recv stag-reg list
systemctl stop ddp-recv.socket ddp-recv.service
test "$(systemctl show -P Result ddp-recv.service)" = success
echo 'DDP_RECV_OPTIONS="--bind 127.0.0.1 -p 7500 --max-size 1M"' >/etc/iwarp-tools/ddp-recv.conf
systemctl start ddp-recv.service
i=0; until ss -Hnlt 'sport = :7500' | grep -q .; do i=$((i + 1)); test $i -lt 100; sleep 0.1; done
timeout 20 ddp-send -q -p 7500 /tmp/f 127.0.0.1:large && exit 1
timeout 20 ddp-send -q -p 7500 /etc/passwd 127.0.0.1:small
ls /var/lib/private/ddp-recv
systemctl stop ddp-recv.service
test "$(systemctl show -P Result ddp-recv.service)" = success
# With the drop-in for TLS, only a peer with the named key can connect.
export XDG_CONFIG_HOME=/tmp/peer
XDG_CONFIG_HOME=/etc/iwarp-tools ddp-recv --show-key
key=$(ddp-send --show-key)
mkdir /etc/systemd/system/ddp-recv.service.d
sed "s|PIN|${key%% *}|" /usr/share/doc/iwarp-tools/examples/ddp-recv-tls.conf >/etc/systemd/system/ddp-recv.service.d/tls.conf
systemctl daemon-reload
systemctl start ddp-recv.service
i=0; until ss -Hnlt 'sport = :7500' | grep -q .; do i=$((i + 1)); test $i -lt 100; sleep 0.1; done
timeout 20 ddp-send -q -p 7500 /etc/group 127.0.0.1:plain && exit 1
XDG_CONFIG_HOME=/tmp/other timeout 20 ddp-send -q --tls -p 7500 /etc/group 127.0.0.1:other && exit 1
timeout 20 ddp-send -q --tls -p 7500 /etc/group 127.0.0.1:encrypted
test "$(ls /var/lib/private/ddp-recv/plain /var/lib/private/ddp-recv/other /var/lib/private/ddp-recv/encrypted 2>/dev/null)" = /var/lib/private/ddp-recv/encrypted
systemctl stop ddp-recv.service
test "$(systemctl show -P Result ddp-recv.service)" = success
EOF
    boot_tree "$WORK/booted"
    output=$(cat "$WORK/booted/srv/output") || output=
    [ "$(cat "$WORK/booted/srv/status")" = 0 ] || fail_with 'the commands failed under systemd'
    assert_output_has $'\nf\nsmall\n'
}

@test "purge leaves nothing" {
    need_installed
    IW_TIMEOUT=120 apt_in_tree "apt-get -qq -y purge $DEB_PACKAGES"
    assert_status 0
    tree_files >after
    run_here diff "$BATS_FILE_TMPDIR/before" after
    assert_status 0
}
