/* Read what a crawl needs from an HTML page without building its tree: links, title, base, robots and refresh metas,
 * canonical and next links, whether there is a password field.
 *
 * In: the body, which is UTF-8. Out: the values as the page has them, or None for a page whose tree must be built to
 * know them. The tokenizer follows WHATWG HTML 13.2.5. Of tree construction (13.2.6) only this much is followed: which
 * elements contain raw text, and where SVG and MathML begin and end. Markup for which this is not enough (framesets,
 * HTML inside SVG, SVG that is not well-formed, elements inside select that are no options) ends in None.
 *
 * Time is linear in the body, whatever it contains: no byte is looked at more than a few times. Nothing is read before
 * the first byte or after the last.
 */
#include "_html_tokens.h"

#define NAME_MOST 16          /* longer names of elements and attributes are none that matter here */
#define FOREIGN_DEPTH_MOST 64 /* deeper SVG is left to the tree */
#define TITLES_MOST 8
#define HREF_MOST 4096        /* MAX_HREF_CHARACTERS in html.py */
#define ODD_VALUES_MOST 200   /* values that Python decodes; more are left to the tree */
/* What Python looks at more closely is bounded, so that it takes no longer than the scan: longer ones, and more, are left
 * to the tree. */
#define TITLE_MOST 4096
#define REL_MOST 256
#define CLOSER_MOST 2000
#define LINKS_MOST 10000      /* MAX_LINKS in html.py; Python counts more */
#define FORMAT 3              /* of the answer; html.py takes no other */

enum kind {
    OTHER, LINK_OUT, AREA, BASE, LINK, META, TITLE, INPUT, RAW_TEXT, SCRIPT, SELECT, OPTION, FOREIGN, NOSCRIPT, TEMPLATE,
    COLUMN, UNSUITED
};

/* The attributes that any element of interest can have. */
typedef struct {
    Value href, rel, name, content, http_equiv, type, charset;
} Attributes;

/* A link with a `rel` that matters, by its number. */
typedef struct {
    Py_ssize_t place;
    Value rel;
} Rel;

typedef struct {
    const byte *at, *end;
    PyObject *decode;           /* decodes a value with unusual character references */
    PyObject *hrefs, *base, *titles, *metas, *links;
    Rel *rels;                  /* at most CLOSER_MOST */
    Py_ssize_t rels_count;
    int has_other_rels;         /* than nofollow */
    int has_password_field, odd_values, closer, is_trimmed;
    int has_noscript, is_in_select, has_template;
    int may_change_encoding;    /* a meta may still say that the page is not in UTF-8 */
    Py_ssize_t hrefs_most, others_left;
    const byte *token;
    Py_ssize_t token_size;
    /* Open elements of SVG or MathML, as their names are written. */
    Value foreign[FOREIGN_DEPTH_MOST];
    int foreign_depth;
} Scan;

/* What a step of the scan ends in. */
enum step { GO_ON, END_OF_PAGE, NEEDS_TREE, FAILED };

/* What Python's `str.strip` removes, of ASCII. */
static inline int is_python_blank(byte c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f); }
static int contains(Value value, const char *text, Py_ssize_t text_size)
{
    for (Py_ssize_t i = 0; i + text_size <= value.size; i++)
        if (equals(value.start + i, text_size, text, text_size)) return 1;
    return 0;
}
#define CONTAINS(value, text) contains((value), (text), (Py_ssize_t)sizeof(text) - 1)

/* Whether a value may be another text than the one that is written: then Python decides what it says. */
static int is_odd(Value value)
{
    for (Py_ssize_t i = 0; i < value.size; i++)
        if (value.start[i] >= 0x80 || value.start[i] == '&') return 1;
    return 0;
}

