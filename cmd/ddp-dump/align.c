// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The histogram of FPDU starts for people, one line at a time. */
#include "ddp-dump/capture.h"

#include "util/num.h"

#define BAR 40

static void right(struct iw_text *t, const char *s, size_t len, size_t width)
{
	for (; len < width; len++)
		iw_text_str(t, " ");
	iw_text_str(t, s);
}

static void number(struct iw_text *t, uint64_t v, size_t width)
{
	char digits[24];
	struct iw_text d;

	iw_text_init(&d, digits, sizeof(digits));
	iw_text_u64(&d, v);
	right(t, digits, d.len, width);
}

/* "         0          70   93.3 %  #####" */
static void row(struct iw_text *t, const char *label, size_t label_len, uint64_t n, uint64_t all)
{
	uint64_t tenths = (uint64_t)((double)n / (double)all * 1000 + 0.5);

	right(t, label, label_len, 15);
	number(t, n, 12);
	number(t, tenths / 10, 6);
	iw_text_fmt(t, ".%U %%  ", tenths % 10);
	for (uint64_t i = 0; i < (tenths * BAR + 999) / 1000; i++)
		iw_text_str(t, "#");
}

static void offset_label(struct iw_text *l, size_t i)
{
	iw_text_u64(l, i ? 1u << (i - 1) : 0u);
	if (i >= 2)
		iw_text_fmt(l, "-%u", (1u << i) - 1);
}

bool iw_cap_align_line(const struct iw_cap_align *a, unsigned *at, struct iw_text *t)
{
	const unsigned offsets = IW_ARRAY_LEN(a->offset), segments = IW_ARRAY_LEN(a->segments);
	char label[24];
	struct iw_text l;

	iw_text_init(&l, label, sizeof(label));
	/* Two tables, each with a title. Rows of 0 are omitted. */
	for (; *at < offsets + segments + 2; ++*at) {
		unsigned i = *at;

		if (i == 0 || i == offsets + 1) {
			iw_text_str(t, i ? "       segments       FPDUs"
					 : "         offset       FPDUs");
			break;
		}
		if (i <= offsets && a->offset[i - 1]) {
			offset_label(&l, i - 1);
			row(t, label, l.len, a->offset[i - 1], a->fpdus);
			break;
		}
		if (i > offsets && a->segments[i - offsets - 2]) {
			iw_text_fmt(&l, i - offsets - 1 < segments ? "%u" : "%u+", i - offsets - 1);
			row(t, label, l.len, a->segments[i - offsets - 2], a->fpdus);
			break;
		}
	}
	return (*at)++ < offsets + segments + 2;
}
