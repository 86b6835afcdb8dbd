/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the grader can call: your program on a frame, and its maps. You do not change this file. */
#include <stdlib.h>

#include "harness.h"
#include "steer.h"

/* Arguments: tag, port, stream, slot. Result: 1 if the stream is now registered. */
static void call_register(struct message *in, struct message *out)
{
	struct stream_key key = { .tag = get_u32(in) };
	__u32 slot;

	key.port = get_u16(in);
	key.stream = get_u16(in);
	slot = get_u32(in);
	put_u8(out, bpf_map_update_elem(&streams, &key, &slot, BPF_ANY) == 0);
}

/* Argument: entry of the map xsks that now has a socket. */
static void call_socket(struct message *in, struct message *out)
{
	__u32 entry = get_u32(in);

	put_u8(out, bpf_map_update_elem(&xsks, &entry, &entry, BPF_ANY) == 0);
}

static void put_run(struct message *out, int verdict, __u32 entry)
{
	put_u32(out, (uint32_t)verdict);
	put_u32(out, entry);
	for (__u32 i = 0; i < COUNTERS; i++)
		put_u64(out, *(__u64 *)bpf_map_lookup_elem(&counters, &i));
}

/* Arguments: queue, frame. Results: verdict, entry of the redirection, all counters, the frame. */
static void call_run(struct message *in, struct message *out)
{
	__u32 queue = get_u32(in), entry;
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *frame = memory_copy(octets, len);
	int verdict = native_run(steer, frame, len, queue, &entry);

	put_run(out, verdict, entry);
	put_octets(out, frame, memory_check(frame) ? len : 0);
	memory_free(frame);
}

/* Arguments: times, queue, frame. Results: verdict, entry, counters of the last run. */
static void call_repeat(struct message *in, struct message *out)
{
	__u32 times = get_u32(in), queue = get_u32(in), entry = NATIVE_NOWHERE;
	size_t len;
	const uint8_t *octets = get_octets(in, &len);
	uint8_t *frame = memory_copy(octets, len);
	int verdict = XDP_ABORTED;

	while (times--)
		verdict = native_run(steer, frame, len, queue, &entry);
	put_run(out, verdict, entry);
	memory_free(frame);
}

const struct call calls[] = {
	{ "register", call_register },
	{ "socket", call_socket },
	{ "run", call_run },
	{ "repeat", call_repeat },
	{ NULL, NULL },
};