/* Whether a value, without blanks around it, may be this text. */
static int may_say(Value value, const char *text, Py_ssize_t text_size)
{
    if (value.start == NULL) return 0;
    const byte *start = value.start, *end = value.start + value.size;
    while (start < end && is_python_blank(*start)) start++;
    while (end > start && is_python_blank(end[-1])) end--;
    return equals(start, end - start, text, text_size) || is_odd(value);
}
#define MAY_SAY(value, text) may_say((value), (text), (Py_ssize_t)sizeof(text) - 1)

static enum kind kind_of(const byte *name, Py_ssize_t size)
{
    switch (lower(name[0])) {
    case 'a':
        if (size == 1) return LINK_OUT;
        return IS(name, size, "area") ? AREA : OTHER;
    case 'b': return IS(name, size, "base") ? BASE : OTHER;
    case 'c': return IS(name, size, "col") ? COLUMN : OTHER;
    case 'f': return IS(name, size, "frame") || IS(name, size, "frameset") ? UNSUITED : OTHER;
    case 'h': return IS(name, size, "hr") ? OPTION : OTHER;
    case 'i':
        if (IS(name, size, "input")) return INPUT;
        return IS(name, size, "iframe") ? RAW_TEXT : OTHER;
    case 'l': return IS(name, size, "link") ? LINK : OTHER;
    case 'm':
        if (IS(name, size, "meta")) return META;
        return IS(name, size, "math") ? FOREIGN : OTHER;
    case 'n':
        if (IS(name, size, "noscript")) return NOSCRIPT;
        return IS(name, size, "noembed") || IS(name, size, "noframes") ? RAW_TEXT : OTHER;
    case 'o': return IS(name, size, "option") || IS(name, size, "optgroup") ? OPTION : OTHER;
    case 'p': return IS(name, size, "plaintext") ? UNSUITED : OTHER;
    case 's':
        if (IS(name, size, "script")) return SCRIPT;
        if (IS(name, size, "style")) return RAW_TEXT;
        if (IS(name, size, "svg")) return FOREIGN;
        return IS(name, size, "select") ? SELECT : OTHER;
    case 't':
        if (IS(name, size, "title")) return TITLE;
        if (IS(name, size, "template")) return TEMPLATE;
        return IS(name, size, "textarea") ? RAW_TEXT : OTHER;
    case 'x': return IS(name, size, "xmp") ? RAW_TEXT : OTHER;
    default: return OTHER;
    }
}

static void take_attribute(Attributes *attributes, const byte *name, Py_ssize_t size, Value value)
{
    Value *place = NULL;
    switch (size) {
    case 3: if (IS(name, size, "rel")) place = &attributes->rel; break;
    case 4:
        if (IS(name, size, "href")) place = &attributes->href;
        else if (IS(name, size, "name")) place = &attributes->name;
        else if (IS(name, size, "type")) place = &attributes->type;
        break;
    case 7:
        if (IS(name, size, "content")) place = &attributes->content;
        else if (IS(name, size, "charset")) place = &attributes->charset;
        break;
    case 10: if (IS(name, size, "http-equiv")) place = &attributes->http_equiv; break;
    default: break;
    }
    if (place != NULL && place->start == NULL) *place = value; /* of two with one name the first counts */
}

/* Go past the name of a tag; gives its size. */
static inline Py_ssize_t go_past_name(Scan *scan)
{
    const byte *at = scan->at, *end = scan->end;
    while (at < end && !(classes[*at] & ENDS_NAME)) at++;
    Py_ssize_t size = at - scan->at;
    scan->at = at;
    return size;
}

/* Read the attributes of a tag up to and including its `>`; 0 if the page ends before. */
static int read_attributes(Scan *scan, Attributes *attributes, int *is_self_closing)
{
    for (;;) {
        Value name, value;
        enum in_tag found = next_in_tag(&scan->at, scan->end, &name, &value);
        if (found == TAG_ATTRIBUTE) {
            if (attributes != NULL) take_attribute(attributes, name.start, name.size, value);
            continue;
        }
        *is_self_closing = found == TAG_END_WITH_SLASH;
        return found != TAG_CUT_OFF;
    }
}

