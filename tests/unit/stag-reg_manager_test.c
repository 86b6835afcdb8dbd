// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The resource manager, with peers over real sockets and clients on its control socket: what each
 * peer may access, when buffers end, and that no client blocks the manager.
 */
#include "stag-reg/manager.h"

#include <dirent.h>
#include <sys/socket.h>

#include "cbor/cbor.h"
#include "cli/param.h"
#include "os/os.h"
#include "stag-reg/internal.h"
#include "transfer-files_tmp.h"
#include "verbs_end.h"

static struct iw_ctx *ctx;
static struct iw_listener *listener;
static struct iw_manager *m;
static struct end a, c; /* peers */
static uint16_t udp_port;
static unsigned rejected;
static struct iw_fault last; /* of the last claim that was rejected */

static void server_step(void)
{
	struct iw_async_event ev;

	assert_true(iw_progress(ctx, 100000) >= 0);
	while (iw_next_event(ctx, &ev)) {
		if (ev.type != IW_EV_CONNECT_REQUEST)
			assert_true(iw_manager_event(m, &ev));
		else if (iw_manager_claim(m, ev.req, &last) != 0)
			rejected++;
	}
	iw_manager_serve(m, iw_os_now());
	iw_manager_turn(m, iw_os_now());
}

#define until(cond)                                                                                \
	do {                                                                                       \
		double limit_ = end_clock() + 10;                                                  \
		while (!(cond)) {                                                                  \
			if (end_clock() > limit_)                                                  \
				fail_msg("not within 10 s: %s", #cond);                            \
			server_step();                                                             \
			end_step(&a, 100000);                                                      \
			end_step(&c, 100000);                                                      \
		}                                                                                  \
	} while (0)

/* Listens; with udp, on a free UDP port. */
static void listen_over(const char *transport)
{
	struct conn_param p = { CONN_PARAM_SIZES, .at.host = "127.0.0.1",
				.at.transport = transport };
	struct iw_fault why;

	for (int tries = 0; tries < 100; tries++) {
		if (strcmp(transport, "udp") == 0)
			udp_port = (uint16_t)(20000 +
					      ((unsigned)getpid() * 31 + (unsigned)rand()) % 40000);
		p.at.udp_port = udp_port;
		if (iw_listen(&listener, ctx, &p.at, &p.protocol, &why) == 0)
			return;
	}
	fail_msg("%s", why.text);
}

static int set_up_over(const char *transport)
{
	struct iw_ctx_attr attr = { .size = sizeof(attr), .setup_ns = MS(2000) };
	struct iw_manager_cfg cfg = { .transport = transport, .peers = IW_MANAGER_PEERS_MAX };
	struct iw_fault why;
	char path[80];

	tmp_make();
	assert_int_equal(iw_ctx_new(&ctx, &attr, &why), 0);
	udp_port = 0;
	listen_over(transport);
	cfg.ctx = ctx;
	cfg.addr = iw_listener_addr(listener);
	cfg.port = iw_listener_port(listener);
	assert_int_equal(iw_manager_new(&m, &cfg, &why), 0);
	snprintf(path, sizeof(path), "%s/ctl", tmp_name);
	assert_int_equal(iw_manager_listen(m, path, false, &why), 0);
	rejected = 0;
	end_open(&a);
	end_open(&c);
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	return set_up_over("tcp");
}

static int set_up_udp(void **state)
{
	(void)state;
	return set_up_over("udp");
}

static int tear_down(void **state)
{
	(void)state;
	end_close(&a);
	end_close(&c);
	iw_manager_free(m);
	iw_ctx_free(ctx);
	tmp_remove();
	return 0;
}

/* --- helpers --- */

static struct iw_manager_buffer add(struct iw_manager_request r)
{
	struct iw_manager_buffer b;
	struct iw_fault why;

	r.op = IW_MANAGER_ADD;
	r.memory = true;
	r.access = r.access ? r.access : IW_CLAIM_RIGHTS;
	if (iw_manager_add(m, &r, -1, &b, &why) != 0)
		fail_msg("%s", why.text);
	return b;
}

static struct iw_manager_buffer add_named(const char *domain)
{
	struct iw_manager_request r = { .len = 4096 };

	snprintf(r.domain, sizeof(r.domain), "%s", domain);
	return add(r);
}

static uint8_t *memory_of(uint32_t stag)
{
	return iw_manager_find(m, stag)->map.addr;
}

static void connect_with(struct end *e, const struct iw_claim *claim)
{
	uint8_t pd[IW_XFER_PD_MAX];
	struct conn_param p = { .protocol.private_data = pd,
				.at.transport = m->transport,
				.at.udp_port = udp_port };

	p.protocol.private_data_len = iw_claim_encode(pd, claim);
	end_connect_to(e, "127.0.0.1", iw_listener_port(listener), p);
	until(e->seen[IW_EV_ESTABLISHED] || e->seen[IW_EV_CLOSED]);
}

static void claim(struct end *e, const struct iw_manager_buffer *b)
{
	struct iw_claim request = { .form = IW_CLAIM_REQUEST,
				    .version_max = 1,
				    .version_min = 1,
				    .stag = b->stag,
				    .key = b->key };

	connect_with(e, &request);
}

static void reopen(struct end *e)
{
	end_close(e);
	end_open(e);
}

static void write_x(struct end *e, uint64_t id, uint32_t stag)
{
	assert_int_equal(end_write(e, id, "x", 1, stag, 0, 0), 0);
}

static size_t open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* --- access --- */

/* SEC-01, SEC-21: the peer cannot use the other buffer even though it knows its STag. */
static void peer_admitted_for_one_buffer_cannot_use_another(void **state)
{
	struct iw_manager_buffer mine = add_named(""), other = add_named("");

	(void)state;
	claim(&a, &mine);
	assert_int_equal(a.seen[IW_EV_ESTABLISHED], 1);
	write_x(&a, 1, mine.stag);
	until(memory_of(mine.stag)[0] == 'x');
	write_x(&a, 2, other.stag);
	until(a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.err, IW_E_PEER_TERMINATE);
	/* The peer gets the same error as for an STag that does not exist. */
	assert_int_equal(a.fault.term, iw_err_term(IW_E_DDP_STAG));
	assert_int_equal(memory_of(other.stag)[0], 0);
}

static void buffers_of_one_name_are_for_the_same_peers(void **state)
{
	struct iw_manager_buffer one = add_named("team"), two = add_named("team"),
				 stranger = add_named("others");

	(void)state;
	claim(&a, &one);
	write_x(&a, 1, one.stag);
	write_x(&a, 2, two.stag);
	until(memory_of(one.stag)[0] == 'x' && memory_of(two.stag)[0] == 'x');
	write_x(&a, 3, stranger.stag);
	until(a.seen[IW_EV_CLOSED]);
	assert_int_equal(memory_of(stranger.stag)[0], 0);
}

/* SEC-02 */
static void a_buffer_of_one_connection_is_unknown_to_others_and_ends_with_it(void **state)
{
	struct iw_manager_buffer shared = add_named(""), own;

	(void)state;
	claim(&a, &shared);
	claim(&c, &shared);
	assert_int_equal(m->last_stream, 2);
	own = add((struct iw_manager_request){ .len = 100, .stream = 1 });
	write_x(&a, 1, own.stag);
	until(memory_of(own.stag)[0] == 'x');
	write_x(&c, 1, own.stag);
	until(c.seen[IW_EV_CLOSED]);
	assert_int_equal(c.fault.term, iw_err_term(IW_E_DDP_STAG));
	/* No other peer is admitted for it either. */
	reopen(&c);
	claim(&c, &own);
	assert_int_equal(c.seen[IW_EV_REJECTED], 1);
	assert_non_null(iw_manager_find(m, own.stag));
	iw_disconnect(a.qp);
	until(a.seen[IW_EV_CLOSED] && !iw_manager_find(m, own.stag));
	assert_non_null(iw_manager_find(m, shared.stag));
}

/* SEC-09: the answers do not reveal which STags exist. */
static void peer_without_a_key_learns_nothing(void **state)
{
	struct iw_manager_buffer b = add_named("");
	struct iw_claim wrong[] = {
		{ .version_max = 1, .version_min = 1, .stag = b.stag },
		{ .version_max = 1, .version_min = 1, .stag = b.stag, .key = { .set = true } },
		{ .version_max = 1, .version_min = 1, .stag = b.stag ^ 1, .key = b.key },
	};
	uint8_t first[IW_XFER_PD_MAX];
	size_t first_len = 0;
	struct iw_qp_info info;

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(wrong); i++) {
		reopen(&a);
		connect_with(&a, &wrong[i]);
		assert_int_equal(a.seen[IW_EV_REJECTED], 1);
		iw_qp_info(a.qp, &info);
		if (i == 0) {
			first_len = info.private_data_len;
			memcpy(first, info.private_data, first_len);
		}
		assert_int_equal(info.private_data_len, first_len);
		assert_memory_equal(info.private_data, first, first_len);
	}
	assert_int_equal(rejected, 3);
	/* A claim of an unknown version is rejected for that reason. */
	reopen(&a);
	connect_with(&a, &(struct iw_claim){ .version_max = 9, .version_min = 2 });
	assert_int_equal(a.seen[IW_EV_REJECTED], 1);
	assert_non_null(strstr(last.text, "version"));
}

