/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What call (on the host) and agent (in the guest) say to each other over one virtio-serial port: a port carries one command at a time.
 *
 * The port is a stream of octets without a beginning: what an earlier caller left unread, or an earlier command unsaid, may still be in it.
 * So the caller sends a hello with a nonce and throws everything away until the agent has said it back; the agent does the same when
 * what it reads is no frame. A caller that gets no answer sends FRAME_MAX zeros, which fill any frame that is half there and are none
 * themselves, and the hello again.
 *
 *   hello   8 octets HELLO, 8 octets nonce
 *   frame   1 octet type, 4 octets length (big-endian, at most FRAME_MAX), payload
 */
#ifndef GUEST_FRAME_H
#define GUEST_FRAME_H

#include <stdint.h>
#include <string.h>

#define HELLO      "iw-vm-1\n"
#define HELLO_LEN  16
#define FRAME_HEAD 5
#define FRAME_MAX  32768

enum frame_type {
	/* to the guest: 4 octets time limit in ms (0: none), then the command's words, each
	 * ended by NUL */
	FRAME_RUN = 'R',
	FRAME_STDIN = 'I',  /* to the guest: standard input; of length 0: its end */
	FRAME_STDOUT = 'O', /* to the host */
	FRAME_STDERR = 'E', /* to the host */
	/* to the host, the last one: 4 octets exit status as a shell tells it */
	FRAME_EXIT = 'X',
};

static inline void put32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* A window over a stream of octets, in which a hello is looked for. */
struct hello {
	uint8_t window[HELLO_LEN];
};

/* Takes one octet; 1 when the window now holds a hello. */
static inline int hello_take(struct hello *h, uint8_t octet)
{
	memmove(h->window, h->window + 1, HELLO_LEN - 1);
	h->window[HELLO_LEN - 1] = octet;
	return memcmp(h->window, HELLO, 8) == 0;
}

#endif
