# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pictures of transfers. inputs reads the files, view selects a connection and gives all events one
clock, one module for each kind of picture makes tables and a gnuplot script, and draw runs
gnuplot."""
