// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The decoder with hostile captures. The first octet selects one of three: frames from the input; a
 * connection over TCP, for which the input selects set-up frames, any octets at any position, and
 * FPDUs that it may damage; an association over SCTP, with any chunks, messages of any stream in
 * any order, and fragments. Limits are small, so that they are reached. Each event is explained,
 * filtered and written by both writers.
 */
#include "capture_maker.h"
#include "fuzz/input.h"
#include "fuzz/property.h"
#include "transfer/protocol/hello.h"

/* The octets of each field can be read, and its text is one line. */
static void look_at_fields(const struct iw_cap_event *ev)
{
	static struct iw_cap_field field[IW_CAP_FIELDS_MAX];
	static struct iw_cap_scratch scratch;
	static char line[IW_CAP_LINE_EXPLAINED];
	struct iw_cap_explanation x = { .field = field };
	volatile uint8_t read = 0;
	struct iw_text t;

	x.n = iw_cap_explain(field, IW_ARRAY_LEN(field), &scratch, ev);
	must(x.n < IW_ARRAY_LEN(field));
	for (size_t i = 0; i < x.n; i++)
		for (size_t k = 0; field[i].octets && k < field[i].len; k++)
			read ^= field[i].octets[k];
	(void)read;
	iw_text_init(&t, line, sizeof(line));
	iw_cap_event_json_explained(&t, ev, field, x.n);
	must(t.len + 1 < t.cap && line[t.len - 1] == '}');
	for (;;) {
		iw_text_init(&t, line, sizeof(line));
		if (!iw_cap_explain_line(&x, &t))
			break;
		must(t.len > 0 && t.len < 400);
		for (size_t i = 0; i < t.len; i++)
			must(line[i] >= 0x20 && line[i] < 0x7f);
	}
}

static void look_at_align(const struct iw_cap_align *a)
{
	static char line[IW_CAP_LINE];
	unsigned at = 0;
	struct iw_text t;

	for (iw_text_init(&t, line, sizeof(line)); iw_cap_align_line(a, &at, &t);
	     iw_text_init(&t, line, sizeof(line)))
		must(t.len > 0 && t.len < 100);
}

/* Each message is one line of printable characters. */
static void look_at_transfer(const struct iw_cap_event *ev)
{
	static char line[IW_CAP_LINE];
	struct iw_text t;

	if (!iw_cap_transfer_of(ev))
		return;
	iw_text_init(&t, line, sizeof(line));
	iw_cap_transfer_print(&t, iw_cap_transfer_of(ev));
	must(t.len > 0 && t.len < 32768);
	for (size_t i = 0; i < t.len; i++)
		must(line[i] >= 0x20 && line[i] < 0x7f);
}

static void look_at_payload(const struct iw_cap_event *ev)
{
	char line[200];
	struct iw_text t;

	if (ev->kind != IW_CAP_DDP || !ev->ddp.payload)
		return;
	must(ev->ddp.payload_len <= ev->ddp.len);
	for (size_t at = 0; at < ev->ddp.payload_len;) {
		iw_text_init(&t, line, sizeof(line));
		at += iw_cap_hex_line(&t, ev->ddp.payload, ev->ddp.payload_len, at);
		must(t.len > 0 && t.len < 100);
	}
}

/* Private Data of the transfer protocol: the first octets are valid, and some of the rest. */
static size_t transfer_pd(uint8_t *pd, struct input *in)
{
	struct iw_hello h = { .major_max = 3,
			      .major_min = 3,
			      .role = IW_XFER_SOURCE,
			      .mode = IW_XFER_SEND,
			      .digest = (enum iw_xfer_digest_kind)(u8(in) % 3),
			      .recvs = 16,
			      .recv_size = 65536,
			      .files = 1,
			      .ranges = 1 };
	size_t n = iw_hello_encode(pd, &h);
	uint8_t at = u8(in);

	if (at & 0x80)
		pd[(at & 0x7f) % n] ^= u8(in);
	return n;
}

/* A segment of a Send with octets of the input. */
static size_t iw_cap_transfer_segment(uint8_t *p, struct input *in)
{
	uint8_t how = u8(in);
	struct iw_ddp h = { .last = how & 1,
			    .dv = 1,
			    .rv = 1,
			    .opcode = IW_OP_SEND,
			    .msn = how >> 4,
			    .mo = how & 2 ? u8(in) : 0 };
	size_t len = u8(in);
	const uint8_t *octets = take(in, &len);
	int n = iw_wire_ddp_encode(p, IW_DDP_HDR_MAX, &h);

	memcpy(p + n, octets, len);
	return (size_t)n + len;
}

