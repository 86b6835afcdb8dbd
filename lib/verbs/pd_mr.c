// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Protection domains, and the Tagged Buffers registered in them. */
#include "verbs/internal.h"

#include "llp/port.h"
#include "os/os.h"

_Static_assert((int)IW_ACCESS_REMOTE_READ == IW_RIGHT_REMOTE_READ &&
		       (int)IW_ACCESS_REMOTE_WRITE == IW_RIGHT_REMOTE_WRITE &&
		       (int)IW_ACCESS_READ_SINK == IW_RIGHT_READ_SINK,
	       "rights");
_Static_assert(IW_MR_MAX == IW_STAG_MAX, "regions");

static bool is_number_of_pd(const struct iw_ctx *ctx, uint32_t number)
{
	for (struct iw_list *n = ctx->pds.next; n != &ctx->pds; n = n->next)
		if (iw_container_of(n, struct iw_pd, all)->number == number)
			return true;
	return false;
}

/* Returns a number that no other protection domain of the context has, never 0. */
static uint32_t new_number(struct iw_ctx *ctx)
{
	do
		ctx->pds_wrapped |= ++ctx->last_pd == 0;
	while (ctx->last_pd == 0 || (ctx->pds_wrapped && is_number_of_pd(ctx, ctx->last_pd)));
	return ctx->last_pd;
}

int iw_pd_new(struct iw_pd **out, struct iw_ctx *ctx)
{
	struct iw_pd *pd = iw_verbs_alloc(ctx, sizeof(*pd));

	*out = NULL;
	if (!pd)
		return IW_E_NOMEM;
	pd->ctx = ctx;
	pd->number = new_number(ctx);
	iw_list_add_tail(&ctx->pds, &pd->all);
	*out = pd;
	return 0;
}

int iw_pd_free(struct iw_pd *pd)
{
	if (!pd)
		return 0;
	if (pd->users)
		return IW_E_BUSY;
	iw_list_del(&pd->all);
	iw_verbs_free(pd->ctx, pd, sizeof(*pd));
	return 0;
}

static bool is_valid(const struct iw_region *r, uint64_t now)
{
	return r->uses > 0 && now < r->expires;
}

static bool overlaps(const struct iw_region *a, const struct iw_region *b)
{
	const uintptr_t at = (uintptr_t)a->base, bt = (uintptr_t)b->base;

	return a->len > 0 && b->len > 0 && at < bt + b->len && bt < at + a->len;
}

/* True if different peers may access the same octets, and one may write (RFC 5042 6.3.6). */
static bool is_alias(const struct iw_region *a, const struct iw_region *b)
{
	const uint8_t places = IW_RIGHT_REMOTE_WRITE | IW_RIGHT_READ_SINK;

	return (a->pd != b->pd || a->stream != b->stream) && (a->rights | b->rights) & places &&
	       overlaps(a, b);
}

static int refuse_aliases(struct iw_ctx *ctx, const struct iw_region *r, struct iw_fault *why)
{
	const uint64_t now = iw_os_now();
	const struct iw_region *other;
	size_t pos = 0;

	while ((other = iw_stag_each(ctx->stags, &pos)))
		if (is_valid(other, now) && is_alias(r, other))
			return iw_fail(
				why, IW_E_BUSY,
				"memory region: STag %x of another domain or queue pair shares octets with it (RFC 5042 6.3.6): revoke that one first",
				other->stag);
	return 0;
}

int iw_mr_reg(struct iw_mr **out, struct iw_pd *pd, const struct iw_mr_attr *attr,
	      struct iw_fault *why)
{
	struct iw_ctx *ctx = pd->ctx;
	struct iw_region r = {
		.rights = (uint8_t)attr->access,
		.pd = pd->number,
		.base = attr->addr,
		.len = attr->len,
		.to = attr->to,
		.expires = attr->lifetime_ns ? iw_time_add(iw_os_now(), attr->lifetime_ns)
					     : IW_TIME_NEVER,
		.uses = attr->uses ? attr->uses : UINT32_MAX,
		.tallied = attr->tally,
	};
	struct iw_mr *mr;
	int err;

	*out = NULL;
	if (attr->access > UINT8_MAX)
		return iw_fail(why, IW_E_INVAL, "memory region: unknown rights %x",
			       (uint32_t)attr->access);
	if (attr->qp && attr->qp->pd != pd)
		return iw_fail(
			why, IW_E_INVAL,
			"memory region: its queue pair belongs to another protection domain");
	mr = iw_verbs_alloc(ctx, sizeof(*mr));
	if (!mr)
		return iw_fail(why, IW_E_NOMEM, "memory region: no memory");
	if (attr->qp)
		r.stream = iw_rdmap_stream(attr->qp->rdmap);
	r.owner = &mr->tally;
	err = attr->exclusive ? refuse_aliases(ctx, &r, why) : 0;
	if (!err)
		err = iw_stag_add(ctx->stags, &r, &mr->stag, why);
	if (err) {
		iw_verbs_free(ctx, mr, sizeof(*mr));
		return err;
	}
	mr->pd = pd;
	mr->access = attr->access;
	mr->to = attr->to;
	mr->len = attr->len;
	pd->users++;
	iw_list_add_tail(&ctx->mrs, &mr->all);
	*out = mr;
	return 0;
}

void iw_verbs_report_stags(struct iw_ctx *ctx, struct iw_port *port)
{
	const struct iw_region *r;
	size_t pos = 0;

	if (!port->ops->stag)
		return;
	while ((r = iw_stag_each(ctx->stags, &pos)))
		port->ops->stag(port, r->stag, r->pd, r->stream, r->expires);
}

uint32_t iw_mr_stag(const struct iw_mr *mr)
{
	return mr->stag;
}

/*
 * Returns the region in the table. NULL: it is no longer registered; another region may have its
 * STag by now.
 */
static struct iw_region *region_of(const struct iw_mr *mr)
{
	struct iw_region *r = iw_stag_get(mr->pd->ctx->stags, mr->stag);

	return r && r->owner == &mr->tally ? r : NULL;
}

void iw_mr_revoke(struct iw_mr *mr)
{
	struct iw_ctx *ctx;

	if (!mr)
		return;
	ctx = mr->pd->ctx;
	if (region_of(mr))
		iw_stag_del(ctx->stags, mr->stag);
	mr->pd->users--;
	iw_list_del(&mr->all);
	iw_verbs_free(ctx, mr, sizeof(*mr));
}

bool iw_mr_valid(const struct iw_mr *mr)
{
	const struct iw_region *r = region_of(mr);

	return r && is_valid(r, iw_os_now());
}

uint64_t iw_mr_written(const struct iw_mr *mr)
{
	return mr->tally.covered;
}

void iw_mr_tally(const struct iw_mr *mr, struct iw_tally *out)
{
	iw_verbs_tally(out, &mr->tally);
}
