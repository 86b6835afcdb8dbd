// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Files that have not arrived: the list and its table of names. */
#include "transfer/files/missing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "util/num.h"

/* The members of all packs that eight connections have announced at once. */
#define MANY (8 * 64 * 256)

static size_t add(struct iw_missing_list *l, const char *name)
{
	const struct iw_xfer_meta m = {
		.kind = IW_XFER_FILE, .name = name, .name_len = strlen(name), .size = 7
	};
	bool lost = false;
	size_t bytes = iw_missing_add(l, &m, "why", &lost);

	assert_false(lost);
	return bytes;
}

static const struct iw_missing *entry(struct iw_list *l)
{
	return iw_container_of(l, struct iw_missing, link);
}

static void a_name_is_listed_once_and_in_order(void **state)
{
	struct iw_missing_list l, other;
	size_t bytes;

	(void)state;
	iw_missing_init(&l);
	iw_missing_init(&other);
	assert_int_equal(iw_missing_drop(&l, "b", 1), 0);
	bytes = add(&l, "b");
	assert_true(bytes > 0);
	assert_int_equal(add(&l, "b"), 0);
	assert_true(add(&l, "a") > 0);
	assert_true(add(&l, "c") > 0);
	assert_int_equal(l.n, 3);
	assert_int_equal(iw_missing_drop(&l, "b", 1), bytes);
	assert_int_equal(iw_missing_drop(&l, "b", 1), 0);
	assert_int_equal(l.n, 2);

	iw_missing_move(&other, &l);
	assert_int_equal(l.n, 0);
	assert_true(iw_list_empty(&l.all));
	assert_int_equal(other.n, 2);
	assert_string_equal(entry(other.all.next)->meta.name, "a");
	assert_string_equal(entry(other.all.prev)->meta.name, "c");
	assert_ptr_equal(other.all.prev->prev, other.all.next);
	assert_ptr_equal(other.all.prev->next, &other.all);
	iw_missing_move(&l, &other);
	assert_true(add(&l, "b") > 0);
	assert_int_equal(l.n, 3);
	iw_missing_fini(&l);
	assert_int_equal(l.n, 0);
	iw_missing_move(&l, &other);
	assert_true(iw_list_empty(&l.all));
	iw_missing_fini(&l);
}

/* A search of the whole list for each name would take minutes; the alarm ends it. */
static void the_names_of_many_packs_are_found(void **state)
{
	struct iw_missing_list l;
	char name[32];

	(void)state;
	alarm(20);
	iw_missing_init(&l);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "tree/dir/%d", i);
		assert_true(add(&l, name) > 0);
	}
	assert_int_equal(l.n, MANY);
	for (int i = MANY; i-- > 0;) {
		snprintf(name, sizeof(name), "tree/dir/%d", i);
		assert_int_equal(add(&l, name), 0);
		assert_true(iw_missing_drop(&l, name, strlen(name)) > 0);
	}
	assert_int_equal(l.n, 0);
	iw_missing_fini(&l);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_listed_once_and_in_order),
		cmocka_unit_test(the_names_of_many_packs_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
