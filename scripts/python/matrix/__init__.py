# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The interop matrix: implementations of iWARP run against each other, and the report of a run."""
