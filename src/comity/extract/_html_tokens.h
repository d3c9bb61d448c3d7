/* The tokens of HTML (WHATWG HTML 13.2.5) as far as the modules here need them: attributes of a tag, and where raw text,
 * scripts and comments end.
 *
 * Time is linear in the page, and nothing is read before the first byte or after the last. A header, since each module
 * is compiled by itself.
 */
#ifndef COMITY_HTML_TOKENS_H
#define COMITY_HTML_TOKENS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

typedef unsigned char byte;

/* A value as it is written; `start` is NULL if the attribute is missing. */
typedef struct {
    const byte *start;
    Py_ssize_t size;
} Value;

/* What a byte ends or is, looked up in a table: a page asks this of every byte of its tags. */
enum { BLANK = 1, ENDS_NAME = 2, ENDS_ATTRIBUTE_NAME = 4, BETWEEN_ATTRIBUTES = 8 };
#define ANY_END (BLANK | ENDS_NAME | ENDS_ATTRIBUTE_NAME | BETWEEN_ATTRIBUTES)
static const byte classes[256] = {
    [' '] = ANY_END, ['\n'] = ANY_END, ['\t'] = ANY_END, ['\r'] = ANY_END, ['\f'] = ANY_END,
    ['/'] = ENDS_NAME | ENDS_ATTRIBUTE_NAME | BETWEEN_ATTRIBUTES,
    ['>'] = ENDS_NAME | ENDS_ATTRIBUTE_NAME,
    ['='] = ENDS_ATTRIBUTE_NAME,
};

static inline int is_blank(byte c) { return classes[c] & BLANK; }
static inline byte lower(byte c) { return (c >= 'A' && c <= 'Z') ? (byte)(c | 0x20) : c; }
static inline int is_letter(byte c) { c = lower(c); return c >= 'a' && c <= 'z'; }
static inline int is_digit(byte c) { return c >= '0' && c <= '9'; }

/* Whether `size` bytes are this lower-case text, in either case. */
static inline int equals(const byte *bytes, Py_ssize_t size, const char *text, Py_ssize_t text_size)
{
    if (size != text_size) return 0;
    for (Py_ssize_t i = 0; i < size; i++)
        if (lower(bytes[i]) != (byte)text[i]) return 0;
    return 1;
}
#define IS(bytes, size, text) equals((bytes), (size), (text), (Py_ssize_t)sizeof(text) - 1)


