/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes rules, SCTP packets, MPA streams and frames for the tests of ddp-impair. */
#ifndef TESTS_IMPAIR_MAKER_H
#define TESTS_IMPAIR_MAKER_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "counting_mem.h"
#include "ddp-impair/packets/flow.h"
#include "util/num.h"
#include "wire/crc32c.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/sctp.h"
#include "wire/sctpddp.h"

/* --- rules --- */

struct impair_maker {
	struct counting_mem mem;
	struct iw_rules *rules;
	struct iw_flow_cfg cfg;
};

static inline size_t impair_decide(void *ctx, struct iw_rules_flow *counts, const struct iw_unit *u,
				   struct iw_decision out[static IW_DECISIONS_MAX])
{
	const struct impair_maker *m = ctx;

	return iw_rules_decide(m->rules, counts, u, out);
}

/* Takes the rules in text, one a line. */
static inline void impair_init(struct impair_maker *m, enum iw_rule_carrier carrier, uint64_t seed,
			       const char *text)
{
	struct iw_fault why = { 0 };
	char line[300];
	int err;

	counting_mem_init(&m->mem);
	err = iw_rules_new(&m->rules, carrier, seed, NULL, NULL, &m->mem.mem);
	assert(err == 0);
	while (*text) {
		size_t n = strcspn(text, "\n");

		assert(n < sizeof(line));
		memcpy(line, text, n);
		line[n] = '\0';
		err = iw_rules_add(m->rules, line, &why);
		assert(err == 0);
		text += n + (text[n] == '\n');
	}
	m->cfg = (struct iw_flow_cfg){
		.rules = m->rules, .decide = impair_decide, .ctx = m, .mem = &m->mem.mem
	};
	(void)err;
}

static inline void impair_fini(struct impair_maker *m)
{
	iw_rules_free(m->rules);
	assert(m->mem.blocks == 0 && m->mem.wrong_size == 0);
}

/* --- SCTP --- */

/* Appends a DATA chunk with an RDMA Write of n octets. */
static inline size_t impair_write_chunk(uint8_t *p, uint32_t tsn, uint16_t stream, size_t n)
{
	struct iw_ddp h = { .tagged = true,
			    .last = true,
			    .dv = 1,
			    .rv = 1,
			    .opcode = IW_OP_WRITE,
			    .stag = 0x1234,
			    .to = 0x100 };
	struct iw_sctp_data d = { .tsn = tsn,
				  .stream = stream,
				  .ppid = IW_SCTP_PPID_SEGMENT,
				  .len = IW_SCTP_SSN_LEN + IW_DDP_TAGGED_LEN + n };
	size_t at = (size_t)iw_wire_sctp_data_encode(
		p, 16, IW_SCTP_DATA_B | IW_SCTP_DATA_E | IW_SCTP_DATA_U, &d);

	at += (size_t)iw_wire_sctp_segment_encode(p + at, 2, 7);
	at += (size_t)iw_wire_ddp_encode(p + at, IW_DDP_TAGGED_LEN, &h);
	for (size_t i = 0; i < n; i++)
		p[at++] = (uint8_t)(i * 7 + tsn);
	while (at % 4)
		p[at++] = 0;
	return at;
}

/* Appends a chunk with a value of n octets. */
static inline size_t impair_chunk(uint8_t *p, uint8_t type, size_t n)
{
	uint8_t value[64] = { 0 };
	struct iw_sctp_chunk c = { .type = type, .value = value, .value_len = n };

	return (size_t)iw_wire_sctp_chunk_encode(p, 100, &c);
}

static inline void impair_seal(uint8_t *packet, size_t len)
{
	iw_put_le32(packet + IW_SCTP_CHECKSUM_POS, iw_wire_sctp_checksum(packet, len));
}

static inline bool impair_is_sealed(const uint8_t *packet, size_t len)
{
	return iw_get_le32(packet + IW_SCTP_CHECKSUM_POS) == iw_wire_sctp_checksum(packet, len);
}

/* A packet with a SACK and two DATA chunks. Returns its length. */
static inline size_t impair_packet(uint8_t *p, uint32_t tsn)
{
	struct iw_sctp_hdr h = { .sport = 1000, .dport = 2000, .vtag = 5 };
	size_t at = (size_t)iw_wire_sctp_hdr_encode(p, IW_SCTP_HDR_LEN, &h);

	at += impair_chunk(p + at, IW_SCTP_SACK, IW_SCTP_SACK_LEN);
	at += impair_write_chunk(p + at, tsn, 3, 50);
	at += impair_write_chunk(p + at, tsn + 1, 4, 30);
	impair_seal(p, at);
	return at;
}

/* --- MPA over TCP --- */

