/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Visible tests: frames in literal octets, and what the program must do with them. `make test` runs
 * them with sanitizers, in an ordinary process. Add your own cases.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "steer.h"

/* --- headers as octets ------------------------------------------------------------------------ */

/* clang-format off */

#define BE16(v) (uint8_t)((v) >> 8), (uint8_t)(v)
#define BE32(v) BE16((v) >> 16), BE16((v)&0xffff)

#define ETHERNET(type) 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, BE16(type)
#define TAG(id, type)  BE16(id), BE16(type)
/* octets: of the packet. The checksums are 0: the program does not look at them. */
#define IPV4(octets, fragment, protocol)                                                           \
	0x45, 0, BE16(octets), 0, 1, BE16(fragment), 64, protocol, 0, 0, 10, 99, 0, 1, 10, 99, 0, 2
/* An IHL of 7: 8 octets of options. */
#define IPV4_OPTIONS(octets, protocol)                                                             \
	0x47, 0, BE16(octets), 0, 1, 0, 0, 64, protocol, 0, 0, 10, 99, 0, 1, 10, 99, 0, 2, 1, 1, 1, 1, 1, 1, 1, 0
/* octets: after the header. */
#define IPV6(octets, next)                                                                         \
	0x60, 0, 0, 0, BE16(octets), next, 64, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xfd, 0, 0, 0, \
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2
/* Destination options of 8 octets: padding (PadN). */
#define OPTIONS(next)     next, 0, 1, 4, 0, 0, 0, 0
#define UDP(port, octets) BE16(40000), BE16(port), BE16(octets), 0, 0
#define SCTP(port, tag)   BE16(5001), BE16(port), BE32(tag), 0, 0, 0, 0
#define DATA(flags, octets, stream, ppid) 0, flags, BE16(octets), BE32(1000), BE16(stream), 0, 0, BE32(ppid)
/* DDP-SSN, DDP and RDMAP control, STag, TO: 16 octets. */
#define TAGGED 0, 7, 0xc1, 0x40, BE32(0x1a2b3c00), BE32(0), BE32(4096)
/* DDP-SSN, DDP and RDMAP control, Invalidate STag, queue, MSN, MO: 20 octets. */
#define UNTAGGED 0, 8, 0x41, 0x43, BE32(0), BE32(0), BE32(1), BE32(0)

/* An SCTP packet with a tagged segment, 12 + 16 + 16 octets: port 5002, tag 0xa1b2c3d4, stream 258. */
#define SEGMENT SCTP(5002, 0xa1b2c3d4), DATA(7, 32, 258, 16), TAGGED

/* The same bound for each case, to keep the table simple. */
enum { OCTETS_MAX = 160 };

static const struct test {
	const char *name;
	size_t len;
	uint8_t frame[OCTETS_MAX];
	enum counter counter;
	__u32 queue;
} tests[] = {
	{ "step 1: a segment of a registered stream",
	  78,
	  { ETHERNET(0x0800), IPV4(64, 0, 132), SEGMENT },
	  REDIRECTED_TAGGED, 0 },
	{ "step 1: a segment of another stream",
	  78,
	  { ETHERNET(0x0800), IPV4(64, 0, 132), SCTP(5002, 0xa1b2c3d4), DATA(7, 32, 259, 16), TAGGED },
	  PASSED_UNKNOWN, 0 },
	{ "step 1: session control (payload protocol 17)",
	  78,
	  { ETHERNET(0x0800), IPV4(64, 0, 132), SCTP(5002, 0xa1b2c3d4), DATA(7, 32, 258, 17), TAGGED },
	  PASSED_NOT_SEGMENT, 0 },
	{ "step 1: TCP",
	  78,
	  { ETHERNET(0x0800), IPV4(64, 0, 6), SEGMENT },
	  PASSED_NOT_SCTP, 0 },
	{ "step 1: ARP",
	  60,
	  { ETHERNET(0x0806), 0, 1, 8, 0, 6, 4, 0, 1 },
	  PASSED_NOT_IP, 0 },
	{ "step 2: the first 60 octets of a segment",
	  60,
	  { ETHERNET(0x0800), IPV4(64, 0, 132), SEGMENT },
	  PASSED_MALFORMED, 0 },
	{ "step 2: an SCTP header of 10 octets",
	  44,
	  { ETHERNET(0x0800), IPV4(30, 0, 132), SCTP(5002, 0xa1b2c3d4) },
	  PASSED_MALFORMED, 0 },
	{ "step 3: IPv4 options",
	  86,
	  { ETHERNET(0x0800), IPV4_OPTIONS(72, 132), SEGMENT },
	  REDIRECTED_TAGGED, 0 },
	{ "step 3: the first fragment of a packet",
	  78,
	  { ETHERNET(0x0800), IPV4(64, 0x2000, 132), SEGMENT },
	  PASSED_FRAGMENT, 0 },
	{ "step 3: a COOKIE ACK, padded to 60 octets",
	  60,
	  { ETHERNET(0x0800), IPV4(36, 0, 132), SCTP(5002, 0xa1b2c3d4), 11, 0, 0, 4 },
	  PASSED_NO_DATA, 0 },
	{ "step 4: two VLAN tags",
	  86,
	  { ETHERNET(0x88a8), TAG(100, 0x8100), TAG(7, 0x0800), IPV4(64, 0, 132), SEGMENT },
	  REDIRECTED_TAGGED, 0 },
	{ "step 5: SCTP in UDP",
	  86,
	  { ETHERNET(0x0800), IPV4(72, 0, 17), UDP(9899, 52), SEGMENT },
	  REDIRECTED_TAGGED, 0 },
	{ "step 5: UDP to another port",
	  86,
	  { ETHERNET(0x0800), IPV4(72, 0, 17), UDP(53, 52), SEGMENT },
	  PASSED_NOT_SCTP, 0 },
	{ "step 6: IPv6 with destination options",
	  106,
	  { ETHERNET(0x86dd), IPV6(52, 60), OPTIONS(132), SEGMENT },
	  REDIRECTED_TAGGED, 0 },
	{ "step 7: a chunk of 5 octets before the segment",
	  86,
	  { ETHERNET(0x0800), IPV4(72, 0, 132), SCTP(5002, 0xa1b2c3d4), 4, 0, 0, 5, 0, 0, 0, 0, DATA(7, 32, 258, 16), TAGGED },
	  REDIRECTED_TAGGED, 0 },
	{ "step 7: an untagged segment",
	  82,
	  { ETHERNET(0x0800), IPV4(68, 0, 132), SCTP(5002, 0xa1b2c3d4), DATA(7, 36, 258, 16), UNTAGGED },
	  REDIRECTED_UNTAGGED, 0 },
	{ "step 7: the last fragment of a message",
	  82,
	  { ETHERNET(0x0800), IPV4(68, 0, 132), SCTP(5002, 0xa1b2c3d4), DATA(5, 36, 258, 16), UNTAGGED },
	  REDIRECTED_PART, 0 },
	{ "step 8: receive queue 1, which has no socket",
	  78,
	  { ETHERNET(0x0800), IPV4(64, 0, 132), SEGMENT },
	  PASSED_NO_SOCKET, 1 },
};
/* clang-format on */

