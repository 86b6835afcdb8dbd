/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether somebody is looking, and how wide their window is. */
#ifndef IW_CLI_TERM_H
#define IW_CLI_TERM_H

/* The columns of the terminal @fd; 80 when it does not know; 0 when @fd is no terminal. */
unsigned int iw_cli_columns(int fd);

#endif
