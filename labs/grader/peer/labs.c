/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The layers of the peer that call the student's modules of labs 1 to 5. */
#include <stdlib.h>
#include <string.h>

#include "labs/grader/peer/peer.h"
#include "util/num.h"

static bool number_is(struct peer *p, const char *what, uint64_t expected, uint64_t seen)
{
	return lab_expect_number(p->run, what, expected, seen);
}

/* --- lab 1: framing --------------------------------------------------------------------------------- */

static bool framing_begin(struct peer *p)
{
	lab_call(p->run, "framer_new");
	return lab_run_call(p->run) &&
	       number_is(p, "a receiver was made, which", 1, lab_get_u8(p->run));
}

static bool framing_frame(struct peer *p, const uint8_t *ulpdu, size_t len)
{
	size_t size = iw_mpa_fpdu_len(len);
	struct lab_octets dst;

	lab_call(p->run, "fpdu_build");
	lab_put_u32(p->run, (uint32_t)size);
	lab_put_octets(p->run, ulpdu, len);
	if (!lab_run_call(p->run) ||
	    !number_is(p, "the size of the FPDU", size, lab_get_u64(p->run)))
		return false;
	dst = lab_get_octets(p->run);
	peer_append(&p->out, dst.at, IW_MIN(dst.len, size));
	return true;
}

static bool framing_arrived(struct peer *p, const uint8_t *octets, size_t len)
{
	lab_call(p->run, "framer_put");
	lab_put_octets(p->run, octets, len);
	return lab_run_call(p->run) && number_is(p, "the result", 1, lab_get_u8(p->run));
}

static bool framing_next(struct peer *p, bool *is, struct peer_octets *ulpdu)
{
	struct lab_octets seen;
	unsigned int status;

	lab_call(p->run, "framer_next");
	if (!lab_run_call(p->run))
		return false;
	status = lab_get_u8(p->run);
	*is = status == 0;
	if (status > 1)
		return lab_fail(p->run, "the status is %u, but the other end has sent valid FPDUs",
				status);
	if (*is) {
		seen = lab_get_octets(p->run);
		ulpdu->len = 0;
		peer_append(ulpdu, seen.at, seen.len);
	}
	return lab_results_end(p->run);
}

/* --- lab 2: tagged placement ------------------------------------------------------------------------- */

enum { TAGGED_PD = 7, TAGGED_STREAM = 1, TAGGED_ALL_RIGHTS = 7 };

static bool tagged_begin(struct peer *p)
{
	lab_call(p->run, "tagged_new");
	lab_put_u32(p->run, 2);
	lab_put_u32(p->run, (uint32_t)lab_random(p->run));
	lab_put_u32(p->run, (uint32_t)lab_random(p->run));
	if (!lab_run_call(p->run) ||
	    !number_is(p, "a table was made, which", 1, lab_get_u8(p->run)))
		return false;
	lab_help(p->run, "stream");
	lab_put_u8(p->run, 0);
	lab_put_u32(p->run, TAGGED_PD);
	lab_put_u32(p->run, TAGGED_STREAM);
	return lab_run_call(p->run);
}

static bool tagged_expose(struct peer *p, struct peer_buffer *b)
{
	lab_help(p->run, "memory");
	lab_put_u32(p->run, b->number);
	lab_put_octets(p->run, b->data, sizeof(b->data));
	if (!lab_run_call(p->run))
		return false;
	b->to = lab_random(p->run) >> 16;
	lab_call(p->run, "tagged_register");
	lab_put_u32(p->run, b->number);
	lab_put_u64(p->run, sizeof(b->data));
	lab_put_u64(p->run, b->to);
	lab_put_u32(p->run, TAGGED_PD);
	lab_put_u32(p->run, 0);
	lab_put_u8(p->run, TAGGED_ALL_RIGHTS);
	if (!lab_run_call(p->run) || !number_is(p, "the result", 1, lab_get_u8(p->run)))
		return false;
	b->stag = lab_get_u32(p->run);
	return true;
}

static bool tagged_fill(struct peer *p, struct peer_buffer *b, size_t len)
{
	lab_help(p->run, "fill");
	lab_put_u32(p->run, b->number);
	lab_put_u32(p->run, 0);
	lab_put_octets(p->run, b->data, len);
	return lab_run_call(p->run);
}

static bool tagged_place(struct peer *p, const uint8_t *segment, size_t len)
{
	lab_call(p->run, "tagged_place");
	lab_put_u8(p->run, 0);
	lab_put_octets(p->run, segment, len);
	return lab_run_call(p->run) &&
	       number_is(p, "the result of placing a valid segment", 0, lab_get_u16(p->run));
}

