/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An intrusive, circular, doubly linked list. Call iw_list_init() on heads and links: a link is
 * then in no list.
 */
#ifndef IW_UTIL_LIST_H
#define IW_UTIL_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct iw_list {
	struct iw_list *next, *prev;
};

static inline void iw_list_init(struct iw_list *l)
{
	l->next = l->prev = l;
}

static inline bool iw_list_empty(const struct iw_list *l)
{
	return l->next == l;
}

static inline void iw_list_add_tail(struct iw_list *head, struct iw_list *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}

/* Removes n from its list. Has no effect on a link that is in no list. */
static inline void iw_list_del(struct iw_list *n)
{
	n->prev->next = n->next;
	n->next->prev = n->prev;
	iw_list_init(n);
}

static inline struct iw_list *iw_list_first(const struct iw_list *head)
{
	return head->next == head ? NULL : head->next;
}

#endif
