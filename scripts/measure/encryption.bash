# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# P30 to P33: TLS, DTLS and ssh.
#
# P30 to P33 are about encryption. In each round all runs follow each other, and every second round
# has the reverse order. The peer of a figure is the one with the better median.
#
# P30 is RDMA Write over tcp with TLS, beside socat OPENSSL and beside openssl s_client with
# s_server, all with TLS_AES_128_GCM_SHA256. The peers move zeros, s_client from a file, to
# /dev/null; their rate is for the whole transfer. P30p is the ratio to our own figure without TLS.
# P31 is the same over udp with DTLS against 8 Gb/s, and P31p the ratio to our own figure without
# DTLS.
#
# P32 moves one file, P32m 10,000 files of 4 KiB, by `ddp-send root@HOST:`, `scp` and `rsync -e
# ssh`, from tmpfs to tmpfs, with one sshd in the other namespace. All connections of ssh use
# aes128-gcm@openssh.com, and rsync does not compute deltas. The time is that of the whole command.
# The memory is warm: just before each run as many octets and files are written and removed. A
# virtual machine may have returned unused memory to its host, and would be slow to get it again.
# ~/.bashrc and ~/.zshenv of the far user are hidden: they would add to the time of ddp-send and
# rsync, but not to that of scp.
#
# P33 is the number of connections in a second, one after another, by tests/connects, beside openssl
# s_time -new with s_server. Both servers have the same certificate, ECDSA P-256; s_server sends no
# session tickets. Each of our connections also exchanges MPA Request and Reply and is closed in
# order by both ends. P33p is the ratio to our own figure without TLS.
#
# The pieces of scripts/bench share their variables:
# shellcheck disable=SC2034,SC2119,SC2120,SC2154

suite=TLS_AES_128_GCM_SHA256 # the first choice of our tools for TLS
tls_octets=$((seconds << 30))
[ -z "$quick" ] || tls_octets=$((256 << 20))
never= # a descriptor that is never at its end: s_server ends at the end of its standard input

# A certificate, its pin, and the configuration that makes socat choose the suite.
make_keys() {
	[ -z "$never" ] || return 0
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=bench -keyout "$work/key.pem" \
		-out "$work/cert.pem" 2>/dev/null || return 1
	pin=$(openssl x509 -in "$work/cert.pem" -noout -pubkey | openssl pkey -pubin -outform DER | sha256sum | cut -d ' ' -f 1)
	printf '%s\n' 'openssl_conf = all' '[all]' 'ssl_conf = ssl' '[ssl]' 'system_default = tls' '[tls]' \
		'MinProtocol = TLSv1.3' "Ciphersuites = $suite" >"$work/openssl.cnf"
	mkfifo "$work/never" && exec {never}<>"$work/never"
}

locked() {
	local lock_server=(--cert "$work/cert.pem" --key "$work/key.pem" --insecure) lock_client=(--pin "$pin")

	"$@"
}

tls_ours() { locked ours write; }
tls_plain() { ours write; }

tls_socat() {
	local began

	next_port
	OPENSSL_CONF=$work/openssl.cnf server socat -u -b 1048576 \
		"OPENSSL-LISTEN:$port,bind=$addr,reuseaddr,cert=$work/cert.pem,key=$work/key.pem,verify=0" OPEN:/dev/null </dev/null ||
		give_up 'socat OPENSSL-LISTEN' "$work/server" || return
	began=$(now_us)
	OPENSSL_CONF=$work/openssl.cnf client socat -u -b 1048576 "OPEN:/dev/zero,readbytes=$tls_octets" "OPENSSL:$addr:$port,verify=0" </dev/null ||
		give_up 'socat OPENSSL' "$work/peer.err" || return
	end || run_failed 'socat OPENSSL-LISTEN' "$work/server" || return
	moved $tls_octets "$began"
}

