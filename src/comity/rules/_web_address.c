/* The links of a page: which of them have to be looked at, and where plain ones lead.
 *
 * `fresh` leaves out what was met before as it is written. `resolve` does what `resolve_link` of canonical.py does with
 * regular expressions: addresses as a page writes them, and what is known of the page's own address, become WebAddresses.
 * It leaves to canonical.py what needs the URL parser, whose query may hold tracking parameters, or whose host has to be
 * looked at. Where that is known, it leaves out addresses for which nothing is to be decided any more. Time is linear in
 * the length of the addresses.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#define FORMAT 2 /* of the arguments and the answer; canonical.py takes no other */
#define LONGEST 2048
#define NAME_MOST 253   /* of a host; longer ones are left to canonical.py */
#define LABEL_MOST 63
#define PARAMETER_MOST 64 /* of a parameter's name, likewise */

typedef unsigned char byte;

/* The page and everything that is the same for all of its addresses. */
typedef struct {
    PyObject *origin; /* borrowed; NULL if only the parser can read the page's address */
    PyObject *host;
    const byte *folder; /* the page's URL up to the last slash of its path, or NULL */
    Py_ssize_t folder_size;
    PyObject *hosts; /* a dict: origin -> (origin, host), that stays as it is meanwhile */
    PyObject *names, *beginnings, *opaque; /* of parameters that may be dropped; NULL if none are */
    PyObject *suffixes; /* public suffixes, and `*.` with those below which all names are; NULL where names collapse */
    PyTypeObject *type;
    PyObject *digest;
    /* Which addresses are left out: on this host those that are known, and are not among the others; elsewhere the noted. */
    PyObject *own, *known, *deep, *others, *noted;
} Page;

enum { IN_PATH = 1, IN_QUERY = 2, IN_SCHEME = 4, BEGINS_RELATIVE = 8, IS_UPPER_HEX = 16, IS_LOWER_HEX = 32 };
static byte kinds[256];

static void fill_kinds(void)
{
    for (int c = 'A'; c <= 'Z'; c++) kinds[c] = kinds[c + 32] = IN_PATH | IN_QUERY | IN_SCHEME | BEGINS_RELATIVE;
    for (int c = '0'; c <= '9'; c++) kinds[c] = IN_PATH | IN_QUERY | IN_SCHEME | BEGINS_RELATIVE | IS_UPPER_HEX;
    for (int c = 'A'; c <= 'F'; c++) kinds[c] |= IS_UPPER_HEX, kinds[c + 32] |= IS_LOWER_HEX;
    for (const char *c = "_~!$&()*+,;=:@/.-"; *c; c++) kinds[(byte)*c] |= IN_PATH | IN_QUERY;
    for (const char *c = "+.-"; *c; c++) kinds[(byte)*c] |= IN_SCHEME;
    for (const char *c = "_~-"; *c; c++) kinds[(byte)*c] |= BEGINS_RELATIVE;
    kinds['?'] |= IN_QUERY;
}

static int hex(byte c) { return c <= '9' ? c - '0' : c - 'A' + 10; }

/* Whether an escape is written as RFC 3986 §6.2.2 wants it: in capitals, and of a character that needs one. */
static int is_normal_escape(const byte *at, const byte *end)
{
    if (end - at < 3 || !(kinds[at[1]] & IS_UPPER_HEX) || !(kinds[at[2]] & IS_UPPER_HEX)) return 0;
    int c = hex(at[1]) << 4 | hex(at[2]);
    int is_alphanumeric = c < 128 && (kinds[c] & BEGINS_RELATIVE);
    return !(is_alphanumeric || c == '.' || c == '~' || c == '-' || c == '_');
}

static int is_lower(byte c) { return c >= 'a' && c <= 'z'; }
static int is_digit(byte c) { return c >= '0' && c <= '9'; }

static PyObject *joined(const byte *first, Py_ssize_t first_size, const byte *second, Py_ssize_t second_size)
{
    PyObject *text = PyUnicode_New(first_size + second_size, 127);
    if (text == NULL) return NULL;
    byte *into = PyUnicode_1BYTE_DATA(text);
    if (first_size) memcpy(into, first, (size_t)first_size);
    if (second_size) memcpy(into + first_size, second, (size_t)second_size);
    return text;
}

