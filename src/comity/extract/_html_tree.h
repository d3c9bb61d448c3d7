/* A small tree of a page's body: elements, texts and comments, without those elements that are never content.
 *
 * WHATWG HTML 13.2.6 is followed as long as the page is written so that its elements nest: implied end tags, paragraphs,
 * lists and tables are built as the rules say. Formatting elements that do not end where they began, content of tables
 * outside their cells, and whatever else the rules would move, copy or merge, is left to the parser (NEEDS_PARSER).
 *
 * Nodes are in document order. All text lies in one piece, so that what an element contains is the difference of two
 * sums. Time is linear in the page: the depth is limited, and nothing but the stack of open elements is searched.
 */
#ifndef COMITY_HTML_TREE_H
#define COMITY_HTML_TREE_H

#include "_html_tags.h"

#define DEPTH_MOST 128
#define NODES_MOST 50000 /* MAX_EXAMINED in main_content.py */
#define DRAWING_DEPTH_MOST 64
#define REFERENCE_NAME_MOST 32

enum step { GO_ON, END_OF_PAGE, NEEDS_PARSER, FAILED };

/* How much there is to read. */
typedef struct {
    int32_t characters, line_ends, blanks; /* blanks: spaces and tabs */
} Extent;

enum node_type { ELEMENT, TEXT, COMMENT };

enum mark {
    SAYS_NOISE = 1 << 0,    /* hidden, or has a role that is no content */
    ARTICLE_BODY = 1 << 1,
    ROLE_MAIN = 1 << 2,
    ROLE_LAYOUT = 1 << 3,
    IS_PLAIN_TEXT = 1 << 4, /* its only blanks are single spaces */
    LAYOUT_KNOWN = 1 << 5,  /* these are set by the search for content and by the rendering */
    LAYOUT = 1 << 6,
    BAR_BEFORE = 1 << 7,
    BREAK_AFTER = 1 << 8,
};

typedef struct {
    int32_t parent, first, last, next, before; /* -1 for none */
    int32_t end;            /* the first node after it that is not within it */
    uint8_t type, tag;
    uint16_t marks;
    int32_t start, size;    /* of a text; the attributes of an element (-1 for none), and its known size (-1 if not) */
    Extent all, links;      /* what it contains, and what links within it contain */
} Node;

/* Attributes that say what an element is for; `start` is NULL for those that are missing. */
typedef struct {
    Value class, id, number;
} Names;

/* An open element; `node` is -1 within elements that are never content. */
typedef struct {
    enum tag tag;
    Value name;
    int32_t node, text; /* text: its last child if that is a text, to which more can be added */
    Extent all, links;  /* read before it began */
} Open;

typedef struct {
    const byte *at, *end;
    PyObject *references; /* names of character references, and their texts */
    PyObject *decode;     /* gives the text of an attribute that has references */
    Node *nodes;
    int32_t count, room;
    Names *names;
    int32_t names_count, names_room;
    byte *text;
    Py_ssize_t text_size, text_room;
    Open stack[DEPTH_MOST];
    int depth;
    int32_t open[TAG_COUNT]; /* how many are open */
    Extent all, links;
    PyObject *kept;          /* decoded attributes */
    int looked_up;           /* names of references */
    int has_html, is_in_body, is_after_head, is_after_body, has_form, is_standard, has_begun, skips_line_end, named_content;
} Tree;

static inline Open *top_of(Tree *tree) { return &tree->stack[tree->depth - 1]; }

static inline Extent difference(Extent a, Extent b)
{
    return (Extent){a.characters - b.characters, a.line_ends - b.line_ends, a.blanks - b.blanks};
}

static inline Extent sum(Extent a, Extent b)
{
    return (Extent){a.characters + b.characters, a.line_ends + b.line_ends, a.blanks + b.blanks};
}

