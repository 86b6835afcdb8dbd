# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The report of scripts/bench: the rows with their bars, the table and the pages."""
