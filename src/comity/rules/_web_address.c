/* Plain addresses, resolved against their page: what `resolve_link` of canonical.py does with regular expressions.
 *
 * In: addresses as a page writes them, and what is known of the page's own address. Out: a WebAddress for each of them,
 * None for one that needs the URL parser, whose query may hold tracking parameters, or whose host was not met before:
 * canonical.py reads those. Time is linear in the length of the addresses.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#define FORMAT 1 /* of the arguments and the answer; canonical.py takes no other */
#define LONGEST 2048

typedef unsigned char byte;

/* The page and everything that is the same for all of its addresses. */
typedef struct {
    PyObject *origin; /* borrowed; NULL if only the parser can read the page's address */
    PyObject *host;
    const byte *folder; /* the page's URL up to the last slash of its path, or NULL */
    Py_ssize_t folder_size;
    PyObject *hosts; /* a dict: origin -> (origin, host) */
    int drops_tracking;
    PyTypeObject *type;
    PyObject *digest;
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

/* Whether a path with its query stays as it is: no dot segment, nothing to escape, no parameter to drop. */
static int is_plain(const byte *at, const byte *end, int drops_tracking)
{
    byte kind = IN_PATH;
    for (; at < end; at++) {
        byte c = *at;
        if (c == '%') {
            if (!is_normal_escape(at, end)) return 0;
            at += 2;
            continue;
        }
        if (c == '?' && kind == IN_PATH) {
            if (drops_tracking) return 0;
            kind = IN_QUERY;
            continue;
        }
        if (!(kinds[c] & kind)) return 0;
        if (c == '/' && at + 1 < end && (at[1] == '.' || (drops_tracking && at[1] == '('))) return 0;
        if (c == ';' && drops_tracking) return 0;
    }
    return 1;
}

/* A WebAddress of a URL that ends in a plain path; takes over the reference to the URL. */
static PyObject *address_of(const Page *page, PyObject *url, PyObject *origin, PyObject *host)
{
    if (url == NULL) return NULL;
    PyObject *path = PyUnicode_Substring(url, PyUnicode_GET_LENGTH(origin), PyUnicode_GET_LENGTH(url));
    PyObject *bytes = path ? PyUnicode_AsASCIIString(url) : NULL;
    PyObject *digest = bytes ? PyObject_CallOneArg(page->digest, bytes) : NULL;
    Py_XDECREF(bytes);
    unsigned long long number = digest ? PyLong_AsUnsignedLongLong(digest) : 0;
    PyObject *key = digest && !PyErr_Occurred() ? PyLong_FromLongLong((long long)number) : NULL;
    Py_XDECREF(digest);
    PyObject *address = key ? page->type->tp_alloc(page->type, 5) : NULL;
    if (address == NULL) {
        Py_XDECREF(key);
        Py_XDECREF(path);
        Py_DECREF(url);
        return NULL;
    }
    PyTuple_SET_ITEM(address, 0, url);
    PyTuple_SET_ITEM(address, 1, Py_NewRef(origin));
    PyTuple_SET_ITEM(address, 2, Py_NewRef(host));
    PyTuple_SET_ITEM(address, 3, path);
    PyTuple_SET_ITEM(address, 4, key);
    return address;
}

static PyObject *joined(const byte *first, Py_ssize_t first_size, const byte *second, Py_ssize_t second_size)
{
    PyObject *url = PyUnicode_New(first_size + second_size, 127);
    if (url == NULL) return NULL;
    byte *into = PyUnicode_1BYTE_DATA(url);
    memcpy(into, first, first_size);
    memcpy(into + first_size, second, second_size);
    return url;
}

/* `https://example.com/path`, of a host that was met before. */
static PyObject *absolute(const Page *page, const byte *at, const byte *end, Py_ssize_t prefix)
{
    const byte *path = memchr(at + prefix, '/', end - at - prefix);
    if (path == NULL || path == at + prefix || (path + 1 < end && path[1] == '/')) Py_RETURN_NONE;
    if (!is_plain(path, end, page->drops_tracking)) Py_RETURN_NONE;
    PyObject *written = joined(at, path - at, NULL, 0);
    PyObject *found = written ? PyDict_GetItemWithError(page->hosts, written) : NULL;
    Py_XDECREF(written);
    if (found == NULL) {
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NONE;
    }
    return address_of(page, joined(at, end - at, NULL, 0), PyTuple_GET_ITEM(found, 0), PyTuple_GET_ITEM(found, 1));
}

/* `page.html`, `./page.html`, `../folder/page.html` */
static PyObject *relative(const Page *page, const byte *at, const byte *end)
{
    Py_ssize_t folder_size = page->folder_size, origin_size = PyUnicode_GET_LENGTH(page->origin);
    if (end - at > 2 && at[0] == '.' && at[1] == '/') at += 2;
    while (end - at > 3 && at[0] == '.' && at[1] == '.' && at[2] == '/') {
        at += 3;
        if (folder_size > origin_size + 1) {
            folder_size--;
            while (page->folder[folder_size - 1] != '/') folder_size--;
        }
    }
    if (at == end || !(kinds[*at] & BEGINS_RELATIVE)) Py_RETURN_NONE;
    const byte *scheme = at + 1;
    while (scheme < end && (kinds[*scheme] & IN_SCHEME)) scheme++;
    if (scheme < end && *scheme == ':') Py_RETURN_NONE;
    if (!is_plain(at, end, page->drops_tracking)) Py_RETURN_NONE;
    if (!is_plain(page->folder + origin_size, page->folder + folder_size, page->drops_tracking)) Py_RETURN_NONE;
    return address_of(page, joined(page->folder, folder_size, at, end - at), page->origin, page->host);
}

static PyObject *resolve_one(const Page *page, PyObject *href)
{
    if (!PyUnicode_Check(href) || !PyUnicode_IS_COMPACT_ASCII(href)) Py_RETURN_NONE;
    const byte *at = PyUnicode_1BYTE_DATA(href);
    Py_ssize_t size = PyUnicode_GET_LENGTH(href);
    if (size == 0 || size > LONGEST) Py_RETURN_NONE;
    const byte *fragment = memchr(at, '#', size), *end = fragment ? fragment : at + size;
    size = end - at;
    if (size == 0) Py_RETURN_NONE;
    if (*at == '/') {
        if (page->origin == NULL || (size > 1 && at[1] == '/')) Py_RETURN_NONE;
        if (!is_plain(at, end, page->drops_tracking)) Py_RETURN_NONE;
        const byte *origin = PyUnicode_1BYTE_DATA(page->origin);
        PyObject *url = joined(origin, PyUnicode_GET_LENGTH(page->origin), at, size);
        return address_of(page, url, page->origin, page->host);
    }
    if (size > 8 && memcmp(at, "https://", 8) == 0) return absolute(page, at, end, 8);
    if (size > 7 && memcmp(at, "http://", 7) == 0) return absolute(page, at, end, 7);
    if (page->folder == NULL) Py_RETURN_NONE;
    return relative(page, at, end);
}

static int read_page(Page *page, PyObject *place, PyObject *folder)
{
    if (place == Py_None) return 1;
    page->origin = PyTuple_GET_ITEM(place, 0);
    page->host = PyTuple_GET_ITEM(place, 1);
    if (!PyUnicode_IS_COMPACT_ASCII(page->origin)) {
        PyErr_SetString(PyExc_ValueError, "the origin of a page must be ASCII");
        return 0;
    }
    if (folder != Py_None && PyUnicode_IS_COMPACT_ASCII(folder) && PyUnicode_GET_LENGTH(folder) <= LONGEST) {
        page->folder = PyUnicode_1BYTE_DATA(folder);
        page->folder_size = PyUnicode_GET_LENGTH(folder);
    }
    return 1;
}

static PyObject *resolve(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *hrefs, *place, *folder;
    Page page = {0};
    if (!PyArg_ParseTuple(arguments, "OOOO!pO!O", &hrefs, &place, &folder, &PyDict_Type, &page.hosts,
                          &page.drops_tracking, &PyType_Type, &page.type, &page.digest))
        return NULL;
    if (!read_page(&page, place, folder)) return NULL;
    PyObject *written = PySequence_Fast(hrefs, "addresses are given as a list");
    if (written == NULL) return NULL;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(written);
    PyObject *found = PyList_New(count);
    for (Py_ssize_t number = 0; found != NULL && number < count; number++) {
        PyObject *address = resolve_one(&page, PySequence_Fast_GET_ITEM(written, number));
        if (address == NULL)
            Py_CLEAR(found);
        else
            PyList_SET_ITEM(found, number, address);
    }
    Py_DECREF(written);
    return found;
}

static int prepare(PyObject *module)
{
    fill_kinds();
    return PyModule_AddIntMacro(module, FORMAT);
}

static PyMethodDef methods[] = {
    {"resolve", resolve, METH_VARARGS, "Resolve plain addresses; see canonical.py."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "comity.rules._web_address",
    .m_doc = "Plain addresses, resolved against their page.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__web_address(void) { return PyModuleDef_Init(&definition); }
