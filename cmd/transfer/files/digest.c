// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* xxh3 from xxhash, sha256 from OpenSSL; lists of chunks. */
#include "transfer/files/digest.h"

#include <stdlib.h>
#include <string.h>
#ifdef IW_HAVE_XXH_DISPATCH
#include <xxh_x86dispatch.h> /* the same functions for the widest vector registers */
#else
#include <xxhash.h>
#endif
#ifdef IW_HAVE_OPENSSL
#include <openssl/evp.h>
#endif

#include "util/num.h"
#include "util/text.h"

unsigned iw_digests_built(void)
{
	unsigned set = 1u << IW_XFER_NONE | 1u << IW_XFER_XXH3;

#ifdef IW_HAVE_OPENSSL
	set |= 1u << IW_XFER_SHA256;
#endif
	return set;
}

#ifdef IW_HAVE_OPENSSL
static int sha256_init(struct iw_hasher *h, struct iw_fault *why)
{
	/* Created once: an implicit fetch for each use takes longer than hashing a small chunk. */
	h->md = EVP_MD_fetch(NULL, "SHA256", NULL);
	h->ctx = EVP_MD_CTX_new();
	if (!h->md || !h->ctx)
		return iw_fail(why, IW_E_NOTSUP, "digest sha256: OpenSSL does not provide it");
	return 0;
}

static int sha256_chunk(struct iw_hasher *h, const struct iovec *iov, size_t n,
			struct iw_xfer_digest *out)
{
	unsigned len = 0;
	int ok = EVP_DigestInit_ex2(h->ctx, h->md, NULL);

	for (size_t i = 0; i < n && ok == 1; i++)
		ok = EVP_DigestUpdate(h->ctx, iov[i].iov_base, iov[i].iov_len);
	if (ok == 1)
		ok = EVP_DigestFinal_ex(h->ctx, out->octets, &len);
	out->len = (uint8_t)len;
	return ok == 1 ? 0 : IW_E_OS;
}

static void sha256_fini(struct iw_hasher *h)
{
	EVP_MD_CTX_free(h->ctx);
	EVP_MD_free(h->md);
}
#else
static int sha256_init(struct iw_hasher *h, struct iw_fault *why)
{
	(void)h;
	return iw_fail(why, IW_E_NOTSUP, "digest sha256: built without OpenSSL");
}

static int sha256_chunk(struct iw_hasher *h, const struct iovec *iov, size_t n,
			struct iw_xfer_digest *out)
{
	(void)h;
	(void)iov;
	(void)n;
	(void)out;
	return IW_E_NOTSUP;
}

static void sha256_fini(struct iw_hasher *h)
{
	(void)h;
}
#endif

static int xxh3_chunk(struct iw_hasher *h, const struct iovec *iov, size_t n,
		      struct iw_xfer_digest *out)
{
	XXH128_canonical_t canonical;
	XXH128_hash_t hash;

	if (n == 1) {
		hash = XXH3_128bits(iov[0].iov_base, iov[0].iov_len);
	} else {
		if (XXH3_128bits_reset(h->state) != XXH_OK)
			return IW_E_OS;
		for (size_t i = 0; i < n; i++)
			if (XXH3_128bits_update(h->state, iov[i].iov_base, iov[i].iov_len) !=
			    XXH_OK)
				return IW_E_OS;
		hash = XXH3_128bits_digest(h->state);
	}
	XXH128_canonicalFromHash(&canonical, hash);
	out->len = sizeof(canonical.digest);
	memcpy(out->octets, canonical.digest, sizeof(canonical.digest));
	return 0;
}

bool iw_digest_is_quick(enum iw_xfer_digest_kind kind)
{
	return kind != IW_XFER_SHA256;
}

