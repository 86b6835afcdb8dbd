/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CBOR (RFC 8949) in the caller's memory, the encoding of control messages and Private Data.
 * libcbor's streaming functions encode and decode; nothing is allocated.
 *
 * The protocols use unsigned and negative integers, byte and text strings, arrays and maps of
 * definite length, true and false. A reader skips tags, null, undefined and floating-point numbers.
 * It refuses items of indefinite length, and simple values without a name, which libcbor does not
 * decode.
 */
#ifndef IW_CBOR_CBOR_H
#define IW_CBOR_CBOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <iwarp/err.h>

/*
 * Writes to buf (borrowed), of cap octets, of which len are in use. An item that does not fit sets
 * full; from then on nothing is written, and len may include a part of that item.
 */
struct iw_cbor_out {
	uint8_t *buf;
	size_t cap, len;
	bool full;
};

/* Prepares *o. The functions below append one item each. */
void iw_cbor_out_init(struct iw_cbor_out *o, uint8_t *buf, size_t cap);
void iw_cbor_uint(struct iw_cbor_out *o, uint64_t v);
void iw_cbor_int(struct iw_cbor_out *o, int64_t v);
void iw_cbor_bool(struct iw_cbor_out *o, bool v);
void iw_cbor_bytes(struct iw_cbor_out *o, const void *p, size_t len);
/* The caller guarantees that p is UTF-8. */
void iw_cbor_text(struct iw_cbor_out *o, const char *p, size_t len);
/* Returns how many octets of text (ends with NUL) fit into max without cutting a character. */
size_t iw_cbor_cut(const char *text, size_t max);
/* Append the head of an array of n items or of a map of n pairs. The caller appends these next. */
void iw_cbor_array(struct iw_cbor_out *o, size_t n);
void iw_cbor_map(struct iw_cbor_out *o, size_t n);

/*
 * An array whose length is known only after its items: begin reserves room for the length and
 * returns its place, which the caller passes to end. n above 65535 sets full.
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

/* Reads len octets at p (borrowed). pos: where the next item begins. */
struct iw_cbor_in {
	const uint8_t *p;
	size_t len, pos;
};

/*
 * Reads the next item; of an array or map, only its head. Returns 1; 0: end of the input.
 * IW_E_TRUNC: the input ends within the item; IW_E_FORMAT: not CBOR, or of indefinite length.
 */
IW_MUST_CHECK int iw_cbor_next(struct iw_cbor_in *in, struct iw_cbor_item *out);

/*
 * Skips one item with all items that it contains, and sets p and len to its octets. Returns 1 or 0
 * as iw_cbor_next. Errors of iw_cbor_next; IW_E_FORMAT also if a head announces more items than
 * octets are left.
 */
IW_MUST_CHECK int iw_cbor_skip(struct iw_cbor_in *in, const uint8_t **p, size_t *len);

/*
 * A parsed map with small unsigned keys, which may come in any order. A key that is not an unsigned
 * integer below IW_CBOR_KEYS is skipped, so that the protocol can be extended.
 */
#define IW_CBOR_KEYS 32

struct iw_cbor_rec {
	const char *what; /* the name of the map in faults, such as "FILES entry" */
	struct {
		const uint8_t *p; /* NULL: the key is absent */
		size_t len;
	} value[IW_CBOR_KEYS];
};

/*
 * Parses one map. what is static. Values are slices of the input. Returns 1; 0: end of the input.
 * IW_E_TRUNC: the input ends within the map; IW_E_FORMAT: not a map, or malformed, or a key occurs
 * twice.
 */
IW_MUST_CHECK int iw_cbor_rec_next(struct iw_cbor_rec *rec, struct iw_cbor_in *in, const char *what,
				   struct iw_fault *why);

/* True if the map has that key, which is below IW_CBOR_KEYS. */
bool iw_cbor_has(const struct iw_cbor_rec *rec, unsigned key);

/*
 * Read the value of key. IW_E_FORMAT: the key is absent, or the value is of another kind.
 * IW_E_LIMIT: the value is above max, or does not fit *out.
 */
IW_MUST_CHECK int iw_cbor_get_uint(const struct iw_cbor_rec *rec, unsigned key, uint64_t max,
				   uint64_t *out, struct iw_fault *why);
IW_MUST_CHECK int iw_cbor_get_u32(const struct iw_cbor_rec *rec, unsigned key, uint32_t max,
				  uint32_t *out, struct iw_fault *why);
IW_MUST_CHECK int iw_cbor_get_int(const struct iw_cbor_rec *rec, unsigned key, int64_t *out,
				  struct iw_fault *why);
IW_MUST_CHECK int iw_cbor_get_bool(const struct iw_cbor_rec *rec, unsigned key, bool *out,
				   struct iw_fault *why);
/*
 * kind: IW_CBOR_BYTES or IW_CBOR_TEXT; max: octets. *p is a slice of the input (borrowed), of *len
 * octets.
 */
IW_MUST_CHECK int iw_cbor_get_string(const struct iw_cbor_rec *rec, unsigned key,
				     enum iw_cbor_kind kind, size_t max, const uint8_t **p,
				     size_t *len, struct iw_fault *why);
/* Sets *in to read the n items of the array. */
IW_MUST_CHECK int iw_cbor_get_array(const struct iw_cbor_rec *rec, unsigned key,
				    struct iw_cbor_in *in, size_t *n, struct iw_fault *why);

#endif
