// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two ends of a DDP association, and a peer that injects any message in place of either. The input
 * decides about the ULPs' actions, about which message in flight arrives next, and about the
 * injected messages. On a stream without an injected message, exactly the sent segments are
 * delivered: each once, with its number, and the end after the last one. At the end no memory is
 * left allocated.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/input.h"
#include "fuzz/property.h"
#include "sctpmap_end.h"

#define STREAMS 3
#define SENT    256 /* tracked segments of one session */

static struct map_end ends[2];
static struct iw_dss *held[2][STREAMS];
static bool spoiled[STREAMS];        /* a message was injected */
static bool came[2][STREAMS][SENT];  /* this segment was delivered at that end */
static uint64_t given[2][STREAMS];   /* segments that this end has sent in the session */
static uint32_t unacked[2][STREAMS]; /* messages of this end that have arrived */

static void let_go(int e, uint16_t k)
{
	iw_dss_release(held[e][k]);
	held[e][k] = NULL;
}

static void take_segment(int e, uint16_t k, uint64_t seq, const uint8_t *data, size_t len)
{
	if (spoiled[k])
		return;
	must(seq < SENT && !came[e][k][seq] && len == 1 + seq % 50);
	came[e][k][seq] = true;
	must(data[0] == (uint8_t)seq);
}

static void take_units(int e, struct iw_dss *s)
{
	struct iw_dss_unit u;
	uint16_t k;

	while (s && iw_dss_next(s, &u)) {
		k = iw_dss_stream(s);
		must(k < STREAMS);
		switch (u.kind) {
		case IW_DSS_REQUEST:
			must(e == 1);
			must(!held[1][k] || iw_dss_over(held[1][k]));
			let_go(1, k);
			held[1][k] = s;
			memset(came[1][k], 0, sizeof(came[1][k]));
			break;
		case IW_DSS_ACCEPTED:
		case IW_DSS_REJECTED:
		case IW_DSS_REFUSED:
			must(e == 0 && held[0][k] == s);
			break;
		case IW_DSS_SEGMENT:
			take_segment(e, k, u.seq, u.data, u.len);
			break;
		case IW_DSS_TERMINATED:
			if (!spoiled[k] && held[!e][k])
				for (uint64_t i = 0; i < given[!e][k]; i++)
					must(came[e][k][i]);
			break;
		case IW_DSS_FAULT:
			must(u.why && u.why->err < 0);
			if (getenv("IW_FUZZ_TALK"))
				fprintf(stderr, "%s\n", u.why->text);
			must(spoiled[k] || u.why->err == IW_E_LIMIT);
			break;
		}
	}
}

static void receive(int e, uint16_t k, uint32_t ppid, const void *data, size_t len)
{
	struct iw_dss_segment seg;
	struct iw_dss *s = iw_sctpmap_receive(ends[e].a, k, ppid, data, len, &seg);
	struct iw_dss *ended = iw_sctpmap_replaced(ends[e].a);

	must(!ended || (e == 1 && ended == held[1][k] && iw_dss_over(ended)));
	take_units(e, ended);
	if (seg.data)
		take_segment(e, k, seg.seq, seg.data, seg.len);
	must(s || (!seg.data && !seg.more));
	if (seg.more)
		take_units(e, s);
}

static void acknowledge(int e)
{
	for (uint16_t k = 0; k < STREAMS; k++) {
		uint32_t n = unacked[e][k];

		unacked[e][k] = 0;
		if (n > 0)
			take_units(e, iw_sctpmap_acked(ends[e].a, k, n));
		must(!held[e][k] || iw_dss_acked(held[e][k]) <= iw_dss_sent(held[e][k]));
	}
}

static void arrives(int from, size_t i)
{
	struct map_end *x = &ends[from];
	struct line_msg m = x->line[i];

	memmove(&x->line[i], &x->line[i + 1], (--x->nline - i) * sizeof(m));
	receive(!from, m.stream, m.ppid, m.data, m.len);
	unacked[from][m.stream]++;
}