static bool tagged_contents(struct peer *p, struct peer_buffer *b, size_t len)
{
	struct lab_octets seen;

	lab_help(p->run, "octets");
	lab_put_u32(p->run, b->number);
	if (!lab_run_call(p->run))
		return false;
	lab_get_u8(p->run);
	seen = lab_get_octets(p->run);
	memcpy(b->data, seen.at, IW_MIN(seen.len, len));
	return lab_results_end(p->run);
}

static bool tagged_source(struct peer *p, const struct iw_rreq *r, uint8_t *dst)
{
	struct lab_octets seen;

	lab_call(p->run, "tagged_read");
	lab_put_u8(p->run, 0);
	lab_put_u32(p->run, r->src_stag);
	lab_put_u64(p->run, r->src_to);
	lab_put_u32(p->run, r->size);
	if (!lab_run_call(p->run) ||
	    !number_is(p, "the result of a valid read", 0, lab_get_u16(p->run)))
		return false;
	lab_get_u16(p->run);
	lab_get_u8(p->run);
	seen = lab_get_octets(p->run);
	memcpy(dst, seen.at, IW_MIN(seen.len, r->size));
	return lab_results_end(p->run);
}

/* --- lab 3: untagged queues --------------------------------------------------------------------------- */

static bool untagged_begin(struct peer *p)
{
	lab_call(p->run, "untagged_new");
	for (int qn = 0; qn < 3; qn++) {
		lab_put_u32(p->run, qn == IW_QN_SEND ? PEER_RECEIVES : 1);
		lab_put_u32(p->run, 1);
	}
	return lab_run_call(p->run) &&
	       number_is(p, "a receiver was made, which", 1, lab_get_u8(p->run));
}

static bool untagged_post(struct peer *p)
{
	lab_call(p->run, "untagged_post");
	lab_put_u32(p->run, IW_QN_SEND);
	lab_put_u32(p->run, PEER_RECEIVE_LEN);
	lab_put_u64(p->run, ++p->operations);
	return lab_run_call(p->run) && number_is(p, "the result", 1, lab_get_u8(p->run));
}

static bool untagged_receive(struct peer *p, const uint8_t *segment, size_t len)
{
	lab_call(p->run, "untagged_receive");
	lab_put_octets(p->run, segment, len);
	return lab_run_call(p->run) &&
	       number_is(p, "the result for a valid segment", 0, lab_get_u32(p->run));
}

static bool untagged_deliver(struct peer *p, bool *is, struct peer_octets *message)
{
	struct lab_octets seen;
	uint32_t len;

	lab_call(p->run, "untagged_deliver");
	lab_put_u32(p->run, IW_QN_SEND);
	if (!lab_run_call(p->run))
		return false;
	*is = lab_get_u8(p->run);
	lab_get_u64(p->run);
	lab_get_u32(p->run);
	len = lab_get_u32(p->run);
	lab_get_u8(p->run);
	lab_get_u32(p->run);
	lab_get_u8(p->run);
	lab_get_u8(p->run);
	seen = lab_get_octets(p->run);
	message->len = 0;
	if (*is)
		peer_append(message, seen.at, IW_MIN(len, seen.len));
	return lab_results_end(p->run);
}

/* --- lab 4: RDMA Read ---------------------------------------------------------------------------------- */

enum { READ_DEPTH = 64, KIND_SEND = 0, KIND_WRITE = 1, KIND_READ = 2 };

/* The regions are those that the peer's own layer has exposed. */
static bool read_expose(struct peer *p, struct peer_buffer *b)
{
	const struct peer_buffer *both[] = { &p->source, &p->sink };

	peer_own.expose(p, b);
	if (b != &p->sink)
		return true;
	lab_call(p->run, "stream_new");
	lab_put_u32(p->run, 1);
	lab_put_u32(p->run, PEER_READS);
	lab_put_u32(p->run, PEER_READS);
	lab_put_u32(p->run, READ_DEPTH);
	lab_put_u32(p->run, 2);
	for (int i = 0; i < 2; i++) {
		lab_put_u32(p->run, both[i]->stag);
		lab_put_u32(p->run, 0);
		lab_put_u32(p->run, 3);
		lab_put_u64(p->run, both[i]->to);
		lab_put_octets(p->run, both[i]->data, sizeof(both[i]->data));
	}
	return lab_run_call(p->run) &&
	       number_is(p, "a stream was made, which", 1, lab_get_u8(p->run));
}

