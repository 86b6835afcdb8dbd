// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Charges apply to the transfer and to the process; temporaries stay charged until they are
 * removed.
 */
#include "transfer/files/account.h"

#include "rng.h"
#include "transfer/files/target.h"
#include "unit/transfer-files_tmp.h"
#include "util/num.h"

#define MIB ((uint64_t)1 << 20)

static struct iw_file_fault why;

/* SEC-14, SEC-16 */
static void charges_apply_to_the_transfer_and_to_all_transfers(void **state)
{
	struct iw_account all = { .max_octets = 100, .max_files = 3, .limit = "--quota" };
	struct iw_account a = { .all = &all, .max_octets = 60, .limit = "--max-transfer" };
	struct iw_account b = { .all = &all, .max_octets = 60, .limit = "--max-transfer" };

	(void)state;
	assert_int_equal(iw_account_take(&a, 60, 1, &why), 0);
	assert_int_equal(iw_account_take(&a, 1, 1, &why), -1);
	assert_int_equal(why.code, IW_XFER_CODE_LIMIT);
	assert_string_equal(why.text,
			    "1 more octet, 60 used so far: above the receiver's --max-transfer 60");
	assert_int_equal(iw_account_take(&b, 41, 1, &why), -1);
	assert_string_equal(why.text,
			    "41 more octets, 60 used so far: above the receiver's --quota 100");
	assert_int_equal(b.octets + b.files, 0); /* a refused file is not charged */
	assert_int_equal(all.octets, 60);
	assert_int_equal(iw_account_take(&b, 40, 2, &why), 0);
	assert_int_equal(iw_account_take(&b, 0, 1, &why), -1);
	assert_string_equal(why.text,
			    "1 more file, 3 used so far: above the receiver's --max-files 3");
	assert_int_equal(iw_account_take(&b, 0, 0, &why), 0); /* zero never exceeds a limit */
	iw_account_return(&a, 60, 1);
	assert_int_equal(all.octets, 40);
	assert_int_equal(all.files, 2);
	assert_int_equal(iw_account_take(&b, 20, 1, &why), 0);
	iw_account_return(&b, 1000, 1000);
	assert_int_equal(b.octets + b.files + all.octets + all.files, 0);
}

static void sums_do_not_wrap(void **state)
{
	const uint64_t huge = (UINT64_C(1) << 63) - 1;
	struct iw_account all = { .limit = "--quota" }, a = { .all = &all };
	struct iw_account bound = { .max_octets = UINT64_MAX, .limit = "--quota" };

	(void)state;
	assert_int_equal(iw_account_take(&a, huge, 1, &why), 0);
	assert_int_equal(iw_account_take(&a, huge, 1, &why), 0);
	assert_int_equal(iw_account_take(&a, huge, 1, &why), -1);
	assert_int_equal(why.code, IW_XFER_CODE_LIMIT);
	assert_int_equal(all.files, 2);
	assert_int_equal(iw_account_take(&bound, UINT64_MAX, 1, &why), 0);
	assert_int_equal(iw_account_take(&bound, 1, 1, &why), -1);
}

static struct stat file_of(uint64_t ino, uint64_t octets)
{
	return (struct stat){ .st_dev = 7,
			      .st_ino = ino,
			      .st_size = (off_t)octets,
			      .st_blocks = (blkcnt_t)((octets + 511) / 512) };
}

static void temporaries_are_charged_until_they_are_resumed(void **state)
{
	struct iw_account all = { .max_octets = 1000 }, a = { .all = &all };
	struct stat st = file_of(1, 600), hole = file_of(2, 1 << 30);

	(void)state;
	assert_int_equal(iw_account_take(&a, 900, 1, &why), 0);
	iw_account_return(&a, 900, 1);
	iw_account_leave(&a, &st, true);
	assert_int_equal(all.octets, 600);
	assert_int_equal(all.files, 1);
	assert_int_equal(iw_account_take(&a, 500, 1, &why), -1);
	iw_account_leave(&a, &st, true); /* the same file counts once */
	assert_int_equal(all.octets, 600);
	st.st_dev = 8;
	iw_account_resume(&a, &st); /* a file on another file system */
	assert_int_equal(all.octets, 600);
	st.st_dev = 7;
	iw_account_resume(&a, &st);
	iw_account_resume(&a, &st);
	assert_int_equal(all.octets + all.files + a.octets + a.files, 0);
	hole.st_blocks = 2;
	iw_account_leave(&a, &hole, false); /* holes use no storage */
	assert_int_equal(all.octets, 1024);
	assert_int_equal(all.files, 0);
	/* Another transfer resumes it: only the account of the process changes. */
	iw_account_resume(&all, &hole);
	assert_int_equal(all.octets, 0);
	assert_int_equal(a.octets, 1024);
	iw_account_fini(&a);
	iw_account_fini(&all);
}

