// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Decodes and encodes SCTP packets. */
#include "wire/sctp.h"

#include <string.h>

#include <iwarp/err.h>

#include "wire/crc32c.h"

#define DATA_LEN  (IW_SCTP_DATA_HDR_LEN - IW_SCTP_CHUNK_HDR_LEN)
/* Octets of the longest value of a chunk or parameter: the length field includes its header. */
#define VALUE_MAX (UINT16_MAX - IW_SCTP_CHUNK_HDR_LEN)

const char *iw_wire_sctp_chunk_name(uint8_t type)
{
	switch ((enum iw_sctp_chunk_type)type) {
	case IW_SCTP_DATA:
		return "DATA";
	case IW_SCTP_INIT:
		return "INIT";
	case IW_SCTP_INIT_ACK:
		return "INIT ACK";
	case IW_SCTP_SACK:
		return "SACK";
	case IW_SCTP_HEARTBEAT:
		return "HEARTBEAT";
	case IW_SCTP_HEARTBEAT_ACK:
		return "HEARTBEAT ACK";
	case IW_SCTP_ABORT:
		return "ABORT";
	case IW_SCTP_SHUTDOWN:
		return "SHUTDOWN";
	case IW_SCTP_SHUTDOWN_ACK:
		return "SHUTDOWN ACK";
	case IW_SCTP_ERROR:
		return "ERROR";
	case IW_SCTP_COOKIE_ECHO:
		return "COOKIE ECHO";
	case IW_SCTP_COOKIE_ACK:
		return "COOKIE ACK";
	case IW_SCTP_SHUTDOWN_COMPLETE:
		return "SHUTDOWN COMPLETE";
	case IW_SCTP_PAD:
		return "PAD";
	}
	return "chunk";
}

const char *iw_wire_sctp_cause_name(uint16_t cause)
{
	switch ((enum iw_sctp_cause)cause) {
	case IW_SCTP_CAUSE_STREAM:
		return "invalid stream identifier";
	case IW_SCTP_CAUSE_MISSING_PARAM:
		return "missing mandatory parameter";
	case IW_SCTP_CAUSE_STALE_COOKIE:
		return "stale cookie";
	case IW_SCTP_CAUSE_RESOURCE:
		return "out of resource";
	case IW_SCTP_CAUSE_ADDRESS:
		return "unresolvable address";
	case IW_SCTP_CAUSE_CHUNK:
		return "unrecognized chunk type";
	case IW_SCTP_CAUSE_INVALID_PARAM:
		return "invalid mandatory parameter";
	case IW_SCTP_CAUSE_PARAMS:
		return "unrecognized parameters";
	case IW_SCTP_CAUSE_NO_DATA:
		return "no user data";
	case IW_SCTP_CAUSE_SHUTTING_DOWN:
		return "cookie received while shutting down";
	case IW_SCTP_CAUSE_RESTART_ADDRESS:
		return "restart with new addresses";
	case IW_SCTP_CAUSE_USER:
		return "user-initiated abort";
	case IW_SCTP_CAUSE_PROTOCOL:
		return "protocol violation";
	}
	return "error cause";
}

/* --- common header ---------------------------------------------------------------------------- */

int iw_wire_sctp_hdr_decode(struct iw_sctp_hdr *out, const uint8_t *src, size_t len)
{
	*out = (struct iw_sctp_hdr){ 0 };
	if (len < IW_SCTP_HDR_LEN)
		return 0;
	out->sport = iw_get_be16(src);
	out->dport = iw_get_be16(src + 2);
	out->vtag = iw_get_be32(src + 4);
	out->checksum = iw_get_le32(src + IW_SCTP_CHECKSUM_POS);
	return IW_SCTP_HDR_LEN;
}

int iw_wire_sctp_hdr_encode(uint8_t *dst, size_t cap, const struct iw_sctp_hdr *in)
{
	if (cap < IW_SCTP_HDR_LEN)
		return IW_E_INVAL;
	iw_put_be16(dst, in->sport);
	iw_put_be16(dst + 2, in->dport);
	iw_put_be32(dst + 4, in->vtag);
	iw_put_le32(dst + IW_SCTP_CHECKSUM_POS, in->checksum);
	return IW_SCTP_HDR_LEN;
}