static bool read_fill(struct peer *p, struct peer_buffer *b, size_t len)
{
	lab_call(p->run, "region");
	lab_put_u32(p->run, b->number);
	lab_put_u32(p->run, 0);
	lab_put_octets(p->run, b->data, len);
	return lab_run_call(p->run);
}

/* Takes the completions that are there. */
static bool read_completions(struct peer *p)
{
	for (;;) {
		struct lab_octets seen;
		uint64_t id;

		lab_call(p->run, "stream_next_completion");
		if (!lab_run_call(p->run))
			return false;
		if (!lab_get_u8(p->run))
			return true;
		id = lab_get_u64(p->run);
		lab_get_u8(p->run);
		if (!number_is(p, "the status of a completion", 0, lab_get_u16(p->run)))
			return false;
		seen = lab_get_octets(p->run);
		if (id == p->read_id) {
			memcpy(p->sink.data, seen.at, IW_MIN(seen.len, sizeof(p->sink.data)));
			p->read_complete = true;
		}
	}
}

static bool read_post(struct peer *p, unsigned int kind, const void *octets, size_t len,
		      uint32_t read_len, uint32_t stag, uint64_t to)
{
	lab_call(p->run, "stream_post");
	lab_put_u64(p->run, ++p->operations);
	lab_put_u8(p->run, (uint8_t)kind);
	lab_put_u8(p->run, 0);
	lab_put_u32(p->run, read_len);
	lab_put_octets(p->run, octets, len);
	lab_put_u32(p->run, kind == KIND_READ ? p->sink.stag : 0);
	lab_put_u64(p->run, kind == KIND_READ ? p->sink.to : 0);
	lab_put_u32(p->run, stag);
	lab_put_u64(p->run, to);
	return lab_run_call(p->run) && number_is(p, "the result", 0, lab_get_u16(p->run));
}

static bool read_send(struct peer *p, const void *octets, size_t len)
{
	return read_completions(p) && read_post(p, KIND_SEND, octets, len, 0, 0, 0);
}

static bool read_write(struct peer *p, uint32_t stag, uint64_t to, const void *octets, size_t len)
{
	return read_completions(p) && read_post(p, KIND_WRITE, octets, len, 0, stag, to);
}

static bool read_read(struct peer *p, struct peer_buffer *sink, uint32_t stag, uint64_t to,
		      uint32_t len)
{
	(void)sink;
	p->read_complete = false;
	p->read_id = p->operations + 1;
	return read_post(p, KIND_READ, NULL, 0, len, stag, to);
}

static bool read_request(struct peer *p, const uint8_t *message, size_t len)
{
	lab_call(p->run, "stream_request");
	lab_put_octets(p->run, message, len);
	return lab_run_call(p->run) &&
	       number_is(p, "the result for a valid Read Request", 0, lab_get_u16(p->run));
}

static bool read_response(struct peer *p, const uint8_t *segment, size_t len)
{
	lab_call(p->run, "stream_response");
	lab_put_octets(p->run, segment, len);
	return lab_run_call(p->run) &&
	       number_is(p, "the result for a valid Read Response", 0, lab_get_u16(p->run));
}

static bool read_done(struct peer *p, bool *is)
{
	bool ok = read_completions(p);

	*is = p->read_complete;
	return ok;
}

static bool read_segment(struct peer *p, uint8_t *dst, size_t *len)
{
	struct lab_octets seen;

	lab_call(p->run, "stream_next_segment");
	lab_put_u32(p->run, (uint32_t)p->mulpdu);
	if (!lab_run_call(p->run))
		return false;
	*len = lab_get_u32(p->run);
	seen = lab_get_octets(p->run);
	if (*len > p->mulpdu || seen.len != *len)
		return lab_fail(
			p->run,
			"stream_next_segment() returned %zu octets, above the MULPDU of %zu", *len,
			p->mulpdu);
	memcpy(dst, seen.at, *len);
	return true;
}

/* --- lab 5: start-up ------------------------------------------------------------------------------------ */

enum { STARTUP_DONE = 0, STARTUP_MORE = 2 };

