// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Loans: messages that the program reads in the memory in which they arrived. A loan has a slot
 * until the program returns it. A port reserves a slot for each message that it can lend; loans
 * outlive the port. The id of a loan contains the turn of its slot, so that the id of a former loan
 * of the slot is detected.
 */
#include "loop/loop.h"

#include "loop/internal.h"
#include "util/text.h"

int iw_loop_loans_reserve(struct iw_loop *l, unsigned n, struct iw_fault *why)
{
	struct loans *t = &l->loans;
	uint32_t cap = t->out + t->reserved + n;
	struct loan *slot;

	if (cap > t->cap) {
		slot = iw_mem_array(l->mem, cap, sizeof(*slot));
		if (!slot)
			return iw_fail(why, IW_E_NOMEM, "loop: no memory for %u loans",
				       (uint32_t)n);
		for (uint32_t i = 0; i < t->cap; i++)
			slot[i] = t->slot[i];
		iw_mem_free(l->mem, t->slot, t->cap * sizeof(*slot));
		t->slot = slot;
		while (t->cap < cap) {
			slot[t->cap].next = t->free;
			t->free = ++t->cap;
		}
	}
	t->reserved += n;
	return 0;
}

uint64_t iw_loop_next_loan(const struct iw_loop *l)
{
	uint32_t n = l->loans.free;

	return n == 0 ? 0 : (uint64_t)l->loans.slot[n - 1].turn << 32 | n;
}

void iw_loop_lend(struct iw_loop *l, struct iw_lender *from, const uint8_t *data)
{
	struct loans *t = &l->loans;
	struct loan *s = &t->slot[t->free - 1];

	t->free = s->next;
	s->from = from;
	s->data = data;
	t->out++;
}

static void give_back(struct loans *t, uint32_t n)
{
	struct loan *s = &t->slot[n - 1];

	s->from->take_back(s->from, s->data);
	s->from = NULL;
	s->turn++;
	s->next = t->free;
	t->free = n;
	t->out--;
}

int iw_loop_loan_return(struct iw_loop *l, uint64_t loan, struct iw_fault *why)
{
	struct loans *t = &l->loans;
	uint32_t n = (uint32_t)loan, turn = (uint32_t)(loan >> 32);

	if (n == 0 || n > t->cap || turn > t->slot[n - 1].turn)
		return iw_fail(
			why, IW_E_INVAL,
			"loan %X: not a loan of this context: return the loan of a completion "
			"in the context of its queue pair",
			loan);
	if (turn != t->slot[n - 1].turn || !t->slot[n - 1].from)
		return iw_fail(why, IW_E_INVAL, "loan %X: already returned: return each loan once",
			       loan);
	give_back(t, n);
	return 0;
}

void iw_loop_loans_free(struct iw_loop *l)
{
	struct loans *t = &l->loans;

	for (uint32_t n = 1; n <= t->cap; n++)
		if (t->slot[n - 1].from)
			give_back(t, n);
	iw_mem_free(l->mem, t->slot, t->cap * sizeof(*t->slot));
}