/* Whether a set contains a text; -1 with an exception. */
static int contains(PyObject *set, const byte *first, Py_ssize_t first_size, const byte *second, Py_ssize_t second_size)
{
    PyObject *text = joined(first, first_size, second, second_size);
    int found = text ? PySet_Contains(set, text) : -1;
    Py_XDECREF(text);
    return found;
}

/* Whether a parameter of a query surely stays, by its name; -1 with an exception. */
static int is_kept(const byte *at, const byte *end, const Page *page)
{
    byte name[PARAMETER_MOST];
    Py_ssize_t size = 0;
    for (; at < end && *at != '='; at++) {
        if (*at == '%' || size == PARAMETER_MOST) return 0;
        name[size++] = *at >= 'A' && *at <= 'Z' ? (byte)(*at | 0x20) : *at;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(page->beginnings); i++) {
        PyObject *beginning = PyTuple_GET_ITEM(page->beginnings, i);
        if (!PyUnicode_Check(beginning) || !PyUnicode_IS_COMPACT_ASCII(beginning)) continue; /* it begins no ASCII name */
        Py_ssize_t length = PyUnicode_GET_LENGTH(beginning);
        if (length <= size && memcmp(name, PyUnicode_1BYTE_DATA(beginning), (size_t)length) == 0) return 0;
    }
    int found = contains(page->names, name, size, NULL, 0);
    if (found == 0) found = contains(page->opaque, name, size, NULL, 0); /* then its value decides */
    return found < 0 ? -1 : !found;
}

/* Whether a path with its query stays as it is: no dot segment, nothing to escape, no parameter to drop; -1 with an
 * exception. */
static int is_plain(const byte *at, const byte *end, const Page *page)
{
    byte kind = IN_PATH;
    int drops_tracking = page->names != NULL;
    const byte *parameter = NULL;
    for (; at < end; at++) {
        byte c = *at;
        if (c == '%') {
            if (!is_normal_escape(at, end)) return 0;
            at += 2;
            continue;
        }
        if (c == '?' && kind == IN_PATH) {
            if (drops_tracking && at + 1 == end) return 0;
            kind = IN_QUERY;
            parameter = at + 1;
            continue;
        }
        if (!(kinds[c] & kind)) return 0;
        if (c == '/' && at + 1 < end && (at[1] == '.' || (drops_tracking && at[1] == '('))) return 0;
        if (c == ';' && drops_tracking) return 0;
        if (c == '&' && drops_tracking && kind == IN_QUERY) {
            int kept = is_kept(parameter, at, page);
            if (kept != 1) return kept;
            parameter = at + 1;
        }
    }
    return drops_tracking && parameter != NULL ? is_kept(parameter, end, page) : 1;
}

/* Whether nothing is to be decided about an address any more; -1 with an exception. */
static int is_left_out(const Page *page, PyObject *host, PyObject *key)
{
    if (page->own == NULL) return 0;
    int is_own = host == page->own ? 1 : PyObject_RichCompareBool(host, page->own, Py_EQ);
    if (is_own < 0) return -1;
    if (!is_own) return page->noted != NULL ? PySet_Contains(page->noted, key) : 0;
    int found = PySet_Contains(page->known, key);
    if (found == 0 && page->deep != NULL) return PySet_Contains(page->deep, key);
    if (found == 1 && PySet_GET_SIZE(page->others) > 0) {
        int is_other = PySet_Contains(page->others, key);
        return is_other < 0 ? -1 : !is_other;
    }
    return found;
}

static PyObject *key_of(const Page *page, PyObject *url)
{
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)PyUnicode_1BYTE_DATA(url), PyUnicode_GET_LENGTH(url));
    PyObject *digest = bytes ? PyObject_CallOneArg(page->digest, bytes) : NULL;
    Py_XDECREF(bytes);
    unsigned long long number = digest ? PyLong_AsUnsignedLongLong(digest) : 0;
    PyObject *key = digest && !PyErr_Occurred() ? PyLong_FromLongLong((long long)number) : NULL;
    Py_XDECREF(digest);
    return key;
}

