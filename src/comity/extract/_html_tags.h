/* The elements of HTML that matter to the text of a page, and what the rules say about each of them. */
#ifndef COMITY_HTML_TAGS_H
#define COMITY_HTML_TAGS_H

#include "_html_tokens.h"

#include <stdint.h>

enum trait {
    SPECIAL = 1 << 0,     /* WHATWG HTML 13.2.4.2, "special" */
    CLOSES_P = 1 << 1,    /* its start tag ends a paragraph, and its end tag needs it in scope (13.2.6.4.7) */
    SHOWN_AS_BLOCK = 1 << 2,
    NEVER_CONTENT = 1 << 3, /* _NEVER in main_content.py; this and what follows up to _LINK_BLOCKS is from there */
    NOISE_TAG = 1 << 4,
    ROOT_TAG = 1 << 5,
    PROSE_TAG = 1 << 6,
    LINK_BLOCK = 1 << 7,
    FORMATTING = 1 << 8,
    EMPTY = 1 << 9,       /* has no end tag */
    IMPLIED_END = 1 << 10,
    SCOPE_END = 1 << 11,  /* 13.2.4.2, "has an element in scope" */
    HEADING = 1 << 12,
    RAW_TEXT = 1 << 13,
    TABLE_PART = 1 << 14,
    TABLE_FRAME = 1 << 15, /* inside it, but outside cells and captions, text and most elements are moved elsewhere */
    IN_HEAD = 1 << 16,
    UNSUITED = 1 << 17,   /* a page with its start tag is left to the parser */
};

#define CONTAINER (SPECIAL | CLOSES_P)
#define BLOCK (CONTAINER | SHOWN_AS_BLOCK)
#define TABLE_SECTION (SPECIAL | TABLE_PART | TABLE_FRAME)

#define TAGS(X) \
    X(a, FORMATTING | PROSE_TAG) X(address, BLOCK) X(applet, UNSUITED) X(area, SPECIAL | EMPTY) \
    X(article, BLOCK | ROOT_TAG) X(aside, BLOCK | NOISE_TAG | LINK_BLOCK) X(audio, NEVER_CONTENT) X(b, FORMATTING) \
    X(base, SPECIAL | EMPTY | IN_HEAD) X(basefont, UNSUITED) X(bgsound, UNSUITED) X(big, FORMATTING) \
    X(blockquote, BLOCK | PROSE_TAG) X(body, SPECIAL | SHOWN_AS_BLOCK | ROOT_TAG) X(br, SPECIAL | EMPTY) \
    X(button, SPECIAL | NEVER_CONTENT) X(canvas, NEVER_CONTENT) X(caption, SPECIAL | TABLE_PART | SCOPE_END) \
    X(center, CONTAINER | LINK_BLOCK) X(code, FORMATTING | PROSE_TAG) X(col, SPECIAL | TABLE_PART | EMPTY) \
    X(colgroup, TABLE_SECTION) X(datalist, NEVER_CONTENT) X(dd, SPECIAL | IMPLIED_END | SHOWN_AS_BLOCK) \
    X(details, BLOCK | LINK_BLOCK) X(dialog, CLOSES_P | NEVER_CONTENT) X(dir, CONTAINER) X(div, BLOCK | LINK_BLOCK) \
    X(dl, BLOCK | LINK_BLOCK) X(dt, SPECIAL | IMPLIED_END | SHOWN_AS_BLOCK) X(em, FORMATTING | PROSE_TAG) \
    X(embed, SPECIAL | EMPTY | NEVER_CONTENT) X(fieldset, CONTAINER) X(figcaption, BLOCK) \
    X(figure, BLOCK | PROSE_TAG | LINK_BLOCK) X(font, FORMATTING) X(footer, BLOCK | NOISE_TAG) X(form, SPECIAL) \
    X(frame, UNSUITED) X(frameset, UNSUITED) X(h1, SPECIAL | HEADING | SHOWN_AS_BLOCK | PROSE_TAG) \
    X(h2, SPECIAL | HEADING | SHOWN_AS_BLOCK) X(h3, SPECIAL | HEADING | SHOWN_AS_BLOCK) \
    X(h4, SPECIAL | HEADING | SHOWN_AS_BLOCK) X(h5, SPECIAL | HEADING | SHOWN_AS_BLOCK) \
    X(h6, SPECIAL | HEADING | SHOWN_AS_BLOCK) X(head, SPECIAL) X(header, BLOCK | NOISE_TAG) X(hgroup, CONTAINER) \
    X(hr, SPECIAL | EMPTY | SHOWN_AS_BLOCK) X(html, SPECIAL | ROOT_TAG) X(i, FORMATTING) \
    X(iframe, SPECIAL | RAW_TEXT | NEVER_CONTENT) X(image, UNSUITED) X(img, SPECIAL | EMPTY) \
    X(input, SPECIAL | EMPTY | NEVER_CONTENT) X(keygen, UNSUITED) X(li, SPECIAL | IMPLIED_END | SHOWN_AS_BLOCK) \
    X(link, SPECIAL | EMPTY | NEVER_CONTENT | IN_HEAD) X(listing, UNSUITED) X(main, BLOCK | ROOT_TAG) \
    X(map, NEVER_CONTENT) X(marquee, UNSUITED) X(math, UNSUITED) X(menu, BLOCK | NOISE_TAG) \
    X(meta, SPECIAL | EMPTY | NEVER_CONTENT | IN_HEAD) X(nav, BLOCK | NOISE_TAG) X(nobr, UNSUITED) \
    X(noembed, UNSUITED) X(noframes, UNSUITED) X(noscript, SPECIAL | NOISE_TAG) \
    X(object, SPECIAL | NEVER_CONTENT | SCOPE_END) X(ol, BLOCK | LINK_BLOCK) X(optgroup, UNSUITED) X(option, UNSUITED) \
    X(p, BLOCK | IMPLIED_END | PROSE_TAG | LINK_BLOCK) X(param, SPECIAL | EMPTY) X(plaintext, UNSUITED) \
    X(pre, BLOCK | PROSE_TAG) X(rb, UNSUITED) X(rp, NEVER_CONTENT | IMPLIED_END) X(rt, NEVER_CONTENT | IMPLIED_END) \
    X(rtc, UNSUITED) X(ruby, 0) X(s, FORMATTING) X(script, SPECIAL | RAW_TEXT | NEVER_CONTENT | IN_HEAD) \
    X(search, CONTAINER) X(section, BLOCK | LINK_BLOCK) X(select, SPECIAL | NEVER_CONTENT) \
    X(selectedcontent, UNSUITED) X(small, FORMATTING) X(source, SPECIAL | EMPTY) X(span, PROSE_TAG) \
    X(strike, FORMATTING) X(strong, FORMATTING | PROSE_TAG) X(style, SPECIAL | RAW_TEXT | NEVER_CONTENT | IN_HEAD) \
    X(summary, BLOCK) X(svg, NEVER_CONTENT) \
    X(table, SPECIAL | SCOPE_END | TABLE_FRAME | SHOWN_AS_BLOCK | PROSE_TAG | LINK_BLOCK) X(tbody, TABLE_SECTION) \
    X(td, SPECIAL | TABLE_PART | SCOPE_END | LINK_BLOCK) X(template, SPECIAL | NEVER_CONTENT | IN_HEAD) \
    X(textarea, SPECIAL | RAW_TEXT | NEVER_CONTENT) X(tfoot, TABLE_SECTION) X(th, SPECIAL | TABLE_PART | SCOPE_END) \
    X(thead, TABLE_SECTION) X(title, UNSUITED | RAW_TEXT | IN_HEAD) X(tr, TABLE_SECTION) X(track, SPECIAL | EMPTY) \
    X(tt, FORMATTING) X(u, FORMATTING) X(ul, BLOCK | LINK_BLOCK) X(video, NEVER_CONTENT) X(wbr, SPECIAL | EMPTY) \
    X(xmp, UNSUITED)

