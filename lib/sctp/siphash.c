// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, 2012): a keyed function that is
 * unpredictable without the key, and fast on the few hundred octets of a state cookie. It also
 * distributes peer addresses over the hash table, so that an attacker cannot choose addresses that
 * collide in one chain.
 */
#include "sctp/internal.h"

static uint64_t le64(const uint8_t *p)
{
	return iw_get_le32(p) | (uint64_t)iw_get_le32(p + 4) << 32;
}

static void put_le64(uint8_t *p, uint64_t v)
{
	iw_put_le32(p, (uint32_t)v);
	iw_put_le32(p + 4, (uint32_t)(v >> 32));
}

static uint64_t turned(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static void rounds(uint64_t v[static 4], int n)
{
	while (n--) {
		v[0] += v[1];
		v[1] = turned(v[1], 13) ^ v[0];
		v[0] = turned(v[0], 32);
		v[2] += v[3];
		v[3] = turned(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = turned(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = turned(v[1], 17) ^ v[2];
		v[2] = turned(v[2], 32);
	}
}

static void absorb(uint64_t v[static 4], uint64_t word)
{
	v[3] ^= word;
	rounds(v, 2);
	v[0] ^= word;
}

void iw_sctp_siphash(uint8_t mac[static SIP_MAC_LEN], const uint8_t key[static SIP_KEY_LEN],
		     const void *data, size_t len)
{
	uint64_t k0 = le64(key), k1 = le64(key + 8);
	uint64_t v[4] = { k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du ^ 0xee,
			  k0 ^ 0x6c7967656e657261u, k1 ^ 0x7465646279746573u };
	const uint8_t *p = data;
	uint64_t last = (uint64_t)len << 56;
	size_t rest = len & 7;

	for (; len >= 8; p += 8, len -= 8)
		absorb(v, le64(p));
	for (size_t i = 0; i < rest; i++)
		last |= (uint64_t)p[i] << 8 * i;
	absorb(v, last);
	v[2] ^= 0xee;
	rounds(v, 4);
	put_le64(mac, v[0] ^ v[1] ^ v[2] ^ v[3]);
	v[1] ^= 0xdd;
	rounds(v, 4);
	put_le64(mac + 8, v[0] ^ v[1] ^ v[2] ^ v[3]);
}
