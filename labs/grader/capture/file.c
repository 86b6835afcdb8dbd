// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Writes conversations of lab 8 as captures of IP packets; makes the captures of a seed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labs/grader/capture/conversation.h"
#include "util/num.h"
#include "wire/crc32c.h"
#include "wire/mpa.h"
#include "wire/sctp.h"
#include "wire/sctpddp.h"

#define LINKTYPE_RAW  101
#define PCAP_NS       0xa1b23c4d
#define IP_LEN        20
#define TCP_LEN       20
#define PROTOCOL_TCP  6
#define PROTOCOL_SCTP 132
#define PACKET_MAX    8192
#define EPOCH         1796000000u

enum { FIN = 1, SYN = 2, PSH = 8, ACK = 16 };

struct writer {
	struct conversation *c;
	struct dice dice;
	conversation_sink *sink; /* NULL: only counts frames */
	void *to;                /* its argument */
	unsigned int frames;
	uint64_t time_ns;
	uint8_t packet[PACKET_MAX];
	/* The direction that an end sends in: */
	uint32_t next[2];     /* TCP sequence number, or TSN */
	uint32_t tag[2];      /* SCTP: the Verification Tag of packets to the end */
	bool markers[2];      /* its FPDUs have markers */
	uint32_t position[2]; /* octets since the first marker */
};

static const uint8_t addresses[2][4] = { { 10, 0, 8, 1 }, { 10, 0, 8, 2 } };
static const uint16_t ports[2] = { 49374, 7174 };

/* --- packets ---------------------------------------------------------------------------------- */

static void put_le(FILE *f, uint32_t v)
{
	uint8_t p[4];

	iw_put_le32(p, v);
	fwrite(p, 1, sizeof(p), f);
}

static void file_header(FILE *f)
{
	put_le(f, PCAP_NS);
	put_le(f, 2 | 4 << 16); /* version 2.4 */
	put_le(f, 0);
	put_le(f, 0);
	put_le(f, 262144);
	put_le(f, LINKTYPE_RAW);
}

static void file_frame(void *file, uint64_t time_ns, const uint8_t *packet, size_t len)
{
	put_le(file, EPOCH + (uint32_t)(time_ns / 1000000000));
	put_le(file, (uint32_t)(time_ns % 1000000000));
	put_le(file, (uint32_t)len);
	put_le(file, (uint32_t)len);
	fwrite(packet, 1, len, file);
}

