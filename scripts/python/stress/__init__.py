# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Random operations of many hosts, compared with a model.

A list of operations is made from a seed (operations), run one after the other on a testbed of hosts
(testbed, places), and compared by content with a model after each of them (files, buffers, stags,
sessions). A list that fails is reduced to the operations that it needs (runner). The soak repeats
the models against servers that run all the time, and judges their growth (soak, samples, growth).
"""
