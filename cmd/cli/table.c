// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Aligned columns. */
#include "cli/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

#define GAP       2
/* With less room than this the last column is not broken. */
#define NARROWEST 20

void iw_table_init(struct iw_table *t, const char *align)
{
	*t = (struct iw_table){ .align = align, .ncols = strlen(align) };
	assert(t->ncols > 0 && t->ncols <= IW_TABLE_COLUMNS);
}

void iw_table_fini(struct iw_table *t)
{
	for (size_t i = 0; i < t->ncells; i++)
		free(t->cells[i]);
	free(t->cells);
	t->cells = NULL;
	t->ncells = t->cap = 0;
}

static char *clean_copy(const char *text)
{
	size_t len = strlen(text), need = iw_printable(NULL, 0, text, len, true);
	char *copy = malloc(need + 1);

	if (copy)
		iw_printable(copy, need + 1, text, len, true);
	return copy;
}

void iw_table_add(struct iw_table *t, const char *text)
{
	if (t->ncells == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 32;
		char **cells = reallocarray(t->cells, cap, sizeof(*cells));

		if (!cells) {
			t->err = IW_E_NOMEM;
			return;
		}
		t->cells = cells;
		t->cap = cap;
	}
	t->cells[t->ncells] = clean_copy(text);
	if (t->cells[t->ncells])
		t->ncells++;
	else
		t->err = IW_E_NOMEM;
}

void iw_table_addf(struct iw_table *t, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		t->err = IW_E_NOMEM;
		return;
	}
	iw_table_add(t, text);
	free(text);
}

static const char *cell(const struct iw_table *t, size_t row, size_t col)
{
	size_t i = row * t->ncols + col;

	return i < t->ncells ? t->cells[i] : "";
}

static void blanks(FILE *f, size_t n)
{
	if (n > 0)
		fprintf(f, "%*s", (int)n, "");
}

/* Returns how many octets of text fit room columns; breaks at a blank if possible. */
static size_t fitting(const char *text, size_t room)
{
	size_t columns = 0, blank = 0, i = 0;

	while (text[i] != '\0') {
		size_t n = iw_utf8_len(text + i, strlen(text + i));

		if (text[i] == ' ')
			blank = i;
		if (columns == room)
			return blank ? blank : i;
		columns++;
		i += n;
	}
	return i;
}

static void write_wrapped(FILE *f, const char *text, size_t indent, size_t room)
{
	for (;;) {
		size_t n = fitting(text, room);

		fwrite(text, 1, n, f);
		text += n + strspn(text + n, " ");
		if (*text == '\0')
			return;
		fputc('\n', f);
		blanks(f, indent);
	}
}

static void write_row(const struct iw_table *t, FILE *f, size_t row, const size_t *width,
		      size_t room)
{
	size_t pending = 0; /* blanks before the next text; none at the end of a line */

	for (size_t c = 0; c < t->ncols; c++) {
		const char *text = cell(t, row, c);
		size_t fill = width[c] - iw_utf8_columns(text);

		if (t->align[c] == 'r')
			pending += fill;
		if (text[0] != '\0') {
			blanks(f, pending);
			pending = 0;
		}
		if (c + 1 == t->ncols && room > 0) {
			size_t indent = 0;

			for (size_t i = 0; i < c; i++)
				indent += width[i] + GAP;
			write_wrapped(f, text, indent, room);
		} else {
			fputs(text, f);
		}
		if (t->align[c] != 'r')
			pending += fill;
		pending += GAP;
	}
	fputc('\n', f);
}

int iw_table_write(const struct iw_table *t, FILE *f, unsigned int columns)
{
	size_t rows = (t->ncells + t->ncols - 1) / t->ncols;
	size_t width[IW_TABLE_COLUMNS] = { 0 };
	size_t used = 0, room = 0;

	if (t->err)
		return t->err;
	for (size_t i = 0; i < t->ncells; i++) {
		size_t n = iw_utf8_columns(t->cells[i]);

		if (n > width[i % t->ncols])
			width[i % t->ncols] = n;
	}
	for (size_t c = 0; c + 1 < t->ncols; c++)
		used += width[c] + GAP;
	if (t->align[t->ncols - 1] == 'l' && columns >= used + NARROWEST)
		room = columns - used;
	for (size_t row = 0; row < rows; row++)
		write_row(t, f, row, width, room);
	return 0;
}
