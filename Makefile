# warploop: one non-recursive Makefile.  `make help` lists the targets.
#
# BUILD=dir        where everything made goes (default build)
# SANITIZE=address,undefined | thread   an instrumented build (in a folder of its own)
# WERROR=1         warnings are errors (as in continuous integration; a newer compiler has new ones)
# V=1              show the commands

CC       ?= gcc
PKG      ?= pkg-config
SANITIZE ?=
BUILD    ?= build$(if $(SANITIZE),-$(firstword $(subst $(comma), ,$(SANITIZE))))
comma    := ,

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
        -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wold-style-definition \
        -Wdouble-promotion -Wswitch-enum $(if $(WERROR),-Werror)
HARDEN := $(if $(SANITIZE),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
CPPFLAGS += -D_GNU_SOURCE -I.
CFLAGS   ?= -O2 -g
ALL_CFLAGS = -std=c11 $(WARN) $(CFLAGS) $(HARDEN) -fno-omit-frame-pointer -fstack-protector-strong -pthread \
             $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all)
ALL_LDFLAGS = $(LDFLAGS) -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE))

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2))

# ---------------------------------------------------------------- sources
BASE_SRC := $(wildcard core/base/*.c)
CORE_SRC := $(wildcard core/log/*.c core/task/*.c core/loop/*.c)
CMD_SRC  := $(wildcard core/cmd/*.c)
TUI_SRC  := $(wildcard tui/*.c)
GPUC_SRC := $(wildcard gpu/c/*.c)
TEST_SRC := $(wildcard tests/unit/test_*.c)
TSUP_SRC := $(wildcard tests/support/*.c)

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
BASE_OBJ := $(call obj,$(BASE_SRC))
CORE_OBJ := $(call obj,$(CORE_SRC))
CMD_OBJ  := $(call obj,$(CMD_SRC))
TUI_OBJ  := $(call obj,$(TUI_SRC))
GPUC_OBJ := $(call obj,$(GPUC_SRC))
TSUP_OBJ := $(call obj,$(TSUP_SRC))

# ---------------------------------------------------------------- libraries
LIB_JSON := $(shell $(PKG) --libs libcjson 2>/dev/null || echo -lcjson)
LIB_CORE := $(shell $(PKG) --libs sqlite3 libzstd libcrypto 2>/dev/null || echo -lsqlite3 -lzstd -lcrypto)
LIB_TUI  := $(shell $(PKG) --libs ncursesw inih 2>/dev/null || echo -lncursesw -ltinfo -linih)
LIB_GPUC := $(shell $(PKG) --libs libseccomp 2>/dev/null || echo -lseccomp) -ldl
LIB_TEST := $(shell $(PKG) --libs cmocka vterm 2>/dev/null || echo -lcmocka -lvterm) -lutil

BIN := $(BUILD)/bin/warploop $(BUILD)/bin/warploop-build $(BUILD)/bin/warploop-bench
TESTS := $(patsubst tests/unit/%.c,$(BUILD)/test/unit/%,$(TEST_SRC))

.DEFAULT_GOAL := all
.PHONY: all tests help clean
all: $(BIN)                     ## build the programs
tests: all $(TESTS)             ## build the tests

$(BUILD)/bin/warploop: $(CMD_OBJ) $(TUI_OBJ) $(CORE_OBJ) $(BASE_OBJ)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_CORE) $(LIB_JSON) $(LIB_TUI) -lm
$(BUILD)/bin/warploop-build: $(call obj,gpu/build_main.c) $(GPUC_OBJ) $(BASE_OBJ)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_JSON) $(LIB_GPUC) -lcrypto -lm
$(BUILD)/bin/warploop-bench: $(call obj,gpu/bench_main.c) $(GPUC_OBJ) $(BASE_OBJ)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_JSON) $(LIB_GPUC) -lcrypto -lm

# A test links everything but the mains; the linker takes what it needs from the archive. (ar q: two
# files of one name in two folders are two members.)
$(BUILD)/libtest.a: $(filter-out %/main.o,$(CMD_OBJ)) $(TUI_OBJ) $(GPUC_OBJ) $(CORE_OBJ) $(BASE_OBJ) $(TSUP_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar qcs $@ $^
$(BUILD)/test/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/libtest.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(BUILD)/libtest.a $(LIB_CORE) $(LIB_JSON) $(LIB_TUI) \
	    $(LIB_GPUC) $(LIB_TEST) -lm

# A back end that only pretends, the drivers of the crash tests, and programs that measure.
FAKE  := $(BUILD)/test/fake/warploop-build $(BUILD)/test/fake/warploop-bench
CRASH := $(patsubst tests/crash/%.c,$(BUILD)/test/crash/%,$(wildcard tests/crash/*.c))
BENCH := $(patsubst tests/bench/%.c,$(BUILD)/test/bench/%,$(wildcard tests/bench/*.c))
TOOL  := $(patsubst tests/tool/%.c,$(BUILD)/test/tool/%,$(wildcard tests/tool/*.c))
GOLD  := $(patsubst tests/golden/%.c,$(BUILD)/test/golden/%,$(wildcard tests/golden/*.c))
tests: $(FAKE) $(CRASH) $(BENCH) $(TOOL) $(GOLD)
$(FAKE): $(BUILD)/obj/tests/fake/fakeback.o $(BASE_OBJ)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIB_JSON) -lcrypto -lm
$(CRASH) $(BENCH) $(TOOL) $(GOLD): $(BUILD)/test/%: $(BUILD)/obj/tests/%.o $(BUILD)/libtest.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(BUILD)/libtest.a $(LIB_CORE) $(LIB_JSON) $(LIB_TUI) \
	    $(LIB_GPUC) $(LIB_TEST) -lm

# Objects depend on the flags that made them, so that a changed flag rebuilds.
FLAGS_NOW := $(CC) $(ALL_CFLAGS) $(CPPFLAGS)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(FLAGS_NOW)' | cmp -s - $@ || echo '$(FLAGS_NOW)' >$@
.PHONY: FORCE
FORCE:
$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(CPPFLAGS) -MMD -MP -c -o $@ $<
-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

.SECONDARY:

# ---------------------------------------------------------------- for people
# Nothing but make and apt-get is taken for granted here: the set-up installs the rest, and a second
# make then sees it.
JOBS    := $(shell nproc 2>/dev/null || echo 2)
SUBMAKE  = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))

.PHONY: demo test torture asan ubsan tsan
demo:                           ## two minutes that show everything (installs what is missing)
	@sh tests/setup.sh demo
	@$(SUBMAKE) all
	@$(BUILD)/bin/warploop demo
test:                           ## all tests (installs what is missing), under 15 minutes
	@sh tests/setup.sh test
	@$(SUBMAKE) tests
	@UNIT_TESTS='$(TESTS)' WARPLOOP_BIN=$(CURDIR)/$(BUILD)/bin sh tests/run-all.sh $(SUITES)
torture:                        ## the long forms: more kills, more random cases, the big logs
	@sh tests/setup.sh test
	@$(SUBMAKE) tests
	@UNIT_TESTS='$(TESTS)' WARPLOOP_BIN=$(CURDIR)/$(BUILD)/bin TORTURE=1 sh tests/run-all.sh $(SUITES)
asan:                           ## unit tests under the address and undefined-behaviour sanitizers
	@sh tests/setup.sh test
	@$(SUBMAKE) SANITIZE=address,undefined unit
ubsan:                          ## unit tests under the undefined-behaviour sanitizer
	@sh tests/setup.sh test
	@$(SUBMAKE) SANITIZE=undefined unit
tsan:                           ## unit tests under the thread sanitizer
	@sh tests/setup.sh test
	@$(SUBMAKE) SANITIZE=thread unit

# ---------------------------------------------------------------- screens
# A picture of a real run: make screenshots RUN=path/of/a.warp KEYS=keys-to-type
SHOT_SIZE ?= 40 132
.PHONY: golden-update screenshots
golden-update: tests            ## show what changed in the golden screens and keep it
	$(Q)$(BUILD)/test/golden/golden tests/golden --update
screenshots:                    ## make screenshots/workbench.png (of the newest kda run, or RUN=FILE)
	@sh tests/setup.sh pictures
	@$(SUBMAKE) all $(BUILD)/test/golden/shot
	$(Q)$(BUILD)/test/golden/shot $(SHOT_SIZE) $(BUILD)/workbench.svg '$(KEYS)' 500 \
	    $(BUILD)/bin/warploop watch $(RUN) >$(BUILD)/workbench.txt
	$(Q)rsvg-convert --zoom 1.25 -o screenshots/workbench.png $(BUILD)/workbench.svg
	@echo screenshots/workbench.png

# ---------------------------------------------------------------- checks
SUITES := tests/tree.sh unit $(sort $(wildcard tests/cmd/*.sh tests/fault/*.sh)) \
          $(wildcard tests/golden/run.sh tests/crash/run.sh)

.PHONY: unit tidy format
unit: tests                     ## build and run the unit tests
	$(Q)WARPLOOP_BIN=$(CURDIR)/$(BUILD)/bin sh tests/run-unit.sh $(TESTS)
format:                         ## format every C file
	@sh tests/setup.sh tools
	clang-format -i $$(git ls-files '*.c' '*.h' | grep -v '^kernels/\|^tests/fixtures/')
tidy:                           ## clang-tidy over every C file
	@sh tests/setup.sh tools
	@git ls-files 'core/*.c' 'gpu/*.c' 'tui/*.c' | xargs -P 2 -n 4 sh -c 'clang-tidy --quiet "$$@" -- -std=c11 $(CPPFLAGS)' tidy
clean:                          ## remove everything made
	rm -rf build build-*
help:                           ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | awk -F'\t' '{printf "  make %-12s %s\n",$$1,$$2}'