# The server counts nothing, so the client's end is the end: its close waits for no acknowledgement,
# but the socket buffers are small beside the octets.
tls_s_client() {
	local began

	next_port
	[ -e "$work/zeros" ] || truncate -s $tls_octets "$work/zeros"
	server openssl s_server -quiet -accept "$addr:$port" -naccept 1 -cert "$work/cert.pem" -key "$work/key.pem" -tls1_3 \
		-ciphersuites $suite <&"$never" >/dev/null || give_up 'openssl s_server' "$work/server" || return
	began=$(now_us)
	client openssl s_client -quiet -no_ign_eof -connect "$addr:$port" -tls1_3 -ciphersuites $suite <"$work/zeros" >/dev/null ||
		give_up 'openssl s_client' "$work/peer.err" || return
	moved $tls_octets "$began"
	end TERM
	return 0
}

dtls_ours() { locked ours_over udp write; }
dtls_plain() { ours_over udp write; }

# connects OPTION... -- OPTION...: the options of the server, then those of the client. The
# listener must have accepted every connection.
connects() {
	local program=$build/tests/connects/connects theirs=()

	while [ "$1" != -- ]; do
		theirs+=("$1")
		shift
	done
	shift
	start "$work/server" "$program" serve "$addr" @PORT@ "${theirs[@]}" || give_up 'connects serve' "$work/server" || return
	call "$work/ours" "$program" open "$addr" @PORT@ "$seconds" "$@" || give_up 'connects open' "$work/ours.err" || return
	end TERM
	value=$(awk -v accepted="$(sed -n 's/^accepted //p' "$work/server")" \
		'$2 == accepted && $2 > 0 { printf "{\"per_second\":%.1f}\n", $2 * 1e9 / $6 }' "$work/ours")
	[ -n "$value" ] || run_failed 'connects: the ends count differently' "$work/server"
}

rate_ours() { connects "$work/cert.pem" "$work/key.pem" -- "$pin"; }
rate_plain() { connects --; }

rate_s_time() {
	local began took n

	next_port
	server openssl s_server -quiet -accept "$addr:$port" -num_tickets 0 -cert "$work/cert.pem" -key "$work/key.pem" -tls1_3 \
		-ciphersuites $suite <&"$never" >/dev/null || give_up 'openssl s_server' "$work/server" || return
	began=$(now_us)
	client openssl s_time -connect "$addr:$port" -new -time "$seconds" -tls1_3 -ciphersuites $suite </dev/null >"$work/peer" ||
		give_up 'openssl s_time' "$work/peer.err" || return
	took=$(($(now_us) - began))
	end TERM
	n=$(sed -n 's/^\([0-9]*\) connections in .* real seconds.*/\1/p' "$work/peer" | tail -n 1)
	[ "${n:-0}" -gt 0 ] || run_failed 'openssl s_time: no connection' "$work/peer" || return
	value=$(jq -nc --argjson n "$n" --argjson us $took '{ per_second: ($n * 1e6 / $us) }')
}

# One sshd in the server's namespace, for all runs of P32, and the configuration of ssh, with which
# the host is called "bench".
sshd=
start_sshd() {
	local program

	[ -z "$sshd" ] || return 0
	program=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) || return 1
	next_port
	rm -f "$work/host_key" "$work/user_key"
	ssh-keygen -q -t ed25519 -N '' -f "$work/host_key" && ssh-keygen -q -t ed25519 -N '' -f "$work/user_key" || return 1
	cp "$work/user_key.pub" "$work/authorized" && echo "bench $(cat "$work/host_key.pub")" >"$work/ssh_known" || return 1
	printf '%s\n' "Port $port" "ListenAddress $addr" "HostKey $work/host_key" "AuthorizedKeysFile $work/authorized" 'StrictModes no' \
		'UsePAM no' 'PidFile none' 'PermitRootLogin prohibit-password' 'Subsystem sftp internal-sftp' 'PrintMotd no' >"$work/sshd_config"
	printf '%s\n' 'Host bench' "HostName $addr" "Port $port" "User $(id -un)" "IdentityFile $work/user_key" 'IdentitiesOnly yes' \
		"UserKnownHostsFile $work/ssh_known" 'HostKeyAlias bench' 'BatchMode yes' 'ControlPath none' 'Compression no' \
		'Ciphers aes128-gcm@openssh.com' 'LogLevel ERROR' >"$work/ssh_config"
	[ -d /run/sshd ] || mkdir -m 755 /run/sshd || return 1
	# shellcheck disable=SC2016,SC2086
	$to unshare -m sh -c 'home=$1; shift
		for file in "$home/.bashrc" "$home/.zshenv"; do
			[ ! -e "$file" ] || mount --bind /dev/null "$file" || exit
		done
		exec "$@"' sh "$(getent passwd "$(id -u)" | cut -d : -f 6)" "$program" -D -e -f "$work/sshd_config" </dev/null >"$work/sshd.log" 2>&1 &
	sshd=$!
	spinners="$spinners $sshd"
	await_listener $sshd
}

