# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Builds a lab. Its Makefile sets LAB (the number), MODULES (your C files), LIBS (C files that you do
# not change), LDLIBS (libraries) and SUBMIT (the files that you hand in, if they are not MODULES).
#
#   make          your module with the grader's harness, build/student
#   make test     the visible tests
#   make check    the same as ./check
#   make trace    runs your module in a conversation and draws it: trace.svg
#   make clean

CC = gcc
CFLAGS = -O2 -g
WARNINGS = -std=gnu11 -Wall -Wextra -Wno-unused-parameter
SANITIZE = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
WRAP = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free,--wrap=strdup

HEADERS = $(wildcard *.h)
# The programs of the project: IW_LAB names the grader if it is not installed.
GRADER = $(or $(IW_LAB),$(firstword $(wildcard /usr/libexec/iwarp-labs/iwarp-lab /usr/local/libexec/iwarp-labs/iwarp-lab)),iwarp-lab)
PLOT = $(or $(IW_PLOT),$(firstword $(wildcard /usr/share/iwarp-labs/plot /usr/local/share/iwarp-labs/plot)),plot)
TRACE ?= trace.pcap
PICTURE ?= ladder
PORT ?= 7174

.PHONY: all test check trace peer clean
all: build/student

SOURCES = $(MODULES) $(LIBS) calls.c harness.c

# A lab's Makefile may name other files that these targets need; they are not linked.

build/student: $(SOURCES:%.c=build/plain/%.o)
	$(CC) $(CFLAGS) $(WRAP) -o $@ $(filter build/plain/%,$^) $(LDLIBS)

build/student-sanitized: $(SOURCES:%.c=build/sanitized/%.o)
	$(CC) $(SANITIZE) $(WRAP) -o $@ $(filter build/sanitized/%,$^) $(LDLIBS)

build/plain/%.o: %.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(WARNINGS) $(CFLAGS) -c -o $@ $<

build/sanitized/%.o: %.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(WARNINGS) $(SANITIZE) -c -o $@ $<

build/tests: $(MODULES:%.c=build/sanitized/%.o) $(LIBS:%.c=build/sanitized/%.o) build/sanitized/tests.o
	$(CC) $(SANITIZE) -o $@ $^ $(LDLIBS)

test: build/tests
	./build/tests

check:
	./check

trace: build/student
	$(GRADER) trace $(LAB) --student build/student --output $(TRACE)
	$(PLOT) $(PICTURE) $(TRACE) -o trace.svg

# Labs 1 to 5: your module in a connection with another program. TO=HOST: as the client; otherwise
# as the server, on BIND=ADDRESS ('*': all; default: 127.0.0.1). PORT=NUMBER: default 7174.
peer: build/student
	$(GRADER) peer $(LAB) --student build/student --port $(PORT) $(if $(TO),--to $(TO)) $(if $(BIND),--bind '$(BIND)')

clean:
	rm -rf build trace.pcap trace.jsonl trace.svg
