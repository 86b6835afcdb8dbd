/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes buffers, their Advertisements and their peers to standard output: as text, as assignments
 * for eval, as a URI, and as JSON lines. Text from outside is made harmless for the terminal.
 *
 * Errors of all functions: IW_E_CLOSED: standard output cannot be written; IW_E_NOMEM.
 */
#ifndef IW_STAG_REG_PRINT_H
#define IW_STAG_REG_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/json.h"
#include "cli/table.h"
#include "stag-reg/msg.h"

/* The form of an Advertisement, unless it is JSON. */
enum iw_manager_form { IW_MANAGER_FORM_TEXT, IW_MANAGER_FORM_SHELL, IW_MANAGER_FORM_URI };

struct iw_manager_print {
	struct iw_json *json; /* borrowed; NULL: no JSON */
	enum iw_manager_form form;
	/*
	 * The host in Advertisements, valid by iw_manager_host_valid. NULL: the address that the
	 * server listens on, or the name of this host if it listens on all addresses.
	 */
	const char *host;
};

/* Writes everything about a buffer, including its key. */
IW_MUST_CHECK int iw_manager_print_advert(const struct iw_manager_print *p,
					  const struct iw_manager_buffer *b, struct iw_fault *why);
/* Writes "KEY N", or the JSON event "result" with that key. */
IW_MUST_CHECK int iw_manager_print_result(const struct iw_manager_print *p, const char *key,
					  uint64_t n, struct iw_fault *why);

/* --- lists: as text a table, as JSON an event for each entry at once --- */

/* Initialize it as { .p = p } (borrowed), and end it with iw_manager_list_end. */
struct iw_manager_list {
	const struct iw_manager_print *p;
	enum iw_manager_kind kind; /* of the entries */
	struct iw_table t;
	size_t rows; /* 0: t is not initialized */
};

/* Adds an entry. All are BUFFERs, which are shown without keys, or all are PEERs. */
IW_MUST_CHECK int iw_manager_list_add(struct iw_manager_list *l, const struct iw_manager_reply *r,
				      struct iw_fault *why);
/*
 * Writes the table, unless it is empty, and frees it. A table of peers follows an empty line.
 * failed: if not 0, it is returned and nothing is written.
 */
IW_MUST_CHECK int iw_manager_list_end(struct iw_manager_list *l, int failed, struct iw_fault *why);

/* --- events of watch: a line for each --- */

/* The buffer was registered; the buffer with this STag is not registered any more. */
IW_MUST_CHECK int iw_manager_print_registered(const struct iw_manager_print *p,
					      const struct iw_manager_buffer *b,
					      struct iw_fault *why);
IW_MUST_CHECK int iw_manager_print_gone(const struct iw_manager_print *p, uint32_t stag,
					struct iw_fault *why);
/*
 * Writes what a peer did with the buffer: in total, and in the last interval_ns (fresh; 0: since
 * its admission), of which only the octets are shown.
 */
IW_MUST_CHECK int iw_manager_print_interval(const struct iw_manager_print *p, uint32_t stag,
					    const struct iw_manager_peer *peer,
					    const struct iw_tally *fresh, uint64_t interval_ns,
					    struct iw_fault *why);

#endif