/* RFC 1071, without the complement. */
static uint32_t sum(uint32_t s, const uint8_t *p, size_t len)
{
	for (; len > 1; p += 2, len -= 2)
		s += iw_get_be16(p);
	if (len)
		s += (uint32_t)p[0] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

/* Writes packet[], whose IP header it fills in; len: octets after that. */
static void frame(struct writer *w, unsigned int from, uint8_t protocol, size_t len)
{
	uint8_t *ip = w->packet;

	w->frames++;
	w->time_ns += 20000 + dice_below(&w->dice, 400000);
	if (!w->sink)
		return;
	memset(ip, 0, IP_LEN);
	ip[0] = 0x45;
	iw_put_be16(ip + 2, (uint16_t)(IP_LEN + len));
	iw_put_be16(ip + 4, (uint16_t)w->frames);
	ip[6] = 0x40; /* do not fragment */
	ip[8] = 64;
	ip[9] = protocol;
	memcpy(ip + 12, addresses[from], 4);
	memcpy(ip + 16, addresses[!from], 4);
	iw_put_be16(ip + 10, (uint16_t)~sum(0, ip, IP_LEN));
	if (protocol == PROTOCOL_TCP) {
		uint32_t s = sum(PROTOCOL_TCP + (uint32_t)len, ip + 12, 8);

		iw_put_be16(ip + IP_LEN + 16, 0);
		iw_put_be16(ip + IP_LEN + 16, (uint16_t)~sum(s, ip + IP_LEN, len));
	}
	w->sink(w->to, w->time_ns, ip, IP_LEN + len);
}

/* --- TCP -------------------------------------------------------------------------------------- */

/* Sends len octets that are at packet + IP_LEN + TCP_LEN. */
static void tcp(struct writer *w, unsigned int from, uint8_t flags, size_t len)
{
	uint8_t *p = w->packet + IP_LEN;

	memset(p, 0, TCP_LEN);
	iw_put_be16(p, ports[from]);
	iw_put_be16(p + 2, ports[!from]);
	iw_put_be32(p + 4, w->next[from]);
	if (flags & ACK)
		iw_put_be32(p + 8, w->next[!from]);
	p[12] = TCP_LEN / 4 << 4;
	p[13] = flags;
	iw_put_be16(p + 14, 65535);
	frame(w, from, PROTOCOL_TCP, TCP_LEN + len);
	w->next[from] += (uint32_t)len + ((flags & (SYN | FIN)) != 0);
}

static size_t put_marker(struct writer *w, uint8_t *dst, uint32_t position, uint32_t start,
			 bool wrong)
{
	uint16_t ptr = position == start ? 0 : (uint16_t)(position - start);

	iw_put_be16(dst, 0);
	iw_put_be16(dst + 2, wrong ? (uint16_t)(ptr + 4 * (1 + dice_below(&w->dice, 5))) : ptr);
	return IW_MPA_MARKER_LEN;
}

/* RFC 5044 4. Returns the octets of the FPDU with its markers. */
static size_t put_fpdu(struct writer *w, const struct unit *u, uint8_t *dst, enum fault fault)
{
	uint8_t body[PACKET_MAX];
	size_t pad = iw_mpa_pad(u->len), len = IW_MPA_HEAD_LEN + u->len + pad, at = 0;
	uint32_t position = w->position[u->from], start;
	bool marked = w->markers[u->from];

	iw_put_be16(body, (uint16_t)u->len);
	if (u->len)
		memcpy(body + IW_MPA_HEAD_LEN, u->octets, u->len);
	memset(body + IW_MPA_HEAD_LEN + u->len, fault == FAULT_PAD ? 0xa5 : 0, pad);
	if (marked && position % IW_MPA_MARKER_SPACING == 0)
		at += put_marker(w, dst, position, position, false);
	start = position + (uint32_t)at;
	for (size_t done = 0, n; done < len; done += n, at += n) {
		uint32_t here = position + (uint32_t)at;

		n = len - done;
		if (marked && here != start && here % IW_MPA_MARKER_SPACING == 0) {
			at += put_marker(w, dst + at, here, start, fault == FAULT_MARKER);
			here += IW_MPA_MARKER_LEN;
		}
		if (marked)
			n = IW_MIN(n,
				   (size_t)(IW_MPA_MARKER_SPACING - here % IW_MPA_MARKER_SPACING));
		memcpy(dst + at, body + done, n);
	}
	if (marked && (position + at) % IW_MPA_MARKER_SPACING == 0)
		at += put_marker(w, dst + at, position + (uint32_t)at, start,
				 fault == FAULT_MARKER);
	iw_put_le32(dst + at, iw_crc32c(0, dst, at) ^ (fault == FAULT_CRC ? 0x00010000u : 0));
	at += IW_MPA_CRC_LEN;
	w->position[u->from] += (uint32_t)at;
	return at;
}

static void write_tcp_unit(struct writer *w, size_t i, bool again)
{
	struct unit *u = &w->c->units[i];
	uint8_t *dst = w->packet + IP_LEN + TCP_LEN;
	size_t len = u->len;

	if (u->kind == UNIT_STARTUP)
		memcpy(dst, u->octets, len);
	else
		len = put_fpdu(w, u, dst, i == w->c->fault_at ? w->c->fault : FAULT_NONE);
	u->frame = w->frames + 1;
	tcp(w, u->from, ACK | PSH, len);
	if (!again)
		return;
	/* The same octets once more: a retransmission is not a fault. */
	w->next[u->from] -= (uint32_t)len;
	tcp(w, u->from, ACK | PSH, len);
}

static void write_tcp(struct writer *w)
{
	const struct conversation *c = w->c;
	size_t again = dice_below(&w->dice, 3 * c->n);

	for (unsigned int i = 0; i < 2; i++) {
		w->next[i] = (uint32_t)dice_next(&w->dice);
		/* M in a frame governs the FPDUs of the peer. */
		w->markers[!i] = c->units[i].octets[IW_MPA_KEY_LEN] & IW_MPA_M;
	}
	tcp(w, 0, SYN, 0);
	tcp(w, 1, SYN | ACK, 0);
	tcp(w, 0, ACK, 0);
	for (size_t i = 0; i < c->n; i++) {
		write_tcp_unit(w, i, i == again && i > 2 && i != c->fault_at);
		if (i + 1 < c->n && c->units[i + 1].from == c->units[i].from && i % 2)
			tcp(w, !c->units[i].from, ACK, 0);
	}
	for (unsigned int i = 0; i < 2; i++)
		tcp(w, i, FIN | ACK, 0);
	tcp(w, 0, ACK, 0);
}

/* --- SCTP ------------------------------------------------------------------------------------- */

/* Sends the chunks of len octets that are at packet + IP_LEN + IW_SCTP_HDR_LEN. */
static void sctp(struct writer *w, unsigned int from, uint32_t tag, size_t len)
{
	uint8_t *p = w->packet + IP_LEN;
	struct iw_sctp_hdr h = { .sport = ports[from], .dport = ports[!from], .vtag = tag };

	iw_wire_sctp_hdr_encode(p, IW_SCTP_HDR_LEN, &h);
	iw_put_le32(p + IW_SCTP_CHECKSUM_POS, iw_wire_sctp_checksum(p, IW_SCTP_HDR_LEN + len));
	frame(w, from, PROTOCOL_SCTP, IW_SCTP_HDR_LEN + len);
}

static void send_chunk(struct writer *w, unsigned int from, uint32_t tag, uint8_t type,
		       const uint8_t *value, size_t len)
{
	struct iw_sctp_chunk k = { .type = type, .value = value, .value_len = len };
	uint8_t *dst = w->packet + IP_LEN + IW_SCTP_HDR_LEN;
	int n = iw_wire_sctp_chunk_encode(dst, PACKET_MAX - IP_LEN - IW_SCTP_HDR_LEN, &k);

	sctp(w, from, tag, (size_t)n);
}

static void send_init(struct writer *w, unsigned int from, uint8_t type)
{
	uint8_t params[24], value[64];
	struct iw_sctp_init init = { .tag = w->tag[from],
				     .a_rwnd = 131072,
				     .os = 1,
				     .mis = 1,
				     .tsn = w->next[from],
				     .params = params };
	struct iw_sctp_param cookie = { .type = IW_SCTP_PARAM_COOKIE,
					.value = (const uint8_t *)"cookie..",
					.value_len = 8 };

	iw_put_be16(params, IW_SCTP_PARAM_ADAPTATION);
	iw_put_be16(params + 2, 8);
	iw_put_be32(params + 4, IW_SCTP_ADAPTATION_DDP);
	init.params_len = 8;
	if (type == IW_SCTP_INIT_ACK)
		init.params_len += (size_t)iw_wire_sctp_param_encode(params + 8, 16, &cookie);
	send_chunk(w, from, type == IW_SCTP_INIT ? 0 : w->tag[!from], type, value,
		   (size_t)iw_wire_sctp_init_encode(value, sizeof(value), &init));
}

static void send_sack(struct writer *w, unsigned int from)
{
	uint8_t value[32];
	struct iw_sctp_sack sack = { .cum = w->next[!from] - 1, .a_rwnd = 131072 };

	send_chunk(w, from, w->tag[!from], IW_SCTP_SACK, value,
		   (size_t)iw_wire_sctp_sack_encode(value, sizeof(value), &sack));
}

static void write_sctp_unit(struct writer *w, struct unit *u)
{
	uint8_t *dst = w->packet + IP_LEN + IW_SCTP_HDR_LEN;
	struct iw_sctp_data d = { .tsn = w->next[u->from]++,
				  .ppid = u->kind == UNIT_STARTUP ? IW_SCTP_PPID_CONTROL
								  : IW_SCTP_PPID_SEGMENT,
				  .len = u->len };
	size_t n = (size_t)iw_wire_sctp_data_encode(
		dst, IW_SCTP_DATA_HDR_LEN, IW_SCTP_DATA_U | IW_SCTP_DATA_B | IW_SCTP_DATA_E, &d);

	memcpy(dst + n, u->octets, u->len);
	n += u->len;
	memset(dst + n, 0, iw_sctp_pad(n));
	u->frame = w->frames + 1;
	sctp(w, u->from, w->tag[!u->from], n + iw_sctp_pad(n));
}

static void write_sctp(struct writer *w)
{
	struct conversation *c = w->c;

	for (unsigned int i = 0; i < 2; i++) {
		w->next[i] = (uint32_t)dice_next(&w->dice);
		w->tag[i] = (uint32_t)dice_next(&w->dice) | 1;
	}
	send_init(w, 0, IW_SCTP_INIT);
	send_init(w, 1, IW_SCTP_INIT_ACK);
	send_chunk(w, 0, w->tag[1], IW_SCTP_COOKIE_ECHO, (const uint8_t *)"cookie..", 8);
	send_chunk(w, 1, w->tag[0], IW_SCTP_COOKIE_ACK, NULL, 0);
	for (size_t i = 0; i < c->n; i++) {
		write_sctp_unit(w, &c->units[i]);
		if (i % 2 || i + 1 == c->n || c->units[i].kind == UNIT_STARTUP)
			send_sack(w, !c->units[i].from);
	}
}

int conversation_frames(struct conversation *c, conversation_sink *sink, void *to)
{
	struct writer *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	w->c = c;
	w->sink = sink;
	w->to = to;
	w->dice.state = c->seed ^ 0x5ca1ab1e;
	if (c->over == OVER_TCP)
		write_tcp(w);
	else
		write_sctp(w);
	free(w);
	return 0;
}

int conversation_write(struct conversation *c, const char *path)
{
	FILE *f = fopen(path, "wb");
	int err;

	if (!f)
		return -1;
	file_header(f);
	err = conversation_frames(c, file_frame, f);
	if (ferror(f))
		err = -1;
	return fclose(f) ? -1 : err;
}

/* --- the captures of a seed ------------------------------------------------------------------- */

/* Captures 1 and 2 have a fault of the first group, and so on. */
static const struct {
	unsigned int n;
	enum fault faults[10];
} groups[CAPTURES / 2] = {
	{ 4, { FAULT_CRC, FAULT_MARKER, FAULT_PAD, FAULT_SHORT } },
	{ 6, { FAULT_VERSION, FAULT_OPCODE, FAULT_QUEUE, FAULT_MSN, FAULT_MO, FAULT_LAST } },
	{ 4, { FAULT_STAG, FAULT_INVALIDATED, FAULT_BOUNDS, FAULT_RIGHTS } },
	{ 10,
	  { FAULT_ORD, FAULT_FIRST, FAULT_RTR, FAULT_UNREQUESTED, FAULT_RESPONSE, FAULT_READS,
	    FAULT_SSN, FAULT_EARLY, FAULT_AFTER, FAULT_TERMINATE } },
};

/* Whether the FPDU of a unit can have the fault: has PAD, or a marker after its ULPDU_Length. */
static bool can_have(const struct conversation *c, size_t i, enum fault fault)
{
	uint32_t position[2] = { 0, 0 };

	if (c->units[i].kind != UNIT_SEGMENT)
		return false;
	if (fault == FAULT_CRC)
		return true;
	if (fault == FAULT_PAD)
		return iw_mpa_pad(c->units[i].len) != 0;
	/* Markers are on in both directions. */
	for (size_t k = 0;; k++) {
		const struct unit *u = &c->units[k];
		size_t len = iw_wire_mpa_fpdu_len_marked(position[u->from], u->len);

		if (u->kind != UNIT_SEGMENT)
			continue;
		if (k == i)
			return len > iw_mpa_fpdu_len(u->len) +
					     (position[u->from] % IW_MPA_MARKER_SPACING ? 0 : 4);
		position[u->from] += (uint32_t)len;
	}
}

/* Chooses the FPDU with a fault of MPA. False: the conversation has none that can have it. */
static bool place_in_fpdu(struct conversation *c, struct dice *d)
{
	size_t start = 4 + dice_below(d, c->n - 4);

	if (c->fault < FAULT_CRC)
		return true;
	for (size_t i = 0; i < c->n; i++) {
		size_t k = (start + i) % c->n;

		if (can_have(c, k, c->fault)) {
			c->fault_at = k;
			return true;
		}
	}
	return false;
}

struct conversation *conversation_capture(uint64_t seed, unsigned int number)
{
	unsigned int pair = number ? (number - 1) / 2 : 0;
	struct dice d = { seed * 16 + pair };
	uint64_t first = dice_below(&d, groups[pair].n);
	uint64_t second = (first + 1 + dice_below(&d, groups[pair].n - 1)) % groups[pair].n;
	enum fault fault = groups[pair].faults[number % 2 ? first : second];

	if (number == 0) {
		fault = FAULT_BOUNDS;
		d.state = 8;
	}
	d.state += number;
	for (;;) {
		uint64_t own = dice_next(&d);
		struct conversation *c =
			conversation_new(own, WITH_ALL, fault, (unsigned int)dice_below(&d, 64));

		if (!c || place_in_fpdu(c, &d))
			return c;
		free(c);
	}
}

int captures_write(uint64_t seed, const char *dir)
{
	char path[4096];
	FILE *f;

	for (unsigned int i = 0; i <= CAPTURES; i++) {
		struct conversation *c = conversation_capture(seed, i);
		int err;

		if (i)
			snprintf(path, sizeof(path), "%s/%u.pcap", dir, i);
		else
			snprintf(path, sizeof(path), "%s/example.pcap", dir);
		err = c ? conversation_write(c, path) : -1;
		free(c);
		if (err)
			return -1;
	}
	snprintf(path, sizeof(path), "%s/seed", dir);
	f = fopen(path, "w");
	if (!f)
		return -1;
	fprintf(f, "%llu\n", (unsigned long long)seed);
	return fclose(f) ? -1 : 0;
}
