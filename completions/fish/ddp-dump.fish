# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# fish completion for ddp-dump

complete -c ddp-dump -f
complete -c ddp-dump -s r -l read -r -k -a '(__fish_complete_suffix .pcap; __fish_complete_suffix .pcapng)' -d 'Read a capture'
complete -c ddp-dump -l json -d 'Results as JSON'
complete -c ddp-dump -s v -l verbose -d 'Say more'
complete -c ddp-dump -s q -l quiet -d 'Say nothing but errors'
complete -c ddp-dump -s t -l transport -x -a 'tcp sctp udp raw xdp' -d 'Transport'
complete -c ddp-dump -s p -l port -x -d 'Port'
complete -c ddp-dump -s b -l bind -x -a '(__fish_print_hostnames)' -d 'Local address'
complete -c ddp-dump -s I -l interface -x -a '(__fish_print_interfaces)' -d 'Network interface'
complete -c ddp-dump -l timeout -x -d 'Give up after so long without progress'
complete -c ddp-dump -l trace -r -F -d 'Protocol events into a file'
complete -c ddp-dump -l doctor -d 'What this machine can run'
complete -c ddp-dump -s '?' -l help -d 'List of options'
complete -c ddp-dump -l usage -d 'Short list of options'
complete -c ddp-dump -s V -l version -d 'Version'
