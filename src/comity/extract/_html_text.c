/* The main content of an HTML page as text, without the parser's tree.
 *
 * In: the body, which is UTF-8. Out: what `read_main_content` of main_content.py gives for the parser's tree, or None for
 * a page that has to be parsed to know it. Three steps: build a small tree (_html_build.h), find the content in it
 * (_html_content.h), render it. Time is linear in the page, and memory at most a few times its size.
 */
#include "_html_build.h"
#include "_html_content.h"

#define FORMAT 1 /* of the arguments and the answer; html.py takes no other */
#define TEXT_MOST 1000000 /* MAX_CHARACTERS in content_rendering.py: a longer text is left to Python */
#define INDENTED_MOST 6 /* lists and quotations in each other; the parser indents them only so far */
#define BODY_MOST (512 * 1024) /* TEXT_BYTES in html_pool.py */

/* Renders as `to_text` with a strict layout does. Lines are tidied as they are written. */
typedef struct {
    Finder *finder;
    Tree *tree;
    byte *out;
    Py_ssize_t size, room, line;  /* line: where the current one begins */
    Py_ssize_t written;           /* before tidying */
    int indent, indented;
    int has_begun, has_content, owes_blank, is_loose, stays_on_line, is_tight, was_empty;
    enum step step;
} Rendering;

static void put(Rendering *to, const byte *bytes, Py_ssize_t size)
{
    to->written += size;
    if (to->step != GO_ON) return;
    if (to->written > TEXT_MOST) {
        to->step = NEEDS_PARSER;
        return;
    }
    if (to->room - to->size < size) {
        Py_ssize_t room = 2 * to->room + size;
        byte *out = PyMem_Realloc(to->out, (size_t)room);
        if (out == NULL) {
            PyErr_NoMemory();
            to->step = FAILED;
            return;
        }
        to->out = out;
        to->room = room;
    }
    memcpy(to->out + to->size, bytes, (size_t)size);
    to->size += size;
}

/* How many bytes the white space before `end` takes, by Python's `str.isspace`; 0 if there is none. */
static int space_before(const byte *start, const byte *end)
{
    if (end == start) return 0;
    byte last = end[-1];
    if (last < 0x80) return last == ' ' || (last >= '\t' && last <= '\r') || (last >= 0x1c && last <= 0x1f);
    if (end - start >= 2 && end[-2] == 0xc2) return last == 0x85 || last == 0xa0 ? 2 : 0;
    if (end - start < 3) return 0;
    byte first = end[-3], second = end[-2];
    if (first == 0xe1) return second == 0x9a && last == 0x80 ? 3 : 0;
    if (first == 0xe2 && second == 0x80) return last <= 0x8a || last == 0xa8 || last == 0xa9 || last == 0xaf ? 3 : 0;
    if (first == 0xe2 && second == 0x81) return last == 0x9f ? 3 : 0;
    return first == 0xe3 && second == 0x80 && last == 0x80 ? 3 : 0;
}

/* The same after `start`. */
static int space_after(const byte *start, const byte *end)
{
    for (int size = 1; size <= 3 && size <= end - start; size++)
        if ((start[size - 1] & 0xc0) != 0x80 || size > 1) {
            int found = space_before(start, start + size);
            if (found == size) return size;
        }
    return 0;
}

/* End the line: without blanks at its end, and unless it is the second empty one in a row (`_tidy_lines`). */
static void end_line(Rendering *to)
{
    static const byte line_end = '\n';
    int space;
    while ((space = space_before(to->out + to->line, to->out + to->size)) > 0) to->size -= space;
    int is_empty = to->size == to->line;
    if (!(is_empty && to->was_empty)) put(to, &line_end, 1);
    else to->written++;
    to->was_empty = is_empty;
    to->line = to->size;
}

static void indent(Rendering *to)
{
    static const byte blanks[] = "                                                                ";
    for (int left = to->indent; left > 0; left -= 64) put(to, blanks, left < 64 ? left : 64);
}

static void begin_line(Rendering *to)
{
    end_line(to);
    indent(to);
    to->has_content = to->owes_blank = 0;
}

