/* The head of a response, as nearly all are: what `read_head` of head.py does with `_parse_plainly`.
 *
 * In: the lines as they came, each with its end, and how many lines and bytes there may be. Out: the version, the status
 * and the fields by name; None of any other head, which head.py reads. Time is linear in the lines.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define FORMAT 2 /* of the arguments and the answer; head.py takes no other */
#define NAME_MOST 128 /* longer names are left to head.py */

typedef unsigned char byte;

/* Lines that were met lately with what they say: most lines of a server are the same in every answer. */
enum { REMEMBERED_BITS = 9, REMEMBERED_MOST = 160 };
typedef int Read(PyObject *line, PyObject **name, PyObject **value);
typedef struct {
    Read *read; /* a status line may be a field, too */
    PyObject *line, *name, *value;
} Remembered;
static Remembered remembered[1 << REMEMBERED_BITS];

static size_t place_of(const byte *at, Py_ssize_t size)
{
    uint64_t hash = (uint64_t)size, word;
    for (; size >= 8; at += 8, size -= 8) {
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, at, (size_t)size);
    return (size_t)(((hash ^ word) * 0x9e3779b97f4a7c15u) >> (64 - REMEMBERED_BITS));
}

static PyObject *text_of(const byte *first, Py_ssize_t size)
{
    PyObject *text = PyUnicode_New(size, 127);
    if (text != NULL && size > 0) memcpy(PyUnicode_1BYTE_DATA(text), first, (size_t)size);
    return text;
}

/* Name and value of an ordinary line; 0 of any other, or with an exception. */
static int read_field(PyObject *line, PyObject **name, PyObject **value)
{
    byte lower[NAME_MOST];
    const byte *at = (const byte *)PyBytes_AS_STRING(line), *end = at + PyBytes_GET_SIZE(line);
    if (end - at < 2 || end[-2] != '\r' || end[-1] != '\n' || *at == ' ' || *at == '\t') return 0;
    end -= 2;
    for (const byte *c = at; c < end; c++)
        if (*c >= 0x7f || (*c < ' ' && *c != '\t')) return 0;
    const byte *colon = memchr(at, ':', (size_t)(end - at));
    if (colon == NULL || colon - at > NAME_MOST) return 0;
    Py_ssize_t size = colon - at;
    for (Py_ssize_t i = 0; i < size; i++) lower[i] = at[i] >= 'A' && at[i] <= 'Z' ? (byte)(at[i] | 0x20) : at[i];
    const byte *first = colon + 1;
    while (first < end && (*first == ' ' || *first == '\t')) first++;
    while (end > first && (end[-1] == ' ' || end[-1] == '\t')) end--;
    *name = text_of(lower, size);
    *value = *name != NULL ? text_of(first, end - first) : NULL;
    if (*name != NULL) PyUnicode_InternInPlace(name); /* it is looked up by that name */
    return *value != NULL;
}

static int is_digit(byte c) { return c >= '0' && c <= '9'; }

/* Version and status of `HTTP/1.1 200 OK`; 0 of any other line, or with an exception. */
static int read_status(PyObject *line, PyObject **version, PyObject **status)
{
    const byte *at = (const byte *)PyBytes_AS_STRING(line), *end = at + PyBytes_GET_SIZE(line);
    if (end - at < 12 || memcmp(at, "HTTP/", 5) != 0 || end[-2] != '\r' || end[-1] != '\n' || !is_digit(at[5])) return 0;
    Py_ssize_t size = at[6] == '.' && is_digit(at[7]) ? 3 : 1;
    const byte *code = at + 5 + size;
    if (*code != ' ' || end - code < 6) return 0;
    code++;
    if (*code < '2' || *code > '9' || !is_digit(code[1]) || !is_digit(code[2])) return 0; /* an interim answer, for one */
    if (code[3] != ' ' && code[3] != '\r') return 0;
    *version = text_of(at + 5, size);
    *status = *version != NULL ? PyLong_FromLong((code[0] - '0') * 100 + (code[1] - '0') * 10 + (code[2] - '0')) : NULL;
    return *status != NULL;
}