uint32_t iw_wire_sctp_checksum(const uint8_t *packet, size_t len)
{
	static const uint8_t zero[4];
	uint32_t crc = iw_crc32c(0, packet, IW_SCTP_CHECKSUM_POS);

	crc = iw_crc32c(crc, zero, sizeof(zero));
	return iw_crc32c(crc, packet + IW_SCTP_HDR_LEN, len - IW_SCTP_HDR_LEN);
}

/* --- chunks, parameters, causes --------------------------------------------------------------- */

/* Reads the length field of a chunk or parameter. Returns what its decoder must return. */
static int whole_length(const uint8_t *src, size_t len, uint16_t *field)
{
	size_t padded;

	if (len < IW_SCTP_CHUNK_HDR_LEN)
		return 0;
	*field = iw_get_be16(src + 2);
	if (*field < IW_SCTP_CHUNK_HDR_LEN)
		return IW_E_FORMAT;
	if (len < *field)
		return 0;
	padded = *field + iw_sctp_pad(*field);
	return (int)IW_MIN(padded, len);
}

/*
 * Writes length field, value and padding, but not the first two octets, which differ between chunks
 * and parameters.
 */
static int encode_rest(uint8_t *dst, size_t cap, const uint8_t *value, size_t value_len)
{
	size_t len = IW_SCTP_CHUNK_HDR_LEN + value_len, pad;

	if (value_len > VALUE_MAX)
		return IW_E_INVAL;
	pad = iw_sctp_pad(len);
	if (cap < len + pad)
		return IW_E_INVAL;
	iw_put_be16(dst + 2, (uint16_t)len);
	if (value && value_len)
		memcpy(dst + IW_SCTP_CHUNK_HDR_LEN, value, value_len);
	memset(dst + len, 0, pad);
	return (int)(len + pad);
}

int iw_wire_sctp_chunk_decode(struct iw_sctp_chunk *out, const uint8_t *src, size_t len)
{
	int n;

	*out = (struct iw_sctp_chunk){ 0 };
	n = whole_length(src, len, &out->len);
	if (n <= 0)
		return n;
	out->type = src[0];
	out->flags = src[1];
	out->value = src + IW_SCTP_CHUNK_HDR_LEN;
	out->value_len = out->len - IW_SCTP_CHUNK_HDR_LEN;
	return n;
}

int iw_wire_sctp_chunk_encode(uint8_t *dst, size_t cap, const struct iw_sctp_chunk *in)
{
	int n = encode_rest(dst, cap, in->value, in->value_len);

	if (n > 0) {
		dst[0] = in->type;
		dst[1] = in->flags;
	}
	return n;
}

int iw_wire_sctp_param_decode(struct iw_sctp_param *out, const uint8_t *src, size_t len)
{
	int n;

	*out = (struct iw_sctp_param){ 0 };
	n = whole_length(src, len, &out->len);
	if (n <= 0)
		return n;
	out->type = iw_get_be16(src);
	out->value = src + IW_SCTP_CHUNK_HDR_LEN;
	out->value_len = out->len - IW_SCTP_CHUNK_HDR_LEN;
	return n;
}

int iw_wire_sctp_param_encode(uint8_t *dst, size_t cap, const struct iw_sctp_param *in)
{
	int n = encode_rest(dst, cap, in->value, in->value_len);

	if (n > 0)
		iw_put_be16(dst, in->type);
	return n;
}

/* --- values of chunks ------------------------------------------------------------------------- */

int iw_wire_sctp_data_decode(struct iw_sctp_data *out, const uint8_t *value, size_t len)
{
	*out = (struct iw_sctp_data){ 0 };
	if (len < DATA_LEN || len > VALUE_MAX)
		return 0;
	out->tsn = iw_get_be32(value);
	out->stream = iw_get_be16(value + 4);
	out->ssn = iw_get_be16(value + 6);
	out->ppid = iw_get_be32(value + 8);
	out->data = value + DATA_LEN;
	out->len = len - DATA_LEN;
	return (int)len;
}