/* A new node as the last child of `parent`; -1 with an exception, -2 if there are too many. */
static int32_t new_node(Tree *tree, enum node_type type, int32_t parent)
{
    if (tree->count == NODES_MOST) return -2;
    if (tree->count == tree->room) {
        int32_t room = tree->room ? 2 * tree->room : 1024;
        Node *nodes = PyMem_Realloc(tree->nodes, (size_t)room * sizeof(Node));
        if (nodes == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        tree->nodes = nodes;
        tree->room = room;
    }
    int32_t added = tree->count++;
    Node *node = &tree->nodes[added];
    memset(node, 0, sizeof *node);
    node->parent = parent;
    node->first = node->last = node->next = node->before = node->start = node->size = -1;
    node->end = added + 1;
    node->type = (uint8_t)type;
    if (parent >= 0) {
        Node *above = &tree->nodes[parent];
        node->before = above->last;
        if (above->last >= 0) tree->nodes[above->last].next = added;
        else above->first = added;
        above->last = added;
    }
    return added;
}

static enum step no_node(int32_t answer) { return answer == -1 ? FAILED : NEEDS_PARSER; }

/* Open an element inside the innermost open one; `node` is -1 for one that is never content. */
static enum step open_element(Tree *tree, enum tag tag, Value name, int32_t node)
{
    if (tree->depth == DEPTH_MOST) return NEEDS_PARSER;
    tree->stack[tree->depth++] = (Open){tag, name, node, -1, tree->all, tree->links};
    tree->open[tag]++;
    return GO_ON;
}

/* Insert an element, and open it unless it is empty. */
static enum step insert(Tree *tree, enum tag tag, Value name, const Names *names, unsigned marks)
{
    Open *above = top_of(tree);
    above->text = -1;
    int32_t node = -1;
    if (above->node >= 0 && !(TRAITS[tag] & NEVER_CONTENT)) {
        node = new_node(tree, ELEMENT, above->node);
        if (node < 0) return no_node(node);
        tree->nodes[node].tag = (uint8_t)tag;
        tree->nodes[node].marks = (uint16_t)marks;
        tree->named_content |= tag == TAG_main || tag == TAG_article || (marks & (ARTICLE_BODY | ROLE_MAIN));
        if (names != NULL && (names->class.start || names->id.start || names->number.start)) {
            if (tree->names_count == tree->names_room) {
                int32_t room = tree->names_room ? 2 * tree->names_room : 512;
                Names *all = PyMem_Realloc(tree->names, (size_t)room * sizeof(Names));
                if (all == NULL) {
                    PyErr_NoMemory();
                    return FAILED;
                }
                tree->names = all;
                tree->names_room = room;
            }
            tree->nodes[node].start = tree->names_count;
            tree->names[tree->names_count++] = *names;
        }
    }
    return TRAITS[tag] & EMPTY ? GO_ON : open_element(tree, tag, name, node);
}

static void close_top(Tree *tree)
{
    Open *open = top_of(tree);
    tree->depth--;
    tree->open[open->tag]--;
    if (open->node < 0) return;
    Node *node = &tree->nodes[open->node];
    node->end = tree->count;
    node->all = difference(tree->all, open->all);
    /* There is no link within a link, so in one there is nothing to count. */
    if (open->tag != TAG_a && tree->open[TAG_a] == 0) node->links = difference(tree->links, open->links);
}

/* Close all elements down to the one at a place. A formatting element above it would be opened again. */
static enum step close_down_to(Tree *tree, int place)
{
    while (tree->depth - 1 > place) {
        if (TRAITS[top_of(tree)->tag] & FORMATTING) return NEEDS_PARSER;
        close_top(tree);
    }
    close_top(tree);
    return GO_ON;
}

/* 13.2.6.3, "generate implied end tags". */
static void close_implied(Tree *tree, enum tag except)
{
    while ((TRAITS[top_of(tree)->tag] & IMPLIED_END) && top_of(tree)->tag != except) close_top(tree);
}

/* Where an element is open in scope; -1 if it is not. `also` and `and_also` end that scope, too. */
static int in_scope(Tree *tree, enum tag tag, enum tag also, enum tag and_also)
{
    if (tree->open[tag] == 0) return -1;
    for (int place = tree->depth - 1; place > 0; place--) {
        enum tag open = tree->stack[place].tag;
        if (open == tag) return place;
        if ((TRAITS[open] & SCOPE_END) || open == also || open == and_also) return -1;
    }
    return -1;
}
#define PARAGRAPH_IN_SCOPE(tree) in_scope((tree), TAG_p, TAG_button, TAG_button)

static enum step close_paragraph(Tree *tree)
{
    int place = PARAGRAPH_IN_SCOPE(tree);
    if (place < 0) return GO_ON;
    close_implied(tree, TAG_p);
    return close_down_to(tree, place);
}

/* Whether text and elements that stand here would be moved before the table. */
static int is_in_table_frame(Tree *tree) { return (TRAITS[top_of(tree)->tag] & TABLE_FRAME) != 0; }

/* The innermost open element that belongs to a table; 0 if there is none. */
static int table_part(Tree *tree)
{
    for (int place = tree->depth - 1; place > 0; place--)
        if (tree->stack[place].tag == TAG_table || (TRAITS[tree->stack[place].tag] & TABLE_PART)) return place;
    return 0;
}

static const Value NO_NAME = {NULL, 0};

/* A start tag of a part of a table (13.2.6.4.9-15): what is open and cannot hold it ends, what it lacks is begun. */
static enum step start_table_part(Tree *tree, enum tag tag, Value name, const Names *names, unsigned marks)
{
    if (tree->open[TAG_table] == 0) return GO_ON; /* it is ignored */
    for (;;) {
        int place = table_part(tree);
        enum tag around = tree->stack[place].tag, missing = TAG_OTHER;
        int is_cell = tag == TAG_td || tag == TAG_th, closes = 0;
        switch (around) {
        case TAG_td: case TAG_th: case TAG_caption: closes = 1; break;
        case TAG_tr: closes = !is_cell; break;
        case TAG_tbody: case TAG_thead: case TAG_tfoot:
            if (is_cell) missing = TAG_tr;
            else closes = tag != TAG_tr;
            break;
        case TAG_colgroup: closes = tag != TAG_col; break;
        case TAG_table:
            if (tag == TAG_col) missing = TAG_colgroup;
            else if (is_cell || tag == TAG_tr) missing = TAG_tbody;
            break;
        default: return NEEDS_PARSER;
        }
        enum step step;
        if (closes) {
            close_implied(tree, TAG_OTHER);
            step = close_down_to(tree, place);
        } else if (place != tree->depth - 1) {
            return NEEDS_PARSER;
        } else if (missing != TAG_OTHER) {
            step = insert(tree, missing, NO_NAME, NULL, 0);
        } else {
            return insert(tree, tag, name, names, marks);
        }
        if (step != GO_ON) return step;
    }
}

/* The end tag of a table, or of a part of one. */
static enum step end_table_part(Tree *tree, enum tag tag)
{
    for (;;) {
        int place = table_part(tree);
        enum tag around = tree->stack[place].tag;
        int is_cell = around == TAG_td || around == TAG_th;
        if (place == 0) return GO_ON;
        if (around == TAG_colgroup && tag != TAG_colgroup && tag != TAG_col && tag != TAG_table) return NEEDS_PARSER;
        if (around != tag) {
            /* What it ends must be open in this table; a cell, a caption and a column end only themselves. */
            int wanted = place;
            while (wanted > 0 && tree->stack[wanted].tag != tag && tree->stack[wanted].tag != TAG_table) wanted--;
            if (tree->stack[wanted].tag != tag || tag == TAG_td || tag == TAG_th || tag == TAG_caption || tag == TAG_col ||
                tag == TAG_colgroup || (around == TAG_caption && tag != TAG_table))
                return GO_ON;
        }
        if (is_cell || around == TAG_caption) close_implied(tree, TAG_OTHER);
        else if (place != tree->depth - 1) return NEEDS_PARSER;
        enum step step = close_down_to(tree, place);
        if (step != GO_ON || around == tag) return step;
    }
}

static enum step skip_past(Tree *tree, const byte *from, char last)
{
    const byte *found = from < tree->end ? memchr(from, last, (size_t)(tree->end - from)) : NULL;
    if (found == NULL) return END_OF_PAGE;
    tree->at = found + 1;
    return GO_ON;
}

static enum step skip_tag(Tree *tree, int *has_slash)
{
    Value name, value;
    enum in_tag found;
    do found = next_in_tag(&tree->at, tree->end, &name, &value);
    while (found == TAG_ATTRIBUTE);
    if (has_slash != NULL) *has_slash = found == TAG_END_WITH_SLASH;
    return found == TAG_CUT_OFF ? END_OF_PAGE : GO_ON;
}

static Value read_name(Tree *tree)
{
    const byte *start = tree->at;
    while (tree->at < tree->end && !is_blank(*tree->at) && *tree->at != '/' && *tree->at != '>') tree->at++;
    return (Value){start, tree->at - start};
}

static enum step skip_raw_text(Tree *tree, enum tag tag, Value name)
{
    const byte *close = tag == TAG_script ? end_of_script(tree->at, tree->end)
                                          : end_of_raw_text(tree->at, tree->end, name.start, name.size);
    if (close == NULL) return END_OF_PAGE;
    tree->at = close + 2 + name.size;
    return skip_tag(tree, NULL);
}

/* Go past a comment or declaration; `*is_comment` says which one it was. */
static enum step skip_declaration(Tree *tree, int is_drawing, int *is_comment)
{
    const byte *end;
    *is_comment = 1;
    if (begins(tree->at, tree->end, "--"))
        end = end_of_comment(tree->at + 2, tree->end);
    else if (is_drawing && tree->end - tree->at >= 7 && memcmp(tree->at, "[CDATA[", 7) == 0)
        end = end_of_section(tree->at, tree->end);
    else {
        *is_comment = !begins(tree->at, tree->end, "doctype");
        return skip_past(tree, tree->at, '>');
    }
    if (end == NULL) return END_OF_PAGE;
    tree->at = end;
    return GO_ON;
}

/* Find the next `<` that begins a tag, a comment or a declaration, and go to what follows it. */
static enum step next_markup(Tree *tree, int is_drawing, byte *kind)
{
    for (;;) {
        const byte *tag = memchr(tree->at, '<', (size_t)(tree->end - tree->at));
        if (tag == NULL || tree->end - tag < 3) return END_OF_PAGE;
        *kind = tag[1];
        if (is_letter(tag[1])) {
            tree->at = tag + 1;
            *kind = 'a';
            return GO_ON;
        }
        tree->at = tag + 2;
        if (tag[1] == '/' && is_letter(tag[2])) return GO_ON;
        if (tag[1] == '/' || tag[1] == '?' || tag[1] == '!') {
            int is_comment;
            enum step step =
                tag[1] == '!' ? skip_declaration(tree, is_drawing, &is_comment) : skip_past(tree, tag + 2, '>');
            if (step != GO_ON) return step;
        } else {
            tree->at = tag + 1;
        }
    }
}

/* Go past SVG, which is never content, if it is well-formed and has no HTML inside. */
static enum step skip_drawing(Tree *tree, Value name)
{
    Value open[DRAWING_DEPTH_MOST];
    int depth = 0;
    open[depth++] = name;
    while (depth > 0) {
        byte kind;
        int has_slash;
        enum step step = next_markup(tree, 1, &kind);
        if (step != GO_ON) return step;
        Value found = read_name(tree);
        step = skip_tag(tree, &has_slash);
        if (step != GO_ON) return step;
        Value around = open[depth - 1];
        if (kind == '/') {
            if (around.size != found.size) return NEEDS_PARSER;
            for (Py_ssize_t i = 0; i < found.size; i++)
                if (lower(around.start[i]) != lower(found.start[i])) return NEEDS_PARSER;
            depth--;
        } else {
            if (leads_out_of_foreign(found.start, found.size) || holds_html_text(around.start, around.size)) return NEEDS_PARSER;
            if (has_slash) continue;
            if (depth == DRAWING_DEPTH_MOST) return NEEDS_PARSER;
            open[depth++] = found;
        }
    }
    return GO_ON;
}

/* Go past a template, which is never content. */
static enum step skip_template(Tree *tree)
{
    for (int depth = 1; depth > 0;) {
        byte kind;
        int has_slash;
        enum step step = next_markup(tree, 0, &kind);
        if (step != GO_ON) return step;
        Value name = read_name(tree);
        enum tag tag = tag_of(name.start, name.size);
        step = skip_tag(tree, &has_slash);
        if (step != GO_ON) return step;
        if (tag == TAG_template) depth += kind == '/' ? -1 : 1;
        if (kind == '/') continue;
        if (tag == TAG_select || tag == TAG_col || (TRAITS[tag] & UNSUITED && tag != TAG_title)) return NEEDS_PARSER;
        if (TRAITS[tag] & RAW_TEXT) step = skip_raw_text(tree, tag, name);
        else if (tag == TAG_svg && !has_slash) step = skip_drawing(tree, name);
        if (step != GO_ON) return step;
    }
    return GO_ON;
}

/* Go past a select, which is never content, if it has nothing but options. */
static enum step skip_select(Tree *tree)
{
    for (;;) {
        byte kind;
        enum step step = next_markup(tree, 0, &kind);
        if (step != GO_ON) return step;
        Value name = read_name(tree);
        enum tag tag = tag_of(name.start, name.size);
        step = skip_tag(tree, NULL);
        if (step != GO_ON) return step;
        if (tag == TAG_select && kind == '/') return GO_ON;
        if (tag != TAG_option && tag != TAG_optgroup && tag != TAG_hr) return NEEDS_PARSER;
    }
}

#endif
