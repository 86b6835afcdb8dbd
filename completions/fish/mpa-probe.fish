# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# fish completion for mpa-probe

function __mpa_probe_words
    count (string match -v -- '-*' (commandline -opc))
end

complete -c mpa-probe -f
complete -c mpa-probe -n 'test (__mpa_probe_words) -eq 1' -a '(__fish_print_hostnames)'
complete -c mpa-probe -s a -l all -d 'Try all revisions, CRC, markers and RTR forms'
complete -c mpa-probe -l single -d 'Make only one connection'
complete -c mpa-probe -l rate -x -d 'At most this many connections per second'
complete -c mpa-probe -l app -x -a rping -d 'Run as this program'
complete -c mpa-probe -s c -l count -x -d 'Rounds of rping'
complete -c mpa-probe -s s -l size -x -d 'Octets of a ping'
complete -c mpa-probe -l verify -d 'Compare the data'
complete -c mpa-probe -l no-verify -d 'Do not compare the data'
complete -c mpa-probe -s l -l listen -d 'Run as a responder'
complete -c mpa-probe -l personality -x -a 'rfc siw chelsio windows plain' -d 'Answer like this implementation'
complete -c mpa-probe -l reject -d 'Refuse every Request'
complete -c mpa-probe -l once -d 'Serve one connection'
complete -c mpa-probe -l rev -x -a '0 1 2 3' -d 'MPA revision'
complete -c mpa-probe -l profile -x -a 'rfc rdmac' -d 'Edition of the wire protocols'
complete -c mpa-probe -l crc -x -a 'wanted required off' -d 'CRC32c'
complete -c mpa-probe -l markers -d 'Demand MPA markers'
complete -c mpa-probe -l rtr -x -a 'send write read' -d 'RTR forms'
complete -c mpa-probe -l peer-to-peer -d 'Request the peer-to-peer model'
complete -c mpa-probe -l private-data -x -d 'Private Data'
complete -c mpa-probe -l quirk -x -a 'siw-first-fpdu none' -d 'Behaviour of a peer to handle or emulate'
complete -c mpa-probe -s t -l transport -x -a tcp -d 'Transport'
complete -c mpa-probe -s p -l port -x -d 'Port'
complete -c mpa-probe -s b -l bind -x -a '(__fish_print_hostnames)' -d 'Local address'
complete -c mpa-probe -s I -l interface -x -a '(__fish_print_interfaces)' -d 'Network interface'
complete -c mpa-probe -l timeout -x -d 'Give up after this time without progress'
complete -c mpa-probe -l json -d 'Results as JSON'
complete -c mpa-probe -s v -l verbose -d 'Report more'
complete -c mpa-probe -s q -l quiet -d 'Report only the result and errors'
complete -c mpa-probe -l trace -r -d 'Protocol events into a file'
complete -c mpa-probe -l doctor -d 'Report what this machine can run'
complete -c mpa-probe -s '?' -l help -d 'List of options'
complete -c mpa-probe -l usage -d 'Short list of options'
complete -c mpa-probe -s V -l version -d 'Version'
