/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The width of a terminal. */
#ifndef IW_CLI_TERM_H
#define IW_CLI_TERM_H

/* Returns the columns of the terminal fd; 80: not known; 0: fd is not a terminal. */
unsigned int iw_cli_columns(int fd);

#endif
