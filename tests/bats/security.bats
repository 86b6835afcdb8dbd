#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The recipes of iwarp-security(7), and the examples of all pages that start the other end through
# ssh, as the pages print them: each machine has a network, a directory and keys of its own.

# bats file_tags=beside

# Each test is a separate shell, and fail_with prints the variables that look unused.
# shellcheck disable=SC2030,SC2031,SC2034

load helpers
load net
load ssh

setup_file() {
    net_setup
    ssh_setup
}

teardown_file() {
    net_teardown
}

setup() {
    skip_with_file
    require_openssl
    ssh_far
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir -p here/photos server/inbox keys-here keys-server bin "$FAR_HOME/photos"
    random_file here/photos/beach.jpg 300K
    random_file here/photos/two.jpg 10K
    cp here/photos/beach.jpg "$FAR_HOME/photos/"
    far_owns_all
    # The command ssh of the pages.
    printf '#!/bin/sh\nexec %s "$@"\n' "$(ssh_command | sed "s|^ssh|$(command -v ssh)|")" >bin/ssh
    chmod 755 bin/ssh
}

far_owns_all() {
    [ "$(id -u)" -ne 0 ] || chown -R "$SSH_UID:$SSH_UID" "$FAR_HOME"
}

# Prints the commands of a page that match a pattern, without roff's escapes.
commands() {
    sed -n "s/\\\\-/-/g; s/\\\\(aq/'/g; /^\(server\|here\)*[\$] /p" "$IW_TOP/man/$1" | grep -E "$2"
}

# Runs a command of "here" in its directory, with its keys.
here() {
    run_in left bash -c "cd here && PATH=$BATS_TEST_TMPDIR/bin:\$PATH XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/keys-here && export XDG_CONFIG_HOME && $1"
}

# Runs a command of "server" likewise; a listener stays in the background.
server() {
    local line="cd server && XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/keys-server && export XDG_CONFIG_HOME && exec $1"

    case $1 in
    *--show-key) run_in right bash -c "$line" ;;
    *) serve_in right bash -c "$line" ;;
    esac
}

# recipe N: runs a recipe of iwarp-security(7). "SHA256:..." is the key that the last --show-key
# printed, and then one that no user has.
recipe() {
    local line key=none n=0

    while IFS= read -r line; do
        line=${line/SHA256:.../$key}
        line=${line/SHA256:.../SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA}
        line=${line/user@server/$FAR}
        case $line in
        'here$ scp psk server:') cp -p here/psk server/ ;;
        'here$ '*)
            line=${line#* }
            here "${line/ server:/ $RIGHT_IP:}"
            assert_status 0
            ;;
        'server$ '*) server "${line#* }" ;;
        esac
        # shellcheck disable=SC2154 # run_in sets it
        [[ $line != *--show-key ]] || key=${output%% *}
        n=$((n + 1))
    done < <(sed -n "/^\.SS \"$1\. /,/^\.S[SH] /p" "$IW_TOP/man/iwarp-security.7" |
        sed -n "s/\\\\-/-/g; s/\\\\(aq/'/g; /^\(server\|here\)[\$] /p")
    [ $n -ge 2 ] || fail_with "recipe $1 has $n commands"
}

@test "iwarp-security(7), recipe 1: through ssh" {
    start_sshd
    recipe 1
    diff -r here/photos "$FAR_HOME/photos"
    assert_same_file here/photos/beach.jpg here/copy.jpg
    assert_far_is_clean
}

@test "iwarp-security(7), recipe 2: a server whose key is remembered" {
    recipe 2
    diff -r here/photos server/inbox/photos
    grep -q "^$RIGHT_IP SHA256:" keys-here/iwarp/known_hosts
    # The line has the key that --show-key prints at the server.
    server 'ddp-recv --show-key'
    grep -qF "${output%% *}" keys-here/iwarp/known_hosts
}

@test "iwarp-security(7), recipe 3: the keys of two users only" {
    recipe 3
    diff -r here/photos server/inbox/photos
    # Another user has another key.
    rm keys-here/iwarp/cert.pem keys-here/iwarp/key.pem
    here "ddp-send --tls --force photos $RIGHT_IP:again"
    assert_status 4
    [ ! -e server/inbox/again ]
}

@test "iwarp-security(7), recipe 4: a key that both machines know" {
    recipe 4
    diff -r here/photos server/inbox/photos
    (umask 077 && openssl rand -hex 32 >here/psk)
    here "ddp-send --psk-file psk photos $RIGHT_IP:again"
    assert_status 4
    [ ! -e server/inbox/again ]
}

@test "the examples of the pages that start the other end through ssh" {
    local page line n=0

    start_sshd
    mkdir -p "$FAR_HOME/albums"
    cp -r here/photos "$FAR_HOME/albums/"
    far_owns_all
    for page in ddp-send.1 ddp-recv.1 iwarp-tools.7; do
        while IFS= read -r line; do
            line=${line#*\$ }
            line=${line/user@host/$FAR}
            here "${line/user@server/$FAR}"
            assert_status 0
            n=$((n + 1))
        done < <(commands "$page" user@)
    done
    [ "$n" -ge 5 ] || fail_with "only $n examples were found"
    assert_far_is_clean
    diff -r here/photos "$FAR_HOME/photos"
}
