/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "labs/grader/picture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ddp-impair/capture.h"
#include "os/addr.h"
#include "util/num.h"
#include "wire/crc32c.h"
#include "wire/mpa.h"

enum { PAUSE_US = 200 }; /* between packets, so that a picture shows their order */

struct lab_picture {
	struct iw_relay_capture *capture;
	struct iw_relay_capture_stream stream;
	uint8_t fpdu[IW_MPA_ULPDU_MAX + 16];
};

static void start_up(struct lab_picture *p)
{
	for (int side = LAB_INITIATOR; side <= LAB_RESPONDER; side++) {
		struct iw_mpa_frame frame = { .kind = side == LAB_INITIATOR ? IW_MPA_REQUEST
									    : IW_MPA_REPLY,
					      .flags = IW_MPA_C,
					      .rev = 1 };
		uint8_t octets[IW_MPA_FRAME_LEN];
		int len = iw_wire_mpa_frame_encode(octets, sizeof(octets), &frame);

		lab_picture_octets(p, (enum lab_side)side, octets, (size_t)len);
	}
}

struct lab_picture *lab_picture_new(struct lab_run *run, const char *path, bool startup)
{
	struct lab_picture *p = calloc(1, sizeof(*p));
	struct iw_addr initiator, responder;
	struct iw_fault why = { 0 };

	if (!p || iw_addr_parse(&initiator, "10.0.0.1", 40000) ||
	    iw_addr_parse(&responder, "10.0.0.2", 7471) ||
	    iw_relay_capture_open(&p->capture, path, false, &why)) {
		lab_fail(run, "%s: %s", path, why.text[0] ? why.text : "no memory");
		free(p);
		return NULL;
	}
	iw_relay_capture_open_stream(p->capture, &p->stream, &initiator, &responder);
	if (startup)
		start_up(p);
	return p;
}

void lab_picture_octets(struct lab_picture *p, enum lab_side from, const void *octets, size_t len)
{
	usleep(PAUSE_US);
	iw_relay_capture_octets(p->capture, &p->stream, from, octets, len);
}

void lab_picture_ulpdu(struct lab_picture *p, enum lab_side from, const void *ulpdu, size_t len)
{
	size_t crc_at = iw_mpa_fpdu_len(len) - IW_MPA_CRC_LEN;

	iw_put_be16(p->fpdu, (uint16_t)len);
	memcpy(p->fpdu + IW_MPA_HEAD_LEN, ulpdu, len);
	memset(p->fpdu + IW_MPA_HEAD_LEN + len, 0, iw_mpa_pad(len));
	iw_put_le32(p->fpdu + crc_at, iw_crc32c(0, p->fpdu, crc_at));
	lab_picture_octets(p, from, p->fpdu, crc_at + IW_MPA_CRC_LEN);
}

bool lab_picture_close(struct lab_run *run, struct lab_picture *p)
{
	struct iw_fault why = { 0 };
	int err;

	iw_relay_capture_end(p->capture, &p->stream, LAB_INITIATOR, false);
	iw_relay_capture_end(p->capture, &p->stream, LAB_RESPONDER, false);
	err = iw_relay_capture_close(p->capture, &why);
	free(p);
	return !err || lab_fail(run, "the capture: %s", why.text);
}