static void look_at(const struct iw_cap_event *ev)
{
	static const uint32_t stag[] = { 0, 7, 65535 };
	static struct iw_cap_filter filter = { .errors = true, .stag = stag, .stags = 3 };
	static char line[IW_CAP_LINE];
	struct iw_text t;

	(void)iw_cap_filter(&filter, ev);
	look_at_fields(ev);
	if (ev->kind == IW_CAP_ALIGN)
		look_at_align(&ev->align);

	look_at_transfer(ev);
	look_at_payload(ev);
	iw_text_init(&t, line, sizeof(line));
	iw_cap_event_print(&t, ev);
	must(t.len > 0 && t.len + 1 < t.cap);
	for (size_t i = 0; i < t.len; i++)
		must(line[i] >= 0x20 && line[i] < 0x7f);
	iw_text_init(&t, line, sizeof(line));
	iw_cap_event_json(&t, ev);
	must(t.len + 1 < t.cap && line[t.len - 1] == '}');
}

static const struct iw_cap_limits limits = { .flows = 4,
					     .streams = 6,
					     .direction_octets = 16 << 10,
					     .total_octets = 48 << 10,
					     .search_octets = 600,
					     .payload_octets = 16 << 10,
					     .messages = 2 };

static void frames(struct maker *m, struct input *in)
{
	while (in->len > 4) {
		enum iw_packet_link link = (enum iw_packet_link)(u8(in) % (IW_PACKET_NULL + 1));
		size_t n = u16(in), missing = u8(in);
		const uint8_t *p = take(in, &n);

		(void)maker_push(m, link, p, n, n + missing);
		m->n = 0;
	}
}

/* One end sends its next octets. */
struct end {
	bool markers, crc;
	uint64_t pos;
	uint32_t msn;
};

static void sound_fpdu(struct maker *m, struct end *e, unsigned from, struct input *in, bool spoil)
{
	static uint8_t ulpdu[70000], fpdu[72000];
	size_t payload = u16(in), n, step;

	n = payload % 3 ? make_send(ulpdu, ++e->msn, 0, true, payload % 2500)
			: make_write(ulpdu, (uint32_t)payload, 0, true, payload % 2500);
	n = make_fpdu(fpdu, e->pos, e->markers, e->crc, ulpdu, n);
	if (spoil)
		fpdu[u16(in) % n] ^= (uint8_t)(u8(in) | 1);
	e->pos += n;
	/* A thousand segments of one octet test no more than eight. */
	step = IW_MAX(1 + u16(in) % (size_t)9000, n / 8);
	for (size_t at = 0; at < n; at += step)
		say(m, from, fpdu + at, IW_MIN(step, n - at));
}

static void conversation(struct maker *m, struct input *in)
{
	struct end end[2] = { 0 };
	uint8_t request = u8(in), reply = u8(in), octets[400], fpdu[500];

	if (request & 1)
		set_up(m, request, reply);
	else
		handshake(m);
	end[0].markers = reply & IW_MPA_M;
	end[1].markers = request & IW_MPA_M;
	end[0].crc = end[1].crc = (request | reply) & IW_MPA_C;
	while (in->len) {
		uint8_t op = u8(in);
		unsigned from = op & 1;
		size_t n;
		const uint8_t *p;

		m->n = 0;
		m->now_ns += (uint64_t)(op >> 7) * IW_SEC(2);
		switch (op >> 1 & 0xf) {
		case 0: /* octets in order */
			n = u8(in);
			p = take(in, &n);
			say(m, from, p, n);
			break;
		case 1: /* octets at another position */
			n = u8(in);
			{
				int16_t off = (int16_t)u16(in);

				p = take(in, &n);
				(void)tcp(m, from, ACK, m->seq[from] + (uint32_t)(int32_t)off,
					  m->seq[1 - from], p, n);
			}
			break;
		case 2: /* octets missing from the capture */
			m->seq[from] += u16(in);
			break;
		case 3:
		case 4:
		case 5:
			sound_fpdu(m, &end[from], from, in, false);
			break;
		case 6:
			sound_fpdu(m, &end[from], from, in, true);
			break;
		case 7:
			(void)tcp(m, from, u8(in), m->seq[from] + u8(in), m->seq[1 - from] + u8(in),
				  NULL, 0);
			break;
		case 8: /* a set-up frame with any fields */
			n = u16(in) % 600;
			p = take(in, &n);
			{
				bool is_reply = u8(in) & 1;
				uint8_t flags = u8(in), rev = u8(in);

				say_mpa(m, from, is_reply, flags, rev, p, n);
			}
			break;
		case 9:
			m->snap = u8(in);
			break;
		case 10: /* another connection */
			m->port[0] = u8(in) % 8;
			break;
		case 11: /* many early octets */
		{
			static const uint8_t zeros[1000];

			for (uint32_t i = 1, k = u8(in) % 40; i < k; i++)
				(void)tcp(m, from, ACK, m->seq[from] + i * 1000, m->seq[1 - from],
					  zeros, sizeof(zeros));
		} break;
		case 12:
			(void)tcp(m, from, SYN, m->seq[from]++, 0, NULL, 0);
			break;
		case 13: /* all octets are acknowledged */
			(void)tcp(m, from, ACK, m->seq[from], m->seq[1 - from], NULL, 0);
			break;
		case 14: /* Private Data of the transfer protocol */
			n = transfer_pd(octets, in);
			say_mpa(m, from, op & 0x20, IW_MPA_C, 1, octets, n);
			break;
		default: /* a message of the transfer protocol */
			n = iw_cap_transfer_segment(octets, in);
			n = make_fpdu(fpdu, end[from].pos, end[from].markers, end[from].crc, octets,
				      n);
			end[from].pos += n;
			say(m, from, fpdu, n);
			break;
		}
	}
}