int iw_wire_sctp_data_encode(uint8_t *dst, size_t cap, uint8_t flags, const struct iw_sctp_data *in)
{
	if (cap < IW_SCTP_DATA_HDR_LEN || in->len > VALUE_MAX - DATA_LEN)
		return IW_E_INVAL;
	dst[0] = IW_SCTP_DATA;
	dst[1] = flags;
	iw_put_be16(dst + 2, (uint16_t)(IW_SCTP_DATA_HDR_LEN + in->len));
	iw_put_be32(dst + 4, in->tsn);
	iw_put_be16(dst + 8, in->stream);
	iw_put_be16(dst + 10, in->ssn);
	iw_put_be32(dst + 12, in->ppid);
	return IW_SCTP_DATA_HDR_LEN;
}

int iw_wire_sctp_init_decode(struct iw_sctp_init *out, const uint8_t *value, size_t len)
{
	*out = (struct iw_sctp_init){ 0 };
	if (len < IW_SCTP_INIT_LEN || len > VALUE_MAX)
		return 0;
	out->tag = iw_get_be32(value);
	out->a_rwnd = iw_get_be32(value + 4);
	out->os = iw_get_be16(value + 8);
	out->mis = iw_get_be16(value + 10);
	out->tsn = iw_get_be32(value + 12);
	out->params = value + IW_SCTP_INIT_LEN;
	out->params_len = len - IW_SCTP_INIT_LEN;
	return (int)len;
}

int iw_wire_sctp_init_encode(uint8_t *dst, size_t cap, const struct iw_sctp_init *in)
{
	size_t params_len = in->params ? in->params_len : 0;

	if (params_len > VALUE_MAX - IW_SCTP_INIT_LEN || cap < IW_SCTP_INIT_LEN + params_len)
		return IW_E_INVAL;
	iw_put_be32(dst, in->tag);
	iw_put_be32(dst + 4, in->a_rwnd);
	iw_put_be16(dst + 8, in->os);
	iw_put_be16(dst + 10, in->mis);
	iw_put_be32(dst + 12, in->tsn);
	if (params_len)
		memcpy(dst + IW_SCTP_INIT_LEN, in->params, params_len);
	return (int)(IW_SCTP_INIT_LEN + params_len);
}

int iw_wire_sctp_sack_decode(struct iw_sctp_sack *out, const uint8_t *value, size_t len)
{
	size_t need;

	*out = (struct iw_sctp_sack){ 0 };
	if (len < IW_SCTP_SACK_LEN)
		return 0;
	out->cum = iw_get_be32(value);
	out->a_rwnd = iw_get_be32(value + 4);
	out->ngaps = iw_get_be16(value + 8);
	out->ndups = iw_get_be16(value + 10);
	need = IW_SCTP_SACK_LEN + 4 * ((size_t)out->ngaps + out->ndups);
	if (len < need)
		return 0;
	out->gaps = value + IW_SCTP_SACK_LEN;
	out->dups = out->gaps + 4 * (size_t)out->ngaps;
	return (int)need;
}

int iw_wire_sctp_sack_encode(uint8_t *dst, size_t cap, const struct iw_sctp_sack *in)
{
	size_t gaps = 4 * (size_t)in->ngaps, dups = 4 * (size_t)in->ndups;

	if (cap < IW_SCTP_SACK_LEN || cap - IW_SCTP_SACK_LEN < gaps + dups)
		return IW_E_INVAL;
	iw_put_be32(dst, in->cum);
	iw_put_be32(dst + 4, in->a_rwnd);
	iw_put_be16(dst + 8, in->ngaps);
	iw_put_be16(dst + 10, in->ndups);
	if (gaps)
		memcpy(dst + IW_SCTP_SACK_LEN, in->gaps, gaps);
	if (dups)
		memcpy(dst + IW_SCTP_SACK_LEN + gaps, in->dups, dups);
	return (int)(IW_SCTP_SACK_LEN + gaps + dups);
}

/* --- text ------------------------------------------------------------------------------------- */

void iw_wire_sctp_cause_print(struct iw_text *t, const struct iw_sctp_param *p)
{
	iw_text_fmt(t, "cause %u %s", (uint32_t)p->type, iw_wire_sctp_cause_name(p->type));
}