/* Begin the line of a block; there is an empty line before it if it or the block before is a loose one. */
static void begin_block(Rendering *to, int is_loose)
{
    if (!to->has_begun) {
        to->has_begun = 1;
        indent(to);
    } else if (to->stays_on_line) {
        to->stays_on_line = 0;
    } else {
        end_line(to);
        if ((to->is_loose || is_loose) && !to->is_tight) end_line(to);
        indent(to);
        to->has_content = 0;
    }
    to->is_loose = is_loose;
    to->owes_blank = 0;
}

static void put_words(Rendering *to, const byte *words, Py_ssize_t size)
{
    static const byte blank = ' ';
    if (to->owes_blank && to->has_content) put(to, &blank, 1);
    to->owes_blank = 0;
    put(to, words, size);
    to->has_content = 1;
}

/* Write a text with each run of blanks as one; those at its ends are owed. */
static void put_text(Rendering *to, const byte *at, Py_ssize_t size, int is_plain)
{
    const byte *end = at + size;
    while (at < end) {
        if (is_blank(*at)) {
            to->owes_blank = 1;
            at++;
            continue;
        }
        const byte *word = at;
        if (is_plain) {
            at = end[-1] == ' ' ? end - 1 : end;
        } else {
            while (at < end && !is_blank(*at)) {
                at++;
                if (end - at > 1 && *at == ' ' && !is_blank(at[1])) at++; /* the usual blank between two words */
            }
        }
        put_words(to, word, at - word);
    }
}

static void render_block(Rendering *to, int32_t element);

static void render_inline(Rendering *to, int32_t at)
{
    const Node *node = &to->tree->nodes[at];
    if (node->type == TEXT) put_text(to, to->tree->text + node->start, node->size, node->marks & IS_PLAIN_TEXT);
    if (node->type != ELEMENT) return;
    if (node->marks & BAR_BEFORE) put_text(to, (const byte *)" | ", 3, 0);
    if (TRAITS[node->tag] & SHOWN_AS_BLOCK) render_block(to, at);
    else if (node->tag == TAG_br) begin_line(to);
    else
        for (int32_t child = node->first; child >= 0; child = to->tree->nodes[child].next) render_inline(to, child);
    if (node->marks & BREAK_AFTER) begin_line(to);
}

static int is_only_blank(Rendering *to, const Node *text)
{
    const byte *start = to->tree->text + text->start, *end = start + text->size;
    return past_blanks(start, end) == end;
}

static void render_children(Rendering *to, int32_t element)
{
    int is_in_line = 0;
    for (int32_t at = to->tree->nodes[element].first; at >= 0; at = to->tree->nodes[at].next) {
        const Node *child = &to->tree->nodes[at];
        if (child->type == COMMENT) continue;
        if (child->type == ELEMENT && (TRAITS[child->tag] & SHOWN_AS_BLOCK)) {
            is_in_line = 0;
            render_block(to, at);
            continue;
        }
        if (!is_in_line) {
            if (child->type == TEXT && is_only_blank(to, child)) continue;
            begin_block(to, !to->is_tight);
            is_in_line = 1;
        }
        render_inline(to, at);
    }
}

/* Whether an item of a list begins with text, which then stands beside its mark. */
static int begins_inline(Rendering *to, int32_t item)
{
    for (int32_t at = to->tree->nodes[item].first; at >= 0; at = to->tree->nodes[at].next) {
        const Node *child = &to->tree->nodes[at];
        if (child->type == COMMENT || (child->type == TEXT && is_only_blank(to, child))) continue;
        return child->type == TEXT || !(TRAITS[child->tag] & SHOWN_AS_BLOCK);
    }
    return 0;
}

/* The number that an attribute gives, if it begins with one. */
static void read_number(Rendering *to, const Node *node, int64_t *number)
{
    if (node->start < 0) return;
    Value value = to->tree->names[node->start].number;
    int64_t found = 0;
    Py_ssize_t digits = 0;
    while (value.start != NULL && digits < value.size && is_digit(value.start[digits]) && digits <= NUMBER_DIGITS_MOST)
        found = found * 10 + (value.start[digits++] - '0');
    if (digits > NUMBER_DIGITS_MOST) to->step = NEEDS_PARSER;
    if (digits > 0) *number = found;
}

