// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sessions, segments and operations, processed in the order of their DDP-SSN. */
#include "interop/usrsctp/speaker.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "util/num.h"
#include "wire/ddp.h"
#include "wire/sctpddp.h"

enum {
	PPID_SEGMENT = 16, /* RFC 5043 5.2 */
	PPID_CONTROL = 17,
	WINDOW = 8,           /* messages without a reply */
	OPERATION = 64 << 10, /* octets of a Write or Read */
	SINK_STAG = 0x51a70001,
	MESSAGE_MAX = 16 << 20,
};

enum state { CLOSED, ASKED, OPEN, SAID_END, REJECTED };
enum use { ECHO, BUFFER };

struct message {
	struct message *next;
	uint16_t stream, ssn;
	uint32_t ppid;
	size_t len;
	uint8_t data[];
};

struct session {
	enum state state;
	enum use use;
	bool enhanced, no_reads;      /* the peer's IRD is 0 */
	uint16_t id, ssn_out, ssn_in; /* the next DDP-SSNs */
	struct message *early;        /* sorted by DDP-SSN */
	uint32_t send_msn, recv_msn;  /* QN 0 */
	uint32_t rreq_msn;            /* QN 1 */
	uint8_t *mem;                 /* the Send that is being reassembled */
	size_t got, room;
	uint32_t sent, back; /* pings */
	uint64_t written, asked, read;
};

struct speaker {
	struct speaker_cfg cfg;
	uint16_t streams;
	struct session *session;
	uint8_t *buffer;
	uint64_t buffer_to; /* Tagged Offset of the peer's buffer */
	struct message *out, **out_end;
	struct speaker_facts facts;
	bool broken;
};

static void *need(size_t n)
{
	void *p = calloc(1, n ? n : 1);

	if (!p) {
		fprintf(stderr, "peer: out of memory\n");
		exit(4);
	}
	return p;
}