# ssh_moved COMMAND...: moves $what, a file or a directory below src, into dst; compares both
ssh_moved() {
	local began

	warm "$what" || return
	began=$(now_us)
	client "$@" </dev/null >"$work/peer" || run_failed "$1 by ssh" "$work/peer.err" || return
	moved "$ssh_octets" "$began"
	diff -rq "$shm/src/$what" "$shm/dst/$what" >"$work/differ" || run_failed "$1 by ssh: what arrived is not what was sent" "$work/differ"
}

ssh_ours() {
	ssh_moved "$build/ddp-send" -q --ssh="ssh -F $work/ssh_config" --no-fallback --far-program="$build/ddp-recv" "$shm/src/$what" \
		"$(id -un)@bench:$shm/dst"
}

ssh_scp() { ssh_moved scp -q -r -F "$work/ssh_config" "$shm/src/$what" "bench:$shm/dst/"; }
ssh_rsync() { ssh_moved rsync -r --whole-file --inplace -e "ssh -F $work/ssh_config" "$shm/src/$what" "bench:$shm/dst/"; }

# Sets `why` to the reason why ID cannot be measured, or to nothing.
encryption_needs() {
	local tool

	why=
	[ -n "$have_veth" ] || why='needs network namespaces'
	for tool in $(case $1 in P30) echo openssl socat ;; P32 | P32m) echo ssh-keygen ssh scp rsync ;; *) echo openssl ;; esac); do
		command -v "$tool" >/dev/null || why="needs $tool: scripts/packages --install bench"
	done
	case $1 in
	P32 | P32m)
		[ "$(id -u)" -eq 0 ] || why='needs to be root: sshd'
		[ -n "$why" ] || make_files || why='needs room in /dev/shm'
		[ -n "$why" ] || { place veth && start_sshd; } || why='sshd does not start'
		;;
	P33)
		[ -x "$build/tests/connects/connects" ] || why='needs the test program: make connects-bin'
		[ -n "$why" ] || make_keys || why='openssl cannot make a certificate'
		;;
	*) [ -n "$why" ] || make_keys || why='openssl cannot make a certificate' ;;
	esac
	[ -z "$why" ]
}

ssh_files() {
	if [ "$1" = P32 ]; then
		what=file ssh_octets=$file_octets
		head -c "$file_octets" /dev/urandom >"$shm/src/file"
	else
		what=small ssh_octets=$((small_count * 4096))
		small_files small "$small_count"
	fi
	rounds "$1" veth ssh ours scp rsync
	rm -rf "$shm/src/$what" "$shm/dst/$what"
}

encryption() {
	local id why what ssh_octets small_count=10000

	[ -z "$quick" ] || small_count=1000
	for id in P30 P31 P32 P32m P33; do
		wanted $id || continue
		if ! encryption_needs $id; then
			skip $id "$why"
			continue
		fi
		case $id in
		P30) rounds P30 veth tls ours plain socat s_client ;;
		P31) rounds P31 veth dtls ours plain ;;
		P32 | P32m) ssh_files $id ;;
		P33) rounds P33 veth rate ours plain s_time ;;
		esac
	done
}