/* Adds and removes entries in any order, with keys that collide in the table. */
static void many_added_and_removed_temporaries_are_summed_correctly(void **state)
{
	enum { FILES = 3000 };
	static bool there[FILES];
	struct iw_account a = { .max_octets = 0 };
	struct rng rng = { .state = 5 };
	uint64_t octets = 0, files = 0;

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		unsigned n = (unsigned)(rng_next(&rng) % FILES);
		struct stat st = file_of(1 + (uint64_t)n * 1024 % 65536 + n / 64, n);

		there[n] = !there[n];
		if (there[n])
			iw_account_leave(&a, &st, n % 2);
		else
			iw_account_resume(&a, &st);
		octets += there[n] ? n : 0 - (uint64_t)n;
		files += there[n] ? n % 2 : 0 - (uint64_t)(n % 2);
		assert_true(a.octets == octets && a.files == files);
	}
	iw_account_fini(&a);
}

static void temporaries_of_an_earlier_process_are_found(void **state)
{
	static char octets[5000];
	struct iw_account a = { .max_octets = 0 };

	(void)state;
	tmp_make();
	memset(octets, 1, sizeof(octets));
	put_dir("d");
	put_dir("d/e");
	put_file("d/e/.iw-0123456789abcdef.part", octets, 5000);
	put_file("d/e/.iw-0123456789abcdef.journal", octets, 100);
	put_file(".iw-0123456789abcde0.part", octets, 3000);
	put_file("d/.iw-0123456789abcde.part", octets, 4000);
	put_file("d/other", octets, 4000);
	put_link("other", "d/.iw-0123456789abcdef.part");
	put_link("..", "d/e/up");
	iw_account_scan(&a, tmp_name);
	assert_int_equal(a.octets, 8100);
	assert_int_equal(a.files, 2);
	iw_account_fini(&a);
	iw_account_scan(&a, "/nonexistent");
	tmp_remove();
}

/* --- files, from their announcement to their end --- */

static struct iw_account everything;
static struct iw_limits limits;
static struct iw_hasher hasher;
static uint8_t chunk[IW_XFER_CHUNK];

/* static, because it contains the head of a list and must not move. */
static struct iw_place p;

static void open_place(void)
{
	if (iw_place_local(&p, tmp_name, IW_XFER_OPT_MANY, &why) != 0)
		fail_msg("%s", why.text);
	p.limits = &limits;
	p.account.all = &everything;
}

static struct iw_xfer_meta meta(enum iw_xfer_kind kind, const char *name, uint64_t size)
{
	return (struct iw_xfer_meta){ .kind = kind,
				      .name = name,
				      .name_len = strlen(name),
				      .top = true,
				      .size = size,
				      .mode = 0640,
				      .mtime_s = 1234567890 };
}

static int store(struct iw_target *t, uint64_t off)
{
	struct iovec iov = { .iov_base = chunk, .iov_len = sizeof(chunk) };
	struct iw_xfer_digest d;

	memset(chunk, 1, sizeof(chunk));
	assert_int_equal(iw_hasher_chunk(&hasher, &iov, 1, &d), 0);
	return iw_target_store(t, &hasher, off, &iov, 1, &d, &why);
}

static bool parts_here(void)
{
	struct iw_account found = { .max_octets = 0 };

	iw_account_scan(&found, tmp_name);
	return found.files > 0;
}

static int begin(void **state)
{
	struct iw_fault fault;

	(void)state;
	tmp_make();
	limits = (struct iw_limits){ .size = 4 * MIB };
	everything =
		(struct iw_account){ .max_octets = 8 * MIB, .max_files = 4, .limit = "--quota" };
	return iw_hasher_init(&hasher, IW_XFER_XXH3, &fault);
}

static int end(void **state)
{
	(void)state;
	iw_account_fini(&everything);
	iw_hasher_fini(&hasher);
	tmp_remove();
	return 0;
}

/*
 * The first part charges the whole size, once. Another size or name with the same number is not a
 * part of the file. SEC-16
 */
