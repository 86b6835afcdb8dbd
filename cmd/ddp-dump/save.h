/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies captured frames to a file: all frames, or those of the selected events.
 *
 *     iw_cap_save_frame(s, &frame, ...)    after iw_cap_push
 *     iw_cap_save_event(s, ev, wanted)     for each event
 *     iw_cap_save_flush(s, true, &why)     at the end
 *
 * A copy belongs to one thread at a time. At most 8,192 frames, or 32 MiB of them, are queued until
 * their events are known.
 */
#ifndef IW_DDP_DUMP_SAVE_H
#define IW_DDP_DUMP_SAVE_H

#include <stdbool.h>

#include "ddp-dump/capture.h"

struct iw_cap_save;

/*
 * Creates the file: pcapng if path ends in .pcapng, otherwise pcap; both with nanoseconds. option:
 * the one that names the file, for messages.
 * linktype: from iw_cap_source_linktype(). selective: only wanted frames are written. path is
 * borrowed until *out is closed; *out is owned by the caller. IW_E_NOMEM: out of memory; else the
 * error of iw_os_fail: the file cannot be opened.
 */
IW_MUST_CHECK int iw_cap_save_open(struct iw_cap_save **out, const char *option, const char *path,
				   int linktype, bool selective, struct iw_fault *why);
/* Queues a copy of the frame. flow, from: from iw_cap_frame_flow(); flow may be NULL. wanted: the
 * frame is written even if no event of it is wanted. IW_E_NOMEM: out of memory; else the error of
 * iw_os_fail: an earlier frame could not be written. */
IW_MUST_CHECK int iw_cap_save_frame(struct iw_cap_save *s, const struct iw_cap_frame *f,
				    const struct iw_cap_flow *flow, unsigned from, bool wanted,
				    struct iw_fault *why);
/* Notes an event. If it is wanted, so are the frames that hold its segment; in pcapng it becomes a
 * comment of its frame. */
void iw_cap_save_event(struct iw_cap_save *s, const struct iw_cap_event *ev, bool wanted);
/* Flushes the file. At the end, and at any time without a selection, also writes the queued frames
 * that are wanted. Error of iw_os_fail: a write failed. */
IW_MUST_CHECK int iw_cap_save_flush(struct iw_cap_save *s, bool end, struct iw_fault *why);
/* Returns whether a frame became wanted after it had left the queue, and so is not in the file. */
bool iw_cap_save_missed(const struct iw_cap_save *s);
/* Closes the file and frees s, which may be NULL. Queued frames are lost: flush first. */
void iw_cap_save_close(struct iw_cap_save *s);

#endif
