# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# fish completion for ddp-xdp

set --local commands attach status detach

complete -c ddp-xdp -f
complete -c ddp-xdp -n "not __fish_seen_subcommand_from $commands" -x -a attach -d 'Keep a program on an interface'
complete -c ddp-xdp -n "not __fish_seen_subcommand_from $commands" -x -a status -d 'Who is attached, what was counted'
complete -c ddp-xdp -n "not __fish_seen_subcommand_from $commands" -x -a detach -d 'Take a program away'
complete -c ddp-xdp -n '__fish_seen_subcommand_from attach' -l program -x -a 'steer mpa' -d 'Steer packets, or watch MPA'
complete -c ddp-xdp -n '__fish_seen_subcommand_from attach' -l mode -x -a 'any native generic' -d 'Where it runs'
complete -c ddp-xdp -n '__fish_seen_subcommand_from attach' -l foreground -d 'Stay, and keep it until interrupted'
complete -c ddp-xdp -n '__fish_seen_subcommand_from attach detach' -l pin -r -d 'Directory of pinned links'
complete -c ddp-xdp -n '__fish_seen_subcommand_from attach' -l dispatcher -d 'Beside other programs'
complete -c ddp-xdp -n '__fish_seen_subcommand_from attach' -l sample -x -d 'Tell one event of so many'
complete -c ddp-xdp -n '__fish_seen_subcommand_from attach' -l associations -x -d 'Room for so many'
complete -c ddp-xdp -n '__fish_seen_subcommand_from attach' -l stags -x -d 'Room for so many'
complete -c ddp-xdp -n '__fish_seen_subcommand_from status' -l interval -x -d 'Look again that often'
complete -c ddp-xdp -n '__fish_seen_subcommand_from status' -s c -l count -x -d 'End after so many looks'
complete -c ddp-xdp -n '__fish_seen_subcommand_from status' -l events -d 'Tell sampled events'
complete -c ddp-xdp -n '__fish_seen_subcommand_from detach' -l force-clean -d 'Whatever it is, whoever uses it'
complete -c ddp-xdp -s I -l interface -x -a '(__fish_print_interfaces)' -d 'The interface'
complete -c ddp-xdp -l json -d 'Results as JSON'
complete -c ddp-xdp -s v -l verbose -d 'Say more'
complete -c ddp-xdp -s q -l quiet -d 'Say nothing but errors'
complete -c ddp-xdp -l no-config -d 'Do not read the configuration files'
complete -c ddp-xdp -l doctor -d 'What this machine can run'
complete -c ddp-xdp -s '?' -l help -d 'List of options'
complete -c ddp-xdp -l usage -d 'Short list of options'
complete -c ddp-xdp -s V -l version -d 'Version'
