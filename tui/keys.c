#include "tui/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "tui/config.h"

static const struct action_row {
    const char *name, *keys, *group, *help;
} actions[ACTION_COUNT] = {{"", "", "", ""},
#define X(id, name, keys, group, help) {name, keys, group, help},
                           ACTIONS(X)
#undef X
};

const char *action_name(enum action a)
{
    return actions[a].name;
}

const char *action_help(enum action a)
{
    return actions[a].help;
}

enum action action_of(const char *name)
{
    for (int i = 1; i < ACTION_COUNT; i++)
        if (strcmp(name, actions[i].name) == 0)
            return (enum action)i;
    return ACTION_NONE;
}

/* ------------------------------------------------------------------------------- key names */

static const struct {
    const char *name;
    uint32_t key;
} names[] = {
    {"Up", K_UP},         {"Down", K_DOWN},   {"Left", K_LEFT},
    {"Right", K_RIGHT},   {"Home", K_HOME},   {"End", K_END},
    {"PgUp", K_PGUP},     {"PgDn", K_PGDN},   {"Insert", K_INSERT},
    {"Delete", K_DELETE}, {"Tab", K_TAB},     {"Shift-Tab", K_BACKTAB},
    {"Enter", K_ENTER},   {"Esc", K_ESCAPE},  {"Backspace", K_BACKSPACE},
    {"Space", ' '},       {"Semicolon", ';'}, {"Hash", '#'},
};

static bool starts(const char *s, const char *prefix)
{
    return strncasecmp(s, prefix, strlen(prefix)) == 0;
}

uint32_t key_parse(const char *name)
{
    if (starts(name, "Alt-")) {
        uint32_t k = key_parse(name + 4);
        return k == K_NONE || (k & K_ALT) ? K_NONE : k | K_ALT;
    }
    if (starts(name, "Ctrl-")) {
        const char *c = name + 5;
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        return letter && c[1] == '\0' ? K_CTRL | ((uint32_t)*c | 0x20u) : K_NONE;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcasecmp(name, names[i].name) == 0)
            return names[i].key;
    if ((name[0] == 'F' || name[0] == 'f') && name[1] >= '1' && name[1] <= '9') {
        char *end;
        long n = strtol(name + 1, &end, 10);
        return *end == '\0' && n <= 12 ? K_F1 + (uint32_t)n - 1 : K_NONE;
    }
    uint32_t cp;
    size_t n = strlen(name), len = text_decode(name, n, &cp);
    return n > 0 && len == n && cp > ' ' && cp != 0x7F && cp != 0xFFFD ? cp : K_NONE;
}