/* Go past the `>` of a tag whose attributes do not matter; 0 if the page ends before. Most tags have none. */
static inline int skip_attributes(Scan *scan)
{
    int is_self_closing;
    if (scan->at < scan->end && *scan->at == '>') {
        scan->at++;
        return 1;
    }
    return read_attributes(scan, NULL, &is_self_closing);
}

/* Write the value of the character reference at `at` (13.2.5.72-80); the bytes it takes, 0 if it stands for itself, or
 * -1 if it is none of the usual ones. */
static Py_ssize_t read_reference(const byte *at, const byte *end, byte *out)
{
    const byte *first = at + 1, *next = first;
    if (next < end && *next == '#') {
        unsigned code = 0;
        for (next++; next < end && is_digit(*next) && code < 1000; next++) code = code * 10 + (*next - '0');
        if (next == end || *next != ';' || code < ' ' || code > '~') return -1;
        *out = (byte)code;
        return next + 1 - at;
    }
    while (next < end && (is_letter(*next) || is_digit(*next))) next++;
    Py_ssize_t size = next - first;
    if (size == 0) return 0;
    if (next < end && *next == '=') return 0; /* 13.2.5.73: in an attribute, as in a=1&copy=2 */
    if (next == end || *next != ';') return size <= 6 ? -1 : 0; /* the longest name that needs no semicolon has six letters */
    if (size == 3 && memcmp(first, "amp", 3) == 0) *out = '&';
    else if (size == 2 && memcmp(first, "lt", 2) == 0) *out = '<';
    else if (size == 2 && memcmp(first, "gt", 2) == 0) *out = '>';
    else if (size == 4 && memcmp(first, "quot", 4) == 0) *out = '"';
    else if (size == 4 && memcmp(first, "apos", 4) == 0) *out = '\'';
    else return -1;
    return next + 1 - at;
}

/* The text of a value; NULL with an exception, or NULL without one where the tree is needed. */
static PyObject *text_of(Scan *scan, Value value)
{
    int is_plain = memchr(value.start, '\r', (size_t)value.size) == NULL;
    const byte *mark = is_plain ? memchr(value.start, '&', (size_t)value.size) : NULL;
    if (is_plain && mark == NULL) return PyUnicode_DecodeUTF8((const char *)value.start, value.size, "replace");
    if (is_plain) {
        byte *text = PyMem_Malloc((size_t)value.size);
        if (text == NULL) return PyErr_NoMemory();
        byte *out = text;
        const byte *at = value.start, *end = value.start + value.size;
        while (mark != NULL) {
            memcpy(out, at, (size_t)(mark - at));
            out += mark - at;
            byte decoded = '&';
            Py_ssize_t taken = read_reference(mark, end, &decoded);
            if (taken < 0) break;
            *out++ = decoded;
            at = mark + (taken == 0 ? 1 : taken);
            mark = memchr(at, '&', (size_t)(end - at));
        }
        PyObject *result = NULL;
        if (mark == NULL) {
            memcpy(out, at, (size_t)(end - at));
            out += end - at;
            result = PyUnicode_DecodeUTF8((const char *)text, out - text, "replace");
        }
        PyMem_Free(text);
        if (mark == NULL) return result;
    }
    if (++scan->odd_values > ODD_VALUES_MOST) return NULL;
    PyObject *written = PyUnicode_DecodeUTF8((const char *)value.start, value.size, "replace");
    if (written == NULL) return NULL;
    PyObject *decoded = PyObject_CallOneArg(scan->decode, written);
    Py_DECREF(written);
    if (decoded == Py_None) { /* it cannot be decoded by itself */
        Py_DECREF(decoded);
        return NULL;
    }
    return decoded;
}

static enum step unknown(void) { return PyErr_Occurred() ? FAILED : NEEDS_TREE; }

/* Append to a list what `item` is; the reference is taken over. */
static enum step append(PyObject *list, PyObject *item)
{
    if (item == NULL) return unknown();
    int failed = PyList_Append(list, item);
    Py_DECREF(item);
    return failed ? FAILED : GO_ON;
}