static bool wrong(struct speaker *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(struct speaker *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "peer: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	s->broken = true;
	return false;
}

/* Fills a message or a buffer with the octets that it must contain. */
static void fill(uint8_t *p, size_t len, uint64_t what)
{
	struct rng r = { what };

	rng_fill(&r, p, len);
}

/* --- output ----------------------------------------------------------------------------------- */

static struct message *message_of(uint16_t stream, uint32_t ppid, size_t len)
{
	struct message *m = need(sizeof(*m) + len);

	m->stream = stream;
	m->ppid = ppid;
	m->len = len;
	return m;
}

static void say(struct speaker *s, struct message *m)
{
	*s->out_end = m;
	s->out_end = &m->next;
}

static void say_control(struct speaker *s, struct session *d, uint16_t fn, const void *pd,
			size_t len)
{
	struct message *m = message_of(d->id, PPID_CONTROL, 4 + len);
	const struct iw_sctp_control c = { .ssn = d->ssn_out++, .fn = fn, .pd = pd, .pd_len = len };

	if (iw_wire_sctp_control_encode(m->data, m->len, &c) < 0)
		wrong(s, "Private Data of %zu octets", len);
	say(s, m);
}

/* Sends one segment: header *h, then the payload. */
static void say_segment(struct speaker *s, struct session *d, const struct iw_ddp *h, const void *p,
			size_t len)
{
	size_t hdr = iw_ddp_hdr_len(h->tagged);
	struct message *m = message_of(d->id, PPID_SEGMENT, 2 + hdr + len);

	iw_put_be16(m->data, d->ssn_out++);
	(void)!iw_wire_ddp_encode(m->data + 2, hdr, h);
	if (len)
		memcpy(m->data + 2 + hdr, p, len);
	say(s, m);
}

/* Sends a message in segments; h has all fields except MO or TO, and L. */
static void say_message(struct speaker *s, struct session *d, struct iw_ddp h, const uint8_t *p,
			size_t len)
{
	size_t most = s->cfg.mulpdu - iw_ddp_hdr_len(h.tagged), at = 0, n;

	h.dv = h.rv = 1;
	do {
		n = IW_MIN(len - at, most);
		h.last = at + n == len;
		say_segment(s, d, &h, p + at, n);
		at += n;
		h.to += n;
		h.mo += (uint32_t)n;
	} while (at < len);
}

static void say_send(struct speaker *s, struct session *d, const uint8_t *p, size_t len)
{
	say_message(s, d, (struct iw_ddp){ .opcode = IW_OP_SEND, .msn = ++d->send_msn }, p, len);
}

static void say_end(struct speaker *s, struct session *d)
{
	say_control(s, d, IW_SCTP_FN_TERMINATE, NULL, 0);
	d->state = SAID_END;
}

/* --- Private Data ----------------------------------------------------------------------------- */

/* RFC 6581 9: no peer-to-peer; IRD 16, ORD 1. */
static const uint8_t depths[4] = { 0, 16, 0, 1 };

static size_t cbor_uint(uint8_t *p, uint8_t major, uint64_t v)
{
	if (v < 24) {
		p[0] = (uint8_t)(major << 5 | v);
		return 1;
	}
	p[0] = (uint8_t)(major << 5 | 27);
	iw_put_be64(p + 1, v);
	return 9;
}

static size_t cbor_entry(uint8_t *p, uint8_t key, uint64_t v)
{
	size_t n = cbor_uint(p, 0, key);

	return n + cbor_uint(p + n, 0, v);
}

/* ddp-transfer(7), claiming a buffer: the part that both forms begin with. */
static size_t claim_head(uint8_t *p, unsigned entries)
{
	size_t n = cbor_uint(p, 5, entries);

	n += cbor_uint(p + n, 0, 0);
	n += cbor_uint(p + n, 3, 10);
	memcpy(p + n, "ddp-buffer", 10);
	n += 10;
	n += cbor_entry(p + n, 1, 1);
	return n + cbor_entry(p + n, 2, 1);
}

/* Finds the unsigned number of a key; skips text and octet strings. */
static bool cbor_find(const uint8_t *p, size_t len, uint64_t key, uint64_t *out)
{
	uint64_t item[2] = { 0 };
	size_t at = 1; /* the head of the map */

	for (unsigned i = 0; at < len; i++) {
		uint8_t major = p[at] >> 5, more = p[at] & 31;
		size_t wide = more < 24 ? 0 : (size_t)1 << (more - 24);
		uint64_t v = more < 24 ? more : 0;

		if (more > 27 || len - at < 1 + wide)
			return false;
		for (size_t k = 0; k < wide; k++)
			v = v << 8 | p[at + 1 + k];
		at += 1 + wide;
		if (major == 2 || major == 3) {
			if (len - at < v)
				return false;
			at += v;
		}
		item[i % 2] = v;
		if (i % 2 && item[0] == key && major == 0) {
			*out = v;
			return true;
		}
	}
	return false;
}

static bool is_claim(const uint8_t *pd, size_t len)
{
	return len > 13 && pd[0] >> 5 == 5 && memcmp(pd + 3, "ddp-buffer", 10) == 0;
}

/* --- sessions that the peer opens ------------------------------------------------------------- */

static bool accept(struct speaker *s, struct session *d, enum use use, const void *pd, size_t len)
{
	uint8_t all[4 + 200];
	size_t n = d->enhanced ? sizeof(depths) : 0;

	/* RFC 6581 9.1: the ORD is at most the initiator's IRD. */
	memcpy(all, depths, n);
	if (d->no_reads)
		all[3] = 0;
	if (len)
		memcpy(all + n, pd, len);
	d->use = use;
	d->state = OPEN;
	say_control(s, d, d->enhanced ? IW_SCTP_FN_ENH_ACCEPT : IW_SCTP_FN_ACCEPT, all, n + len);
	return true;
}

static bool accept_buffer(struct speaker *s, struct session *d)
{
	uint8_t pd[100];
	size_t n = claim_head(pd, 6);

	n += cbor_entry(pd + n, 5, 0);
	n += cbor_entry(pd + n, 6, s->cfg.size);
	n += cbor_entry(pd + n, 7, 3);
	return accept(s, d, BUFFER, pd, n);
}

static bool reject(struct speaker *s, struct session *d)
{
	static const char text[] = "what is it that you want?";

	say_control(s, d, d->enhanced ? IW_SCTP_FN_ENH_REJECT : IW_SCTP_FN_REJECT, text,
		    sizeof(text) - 1);
	*d = (struct session){ .id = d->id, .state = REJECTED };
	s->facts.rejected++;
	return true;
}

static bool on_initiate(struct speaker *s, struct session *d, const struct iw_sctp_control *c)
{
	const uint8_t *pd = c->pd;
	size_t len = c->pd_len;
	uint64_t stag = 0;

	if (s->cfg.job != JOB_SERVE)
		return wrong(s, "stream %u: an Initiate to the end that sends Initiates", d->id);
	d->enhanced = c->fn == IW_SCTP_FN_ENH_INITIATE;
	if (d->enhanced && s->cfg.plain) {
		/* RFC 5043 6.4: Terminate answers Initiate, and the session is over. */
		s->facts.refused++;
		say_end(s, d);
		*d = (struct session){ .id = d->id, .state = REJECTED };
		return true;
	}
	if (d->enhanced && len < 4)
		return wrong(s, "stream %u: Enhanced Initiate without depths", d->id);
	if (d->enhanced) {
		d->no_reads = (iw_get_be16(pd) & 0x3fff) == 0;
		pd += 4;
		len -= 4;
	}
	s->facts.sessions++;
	if (len == 10 && memcmp(pd, "iwP\1", 4) == 0)
		return accept(s, d, ECHO, NULL, 0);
	if (is_claim(pd, len) && cbor_find(pd, len, 3, &stag) && stag == s->cfg.stag)
		return accept_buffer(s, d);
	return reject(s, d);
}

/* --- sessions that this end opens ------------------------------------------------------------- */

static size_t claim(const struct speaker *s, uint8_t *pd)
{
	size_t n = claim_head(pd, s->cfg.has_key ? 5 : 4);

	n += cbor_entry(pd + n, 3, s->cfg.stag);
	if (!s->cfg.has_key)
		return n;
	n += cbor_uint(pd + n, 0, 4);
	n += cbor_uint(pd + n, 2, 16);
	memcpy(pd + n, s->cfg.key, 16);
	return n + 16;
}

static void ask(struct speaker *s, struct session *d)
{
	uint8_t pd[4 + 200];
	size_t n = 0;

	d->enhanced = !s->cfg.plain;
	if (d->enhanced) {
		memcpy(pd, depths, sizeof(depths));
		n = sizeof(depths);
	}
	if (s->cfg.job == JOB_PING) {
		memcpy(pd + n, "iwP\1", 4);
		iw_put_be32(pd + n + 4, s->cfg.size);
		iw_put_be16(pd + n + 8, WINDOW);
		n += 10;
	} else {
		n += claim(s, pd + n);
		d->use = BUFFER;
	}
	say_control(s, d, d->enhanced ? IW_SCTP_FN_ENH_INITIATE : IW_SCTP_FN_INITIATE, pd, n);
	d->state = ASKED;
}

static uint64_t ping_seed(const struct session *d, uint32_t n)
{
	return (uint64_t)d->id << 32 | n;
}

static void ping(struct speaker *s, struct session *d)
{
	uint8_t *p = need(s->cfg.size);

	while (d->sent < s->cfg.count && d->sent - d->back < WINDOW) {
		fill(p, s->cfg.size, ping_seed(d, d->sent++));
		say_send(s, d, p, s->cfg.size);
	}
	free(p);
	if (d->back == s->cfg.count)
		say_end(s, d);
}

static void write_buffer(struct speaker *s, struct session *d)
{
	while (d->written < s->cfg.size) {
		size_t n = IW_MIN(s->cfg.size - d->written, OPERATION);

		say_message(s, d,
			    (struct iw_ddp){ .tagged = true,
					     .opcode = IW_OP_WRITE,
					     .stag = s->cfg.stag,
					     .to = s->buffer_to + d->written },
			    s->buffer + d->written, n);
		d->written += n;
	}
}

/* Posts the next Read after the one before is complete: the agreed ORD is 1. */
static void read_buffer(struct speaker *s, struct session *d)
{
	uint32_t n = (uint32_t)IW_MIN(s->cfg.size - d->asked, OPERATION);
	const struct iw_rreq r = { .sink_stag = SINK_STAG,
				   .sink_to = d->asked,
				   .size = n,
				   .src_stag = s->cfg.stag,
				   .src_to = s->buffer_to + d->asked };
	uint8_t octets[IW_RDMAP_RREQ_LEN];

	if (d->read == s->cfg.size) {
		say_end(s, d);
		return;
	}
	(void)!iw_rreq_encode(octets, sizeof(octets), &r);
	say_message(s, d,
		    (struct iw_ddp){ .opcode = IW_OP_RREQ, .qn = IW_QN_RREQ, .msn = ++d->rreq_msn },
		    octets, sizeof(octets));
	d->asked += n;
}

static bool on_accept(struct speaker *s, struct session *d, const struct iw_sctp_control *c)
{
	bool enhanced = c->fn == IW_SCTP_FN_ENH_ACCEPT;
	uint64_t len = 0;

	if (d->state != ASKED || enhanced != d->enhanced)
		return wrong(s, "stream %u: %s in state %d", d->id, iw_wire_sctp_fn_name(c->fn),
			     d->state);
	d->state = OPEN;
	s->facts.sessions++;
	if (s->cfg.job == JOB_PING) {
		ping(s, d);
		return true;
	}
	if (c->pd_len < 4 ||
	    !is_claim(c->pd + (enhanced ? 4 : 0), c->pd_len - (enhanced ? 4 : 0)) ||
	    !cbor_find(c->pd + (enhanced ? 4 : 0), c->pd_len - (enhanced ? 4 : 0), 5,
		       &s->buffer_to) ||
	    !cbor_find(c->pd + (enhanced ? 4 : 0), c->pd_len - (enhanced ? 4 : 0), 6, &len) ||
	    len < s->cfg.size)
		return wrong(s, "stream %u: the buffer has %" PRIu64 " octets", d->id, len);
	write_buffer(s, d);
	read_buffer(s, d);
	return true;
}

/* --- control messages ------------------------------------------------------------------------- */

static bool on_end(struct speaker *s, struct session *d)
{
	if (d->got)
		return wrong(s, "stream %u: Terminate in the middle of a message", d->id);
	if (d->state != SAID_END)
		say_end(s, d);
	/* Both ends have sent Terminate: the stream may have another session. */
	free(d->mem);
	*d = (struct session){ .id = d->id };
	return true;
}

static bool on_control(struct speaker *s, struct session *d, const struct message *m)
{
	struct iw_sctp_control c;

	if (iw_wire_sctp_control_decode(&c, m->data, m->len) <= 0)
		return wrong(s, "stream %u: a control message of %zu octets", d->id, m->len);
	switch (c.fn) {
	case IW_SCTP_FN_INITIATE:
	case IW_SCTP_FN_ENH_INITIATE:
		if (d->state != CLOSED && d->state != REJECTED)
			return wrong(s, "stream %u: a second Initiate", d->id);
		return on_initiate(s, d, &c);
	case IW_SCTP_FN_ACCEPT:
	case IW_SCTP_FN_ENH_ACCEPT:
		return on_accept(s, d, &c);
	case IW_SCTP_FN_REJECT:
	case IW_SCTP_FN_ENH_REJECT:
		return wrong(s, "stream %u: rejected: %.*s", d->id, (int)c.pd_len,
			     (const char *)c.pd);
	case IW_SCTP_FN_TERMINATE:
		if (d->state == CLOSED || d->state == ASKED || c.pd_len)
			return wrong(s, "stream %u: Terminate in state %d", d->id, d->state);
		return on_end(s, d);
	default:
		return wrong(s, "stream %u: function code %u", d->id, c.fn);
	}
}

/* --- segments --------------------------------------------------------------------------------- */

static bool on_whole_send(struct speaker *s, struct session *d)
{
	uint8_t *want;
	bool same;

	d->recv_msn++;
	s->facts.messages++;
	if (s->cfg.job == JOB_SERVE) {
		say_send(s, d, d->mem, d->got);
		d->got = 0;
		return true;
	}
	want = need(s->cfg.size);
	fill(want, s->cfg.size, ping_seed(d, d->back++));
	same = d->got == s->cfg.size && memcmp(want, d->mem, d->got) == 0;
	free(want);
	d->got = 0;
	if (!same)
		return wrong(s, "stream %u: reply %u is not what was sent", d->id, d->back);
	ping(s, d);
	return true;
}

/* Many sessions have only small messages, so no session reserves memory for the longest. */
static void make_room(struct session *d, size_t want)
{
	size_t room = IW_MAX(d->room, (size_t)64);
	uint8_t *mem;

	while (room < want)
		room *= 2;
	if (room == d->room)
		return;
	mem = need(room);
	if (d->got)
		memcpy(mem, d->mem, d->got);
	free(d->mem);
	d->mem = mem;
	d->room = room;
}

static bool on_send(struct speaker *s, struct session *d, const struct iw_ddp *h, const uint8_t *p,
		    size_t len)
{
	size_t most = s->cfg.job == JOB_SERVE ? MESSAGE_MAX : s->cfg.size;

	/* In the order of DDP-SSN, the segments of a message follow each other. */
	if (d->use != ECHO || h->msn != d->recv_msn + 1 || h->mo != d->got || len > most - d->got)
		return wrong(s,
			     "stream %u: Send MSN %u MO %u of %zu octets, MSN %u MO %zu expected",
			     d->id, h->msn, h->mo, len, d->recv_msn + 1, d->got);
	make_room(d, d->got + len);
	if (len)
		memcpy(d->mem + d->got, p, len);
	d->got += len;
	s->facts.octets += len;
	return h->last ? on_whole_send(s, d) : true;
}

static bool is_inside(const struct speaker *s, uint32_t stag, uint64_t to, uint64_t len)
{
	return len == 0 || (stag == s->cfg.stag && to <= s->cfg.size && len <= s->cfg.size - to);
}

static bool on_write(struct speaker *s, struct session *d, const struct iw_ddp *h, const uint8_t *p,
		     size_t len)
{
	if (d->use != BUFFER || !is_inside(s, h->stag, h->to, len))
		return wrong(s, "stream %u: Write to STag %08x TO %" PRIu64, d->id, h->stag, h->to);
	if (len)
		memcpy(s->buffer + h->to, p, len);
	s->facts.octets += len;
	s->facts.messages += h->last;
	return true;
}

static bool on_rreq(struct speaker *s, struct session *d, const struct iw_ddp *h, const uint8_t *p,
		    size_t len)
{
	struct iw_rreq r;

	if (d->use != BUFFER || h->msn != d->rreq_msn + 1 || h->mo != 0 || !h->last ||
	    len != IW_RDMAP_RREQ_LEN || iw_rreq_decode(&r, p, len) <= 0 ||
	    !is_inside(s, r.src_stag, r.src_to, r.size))
		return wrong(s, "stream %u: Read Request MSN %u", d->id, h->msn);
	d->rreq_msn++;
	say_message(s, d,
		    (struct iw_ddp){ .tagged = true,
				     .opcode = IW_OP_RRESP,
				     .stag = r.sink_stag,
				     .to = r.sink_to },
		    s->buffer + (r.size ? r.src_to : 0), r.size);
	return true;
}

static bool on_rresp(struct speaker *s, struct session *d, const struct iw_ddp *h, const uint8_t *p,
		     size_t len)
{
	if (s->cfg.job != JOB_BUFFER || h->stag != SINK_STAG || h->to != d->read ||
	    len > d->asked - d->read)
		return wrong(s, "stream %u: Read Response to STag %08x TO %" PRIu64, d->id, h->stag,
			     h->to);
	if (memcmp(s->buffer + d->read, p, len) != 0)
		return wrong(s,
			     "stream %u: octets %" PRIu64 " and on are not those that were written",
			     d->id, d->read);
	d->read += len;
	s->facts.octets += len;
	if (!h->last)
		return true;
	s->facts.messages++;
	if (d->read != d->asked)
		return wrong(s, "stream %u: a Read of %" PRIu64 " octets too few", d->id,
			     d->asked - d->read);
	read_buffer(s, d);
	return true;
}

static bool on_segment(struct speaker *s, struct session *d, const struct message *m)
{
	const uint8_t *p = m->data + 2;
	struct iw_ddp h;
	int n = iw_wire_ddp_decode(&h, p, m->len - 2);

	if (d->state != OPEN && d->state != SAID_END)
		return wrong(s, "stream %u: a segment in state %d", d->id, d->state);
	if (n <= 0 || h.dv != 1 || h.rv != 1 || h.rsvd_ddp)
		return wrong(s, "stream %u: no DDP header of version 1", d->id);
	p += n;
	switch (h.opcode) {
	case IW_OP_SEND:
		return h.tagged || h.qn != IW_QN_SEND
			       ? wrong(s, "a Send on a wrong queue")
			       : on_send(s, d, &h, p, m->len - 2 - (size_t)n);
	case IW_OP_WRITE:
		return !h.tagged ? wrong(s, "an untagged Write")
				 : on_write(s, d, &h, p, m->len - 2 - (size_t)n);
	case IW_OP_RREQ:
		return h.tagged || h.qn != IW_QN_RREQ
			       ? wrong(s, "a Read Request on a wrong queue")
			       : on_rreq(s, d, &h, p, m->len - 2 - (size_t)n);
	case IW_OP_RRESP:
		return !h.tagged ? wrong(s, "an untagged Read Response")
				 : on_rresp(s, d, &h, p, m->len - 2 - (size_t)n);
	default:
		return wrong(s, "stream %u: %s", d->id, iw_opcode_name(h.opcode));
	}
}

/* --- input ------------------------------------------------------------------------------------ */

static void keep(struct speaker *s, struct session *d, struct message *m)
{
	struct message **at = &d->early;

	/* RFC 5043 5.2.1: modulo 65536 */
	while (*at && (int16_t)((*at)->ssn - m->ssn) < 0)
		at = &(*at)->next;
	m->next = *at;
	*at = m;
	s->facts.early += m->ssn != d->ssn_in;
}

bool speaker_message(struct speaker *s, uint16_t stream, uint32_t ppid, bool unordered,
		     const uint8_t *data, size_t len)
{
	struct session *d;
	struct message *m;
	bool good = !s->broken;

	if (stream >= s->streams)
		return wrong(s, "stream %u: not one of %u", stream, s->streams);
	if (!unordered)
		return wrong(s, "stream %u: an ordered message (RFC 5043 10)", stream);
	if ((ppid != PPID_SEGMENT && ppid != PPID_CONTROL) || len < 4)
		return wrong(s, "stream %u: payload protocol %u", stream, ppid);
	s->facts.received++;
	d = &s->session[stream];
	m = message_of(stream, ppid, len);
	memcpy(m->data, data, len);
	m->ssn = iw_get_be16(data);
	keep(s, d, m);
	while (good && d->early && d->early->ssn == d->ssn_in) {
		m = d->early;
		d->early = m->next;
		d->ssn_in++;
		good = m->ppid == PPID_CONTROL ? on_control(s, d, m) : on_segment(s, d, m);
		free(m);
	}
	return good;
}

bool speaker_next(struct speaker *s, struct speaker_out *out)
{
	const struct message *m = s->out;

	if (!m)
		return false;
	*out = (struct speaker_out){ m->stream, m->ppid, m->data, m->len };
	return true;
}

void speaker_taken(struct speaker *s)
{
	struct message *m = s->out;

	s->facts.sent++;
	s->out = m->next;
	if (!s->out)
		s->out_end = &s->out;
	free(m);
}

bool speaker_finished(const struct speaker *s)
{
	unsigned want = s->cfg.job == JOB_PING ? s->cfg.streams : 1;

	if (s->out || s->broken || s->facts.sessions + s->facts.refused < want)
		return false;
	for (unsigned i = 0; i < s->streams; i++)
		if (s->session[i].state != CLOSED && s->session[i].state != REJECTED)
			return false;
	return true;
}

void speaker_facts(const struct speaker *s, struct speaker_facts *out)
{
	*out = s->facts;
}

/* --- begin and end ---------------------------------------------------------------------------- */

struct speaker *speaker_new(const struct speaker_cfg *cfg, uint16_t streams)
{
	struct speaker *s = need(sizeof(*s));
	unsigned asked = cfg->job == JOB_PING ? cfg->streams : cfg->job == JOB_BUFFER ? 1 : 0;

	s->cfg = *cfg;
	s->streams = streams;
	s->session = need(streams * sizeof(*s->session));
	s->out_end = &s->out;
	s->buffer = cfg->buffer;
	if (cfg->job == JOB_BUFFER) {
		s->buffer = need(cfg->size);
		fill(s->buffer, cfg->size, cfg->stag);
	}
	for (unsigned i = 0; i < streams; i++) {
		s->session[i].id = (uint16_t)i;
		if (i < asked)
			ask(s, &s->session[i]);
	}
	if (asked > streams)
		wrong(s, "%u streams are wanted, there are %u", asked, streams);
	return s;
}

void speaker_free(struct speaker *s)
{
	struct message *m;

	if (!s)
		return;
	while ((m = s->out)) {
		s->out = m->next;
		free(m);
	}
	for (unsigned i = 0; i < s->streams; i++) {
		while ((m = s->session[i].early)) {
			s->session[i].early = m->next;
			free(m);
		}
		free(s->session[i].mem);
	}
	free(s->session);
	if (s->cfg.job == JOB_BUFFER)
		free(s->buffer);
	free(s);
}
