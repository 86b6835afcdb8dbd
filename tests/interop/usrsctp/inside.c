// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The engine, its speaker, and the link to usrsctp. */
#include "interop/usrsctp/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "rng.h"
#include "sctp/sctp.h"
#include "util/num.h"
#include "wire/sctp.h"

enum { MTU = 1500, ETHERNET = 14 };

struct inside {
	struct inside_cfg cfg;
	struct iw_sctp *s;
	struct iw_sctp_assoc *a;
	struct speaker *speaker;
	struct iw_link *to, *from; /* usrsctp */
	struct rng rng;
	uint64_t now;
	uint32_t tsn_first, tsn_next; /* TSNs of usrsctp's chunks */
	bool data;                    /* usrsctp has sent data */
	bool shut, ended, failed;
};

static int seeded(void *ctx, void *buf, size_t len)
{
	rng_fill(ctx, buf, len);
	return 0;
}

static const struct iw_sctp_addr here = { .ip = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 } };
static const struct iw_sctp_addr there = { .ip = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 2 } };

static void fail(struct inside *in, const char *what, const char *why)
{
	fprintf(stderr, "inside: %s: %s\n", what, why);
	in->failed = true;
}

struct inside *inside_new(const struct inside_cfg *cfg)
{
	struct inside *in = calloc(1, sizeof(*in));
	struct iw_sctp_cfg sctp = { .mem = &iw_os_heap,
				    .random = seeded,
				    .port = (uint16_t)(cfg->listen ? cfg->port : cfg->port + 1),
				    .listen = cfg->listen,
				    .streams = 1000,
				    .adaptation = 1,
				    .adaptation_required = true,
				    .rwnd = 1 << 20,
				    .mtu = MTU,
				    .assocs_max = 4 };
	struct iw_link_cfg back = cfg->link;
	struct iw_fault why = { .text = "out of memory" };

	if (!in)
		exit(4);
	in->cfg = *cfg;
	in->now = IW_SEC(1);
	in->rng.state = cfg->link.seed;
	sctp.random_ctx = &in->rng;
	back.seed++;
	if (iw_link_new(&in->to, &cfg->link, &iw_os_heap) < 0 ||
	    iw_link_new(&in->from, &back, &iw_os_heap) < 0 ||
	    iw_sctp_new(&in->s, &sctp, &why) < 0 ||
	    (!cfg->listen && iw_sctp_connect(in->s, &in->a, &there, cfg->port, NULL, in->now) < 0))
		fail(in, "begin", why.text);
	return in;
}

void inside_free(struct inside *in)
{
	if (!in)
		return;
	speaker_free(in->speaker);
	iw_sctp_free(in->s);
	iw_link_free(in->to);
	iw_link_free(in->from);
	free(in);
}

/* --- packets ---------------------------------------------------------------------------------- */

/* The link expects Ethernet frames. The headers here are dummies, so that corruption of a header
 * harms no packet. */
static void put(struct iw_link *link, const void *packet, size_t len, uint64_t now)
{
	static uint8_t frame[ETHERNET + 65536];

	memcpy(frame + ETHERNET, packet, len);
	iw_link_push(link, frame, ETHERNET + len, now);
}

/* Records the chunks that usrsctp has sent at least once. */
static void count_chunks(struct inside *in, const uint8_t *p, size_t len)
{
	struct iw_sctp_chunk c;
	struct iw_sctp_data d;
	int n;

	for (size_t at = IW_SCTP_HDR_LEN; at < len; at += (size_t)n) {
		n = iw_wire_sctp_chunk_decode(&c, p + at, len - at);
		if (n <= 0)
			return;
		if (c.type != IW_SCTP_DATA ||
		    iw_wire_sctp_data_decode(&d, c.value, c.value_len) <= 0)
			continue;
		if (!in->data)
			in->tsn_first = in->tsn_next = d.tsn;
		in->data = true;
		if ((int32_t)(d.tsn + 1 - in->tsn_next) > 0)
			in->tsn_next = d.tsn + 1;
	}
}

void inside_from(struct inside *in, const void *packet, size_t len)
{
	count_chunks(in, packet, len);
	put(in->from, packet, len, in->now);
}