/* A text, or None for an attribute that is missing. */
static PyObject *text_or_none(Scan *scan, Value value)
{
    if (value.start == NULL) return Py_NewRef(Py_None);
    return text_of(scan, value);
}

/* What the URL parser strips from both ends of an address (`_HREF_BLANKS` in html.py). */
static PyObject *without_blanks(PyObject *href)
{
    int kind = PyUnicode_KIND(href);
    const void *data = PyUnicode_DATA(href);
    Py_ssize_t first = 0, end = PyUnicode_GET_LENGTH(href);
    while (first < end && PyUnicode_READ(kind, data, first) <= ' ') first++;
    while (end > first && PyUnicode_READ(kind, data, end - 1) <= ' ') end--;
    if (first == 0 && end == PyUnicode_GET_LENGTH(href)) return href;
    PyObject *stripped = PyUnicode_Substring(href, first, end);
    Py_DECREF(href);
    return stripped;
}

static enum step take_link_out(Scan *scan, Attributes *attributes)
{
    if (attributes->href.start == NULL) return GO_ON;
    Py_ssize_t place = PyList_GET_SIZE(scan->hrefs);
    if (place >= scan->hrefs_most) return NEEDS_TREE;
    PyObject *href = text_of(scan, attributes->href);
    if (href == NULL) return unknown();
    href = without_blanks(href);
    if (href == NULL) return FAILED;
    int is_too_long = PyUnicode_GET_LENGTH(href) > HREF_MOST;
    scan->is_trimmed &= !is_too_long;
    scan->closer += is_too_long;
    enum step step = append(scan->hrefs, href);
    if (scan->closer > CLOSER_MOST) return NEEDS_TREE;
    Value rel = attributes->rel;
    if (step != GO_ON || rel.size == 0) return step;
    int is_other = CONTAINS(rel, "next") || is_odd(rel);
    if (!is_other && !CONTAINS(rel, "nofollow")) return GO_ON;
    if (rel.size > REL_MOST || ++scan->closer > CLOSER_MOST) return NEEDS_TREE;
    scan->has_other_rels |= is_other;
    scan->rels[scan->rels_count++] = (Rel){place, rel};
    return GO_ON;
}

/* Whether one of the words of a `rel` is nofollow. */
static int says_nofollow(Value rel)
{
    const byte *at = rel.start, *end = rel.start + rel.size;
    while (at < end) {
        while (at < end && is_python_blank(*at)) at++;
        const byte *word = at;
        while (at < end && !is_python_blank(*at)) at++;
        if (IS(word, at - word, "nofollow")) return 1;
    }
    return 0;
}

/* The places and texts of rels, for Python to read. */
static enum step write_rels(Scan *scan, PyObject *into)
{
    for (Py_ssize_t number = 0; number < scan->rels_count; number++) {
        PyObject *said = text_of(scan, scan->rels[number].rel);
        enum step step = said == NULL ? unknown() : append(into, Py_BuildValue("(nN)", scan->rels[number].place, said));
        if (step != GO_ON) return step;
    }
    return GO_ON;
}

/* Keep each address once, in document order, without anchors, which lead to this very page; and, apart from these, those
 * that are linked with nofollow every time. More links than are kept are left to Python, and so are other rels. */
