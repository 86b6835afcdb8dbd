// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Writes frames to a file, as pcap or as pcapng (draft-ietf-opsawg-pcapng). Often the events of a
 * frame are known only some frames later. Until then frames are in a queue of bounded size; they
 * are written in the order of the capture.
 */
#include "ddp-dump/save.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "util/list.h"
#include "util/num.h"
#include "util/text.h"

#define QUEUE_FRAMES 8192
#define QUEUE_OCTETS (32u << 20)
#define COMMENT_MAX  4000
#define SNAPLEN      262144

struct held_frame {
	struct iw_list link;
	uint64_t number, time_ns;
	size_t len, wire_len;
	bool wanted;
	bool has_flow;
	uint32_t flow;
	unsigned from;
	char *comment; /* owned; NULL: none */
	uint8_t data[];
};

struct iw_cap_save {
	FILE *file;
	const char *path; /* borrowed */
	bool ng, selective;
	struct iw_list queue;
	size_t frames, octets;
	uint64_t late; /* an event of a frame below this number may be too late to save it */
	bool missed;
	int error; /* errno of the first failed write; 0: none */
};

/* --- formats --- */

struct file_head {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy, snaplen, linktype;
};

#define PCAP_MAGIC_NS 0xa1b23c4du

static void put(struct iw_cap_save *s, const void *p, size_t len)
{
	(void)fwrite(p, 1, len, s->file); /* the stream remembers a failure */
}

static void put32(struct iw_cap_save *s, uint32_t v)
{
	put(s, &v, sizeof(v));
}

static void put16(struct iw_cap_save *s, uint16_t v)
{
	put(s, &v, sizeof(v));
}

