/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a tool tells its caller when it ends. */
#ifndef IW_CLI_EXIT_H
#define IW_CLI_EXIT_H

enum iw_exit {
	IW_EXIT_OK = 0, /* did it; the answer is yes */
	IW_EXIT_NO = 1, /* did it; the answer is no: peer failed, check failed, threshold missed */
	IW_EXIT_USAGE = 2,  /* bad option, or a selection that matches nothing */
	IW_EXIT_CANNOT = 3, /* cannot here: not built, not permitted, not in this kernel */
	IW_EXIT_FAILED = 4, /* failed on the way: system or resource error, connection lost */
};

/*
 * The status for an error of the library (0 or negative enum iw_err). What the peer answered or did
 * against the protocol is IW_EXIT_NO; a peer that went away or fell silent is IW_EXIT_FAILED, since
 * nobody can tell it from a cut link. A number that is no error of ours is IW_EXIT_FAILED.
 */
enum iw_exit iw_exit_status(int err);

#endif
