#include "tui/style.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "tui/config.h"

/* Names that the role table is written in. */
enum {
    DEFAULT = COLOUR_DEFAULT,
    BLACK = 0,
    RED,
    GREEN,
    YELLOW,
    BLUE,
    MAGENTA,
    CYAN,
    WHITE,
    BOLD = ATTR_BOLD,
    DIM = ATTR_DIM,
    UNDERLINE = ATTR_UNDERLINE,
    REVERSE = ATTR_REVERSE,
};

static const struct role {
    const char *name;
    struct style colour, mono;
    const char *doc;
} roles[ROLE_COUNT] = {
#define X(id, name, fg, bg, attr, mono, doc) {name, {fg, bg, attr}, {DEFAULT, DEFAULT, mono}, doc},
    STYLE_ROLES(X)
#undef X
};

_Static_assert(ROLE_COUNT <= 60, "a terminal with 64 colour pairs must have one for each role");

const char *style_role_name(enum style_role role)
{
    return roles[role].name;
}

const char *style_role_doc(enum style_role role)
{
    return roles[role].doc;
}

void theme_builtin(struct theme *t, bool mono)
{
    memset(t, 0, sizeof *t);
    snprintf(t->name, sizeof t->name, "%s", mono ? "mono" : "default");
    t->mono = mono;
    for (int i = 0; i < ROLE_COUNT; i++)
        t->styles[i] = mono ? roles[i].mono : roles[i].colour;
}

/* ------------------------------------------------------------------------------- parsing */

static const char *const colour_names[] = {"black", "red",     "green", "yellow",
                                           "blue",  "magenta", "cyan",  "white"};

static bool parse_colour(int32_t *out, const char *s)
{
    if (strcmp(s, "default") == 0) {
        *out = COLOUR_DEFAULT;
        return true;
    }
    int bright = strncmp(s, "bright-", 7) == 0 ? 8 : 0;
    const char *name = bright ? s + 7 : s;
    for (int i = 0; i < 8; i++)
        if (strcmp(name, colour_names[i]) == 0) {
            *out = i + bright;
            return true;
        }
    char *end = NULL;
    if (*s == '#') {
        unsigned long v = strtoul(s + 1, &end, 16);
        *out = (int32_t)(COLOUR_RGB | (v & 0xFFFFFF));
        return strlen(s) == 7 && strspn(s + 1, "0123456789abcdefABCDEF") == 6 && *end == '\0';
    }
    long v = strtol(s, &end, 10);
    *out = (int32_t)v;
    return *s >= '0' && *s <= '9' && *end == '\0' && v <= 255;
}

static bool parse_attr(unsigned *attr, const char *s)
{
    static const struct {
        const char *name;
        unsigned bit;
    } t[] = {{"bold", ATTR_BOLD},       {"dim", ATTR_DIM},       {"underline", ATTR_UNDERLINE},
             {"reverse", ATTR_REVERSE}, {"italic", ATTR_ITALIC}, {"plain", 0}};
    for (size_t i = 0; i < ARRAY_LEN(t); i++)
        if (strcmp(s, t[i].name) == 0) {
            *attr |= t[i].bit;
            return true;
        }
    return false;
}

bool style_parse(struct style *s, const char *text, struct error *e)
{
    struct style r = {COLOUR_DEFAULT, COLOUR_DEFAULT, 0};
    bool have_fg = false, on = false, have_bg = false;
    for (const char *p = text + strspn(text, " \t"); *p; p += strspn(p, " \t")) {
        char word[32];
        size_t n = strcspn(p, " \t");
        snprintf(word, sizeof word, "%.*s", (int)(n < 31 ? n : 31), p);
        p += n;
        if (strcmp(word, "on") == 0 && !on) {
            on = true;
        } else if (on && !have_bg && parse_colour(&r.bg, word)) {
            have_bg = true;
        } else if (!on && parse_attr(&r.attr, word)) {
            continue;
        } else if (!on && !have_fg && parse_colour(&r.fg, word)) {
            have_fg = true;
        } else {
            return error_set(e, ERR_INPUT,
                             "\"%.20s\" in \"%.60s\": expected [bold|dim|underline|reverse|italic|"
                             "plain] [colour] [on colour]; a colour is default, black, red, green, "
                             "yellow, blue, magenta, cyan, white, bright-NAME, 0..255 or #rrggbb",
                             word, text);
        }
    }
    if (on && !have_bg)
        return error_set(e, ERR_INPUT, "\"%.60s\": expected a colour after \"on\"", text);
    *s = r;
    return true;
}

static bool theme_base(struct theme *t, const char *value, struct error *e)
{
    char name[sizeof t->name];
    memcpy(name, t->name, sizeof name);
    if (strcmp(value, "default") != 0 && strcmp(value, "mono") != 0)
        return error_set(e, ERR_INPUT, "\"%.40s\": expected default or mono", value);
    theme_builtin(t, strcmp(value, "mono") == 0);
    memcpy(t->name, name, sizeof name);
    return true;
}

