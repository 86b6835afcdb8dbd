# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Random operations of many hosts, compared with a model.

A list of operations is made from a seed (operations), run one after the other on a world of hosts
(world, places), and compared by content with a model after each of them (files, buffers, stags,
sessions). A list that fails is reduced to the operations that it needs (shrink). The soak repeats
the models against servers that live all the time, and judges their growth (soak, samples, growth).
"""
