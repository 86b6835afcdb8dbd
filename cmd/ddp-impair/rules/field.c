// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The names of header fields in rules. They come from the tables of wire/field.h: the name of the
 * RFC in lower case, with - for other characters, after the name of the header: "ddp.invalidate-stag".
 */
#include <string.h>

#include "ddp-impair/rules/near.h"
#include "ddp-impair/rules/unit.h"
#include "util/num.h"

#define MPA    (1u << IW_UNIT_REQUEST | 1u << IW_UNIT_REPLY)
#define FPDU   (1u << IW_UNIT_FPDU)
#define PACKET (1u << IW_UNIT_PACKET)
#define CHUNK  (1u << IW_UNIT_CHUNK)
#define DDP    (FPDU | CHUNK)

/* clang-format off */
static const struct header {
	const char *name;
	const struct iw_layout *layout;
	unsigned kinds; /* set of 1 << enum iw_unit_kind */
} headers[] = {
	{ "mpa",       &iw_wire_layout_mpa_frame,        MPA  },
	{ "enhanced",  &iw_wire_layout_mpa_enhanced,     MPA  },
	{ "fpdu",      &iw_wire_layout_mpa_fpdu,         FPDU },
	{ "fpdu",      &iw_wire_layout_mpa_crc,          FPDU },
	{ "ddp",       &iw_wire_layout_ddp_tagged,       DDP  },
	{ "ddp",       &iw_wire_layout_ddp_untagged,     DDP  },
	{ "rreq",      &iw_wire_layout_rreq,             DDP  },
	{ "terminate", &iw_wire_layout_terminate,        DDP  },
	{ "immediate", &iw_wire_layout_immediate,        DDP  },
	{ "atomic",    &iw_wire_layout_atomic_req,       DDP  },
	{ "atomic",    &iw_wire_layout_atomic_rsp,       DDP  },
	{ "sctp",      &iw_wire_layout_sctp,             PACKET },
	/* Before those of single types: "type" alone is the field of every chunk. */
	{ "chunk",     &iw_wire_layout_sctp_chunk,       CHUNK },
	{ "data",      &iw_wire_layout_sctp_data,        CHUNK },
	{ "init",      &iw_wire_layout_sctp_init,        CHUNK },
	{ "sack",      &iw_wire_layout_sctp_sack,        CHUNK },
	{ "session",   &iw_wire_layout_session,          CHUNK },
	{ "session",   &iw_wire_layout_ddp_ssn,          CHUNK },
};

/* Names in addition to that of the table, mostly for fields of one letter. */
static const struct alias {
	const char *header, *name, *field;
} aliases[] = {
	{ "mpa",      "crc",          "c" },
	{ "mpa",      "markers",      "m" },
	{ "mpa",      "reject",       "r" },
	{ "mpa",      "enhanced",     "s" },
	{ "enhanced", "peer-to-peer", "a" },
	{ "enhanced", "rtr-send",     "b" },
	{ "enhanced", "rtr-write",    "c" },
	{ "enhanced", "rtr-read",     "d" },
	{ "fpdu",     "length",       "ulpdu-length" },
	{ "ddp",      "last",         "l" },
	{ "ddp",      "tagged",       "t" },
	{ "rreq",     "size",         "rdma-read-message-size" },
	{ "rreq",     "sink-stag",    "data-sink-stag" },
	{ "rreq",     "sink-to",      "data-sink-to" },
	{ "rreq",     "source-stag",  "data-source-stag" },
	{ "rreq",     "source-to",    "data-source-to" },
};
/* Proposed for a name that no table has. */
static const char *const words[] = { "stag", "to", "qn", "msn", "mo", "opcode", "tsn", "ppid", "ird", "ord", "rev",
	"invalidate-stag", "pd-length", "stream-identifier", "verification-tag" };
/* clang-format on */

static char letter(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c + ('a' - 'A'));
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
}

/* Compares the name of the table with one of a rule. */
static bool same(const char *table, const char *name, size_t len)
{
	size_t i = 0;

	while (i < len && table[i] && letter(table[i]) == name[i])
		i++;
	return i == len && !table[i];
}

/* Replaces an alias. */
static void resolve(const struct header *h, const char **name, size_t *len)
{
	for (size_t i = 0; i < IW_ARRAY_LEN(aliases); i++) {
		const struct alias *a = &aliases[i];

		if (strcmp(a->header, h->name) == 0 && same(a->name, *name, *len)) {
			*name = a->field;
			*len = strlen(a->field);
			return;
		}
	}
}

static void add(struct iw_unit_field *out, const struct header *h, const char *name, size_t len)
{
	resolve(h, &name, &len);
	for (size_t i = 0; i < h->layout->fields; i++) {
		const struct iw_field *f = &h->layout->field[i];

		if (f->len > sizeof(uint64_t) || !same(f->name, name, len))
			continue;
		if (out->places < IW_UNIT_FIELD_PLACES) {
			out->place[out->places].layout = h->layout;
			out->place[out->places++].field = f;
			out->octets = IW_MAX(out->octets, f->len);
		}
		return;
	}
}

bool iw_unit_field_find(struct iw_unit_field *out, enum iw_unit_kind kind, const char *name,
			size_t len, const char **near)
{
	const char *dot = memchr(name, '.', len), *found = NULL;
	const char *rest = dot ? dot + 1 : name;
	size_t rest_len = len - (size_t)(rest - name);
	struct iw_rule_near n;

	*out = (struct iw_unit_field){ .places = 0 };
	iw_rule_near_init(&n, rest, rest_len);
	for (size_t i = 0; i < IW_ARRAY_LEN(headers); i++) {
		const struct header *h = &headers[i];

		if (!(h->kinds & 1u << kind) ||
		    (dot && !same(h->name, name, (size_t)(dot - name))) ||
		    (found && strcmp(found, h->name) != 0))
			continue;
		add(out, h, rest, rest_len);
		/* Without the name of a header, the first header that has the field applies. */
		if (out->places)
			found = h->name;
	}
	for (size_t i = 0; !out->places && i < IW_ARRAY_LEN(aliases); i++)
		iw_rule_near_try(&n, aliases[i].name);
	for (size_t i = 0; !out->places && i < IW_ARRAY_LEN(words); i++)
		iw_rule_near_try(&n, words[i]);
	*near = n.best;
	return out->places > 0;
}