/* A WebAddress of a URL that ends in a plain path, or False if it is left out; takes over the reference to the URL. */
static PyObject *address_of(const Page *page, PyObject *url, PyObject *origin, PyObject *host)
{
    if (url == NULL) return NULL;
    PyObject *key = key_of(page, url), *path = NULL, *address = NULL;
    int left_out = key ? is_left_out(page, host, key) : -1;
    if (left_out == 0) path = PyUnicode_Substring(url, PyUnicode_GET_LENGTH(origin), PyUnicode_GET_LENGTH(url));
    if (path != NULL) address = page->type->tp_alloc(page->type, 5);
    if (address == NULL) {
        Py_XDECREF(key);
        Py_XDECREF(path);
        Py_DECREF(url);
        return left_out == 1 ? Py_NewRef(Py_False) : NULL;
    }
    PyTuple_SET_ITEM(address, 0, url);
    PyTuple_SET_ITEM(address, 1, Py_NewRef(origin));
    PyTuple_SET_ITEM(address, 2, Py_NewRef(host));
    PyTuple_SET_ITEM(address, 3, path);
    PyTuple_SET_ITEM(address, 4, key);
    return address;
}

/* The host of an origin's name that is its own canonical form (`_PLAIN_NAME` in canonical.py), without its `www.` where
 * what is left is surely no public suffix; None if canonical.py has to look, NULL with an exception. */
static PyObject *plain_host(const Page *page, const byte *name, const byte *end)
{
    const byte *label = name, *last = NULL, *second = NULL; /* where the last label begins, and the one before it */
    if (page->suffixes == NULL || end - name > NAME_MOST) Py_RETURN_NONE;
    for (const byte *at = name;; at++) {
        if (at < end && *at != '.') {
            if (!is_lower(*at) && !is_digit(*at) && *at != '-') Py_RETURN_NONE;
            continue;
        }
        Py_ssize_t size = at - label;
        if (size == 0 || size > LABEL_MOST || *label == '-' || at[-1] == '-') Py_RETURN_NONE;
        if (size >= 4 && memcmp(label, "xn--", 4) == 0) Py_RETURN_NONE;
        second = last;
        last = label;
        if (at == end) break;
        label = at + 1;
    }
    if (second == NULL) Py_RETURN_NONE;
    for (const byte *at = last; at < end; at++)
        if (is_digit(*at)) Py_RETURN_NONE;
    if (end - name < 4 || memcmp(name, "www.", 4) != 0) return joined(name, end - name, NULL, 0);
    name += 4;
    const byte *above = memchr(name, '.', (size_t)(end - name));
    if (above == NULL) Py_RETURN_NONE;
    int found = contains(page->suffixes, name, end - name, NULL, 0);
    if (found == 0) found = contains(page->suffixes, (const byte *)"*.", 2, name, end - name);
    if (found == 0) found = contains(page->suffixes, (const byte *)"*", 1, above, end - above);
    if (found < 0) return NULL;
    if (found) Py_RETURN_NONE;
    return joined(name, end - name, NULL, 0);
}

/* `https://example.com/path` */
static PyObject *absolute(const Page *page, const byte *at, const byte *end, Py_ssize_t prefix)
{
    const byte *path = memchr(at + prefix, '/', end - at - prefix);
    if (path == NULL || path == at + prefix || (path + 1 < end && path[1] == '/')) Py_RETURN_NONE;
    int plain = is_plain(path, end, page);
    if (plain < 0) return NULL;
    if (!plain) Py_RETURN_NONE;
    PyObject *origin = joined(at, path - at, NULL, 0);
    PyObject *found = origin ? PyDict_GetItemWithError(page->hosts, origin) : NULL;
    PyObject *address = NULL;
    if (found != NULL) {
        address = address_of(page, joined(at, end - at, NULL, 0), PyTuple_GET_ITEM(found, 0), PyTuple_GET_ITEM(found, 1));
    } else if (!PyErr_Occurred()) {
        PyObject *host = plain_host(page, at + prefix, path);
        if (host == Py_None) address = Py_NewRef(Py_None);
        else if (host != NULL) address = address_of(page, joined(at, end - at, NULL, 0), origin, host);
        Py_XDECREF(host);
    }
    Py_XDECREF(origin);
    return address;
}