/* SEC-09: a peer cannot search for the STag of an open buffer. A right key still connects. */
static void wrong_claims_are_limited_and_the_right_key_is_not(void **state)
{
	struct iw_manager_buffer keyed = add_named(""),
				 open = add(
					 (struct iw_manager_request){ .len = 100, .open = true }),
				 wrong = keyed;

	(void)state;
	wrong.stag ^= 1;
	for (unsigned i = 0; i < IW_GUESS_FREE; i++) {
		reopen(&a);
		claim(&a, &wrong);
		assert_int_equal(a.seen[IW_EV_REJECTED], 1);
		assert_int_equal(last.err, IW_E_REJECTED);
	}
	reopen(&a);
	claim(&a, &wrong);
	assert_int_equal(a.seen[IW_EV_REJECTED], 1);
	assert_int_equal(last.err, IW_E_LIMIT);
	assert_non_null(strstr(last.text, "too many wrong claims"));
	/* The answer is the same for an existing STag, and for an almost right key. */
	reopen(&a);
	claim(&a, &open);
	assert_int_equal(a.seen[IW_EV_REJECTED], 1);
	assert_int_equal(last.err, IW_E_LIMIT);
	wrong = keyed;
	wrong.key.octets[15] ^= 1;
	reopen(&a);
	claim(&a, &wrong);
	assert_int_equal(a.seen[IW_EV_REJECTED], 1);
	assert_int_equal(last.err, IW_E_LIMIT);
	reopen(&a);
	claim(&a, &keyed);
	assert_int_equal(a.seen[IW_EV_ESTABLISHED], 1);
}