static enum step settle_links(Scan *scan, PyObject **links, PyObject **nofollow)
{
    PyObject *seen = PyDict_New(); /* whether each is linked with nofollow every time */
    Py_ssize_t next = 0;
    int done = seen != NULL;
    for (Py_ssize_t place = 0; done && place < PyList_GET_SIZE(scan->hrefs); place++) {
        PyObject *href = PyList_GET_ITEM(scan->hrefs, place);
        int is_marked = next < scan->rels_count && scan->rels[next].place == place;
        if (is_marked) is_marked = says_nofollow(scan->rels[next++].rel);
        if (PyUnicode_GET_LENGTH(href) == 0 || PyUnicode_READ_CHAR(href, 0) == '#') continue;
        if (scan->rels_count == 0) {
            done = PyDict_SetItem(seen, href, Py_False) == 0;
            continue;
        }
        PyObject *before = PyDict_SetDefault(seen, href, is_marked ? Py_True : Py_False);
        done = before != NULL && (is_marked || before == Py_False || PyDict_SetItem(seen, href, Py_False) == 0);
    }
    if (done && PyDict_GET_SIZE(seen) <= LINKS_MOST) {
        PyObject *marked = scan->rels_count ? PySet_New(NULL) : NULL, *href, *is_marked;
        Py_ssize_t position = 0;
        done = scan->rels_count == 0 || marked != NULL;
        while (done && marked != NULL && PyDict_Next(seen, &position, &href, &is_marked))
            if (is_marked == Py_True) done = PySet_Add(marked, href) == 0;
        *nofollow = done && marked != NULL ? PyFrozenSet_New(marked) : NULL;
        *links = done ? PySequence_Tuple(seen) : NULL;
        Py_XDECREF(marked);
        done = *links != NULL && (marked == NULL || *nofollow != NULL);
    }
    Py_XDECREF(seen);
    return done ? GO_ON : FAILED;
}

static enum step take_link(Scan *scan, Attributes *attributes)
{
    Value rel = attributes->rel;
    if (rel.start == NULL || !(CONTAINS(rel, "canonical") || CONTAINS(rel, "next") || is_odd(rel))) return GO_ON;
    if (rel.size > REL_MOST || ++scan->closer > CLOSER_MOST) return NEEDS_TREE;
    PyObject *said = text_of(scan, rel);
    if (said == NULL) return unknown();
    PyObject *href = text_or_none(scan, attributes->href);
    if (href == NULL) {
        Py_DECREF(said);
        return unknown();
    }
    return append(scan->links, Py_BuildValue("(NNn)", said, href, PyList_GET_SIZE(scan->hrefs)));
}

/* Whether a value, without blanks around it, is a usual label of UTF-8. */
static int says_utf_8(Value value)
{
    const byte *start = value.start, *end = value.start + value.size;
    while (start < end && is_blank(*start)) start++;
    while (end > start && is_blank(end[-1])) end--;
    return IS(start, end - start, "utf-8") || IS(start, end - start, "utf8");
}

/* Whether the content of a meta names UTF-8 in the usual way: `text/html; charset=utf-8`, and no more. */
static int ends_in_utf_8(Value content)
{
    static const char word[] = "charset";
    const Py_ssize_t size = sizeof word - 1;
    for (Py_ssize_t i = 0; i + size < content.size; i++)
        if (equals(content.start + i, size, word, size))
            return content.start[i + size] == '=' &&
                   says_utf_8((Value){content.start + i + size + 1, content.size - i - size - 1});
    return 0;
}

/* The first meta that names an encoding decides (13.2.6.4.4, 13.2.3.4): if it may not be UTF-8, the tree reads the page. */
static enum step take_encoding(Scan *scan, Attributes *attributes)
{
    if (attributes->charset.start != NULL) {
        if (!says_utf_8(attributes->charset)) return NEEDS_TREE;
    } else if (MAY_SAY(attributes->http_equiv, "content-type") && attributes->content.start != NULL &&
               (CONTAINS(attributes->content, "charset") || is_odd(attributes->content))) {
        if (!IS(attributes->http_equiv.start, attributes->http_equiv.size, "content-type")) return NEEDS_TREE;
        if (!ends_in_utf_8(attributes->content)) return NEEDS_TREE;
    } else {
        return GO_ON;
    }
    scan->may_change_encoding = 0;
    return GO_ON;
}