static void render_list(Rendering *to, int32_t list)
{
    Tree *tree = to->tree;
    int is_ordered = tree->nodes[list].tag == TAG_ol, width = 2, was_tight = to->is_tight;
    int64_t number = 1;
    if (is_ordered) read_number(to, &tree->nodes[list], &number);
    for (int32_t at = tree->nodes[list].first; at >= 0; at = tree->nodes[at].next) {
        const Node *child = &tree->nodes[at];
        if (child->type != ELEMENT) continue;
        int is_list = child->tag == TAG_ul || child->tag == TAG_ol || child->tag == TAG_menu;
        if (!is_list && child->tag != TAG_li) continue;
        if (!is_list) {
            char mark[24] = "* ";
            begin_block(to, 0);
            if (is_ordered) {
                read_number(to, child, &number);
                snprintf(mark, sizeof mark, "%lld. ", (long long)number++);
            }
            width = (int)strlen(mark);
            put(to, (const byte *)mark, width);
            to->has_content = 1;
        }
        to->indent += width;
        to->is_tight = 1;
        if (is_list) {
            render_block(to, at);
        } else {
            to->stays_on_line = begins_inline(to, at);
            render_children(to, at);
        }
        to->is_tight = was_tight;
        to->indent -= width;
    }
}

/* Write the text of an element as it is, without its last line end. */
static void render_preformatted(Rendering *to, int32_t element)
{
    Tree *tree = to->tree;
    int32_t last = -1, end = tree->nodes[element].end;
    for (int32_t at = next_within(tree, element, end); at >= 0; at = next_within(tree, at, end)) {
        if (tree->nodes[at].type == TEXT && tree->nodes[at].size > 0) last = at;
        if (tree->nodes[at].marks & BAR_BEFORE) to->step = NEEDS_PARSER; /* a table in it: its bars are text, too */
    }
    begin_block(to, 1);
    for (int32_t each = next_within(tree, element, end); each >= 0; each = next_within(tree, each, end)) {
        if (tree->nodes[each].type != TEXT) continue;
        const byte *at = tree->text + tree->nodes[each].start, *until = at + tree->nodes[each].size;
        if (each == last && until[-1] == '\n') until--;
        while (at < until) {
            const byte *line_end = memchr(at, '\n', (size_t)(until - at));
            const byte *stop = line_end != NULL ? line_end : until;
            if (stop > at) {
                put(to, at, stop - at);
                to->has_content = 1;
            }
            if (line_end != NULL) begin_line(to);
            at = stop + (line_end != NULL);
        }
    }
}

static void render_quotation(Rendering *to, int32_t element)
{
    int was_tight = to->is_tight;
    to->indent += 4;
    to->is_tight = 0;
    if (to->has_begun) {
        end_line(to);
        if (!was_tight) end_line(to);
        indent(to);
        to->has_content = 0;
        to->is_loose = to->stays_on_line = 1;
    }
    render_children(to, element);
    to->is_tight = was_tight;
    to->indent -= 4;
}

static void render_block(Rendering *to, int32_t element)
{
    enum tag tag = to->tree->nodes[element].tag;
    int indents = tag == TAG_ul || tag == TAG_ol || tag == TAG_menu || tag == TAG_blockquote;
    to->indented += indents;
    if (to->indented > INDENTED_MOST) to->step = NEEDS_PARSER;
    if (to->step != GO_ON) return;
    if (tag == TAG_blockquote) render_quotation(to, element);
    else if (indents) render_list(to, element);
    else if (tag == TAG_pre) render_preformatted(to, element);
    else render_children(to, element);
    to->indented -= indents;
}

