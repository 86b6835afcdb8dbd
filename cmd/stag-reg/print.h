/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What stag-reg prints: buffers, their Advertisements and their peers, for people, for eval, as a
 * URI, and as JSON lines. All goes to standard output, what came from elsewhere without what could
 * move the cursor.
 *
 * Neighbours: cli/json.h and cli/table.h below, stag-reg/watch.h and stag-reg above. Functions return 0,
 * what iw_json_end says as IW_E_CLOSED, or IW_E_NOMEM, with *why.
 */
#ifndef IW_MANAGER_PRINT_H
#define IW_MANAGER_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/json.h"
#include "cli/table.h"
#include "stag-reg/msg.h"

/* Of an Advertisement, where it is not JSON. */
enum iw_manager_form { IW_MANAGER_FORM_TEXT, IW_MANAGER_FORM_SHELL, IW_MANAGER_FORM_URI };

struct iw_manager_print {
	struct iw_json *json; /* borrowed; NULL: no JSON */
	enum iw_manager_form form;
	/*
	 * In Advertisements: without blanks, quotes and what has a meaning in a URI. NULL: the address
	 * that the server listens on, or this host's name where that is every address.
	 */
	const char *host;
};

/* All of one buffer, its key among it. */
IW_MUST_CHECK int iw_manager_print_advert(const struct iw_manager_print *p,
					  const struct iw_manager_buffer *b, struct iw_fault *why);
/* "KEY N"; as JSON the "result" event with that key. */
IW_MUST_CHECK int iw_manager_print_result(const struct iw_manager_print *p, const char *key,
					  uint64_t n, struct iw_fault *why);

/* --- lists: a table; as JSON an event for each, at once --- */

/* Begins as { .p = p }, p borrowed. iw_manager_list_end is due. */
struct iw_manager_list {
	const struct iw_manager_print *p;
	enum iw_manager_kind kind; /* of what is in it */
	struct iw_table t;
	size_t rows; /* 0: t is not set up yet */
};

/* One more: all are BUFFERs, which are told without their keys, or all are PEERs. */
IW_MUST_CHECK int iw_manager_list_add(struct iw_manager_list *l, const struct iw_manager_reply *r,
				      struct iw_fault *why);
/*
 * Writes the table if there is anything to tell, peers behind an empty line, and frees what the list
 * has. failed: not 0: returned, and nothing is written.
 */
IW_MUST_CHECK int iw_manager_list_end(struct iw_manager_list *l, int failed, struct iw_fault *why);

/* --- news: a line for each --- */

IW_MUST_CHECK int iw_manager_print_registered(const struct iw_manager_print *p,
					      const struct iw_manager_buffer *b,
					      struct iw_fault *why);
IW_MUST_CHECK int iw_manager_print_gone(const struct iw_manager_print *p, uint32_t stag,
					struct iw_fault *why);
/*
 * What a peer of the buffer has done in all, and of that in the last interval_ns (0: ever): fresh,
 * of which the octets are told.
 */
IW_MUST_CHECK int iw_manager_print_interval(const struct iw_manager_print *p, uint32_t stag,
					    const struct iw_manager_peer *peer,
					    const struct iw_tally *fresh, uint64_t interval_ns,
					    struct iw_fault *why);

#endif
