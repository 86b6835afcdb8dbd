// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The capture decoder over hostile captures. The first octet chooses between frames as they stand
 * in the input and a conversation in which the input says what two ends send: set-up frames, octets
 * of any kind at any place, and sound FPDUs that it may spoil. Limits are small, so that they are
 * reached. Every event goes through both writers.
 */
#include "capture_maker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct input {
	const uint8_t *p;
	size_t len;
};

static uint8_t u8(struct input *in)
{
	if (!in->len)
		return 0;
	in->len--;
	return *in->p++;
}

static uint16_t u16(struct input *in)
{
	uint16_t high = u8(in);

	return (uint16_t)(high << 8 | u8(in));
}

/* n octets of the input, or what is left of it. */
static const uint8_t *take(struct input *in, size_t *n)
{
	const uint8_t *p = in->p;

	*n = IW_MIN(*n, in->len);
	in->p += *n;
	in->len -= *n;
	return p;
}

static void must(bool what)
{
	if (!what)
		abort();
}

static void look_at(const struct iw_cap_event *ev)
{
	char line[IW_CAP_LINE];
	struct iw_text t;

	iw_text_init(&t, line, sizeof(line));
	iw_cap_event_print(&t, ev);
	must(t.len > 0 && t.len + 1 < t.cap);
	for (size_t i = 0; i < t.len; i++)
		must(line[i] >= 0x20 && line[i] < 0x7f);
	iw_text_init(&t, line, sizeof(line));
	iw_cap_event_json(&t, ev);
	must(t.len + 1 < t.cap && line[t.len - 1] == '}');
}

static const struct iw_cap_limits limits = {
	.flows = 4, .direction_octets = 16 << 10, .total_octets = 48 << 10, .search_octets = 600
};

static void frames(struct maker *m, struct input *in)
{
	while (in->len > 4) {
		enum iw_cap_link link = (enum iw_cap_link)(u8(in) % (IW_CAP_NULL + 1));
		size_t n = u16(in), missing = u8(in);
		const uint8_t *p = take(in, &n);

		(void)maker_push(m, link, p, n, n + missing);
		m->n = 0;
	}
}

/* What one end sends next. */
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
	/* A thousand segments of one octet find no more than eight do. */
	step = IW_MAX(1 + u16(in) % (size_t)9000, n / 8);
	for (size_t at = 0; at < n; at += step)
		say(m, from, fpdu + at, IW_MIN(step, n - at));
}

static void conversation(struct maker *m, struct input *in)
{
	struct end end[2] = { 0 };
	uint8_t request = u8(in), reply = u8(in);

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
		case 1: /* octets somewhere else */
			n = u8(in);
			{
				int16_t off = (int16_t)u16(in);

				p = take(in, &n);
				(void)tcp(m, from, ACK, m->seq[from] + (uint32_t)(int32_t)off,
					  m->seq[1 - from], p, n);
			}
			break;
		case 2: /* octets that are not captured */
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
		case 8: /* a set-up frame, whatever its fields */
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
		case 11: /* many octets ahead */
		{
			static const uint8_t zeros[1000];

			for (uint32_t i = 1, k = u8(in) % 40; i < k; i++)
				(void)tcp(m, from, ACK, m->seq[from] + i * 1000, m->seq[1 - from],
					  zeros, sizeof(zeros));
		} break;
		case 12:
			(void)tcp(m, from, SYN, m->seq[from]++, 0, NULL, 0);
			break;
		case 13: /* all of it is acknowledged */
			(void)tcp(m, from, ACK, m->seq[from], m->seq[1 - from], NULL, 0);
			break;
		default:
			break;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = { data, len };
	struct maker m;

	maker_init(&m, &limits);
	m.each = look_at;
	if (u8(&in) & 1)
		frames(&m, &in);
	else
		conversation(&m, &in);
	/* the tables, four connections, and what waits */
	must(m.mem.bytes < 160 << 10);
	m.n = 0;
	maker_finish(&m);
	must(maker_fini(&m));
	return 0;
}