static void parts_of_a_file_are_charged_once_and_as_a_whole(void **state)
{
	struct iw_xfer_meta one = meta(IW_XFER_FILE, "f", 4 * MIB), two, m;
	struct iw_target t[2], bad;

	(void)state;
	open_place();
	one.share = 9;
	one.part_len = 2 * MIB;
	two = one;
	two.part_off = 2 * MIB;
	assert_int_equal(iw_target_create(&t[0], &p, &one, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(everything.octets, 4 * MIB);
	assert_int_equal(iw_target_create(&t[1], &p, &two, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(everything.octets, 4 * MIB);
	assert_int_equal(everything.files, 1);
	m = two;
	m.size = 1024 * MIB;
	m.part_len = 1022 * MIB;
	assert_int_equal(iw_target_create(&bad, &p, &m, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XFER_CODE_PROTOCOL);
	m = two;
	m.name = "g";
	assert_int_equal(iw_target_create(&bad, &p, &m, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XFER_CODE_PROTOCOL);
	iw_target_abandon(&t[0], IW_XFER_CODE_DIGEST);
	iw_target_abandon(&t[1], IW_XFER_CODE_DIGEST);
	assert_int_equal(everything.octets + everything.files, 0);
	iw_place_close(&p);
}

static void charges_of_failed_files_are_returned_except_for_temporaries(void **state)
{
	struct iw_xfer_meta m = meta(IW_XFER_FILE, "f", 4 * MIB),
			    big = meta(IW_XFER_FILE, "g", 4 * MIB);
	struct iw_target t, other;
	uint64_t left;

	(void)state;
	open_place();
	m.ident_len = 1;
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(store(&t, 0), 0);
	assert_int_equal(store(&t, MIB), 0);
	iw_target_abandon(&t, IW_XFER_CODE_CANCELED);
	left = everything.octets;
	assert_true(left >= 2 * MIB && left < 2 * MIB + 4096); /* and its journal */
	assert_int_equal(everything.files, 1);
	/* 2 MiB stay on storage, so two files of 4 MiB exceed the limit. */
	assert_int_equal(iw_target_create(&other, &p, &big, IW_XFER_XXH3, &why), IW_CREATED);
	big.name = "h";
	assert_int_equal(iw_target_create(&t, &p, &big, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XFER_CODE_LIMIT);
	iw_target_abandon(&other, IW_XFER_CODE_CANCELED);
	assert_int_equal(everything.octets, left);
	/*
	 * A resumed temporary is not charged twice: 2 of 5 MiB are temporaries, and 4 fit. A file
	 * that does not fit is unchanged.
	 */
	everything.max_octets = 3 * MIB;
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XFER_CODE_LIMIT);
	assert_int_equal(everything.octets, left);
	assert_int_equal(everything.files, 1);
	everything.max_octets = 5 * MIB;
	/* A resume charges the final size, and only once. */
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(t.had, 2);
	assert_int_equal(everything.octets, 4 * MIB);
	assert_int_equal(everything.files, 1);
	iw_target_abandon(&t, IW_XFER_CODE_DIGEST);
	assert_int_equal(everything.octets + everything.files, 0);
	iw_place_close(&p);
}

/* Zeros that were not moved are charged like moved octets. */
static void streams_are_charged_as_they_grow(void **state)
{
	struct iw_xfer_meta m = meta(IW_XFER_STREAM, "s", IW_XFER_SIZE_UNKNOWN);
	struct iw_target t;

	(void)state;
	for (unsigned to_stdout = 0; to_stdout < 2; to_stdout++) {
		struct iw_chunk_list none = { .n = 0 };
		struct iw_xfer_digest d;

		open_place();
		p.to_stdout = to_stdout;
		p.as = to_stdout ? NULL : strdup("s");
		assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
		assert_int_equal(everything.octets, 0);
		assert_int_equal(iw_target_reach(&t, MIB, &why), 0);
		assert_int_equal(iw_target_reach(&t, MIB, &why), 0);
		assert_int_equal(everything.octets, MIB);
		assert_int_equal(store(&t, 4 * MIB), -1);
		assert_int_equal(why.code, IW_XFER_CODE_LIMIT);
		assert_int_equal(iw_chunk_list_digest(&none, &hasher, 1024 * MIB, &d), 0);
		assert_int_equal(iw_target_commit(&t, &hasher, 1024 * MIB, &d, &why), -1);
		assert_int_equal(why.code, IW_XFER_CODE_LIMIT);
		assert_int_equal(everything.octets, MIB);
		/* This target takes only one file. */
		if (to_stdout)
			assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why),
					 IW_CREATE_FAILED);
		else
			iw_target_abandon(&t, IW_XFER_CODE_LIMIT);
		assert_int_equal(everything.octets,
				 /* octets written to standard output stay charged */
				 to_stdout ? MIB : 0);
		iw_place_close(&p);
	}
}

static void standard_output_has_the_limits_of_a_file(void **state)
{
	struct iw_xfer_meta m = meta(IW_XFER_FILE, "f", 4 * MIB + 1);
	struct iw_target t;

	(void)state;
	open_place();
	p.to_stdout = true;
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XFER_CODE_LIMIT);
	limits.size = 0;
	m.size = 8 * MIB + 1;
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XFER_CODE_LIMIT);
	m.size = 8 * MIB;
	assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why), IW_CREATED);
	assert_int_equal(everything.octets, 8 * MIB);
	iw_place_close(&p);
}

