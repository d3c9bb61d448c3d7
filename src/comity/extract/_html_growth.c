/* How much larger than a page its tree can become: the look of html_pool.py, which otherwise is a regular expression.
 *
 * In: the body. Out: how many formatting elements can be open at once, with the size of their attributes. Time is linear
 * in the page, memory is fixed.
 */
#include "_html_tokens.h"

#include <math.h>
#include <stdint.h>

#define FORMAT 1 /* of the arguments and the answer; html_pool.py takes no other */
#define SLOTS 2048
#define DIFFERENT_MOST 1000 /* a page with more different tags than this is never light: see _REOPENED_MOST */
#define ALIKE_MOST 3
#define USUAL_LINK_ELEMENTS 20
#define BYTES_LIKE_AN_ELEMENT 14
#define MERGED_MOST_BYTES 4096
#define LINK_ATTRIBUTES_MOST 12
#define LINK_BLANKS_MOST 32

/* A start tag: its name with its attributes, and how many have been found. */
typedef struct {
    Value written;
    Py_ssize_t name_size;
    unsigned count;
} Found;

/* `\s` and `\w` of regular expressions for bytes. */
static int is_space(byte c) { return is_blank(c) || c == '\v'; }
static int is_word(byte c) { return is_letter(c) || is_digit(c) || c == '_'; }
static int is_name(byte c) { return is_word(c) || c == ':' || c == '.' || c == '@' || c == '-'; }
static int is_unquoted(byte c) { return is_word(c) || (c != 0 && strchr(":./?#&%;,+-", c) != NULL); }

/* Go past what may stand between the attributes of a usual link. */
static const byte *past_link_names(const byte *at, const byte *end)
{
    const byte *most = end - at > LINK_BLANKS_MOST ? at + LINK_BLANKS_MOST : end;
    while (at < most && *at != '<' && *at != '>' && *at != '"' && *at != '\'' && *at != '=') at++;
    return at;
}

/* Whether a link goes on as nearly all do (_USUAL_LINK). */
static int is_usual_link(const byte *at, const byte *end)
{
    at = past_link_names(at, end);
    for (int attributes = 0; attributes < LINK_ATTRIBUTES_MOST; attributes++) {
        if (end - at < 2 || at[0] != '=' || at[1] != '"') break;
        const byte *value = at + 2;
        while (value < end && *value != '"' && *value != '<' && *value != '>') value++;
        if (value == end || *value != '"') break;
        at = past_link_names(value + 1, end);
    }
    return at < end && *at == '>';
}

/* How long the name is of an element that may grow, or of html or body; 0 if it is another one. */
static Py_ssize_t growing_name(const byte *name, const byte *end)
{
    static const char *const further[] = {"ig", "ody", "ode", "mall", "m", "ont", "obr", "tml", "trike", "trong", "t"};
    Py_ssize_t size = 0;
    if (name == end || strchr("bcefhinstu", lower(*name)) == NULL || *name == 0) return 0;
    for (size_t i = 0; size == 0 && i < sizeof further / sizeof *further; i++)
        if (begins(name + 1, end, further[i])) size = (Py_ssize_t)strlen(further[i]);
    return size + 1;
}

/* Go past the attributes of a tag, as far as they are written in a usual way. */
static const byte *past_attributes(const byte *at, const byte *end)
{
    for (;;) {
        const byte *name = at;
        while (name < end && is_space(*name)) name++;
        if (name == at || name == end || !is_name(*name)) return at;
        while (name < end && is_name(*name)) name++;
        at = name;
        if (end - at < 2 || *at != '=') continue;
        const byte *value = at + 1;
        if (*value == '"' || *value == '\'') {
            const byte *close = memchr(value + 1, *value, (size_t)(end - value - 1));
            if (close != NULL) at = close + 1;
        } else {
            while (value < end && is_unquoted(*value)) value++;
            if (value > at + 1) at = value;
        }
    }
}

/* Note a tag; 0 if there are too many different ones. */
static int note(Found *found, int *different, Value written, Py_ssize_t name_size)
{
    unsigned hash = 2166136261u;
    for (Py_ssize_t i = 0; i < written.size; i++) hash = (hash ^ written.start[i]) * 16777619u;
    unsigned slot = (hash ^ (hash >> 15)) % SLOTS;
    for (; found[slot].count != 0; slot = (slot + 1) % SLOTS)
        if (found[slot].written.size == written.size && found[slot].name_size == name_size &&
            memcmp(found[slot].written.start, written.start, (size_t)written.size) == 0) {
            found[slot].count++;
            return 1;
        }
    if (++*different > DIFFERENT_MOST) return 0;
    found[slot] = (Found){written, name_size, 1};
    return 1;
}

static double sum_of(const Found *found)
{
    double open = USUAL_LINK_ELEMENTS, merged = 0;
    for (int slot = 0; slot < SLOTS; slot++) {
        if (found[slot].count == 0) continue;
        const byte *name = found[slot].written.start;
        Py_ssize_t name_size = found[slot].name_size, attributes = found[slot].written.size - name_size;
        if (IS(name, name_size, "html") || IS(name, name_size, "body"))
            merged += (double)found[slot].count * (double)attributes;
        else
            open += (found[slot].count < ALIKE_MOST ? found[slot].count : ALIKE_MOST) *
                    (1 + (double)attributes / BYTES_LIKE_AN_ELEMENT);
    }
    return merged <= MERGED_MOST_BYTES ? open : INFINITY;
}

static double look(const byte *at, const byte *end, int with_plain, Found *found)
{
    int different = 0;
    while ((at = memchr(at, '<', (size_t)(end - at))) != NULL) {
        const byte *name = ++at;
        if (name == end) break;
        if (lower(*name) == 'a') {
            if (end - name > 1 && (is_space(name[1]) || name[1] == '/') && !is_usual_link(name + 2, end)) return INFINITY;
            continue;
        }
        Py_ssize_t size = growing_name(name, end);
        const byte *after = name + size;
        if (size == 0 || after == end || !(is_space(*after) || *after == '/' || (with_plain && *after == '>'))) continue;
        const byte *rest = past_attributes(after, end);
        at = rest;
        while (at < end && is_space(*at)) at++;
        if (at < end && *at == '/') at++;
        if (at == end || *at != '>') return INFINITY;
        if (!note(found, &different, (Value){name, rest - name}, size)) return INFINITY;
    }
    return sum_of(found);
}

PyDoc_STRVAR(open_at_once_doc,
"open_at_once(body, with_plain)\n--\n\n"
"How many formatting elements of a page can be open at once, with the size of their attributes; infinite for odd\n"
"markup. Without `with_plain`, those that have no attributes are left out.");

static PyObject *open_at_once(PyObject *module, PyObject *args)
{
    Py_buffer body;
    int with_plain;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*p", &body, &with_plain)) return NULL;
    Found *found = PyMem_Calloc(SLOTS, sizeof *found);
    double open = found != NULL ? look(body.buf, (const byte *)body.buf + body.len, with_plain, found) : 0;
    PyBuffer_Release(&body);
    if (found == NULL) return PyErr_NoMemory();
    PyMem_Free(found);
    return PyFloat_FromDouble(open);
}

static PyMethodDef methods[] = {{"open_at_once", open_at_once, METH_VARARGS, open_at_once_doc}, {NULL, NULL, 0, NULL}};

static int prepare(PyObject *module) { return PyModule_AddIntConstant(module, "FORMAT", FORMAT); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "comity.extract._html_growth",
    .m_doc = "How much larger than a page its tree can become.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__html_growth(void) { return PyModuleDef_Init(&definition); }
