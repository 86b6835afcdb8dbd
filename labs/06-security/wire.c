/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests to the careless server. You need not change this file. */
#include "wire.h"

#include <string.h>

static int exchange(struct wire *w, const struct request *q, struct reply *r)
{
	memset(r, 0, sizeof(*r));
	w->exchange(w, q, r);
	return r->status;
}

int wire_connect(struct wire *w)
{
	struct request q = { .kind = REQUEST_CONNECT };
	struct reply r;

	return exchange(w, &q, &r);
}

int wire_read(struct wire *w, uint32_t stag, uint64_t to, uint8_t *dst, uint32_t len)
{
	struct request q = { .kind = REQUEST_READ, .stag = stag, .to = to, .len = len };
	struct reply r;
	int status = exchange(w, &q, &r);

	if (status == ALLOWED && r.len)
		memcpy(dst, r.data, r.len < len ? r.len : len);
	return status;
}

int wire_write(struct wire *w, uint32_t stag, uint64_t to, const uint8_t *src, uint32_t len)
{
	struct request q = {
		.kind = REQUEST_WRITE,
		.stag = stag,
		.to = to,
		.len = len,
		.data = src,
	};
	struct reply r;

	return exchange(w, &q, &r);
}

int wire_register(struct wire *w, uint32_t rights, struct lease *lease)
{
	struct request q = { .kind = REQUEST_REGISTER, .rights = rights };
	struct reply r;
	int status = exchange(w, &q, &r);

	if (status == ALLOWED)
		*lease = r.lease;
	return status;
}

int wire_release(struct wire *w, uint32_t stag)
{
	struct request q = { .kind = REQUEST_RELEASE, .stag = stag };
	struct reply r;

	return exchange(w, &q, &r);
}

int wire_wait(struct wire *w)
{
	struct request q = { .kind = REQUEST_WAIT };
	struct reply r;

	return exchange(w, &q, &r);
}

bool find_secret(const uint8_t *octets, size_t len, uint8_t secret[SECRET_LEN])
{
	for (size_t i = 0; i + MARK_LEN + SECRET_LEN <= len; i++)
		if (!memcmp(octets + i, MARK, MARK_LEN)) {
			memcpy(secret, octets + i + MARK_LEN, SECRET_LEN);
			return true;
		}
	return false;
}