/* A DDP segment with any opcode, whose decoded octets are from the input. */
static size_t any_segment(uint8_t *p, struct input *in)
{
	uint8_t opcode = u8(in) & 0xf;
	struct iw_ddp h = { .tagged = opcode == IW_OP_WRITE || opcode == IW_OP_RRESP,
			    .last = true,
			    .dv = 1,
			    .rv = 1,
			    .opcode = opcode,
			    .stag = 7,
			    .qn = u8(in) % 5,
			    .msn = u8(in) };
	size_t len = u8(in);
	const uint8_t *octets = take(in, &len);
	int n = iw_wire_ddp_encode(p, IW_DDP_HDR_MAX, &h);

	memcpy(p + n, octets, len);
	return (size_t)n + len;
}

static void association(struct maker *m, struct input *in)
{
	uint8_t how = u8(in), segment[300], chunk[4200], data[600];
	size_t n;

	m->udp_port[0] = how & 1 ? 9899 : 0;
	if (how & 2)
		say_init(m, 0, 1, 1 + (how >> 4), 1);
	if (how & 4)
		say_init(m, 1, 2, 1 + (how >> 4), 1);
	while (in->len) {
		uint8_t op = u8(in);
		unsigned from = op & 1;
		const uint8_t *p;

		m->n = 0;
		m->now_ns += (uint64_t)(op >> 7) * IW_SEC(2);
		switch (op >> 1 & 0xf) {
		case 0: /* a control message */
			n = u8(in);
			p = take(in, &n);
			n = IW_MIN(n, (size_t)255);
			say_control(m, from, u8(in) % 8, u8(in), u8(in) % 9, p, n);
			break;
		case 1:
		case 2: /* a segment */
			n = any_segment(segment, in);
			say_segment(m, from, u8(in) % 8, u8(in), segment, n);
			break;
		case 3: /* any chunk */
			n = u8(in);
			p = take(in, &n);
			say_chunk(m, from, u8(in), u8(in), p, n);
			break;
		case 4: /* any octets after a common header */
			n = u8(in);
			p = take(in, &n);
			say_chunks(m, from, p, n);
			break;
		case 5: /* missing or repeated TSNs */
			m->tsn[from] += (uint32_t)(int8_t)u8(in);
			break;
		case 6:
			m->tsn[from] += (uint32_t)u16(in) << 8;
			break;
		case 7: /* a fragment, or an ordered message */
			n = u8(in);
			p = take(in, &n);
			say_chunks(m, from, chunk,
				   make_data(chunk, u8(in) & 0xf, m->tsn[from]++, u8(in) % 8,
					     16 + u8(in) % 3, p, n));
			break;
		case 8:
			say_sack(m, from);
			break;
		case 9:
			m->snap = u8(in);
			break;
		case 10: /* the other address, other ports */
			m->other_addr = u8(in) % 2;
			m->port[0] = 40000 + u8(in) % 2;
			break;
		case 11:
			say_init(m, from, 1 + u8(in) % 2, u16(in), u8(in) % 3);
			break;
		case 12: /* many early messages */
			for (uint16_t i = 1, k = u8(in) % 40; i < k; i++) {
				iw_put_be16(data, i + 100);
				memset(data + 2, 0x41, 18);
				say_data(m, from, i % 3, 16, data, 20);
			}
			break;
		case 13: /* consecutive packets in one frame */
			n = make_chunk(chunk, 3, 0, "0123456789ab", 12);
			n = make_sctp(m, data, from, m->tag[1 - from], chunk, n);
			n += make_sctp(m, data + n, from, m->tag[1 - from], chunk, 16);
			push_sctp(m, from, data, n);
			break;
		case 14:
			m->tag[from] += u8(in);
			break;
		default:
			m->checksum_error = u8(in) & 1;
			if (m->checksum_error)
				break;
			if (op & 0x40) {
				n = transfer_pd(segment, in);
				say_control(m, from, op >> 5 & 1, 0, 1 + from, segment, n);
			} else {
				n = iw_cap_transfer_segment(segment, in);
				say_segment(m, from, op >> 5 & 1, u8(in), segment, n);
			}
			break;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = { data, len };
	uint8_t how = u8(&in);
	struct maker m;

	maker_init_payload(&m, &limits, NULL, true);
	m.each = look_at;
	if (how & 1)
		frames(&m, &in);
	else if (how & 2)
		association(&m, &in);
	else
		conversation(&m, &in);
	/* the tables, four connections, queued data, a segment and three messages */
	must(m.mem.bytes < 512 << 10);
	m.n = 0;
	maker_finish(&m);
	must(maker_fini(&m));
	return 0;
}