static int add_file(const char *domain, unsigned access, uint64_t off, uint64_t len)
{
	struct iw_manager_request r = {
		.op = IW_MANAGER_ADD, .access = access, .off = off, .len = len
	};
	int fd = openat(tmp_fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct iw_manager_buffer b;
	struct iw_fault why;

	snprintf(r.domain, sizeof(r.domain), "%s", domain);
	assert_int_equal(ftruncate(fd, 1000), 0);
	return iw_manager_add(m, &r, fd, &b, &why);
}

/* SEC-26 */
static void peers_of_two_domains_cannot_write_to_the_same_octets(void **state)
{
	(void)state;
	assert_int_equal(add_file("team", IW_CLAIM_WRITE, 100, 100), 0);
	assert_int_equal(add_file("", IW_CLAIM_WRITE, 199, 1), IW_E_BUSY);
	assert_int_equal(add_file("other", IW_CLAIM_RIGHTS, 0, 101), IW_E_BUSY);
	assert_int_equal(add_file("", IW_CLAIM_WRITE, 0, 100), 0);
	assert_int_equal(add_file("", IW_CLAIM_WRITE, 200, 800), 0);
	assert_int_equal(add_file("team", IW_CLAIM_WRITE, 150, 10), 0);
	assert_int_equal(m->nbuffers, 4);
}

/*
 * SEC-26: no peer can read octets that peers of another domain write, whichever buffer was
 * registered first.
 */
static void peers_of_one_domain_cannot_read_what_those_of_another_write(void **state)
{
	(void)state;
	assert_int_equal(add_file("team", IW_CLAIM_WRITE, 100, 100), 0);
	assert_int_equal(add_file("", IW_CLAIM_READ, 0, 101), IW_E_BUSY);
	assert_int_equal(add_file("team", IW_CLAIM_READ, 0, 1000), 0);
	assert_int_equal(add_file("", IW_CLAIM_READ, 500, 100), 0);
	/* Both buffers permit only reading. */
	assert_int_equal(add_file("other", IW_CLAIM_READ, 500, 100), 0);
	assert_int_equal(add_file("team", IW_CLAIM_WRITE, 599, 1), IW_E_BUSY);
	assert_int_equal(m->nbuffers, 4);
	/* It succeeds after the conflicting buffers are revoked. */
	for (int i = 0; i < 2; i++) {
		struct buffer *last_one = iw_container_of(m->buffers.prev, struct buffer, all);

		iw_manager_drop(m, last_one, "test");
	}
	assert_int_equal(add_file("team", IW_CLAIM_WRITE, 599, 1), 0);
}

/* --- the end of buffers and peers --- */

/* The last permitted operation of a buffer may take as long as it needs. */
static void an_operation_that_is_under_way_is_not_cut_off_as_spent(void **state)
{
	const size_t len = 32 << 20;
	struct iw_manager_buffer b = add((struct iw_manager_request){ .len = len, .uses = 1 });
	uint8_t *got = malloc(len);
	struct iw_mr *sink;

	(void)state;
	assert_non_null(got);
	claim(&a, &b);
	sink = end_reg(&a, got, len, IW_ACCESS_READ_SINK);
	assert_int_equal(end_read(&a, 1, sink, 0, (uint32_t)len, b.stag, 0), 0);
	until((iw_manager_reap(m), end_wc(&a, 1)));
	assert_int_equal(end_wc(&a, 1)->status, IW_OK);
	until((iw_manager_reap(m), !iw_manager_find(m, b.stag)));
	iw_mr_revoke(sink);
	free(got);
}

/* The next operation of the peer is refused. A peer without another operation is disconnected. */
static void peer_without_a_buffer_is_dropped_after_a_delay(void **state)
{
	struct iw_manager_buffer b = add_named("");

	(void)state;
	claim(&a, &b);
	claim(&c, &b);
	iw_manager_drop(m, iw_manager_find(m, b.stag), "revoked");
	write_x(&a, 1, b.stag);
	until(a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.term, iw_err_term(IW_E_DDP_STAG));
	assert_int_equal(c.seen[IW_EV_CLOSED], 0);
	assert_false(iw_list_empty(&m->domains));
	iw_manager_turn(m, iw_os_now() + IW_SEC(6));
	until(c.seen[IW_EV_CLOSED]);
	until(iw_list_empty(&m->domains));
}

static void registrations_with_a_lifetime_expire_while_a_peer_is_connected(void **state)
{
	struct iw_manager_buffer b =
		add((struct iw_manager_request){ .len = 1, .lifetime_ms = 100 });
	uint64_t at = iw_manager_deadline(m), now = iw_os_now();

	(void)state;
	assert_true(at > now && at <= now + MS(100));
	claim(&a, &b);
	until(!iw_manager_find(m, b.stag));
	assert_true(iw_os_now() >= at);
	write_x(&a, 1, b.stag);
	until(a.seen[IW_EV_CLOSED]);
	assert_int_equal(a.fault.term, iw_err_term(IW_E_DDP_STAG));
}

/* Only the last IW_MANAGER_ENDED_MAX ended peers are remembered. */
static void former_peers_are_remembered_up_to_a_limit(void **state)
{
	struct iw_manager_buffer b = add_named("");
	struct domain *d = iw_manager_find(m, b.stag)->domain;

	(void)state;
	for (unsigned i = 0; i < IW_MANAGER_ENDED_MAX + 3; i++) {
		reopen(&a);
		claim(&a, &b);
		iw_disconnect(a.qp);
		until(a.seen[IW_EV_CLOSED] && d->live == 0);
	}
	assert_int_equal(d->ended, IW_MANAGER_ENDED_MAX);
	assert_int_equal(iw_container_of(d->peers.next, struct peer, in_domain)->stream, 4);
}

/* --- the control socket --- */

static int asker(void)
{
	struct iw_fault why;
	int fd = -1;

	if (iw_manager_connect(&fd, m->path, -1, &why) != 0)
		fail_msg("%s", why.text);
	return fd;
}

static void ask(int fd, struct iw_manager_request q, int file)
{
	struct iw_fault why;

	assert_int_equal(iw_manager_ask(fd, &q, file, 0, &why), 0);
}

/* Returns the next message of the answer. The server runs meanwhile. */
static int answer(int fd, struct iw_manager_reply *r, struct iw_fault *why)
{
	double limit = end_clock() + 10;
	int err;

	do {
		assert_true(end_clock() < limit);
		server_step();
		err = iw_manager_answer(fd, r, 0, why);
	} while (err == IW_E_TIMEOUT);
	return err;
}

static void a_registered_file_is_that_of_the_client_and_its_descriptor_is_closed(void **state)
{
	struct iw_manager_request q = { .op = IW_MANAGER_ADD,
					.access = IW_CLAIM_READ,
					.label = "f" };
	int file = openat(tmp_fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600), fd = asker();
	struct iw_manager_reply r;
	struct iw_fault why;
	uint32_t stag;
	size_t before;

	(void)state;
	assert_int_equal(ftruncate(file, 5000), 0);
	server_step();
	before = open_descriptors();
	ask(fd, q, file);
	assert_int_equal(answer(fd, &r, &why), 0);
	assert_int_equal(r.kind, IW_MANAGER_BUFFER);
	assert_int_equal(r.buffer.len, 5000);
	assert_true(r.buffer.key.set);
	stag = r.buffer.stag;
	assert_int_equal(answer(fd, &r, &why), 0);
	assert_int_equal(r.kind, IW_MANAGER_END);
	assert_int_equal(open_descriptors(), before + 1);
	ask(fd, (struct iw_manager_request){ .op = IW_MANAGER_REVOKE, .stag = stag }, file);
	assert_int_equal(answer(fd, &r, &why), 0);
	assert_int_equal(r.count, 1);
	assert_int_equal(open_descriptors(), before);
	/* Requests that need no descriptor, or fail, leak none either. */
	ask(fd, (struct iw_manager_request){ .op = IW_MANAGER_LIST }, file);
	assert_int_equal(answer(fd, &r, &why), 0);
	q.off = 6000;
	ask(fd, q, file);
	assert_int_equal(answer(fd, &r, &why), IW_E_INVAL);
	assert_non_null(strstr(why.text, "5000 octets"));
	q = (struct iw_manager_request){
		.op = IW_MANAGER_ADD, .memory = true, .len = 1, .access = 1
	};
	ask(fd, q, file);
	assert_int_equal(answer(fd, &r, &why), 0);
	assert_int_equal(answer(fd, &r, &why), 0);
	assert_int_equal(open_descriptors(), before);
	close(file);
	close(fd);
}

static struct client *first_client(void)
{
	return iw_container_of(iw_list_first(&m->clients), struct client, all);
}

/* While the peers of a domain are reported, all of them end, and the domain with them. */
static void a_list_in_progress_drops_references_to_what_is_removed(void **state)
{
	struct iw_manager_buffer b = add_named("");
	struct domain *d = iw_manager_find(m, b.stag)->domain;
	struct cursor *at;
	int fd = asker();

	(void)state;
	claim(&a, &b);
	until(m->nclients == 1);
	at = &first_client()->at;
	*at = (struct cursor){ .domain = d,
			       .peer = iw_container_of(d->peers.next, struct peer, in_domain) };
	iw_manager_drop(m, iw_manager_find(m, b.stag), "revoked");
	assert_ptr_equal(at->domain, d);
	iw_disconnect(a.qp);
	until(a.seen[IW_EV_CLOSED] && iw_list_empty(&m->domains));
	assert_null(at->peer);
	assert_null(at->domain);
	/* Only the oldest remembered peer is freed. */
	b = add_named("");
	d = iw_manager_find(m, b.stag)->domain;
	for (unsigned i = 0; i < IW_MANAGER_ENDED_MAX + 1; i++) {
		reopen(&a);
		claim(&a, &b);
		*at = (struct cursor){
			.domain = d, .peer = iw_container_of(d->peers.next, struct peer, in_domain)
		};
		iw_disconnect(a.qp);
		until(a.seen[IW_EV_CLOSED] && d->live == 0);
	}
	assert_ptr_equal(at->peer, iw_container_of(d->peers.next, struct peer, in_domain));
	close(fd);
}

#define MANY 2000

/*
 * The client does not read its list while buffers in it are revoked: no message is wrong, and each
 * buffer that remains is reported once.
 */
static void a_slow_reader_of_a_long_list_delays_no_other_and_gets_current_values(void **state)
{
	static uint32_t stags[MANY];
	static unsigned told[MANY];
	struct iw_manager_reply r;
	struct iw_fault why;
	int fd = asker(), other = asker();
	struct buffer *next;
	uint64_t n = 0;
	uint32_t gone;

	(void)state;
	memset(told, 0, sizeof(told));
	for (size_t i = 0; i < MANY; i++)
		stags[i] = add((struct iw_manager_request){ .len = 1 }).stag;
	ask(fd, (struct iw_manager_request){ .op = IW_MANAGER_LIST, .peers = true }, -1);
	for (int i = 0; i < 100; i++)
		server_step();
	/* Revoke the buffer that would be reported next. */
	next = first_client()->at.buffer;
	assert_non_null(next);
	gone = next->stag;
	iw_manager_drop(m, next, "revoked");
	/* Another client is answered meanwhile. */
	for (size_t i = 0; i < MANY; i += 2) {
		ask(other, (struct iw_manager_request){ .op = IW_MANAGER_REVOKE, .stag = stags[i] },
		    -1);
		assert_int_equal(answer(other, &r, &why), 0);
		assert_int_equal(r.count, stags[i] != gone);
	}
	for (;;) {
		if (answer(fd, &r, &why) != 0)
			fail_msg("%s", why.text);
		if (r.kind == IW_MANAGER_END)
			break;
		assert_int_equal(r.kind, IW_MANAGER_BUFFER);
		assert_false(r.buffer.key.set);
		n++;
		for (size_t i = 0; i < MANY; i++)
			told[i] += stags[i] == r.buffer.stag;
	}
	assert_int_equal(r.count, n);
	for (size_t i = 0; i < MANY; i++)
		assert_in_range(told[i], i % 2 && stags[i] != gone, stags[i] != gone);
	close(fd);
	close(other);
}

static void client_that_reads_no_answer_is_dropped(void **state)
{
	int fd = asker();

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		(void)add((struct iw_manager_request){ .len = 1 });
	ask(fd, (struct iw_manager_request){ .op = IW_MANAGER_LIST }, -1);
	for (int i = 0; i < 100; i++)
		server_step();
	assert_int_equal(m->nclients, 1);
	iw_manager_turn(m, iw_os_now() + IW_MANAGER_PATIENCE + 1);
	assert_int_equal(m->nclients, 0);
	close(fd);
}

static void garbage_is_answered_with_an_error_and_the_end(void **state)
{
	static const size_t lens[] = {
		1, 2, 100, IW_MANAGER_MSG_MAX, IW_MANAGER_MSG_MAX + 1, 60000
	};
	static uint8_t octets[60000];
	struct iw_manager_reply r;
	struct iw_fault why;

	(void)state;
	memset(octets, 0xa1, sizeof(octets));
	for (size_t i = 0; i < IW_ARRAY_LEN(lens); i++) {
		int fd = asker();

		assert_int_equal(send(fd, octets, lens[i], 0), (ssize_t)lens[i]);
		assert_true(answer(fd, &r, &why) < 0);
		assert_int_equal(r.kind, IW_MANAGER_ERROR);
		assert_int_equal(answer(fd, &r, &why), IW_E_CLOSED);
		close(fd);
	}
	assert_int_equal(m->nclients, 0);
}

/* One client more than the limit: it is served when another client disconnects. */
static void more_clients_than_allowed_wait(void **state)
{
	int fd[IW_MANAGER_CLIENTS_MAX + 1];
	struct iw_manager_reply r;
	struct iw_fault why;

	(void)state;
	for (size_t i = 0; i < IW_ARRAY_LEN(fd); i++) {
		fd[i] = asker();
		server_step();
	}
	assert_int_equal(m->nclients, IW_MANAGER_CLIENTS_MAX);
	ask(fd[IW_MANAGER_CLIENTS_MAX], (struct iw_manager_request){ .op = IW_MANAGER_LIST }, -1);
	for (int i = 0; i < 10; i++)
		server_step();
	assert_int_equal(iw_manager_answer(fd[IW_MANAGER_CLIENTS_MAX], &r, 0, &why), IW_E_TIMEOUT);
	close(fd[3]);
	assert_int_equal(answer(fd[IW_MANAGER_CLIENTS_MAX], &r, &why), 0);
	for (size_t i = 0; i < IW_ARRAY_LEN(fd); i++)
		if (i != 3)
			close(fd[i]);
	for (int i = 0; i < 10; i++)
		server_step();
	assert_int_equal(m->nclients, 0);
}

/*
 * SEC-14, SEC-16: each resource has a limit, is charged when it is really used, and is free again
 * when it is released
 */
static void there_are_not_more_buffers_than_the_limit(void **state)
{
	struct iw_manager_request q = {
		.op = IW_MANAGER_ADD, .memory = true, .len = 1, .access = 1
	};
	const uint32_t left = 3;
	struct iw_manager_buffer b;
	struct iw_fault why;
	uint32_t stag = 0;

	(void)state;
	m->nbuffers = IW_MANAGER_BUFFERS_MAX - left;
	for (uint32_t i = 0; i < left; i++)
		stag = add((struct iw_manager_request){ .len = 1 }).stag;
	assert_int_equal(iw_manager_add(m, &q, -1, &b, &why), IW_E_LIMIT);
	iw_manager_drop(m, iw_manager_find(m, stag), "for the test");
	(void)add((struct iw_manager_request){ .len = 1 });
	assert_int_equal(iw_manager_add(m, &q, -1, &b, &why), IW_E_LIMIT);
	m->nbuffers = left;
}

/* SEC-14, SEC-16: the same for the octets of new memory */
static void new_memory_is_limited(void **state)
{
	struct iw_manager_request q = {
		.op = IW_MANAGER_ADD, .memory = true, .len = 1, .access = 1
	};
	struct iw_manager_buffer b;
	struct iw_fault why;
	uint32_t stag;

	(void)state;
	m->memory_max = 10000;
	(void)add((struct iw_manager_request){ .len = 6000 });
	stag = add((struct iw_manager_request){ .len = 4000 }).stag;
	assert_int_equal(iw_manager_add(m, &q, -1, &b, &why), IW_E_LIMIT);
	iw_manager_drop(m, iw_manager_find(m, stag), "for the test");
	q.len = 4001;
	assert_int_equal(iw_manager_add(m, &q, -1, &b, &why), IW_E_LIMIT);
	q.len = 4000;
	assert_int_equal(iw_manager_add(m, &q, -1, &b, &why), 0);
}

/*
 * SEC-16: an STag gets only the rights of the requester's own descriptor, whatever the server may
 * do with the file
 */
static void rights_beyond_those_of_the_descriptor_get_no_stag(void **state)
{
	static const struct {
		int flags;
		uint8_t access;
		int err;
	} rows[] = {
		{ O_RDONLY, IW_CLAIM_READ, 0 },
		{ O_RDONLY, IW_CLAIM_WRITE, IW_E_PERM },
		{ O_RDONLY, IW_CLAIM_READ | IW_CLAIM_WRITE, IW_E_PERM },
		{ O_RDWR, IW_CLAIM_READ | IW_CLAIM_WRITE, 0 },
		{ O_WRONLY, IW_CLAIM_READ, IW_E_PERM },
	};
	int keep;

	(void)state;
	keep = openat(tmp_fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(keep, 5000), 0);
	for (size_t i = 0; i < IW_ARRAY_LEN(rows); i++) {
		int file = openat(tmp_fd, "f", rows[i].flags | O_CLOEXEC), fd = asker();
		struct iw_manager_request q = { .op = IW_MANAGER_ADD,
						.access = rows[i].access,
						.label = "f" };
		struct iw_manager_reply r;
		struct iw_fault why;

		ask(fd, q, file);
		assert_int_equal(answer(fd, &r, &why), rows[i].err);
		assert_int_equal(m->nbuffers, rows[i].err == 0);
		if (m->nbuffers > 0)
			iw_manager_drop(m, iw_manager_find(m, r.buffer.stag), "for the test");
		assert_true(iw_list_empty(&m->buffers));
		close(file);
		close(fd);
	}
	close(keep);
}

/* SEC-29: requests that are pending on a peer's association count as memory of that peer. */
static void memory_of_the_peers_associations_is_counted(void **state)
{
	struct iw_manager_buffer b = add_named("");
	struct conn_param p = { CONN_PARAM_SIZES, .at.host = "127.0.0.1", .at.transport = "udp",
				.at.udp_port = udp_port };
	struct iw_async_event ev = { 0 };
	double limit = end_clock() + 10;
	uint64_t before;

	(void)state;
	claim(&a, &b);
	assert_int_equal(a.seen[IW_EV_ESTABLISHED], 1);
	before = iw_manager_peer_memory(m);
	p.at.port = iw_listener_port(listener);
	p.at.beside = a.qp;
	assert_int_equal(iw_connect(end_add_qp(&a, 4, 4), &p.at, &p.protocol, &a.why), 0);
	while (!ev.req && end_clock() < limit) {
		end_step(&a, 100000);
		assert_true(iw_progress(ctx, 100000) >= 0);
		(void)iw_next_event(ctx, &ev);
	}
	assert_non_null(ev.req);
	assert_true(iw_manager_peer_memory(m) >= before + 64);
	iw_reject(ev.req, NULL, 0);
	iw_disconnect(a.qp);
	until(a.seen[IW_EV_CLOSED] && iw_manager_peers(m) == 0);
	assert_int_equal(iw_manager_peer_memory(m), 0);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(peer_admitted_for_one_buffer_cannot_use_another),
		test(buffers_of_one_name_are_for_the_same_peers),
		test(a_buffer_of_one_connection_is_unknown_to_others_and_ends_with_it),
		test(peer_without_a_key_learns_nothing),
		test(wrong_claims_are_limited_and_the_right_key_is_not),
		test(peers_of_two_domains_cannot_write_to_the_same_octets),
		test(peers_of_one_domain_cannot_read_what_those_of_another_write),
		test(an_operation_that_is_under_way_is_not_cut_off_as_spent),
		test(peer_without_a_buffer_is_dropped_after_a_delay),
		test(registrations_with_a_lifetime_expire_while_a_peer_is_connected),
		test(former_peers_are_remembered_up_to_a_limit),
		test(a_registered_file_is_that_of_the_client_and_its_descriptor_is_closed),
		test(a_slow_reader_of_a_long_list_delays_no_other_and_gets_current_values),
		test(a_list_in_progress_drops_references_to_what_is_removed),
		test(client_that_reads_no_answer_is_dropped),
		test(garbage_is_answered_with_an_error_and_the_end),
		test(more_clients_than_allowed_wait),
		test(there_are_not_more_buffers_than_the_limit),
		test(new_memory_is_limited),
		test(rights_beyond_those_of_the_descriptor_get_no_stag),
		cmocka_unit_test_setup_teardown(memory_of_the_peers_associations_is_counted,
						set_up_udp, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
