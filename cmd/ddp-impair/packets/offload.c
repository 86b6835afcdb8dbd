// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Segmentation of TCP and UDP, and the checksums of TCP, UDP and SCTP. */
#include "ddp-impair/packets/offload.h"

#include <string.h>

#include "packet/repair.h"
#include "util/num.h"
#include "wire/sctp.h"

enum {
	ETHER_LEN = 14,
	VLAN_LEN = 4,
	IPV4_LEN = 20,
	IPV6_LEN = 40,
	TCP_LEN = 20,
	UDP_LEN = 8,
	SCTP_SUM = 8, /* offset of the checksum; TCP and UDP have theirs elsewhere */
};

enum tcp_flag { TCP_FIN = 0x01, TCP_PSH = 0x08, TCP_CWR = 0x80 };

/* --- one frame -------------------------------------------------------------------------------- */

/*
 * The field holds the sum of the pseudo-header, so the sum over transport header and payload
 * includes it (RFC 9293 3.1). That of SCTP is a CRC (RFC 9260 6.8).
 */
static bool complete_checksum(uint8_t *data, size_t len, size_t start, size_t field)
{
	uint8_t *sum = data + start + field;

	if (start + (field == SCTP_SUM ? IW_SCTP_HDR_LEN : field + 2) > len)
		return false;
	if (field == SCTP_SUM) {
		iw_put_le32(sum, iw_wire_sctp_checksum(data + start, len - start));
	} else {
		uint16_t all = iw_packet_sum(data + start, len - start);

		iw_put_be16(sum, all ? all : 0xffff);
	}
	return true;
}

/* --- data of several frames ------------------------------------------------------------------- */

/* Finds the IP header, after any VLAN tags. */
static bool find_ip(struct iw_offload *o)
{
	uint16_t type;

	for (o->ip = ETHER_LEN; o->ip + IPV6_LEN <= o->len; o->ip += VLAN_LEN) {
		type = iw_get_be16(o->data + o->ip - 2);
		if (type != 0x8100 && type != 0x88a8) {
			o->v6 = type == 0x86dd;
			return type == 0x0800 || o->v6;
		}
	}
	return false;
}

/* Extension headers and tunnels are not divided: transport must follow the IP header. */
static bool find_payload(struct iw_offload *o)
{
	const uint8_t *ip = o->data + o->ip;
	size_t ip_len = o->v6 ? IPV6_LEN : (size_t)(ip[0] & 0xf) * 4,
	       min = o->udp ? UDP_LEN : TCP_LEN;

	if (ip_len < IPV4_LEN || o->ip + ip_len != o->transport || o->transport + min > o->len)
		return false;
	o->payload =
		o->transport + (o->udp ? UDP_LEN : (size_t)(o->data[o->transport + 12] >> 4) * 4);
	return o->payload >= o->transport + min && o->payload < o->len;
}

bool iw_offload_begin(struct iw_offload *o, const struct iw_offload_work *w, uint8_t *data,
		      size_t len)
{
	*o = (struct iw_offload){ .data = data,
				  .len = len,
				  .transport = w->start,
				  .udp = w->kind == IW_OFFLOAD_UDP,
				  .ecn = w->ecn };
	if (w->kind == IW_OFFLOAD_NONE)
		return !w->checksum || complete_checksum(data, len, w->start, w->field);
	if (w->kind == IW_OFFLOAD_OTHER || !w->checksum || !w->size || !find_ip(o) ||
	    !find_payload(o))
		return false;
	o->size = w->size;
	o->next = o->payload;
	return true;
}

/* FIN and PSH belong to the last frame. */
static void set_tcp(const struct iw_offload *o, uint8_t *tcp, bool last)
{
	iw_put_be32(tcp + 4, iw_get_be32(tcp + 4) + (uint32_t)(o->next - o->payload));
	if (!last)
		tcp[13] &= (uint8_t) ~(TCP_FIN | TCP_PSH);
	if (o->ecn && o->number > 0)
		tcp[13] &= (uint8_t)~TCP_CWR;
}

uint8_t *iw_offload_next(struct iw_offload *o, uint8_t *room, size_t *len)
{
	uint8_t *ip = room + o->ip, *transport = room + o->transport;
	size_t part;

	if (o->next >= o->len)
		return NULL;
	if (o->size == 0) {
		o->next = *len = o->len;
		return o->data;
	}
	part = IW_MIN(o->size, o->len - o->next);
	memcpy(room, o->data, o->payload);
	memcpy(room + o->payload, o->data + o->next, part);
	if (!o->v6)
		iw_put_be16(ip + 4, (uint16_t)(iw_get_be16(ip + 4) + o->number));
	if (!o->udp)
		set_tcp(o, transport, o->next + part == o->len);
	*len = o->payload + part;
	iw_packet_complete(ip, o->v6, transport, o->udp, room + *len);
	o->next += part;
	o->number++;
	return room;
}