static enum step take_meta(Scan *scan, Attributes *attributes)
{
    if (scan->may_change_encoding && take_encoding(scan, attributes) == NEEDS_TREE) return NEEDS_TREE;
    int is_refresh = MAY_SAY(attributes->http_equiv, "refresh");
    if (is_refresh && scan->has_noscript) return NEEDS_TREE; /* inside it does not count, and only the tree knows its end */
    int is_robots = MAY_SAY(attributes->name, "robots") ||
                    may_say(attributes->name, (const char *)scan->token, scan->token_size);
    if (!is_refresh && !is_robots) return GO_ON;
    if (++scan->closer > CLOSER_MOST) return NEEDS_TREE;
    PyObject *name = text_or_none(scan, attributes->name);
    PyObject *http_equiv = name == NULL ? NULL : text_or_none(scan, attributes->http_equiv);
    PyObject *content = http_equiv == NULL ? NULL : text_or_none(scan, attributes->content);
    if (content == NULL) {
        Py_XDECREF(name);
        Py_XDECREF(http_equiv);
        return unknown();
    }
    return append(scan->metas, Py_BuildValue("(NNN)", name, http_equiv, content));
}

/* Go past the end tag of a raw element; what lies before is text. */
static enum step leave_raw_text(Scan *scan, const byte *close, Py_ssize_t name_size)
{
    if (close == NULL) return END_OF_PAGE;
    scan->at = close + 2 + name_size;
    return skip_attributes(scan) ? GO_ON : END_OF_PAGE;
}

static enum step take_title(Scan *scan, const byte *name, Py_ssize_t name_size)
{
    const byte *close = end_of_raw_text(scan->at, scan->end, name, name_size);
    if (close == NULL || close - scan->at > TITLE_MOST || PyList_GET_SIZE(scan->titles) >= TITLES_MOST) return NEEDS_TREE;
    enum step step =
        append(scan->titles, PyUnicode_DecodeUTF8((const char *)scan->at, close - scan->at, "replace"));
    return step == GO_ON ? leave_raw_text(scan, close, name_size) : step;
}

static enum step take_start_tag_of_foreign(Scan *scan, const byte *name, Py_ssize_t name_size)
{
    int is_self_closing;
    Attributes attributes;
    memset(&attributes, 0, sizeof attributes);
    if (leads_out_of_foreign(name, name_size)) return NEEDS_TREE;
    Value around = scan->foreign[scan->foreign_depth - 1];
    if (holds_html_text(around.start, around.size)) return NEEDS_TREE;
    if (!read_attributes(scan, &attributes, &is_self_closing)) return END_OF_PAGE;
    if (!is_self_closing) {
        if (scan->foreign_depth == FOREIGN_DEPTH_MOST) return NEEDS_TREE;
        scan->foreign[scan->foreign_depth++] = (Value){name, name_size};
    }
    switch (kind_of(name, name_size)) {
    case LINK_OUT:
    case AREA: return take_link_out(scan, &attributes);
    case BASE:
    case LINK:
    case INPUT: return NEEDS_TREE;
    default: return GO_ON;
    }
}