static bool startup_new(struct peer *p)
{
	lab_call(p->run, "startup_new");
	lab_put_u8(p->run, 0);
	lab_put_u8(p->run, p->initiator);
	lab_put_u8(p->run, 2);
	lab_put_u8(p->run, false); /* markers */
	lab_put_u8(p->run, true);  /* CRC */
	/* As an initiator this peer sends an RDMA Write; as a responder it takes that or a Read. */
	lab_put_u8(p->run, p->initiator ? PEER_RTR_WRITE : PEER_RTR_WRITE | PEER_RTR_READ);
	lab_put_u8(p->run, p->initiator); /* peer-to-peer */
	lab_put_u16(p->run, PEER_READS);
	lab_put_u16(p->run, PEER_READS);
	lab_put_u16(p->run, PEER_READS);
	lab_put_octets(p->run, NULL, 0);
	return lab_run_call(p->run) &&
	       number_is(p, "an end was made, which", 1, lab_get_u8(p->run));
}

/* Begins a call about the end, of which the first result says whether it is there. */
static bool startup_call(struct peer *p)
{
	return lab_run_call(p->run) &&
	       number_is(p, "an end is there, which", 1, lab_get_u8(p->run));
}

/* Writes the pending frame, in the parts in which the module returns it. */
static bool startup_output(struct peer *p)
{
	for (int i = 0; i < 64; i++) {
		struct lab_octets dst;
		uint64_t len;

		lab_call(p->run, "startup_output");
		lab_put_u8(p->run, 0);
		lab_put_u32(p->run, 32);
		if (!startup_call(p))
			return false;
		len = lab_get_u64(p->run);
		lab_get_u8(p->run);
		dst = lab_get_octets(p->run);
		if (!len)
			return true;
		if (len > dst.len)
			return lab_fail(p->run, "startup_output() returned %llu of 32 octets",
					(unsigned long long)len);
		if (!peer_write(p, dst.at, len))
			return false;
	}
	return lab_fail(p->run, "startup_output() never returned 0");
}

/* Receives the frame of the remote end; the octets after it belong to the framing. */
static bool startup_input(struct peer *p)
{
	uint8_t octets[2048];
	size_t len, taken;
	unsigned int result;

	do {
		if (!peer_read(p, octets, sizeof(octets), &len))
			return false;
		if (!len)
			return lab_fail(p->run,
					"the other end has closed the connection during start-up");
		lab_call(p->run, "startup_receive");
		lab_put_u8(p->run, 0);
		lab_put_octets(p->run, octets, len);
		if (!startup_call(p))
			return false;
		result = lab_get_u8(p->run);
		taken = lab_get_u64(p->run);
		if (taken > len)
			return lab_fail(p->run, "startup_receive() took %zu octets of %zu", taken,
					len);
	} while (result == STARTUP_MORE);
	if (!number_is(p, "the result for a valid frame", STARTUP_DONE, result))
		return false;
	return taken == len || p->layers.arrived(p, octets + taken, len - taken);
}

static bool startup_answer(struct peer *p)
{
	lab_call(p->run, "startup_answer");
	lab_put_u8(p->run, 0);
	lab_put_u8(p->run, true);
	lab_put_u16(p->run, PEER_READS);
	lab_put_u16(p->run, PEER_READS);
	lab_put_octets(p->run, NULL, 0);
	return startup_call(p) && number_is(p, "the result", 1, lab_get_u8(p->run));
}

static bool startup_start_up(struct peer *p)
{
	if (!startup_new(p))
		return false;
	if (!p->initiator)
		return startup_input(p) && startup_answer(p) && startup_output(p);
	if (!startup_output(p) || !startup_input(p))
		return false;
	lab_call(p->run, "state");
	lab_put_u8(p->run, 0);
	if (!startup_call(p))
		return false;
	p->rtr = lab_get_u8(p->run);
	return true;
}

/* --- all ------------------------------------------------------------------------------------------------- */

struct peer_layers peer_layers_of(unsigned int lab)
{
	struct peer_layers l = peer_own;

	switch (lab) {
	case 1:
		l.begin = framing_begin;
		l.frame = framing_frame;
		l.arrived = framing_arrived;
		l.next_ulpdu = framing_next;
		break;
	case 2:
		l.begin = tagged_begin;
		l.expose = tagged_expose;
		l.fill = tagged_fill;
		l.place = tagged_place;
		l.contents = tagged_contents;
		l.source = tagged_source;
		break;
	case 3:
		l.begin = untagged_begin;
		l.post = untagged_post;
		l.untagged = untagged_receive;
		l.deliver = untagged_deliver;
		break;
	case 4:
		l.expose = read_expose;
		l.fill = read_fill;
		l.send = read_send;
		l.write = read_write;
		l.read = read_read;
		l.request = read_request;
		l.response = read_response;
		l.read_done = read_done;
		l.segment = read_segment;
		break;
	case 5:
		l.start_up = startup_start_up;
		break;
	}
	return l;
}