static void take_in(struct inside *in, const uint8_t *packet, size_t len)
{
	const struct iw_sctp_packet p = {
		.peer = there, .local = here, .data = packet, .len = len
	};
	struct iw_sctp_recv m;

	iw_sctp_input(in->s, &p, in->now);
	while (iw_sctp_next(in->s, &m))
		/* The message was unordered, otherwise the engine would not have delivered it. */
		if (!in->speaker ||
		    !speaker_message(in->speaker, m.stream, m.ppid, true, m.data, m.len))
			in->failed = true;
}

static void give_out(struct inside *in)
{
	uint8_t packet[MTU];
	struct iw_sctp_packet p;
	size_t n;

	while ((n = iw_sctp_output(in->s, packet, sizeof(packet), &p, in->now)) > 0)
		put(in->to, packet, n, in->now);
}

/* --- the association -------------------------------------------------------------------------- */

static void take_events(struct inside *in)
{
	struct iw_sctp_event ev;
	struct iw_sctp_facts facts;
	struct iw_sctp_done done;

	while (iw_sctp_next_event(in->s, &ev)) {
		switch (ev.kind) {
		case IW_SCTP_EV_UP:
			iw_sctp_facts(ev.assoc, &facts);
			/* A duplicate cookie must not create a second association while the first
			 * one exists. */
			if (in->speaker || facts.peer_adaptation != 1)
				fail(in, "up", "a second association, or not with DDP");
			in->a = ev.assoc;
			in->speaker = speaker_new(&in->cfg.speaker,
						  IW_MIN(facts.streams_in, facts.streams_out));
			break;
		case IW_SCTP_EV_DOWN:
			if (iw_sctp_why(ev.assoc)->err)
				fail(in, "down", iw_sctp_why(ev.assoc)->text);
			in->ended = true;
			iw_sctp_assoc_free(ev.assoc);
			in->a = NULL;
			break;
		case IW_SCTP_EV_DONE:
			while (iw_sctp_next_done(ev.assoc, &done))
				continue;
			break;
		case IW_SCTP_EV_MTU:
		case IW_SCTP_EV_PATH:
		case IW_SCTP_EV_ROOM:
		case IW_SCTP_EV_ENDING:
			break;
		}
	}
}

static void speak(struct inside *in)
{
	struct speaker_out m;

	while (in->a && in->speaker && speaker_next(in->speaker, &m)) {
		struct iw_vec octets = { (void *)(uintptr_t)m.data, m.len };
		struct iw_sctp_send send = {
			.stream = m.stream, .ppid = m.ppid, .vec = &octets, .nvec = 1, .copy = true
		};

		if (iw_sctp_send(in->a, &send, NULL) < 0)
			return;
		speaker_taken(in->speaker);
	}
	if (in->a && in->speaker && !in->cfg.listen && !in->shut && speaker_finished(in->speaker)) {
		in->shut = true;
		iw_sctp_shutdown(in->a, in->now);
	}
}

bool inside_step(struct inside *in, uint64_t ns,
		 void (*give)(void *ctx, const void *packet, size_t len), void *ctx)
{
	struct iw_link_frame *f;

	in->now += ns;
	while ((f = iw_link_pop(in->from, in->now))) {
		take_in(in, f->data + ETHERNET, f->len - ETHERNET);
		iw_link_put(in->from, f);
	}
	iw_sctp_timeout(in->s, in->now);
	take_events(in);
	speak(in);
	give_out(in);
	take_events(in);
	while ((f = iw_link_pop(in->to, in->now))) {
		give(ctx, f->data + ETHERNET, f->len - ETHERNET);
		iw_link_put(in->to, f);
	}
	return !in->failed;
}

bool inside_over(const struct inside *in)
{
	return in->ended && in->speaker && speaker_finished(in->speaker);
}

bool inside_waits(const struct inside *in, uint64_t accepted)
{
	uint32_t chunks = in->tsn_next - in->tsn_first;
	struct iw_sctp_facts sctp;
	struct speaker_facts facts;

	if (!in->a || !in->speaker)
		return false;
	iw_sctp_facts(in->a, &sctp);
	speaker_facts(in->speaker, &facts);
	return accepted > chunks && facts.received == chunks && sctp.acked == sctp.sent;
}
