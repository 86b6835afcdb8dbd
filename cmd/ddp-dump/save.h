/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A copy of the captured frames: all of them, or those that selected events are about.
 *
 *     iw_cap_save_frame(s, &frame, ...)    after iw_cap_push
 *     iw_cap_save_event(s, ev, wanted)     for each event
 *     iw_cap_save_flush(s, true, &why)     at the end
 *
 * Threads: one at a time. Memory: at most 8,192 frames of 32 MiB wait for their events.
 */
#ifndef IW_CAPTURE_SAVE_H
#define IW_CAPTURE_SAVE_H

#include <stdbool.h>

#include "ddp-dump/capture.h"

struct iw_cap_save;

/*
 * Creates the file: pcapng if path ends in .pcapng, else pcap, both with nanoseconds. path is borrowed
 * for life. linktype: iw_cap_source_linktype(). selective: only wanted frames are written. IW_E_OS:
 * the file cannot be opened; IW_E_NOMEM.
 */
IW_MUST_CHECK int iw_cap_save_open(struct iw_cap_save **out, const char *path, int linktype,
				   bool selective, struct iw_fault *why);
/* Copies a frame. flow, from: what iw_cap_frame_flow() returned; flow may be NULL. IW_E_OS: an earlier
 * frame could not be written; IW_E_NOMEM. */
IW_MUST_CHECK int iw_cap_save_frame(struct iw_cap_save *s, const struct iw_cap_frame *f,
				    const struct iw_cap_flow *flow, unsigned from, bool wanted,
				    struct iw_fault *why);
/* A wanted event makes the frames wanted that hold its segment, and becomes a comment in pcapng. */
void iw_cap_save_event(struct iw_cap_save *s, const struct iw_cap_event *ev, bool wanted);
/* Writes what is decided; at the end, all. IW_E_OS: that failed. */
IW_MUST_CHECK int iw_cap_save_flush(struct iw_cap_save *s, bool end, struct iw_fault *why);
/* A frame was wanted after it had left the queue: it is not in the file. */
bool iw_cap_save_missed(const struct iw_cap_save *s);
/* s may be NULL. */
void iw_cap_save_close(struct iw_cap_save *s);

#endif
