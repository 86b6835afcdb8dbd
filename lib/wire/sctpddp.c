// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Decodes and encodes the user data of DATA chunks that carry DDP. */
#include "wire/sctpddp.h"

#include <limits.h>
#include <string.h>

#include <iwarp/err.h>

#include "util/num.h"

const char *iw_wire_sctp_fn_name(uint16_t fn)
{
	switch ((enum iw_sctp_fn)fn) {
	case IW_SCTP_FN_INITIATE:
		return "Initiate";
	case IW_SCTP_FN_ACCEPT:
		return "Accept";
	case IW_SCTP_FN_REJECT:
		return "Reject";
	case IW_SCTP_FN_TERMINATE:
		return "Terminate";
	case IW_SCTP_FN_ENH_INITIATE:
		return "Enhanced Initiate";
	case IW_SCTP_FN_ENH_ACCEPT:
		return "Enhanced Accept";
	case IW_SCTP_FN_ENH_REJECT:
		return "Enhanced Reject";
	}
	return "unassigned";
}

int iw_wire_sctp_control_decode(struct iw_sctp_control *out, const uint8_t *src, size_t len)
{
	*out = (struct iw_sctp_control){ 0 };
	if (len < IW_SCTP_CONTROL_LEN)
		return 0;
	if (len > INT_MAX)
		return IW_E_INVAL;
	out->ssn = iw_get_be16(src);
	out->fn = iw_get_be16(src + 2);
	out->pd = src + IW_SCTP_CONTROL_LEN;
	out->pd_len = len - IW_SCTP_CONTROL_LEN;
	return (int)len;
}

int iw_wire_sctp_control_encode(uint8_t *dst, size_t cap, const struct iw_sctp_control *in)
{
	if (cap < IW_SCTP_CONTROL_LEN || cap - IW_SCTP_CONTROL_LEN < in->pd_len ||
	    in->pd_len > INT_MAX - IW_SCTP_CONTROL_LEN)
		return IW_E_INVAL;
	iw_put_be16(dst, in->ssn);
	iw_put_be16(dst + 2, in->fn);
	if (in->pd_len)
		memcpy(dst + IW_SCTP_CONTROL_LEN, in->pd, in->pd_len);
	return (int)(IW_SCTP_CONTROL_LEN + in->pd_len);
}

int iw_wire_sctp_segment_decode(uint16_t *ssn, const uint8_t *src, size_t len)
{
	*ssn = 0;
	if (len < IW_SCTP_SSN_LEN)
		return 0;
	*ssn = iw_get_be16(src);
	return IW_SCTP_SSN_LEN;
}

int iw_wire_sctp_segment_encode(uint8_t *dst, size_t cap, uint16_t ssn)
{
	if (cap < IW_SCTP_SSN_LEN)
		return IW_E_INVAL;
	iw_put_be16(dst, ssn);
	return IW_SCTP_SSN_LEN;
}