/* `page.html`, `./page.html`, `../folder/page.html`, `../` */
static PyObject *relative(const Page *page, const byte *at, const byte *end)
{
    Py_ssize_t folder_size = page->folder_size, origin_size = PyUnicode_GET_LENGTH(page->origin);
    const byte *first = at;
    if (end - at >= 2 && at[0] == '.' && at[1] == '/') at += 2;
    while (end - at >= 3 && at[0] == '.' && at[1] == '.' && at[2] == '/') {
        at += 3;
        if (folder_size > origin_size + 1) {
            folder_size--;
            while (page->folder[folder_size - 1] != '/') folder_size--;
        }
    }
    if (at == end ? at == first : !(kinds[*at] & BEGINS_RELATIVE)) Py_RETURN_NONE;
    const byte *scheme = at < end ? at + 1 : at;
    while (scheme < end && (kinds[*scheme] & IN_SCHEME)) scheme++;
    if (scheme < end && *scheme == ':') Py_RETURN_NONE;
    int plain = is_plain(at, end, page);
    if (plain < 0) return NULL;
    if (!plain) Py_RETURN_NONE;
    return address_of(page, joined(page->folder, folder_size, at, end - at), page->origin, page->host);
}

/* An address without its fragment. */
static PyObject *resolve_bytes(const Page *page, const byte *at, const byte *end)
{
    Py_ssize_t size = end - at;
    byte whole[LONGEST + 8];
    if (size == 0) Py_RETURN_NONE;
    if (size > 1 && at[0] == '/' && at[1] == '/' && page->origin != NULL) {
        const byte *origin = PyUnicode_1BYTE_DATA(page->origin);
        Py_ssize_t scheme = PyUnicode_GET_LENGTH(page->origin) > 6 && origin[5] == ':' ? 6 : 5;
        if (PyUnicode_GET_LENGTH(page->origin) < scheme) Py_RETURN_NONE;
        memcpy(whole, origin, (size_t)scheme);
        memcpy(whole + scheme, at, (size_t)size);
        at = whole;
        end = whole + scheme + size;
        size += scheme;
    } else if (*at == '/') {
        if (page->origin == NULL || (size > 1 && at[1] == '/')) Py_RETURN_NONE;
        int plain = is_plain(at, end, page);
        if (plain < 0) return NULL;
        if (!plain) Py_RETURN_NONE;
        const byte *origin = PyUnicode_1BYTE_DATA(page->origin);
        PyObject *url = joined(origin, PyUnicode_GET_LENGTH(page->origin), at, size);
        return address_of(page, url, page->origin, page->host);
    }
    if (size > 8 && memcmp(at, "https://", 8) == 0) return absolute(page, at, end, 8);
    if (size > 7 && memcmp(at, "http://", 7) == 0) return absolute(page, at, end, 7);
    if (page->folder == NULL) Py_RETURN_NONE;
    return relative(page, at, end);
}

