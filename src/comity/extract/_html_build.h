/* Builds the tree of _html_tree.h from the tokens of a page. */
#ifndef COMITY_HTML_BUILD_H
#define COMITY_HTML_BUILD_H

#include "_html_tree.h"

#define DECODED_MOST 200 /* attributes that Python decodes; a page with more is left to the parser */
#define LOOKED_UP_MOST 20000 /* names of references */
#define STYLE_LOOKED_AT 500 /* _LONGEST_WORDS in main_content.py */
#define NUMBER_DIGITS_MOST 9

/* Whether bytes are UTF-8 (RFC 3629). */
static int is_utf8(const byte *at, const byte *end)
{
    while (at < end) {
        uint64_t eight;
        while (end - at >= 8 && (memcpy(&eight, at, 8), (eight & 0x8080808080808080u) == 0)) at += 8;
        if (at == end) break;
        byte first = *at++;
        if (first < 0x80) continue;
        int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
        if (first < 0xc2 || first > 0xf4 || end - at < more) return 0;
        if ((first == 0xe0 && *at < 0xa0) || (first == 0xed && *at > 0x9f) || (first == 0xf0 && *at < 0x90) ||
            (first == 0xf4 && *at > 0x8f))
            return 0;
        for (; more > 0; more--)
            if ((*at++ & 0xc0) != 0x80) return 0;
    }
    return 1;
}

/* Counts of one piece of text, which is not empty; written so that compilers make vectors of it. */
static void count_text(const byte *text, Py_ssize_t size, Extent *extent, int *is_plain, int *is_ascii)
{
    byte first = text[0], any = first;
    unsigned line_ends = first == '\n', blanks = first == ' ' || first == '\t', later = (first & 0xc0) == 0x80;
    unsigned odd = is_blank(first) && first != ' ' && first != '\n';
    for (Py_ssize_t start = 1; start < size; start += 128) {
        Py_ssize_t most = size - start < 128 ? size - start : 128;
        byte in_lines = 0, in_blanks = 0, in_later = 0, in_odd = 0;
        for (Py_ssize_t i = start; i < start + most; i++) {
            byte c = text[i], before = text[i - 1];
            in_lines += c == '\n';
            in_blanks += (c == ' ') | (c == '\t');
            in_later += (c & 0xc0) == 0x80;
            in_odd += (c == '\t') | (c == '\f') | (c == '\r') | ((c == ' ') & (before == ' '));
            any |= c;
        }
        line_ends += in_lines;
        blanks += in_blanks;
        later += in_later;
        odd += in_odd;
    }
    *extent = (Extent){(int32_t)(size - later), (int32_t)line_ends, (int32_t)blanks};
    *is_plain = odd == 0 && line_ends == 0;
    *is_ascii = any < 0x80;
}