int iw_hasher_init(struct iw_hasher *h, enum iw_xfer_digest_kind kind, struct iw_fault *why)
{
	int err = 0;

	*h = (struct iw_hasher){ .kind = kind };
	switch (kind) {
	case IW_XFER_NONE:
		break;
	case IW_XFER_XXH3:
		h->state = XXH3_createState();
		if (!h->state)
			err = iw_fail(why, IW_E_NOMEM, "digest xxh3: no memory");
		break;
	case IW_XFER_SHA256:
		err = sha256_init(h, why);
		break;
	}
	if (err)
		iw_hasher_fini(h);
	return err;
}

void iw_hasher_fini(struct iw_hasher *h)
{
	if (h->state)
		XXH3_freeState(h->state);
	sha256_fini(h);
	*h = (struct iw_hasher){ .kind = IW_XFER_NONE };
}

int iw_hasher_chunk(struct iw_hasher *h, const struct iovec *iov, size_t n,
		    struct iw_xfer_digest *out)
{
	memset(out, 0, sizeof(*out));
	switch (h->kind) {
	case IW_XFER_NONE:
		return 0;
	case IW_XFER_XXH3:
		return xxh3_chunk(h, iov, n, out);
	case IW_XFER_SHA256:
		return sha256_chunk(h, iov, n, out);
	}
	return IW_E_INVAL;
}

/* --- lists --- */

static size_t row_len(const struct iw_chunk_list *l)
{
	return 8u + l->digest_len;
}

int iw_chunk_list_add(struct iw_chunk_list *l, uint64_t off, const struct iw_xfer_digest *d)
{
	uint64_t number = off / IW_XFER_CHUNK;
	uint8_t *row;

	if (d->len == 0)
		return 0; /* this transfer has no digests */
	if (l->n == 0)
		l->digest_len = d->len;
	if (d->len != l->digest_len)
		return IW_E_INVAL;
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 16;
		uint8_t *rows = reallocarray(l->rows, cap, row_len(l));

		if (!rows)
			return IW_E_NOMEM;
		l->rows = rows;
		l->cap = cap;
	}
	if (l->n > 0 && number <= l->last)
		l->disorder = true;
	l->last = number;
	row = l->rows + l->n++ * row_len(l);
	iw_put_be64(row, number);
	memcpy(row + 8, d->octets, d->len);
	return 0;
}

/* Rows begin with a big-endian number, so their octets sort like numbers. */
static int by_number(const void *a, const void *b)
{
	return memcmp(a, b, 8);
}

void iw_chunk_list_sort(struct iw_chunk_list *l)
{
	if (l->disorder)
		qsort(l->rows, l->n, row_len(l), by_number);
	l->disorder = false;
}

void iw_chunk_list_row(const struct iw_chunk_list *l, size_t i, uint64_t *off,
		       struct iw_xfer_digest *d)
{
	const uint8_t *row = l->rows + i * row_len(l);

	*off = iw_get_be64(row) * IW_XFER_CHUNK;
	*d = (struct iw_xfer_digest){ .len = l->digest_len };
	memcpy(d->octets, row + 8, d->len);
}

bool iw_chunk_list_replace(struct iw_chunk_list *l, size_t n, uint64_t off,
			   const struct iw_xfer_digest *d)
{
	uint8_t key[8], *row;

	iw_put_be64(key, off / IW_XFER_CHUNK);
	row = n > 0 ? bsearch(key, l->rows, n, row_len(l), by_number) : NULL;
	if (!row || d->len != l->digest_len)
		return false;
	memcpy(row + 8, d->octets, d->len);
	return true;
}

int iw_chunk_list_digest(struct iw_chunk_list *l, struct iw_hasher *h, uint64_t size,
			 struct iw_xfer_digest *out)
{
	uint8_t tail[8];
	struct iovec iov[2] = { { .iov_base = l->rows, .iov_len = l->n * row_len(l) },
				{ .iov_base = tail, .iov_len = sizeof(tail) } };

	iw_chunk_list_sort(l);
	iw_put_be64(tail, size);
	return iw_hasher_chunk(h, l->n ? iov : iov + 1, l->n ? 2 : 1, out);
}

void iw_chunk_list_free(struct iw_chunk_list *l)
{
	free(l->rows);
	*l = (struct iw_chunk_list){ .n = 0 };
}