/* 13.2.6.5: start tags that end SVG and MathML, and elements inside which HTML may begin again. */
static inline int leads_out_of_foreign(const byte *name, Py_ssize_t size)
{
    static const char *const names[] = {
        "annotation-xml", "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed",
        "font", "foreignobject", "frame", "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "hr", "html", "i", "img",
        "li", "listing", "malignmark", "menu", "meta", "mglyph", "nobr", "ol", "p", "pre", "ruby", "s", "small", "span",
        "strike", "strong", "sub", "sup", "table", "tt", "u", "ul", "var",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (lower(name[0]) == (byte)names[i][0] && equals(name, size, names[i], (Py_ssize_t)strlen(names[i]))) return 1;
    return 0;
}

/* Elements of SVG and MathML whose text is read as HTML: only text is expected in them. */
static inline int holds_html_text(const byte *name, Py_ssize_t size)
{
    return IS(name, size, "title") || IS(name, size, "desc") || IS(name, size, "mi") || IS(name, size, "mo") ||
           IS(name, size, "mn") || IS(name, size, "ms") || IS(name, size, "mtext");
}

/* What is next in a tag. */
enum in_tag { TAG_CUT_OFF, TAG_ATTRIBUTE, TAG_END, TAG_END_WITH_SLASH };

/* Read on in a tag (13.2.5.32-40): an attribute, or the `>`. Of the page, `*at` is what is left. */
static inline enum in_tag next_in_tag(const byte **place, const byte *end, Value *name, Value *value)
{
    const byte *at = *place;
    while (at < end && (classes[*at] & BETWEEN_ATTRIBUTES)) at++;
    if (at == end) return TAG_CUT_OFF;
    if (*at == '>') {
        enum in_tag found = at > *place && at[-1] == '/' ? TAG_END_WITH_SLASH : TAG_END;
        *place = at + 1;
        return found;
    }
    name->start = at++; /* an equals sign here begins a name */
    while (at < end && !(classes[*at] & ENDS_ATTRIBUTE_NAME)) at++;
    name->size = at - name->start;
    while (at < end && is_blank(*at)) at++;
    if (at == end) return TAG_CUT_OFF;
    *value = (Value){name->start, 0};
    if (*at == '=') {
        at++;
        while (at < end && is_blank(*at)) at++;
        if (at == end) return TAG_CUT_OFF;
        if (*at == '"' || *at == '\'') {
            const byte *close = memchr(at + 1, *at, (size_t)(end - at - 1));
            if (close == NULL) return TAG_CUT_OFF;
            *value = (Value){at + 1, close - at - 1};
            at = close + 1;
        } else {
            value->start = at;
            while (at < end && !is_blank(*at) && *at != '>') at++;
            if (at == end) return TAG_CUT_OFF;
            value->size = at - value->start;
        }
    }
    *place = at;
    return TAG_ATTRIBUTE;
}

/* Where the text of a raw element ends: at `</name` before a blank, a slash or a bracket; NULL if it does not. */
static inline const byte *end_of_raw_text(const byte *at, const byte *end, const byte *name, Py_ssize_t size)
{
    while ((at = memchr(at, '<', (size_t)(end - at))) != NULL) {
        if (end - at < size + 3) return NULL;
        if (at[1] == '/' && (is_blank(at[size + 2]) || at[size + 2] == '/' || at[size + 2] == '>')) {
            Py_ssize_t i = 0;
            while (i < size && lower(at[i + 2]) == lower(name[i])) i++;
            if (i == size) return at;
        }
        at++;
    }
    return NULL;
}

static inline int begins(const byte *at, const byte *end, const char *text)
{
    Py_ssize_t size = (Py_ssize_t)strlen(text);
    return end - at >= size && equals(at, size, text, size);
}

/* Where a script ends (13.2.5.4, 13.2.5.15-31): what stands in `<!-- <script> </script> -->` ends nothing. */
static inline const byte *end_of_script(const byte *at, const byte *end)
{
    enum { PLAIN, ESCAPED, DOUBLY_ESCAPED } state = PLAIN;
    while (at < end) {
        if (state == PLAIN) {
            at = memchr(at, '<', (size_t)(end - at));
            if (at == NULL) return NULL;
        } else if (*at == '-') {
            if (begins(at, end, "-->")) state = PLAIN;
            at++;
            continue;
        } else if (*at != '<') {
            at++;
            continue;
        }
        if (state == PLAIN && begins(at, end, "<!--")) {
            state = ESCAPED;
            at += 2; /* the dashes may belong to the end, too */
            continue;
        }
        int is_end = begins(at, end, "</script");
        const byte *after = at + (is_end ? 8 : 7);
        if ((is_end || (state == ESCAPED && begins(at, end, "<script"))) && after < end &&
            (is_blank(*after) || *after == '/' || *after == '>')) {
            if (is_end && state != DOUBLY_ESCAPED) return at;
            state = is_end ? ESCAPED : DOUBLY_ESCAPED;
        }
        at++;
    }
    return NULL;
}

/* Where a comment (13.2.5.43-52) whose text begins here ends, with its bracket; NULL if it does not. */
static inline const byte *end_of_comment(const byte *text, const byte *end)
{
    if (begins(text, end, ">")) return text + 1;
    if (begins(text, end, "->")) return text + 2;
    for (const byte *at = text; (at = memchr(at, '>', (size_t)(end - at))) != NULL; at++) {
        const byte *dashes = at - text >= 3 && at[-1] == '!' ? at - 3 : at - 2;
        if (dashes >= text && dashes[0] == '-' && dashes[1] == '-') return at + 1;
    }
    return NULL;
}

/* Where a CDATA section of SVG ends, which begins here; NULL if it does not. */
static inline const byte *end_of_section(const byte *text, const byte *end)
{
    for (const byte *at = text + 7; (at = memchr(at, '>', (size_t)(end - at))) != NULL; at++)
        if (at - text >= 9 && at[-1] == ']' && at[-2] == ']') return at + 1;
    return NULL;
}

#endif
