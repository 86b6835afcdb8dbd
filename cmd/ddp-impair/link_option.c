// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The settings of a link as text: "loss=1%,delay=10ms,rate=100M". */
#include "ddp-impair/link_option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/parse.h"
#include "util/num.h"
#include "util/text.h"

enum word {
	W_LOSS,
	W_DUPLICATE,
	W_CORRUPT,
	W_SWAP,
	W_LATE, /* the chances, in this order */
	W_DELAY,
	W_JITTER,
	W_LATE_BY,
	W_RATE,
	W_QUEUE,
	W_DROP,
	W_MIN,
	W_MAX,
	W_HOLD,
	WORDS,
};
static const char *const words[WORDS] = {
	[W_LOSS] = "loss",     [W_DUPLICATE] = "duplicate", [W_CORRUPT] = "corrupt",
	[W_SWAP] = "swap",     [W_LATE] = "late",           [W_DELAY] = "delay",
	[W_JITTER] = "jitter", [W_LATE_BY] = "late-by",     [W_RATE] = "rate",
	[W_QUEUE] = "queue",   [W_DROP] = "drop",           [W_MIN] = "min",
	[W_MAX] = "max",       [W_HOLD] = "hold",
};

/* "2%", "0.05%" */
static int parse_chance(uint32_t *out, const char *text, const char **why)
{
	char *end;
	double percent = strtod(text, &end);

	*why = "expected a percentage from 0% to 100%, as 0.5%";
	/* strtod() also takes a blank, a sign, an exponent and hex digits. */
	if (end == text || end != text + strspn(text, "0123456789.") || strcmp(end, "%") != 0 ||
	    !(percent >= 0 && percent <= 100))
		return IW_E_INVAL;
	*out = (uint32_t)(percent * (IW_LINK_ALL / 100.0) + 0.5);
	return 0;
}

/* A number without a unit would be seconds, as for --timeout; for a link that is hardly meant. */
static int parse_time(uint64_t *out_ns, const char *text, const char **why)
{
	uint64_t ns = 0;
	int err = iw_parse_duration(&ns, text, 0, IW_SEC(3600), why);

	if (err == 0 && ns > 0 && text[strspn(text, "0123456789.")] == '\0') {
		*why = "expected a time with its unit, as 10ms";
		return IW_E_INVAL;
	}
	*out_ns = err == 0 ? ns : *out_ns;
	return err;
}

static int parse_octets(uint32_t *out, const char *text, const char **why)
{
	uint64_t v = *out;
	int err = iw_parse_size(&v, text, 0, IW_LINK_QUEUE_MAX, why);

	*out = (uint32_t)v;
	return err;
}

static int parse_word(struct iw_link_cfg *c, enum word w, const char *text, const char **why)
{
	switch (w) {
	case W_LOSS:
		return parse_chance(&c->loss, text, why);
	case W_DUPLICATE:
		return parse_chance(&c->duplicate, text, why);
	case W_CORRUPT:
		return parse_chance(&c->corrupt, text, why);
	case W_SWAP:
		return parse_chance(&c->swap, text, why);
	case W_LATE:
		return parse_chance(&c->late, text, why);
	case W_DELAY:
		return parse_time(&c->delay_ns, text, why);
	case W_JITTER:
		return parse_time(&c->jitter_ns, text, why);
	case W_LATE_BY:
		return parse_time(&c->late_ns, text, why);
	case W_RATE:
		return iw_parse_rate(&c->rate_bits, text, 1000, UINT64_C(1000000000000), why);
	case W_QUEUE:
		return parse_octets(&c->queue_bytes, text, why);
	case W_DROP:
		return iw_parse_u64(&c->drop_nth, text, 1, UINT64_MAX, why);
	case W_MIN:
		return parse_octets(&c->min_len, text, why);
	case W_MAX:
		return parse_octets(&c->max_len, text, why);
	case W_HOLD:
		return parse_octets(&c->hold_bytes, text, why);
	case WORDS:
		break;
	}
	return IW_E_INVAL;
}

static int unknown(const char *list, const char *item, struct iw_fault *why)
{
	char names[160] = "";
	size_t len = 0;

	for (size_t w = 0; w < WORDS; w++) {
		int n = snprintf(names + len, sizeof(names) - len, "%s%s", w ? ", " : "", words[w]);

		len = IW_MIN(len + (size_t)n, sizeof(names) - 1);
	}
	return iw_fail(why, IW_E_INVAL, "\"%s\": %s: unknown name; expected one of %s", list, item,
		       names);
}

static int parse_item(struct iw_link_cfg *c, const char *list, char *item, struct iw_fault *why)
{
	char *value = strchr(item, '=');
	const char *reason = "expected NAME=VALUE";
	size_t w = WORDS;

	if (value)
		*value++ = '\0';
	if (value && iw_parse_enum(&w, item, words, WORDS, &reason) < 0)
		return unknown(list, item, why);
	if (value && parse_word(c, (enum word)w, value, &reason) == 0)
		return 0;
	return iw_fail(why, IW_E_INVAL, "\"%s\": %s%s%s: %s", list, item, value ? "=" : "",
		       value ? value : "", reason);
}

int iw_settings_parse(struct iw_link_cfg *c, const char *list, struct iw_fault *why)
{
	char *copy = strdup(list), *rest = copy, *item;
	int err = 0;

	if (!copy)
		return iw_fail(why, IW_E_NOMEM, "out of memory");
	while (err == 0 && (item = strsep(&rest, ",")))
		err = parse_item(c, list, item, why);
	free(copy);
	return err;
}

void iw_settings_default(struct iw_link_cfg *c)
{
	c->queue_bytes = 256 << 10;
	c->hold_bytes = 256 << 20;
}

const char *iw_settings_not_stream(const struct iw_link_cfg *c)
{
	return c->loss        ? "loss"
	       : c->duplicate ? "duplicate"
	       : c->corrupt   ? "corrupt"
	       : c->swap      ? "swap"
	       : c->late      ? "late"
	       : c->drop_nth  ? "drop"
	       : c->min_len   ? "min"
	       : c->max_len   ? "max"
			      : NULL;
}