static bool theme_line(void *ctx, const char *section, const char *key, const char *value,
                       struct error *e)
{
    struct theme *t = ctx;
    if (strcmp(section, "theme") == 0) {
        if (strcmp(key, "base") == 0)
            return theme_base(t, value, e);
        if (strcmp(key, "name") != 0)
            return error_set(e, ERR_INPUT, "unknown: [theme] has name and base");
        snprintf(t->name, sizeof t->name, "%s", value);
        return true;
    }
    if (strcmp(section, "styles") != 0)
        return error_set(e, ERR_INPUT, "section [%.40s] is unknown: there are [theme] and [styles]",
                         section);
    for (int i = 0; i < ROLE_COUNT; i++)
        if (strcmp(key, roles[i].name) == 0) {
            struct style *s = &t->styles[i];
            if (!style_parse(s, value, e))
                return false;
            if (t->mono && (s->fg != COLOUR_DEFAULT || s->bg != COLOUR_DEFAULT))
                return error_set(e, ERR_INPUT, "a theme with base = mono has no colours");
            return true;
        }
    return error_set(e, ERR_INPUT, "no such style; themes/default.ini lists all of them");
}

bool theme_load(struct theme *t, const char *path, struct error *e)
{
    theme_builtin(t, false);
    if (config_read(path, theme_line, t, e))
        return true;
    theme_builtin(t, false);
    return false;
}

char *style_config_dir(void)
{
    const char *x = getenv("XDG_CONFIG_HOME"), *h = getenv("HOME");
    if (x && *x == '/')
        return xasprintf("%s/warploop", x);
    return h && *h ? xasprintf("%s/.config/warploop", h) : NULL;
}

static bool theme_named(struct theme *t, const char *name, struct error *e)
{
    char *own = style_config_dir(), *bin = fs_program_dir();
    char *places[] = {
        own ? xasprintf("%s/themes/%s.ini", own, name) : NULL,
        xasprintf("%s/../../themes/%s.ini", bin, name),    /* beside build/bin */
        xasprintf("%s/../../../themes/%s.ini", bin, name), /* test programs lie deeper */
        xasprintf("%s/../share/warploop/themes/%s.ini", bin, name),
    };
    bool found = false, ok = false;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (!found && places[i] && fs_exists(places[i])) {
            found = true;
            ok = theme_load(t, places[i], e);
        }
        free(places[i]);
    }
    if (!found)
        error_set(e, ERR_NOTFOUND,
                  "there is no theme %.60s: looked in %.200s/themes and in themes beside the "
                  "program; default, light and mono are always there, or name a file",
                  name, own ? own : "~/.config/warploop");
    free(own);
    free(bin);
    return ok;
}

bool theme_find(struct theme *t, const char *name, struct error *e)
{
    theme_builtin(t, strcmp(name, "mono") == 0);
    if (strcmp(name, "default") == 0 || strcmp(name, "mono") == 0)
        return true;
    if (strchr(name, '/') || (strlen(name) > 4 && !strcmp(name + strlen(name) - 4, ".ini")))
        return theme_load(t, name, e);
    return theme_named(t, name, e);
}

/* ----------------------------------------------------------------------------- degrading */

/* The usual values of the sixteen colours, and of xterm's 6x6x6 cube. */
static const uint32_t sixteen[16] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd,
                                     0x00cdcd, 0xe5e5e5, 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00,
                                     0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff};
static const int levels[6] = {0, 95, 135, 175, 215, 255};

static uint32_t rgb_of(int index)
{
    if (index < 16)
        return sixteen[index];
    if (index >= 232) {
        uint32_t g = (uint32_t)(8 + 10 * (index - 232));
        return g << 16 | g << 8 | g;
    }
    index -= 16;
    return (uint32_t)levels[index / 36] << 16 | (uint32_t)levels[index / 6 % 6] << 8 |
           (uint32_t)levels[index % 6];
}

/* Index in lo..hi-1 of the colour nearest to rgb; green weighs most, as for the eye. */
static int nearest(uint32_t rgb, int lo, int hi)
{
    int best = lo;
    long least = -1;
    for (int i = lo; i < hi; i++) {
        uint32_t c = rgb_of(i);
        long r = (long)(c >> 16) - (long)(rgb >> 16 & 255);
        long g = (long)(c >> 8 & 255) - (long)(rgb >> 8 & 255);
        long b = (long)(c & 255) - (long)(rgb & 255);
        long d = 3 * r * r + 6 * g * g + b * b;
        if (least < 0 || d < least) {
            least = d;
            best = i;
        }
    }
    return best;
}

int style_degrade(int32_t colour, int colours, bool *bold)
{
    if (colour == COLOUR_DEFAULT)
        return COLOUR_DEFAULT;
    /* The first sixteen differ from terminal to terminal: a colour given in bits avoids them. */
    if (colour & COLOUR_RGB) {
        uint32_t rgb = (uint32_t)colour & 0xFFFFFF;
        colour = colours >= 256 ? nearest(rgb, 16, 256) : nearest(rgb, 0, 16);
    }
    if (colour < colours)
        return colour;
    if (colour >= 16)
        colour = nearest(rgb_of(colour), 0, 16);
    if (colour >= colours) {
        if (bold)
            *bold = true;
        colour -= 8;
    }
    return colour;
}
