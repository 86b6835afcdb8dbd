# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the hosts of a world run: on loopback, or in the namespaces of a fabric."""

from stress.failure import Cannot

LOOPBACK = "127.0.0.1"


class Place:
    """prefix: words of a command that runs a tool there. address: of its listeners."""

    def __init__(self, name, address, prefix=()):
        self.name = name
        self.address = address
        self.prefix = tuple(prefix)

    def local(self):
        return self.address == LOOPBACK


class Loopback:
    """Every host is on 127.0.0.1, with ports of its own."""

    def __init__(self, hosts):
        self.places = [Place(f"host {n}", LOOPBACK) for n in range(hosts)]

    def __enter__(self):
        return self.places

    def __exit__(self, *_):
        pass


class Namespaces:
    """The hosts of a topology file (scripts/fabric), in its order."""

    def __init__(self, path, hosts):
        from fabric import live, topology  # only here: loopback needs no root
        self.fabric = live.Fabric(topology.load(path))
        self.hosts = hosts

    def __enter__(self):
        self.fabric.__enter__()
        names = self.fabric.hosts()
        if len(names) < self.hosts:
            self.fabric.__exit__(None, None, None)
            raise Cannot(f"--hosts {self.hosts}: the topology has {len(names)} hosts")
        return [Place(name, self.fabric.addresses(name)[0], self.fabric.command(name, []))
                for name in names[:self.hosts]]

    def __exit__(self, *error):
        return self.fabric.__exit__(*error)