/*
 * Directories that a name needs, links with their targets, and attributes are charged; skipped or
 * refused files are not.
 */
static void directories_links_and_attributes_are_charged(void **state)
{
	static const uint8_t xattr[100] = { 6, 0, 91, 'u', 's', 'e', 'r', '.', 'a' };
	struct iw_xfer_meta deep = meta(IW_XFER_FILE, "a/b/c/d/f", 2 * MIB);
	struct iw_xfer_meta dir = meta(IW_XFER_DIR, "dir", 0),
			    link = meta(IW_XFER_SYMLINK, "link", 0);
	struct iw_target t;

	(void)state;
	open_place();
	p.opts = IW_XFER_OPT_XATTR;
	assert_int_equal(iw_target_create(&t, &p, &deep, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XFER_CODE_LIMIT);
	assert_int_equal(everything.files, 4); /* a, b, c, d exist; f would be one more */
	assert_int_equal(parts_here(), 0);
	everything.max_files = 7;
	dir.xattr = xattr;
	dir.xattr_len = 100;
	assert_int_equal(iw_target_create(&t, &p, &dir, IW_XFER_XXH3, &why), IW_MADE);
	link.target = "a/b";
	link.target_len = 3;
	assert_int_equal(iw_target_create(&t, &p, &link, IW_XFER_XXH3, &why), IW_MADE);
	assert_int_equal(everything.files, 6);
	assert_int_equal(everything.octets, 103);
	assert_int_equal(iw_target_create(&t, &p, &link, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(why.code, IW_XFER_CODE_SAME);
	assert_int_equal(everything.files, 6);
	link.name = "dir";
	link.name_len = 3;
	assert_int_equal(iw_target_create(&t, &p, &link, IW_XFER_XXH3, &why), IW_CREATE_FAILED);
	assert_int_equal(everything.files, 6);
	assert_int_equal(everything.octets, 103);
	iw_place_close(&p);
}

/*
 * A dry run reports which files would be refused together with the others, and charges nothing
 * afterwards.
 */
static void dry_runs_charge_nothing_afterwards(void **state)
{
	struct iw_xfer_meta m = meta(IW_XFER_FILE, "f", 4 * MIB);
	struct iw_target t;

	(void)state;
	open_place();
	p.opts = IW_XFER_OPT_DRY_RUN;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(iw_target_create(&t, &p, &m, IW_XFER_XXH3, &why),
				 IW_CREATE_FAILED);
		assert_int_equal(why.code, i < 2 ? IW_XFER_CODE_WOULD : IW_XFER_CODE_LIMIT);
	}
	iw_place_close(&p);
	assert_int_equal(everything.octets + everything.files, 0);
}

#define test(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(charges_apply_to_the_transfer_and_to_all_transfers),
		cmocka_unit_test(sums_do_not_wrap),
		cmocka_unit_test(temporaries_are_charged_until_they_are_resumed),
		cmocka_unit_test(many_added_and_removed_temporaries_are_summed_correctly),
		cmocka_unit_test(temporaries_of_an_earlier_process_are_found),
		test(parts_of_a_file_are_charged_once_and_as_a_whole),
		test(charges_of_failed_files_are_returned_except_for_temporaries),
		test(streams_are_charged_as_they_grow),
		test(standard_output_has_the_limits_of_a_file),
		test(directories_links_and_attributes_are_charged),
		test(dry_runs_charge_nothing_afterwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
