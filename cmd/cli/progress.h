/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One line on a terminal that shows the progress of long work:
 *
 *   big.img   45%  1.2 GiB of 2.0 GiB  12.3 Gb/s  0:42 left
 *
 * It is written only to a terminal, and only while the tool runs in the foreground. It never wraps,
 * is drawn at most ten times a second, is hidden while messages of cli/log.h are written, and is
 * erased at the end. A process can have one at a time, because the log can hide only one.
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
	const char *what; /* name of the work, kept; NULL: none */
	uint64_t total;   /* octets; 0: not known */
	uint64_t done;
	uint64_t found;    /* octets that were done at the beginning; not part of the rate */
	uint64_t drawn_at; /* ns */
	size_t shown;      /* columns of the line on the terminal; 0: none */
	/* The rate is that of the last samples, about three seconds. */
	struct {
		uint64_t at, done;
	} samples[IW_PROGRESS_SAMPLES];
	unsigned int nsamples, oldest;
};

/*
 * Begins with done octets of total (0: not known). what is kept. fd is borrowed until
 * iw_cli_progress_end. now is iw_os_now, here and below.
 */
void iw_cli_progress_begin(struct iw_cli_progress *p, int fd, const char *what, uint64_t done,
			   uint64_t total, uint64_t now);
/*
 * Sets the octets that are done, and draws the line unless that was less than 100 ms ago. Call it
 * also while no octets move, or the line keeps the old rate.
 */
void iw_cli_progress_update(struct iw_cli_progress *p, uint64_t done, uint64_t now);
/* Bits per second of the last samples. Also works without a terminal. */
uint64_t iw_cli_progress_rate(const struct iw_cli_progress *p, uint64_t now);
/* Erases the line. */
void iw_cli_progress_end(struct iw_cli_progress *p);

/* Writes the text of the line, at most columns wide, to buf. */
void iw_cli_progress_line(const struct iw_cli_progress *p, char *buf, size_t cap,
			  unsigned int columns, uint64_t now);

#endif