/* What a line says, from memory if it was met lately; 0 if it cannot be read here, or with an exception. */
static int read_line(PyObject *line, Read *read, Remembered *said)
{
    Py_ssize_t size = PyBytes_GET_SIZE(line);
    Remembered *kept = size <= REMEMBERED_MOST ? &remembered[place_of((const byte *)PyBytes_AS_STRING(line), size)] : NULL;
    if (kept != NULL && kept->read == read && PyBytes_GET_SIZE(kept->line) == size &&
        memcmp(PyBytes_AS_STRING(kept->line), PyBytes_AS_STRING(line), (size_t)size) == 0) {
        said->name = Py_NewRef(kept->name);
        said->value = Py_NewRef(kept->value);
        return 1;
    }
    said->name = said->value = NULL;
    if (!read(line, &said->name, &said->value)) {
        Py_CLEAR(said->name);
        return 0;
    }
    if (kept != NULL) {
        Remembered before = *kept;
        *kept = (Remembered){read, Py_NewRef(line), Py_NewRef(said->name), Py_NewRef(said->value)};
        Py_XDECREF(before.line);
        Py_XDECREF(before.name);
        Py_XDECREF(before.value);
    }
    return 1;
}

static PyObject *plain_head(PyObject *Py_UNUSED(module), PyObject *const *given, Py_ssize_t count)
{
    if (count != 3 || !PyList_CheckExact(given[0])) {
        PyErr_SetString(PyExc_TypeError, "plain_head takes a list of lines, and how many lines and bytes there may be");
        return NULL;
    }
    PyObject *lines = given[0];
    Py_ssize_t lines_most = PyLong_AsSsize_t(given[1]), bytes_most = PyLong_AsSsize_t(given[2]);
    if (PyErr_Occurred()) return NULL;
    Py_ssize_t size = PyList_GET_SIZE(lines), bytes = 0;
    if (size < 2 || size > lines_most) Py_RETURN_NONE;
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *line = PyList_GET_ITEM(lines, i);
        if (!PyBytes_CheckExact(line)) Py_RETURN_NONE;
        bytes += PyBytes_GET_SIZE(line);
    }
    PyObject *last = PyList_GET_ITEM(lines, size - 1);
    if (bytes > bytes_most || PyBytes_GET_SIZE(last) != 2 || memcmp(PyBytes_AS_STRING(last), "\r\n", 2) != 0) Py_RETURN_NONE;
    Remembered first, said;
    if (!read_line(PyList_GET_ITEM(lines, 0), read_status, &first)) {
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NONE;
    }
    PyObject *fields = PyDict_New(), *answer = NULL;
    int done = fields != NULL;
    for (Py_ssize_t i = 1; done && i < size - 1; i++) {
        done = read_line(PyList_GET_ITEM(lines, i), read_field, &said);
        if (!done) break;
        done = PyDict_SetItem(fields, said.name, said.value) == 0;
        Py_DECREF(said.name);
        Py_DECREF(said.value);
    }
    if (done && PyDict_GET_SIZE(fields) == size - 2) answer = PyTuple_Pack(3, first.name, first.value, fields);
    Py_XDECREF(fields);
    Py_DECREF(first.name);
    Py_DECREF(first.value);
    if (answer == NULL && !PyErr_Occurred()) Py_RETURN_NONE;
    return answer;
}

static int prepare(PyObject *module) { return PyModule_AddIntMacro(module, FORMAT); }

static PyMethodDef methods[] = {
    {"plain_head", (PyCFunction)(void (*)(void))plain_head, METH_FASTCALL, "Version, status and fields; see head.py."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "comity.fetch._head",
    .m_doc = "The head of a response.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__head(void) { return PyModuleDef_Init(&definition); }
