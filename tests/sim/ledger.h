/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The octets that one host sends to each IP address and receives from it. An address is confirmed
 * when its owner has sent a COOKIE ECHO or a HEARTBEAT ACK from it; a packet with a forged source
 * confirms nothing. The rules:
 *   - before that, the host sends at most three times the octets of IP packets that it has
 *     received;
 *   - packets with a Verification Tag that the owner has not chosen stay limited in this way, by
 *     the octets of forged packets alone;
 *   - HEARTBEATs are exempt from both, but limited by number and by length;
 *   - no packet is sent to loopback, multicast, broadcast or unspecified addresses, nor to
 *     link-local ones by a host with a global address.
 */
#ifndef TESTS_SIM_LEDGER_H
#define TESTS_SIM_LEDGER_H

#include "sctp/sctp.h"

enum { LEDGER_SIZE = 1024, LEDGER_BEATS = 512, HEARTBEAT_LEN = 100 };

/* Octets of IP packets. */
struct ledger_sum {
	uint64_t came, sent;
	bool confirmed;
};

struct ledger_entry {
	bool used;
	uint8_t ip[16];
	struct ledger_sum owner, forged;
};

/* HEARTBEATs with one Verification Tag to one unconfirmed address, or to all of them (ip zero). */
struct ledger_beats {
	uint8_t ip[16];
	uint32_t tag;
	unsigned count;
	uint64_t last;
};

struct ledger {
	struct ledger_entry entry[LEDGER_SIZE];
	struct ledger_beats beats[LEDGER_BEATS];
	unsigned nbeats;
	uint64_t rto_min, hb_interval;
	bool link_local; /* the host's own address has such a scope */
	unsigned fast;   /* HEARTBEATs to one unconfirmed address before the pause is hb_interval */
	unsigned heartbeats, answers; /* sent to unconfirmed addresses */
};

struct ledger_packet {
	const struct iw_sctp_addr *peer;
	const uint8_t *data;
	size_t len;
	bool owned;     /* from the owner of the address, or with a tag that the owner has chosen */
	bool unlimited; /* the scenario accepts any amount to this address */
	uint64_t now;
};

void ledger_init(struct ledger *l);
void ledger_came(struct ledger *l, const struct ledger_packet *p);
/* Returns NULL, or the rule that the packet breaks. */
const char *ledger_sent(struct ledger *l, const struct ledger_packet *p);
/* An association begins whose packets to the peer carry that tag. */
void ledger_begin(struct ledger *l, uint32_t tag);
bool ledger_confirmed(struct ledger *l, const struct iw_sctp_addr *addr);
bool ledger_is_link_local(const struct iw_sctp_addr *a);
/* Octets of the IP packet. */
uint64_t ledger_octets(const struct iw_sctp_addr *peer, size_t len);

#endif