enum tag {
    TAG_OTHER,
#define X(name, traits) TAG_##name,
    TAGS(X)
#undef X
    TAG_COUNT
};

static const uint32_t TRAITS[TAG_COUNT] = {
    0,
#define X(name, traits) (traits),
    TAGS(X)
#undef X
};

static const char *const TAG_NAMES[TAG_COUNT] = {
    "",
#define X(name, traits) #name,
    TAGS(X)
#undef X
};

static const uint8_t TAG_SIZES[TAG_COUNT] = {
    0,
#define X(name, traits) sizeof(#name) - 1,
    TAGS(X)
#undef X
};

#define TAG_NAME_MOST 16
#define TAG_SLOTS 512

static uint8_t tag_slots[TAG_SLOTS]; /* tags by their hash; filled once */

static inline unsigned tag_hash(const byte *name, Py_ssize_t size)
{
    unsigned hash = (unsigned)size;
    for (Py_ssize_t i = 0; i < size; i++) hash = hash * 31 + lower(name[i]);
    return (hash ^ (hash >> 9)) % TAG_SLOTS;
}

static inline void prepare_tags(void)
{
    memset(tag_slots, 0, sizeof tag_slots);
    for (int tag = 1; tag < TAG_COUNT; tag++) {
        unsigned slot = tag_hash((const byte *)TAG_NAMES[tag], TAG_SIZES[tag]);
        while (tag_slots[slot] != 0) slot = (slot + 1) % TAG_SLOTS;
        tag_slots[slot] = (uint8_t)tag;
    }
}

static inline enum tag tag_of(const byte *name, Py_ssize_t size)
{
    if (size > TAG_NAME_MOST) return TAG_OTHER;
    unsigned slot = tag_hash(name, size);
    while (tag_slots[slot] != 0) {
        uint8_t known = tag_slots[slot];
        if (equals(name, size, TAG_NAMES[known], TAG_SIZES[known])) return (enum tag)known;
        slot = (slot + 1) % TAG_SLOTS;
    }
    return TAG_OTHER;
}

#endif
