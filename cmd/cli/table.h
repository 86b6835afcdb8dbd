/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text in aligned columns: add all rows, then write them. A list of keys and values is a table of
 * two columns. Cells may come from outside; they are made harmless for the terminal (cli/text.h).
 */
#ifndef IW_CLI_TABLE_H
#define IW_CLI_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include <iwarp/err.h>

#define IW_TABLE_COLUMNS 12

struct iw_table {
	const char *align; /* borrowed: a letter for each column, 'l' or 'r' */
	size_t ncols, ncells, cap;
	char **cells; /* owned */
	int err;      /* IW_E_NOMEM: a cell was lost */
};

/* align (kept) has a letter for each column, at most IW_TABLE_COLUMNS, such as "lrr". */
void iw_table_init(struct iw_table *t, const char *align);
void iw_table_fini(struct iw_table *t);

/* Adds a cell (copied). After the last column the next row begins. */
void iw_table_add(struct iw_table *t, const char *text);
void iw_table_addf(struct iw_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Writes the rows to f. Columns are two blanks apart, and lines have no trailing blanks. columns:
 * the width of lines; a last column that is left-aligned is broken between words to fit it. 0: no
 * limit. An incomplete row is filled with empty cells. Errors of f show in iw_cli_finish.
 * IW_E_NOMEM, also for an earlier call: nothing is written.
 */
IW_MUST_CHECK int iw_table_write(const struct iw_table *t, FILE *f, unsigned int columns);

#endif
