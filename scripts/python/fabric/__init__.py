# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Test networks from topology files.

    import fabric.topology
    import fabric.live

    topology = fabric.topology.load("scripts/topologies/pair-lossy.yaml")
    with fabric.live.Fabric(topology) as net:
        server = net.popen("b", ["ddp-recv", "--bind", "*", "--once", "/tmp/in"])
        net.wait_listening("b", 7471)
        done = net.run("a", ["ddp-send", "file", f"{net.address('b')}:"], timeout=30)

settings    what a link does to frames
topology    the topology file: hosts, routers, networks, links
addresses   addresses and prefixes of the file
plan        subnets, addresses, interfaces and routes of a topology
errors      errors and their exit status
labels      what the label of a fabric marks: namespaces, files, processes
netns       network namespaces of the system, or of a user namespace
processes   the processes of a fabric
relays      the processes that disturb links, and netem
state       state files, leftovers
build       makes namespaces, links and relays
live        a running fabric
remote      a fabric of real machines over ssh
graph       pictures
status      what is up
supervisor  takes a fabric down when its owner ends
cli         the command line
"""
