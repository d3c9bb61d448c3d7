/* Named tuples that are made in C: what calling the class does, without a function in Python for each.
 *
 * `made_in_c` has a class of `typing.NamedTuple` called by `make` from then on. It gives what the class's own `__new__`
 * gives, which stays for everything else (`_replace`, `_make`, pickle) and for calls that are mistakes: it raises.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define FORMAT 1 /* of the argument and the answer; named_tuple.py takes no other */

static PyObject *fields_name, *defaults_name; /* "_fields" and "_field_defaults" */

/* Have the class's own `__new__` make it, or say what is wrong with the call. */
static PyObject *make_in_python(PyTypeObject *type, PyObject *const *given, Py_ssize_t count, PyObject *names)
{
    PyObject *positional = PyTuple_New(count), *named = NULL, *made = NULL;
    if (positional == NULL) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(positional, i, Py_NewRef(given[i]));
    if (names != NULL) {
        named = PyDict_New();
        for (Py_ssize_t i = 0; named != NULL && i < PyTuple_GET_SIZE(names); i++)
            if (PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), given[count + i]) < 0) Py_CLEAR(named);
    }
    if (names == NULL || named != NULL) made = type->tp_new(type, positional, named);
    Py_DECREF(positional);
    Py_XDECREF(named);
    return made;
}

/* The place of a field, or -1. Names in a call are nearly always the same objects as those of the class. */
static Py_ssize_t place_of(PyObject *fields, PyObject *name)
{
    Py_ssize_t size = PyTuple_GET_SIZE(fields);
    for (Py_ssize_t i = 0; i < size; i++)
        if (PyTuple_GET_ITEM(fields, i) == name) return i;
    for (Py_ssize_t i = 0; i < size; i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(fields, i), name) == 0) return i;
    return -1;
}

/* Put in what was given by name, and defaults; 1 if every field has a value then, else 0, perhaps with an exception. */
static int fill(PyObject *made, PyObject *fields, PyObject *dict, PyObject *const *named, PyObject *names)
{
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        Py_ssize_t place = place_of(fields, PyTuple_GET_ITEM(names, i));
        if (place < 0 || PyTuple_GET_ITEM(made, place) != NULL) return 0;
        PyTuple_SET_ITEM(made, place, Py_NewRef(named[i]));
    }
    PyObject *defaults = PyDict_GetItemWithError(dict, defaults_name);
    if (defaults == NULL || !PyDict_Check(defaults)) return 0;
    for (Py_ssize_t i = PyTuple_GET_SIZE(fields) - 1; i >= 0; i--) {
        if (PyTuple_GET_ITEM(made, i) != NULL) continue;
        PyObject *value = PyDict_GetItemWithError(defaults, PyTuple_GET_ITEM(fields, i));
        if (value == NULL) return 0;
        PyTuple_SET_ITEM(made, i, Py_NewRef(value));
    }
    return 1;
}

static PyObject *make(PyObject *class, PyObject *const *given, size_t flagged, PyObject *names)
{
    PyTypeObject *type = (PyTypeObject *)class;
    Py_ssize_t count = PyVectorcall_NARGS(flagged);
    PyObject *fields = PyDict_GetItemWithError(type->tp_dict, fields_name);
    if (fields == NULL || !PyTuple_CheckExact(fields) || count > PyTuple_GET_SIZE(fields))
        return PyErr_Occurred() ? NULL : make_in_python(type, given, count, names);
    PyObject *made = type->tp_alloc(type, PyTuple_GET_SIZE(fields));
    if (made == NULL) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(made, i, Py_NewRef(given[i]));
    if (count == PyTuple_GET_SIZE(fields) && names == NULL) return made;
    if (fill(made, fields, type->tp_dict, given + count, names)) return made;
    Py_DECREF(made);
    return PyErr_Occurred() ? NULL : make_in_python(type, given, count, names);
}

static PyObject *made_in_c(PyObject *Py_UNUSED(module), PyObject *class)
{
    PyTypeObject *type = (PyTypeObject *)class;
    int is_named_tuple = PyType_CheckExact(class) && type->tp_base == &PyTuple_Type &&
                         type->tp_init == PyTuple_Type.tp_init && type->tp_flags & Py_TPFLAGS_HEAPTYPE &&
                         type->tp_dict != NULL && PyDict_Contains(type->tp_dict, fields_name) == 1;
    if (!is_named_tuple) {
        PyErr_SetString(PyExc_TypeError, "only a class of named tuples is made in C");
        return NULL;
    }
    type->tp_vectorcall = make; /* never inherited */
    return Py_NewRef(class);
}

static int prepare(PyObject *module)
{
    if (fields_name == NULL) fields_name = PyUnicode_InternFromString("_fields");
    if (defaults_name == NULL) defaults_name = PyUnicode_InternFromString("_field_defaults");
    if (fields_name == NULL || defaults_name == NULL) return -1;
    return PyModule_AddIntMacro(module, FORMAT);
}

static PyMethodDef methods[] = {
    {"made_in_c", made_in_c, METH_O, "Have a class of named tuples called in C; see named_tuple.py."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "comity.model._named_tuple",
    .m_doc = "Named tuples that are made in C.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__named_tuple(void) { return PyModuleDef_Init(&definition); }
