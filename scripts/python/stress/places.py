# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the hosts of a testbed run: on loopback, or in the namespaces of a fabric."""

from stress.failure import Cannot, Failure, Invalid

LOOPBACK = "127.0.0.1"


class Place:
    """address: of its listeners. prefix: words of a command that runs a tool there. environment:
    variables of that command."""

    def __init__(self, name, address, prefix=(), environment=None):
        self.name = name
        self.address = address
        self.prefix = tuple(prefix)
        self.environment = environment or {}

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
    """The first hosts of a topology file (scripts/fabric). They must reach each other by the first
    address of each."""

    def __init__(self, path, hosts):
        import checked  # only here: loopback needs no fabric
        from fabric import live, topology
        try:
            self.fabric = live.Fabric(topology.load(path))
        except checked.Invalid as error:
            raise Invalid(str(error)) from None
        self.hosts = hosts

    def __enter__(self):
        from fabric import errors
        try:
            self.fabric.up()
        except errors.Cannot as error:
            raise Cannot(str(error)) from None
        except errors.Failed as error:
            raise Failure(str(error)) from None
        names = self.fabric.hosts()
        if len(names) < self.hosts:
            self.fabric.down()
            raise Cannot(f"--hosts {self.hosts}: expected at most {len(names)}, the hosts of "
                         f"{self.fabric.topology.path}")
        return [self.make(name) for name in names[:self.hosts]]

    def make(self, name):
        words, environment = self.fabric.command(name, [])
        return Place(name, self.fabric.addresses(name)[0], words, environment)

    def __exit__(self, *_):
        self.fabric.down()