static void send_some(int e, uint16_t k, unsigned n)
{
	struct iw_dss *s = held[e][k];

	while (s && n-- > 0 && iw_dss_room(s) > 0 && given[e][k] < SENT &&
	       ends[e].nline < LINE_MAX - 8) {
		uint64_t seq = given[e][k]++;

		must(spoiled[k] || iw_dss_sent(s) == seq);
		map_end_sends(&ends[e], s, (uint8_t)seq, 1 + seq % 50);
	}
}

static void step(struct input *in)
{
	static const struct iw_offer plain, enhanced = { .enhanced = true, .ird = 4, .ord = 4 };
	uint8_t what = u8(in), arg = u8(in);
	int e = arg & 1;
	uint16_t k = (uint16_t)(arg >> 1) % STREAMS;
	struct iw_dss *s = held[e][k];
	uint8_t buf[600];
	size_t len;

	switch (what % 10) {
	case 0:
		if (iw_dss_initiate(&s, ends[0].a, arg & 0x80 ? &enhanced : &plain, NULL) == 0) {
			k = iw_dss_stream(s);
			must(!held[0][k] || iw_dss_over(held[0][k]));
			let_go(0, k);
			held[0][k] = s;
			given[0][k] = given[1][k] = 0;
			memset(came[0][k], 0, sizeof(came[0][k]));
		}
		break;
	case 1:
		s = held[1][k];
		if (s && iw_dss_accept(s, &plain, NULL) == 0)
			take_units(1, s);
		break;
	case 2:
		s = held[1][k];
		if (s && iw_dss_reject(s, (const uint8_t *)"no", arg & 0x80 ? 2 : 0, NULL) == 0)
			let_go(1, k);
		break;
	case 3:
	case 4:
		send_some(e, k, arg >> 3);
		break;
	case 5:
		if (s)
			iw_dss_terminate(s);
		break;
	case 6:
		let_go(e, k);
		break;
	case 7:
	case 8:
		if (ends[e].nline > 0)
			arrives(e, u8(in) % ends[e].nline);
		if (!(what & 0x80))
			acknowledge(e);
		break;
	case 9:
		spoiled[k] = true;
		len = u8(in);
		for (size_t i = 0; i < len; i++)
			buf[i] = u8(in);
		receive(e, k, what & 0x80 ? 16 : what & 0x40 ? 17 : 3, buf, len);
		break;
	}
	for (e = 0; e < 2; e++)
		if (ends[e].nline < LINE_MAX - 2 * STREAMS)
			map_end_flush(&ends[e]);
}

static void drain(void)
{
	for (int turn = 0; turn < 8; turn++)
		for (int e = 0; e < 2; e++) {
			map_end_flush(&ends[e]);
			while (ends[e].nline > 0)
				arrives(e, 0);
			acknowledge(e);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = { data, len };
	bool any_spoiled = false;

	memset(held, 0, sizeof(held));
	memset(spoiled, 0, sizeof(spoiled));
	memset(given, 0, sizeof(given));
	memset(unacked, 0, sizeof(unacked));
	memset(came, 0, sizeof(came));
	for (int e = 0; e < 2; e++) {
		map_end_init(&ends[e], e == 0, STREAMS, 2, NULL);
		must(map_end_up(&ends[e], STREAMS, STREAMS) == 0);
	}
	while (in.len > 0)
		step(&in);
	drain();
	for (int e = 0; e < 2; e++)
		for (uint16_t k = 0; k < STREAMS; k++)
			let_go(e, k);
	drain();
	for (uint16_t k = 0; k < STREAMS; k++)
		any_spoiled |= spoiled[k];
	for (int e = 0; e < 2; e++) {
		must(any_spoiled || iw_sctpmap_sessions(ends[e].a) == 0);
		map_end_fini(&ends[e]);
	}
	return 0;
}