static enum step take_start_tag(Scan *scan)
{
    const byte *name = scan->at;
    Py_ssize_t name_size = go_past_name(scan);
    if (scan->foreign_depth) return take_start_tag_of_foreign(scan, name, name_size);
    enum kind kind = name_size <= NAME_MOST ? kind_of(name, name_size) : OTHER;
    if (kind == UNSUITED) return NEEDS_TREE;
    if (kind == COLUMN && scan->has_template) return NEEDS_TREE; /* 13.2.6.4.22: it may end what a template can contain */
    if (scan->is_in_select && kind != OPTION) return NEEDS_TREE;
    scan->has_template |= kind == TEMPLATE;
    if (kind == OTHER || kind == OPTION || kind == COLUMN || kind == TEMPLATE)
        return skip_attributes(scan) ? GO_ON : END_OF_PAGE;
    int is_self_closing;
    Attributes attributes;
    memset(&attributes, 0, sizeof attributes);
    if (!read_attributes(scan, &attributes, &is_self_closing)) return END_OF_PAGE;
    switch (kind) {
    case LINK_OUT:
    case AREA: return take_link_out(scan, &attributes);
    case SCRIPT: return leave_raw_text(scan, end_of_script(scan->at, scan->end), name_size);
    case RAW_TEXT: return leave_raw_text(scan, end_of_raw_text(scan->at, scan->end, name, name_size), name_size);
    case FOREIGN:
        if (!is_self_closing) scan->foreign[scan->foreign_depth++] = (Value){name, name_size};
        return GO_ON;
    case SELECT: scan->is_in_select = 1; return GO_ON;
    case NOSCRIPT: scan->has_noscript = 1; return GO_ON;
    default: break;
    }
    if (scan->others_left-- == 0) return NEEDS_TREE;
    switch (kind) {
    case TITLE: return take_title(scan, name, name_size);
    case LINK: return take_link(scan, &attributes);
    case META: return take_meta(scan, &attributes);
    case INPUT:
        if (!MAY_SAY(attributes.type, "password")) return GO_ON;
        if (is_odd(attributes.type)) return NEEDS_TREE;
        scan->has_password_field = 1;
        return GO_ON;
    case BASE:
        if (scan->base != NULL || attributes.href.start == NULL) return GO_ON;
        scan->base = text_of(scan, attributes.href);
        return scan->base != NULL ? GO_ON : unknown();
    default: return GO_ON;
    }
}

static enum step take_end_tag(Scan *scan)
{
    const byte *name = scan->at;
    Py_ssize_t name_size = go_past_name(scan);
    if (!skip_attributes(scan)) return END_OF_PAGE;
    if (scan->foreign_depth) {
        Value open = scan->foreign[scan->foreign_depth - 1];
        if (open.size != name_size) return NEEDS_TREE;
        for (Py_ssize_t i = 0; i < name_size; i++)
            if (lower(open.start[i]) != lower(name[i])) return NEEDS_TREE;
        scan->foreign_depth--;
    } else if (scan->is_in_select) {
        if (IS(name, name_size, "select")) scan->is_in_select = 0;
        else if (kind_of(name, name_size) != OPTION) return NEEDS_TREE;
    }
    return GO_ON;
}

static enum step skip_past(Scan *scan, const byte *from, char last)
{
    const byte *found = from < scan->end ? memchr(from, last, (size_t)(scan->end - from)) : NULL;
    if (found == NULL) return END_OF_PAGE;
    scan->at = found + 1;
    return GO_ON;
}

/* What follows `<!`. */
static enum step skip_declaration(Scan *scan)
{
    const byte *end;
    if (begins(scan->at, scan->end, "--"))
        end = end_of_comment(scan->at + 2, scan->end);
    else if (scan->foreign_depth && scan->end - scan->at >= 7 && memcmp(scan->at, "[CDATA[", 7) == 0)
        end = end_of_section(scan->at, scan->end);
    else
        return skip_past(scan, scan->at, '>');
    if (end == NULL) return END_OF_PAGE;
    scan->at = end;
    return GO_ON;
}

static enum step scan_page(Scan *scan)
{
    if (memchr(scan->at, '\0', (size_t)(scan->end - scan->at)) != NULL) return NEEDS_TREE;
    for (;;) {
        const byte *tag = memchr(scan->at, '<', (size_t)(scan->end - scan->at));
        if (tag == NULL || scan->end - tag < 2) return END_OF_PAGE;
        enum step step = GO_ON;
        byte next = tag[1];
        scan->at = tag + 1;
        if (is_letter(next)) {
            step = take_start_tag(scan);
        } else if (next == '/') {
            if (scan->end - tag < 3) return END_OF_PAGE;
            scan->at = tag + 2;
            if (is_letter(tag[2])) step = take_end_tag(scan);
            else step = skip_past(scan, tag + 2, '>');
        } else if (next == '!') {
            scan->at = tag + 2;
            step = skip_declaration(scan);
        } else if (next == '?') {
            step = skip_past(scan, tag + 2, '>');
        }
        if (step != GO_ON) return step;
    }
}