/* An address with other characters than ASCII: they are escaped as UTF-8 (WHATWG URL §1.3). */
static PyObject *resolve_escaped(const Page *page, PyObject *href)
{
    static const char digits[] = "0123456789ABCDEF";
    byte escaped[LONGEST];
    Py_ssize_t size = 0;
    PyObject *bytes = PyUnicode_AsUTF8String(href);
    if (bytes == NULL) { /* half a surrogate pair */
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return NULL;
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    const byte *at = (const byte *)PyBytes_AS_STRING(bytes), *end = at + PyBytes_GET_SIZE(bytes);
    for (; at < end && *at != '#' && size + 3 <= LONGEST; at++) {
        if (*at < 0x80) {
            escaped[size++] = *at;
            continue;
        }
        escaped[size++] = '%';
        escaped[size++] = (byte)digits[*at >> 4];
        escaped[size++] = (byte)digits[*at & 15];
    }
    int is_whole = at == end || *at == '#';
    Py_DECREF(bytes);
    if (!is_whole) Py_RETURN_NONE;
    return resolve_bytes(page, escaped, escaped + size);
}

/* A WebAddress, None for canonical.py to look at, or False for one that is left out. */
static PyObject *resolve_one(const Page *page, PyObject *href)
{
    if (!PyUnicode_Check(href) || PyUnicode_READY(href) != 0) {
        PyErr_SetString(PyExc_TypeError, "addresses are texts");
        return NULL;
    }
    Py_ssize_t size = PyUnicode_GET_LENGTH(href);
    if (size == 0 || size > LONGEST) Py_RETURN_NONE;
    if (!PyUnicode_IS_COMPACT_ASCII(href)) return PyUnicode_IS_ASCII(href) ? Py_NewRef(Py_None) : resolve_escaped(page, href);
    const byte *at = PyUnicode_1BYTE_DATA(href);
    const byte *fragment = memchr(at, '#', (size_t)size);
    return resolve_bytes(page, at, fragment ? fragment : at + size);
}

/* What may be dropped from a query: names, beginnings of names, and names where the value decides. */
static int read_tracking(Page *page, PyObject *tracking)
{
    if (tracking == Py_None) return 1;
    if (!PyTuple_Check(tracking) || PyTuple_GET_SIZE(tracking) != 3 || !PyAnySet_Check(PyTuple_GET_ITEM(tracking, 0)) ||
        !PyTuple_Check(PyTuple_GET_ITEM(tracking, 1)) || !PyAnySet_Check(PyTuple_GET_ITEM(tracking, 2))) {
        PyErr_SetString(PyExc_TypeError, "tracking parameters are a set, a tuple and a set");
        return 0;
    }
    page->names = PyTuple_GET_ITEM(tracking, 0);
    page->beginnings = PyTuple_GET_ITEM(tracking, 1);
    page->opaque = PyTuple_GET_ITEM(tracking, 2);
    return 1;
}

/* The page's own address, if it is in its canonical form, on a host that was met; relative links need a plain path. */
static int read_base(Page *page, PyObject *base)
{
    if (base == Py_None) return 1;
    if (!PyUnicode_Check(base) || PyUnicode_READY(base) != 0) {
        PyErr_SetString(PyExc_TypeError, "the address of a page is a text");
        return 0;
    }
    Py_ssize_t size = PyUnicode_GET_LENGTH(base);
    if (!PyUnicode_IS_COMPACT_ASCII(base) || size <= 8) return 1;
    const byte *at = PyUnicode_1BYTE_DATA(base), *end = at + size;
    const byte *path = memchr(at + 8, '/', (size_t)(size - 8));
    if (path == NULL) return 1;
    PyObject *origin = joined(at, path - at, NULL, 0);
    PyObject *place = origin ? PyDict_GetItemWithError(page->hosts, origin) : NULL;
    int is_canonical = place != NULL ? PyObject_RichCompareBool(origin, PyTuple_GET_ITEM(place, 0), Py_EQ) : 0;
    Py_XDECREF(origin);
    if (PyErr_Occurred()) return 0;
    if (!is_canonical) return 1;
    page->origin = PyTuple_GET_ITEM(place, 0);
    page->host = PyTuple_GET_ITEM(place, 1);
    const byte *query = memchr(path, '?', (size_t)(end - path));
    if (query != NULL) end = query;
    if (end - at > LONGEST || (end - path > 1 && path[1] == '/')) return 1;
    int plain = is_plain(path, end, page);
    if (plain < 0) return 0;
    while (end[-1] != '/') end--;
    page->folder = plain ? at : NULL;
    page->folder_size = end - at;
    return 1;
}

/* A host, the keys that are known of it, those that lie too deep or None, those that count all the same, and the keys of
 * other hosts' addresses that are noted, or None. */
static int read_met(Page *page, PyObject *met)
{
    if (met == Py_None) return 1;
    if (PyTuple_Check(met) && PyTuple_GET_SIZE(met) == 5 && PyUnicode_Check(PyTuple_GET_ITEM(met, 0))) {
        PyObject *deep = PyTuple_GET_ITEM(met, 2), *noted = PyTuple_GET_ITEM(met, 4);
        page->own = PyTuple_GET_ITEM(met, 0);
        page->known = PyTuple_GET_ITEM(met, 1);
        page->deep = deep == Py_None ? NULL : deep;
        page->others = PyTuple_GET_ITEM(met, 3);
        page->noted = noted == Py_None ? NULL : noted;
        if (PyAnySet_Check(page->known) && PyAnySet_Check(page->others) && (page->deep == NULL || PyAnySet_Check(deep)) &&
            (page->noted == NULL || PyAnySet_Check(noted)))
            return 1;
    }
    PyErr_SetString(PyExc_TypeError, "what was met is a host and four sets");
    return 0;
}

static PyObject *resolve(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *hrefs, *base, *tracking, *suffixes, *met;
    Page page = {0};
    if (!PyArg_ParseTuple(arguments, "OOO!OOO!OO", &hrefs, &base, &PyDict_Type, &page.hosts, &tracking, &suffixes,
                          &PyType_Type, &page.type, &page.digest, &met))
        return NULL;
    if (!read_tracking(&page, tracking) || !read_base(&page, base) || !read_met(&page, met)) return NULL;
    if (suffixes != Py_None && !PyAnySet_Check(suffixes)) {
        PyErr_SetString(PyExc_TypeError, "public suffixes are a set");
        return NULL;
    }
    page.suffixes = suffixes == Py_None ? NULL : suffixes;
    PyObject *written = PySequence_Fast(hrefs, "addresses are given as a list");
    if (written == NULL) return NULL;
    PyObject *found = PyList_New(0);
    for (Py_ssize_t number = 0; found != NULL && number < PySequence_Fast_GET_SIZE(written); number++) {
        PyObject *href = PySequence_Fast_GET_ITEM(written, number);
        PyObject *address = resolve_one(&page, href);
        int failed = address == NULL;
        if (address != Py_False && !failed) failed = PyList_Append(found, address == Py_None ? href : address) < 0;
        Py_XDECREF(address);
        if (failed) Py_CLEAR(found);
    }
    Py_DECREF(written);
    return found;
}

/* Whether a text means the same on every page of an origin: `WITHOUT_PATH` in canonical.py. */
static int is_without_path(PyObject *text)
{
    static const char *const beginnings[] = {"/", "http://", "https://", "javascript:", "mailto:", "tel:", "data:"};
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    for (size_t number = 0; number < sizeof beginnings / sizeof *beginnings; number++) {
        const char *beginning = beginnings[number];
        Py_ssize_t at = 0;
        while (beginning[at] && at < size && PyUnicode_READ(kind, data, at) == (byte)beginning[at]) at++;
        if (!beginning[at]) return 1;
    }
    return 0;
}

/* Put the address of one link, without its fragment, among the fresh, unless it was met. */
static int take_fresh(PyObject *href, PyObject *met, PyObject *fresh)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(href), mark = PyUnicode_FindChar(href, '#', 0, size, 1);
    if (mark == -2) return 0;
    if (mark == 0) return 1; /* another place on this very page */
    PyObject *address = mark < 0 ? Py_NewRef(href) : PyUnicode_Substring(href, 0, mark);
    int met_before = address == NULL ? -1 : mark < 0 ? 0 : PySet_Contains(met, address);
    int done = met_before >= 0;
    if (met_before == 0 && is_without_path(address)) done = PySet_Add(met, address) == 0;
    if (met_before == 0 && done) done = PyList_Append(fresh, address) == 0;
    Py_XDECREF(address);
    return done;
}

