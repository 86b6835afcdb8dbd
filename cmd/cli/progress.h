/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One line on a terminal while long work is under way:
 *
 *   big.img   45%  1.2 GiB of 2.0 GiB  12.3 Gb/s  0:42 left
 *
 * Nothing is written when the descriptor is no terminal, or when the tool runs in the background.
 * The line never wraps, is drawn at most ten times a second, gives way to messages of cli/log.h,
 * and is gone at the end. One at a time in a process, because the log knows one.
 */
#ifndef IW_CLI_PROGRESS_H
#define IW_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IW_PROGRESS_SAMPLES 32

struct iw_cli_progress {
	int fd;
	bool on;
	const char *what; /* kept */
	uint64_t total;   /* octets; 0: not known */
	uint64_t done;
	uint64_t found; /* octets of done that were there already: they do not count for the rate */
	uint64_t drawn_at; /* ns */
	size_t shown;      /* columns of the line that stands on the terminal; 0: none */
	/* The rate is taken over the last samples, about three seconds, so that it follows. */
	struct {
		uint64_t at, done;
	} samples[IW_PROGRESS_SAMPLES];
	unsigned int nsamples, oldest;
};

/*
 * Begins: @what (kept; NULL for none) names the work, @done octets of @total (0: not known) are
 * there already. @now is iw_os_now(). @fd is borrowed until iw_cli_progress_end().
 */
void iw_cli_progress_begin(struct iw_cli_progress *p, int fd, const char *what, uint64_t done,
			   uint64_t total, uint64_t now);
/*
 * So much is done now. Cheap when it is not time to draw. Also to be called when nothing moves, or
 * the line goes on telling the old rate.
 */
void iw_cli_progress_update(struct iw_cli_progress *p, uint64_t done, uint64_t now);
/* Bits a second, over the last samples: also where there is no terminal. */
uint64_t iw_cli_progress_rate(const struct iw_cli_progress *p, uint64_t now);
/* Wipes the line. */
void iw_cli_progress_end(struct iw_cli_progress *p);

/* The text of the line, at most @columns wide, into @buf (@cap octets): what draws uses. */
void iw_cli_progress_line(const struct iw_cli_progress *p, char *buf, size_t cap,
			  unsigned int columns, uint64_t now);

#endif