/* Prepare a table: `data_tables` and `_write_in_lines` of content_rendering.py. */
static void prepare_table(Rendering *to, int32_t table, int is_plain)
{
    Tree *tree = to->tree;
    for (int32_t row = next_row(tree, table, -1), following; row >= 0; row = following) {
        following = next_row(tree, table, row);
        int cells = 0;
        for (int32_t cell = tree->nodes[row].first; cell >= 0; cell = tree->nodes[cell].next) {
            if (tree->nodes[cell].type != ELEMENT) continue;
            if (is_plain) tree->nodes[cell].tag = TAG_div;
            else if (cells++ > 0) tree->nodes[cell].marks |= BAR_BEFORE;
        }
        if (is_plain) tree->nodes[row].tag = TAG_div;
        else tree->nodes[row].marks |= BREAK_AFTER;
    }
    for (int32_t part = tree->nodes[table].first; part >= 0 && !is_plain; part = tree->nodes[part].next)
        if (tree->nodes[part].type == ELEMENT && tree->nodes[part].tag == TAG_caption) tree->nodes[part].tag = TAG_p;
    tree->nodes[table].tag = TAG_div;
}

static void render(Rendering *to, int32_t root)
{
    Tree *tree = to->tree;
    int tables = 0;
    enum tag tag = tree->nodes[root].tag;
    if (tag == TAG_table || (TRAITS[tag] & TABLE_PART)) {
        to->step = NEEDS_PARSER;
        return;
    }
    EACH_WITHIN(tree, each, root)
        if (tree->nodes[each].tag == TAG_table)
            prepare_table(to, each, tables++ >= TABLES_MOST || is_layout(to->finder, each));
    if (to->finder->step != GO_ON) to->step = to->finder->step;
    if (to->step != GO_ON) return;
    if (TRAITS[tag] & SHOWN_AS_BLOCK) render_block(to, root);
    else render_children(to, root);
}

/* What was rendered, without white space around it. */
static PyObject *rendered(Rendering *to)
{
    const byte *start = to->out, *end = to->out + to->size;
    int space;
    while ((space = space_before(start, end)) > 0) end -= space;
    while ((space = space_after(start, end)) > 0) start += space;
    return PyUnicode_DecodeUTF8((const char *)start, end - start, NULL);
}