const char *key_label(uint32_t key, char out[24])
{
    const char *alt = key & K_ALT ? "Alt-" : "";
    uint32_t base = key & ~(uint32_t)(K_ALT | K_CTRL);
    if (key & K_CTRL) {
        snprintf(out, 24, "%sCtrl-%c", alt, (int)(base >= 'a' && base <= 'z' ? base - 32 : base));
        return out;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (names[i].key == base) {
            bool plain = base == ';' || base == '#';
            snprintf(out, 24, plain ? "%s%.1s" : "%s%s", alt,
                     plain ? (base == ';' ? ";" : "#") : names[i].name);
            return out;
        }
    if (base >= K_F1 && base <= K_F12) {
        snprintf(out, 24, "%sF%u", alt, base - K_F1 + 1);
        return out;
    }
    char s[4];
    size_t n = base < K_SPECIAL ? text_encode(base, s) : 0;
    snprintf(out, 24, "%s%.*s", alt, (int)n, s);
    return out;
}

/* --------------------------------------------------------------------------------- key map */

static void unbind_key(struct keymap *m, uint32_t key)
{
    int n = 0;
    for (int i = 0; i < m->n; i++)
        if (m->bindings[i].key != key)
            m->bindings[n++] = m->bindings[i];
    m->n = n;
}

static void unbind_action(struct keymap *m, enum action a)
{
    int n = 0;
    for (int i = 0; i < m->n; i++)
        if (m->bindings[i].action != a)
            m->bindings[n++] = m->bindings[i];
    m->n = n;
}

static bool add_binding(struct keymap *m, uint32_t key, enum action a)
{
    unbind_key(m, key);
    if (m->n >= KEYMAP_MAX)
        return false;
    m->bindings[m->n++] = (struct binding){key, a};
    return true;
}

/* The next word of *p into word; false at the end. */
static bool next_word(const char **p, char word[24])
{
    *p += strspn(*p, " \t");
    size_t n = strcspn(*p, " \t");
    if (n == 0)
        return false;
    snprintf(word, 24, "%.*s", (int)(n < 23 ? n : 23), *p);
    *p += n;
    return true;
}

void keymap_default(struct keymap *m)
{
    m->n = 0;
    for (int i = 1; i < ACTION_COUNT; i++) {
        const char *p = actions[i].keys;
        char word[24];
        while (next_word(&p, word))
            (void)add_binding(m, key_parse(word), (enum action)i); /* a test checks that all fit */
    }
}

enum action keymap_action(const struct keymap *m, uint32_t key)
{
    for (int i = 0; i < m->n; i++)
        if (m->bindings[i].key == key)
            return m->bindings[i].action;
    return ACTION_NONE;
}

const char *keymap_key(const struct keymap *m, enum action a, char out[24])
{
    out[0] = '\0';
    for (int i = 0; i < m->n && !out[0]; i++)
        if (m->bindings[i].action == a)
            key_label(m->bindings[i].key, out);
    return out;
}

struct loading {
    struct keymap *map;
    struct keymap given; /* what this file has bound so far */
    bool seen[ACTION_COUNT];
};

static bool load_line(void *ctx, const char *section, const char *key, const char *value,
                      struct error *e)
{
    struct loading *l = ctx;
    if (strcmp(section, "keys") != 0)
        return error_set(e, ERR_INPUT, "section [%.40s] is unknown: there is only [keys]", section);
    enum action a = action_of(key);
    if (a == ACTION_NONE)
        return error_set(e, ERR_INPUT, "no such action; `?` in the workbench lists all of them");
    if (l->seen[a])
        return error_set(e, ERR_INPUT,
                         "this action was given keys above: name them all in one line");
    l->seen[a] = true;
    unbind_action(l->map, a);
    const char *p = value;
    char word[24];
    if (strcmp(value, "none") == 0)
        return true;
    while (next_word(&p, word)) {
        uint32_t k = key_parse(word);
        if (k == K_NONE)
            return error_set(e, ERR_INPUT,
                             "\"%s\" is no key: expected a character, Space, Tab, Enter, Esc, Up, "
                             "PgDn, F1..F12, Ctrl-LETTER, Alt-KEY, Semicolon, Hash or none",
                             word);
        enum action other = keymap_action(&l->given, k);
        if (other != ACTION_NONE)
            return error_set(e, ERR_INPUT, "key %s is already given to %s", word,
                             action_name(other));
        if (!add_binding(&l->given, k, a) || !add_binding(l->map, k, a))
            return error_set(e, ERR_INPUT, "more than %d keys", KEYMAP_MAX);
    }
    return true;
}

/* Whatever a file says, there must be a way to the command line and out. */
static bool usable(const struct keymap *m, const char *path, struct error *e)
{
    char key[24];
    if (*keymap_key(m, ACTION_LEAVE, key) || *keymap_key(m, ACTION_COMMAND, key))
        return true;
    return error_set(e, ERR_INPUT,
                     "%s: neither leave nor command has a key: there would be no way out", path);
}

bool keymap_load(struct keymap *m, const char *path, struct error *e)
{
    keymap_default(m);
    struct loading l = {.map = m};
    if (config_read(path, load_line, &l, e) && usable(m, path, e))
        return true;
    keymap_default(m);
    return false;
}

/* ------------------------------------------------------------------------------------ help */

/* "p, F5" */
static void keys_of(const struct keymap *m, enum action a, struct buf *out)
{
    bool first = true;
    for (int i = 0; i < m->n; i++)
        if (m->bindings[i].action == a) {
            char name[24];
            buf_addf(out, "%s%s", first ? "" : " ", key_label(m->bindings[i].key, name));
            first = false;
        }
}

void keymap_help(const struct keymap *m, struct buf *out)
{
    for (int i = 1; i < ACTION_COUNT; i++) {
        if (strcmp(actions[i].group, actions[i - 1].group) != 0)
            buf_addf(out, "%s%s\n", i > 1 ? "\n" : "", actions[i].group);
        struct buf keys = {0};
        keys_of(m, (enum action)i, &keys);
        buf_addf(out, "  %-18s %s\n", keys.len ? keys.s : "(no key)", actions[i].help);
        buf_free(&keys);
    }
}

void keymap_markdown(const struct keymap *m, struct buf *out)
{
    buf_adds(out, "| keys | action | what it does |\n| --- | --- | --- |\n");
    for (int i = 1; i < ACTION_COUNT; i++) {
        buf_adds(out, "|");
        for (int j = 0; j < m->n; j++)
            if ((int)m->bindings[j].action == i) {
                char name[24];
                buf_addf(out, " `%s`", key_label(m->bindings[j].key, name));
            }
        buf_addf(out, " | %s | %s |\n", actions[i].name, actions[i].help);
    }
}