static inline size_t impair_mpa_frame(uint8_t *p, bool reply, uint8_t flags)
{
	struct iw_mpa_frame f = {
		.kind = reply ? IW_MPA_REPLY : IW_MPA_REQUEST, .flags = flags, .rev = 1, .pd_len = 0
	};

	return (size_t)iw_wire_mpa_frame_encode(p, IW_MPA_FRAME_LEN, &f);
}

/* Appends the FPDU, without markers, of an RDMA Write of n octets. */
static inline size_t impair_fpdu(uint8_t *p, uint64_t to, size_t n)
{
	struct iw_ddp h = { .tagged = true,
			    .last = true,
			    .dv = 1,
			    .rv = 1,
			    .opcode = IW_OP_WRITE,
			    .stag = 0x1234,
			    .to = to };
	size_t ulpdu = IW_DDP_TAGGED_LEN + n, len = iw_mpa_fpdu_len(ulpdu), at = 2;

	memset(p, 0, len);
	iw_put_be16(p, (uint16_t)ulpdu);
	at += (size_t)iw_wire_ddp_encode(p + at, IW_DDP_TAGGED_LEN, &h);
	for (size_t i = 0; i < n; i++)
		p[at++] = (uint8_t)(i * 5 + to);
	iw_put_le32(p + len - 4, iw_crc32c(0, p, len - 4));
	return len;
}

/* --- frames --- */

/* RFC 1071 */
static inline uint16_t impair_sum(uint64_t sum, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += (uint64_t)p[i] << (i % 2 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

#define IMPAIR_ETHER 14

/*
 * An Ethernet frame from end from, 10.0.0.1 or fd00::1, to the other; protocol 6 or 17 with ports
 * 40000 and port. seq and flags: TCP. Returns its length, at least 60.
 */
static inline size_t impair_frame(uint8_t *p, bool v6, unsigned from, uint8_t protocol,
				  uint16_t port, uint32_t seq, uint8_t flags, const void *payload,
				  size_t len)
{
	size_t head = protocol == 6 ? 20 : 8, ip_len = v6 ? 40 : 20, total = head + len;
	uint8_t *ip = p + IMPAIR_ETHER, *t = ip + ip_len;
	uint64_t pseudo = protocol + total;

	memset(p, 0, IMPAIR_ETHER + ip_len + head);
	iw_put_be16(p + 12, v6 ? 0x86dd : 0x0800);
	if (v6) {
		ip[0] = 0x60;
		iw_put_be16(ip + 4, (uint16_t)total);
		ip[6] = protocol;
		ip[8] = ip[24] = 0xfd;
		ip[23] = (uint8_t)(1 + from);
		ip[39] = (uint8_t)(2 - from);
		pseudo += impair_sum(0, ip + 8, 32);
	} else {
		ip[0] = 0x45;
		iw_put_be16(ip + 2, (uint16_t)(20 + total));
		ip[8] = 64;
		ip[9] = protocol;
		iw_put_be32(ip + 12, 0x0a000001 + from);
		iw_put_be32(ip + 16, 0x0a000002 - from);
		iw_put_be16(ip + 10, (uint16_t)~impair_sum(0, ip, 20));
		pseudo += impair_sum(0, ip + 12, 8);
	}
	iw_put_be16(t, from ? port : 40000);
	iw_put_be16(t + 2, from ? 40000 : port);
	if (protocol == 6) {
		iw_put_be32(t + 4, seq);
		t[12] = 5 << 4;
		t[13] = flags;
	} else {
		iw_put_be16(t + 4, (uint16_t)total);
	}
	if (len)
		memcpy(t + head, payload, len);
	iw_put_be16(t + (protocol == 6 ? 16 : 6), (uint16_t)~impair_sum(pseudo, t, total));
	len = IMPAIR_ETHER + ip_len + total;
	if (len < 60)
		memset(p + len, 0, 60 - len);
	return len < 60 ? 60 : len;
}

/* True if the checksums of IP and of TCP or UDP in such a frame are right. */
static inline bool impair_frame_is_right(const uint8_t *p, bool v6)
{
	const uint8_t *ip = p + IMPAIR_ETHER, *t = ip + (v6 ? 40 : 20);
	uint8_t protocol = v6 ? ip[6] : ip[9];
	size_t total = v6 ? iw_get_be16(ip + 4) : iw_get_be16(ip + 2) - 20u;
	uint64_t pseudo =
		protocol + total + (v6 ? impair_sum(0, ip + 8, 32) : impair_sum(0, ip + 12, 8));

	return (v6 || impair_sum(0, ip, 20) == 0xffff) && impair_sum(pseudo, t, total) == 0xffff &&
	       (protocol == 6 || iw_get_be16(t + 4) == total);
}

#endif