/* The page with each line end as one character (WHATWG HTML 13.2.3.5). */
static byte *with_line_ends(const byte *at, const byte *end, Py_ssize_t *size)
{
    byte *copy = PyMem_Malloc((size_t)(end - at) + 1), *out = copy;
    if (copy == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    while (at < end) {
        const byte *found = memchr(at, '\r', (size_t)(end - at));
        const byte *stop = found != NULL ? found : end;
        memcpy(out, at, (size_t)(stop - at));
        out += stop - at;
        at = stop;
        if (found != NULL) {
            *out++ = '\n';
            at += at + 1 < end && at[1] == '\n' ? 2 : 1;
        }
    }
    *size = out - copy;
    return copy;
}

/* Find the content and render it; None if the page is left to the parser. */
static PyObject *text_of_tree(Tree *tree, Finder *finder)
{
    int32_t *lists = PyMem_Malloc(4 * (size_t)tree->count * sizeof *lists);
    Rendering to = {.finder = finder, .tree = tree, .was_empty = 1, .room = tree->text_size + 1024};
    to.out = PyMem_Malloc((size_t)to.room);
    PyObject *result = NULL;
    if (lists == NULL || to.out == NULL) {
        PyErr_NoMemory();
    } else {
        finder->tree = tree;
        finder->list = lists;
        finder->removed = lists + tree->count;
        finder->comments = lists + 2 * (size_t)tree->count;
        finder->linked = lists + 3 * (size_t)tree->count;
        int32_t root = find_content(finder);
        to.step = finder->step;
        if (to.step == GO_ON) render(&to, root);
        if (to.step == GO_ON) result = rendered(&to);
        else if (to.step != FAILED) result = Py_NewRef(Py_None);
    }
    PyMem_Free(lists);
    PyMem_Free(to.out);
    return result;
}

/* Whether a tag of this name begins or ends here. */
static int is_tag(const byte *at, const byte *end, const char *name)
{
    return begins(at, end, name) && end - at > (Py_ssize_t)strlen(name) && !is_letter(at[strlen(name)]);
}

PyDoc_STRVAR(may_name_content_doc,
"may_name_content(body)\n--\n\n"
"Whether a page may say which of its elements is its content: without that, `main_text` gives None.");

static PyObject *may_name_content(PyObject *module, PyObject *page)
{
    Py_buffer body;
    int may = 0;
    (void)module;
    if (PyObject_GetBuffer(page, &body, PyBUF_SIMPLE) < 0) return NULL;
    const byte *start = body.buf, *end = start + body.len;
    for (const byte *at = start; !may && (at = memchr(at, '<', (size_t)(end - at))) != NULL; at++)
        may = is_tag(at + 1, end, "main") || is_tag(at + 1, end, "article");
    for (const byte *at = start; !may && (at = memchr(at, 'B', (size_t)(end - at))) != NULL; at++)
        may = at - start >= 7 && memcmp(at - 7, "article", 7) == 0;
    for (const byte *at = start; !may && (at = memchr(at, '=', (size_t)(end - at))) != NULL; at++) {
        const byte *value = at + 1 + (end - at > 1 && (at[1] == '"' || at[1] == '\''));
        may = at - start >= 4 && IS(at - 4, 4, "role") && begins(value, end, "main");
    }
    PyBuffer_Release(&body);
    return PyBool_FromLong(may);
}

PyDoc_STRVAR(main_text_doc,
"main_text(body, start, references, decode, kinds, kind_of, is_note)\n--\n\n"
"The main content of a UTF-8 page from byte `start` on, as text; None if the page has to be parsed to know it.\n\n"
"`references` has the names of character references and their texts; `decode` gives the text of an attribute with\n"
"references, or None. What classes suggest is in `kinds`, what an id and a class suggest says `kind_of`, and whether\n"
"those of an aside make it a note `is_note`.");

static PyObject *main_text(PyObject *module, PyObject *args)
{
    Py_buffer body;
    Py_ssize_t start;
    PyObject *references, *decode, *kinds, *kind_of, *is_note, *text = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*nO!OOOO", &body, &start, &PyDict_Type, &references, &decode, &kinds, &kind_of, &is_note))
        return NULL;
    Tree *tree = PyMem_Calloc(1, sizeof *tree);
    Finder *finder = PyMem_Calloc(1, sizeof *finder);
    byte *copy = NULL;
    if (tree == NULL || finder == NULL) {
        PyErr_NoMemory();
    } else if (start < 0 || start > body.len) {
        PyErr_SetString(PyExc_ValueError, "start lies outside the body");
    } else if (body.len > BODY_MOST || memchr(body.buf, '\0', (size_t)body.len) != NULL) {
        text = Py_NewRef(Py_None);
    } else {
        Py_ssize_t size = body.len - start;
        const byte *page = (const byte *)body.buf + start;
        if (memchr(page, '\r', (size_t)size) != NULL) page = copy = with_line_ends(page, page + size, &size);
        tree->text_room = size + 16;
        tree->text = page != NULL ? PyMem_Malloc((size_t)tree->text_room) : NULL;
        tree->at = page;
        tree->end = page != NULL ? page + size : NULL;
        tree->references = references;
        tree->decode = decode;
        finder->kinds = kinds;
        finder->kind_of = kind_of;
        finder->is_note = is_note;
        if (tree->text == NULL) {
            if (!PyErr_Occurred()) PyErr_NoMemory();
        } else {
            enum step step = build_tree(tree);
            if (step == END_OF_PAGE) text = text_of_tree(tree, finder);
            else if (step != FAILED) text = Py_NewRef(Py_None);
        }
    }
    PyMem_Free(copy);
    if (tree != NULL) {
        PyMem_Free(tree->nodes);
        PyMem_Free(tree->names);
        PyMem_Free(tree->text);
        Py_XDECREF(tree->kept);
    }
    PyMem_Free(tree);
    PyMem_Free(finder);
    PyBuffer_Release(&body);
    return text;
}

static PyMethodDef methods[] = {
    {"main_text", main_text, METH_VARARGS, main_text_doc},
    {"may_name_content", may_name_content, METH_O, may_name_content_doc},
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module)
{
    prepare_tags();
    return PyModule_AddIntConstant(module, "FORMAT", FORMAT);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)prepare}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "comity.extract._html_text",
    .m_doc = "The main content of an HTML page as text, without the parser's tree.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__html_text(void) { return PyModuleDef_Init(&definition); }