static const char *const names[COUNTERS + 1] = {
	"REDIRECTED_TAGGED", "REDIRECTED_UNTAGGED", "REDIRECTED_PART",    "PASSED_MALFORMED",
	"PASSED_NOT_IP",     "PASSED_VLANS",        "PASSED_FRAGMENT",    "PASSED_EXTENSIONS",
	"PASSED_NOT_SCTP",   "PASSED_NO_DATA",      "PASSED_NOT_SEGMENT", "PASSED_UNKNOWN",
	"PASSED_NO_SOCKET",  "no counter",
};

/* --- running them ----------------------------------------------------------------------------- */

/* One stream, with slot 3, and a socket in entry 3. */
static void prepare(void)
{
	struct stream_key key = { .tag = 0xa1b2c3d4, .port = 5002, .stream = 258 };
	__u32 slot = 3;

	native_reset();
	bpf_map_update_elem(&streams, &key, &slot, BPF_ANY);
	bpf_map_update_elem(&xsks, &slot, &slot, BPF_ANY);
}

/* The counter that is 1 while all others are 0. */
static enum counter counted(void)
{
	enum counter found = COUNTERS;

	for (__u32 i = 0; i < COUNTERS; i++) {
		__u64 n = *(__u64 *)bpf_map_lookup_elem(&counters, &i);

		if (n > 1 || (n && found != COUNTERS))
			return COUNTERS;
		if (n)
			found = i;
	}
	return found;
}

static bool run(const struct test *t)
{
	/* Memory of exactly this size, so that AddressSanitizer sees a read after the frame. */
	uint8_t *frame = malloc(t->len);
	int verdict, right = t->counter <= REDIRECTED_PART ? XDP_REDIRECT : XDP_PASS;
	__u32 entry;
	bool ok;

	if (!frame)
		abort();
	memcpy(frame, t->frame, t->len);
	prepare();
	verdict = native_run(steer, frame, t->len, t->queue, &entry);
	ok = verdict == right && counted() == t->counter && (right == XDP_PASS || entry == 3) &&
	     !memcmp(frame, t->frame, t->len);
	if (ok)
		printf("ok    %s\n", t->name);
	else
		printf("FAIL  %s\n      expected result %d, %s\n      seen     result %d, %s, entry %d\n",
		       t->name, right, names[t->counter], verdict, names[counted()], (int)entry);
	free(frame);
	return ok;
}

int main(void)
{
	size_t n = sizeof(tests) / sizeof(tests[0]), good = 0;

	printf("results: 2 is XDP_PASS, 4 is XDP_REDIRECT\n");
	for (size_t i = 0; i < n; i++)
		good += run(&tests[i]);
	printf("%zu of %zu\n", good, n);
	return good != n;
}
