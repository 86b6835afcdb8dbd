# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# fish completion for ddp-bench

function __ddp_bench_words
    count (string match -v -- '-*' (commandline -opc))
end

complete -c ddp-bench -f
complete -c ddp-bench -n 'test (__ddp_bench_words) -eq 1' -a '(__fish_print_hostnames)'
complete -c ddp-bench -n 'test (__ddp_bench_words) -eq 1' -a stag -d 'cost of a look-up among a million STags'
complete -c ddp-bench -n 'test (__ddp_bench_words) -eq 1' -a xdp -d 'what -t xdp is worth beside bare AF_XDP'
complete -c ddp-bench -n 'test (__ddp_bench_words) -gt 1' -a 'write read send pingpong'
complete -c ddp-bench -s s -l size -x -d 'Octets of a message'
complete -c ddp-bench -l time -x -d 'Length of the measurement'
complete -c ddp-bench -s n -l count -x -d 'Measure so many messages instead'
complete -c ddp-bench -s w -l warmup -x -d 'Move data that long before'
complete -c ddp-bench -l depth -x -d 'Messages outstanding'
complete -c ddp-bench -l interval -x -d 'Between intermediate results'
complete -c ddp-bench -l no-verify -d 'Do not verify the data'
complete -c ddp-bench -l spin -x -d 'Poll that long before sleeping'
complete -c ddp-bench -l cc -x -a '(string split " " < /proc/sys/net/ipv4/tcp_available_congestion_control) rfc9260 cubic' -d 'Congestion control'
complete -c ddp-bench -l mulpdu -x -a 'auto emss' -d 'Longest segment'
complete -c ddp-bench -l udp-port -x -d 'UDP port of the listener, for -t udp'
complete -c ddp-bench -l profile -x -a 'rfc sctp-draft-02' -d 'Edition of DDP over SCTP'
complete -c ddp-bench -l crc -x -a 'wanted required off' -d 'CRC32c'
complete -c ddp-bench -l markers -d 'Demand MPA markers'
complete -c ddp-bench -l rev -x -a '1 2' -d 'MPA revision'
complete -c ddp-bench -s l -l listen -d 'Serve clients'
complete -c ddp-bench -l once -d 'Serve one client'
complete -c ddp-bench -l memory -x -d 'Memory for all clients'
complete -c ddp-bench -s t -l transport -x -a 'tcp sctp udp raw xdp' -d 'Transport'
complete -c ddp-bench -s p -l port -x -d 'Port'
complete -c ddp-bench -s b -l bind -x -a '(__fish_print_hostnames)' -d 'Local address'
complete -c ddp-bench -s I -l interface -x -a '(__fish_print_interfaces)' -d 'Network interface'
complete -c ddp-bench -l timeout -x -d 'Give up after so long without progress'
complete -c ddp-bench -l json -d 'Results as JSON'
complete -c ddp-bench -s v -l verbose -d 'Say more'
complete -c ddp-bench -s q -l quiet -d 'Say nothing but errors'
complete -c ddp-bench -l trace -r -d 'Protocol events into a file'
complete -c ddp-bench -l doctor -d 'What this machine can run'
complete -c ddp-bench -s '?' -l help -d 'List of options'
complete -c ddp-bench -l usage -d 'Short list of options'
complete -c ddp-bench -s V -l version -d 'Version'