PyDoc_STRVAR(scan_doc,
"scan(body, start, token, decode, hrefs_most, others_most, may_change_encoding)\n--\n\n"
"Read a UTF-8 page from byte `start` on; None if that takes a tree.\n\n"
"If its encoding may change, only a meta that names another one says that it is not UTF-8: that takes a tree.\n"
"`token` is the crawler's own, in lower case; `decode` gives the text of a value with unusual character references, or\n"
"None. The answer is (links, nofollow, whether no link is too long, rels, base, titles, metas,\n"
"link elements, has_password_field). The links are a tuple without repetition and anchors, and those with nofollow are\n"
"a set or None; or they are a list of all, for Python to read, with rels.");

static PyObject *answer_of(Scan *scan)
{
    PyObject *links = NULL, *nofollow = NULL, *answer = NULL, *rels = PyList_New(0);
    enum step step = rels == NULL ? FAILED : GO_ON;
    if (step == GO_ON && scan->is_trimmed && !scan->has_other_rels) step = settle_links(scan, &links, &nofollow);
    if (step == GO_ON && links == NULL) step = write_rels(scan, rels);
    if (step == NEEDS_TREE) answer = Py_NewRef(Py_None);
    else if (step == GO_ON)
        answer = Py_BuildValue("(OOOOOOOOO)", links != NULL ? links : scan->hrefs, nofollow != NULL ? nofollow : Py_None,
                               scan->is_trimmed ? Py_True : Py_False, rels, scan->base != NULL ? scan->base : Py_None,
                               scan->titles, scan->metas, scan->links, scan->has_password_field ? Py_True : Py_False);
    Py_XDECREF(links);
    Py_XDECREF(nofollow);
    Py_XDECREF(rels);
    return answer;
}

static PyObject *scan(PyObject *module, PyObject *args)
{
    Py_buffer body, token;
    Py_ssize_t start;
    Scan scan = {0};
    Rel rels[CLOSER_MOST + 1];
    (void)module;
    if (!PyArg_ParseTuple(args, "y*ny*Onnp", &body, &start, &token, &scan.decode, &scan.hrefs_most, &scan.others_left,
                          &scan.may_change_encoding))
        return NULL;
    PyObject *result = NULL;
    if (start < 0 || start > body.len) {
        PyErr_SetString(PyExc_ValueError, "start lies outside the body");
        goto released;
    }
    scan.at = (const byte *)body.buf + start;
    scan.end = (const byte *)body.buf + body.len;
    scan.is_trimmed = 1;
    scan.token = token.buf;
    scan.token_size = token.len;
    scan.rels = rels;
    scan.hrefs = PyList_New(0);
    scan.titles = PyList_New(0);
    scan.metas = PyList_New(0);
    scan.links = PyList_New(0);
    if (scan.hrefs && scan.titles && scan.metas && scan.links) {
        enum step step = scan_page(&scan);
        if (step == NEEDS_TREE)
            result = Py_NewRef(Py_None);
        else if (step == END_OF_PAGE)
            result = answer_of(&scan);
    }
    Py_XDECREF(scan.hrefs);
    Py_XDECREF(scan.base);
    Py_XDECREF(scan.titles);
    Py_XDECREF(scan.metas);
    Py_XDECREF(scan.links);
released:
    PyBuffer_Release(&body);
    PyBuffer_Release(&token);
    return result;
}

static PyMethodDef methods[] = {{"scan", scan, METH_VARARGS, scan_doc}, {NULL, NULL, 0, NULL}};

static int prepare(PyObject *module) { return PyModule_AddIntConstant(module, "FORMAT", FORMAT); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "comity.extract._html_scan",
    .m_doc = "Read links and head of an HTML page without building its tree.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__html_scan(void) { return PyModuleDef_Init(&definition); }
