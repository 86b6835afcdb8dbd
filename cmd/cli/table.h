/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Aligned columns for people: gather all rows, then write them. A list of keys and values is a
 * table of two columns. Cells may come from outside: they are made harmless for the terminal on the
 * way in.
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
	int err;      /* IW_E_NOMEM once there was none */
};

/* @align, kept, has a letter for each column (at most IW_TABLE_COLUMNS): "lrr". */
void iw_table_init(struct iw_table *t, const char *align);
void iw_table_fini(struct iw_table *t);

/* Adds one cell, copied; a row is full when it has all its columns, and the next one begins. */
void iw_table_add(struct iw_table *t, const char *text);
void iw_table_addf(struct iw_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Writes the rows to @f, columns two blanks apart, no blanks at the ends of lines. With @columns
 * above 0 the last column, when it is left-aligned, is broken between words to keep lines within
 * that width. An unfinished row is filled with empty cells. 0; IW_E_NOMEM from any call before
 * (nothing is written). Whether @f took it is for iw_cli_finish() to find out.
 */
IW_MUST_CHECK int iw_table_write(const struct iw_table *t, FILE *f, unsigned int columns);

#endif