static Py_ssize_t put_code_point(unsigned code, byte *out)
{
    if (code < 0x80) {
        out[0] = (byte)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (byte)(0xc0 | code >> 6);
        out[1] = (byte)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (byte)(0xe0 | code >> 12);
        out[1] = (byte)(0x80 | (code >> 6 & 0x3f));
        out[2] = (byte)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (byte)(0xf0 | code >> 18);
    out[1] = (byte)(0x80 | (code >> 12 & 0x3f));
    out[2] = (byte)(0x80 | (code >> 6 & 0x3f));
    out[3] = (byte)(0x80 | (code & 0x3f));
    return 4;
}

/* The text of a named reference, if there is one with this name, which may end in a semicolon. */
static enum step named_reference(Tree *tree, const byte *name, Py_ssize_t size, byte *out, Py_ssize_t *out_size)
{
    *out_size = 0;
    if (++tree->looked_up > LOOKED_UP_MOST) return NEEDS_PARSER;
    PyObject *key = PyUnicode_FromStringAndSize((const char *)name, size);
    if (key == NULL) return FAILED;
    PyObject *found = PyDict_GetItemWithError(tree->references, key);
    Py_DECREF(key);
    if (found == NULL) return PyErr_Occurred() ? FAILED : GO_ON;
    Py_ssize_t found_size;
    const char *bytes = PyUnicode_AsUTF8AndSize(found, &found_size);
    if (bytes == NULL) return FAILED;
    if (found_size > 8) return NEEDS_PARSER;
    memcpy(out, bytes, (size_t)found_size);
    *out_size = found_size;
    return GO_ON;
}

/* The names that nearly all references have, so that these are not looked up. */
static Py_ssize_t usual_reference(const byte *name, Py_ssize_t size, byte *out)
{
    static const struct {
        char name[7], text[4];
    } usual[] = {{"amp", "&"}, {"nbsp", "\xc2\xa0"}, {"quot", "\""}, {"lt", "<"}, {"gt", ">"}, {"apos", "'"},
                 {"ndash", "\xe2\x80\x93"}, {"mdash", "\xe2\x80\x94"}, {"hellip", "\xe2\x80\xa6"}, {"rsquo", "\xe2\x80\x99"},
                 {"ldquo", "\xe2\x80\x9c"}, {"rdquo", "\xe2\x80\x9d"}, {"copy", "\xc2\xa9"}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (usual[i].name[0] != (char)name[0] || strncmp(usual[i].name, (const char *)name, (size_t)size) != 0) continue;
        if (size < 7 && usual[i].name[size] != 0) continue;
        Py_ssize_t text_size = (Py_ssize_t)strnlen(usual[i].text, sizeof usual[i].text);
        memcpy(out, usual[i].text, (size_t)text_size);
        return text_size;
    }
    return 0;
}

/* Read the character reference at `at` (13.2.5.72-84), outside attributes. `*taken` is 0 if it stands for itself. */
static enum step read_reference(Tree *tree, const byte *at, const byte *end, byte *out, Py_ssize_t *out_size, Py_ssize_t *taken)
{
    const byte *first = at + 1, *next = first;
    *taken = 0;
    if (next < end && *next == '#') {
        int is_hex = ++next < end && lower(*next) == 'x';
        const byte *digits = next += is_hex;
        unsigned code = 0;
        for (; next < end && code < 0x110000; next++) {
            byte c = lower(*next);
            if (is_digit(c)) code = code * (is_hex ? 16 : 10) + (unsigned)(c - '0');
            else if (is_hex && c >= 'a' && c <= 'f') code = code * 16 + (unsigned)(c - 'a' + 10);
            else break;
        }
        if (next == digits) return GO_ON;
        if (code == 0 || (code >= 0x80 && code < 0xa0) || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
            return NEEDS_PARSER;
        *out_size = put_code_point(code, out);
        *taken = next - at + (next < end && *next == ';');
        return GO_ON;
    }
    while (next < end && (is_letter(*next) || is_digit(*next)) && next - first < REFERENCE_NAME_MOST) next++;
    Py_ssize_t size = next - first;
    if (size < 2) return GO_ON;
    if (size == REFERENCE_NAME_MOST) return NEEDS_PARSER;
    if (next < end && *next == ';') {
        *out_size = size <= 6 ? usual_reference(first, size, out) : 0;
        enum step step = *out_size == 0 ? named_reference(tree, first, size + 1, out, out_size) : GO_ON;
        if (step != GO_ON) return step;
        if (*out_size > 0) {
            *taken = size + 2;
            return GO_ON;
        }
    }
    for (Py_ssize_t part = size < 6 ? size : 6; part >= 2; part--) { /* the longest name without a semicolon has six letters */
        enum step step = named_reference(tree, first, part, out, out_size);
        if (step != GO_ON) return step;
        if (*out_size > 0) {
            *taken = part + 1;
            return GO_ON;
        }
    }
    return GO_ON;
}

/* Copy a piece of text to the end of all text, with its references decoded. */
static enum step copy_text(Tree *tree, const byte *at, const byte *end)
{
    const byte *mark = memchr(at, '&', (size_t)(end - at));
    for (;;) {
        const byte *until = mark != NULL ? mark : end;
        if (tree->text_room - tree->text_size < (until - at) + 8) return NEEDS_PARSER;
        memcpy(tree->text + tree->text_size, at, (size_t)(until - at));
        tree->text_size += until - at;
        if (mark == NULL) return GO_ON;
        Py_ssize_t taken, size = 0;
        enum step step = read_reference(tree, mark, end, tree->text + tree->text_size, &size, &taken);
        if (step != GO_ON) return step;
        if (taken == 0) {
            tree->text[tree->text_size++] = '&';
            taken = 1;
        } else {
            tree->text_size += size;
        }
        at = mark + taken;
        mark = memchr(at, '&', (size_t)(end - at));
    }
}

static const byte *past_blanks(const byte *at, const byte *end)
{
    while (at < end && is_blank(*at)) at++;
    return at;
}

static enum step take_text(Tree *tree, const byte *at, const byte *end)
{
    if (!tree->is_in_body) {
        at = past_blanks(at, end);
        if (at == end) return GO_ON;
        if (*at == '&') return NEEDS_PARSER; /* it may be a blank */
        tree->is_in_body = tree->has_begun = 1;
    }
    if (tree->skips_line_end && *at == '\n') at++;
    tree->skips_line_end = 0;
    if (at == end) return GO_ON;
    if (is_in_table_frame(tree) && past_blanks(at, end) != end) return NEEDS_PARSER;
    Open *open = top_of(tree);
    if (open->node < 0) return GO_ON;
    if (open->text < 0) {
        int32_t added = new_node(tree, TEXT, open->node);
        if (added < 0) return no_node(added);
        open->text = added;
        tree->nodes[added].start = (int32_t)tree->text_size;
        tree->nodes[added].size = 0;
        tree->nodes[added].marks = IS_PLAIN_TEXT;
    }
    Py_ssize_t start = tree->text_size;
    enum step step = copy_text(tree, at, end);
    if (step != GO_ON || tree->text_size == start) return step;
    Node *node = &tree->nodes[open->text];
    int is_plain, is_ascii;
    Extent extent;
    count_text(tree->text + start, tree->text_size - start, &extent, &is_plain, &is_ascii);
    if (!is_ascii && !is_utf8(tree->text + start, tree->text + tree->text_size)) return NEEDS_PARSER;
    if (node->size > 0 || !is_plain) node->marks = 0; /* of two pieces, blanks may meet */
    node->size = (int32_t)(tree->text_size - node->start);
    node->all = sum(node->all, extent);
    tree->all = sum(tree->all, extent);
    if (tree->open[TAG_a]) tree->links = sum(tree->links, extent);
    return GO_ON;
}

/* A value with its references decoded; GO_ON also for most values, which have none. */
static enum step decode_value(Tree *tree, Value *value)
{
    if (memchr(value->start, '&', (size_t)value->size) == NULL) return GO_ON;
    if (tree->kept == NULL && (tree->kept = PyList_New(0)) == NULL) return FAILED;
    if (PyList_GET_SIZE(tree->kept) == DECODED_MOST) return NEEDS_PARSER;
    PyObject *written = PyUnicode_DecodeUTF8((const char *)value->start, value->size, "replace");
    if (written == NULL) return FAILED;
    PyObject *decoded = PyObject_CallOneArg(tree->decode, written);
    Py_DECREF(written);
    if (decoded == NULL) return FAILED;
    int failed = PyList_Append(tree->kept, decoded);
    Py_DECREF(decoded);
    if (failed) return FAILED;
    if (!PyUnicode_Check(decoded)) return NEEDS_PARSER;
    const char *bytes = PyUnicode_AsUTF8AndSize(decoded, &value->size);
    if (bytes == NULL) return FAILED;
    value->start = (const byte *)bytes;
    return GO_ON;
}

static int has_word(Value value, const char *first, const char *second)
{
    Py_ssize_t size = (Py_ssize_t)strlen(first);
    const byte *end = value.start + value.size;
    for (const byte *at = value.start; end - at >= size; at++) {
        if (!equals(at, size, first, size)) continue;
        const byte *next = at + size;
        while (next < end && (is_blank(*next) || *next == '\v' || (*next >= 0x1c && *next <= 0x1f))) next++;
        if (next == end || *next != ':') continue;
        next++;
        while (next < end && (is_blank(*next) || *next == '\v' || (*next >= 0x1c && *next <= 0x1f))) next++;
        if (begins(next, end, second)) return 1;
    }
    return 0;
}

static int is_ascii_value(Value value)
{
    for (Py_ssize_t i = 0; i < value.size; i++)
        if (value.start[i] >= 0x80) return 0;
    return 1;
}

/* `_is_marked_as_noise` in main_content.py, for style and role. */
static enum step take_style(Tree *tree, Value value, unsigned *marks)
{
    enum step step = decode_value(tree, &value);
    if (step != GO_ON) return step;
    if (!is_ascii_value(value)) return NEEDS_PARSER;
    if (value.size > STYLE_LOOKED_AT) value.size = STYLE_LOOKED_AT;
    if (has_word(value, "display", "none") || has_word(value, "visibility", "hidden")) *marks |= SAYS_NOISE;
    return GO_ON;
}

static enum step take_role(Tree *tree, Value value, unsigned *marks)
{
    static const char *const noise[] = {"navigation", "banner", "contentinfo", "complementary", "search", "dialog",
                                        "alertdialog", "menu", "menubar", "toolbar", "tablist"};
    enum step step = decode_value(tree, &value);
    if (step != GO_ON) return step;
    if (!is_ascii_value(value)) return NEEDS_PARSER;
    if (value.size == 4 && memcmp(value.start, "main", 4) == 0) *marks |= ROLE_MAIN;
    if ((value.size == 4 && memcmp(value.start, "none", 4) == 0) ||
        (value.size == 12 && memcmp(value.start, "presentation", 12) == 0))
        *marks |= ROLE_LAYOUT;
    const byte *start = value.start, *end = start + value.size;
    while (start < end && (*start <= ' ')) start++; /* other controls than blanks make no role */
    while (end > start && end[-1] <= ' ') end--;
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
        if (equals(start, end - start, noise[i], (Py_ssize_t)strlen(noise[i]))) *marks |= SAYS_NOISE;
    return GO_ON;
}

/* Read the attributes of a start tag up to and including its `>`. */
static enum step read_names(Tree *tree, enum tag tag, Names *names, unsigned *marks, int *has_slash, int *is_hidden_input)
{
    enum { CLASS = 1, ID = 2, ROLE = 4, STYLE = 8, HIDDEN = 16, ITEM = 32, NUMBER = 64, TYPE = 128 };
    unsigned seen = 0; /* of two with one name the first counts */
    for (;;) {
        Value name, value;
        enum in_tag found = next_in_tag(&tree->at, tree->end, &name, &value);
        if (found == TAG_CUT_OFF) return END_OF_PAGE;
        if (found != TAG_ATTRIBUTE) {
            *has_slash = found == TAG_END_WITH_SLASH;
            return GO_ON;
        }
        enum step step = GO_ON;
        unsigned which = 0;
        switch (name.size) {
        case 2: if (IS(name.start, name.size, "id")) which = ID; break;
        case 4:
            if (IS(name.start, name.size, "role")) which = ROLE;
            else if (tag == TAG_input && IS(name.start, name.size, "type")) which = TYPE;
            break;
        case 5:
            if (IS(name.start, name.size, "class")) which = CLASS;
            else if (IS(name.start, name.size, "style")) which = STYLE;
            else if ((tag == TAG_ol && IS(name.start, name.size, "start")) ||
                     (tag == TAG_li && IS(name.start, name.size, "value")))
                which = NUMBER;
            break;
        case 6: if (IS(name.start, name.size, "hidden")) which = HIDDEN; break;
        case 8: if (IS(name.start, name.size, "itemprop")) which = ITEM; break;
        case 11:
            if (IS(name.start, name.size, "aria-hidden") && value.size == 4 && memcmp(value.start, "true", 4) == 0)
                *marks |= SAYS_NOISE;
            break;
        default: break;
        }
        if (which == 0 || (seen & which)) continue;
        seen |= which;
        switch (which) {
        case CLASS: step = decode_value(tree, &value); names->class = value; break;
        case ID: step = decode_value(tree, &value); names->id = value; break;
        case ROLE: step = take_role(tree, value, marks); break;
        case STYLE: step = take_style(tree, value, marks); break;
        case HIDDEN: *marks |= SAYS_NOISE; break;
        case NUMBER: step = decode_value(tree, &value); names->number = value; break;
        case TYPE: *is_hidden_input = IS(value.start, value.size, "hidden"); break;
        default:
            step = decode_value(tree, &value);
            if (value.size == 11 && memcmp(value.start, "articleBody", 11) == 0) *marks |= ARTICLE_BODY;
        }
        if (step != GO_ON) return step;
    }
}

/* A start tag before the body has begun; `*is_done` if it belongs to the head. */
static enum step start_in_head(Tree *tree, enum tag tag, Value name, int *is_done)
{
    *is_done = 1;
    tree->has_begun = 1;
    switch (tag) {
    case TAG_html:
        if (tree->has_html) return NEEDS_PARSER; /* its attributes are compared with those of the first one */
        tree->has_html = 1;
        return GO_ON;
    case TAG_head: return GO_ON;
    case TAG_body: tree->is_in_body = 1; return GO_ON;
    case TAG_noscript:
        if (!tree->is_after_head) return GO_ON; /* what it may hold there is no content */
        break;
    case TAG_template: return skip_template(tree);
    default:
        if (!(TRAITS[tag] & IN_HEAD)) break;
        return TRAITS[tag] & RAW_TEXT ? skip_raw_text(tree, tag, name) : GO_ON;
    }
    tree->is_in_body = 1;
    *is_done = 0;
    return GO_ON;
}

/* An item of a list (13.2.6.4.7, "li", "dd, dt") ends the one before it. */
static enum step close_items(Tree *tree, enum tag one, enum tag other)
{
    for (int place = tree->depth - 1; place > 0; place--) {
        enum tag open = tree->stack[place].tag;
        if (open == one || open == other) {
            close_implied(tree, open);
            enum step step = close_down_to(tree, place);
            if (step != GO_ON) return step;
            break;
        }
        if ((TRAITS[open] & SPECIAL) && open != TAG_address && open != TAG_div && open != TAG_p) break;
    }
    return close_paragraph(tree);
}

static enum step start_tag(Tree *tree)
{
    Value name = read_name(tree);
    enum tag tag = tag_of(name.start, name.size);
    Names names = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    unsigned marks = 0;
    int has_slash = 0, is_hidden_input = 0;
    enum step step = read_names(tree, tag, &names, &marks, &has_slash, &is_hidden_input);
    if (step != GO_ON) return step;
    tree->skips_line_end = 0;
    if (!tree->is_in_body) {
        int is_done;
        step = start_in_head(tree, tag, name, &is_done);
        if (step != GO_ON || is_done) return step;
    }
    tree->is_after_body = 0;
    uint32_t traits = TRAITS[tag];
    if (traits & UNSUITED) return NEEDS_PARSER;
    if (tag == TAG_html || tag == TAG_body) return NEEDS_PARSER;
    if (tag == TAG_head) return GO_ON; /* it is ignored */
    if (traits & TABLE_PART) return start_table_part(tree, tag, name, &names, marks);
    if (is_in_table_frame(tree) && tag != TAG_script && tag != TAG_style && tag != TAG_template &&
        !(tag == TAG_input && is_hidden_input))
        return NEEDS_PARSER;
    if (tag == TAG_hr || tag == TAG_form || (traits & (CLOSES_P | HEADING))) {
        if (tag == TAG_form && tree->has_form) return GO_ON;
        step = close_paragraph(tree);
    }
    if (step != GO_ON) return step;
    switch (tag) {
    case TAG_svg:
    case TAG_select:
    case TAG_template:
        top_of(tree)->text = -1;
        if (tag == TAG_select) return skip_select(tree);
        if (tag == TAG_template) return skip_template(tree);
        return has_slash ? GO_ON : skip_drawing(tree, name);
    case TAG_script: case TAG_style: case TAG_textarea: case TAG_iframe:
        top_of(tree)->text = -1;
        return skip_raw_text(tree, tag, name);
    case TAG_a:
    case TAG_button:
        if (tree->open[tag]) return NEEDS_PARSER;
        break;
    case TAG_li: step = close_items(tree, TAG_li, TAG_li); break;
    case TAG_dd:
    case TAG_dt: step = close_items(tree, TAG_dd, TAG_dt); break;
    case TAG_rt:
    case TAG_rp:
        if (in_scope(tree, TAG_ruby, TAG_ruby, TAG_ruby) >= 0) close_implied(tree, TAG_OTHER);
        break;
    case TAG_table:
        if (PARAGRAPH_IN_SCOPE(tree) < 0) break;
        if (!tree->is_standard) return NEEDS_PARSER; /* in quirks mode it stays in the paragraph */
        step = close_paragraph(tree);
        break;
    case TAG_form: tree->has_form = 1; break;
    case TAG_pre: tree->skips_line_end = 1; break;
    default:
        if ((traits & HEADING) && (TRAITS[top_of(tree)->tag] & HEADING)) close_top(tree);
    }
    return step == GO_ON ? insert(tree, tag, name, &names, marks) : step;
}

/* Close an element that is in scope, and what it implies; its end tag is ignored elsewhere. */
static enum step close_in_scope(Tree *tree, int place, enum tag except)
{
    if (place < 0) return GO_ON;
    close_implied(tree, except);
    return close_down_to(tree, place);
}

/* 13.2.6.4.7, "any other end tag". */
static enum step close_other(Tree *tree, enum tag tag, Value name)
{
    for (int place = tree->depth - 1; place > 0; place--) {
        Open *open = &tree->stack[place];
        if (open->tag == tag) {
            int is_same = tag != TAG_OTHER || open->name.size == name.size;
            for (Py_ssize_t i = 0; tag == TAG_OTHER && is_same && i < name.size; i++)
                is_same = lower(open->name.start[i]) == lower(name.start[i]);
            if (is_same) {
                close_implied(tree, tag == TAG_OTHER ? TAG_COUNT : tag);
                return close_down_to(tree, place);
            }
        }
        if (TRAITS[open->tag] & SPECIAL) return GO_ON;
    }
    return GO_ON;
}

static enum step end_tag(Tree *tree)
{
    Value name = read_name(tree);
    enum tag tag = tag_of(name.start, name.size);
    enum step step = skip_tag(tree, NULL);
    if (step != GO_ON) return step;
    tree->skips_line_end = 0;
    tree->has_begun = 1;
    if (tag == TAG_br) return NEEDS_PARSER; /* it is a start tag */
    if (!tree->is_in_body) {
        if (tag == TAG_head) tree->is_after_head = 1;
        if (tag == TAG_body || tag == TAG_html) tree->is_in_body = tree->is_after_body = 1;
        return GO_ON;
    }
    if (tag == TAG_body || tag == TAG_html) {
        tree->is_after_body |= tree->open[TAG_table] == 0;
        return GO_ON;
    }
    tree->is_after_body = 0;
    uint32_t traits = TRAITS[tag];
    if (traits & UNSUITED) return GO_ON; /* none is open */
    if (tag == TAG_table || (traits & TABLE_PART)) return end_table_part(tree, tag);
    if (traits & FORMATTING) {
        if (top_of(tree)->tag != tag) return tree->open[tag] ? NEEDS_PARSER : GO_ON;
        close_top(tree);
        return GO_ON;
    }
    if (traits & HEADING) {
        for (int place = tree->depth - 1; place > 0 && !(TRAITS[tree->stack[place].tag] & SCOPE_END); place--)
            if (TRAITS[tree->stack[place].tag] & HEADING) return close_in_scope(tree, place, TAG_COUNT);
        return GO_ON;
    }
    switch (tag) {
    case TAG_p:
        if (PARAGRAPH_IN_SCOPE(tree) < 0) { /* it is an empty paragraph */
            if (is_in_table_frame(tree)) return NEEDS_PARSER;
            step = insert(tree, TAG_p, NO_NAME, NULL, 0);
            if (step != GO_ON) return step;
        }
        return close_paragraph(tree);
    case TAG_li: return close_in_scope(tree, in_scope(tree, TAG_li, TAG_ol, TAG_ul), TAG_li);
    case TAG_dd:
    case TAG_dt: return close_in_scope(tree, in_scope(tree, tag, tag, tag), tag);
    case TAG_form: {
        int place = in_scope(tree, TAG_form, TAG_form, TAG_form);
        if (!tree->has_form) return GO_ON;
        tree->has_form = 0;
        if (place < 0) return GO_ON;
        close_implied(tree, TAG_COUNT);
        if (top_of(tree)->tag != TAG_form) return NEEDS_PARSER;
        close_top(tree);
        return GO_ON;
    }
    default:
        if ((traits & CLOSES_P) || tag == TAG_button || tag == TAG_object)
            return close_in_scope(tree, in_scope(tree, tag, tag, tag), TAG_COUNT);
        return close_other(tree, tag, name);
    }
}

/* What begins with `<!`, `<?` or `</` before something other than a name: a comment, or the document type. */
static enum step take_comment(Tree *tree, byte kind)
{
    int is_comment = 1;
    tree->skips_line_end = 0;
    const byte *start = tree->at;
    enum step step = kind == '!' ? skip_declaration(tree, 0, &is_comment) : skip_past(tree, tree->at, '>');
    int is_cut_off = step == END_OF_PAGE;
    if (!is_comment) {
        const byte *said = start + 7;
        if (step == GO_ON && !tree->has_begun && is_blank(*said)) {
            said = past_blanks(said, tree->end);
            if (begins(said, tree->end, "html") && past_blanks(said + 4, tree->end) == tree->at - 1) tree->is_standard = 1;
        }
        tree->has_begun = 1;
        return step;
    }
    Open *open = top_of(tree);
    if (!tree->is_in_body || tree->is_after_body || open->node < 0) return step;
    open->text = -1;
    int32_t added = new_node(tree, COMMENT, open->node);
    if (added < 0) return no_node(added);
    return is_cut_off ? END_OF_PAGE : GO_ON;
}

/* Build the tree of a page; END_OF_PAGE if that was possible. */
static enum step build_tree(Tree *tree)
{
    int32_t body = new_node(tree, ELEMENT, -1);
    if (body < 0) return no_node(body);
    tree->nodes[body].tag = TAG_body;
    enum step step = open_element(tree, TAG_body, NO_NAME, body);
    const byte *text = tree->at; /* where the text before the next token begins */
    const byte *from = text;
    while (step == GO_ON) {
        const byte *tag = from < tree->end ? memchr(from, '<', (size_t)(tree->end - from)) : NULL;
        byte next = tag != NULL && tree->end - tag >= 2 ? tag[1] : 0;
        int is_end = next == '/' && tree->end - tag >= 3;
        if (tag != NULL && !is_letter(next) && !is_end && next != '!' && next != '?') {
            from = tag + 1; /* it is text */
            continue;
        }
        const byte *until = tag != NULL ? tag : tree->end;
        if (until > text) step = take_text(tree, text, until);
        if (step != GO_ON) break;
        if (tag == NULL) step = END_OF_PAGE;
        else if (is_letter(next)) {
            tree->at = tag + 1;
            step = start_tag(tree);
        } else if (is_end && is_letter(tag[2])) {
            tree->at = tag + 2;
            step = end_tag(tree);
        } else if (is_end && tag[2] == '>') {
            tree->at = tag + 3; /* nothing at all */
        } else {
            tree->at = tag + (next == '?' ? 1 : 2);
            step = take_comment(tree, next);
        }
        text = from = tree->at;
    }
    if (step == END_OF_PAGE)
        while (tree->depth > 0) close_top(tree);
    return step;
}

#endif