static PyObject *fresh(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *hrefs, *met, *without;
    if (!PyArg_ParseTuple(arguments, "OO!O", &hrefs, &PySet_Type, &met, &without)) return NULL;
    if (!PyAnySet_Check(without)) {
        PyErr_SetString(PyExc_TypeError, "links that are left out are a set");
        return NULL;
    }
    PyObject *written = PySequence_Fast(hrefs, "addresses are given as a list");
    PyObject *unmet = written ? PyList_New(0) : NULL, *found = unmet ? PyList_New(0) : NULL;
    int done = found != NULL, has_without = done && PySet_GET_SIZE(without) > 0;
    for (Py_ssize_t number = 0; done && number < PySequence_Fast_GET_SIZE(written); number++) {
        PyObject *href = PySequence_Fast_GET_ITEM(written, number);
        if (!PyUnicode_Check(href) || PyUnicode_READY(href) != 0) {
            PyErr_SetString(PyExc_TypeError, "addresses are texts");
            done = 0;
            break;
        }
        int is_met = PySet_Contains(met, href);
        if (is_met == 0 && has_without) is_met = PySet_Contains(without, href);
        done = is_met >= 0 && (is_met || PyList_Append(unmet, href) == 0);
    }
    /* Only now: what one link of a page adds does not leave out another that is written in the same way. */
    for (Py_ssize_t number = 0; done && number < PyList_GET_SIZE(unmet); number++)
        done = take_fresh(PyList_GET_ITEM(unmet, number), met, found);
    Py_XDECREF(unmet);
    Py_XDECREF(written);
    if (!done) Py_CLEAR(found);
    return found;
}

static int prepare(PyObject *module)
{
    fill_kinds();
    return PyModule_AddIntMacro(module, FORMAT);
}

static PyMethodDef methods[] = {
    {"fresh", fresh, METH_VARARGS, "Leave out links that were met; see canonical.py."},
    {"resolve", resolve, METH_VARARGS, "Resolve plain addresses; see canonical.py."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "comity.rules._web_address",
    .m_doc = "The links of a page, those to be looked at.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__web_address(void) { return PyModuleDef_Init(&definition); }