static size_t padded(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

static void put_padded(struct iw_cap_save *s, const void *p, size_t len)
{
	static const uint8_t zeros[4];

	put(s, p, len);
	put(s, zeros, padded(len) - len);
}

/* Types of blocks and options: sections 3.5 and 4.1 to 4.3 of the draft. */
enum { BLOCK_INTERFACE = 1, BLOCK_PACKET = 6, BLOCK_SECTION = 0x0a0d0d0a };
enum { OPT_END = 0, OPT_COMMENT = 1, OPT_TSRESOL = 9, OPT_USER_APPLICATION = 4 };

static void put_option(struct iw_cap_save *s, uint16_t code, const void *p, size_t len)
{
	put16(s, code);
	put16(s, (uint16_t)len);
	put_padded(s, p, len);
}

static void head_ng(struct iw_cap_save *s, int linktype)
{
	static const char application[] = "ddp-dump";
	static const uint8_t nanoseconds = 9; /* 10^-9 */
	uint32_t len = 28 + 4 + (uint32_t)padded(sizeof(application) - 1) + 4;

	put32(s, BLOCK_SECTION);
	put32(s, len);
	put32(s, 0x1a2b3c4d);
	put16(s, 1);
	put16(s, 0);
	put32(s, UINT32_MAX); /* the length of the section is not known */
	put32(s, UINT32_MAX);
	put_option(s, OPT_USER_APPLICATION, application, sizeof(application) - 1);
	put32(s, OPT_END);
	put32(s, len);
	len = 20 + 8 + 4;
	put32(s, BLOCK_INTERFACE);
	put32(s, len);
	put16(s, (uint16_t)linktype);
	put16(s, 0);
	put32(s, SNAPLEN);
	put_option(s, OPT_TSRESOL, &nanoseconds, 1);
	put32(s, OPT_END);
	put32(s, len);
}

static void frame_ng(struct iw_cap_save *s, const struct held_frame *h)
{
	size_t comment = h->comment ? strlen(h->comment) : 0;
	uint32_t len =
		32 + (uint32_t)padded(h->len) + (comment ? 8 + (uint32_t)padded(comment) : 0);

	put32(s, BLOCK_PACKET);
	put32(s, len);
	put32(s, 0);
	put32(s, (uint32_t)(h->time_ns >> 32));
	put32(s, (uint32_t)h->time_ns);
	put32(s, (uint32_t)h->len);
	put32(s, (uint32_t)h->wire_len);
	put_padded(s, h->data, h->len);
	if (comment) {
		put_option(s, OPT_COMMENT, h->comment, comment);
		put32(s, OPT_END);
	}
	put32(s, len);
}

static void head_pcap(struct iw_cap_save *s, int linktype)
{
	struct file_head h = { .magic = PCAP_MAGIC_NS,
			       .major = 2,
			       .minor = 4,
			       .snaplen = SNAPLEN,
			       .linktype = (uint32_t)linktype };

	put(s, &h, sizeof(h));
}

static void frame_pcap(struct iw_cap_save *s, const struct held_frame *h)
{
	put32(s, (uint32_t)(h->time_ns / 1000000000u));
	put32(s, (uint32_t)(h->time_ns % 1000000000u));
	put32(s, (uint32_t)h->len);
	put32(s, (uint32_t)h->wire_len);
	put(s, h->data, h->len);
}

/* --- the queue --- */

static struct held_frame *held_of(struct iw_list *l)
{
	return iw_container_of(l, struct held_frame, link);
}

static void write_or_drop(struct iw_cap_save *s, struct held_frame *h)
{
	if (h->wanted && s->ng)
		frame_ng(s, h);
	else if (h->wanted)
		frame_pcap(s, h);
	else
		s->late = h->number + 1;
	s->frames--;
	s->octets -= h->len;
	iw_list_del(&h->link);
	free(h->comment);
	free(h);
}

static void drain(struct iw_cap_save *s, size_t frames)
{
	struct iw_list *l;

	while ((s->frames > frames || (frames && s->octets > QUEUE_OCTETS)) &&
	       (l = iw_list_first(&s->queue)))
		write_or_drop(s, held_of(l));
}

static int check(struct iw_cap_save *s, struct iw_fault *why)
{
	if (ferror(s->file) && !s->error)
		s->error = errno ? errno : EIO;
	return s->error ? iw_os_fail(why, s->error, "write %s", s->path) : 0;
}

static bool ends_in(const char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	return len >= n && strcmp(s + len - n, end) == 0;
}

/* Explains the usual mistakes: a missing directory, and a directory instead of a file. */
static int open_failed(const char *option, const char *path, int errnum, struct iw_fault *why)
{
	int err = iw_os_fail(why, errnum, "%s %s", option, path);
	const char *slash = strrchr(path, '/');

	if (why && errnum == ENOENT && slash && slash > path)
		snprintf(
			why->text, sizeof(why->text),
			"%s %s: the directory %.*s does not exist; create it, or name another file",
			option, path, (int)(slash - path), path);
	else if (why && errnum == ENOTDIR && slash && slash > path)
		snprintf(why->text, sizeof(why->text),
			 "%s %s: %.*s is not a directory; name another file", option, path,
			 (int)(slash - path), path);
	else if (why && errnum == EISDIR)
		snprintf(why->text, sizeof(why->text),
			 "%s %s: a directory; expected the name of a file", option, path);
	return err;
}

int iw_cap_save_open(struct iw_cap_save **out, const char *option, const char *path, int linktype,
		     bool selective, struct iw_fault *why)
{
	struct iw_cap_save *s = calloc(1, sizeof(*s));

	if (!s)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	iw_list_init(&s->queue);
	s->path = path;
	s->ng = ends_in(path, ".pcapng");
	s->selective = selective;
	s->file = fopen(path, "wbe");
	if (!s->file) {
		int err = open_failed(option, path, errno, why);

		free(s);
		return err;
	}
	if (s->ng)
		head_ng(s, linktype);
	else
		head_pcap(s, linktype);
	*out = s;
	return 0;
}

int iw_cap_save_frame(struct iw_cap_save *s, const struct iw_cap_frame *f,
		      const struct iw_cap_flow *flow, unsigned from, bool wanted,
		      struct iw_fault *why)
{
	struct held_frame *h = malloc(sizeof(*h) + f->len);

	if (!h)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	*h = (struct held_frame){ .number = f->number,
				  .time_ns = f->time_ns,
				  .len = f->len,
				  .wire_len = f->wire_len,
				  .wanted = wanted,
				  .has_flow = flow != NULL,
				  .flow = flow ? flow->id : 0,
				  .from = from };
	memcpy(h->data, f->data, f->len);
	iw_list_add_tail(&s->queue, &h->link);
	s->frames++;
	s->octets += f->len;
	errno = 0;
	drain(s, s->ng || s->selective ? QUEUE_FRAMES : 0);
	return check(s, why);
}

/* Appends a line with the text of the event to the comment of its frame. */
static void add_comment(struct held_frame *h, const struct iw_cap_event *ev)
{
	static char line[COMMENT_MAX];
	const struct iw_cap_transfer *m = iw_cap_transfer_of(ev);
	size_t had = h->comment ? strlen(h->comment) : 0;
	struct iw_text t;
	char *p;

	iw_text_init(&t, line, sizeof(line));
	iw_cap_event_print(&t, ev);
	if (m) {
		iw_text_str(&t, "\n");
		iw_cap_transfer_print(&t, m);
	}
	if (had + t.len + 1 > COMMENT_MAX)
		return;
	p = realloc(h->comment, had + t.len + 2);
	if (!p)
		return; /* the frame is written without it */
	if (had)
		p[had++] = '\n';
	memcpy(p + had, line, t.len + 1);
	h->comment = p;
}

void iw_cap_save_event(struct iw_cap_save *s, const struct iw_cap_event *ev, bool wanted)
{
	uint64_t first = ev->frame;

	if (!wanted)
		return;
	if (ev->kind == IW_CAP_DDP)
		first = IW_MIN(first, ev->ddp.first_frame);
	s->missed |= s->selective && first < s->late;
	/* Most events belong to the newest frames, which are at the end. */
	for (struct iw_list *l = s->queue.prev; l != &s->queue; l = l->prev) {
		struct held_frame *h = held_of(l);

		if (h->number < first)
			return;
		if (h->number > ev->frame || !h->has_flow || h->flow != ev->flow->id)
			continue;
		if (h->number == ev->frame && s->ng)
			add_comment(h, ev);
		h->wanted |= h->from == ev->from || h->number == ev->frame;
	}
}

int iw_cap_save_flush(struct iw_cap_save *s, bool end, struct iw_fault *why)
{
	errno = 0;
	if (end || !s->selective)
		drain(s, 0);
	(void)fflush(s->file); /* the stream remembers a failure */
	return check(s, why);
}

bool iw_cap_save_missed(const struct iw_cap_save *s)
{
	return s->missed;
}

void iw_cap_save_close(struct iw_cap_save *s)
{
	struct iw_list *l;

	if (!s)
		return;
	while ((l = iw_list_first(&s->queue))) {
		held_of(l)->wanted = false;
		write_or_drop(s, held_of(l));
	}
	(void)fclose(s->file);
	free(s);
}
