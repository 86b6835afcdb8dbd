/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The exit statuses of the tools. */
#ifndef IW_CLI_EXIT_H
#define IW_CLI_EXIT_H

enum iw_exit {
	IW_EXIT_OK = 0,     /* done; the answer is yes */
	IW_EXIT_NO = 1,     /* done; the answer is no: peer or check failed, threshold missed */
	IW_EXIT_USAGE = 2,  /* bad option, or a selection that matches nothing */
	IW_EXIT_CANNOT = 3, /* cannot run here: not built, not permitted, not in this kernel */
	IW_EXIT_FAILED = 4, /* failed: system or resource error, connection lost */
};

/*
 * Returns the exit status for an error of the library (0 or a negative enum iw_err). A peer that
 * rejects or breaks the protocol gives IW_EXIT_NO. A peer that disappears or falls silent gives
 * IW_EXIT_FAILED, because it cannot be distinguished from a broken link. So does an unknown number.
 */
enum iw_exit iw_exit_status(int err);

#endif
