/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The protocol between call (on the host) and agent (in the guest) over one virtio-serial port. A
 * port carries one command at a time.
 *
 * The port is a stream of octets without a defined beginning. It may still hold octets that an
 * earlier caller did not read or that an earlier command sent late. Therefore the caller sends a
 * hello with a nonce and discards everything until the agent has echoed it. The agent waits for a
 * hello whenever it reads something that is not a frame. A caller that gets no answer sends
 * FRAME_HEAD + FRAME_MAX zeros, which complete any partial frame and are not a frame themselves,
 * and then a new hello.
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
	/* to the guest: 4 octets time limit in ms (0: none), then the words of the command, each
	 * terminated by NUL */
	FRAME_RUN = 'R',
	FRAME_STDIN = 'I',  /* to the guest: standard input; zero-length: its end */
	FRAME_STDOUT = 'O', /* to the host */
	FRAME_STDERR = 'E', /* to the host */
	/* to the host, the last frame: 4 octets exit status, as a shell reports it */
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

/* The last octets of a stream, which are compared with a hello. */
struct hello {
	uint8_t window[HELLO_LEN];
};

/* Adds one octet. Returns 1 if the window now holds a hello. */
static inline int hello_take(struct hello *h, uint8_t octet)
{
	memmove(h->window, h->window + 1, HELLO_LEN - 1);
	h->window[HELLO_LEN - 1] = octet;
	return memcmp(h->window, HELLO, 8) == 0;
}

#endif
