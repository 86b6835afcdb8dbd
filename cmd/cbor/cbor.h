/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CBOR (RFC 8949) in the caller's memory: what control messages and Private Data are made of. libcbor's streaming functions do
 * the octets; nothing is allocated. Of CBOR the protocol uses unsigned and negative integers, byte and text strings, arrays and maps
 * of definite length, true and false; a reader skips whatever else is well-formed and of definite length.
 */
#ifndef IW_XFER_CBOR_H
#define IW_XFER_CBOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

/* Writes into buf (borrowed). What does not fit sets full, for good; len is then meaningless. */
struct iw_cbor_out {
	uint8_t *buf;
	size_t cap, len;
	bool full;
};

void iw_cbor_out_init(struct iw_cbor_out *o, uint8_t *buf, size_t cap);
void iw_cbor_uint(struct iw_cbor_out *o, uint64_t v);
void iw_cbor_int(struct iw_cbor_out *o, int64_t v);
void iw_cbor_bool(struct iw_cbor_out *o, bool v);
void iw_cbor_bytes(struct iw_cbor_out *o, const void *p, size_t len);
/* p is UTF-8; the caller sees to it. */
void iw_cbor_text(struct iw_cbor_out *o, const char *p, size_t len);
/* How many octets of text (NUL behind it) fit into max without cutting a character of UTF-8. */
size_t iw_cbor_cut(const char *text, size_t max);
/* The n items, or pairs of items, follow. */
void iw_cbor_array(struct iw_cbor_out *o, size_t n);
void iw_cbor_map(struct iw_cbor_out *o, size_t n);

/*
 * An array whose length is known only when its items are written: begin leaves room for the length and returns the place that end
 * wants back. n is at most 65535.
 */
size_t iw_cbor_array_begin(struct iw_cbor_out *o);
void iw_cbor_array_end(struct iw_cbor_out *o, size_t place, size_t n);

enum iw_cbor_kind {
	IW_CBOR_UINT,
	IW_CBOR_NINT, /* -1 - u */
	IW_CBOR_BYTES,
	IW_CBOR_TEXT,
	IW_CBOR_ARRAY, /* u items follow */
	IW_CBOR_MAP,   /* u pairs follow */
	IW_CBOR_BOOL,  /* u is 0 or 1 */
	IW_CBOR_TAG,   /* one item follows */
	IW_CBOR_OTHER, /* null, undefined, floating point */
};

struct iw_cbor_item {
	enum iw_cbor_kind kind;
	uint64_t u;
	const uint8_t *p; /* BYTES, TEXT: slice of the input */
	size_t len;
};

/* Reads from p (borrowed). */
struct iw_cbor_in {
	const uint8_t *p;
	size_t len, pos;
};

/*
 * The next item; of an array or a map its head alone. 1; 0: the input is used up; IW_E_TRUNC: it ends within the item;
 * IW_E_FORMAT: not CBOR, or of indefinite length.
 */
IW_MUST_CHECK int iw_cbor_next(struct iw_cbor_in *in, struct iw_cbor_item *out);

/*
 * Moves over one item with all that it contains, and tells where it lay. 1, 0 or an error as iw_cbor_next; IW_E_FORMAT also when
 * a head announces more items than there are octets left.
 */
IW_MUST_CHECK int iw_cbor_skip(struct iw_cbor_in *in, const uint8_t **p, size_t *len);

/*
 * A map with small unsigned keys, taken apart once, in whatever order its keys come. Keys that are not below IW_CBOR_KEYS, or are
 * no unsigned integers, are well-formed strangers: skipped, so that the protocol can grow.
 */
#define IW_CBOR_KEYS 32

struct iw_cbor_rec {
	const char *what; /* "FILES entry": names the map in faults */
	struct {
		const uint8_t *p; /* NULL: the key is absent */
		size_t len;
	} value[IW_CBOR_KEYS];
};

/*
 * Reads one map from in. what is static text. 1; 0: the input is used up; IW_E_FORMAT, IW_E_TRUNC: *why tells (a key that comes
 * twice is such a fault). Values are slices of the input.
 */
IW_MUST_CHECK int iw_cbor_rec_next(struct iw_cbor_rec *rec, struct iw_cbor_in *in, const char *what,
				   struct iw_fault *why);

bool iw_cbor_has(const struct iw_cbor_rec *rec, unsigned key);

/* Each reads a value that must be there, of that kind and in that range: 0, or IW_E_FORMAT or
 * IW_E_LIMIT with *why. */
IW_MUST_CHECK int iw_cbor_get_uint(const struct iw_cbor_rec *rec, unsigned key, uint64_t max,
				   uint64_t *out, struct iw_fault *why);
IW_MUST_CHECK int iw_cbor_get_u32(const struct iw_cbor_rec *rec, unsigned key, uint32_t max,
				  uint32_t *out, struct iw_fault *why);
IW_MUST_CHECK int iw_cbor_get_int(const struct iw_cbor_rec *rec, unsigned key, int64_t *out,
				  struct iw_fault *why);
IW_MUST_CHECK int iw_cbor_get_bool(const struct iw_cbor_rec *rec, unsigned key, bool *out,
				   struct iw_fault *why);
/* kind: IW_CBOR_BYTES or IW_CBOR_TEXT. */
IW_MUST_CHECK int iw_cbor_get_string(const struct iw_cbor_rec *rec, unsigned key,
				     enum iw_cbor_kind kind, size_t max, const uint8_t **p,
				     size_t *len, struct iw_fault *why);
/* *in is set to read the n items of the array. */
IW_MUST_CHECK int iw_cbor_get_array(const struct iw_cbor_rec *rec, unsigned key,
				    struct iw_cbor_in *in, size_t *n, struct iw_fault *why);

#endif
