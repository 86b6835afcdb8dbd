// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sampled events of the steering program, from its ring buffer. */
#include <stdio.h>

#include "ddp-xdp/internal.h"
#include "os/os.h"
#include "util/num.h"
#include "util/text.h"

#define EVENTS_MAX 64 /* taken from the ring at once, at most */

static const char *event_name(uint32_t kind)
{
	switch ((enum iw_xdp_event_kind)kind) {
	case IW_XDP_EV_STAG:
		return "stag_unknown";
	case IW_XDP_EV_CHUNK:
		return "chunk_bad";
	case IW_XDP_EV_FRAGMENT:
		return "fragment";
	}
	return "unknown";
}

static int event_json(struct iw_json *w, const struct iw_status *l, const struct iw_xdp_event *e,
		      struct iw_fault *why)
{
	char hex[2 * IW_XDP_HEAD + 1], stag[9];
	struct iw_text t;

	iw_text_init(&t, hex, sizeof(hex));
	iw_text_octets(&t, e->head, IW_MIN((size_t)e->head_len, sizeof(e->head)));
	iw_json_begin(w, "sample");
	iw_json_str(w, "interface", l->name);
	iw_json_str(w, "kind", event_name(e->kind));
	iw_json_u64(w, "t_ns", e->time_ns & IW_JSON_MAX);
	iw_json_decimal(w, "time_ns", iw_os_wall() - (iw_os_now() - e->time_ns));
	iw_json_u64(w, "every", e->every);
	iw_json_u64(w, "frame_octets", e->len);
	if (e->kind != IW_XDP_EV_FRAGMENT)
		iw_json_u64(w, "tag", e->tag);
	if (e->kind == IW_XDP_EV_STAG) {
		snprintf(stag, sizeof(stag), "%08x", e->stag);
		iw_json_str(w, "stag", stag);
		iw_json_u64(w, "stream", e->stream);
	}
	iw_json_str(w, "head", hex);
	return iw_status_end_line(w, why);
}

static void print_event(const struct iw_xdp_event *e)
{
	printf("  one of %u: %s, frame of %u octets", e->every, event_name(e->kind), e->len);
	if (e->kind != IW_XDP_EV_FRAGMENT)
		printf(", association %08x", e->tag);
	if (e->kind == IW_XDP_EV_STAG)
		printf(", stream %u, STag %08x", e->stream, e->stag);
	putchar('\n');
}

int iw_status_samples(struct iw_status *l, struct iw_json *json, struct iw_fault *why)
{
	struct iw_xdp_event e[EVENTS_MAX];
	int n, err = 0;

	if (!l->steer)
		return 0;
	do {
		n = iw_steer_events(l->steer, e, EVENTS_MAX);
		if (n < 0)
			return iw_fail(why, n,
				       "interface %s: cannot read the events of the program",
				       l->name);
		for (int i = 0; i < n && !err; i++) {
			if (json)
				err = event_json(json, l, &e[i], why);
			else
				print_event(&e[i]);
		}
	} while (n == EVENTS_MAX && !err);
	return err;
}
