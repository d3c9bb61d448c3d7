/* A page without what differs between two views of it: what `_blurred` of watch.py does in several passes.
 *
 * In: the beginning of a page. Out: the same without digits, and without words of LONG letters and digits or more.
 * Time is linear in the page, memory is one copy of it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define FORMAT 1 /* of the argument and the answer; watch.py takes no other */
#define LONG 16

typedef unsigned char byte;

static byte is_alphanumeric[256], is_kept[256];

static void fill_tables(void)
{
    for (int c = 0; c < 256; c++) is_kept[c] = c < '0' || c > '9';
    for (int c = '0'; c <= '9'; c++) is_alphanumeric[c] = 1;
    for (int c = 'A'; c <= 'Z'; c++) is_alphanumeric[c] = is_alphanumeric[c + 32] = 1;
}

#define EACH(value) (UINT64_C(0x0101010101010101) * (value))

/* The highest bit of each of eight bytes that is a letter or a digit. */
static uint64_t alphanumerics(uint64_t bytes)
{
    uint64_t plain = bytes & EACH(0x7f), lower = plain | EACH(0x20);
    uint64_t letters = (lower + EACH(0x80 - 'a')) & ~(lower + EACH(0x80 - 'z' - 1));
    uint64_t digits = (plain + EACH(0x80 - '0')) & ~(plain + EACH(0x80 - '9' - 1));
    return (letters | digits) & ~bytes & EACH(0x80);
}

/* The place of the last of LONG bytes that is in no word; -1 if all are in one. */
static int last_outside(const byte *at)
{
#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && LONG == 16
    uint64_t halves[2];
    memcpy(halves, at, LONG);
    uint64_t second = ~alphanumerics(halves[1]) & EACH(0x80);
    if (second != 0) return 15 - __builtin_clzll(second) / 8;
    uint64_t first = ~alphanumerics(halves[0]) & EACH(0x80);
    return first != 0 ? 7 - __builtin_clzll(first) / 8 : -1;
#else
    int last = LONG - 1;
    while (last >= 0 && is_alphanumeric[at[last]]) last--;
    return last;
#endif
}

/* Where the next long word begins, or the end. A byte that is in no word rules out all words across it. */
static const byte *long_word(const byte *at, const byte *end)
{
    while (end - at >= LONG) {
        int last = last_outside(at);
        if (last < 0) return at;
        at += last + 1;
    }
    return end;
}

/* Whether one of eight bytes is a digit: with `0` taken away, it is less than ten. */
static int has_digit(uint64_t bytes)
{
    bytes ^= EACH('0');
    return ((bytes - EACH(10)) & ~bytes & EACH(0x80)) != 0;
}

static byte *without_digits(byte *into, const byte *at, const byte *end)
{
    uint64_t bytes;
    while (end - at >= 8) {
        memcpy(&bytes, at, 8);
        if (!has_digit(bytes)) {
            memcpy(into, at, 8);
            into += 8;
            at += 8;
            continue;
        }
        for (int number = 0; number < 8; number++, at++) {
            *into = *at;
            into += is_kept[*at];
        }
    }
    for (; at < end; at++) {
        *into = *at;
        into += is_kept[*at];
    }
    return into;
}

static PyObject *blurred(PyObject *Py_UNUSED(module), PyObject *page)
{
    Py_buffer body;
    if (PyObject_GetBuffer(page, &body, PyBUF_SIMPLE) < 0) return NULL;
    PyObject *rest = PyBytes_FromStringAndSize(NULL, body.len);
    if (rest != NULL) {
        byte *first = (byte *)PyBytes_AS_STRING(rest), *into = first;
        const byte *at = body.buf, *end = at + body.len;
        while (at < end) {
            const byte *word = long_word(at, end);
            into = without_digits(into, at, word);
            while (word < end && is_alphanumeric[*word]) word++;
            at = word;
        }
        _PyBytes_Resize(&rest, into - first);
    }
    PyBuffer_Release(&body);
    return rest;
}

static int prepare(PyObject *module)
{
    fill_tables();
    return PyModule_AddIntMacro(module, FORMAT);
}

static PyMethodDef methods[] = {
    {"blurred", blurred, METH_O, "A page without digits and long words; see watch.py."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "comity.rules.traps._blur",
    .m_doc = "A page without what differs between two views of it.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__blur(void) { return PyModuleDef_Init(&definition); }
