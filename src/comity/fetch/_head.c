/* One line of a response's head: what `_plain_field` of head.py does.
 *
 * In: a line as it came, with its end. Out: name and value of an ordinary one; None of any other, which head.py reads
 * with the lines around it. Time is linear in the line.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#define FORMAT 1 /* of the argument and the answer; head.py takes no other */
#define NAME_MOST 128 /* longer names are left to head.py */

typedef unsigned char byte;

static PyObject *text_of(const byte *first, Py_ssize_t size)
{
    PyObject *text = PyUnicode_New(size, 127);
    if (text != NULL && size > 0) memcpy(PyUnicode_1BYTE_DATA(text), first, (size_t)size);
    return text;
}

static PyObject *plain_field(PyObject *Py_UNUSED(module), PyObject *line)
{
    byte lower[NAME_MOST];
    if (!PyBytes_Check(line)) {
        PyErr_SetString(PyExc_TypeError, "a line is bytes");
        return NULL;
    }
    const byte *at = (const byte *)PyBytes_AS_STRING(line), *end = at + PyBytes_GET_SIZE(line);
    if (end - at < 2 || end[-2] != '\r' || end[-1] != '\n' || *at == ' ' || *at == '\t') Py_RETURN_NONE;
    end -= 2;
    for (const byte *c = at; c < end; c++)
        if (*c >= 0x7f || (*c < ' ' && *c != '\t')) Py_RETURN_NONE;
    const byte *colon = memchr(at, ':', (size_t)(end - at));
    if (colon == NULL || colon - at > NAME_MOST) Py_RETURN_NONE;
    Py_ssize_t size = colon - at;
    for (Py_ssize_t i = 0; i < size; i++) lower[i] = at[i] >= 'A' && at[i] <= 'Z' ? (byte)(at[i] | 0x20) : at[i];
    const byte *value = colon + 1;
    while (value < end && (*value == ' ' || *value == '\t')) value++;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t')) end--;
    PyObject *name = text_of(lower, size), *said = name ? text_of(value, end - value) : NULL;
    if (name != NULL) PyUnicode_InternInPlace(&name); /* it is looked up by that name */
    PyObject *field = said ? PyTuple_Pack(2, name, said) : NULL;
    Py_XDECREF(name);
    Py_XDECREF(said);
    return field;
}

static int prepare(PyObject *module) { return PyModule_AddIntMacro(module, FORMAT); }

static PyMethodDef methods[] = {
    {"plain_field", plain_field, METH_O, "Name and value of an ordinary line; see head.py."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "comity.fetch._head",
    .m_doc = "One line of a response's head.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__head(void) { return PyModuleDef_Init(&definition); }
