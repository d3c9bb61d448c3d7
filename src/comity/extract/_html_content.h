/* Finds the main content in the tree of _html_tree.h: `_Finder` of main_content.py, decision by decision, for pages that
 * name their content (`main`, `article`, `articleBody`).
 *
 * The length of a text is known here without reading it. It is still counted as if it were read, since what has been
 * counted decides when the whole page is weighed: a page that would be read too often is left to the parser.
 */
#ifndef COMITY_HTML_CONTENT_H
#define COMITY_HTML_CONTENT_H

#include "_html_tree.h"

#define LEAST_PROSE 80
#define LAID_OUT 60
#define READ_ANYWAY 100000
#define READ_AGAIN_MOST 6
#define CALL_COST 500
#define CLIMB_COST 2000
#define NOISE_SHARE_MOST 0.35
#define PARAGRAPHS_READ 50
#define AROUND_MOST 100
#define CLIMBED_MOST 40
#define CANDIDATES_MOST 200
#define LINKS_MOST 5000
#define SHORT 150
#define REOPENED_MOST 4000
#define TABLES_MOST 500
#define ROWS_LOOKED_AT 50
#define CLASSES_MOST 512 /* different ones of a page; a power of two, half of the slots */
#define CLASS_BYTES_MOST 60000
#define ASKED_MOST 5000 /* elements with an id, and asides */
#define WEIGHED_MOST 16
#define LOOKED_AT_MOST 1000000 /* nodes, to know tables */

enum kind { PLAIN, NOISE, COMMENTS, CONTENT }; /* _Kind in main_content.py */

typedef struct {
    Value name;
    int kind;
} KnownClass;

/* The paragraphs of an element that are yet to be read, and the prose of those that were. */
typedef struct {
    int32_t element, paragraphs[PARAGRAPHS_READ];
    int count, read;
    int64_t least;
} Weighed;

typedef struct {
    Tree *tree;
    PyObject *kinds, *kind_of, *is_note; /* what classes say; what an id and a class say; whether those of an aside do */
    KnownClass classes[2 * CLASSES_MOST];
    int classes_count, asked;
    Py_ssize_t class_bytes;
    Weighed weighed[WEIGHED_MOST];
    int weighed_count;
    int64_t may_read, total, left;
    int is_total_known, is_left_known, layouts;
    int64_t looked_at;
    int32_t *list, *removed, *comments, *linked; /* each has room for all nodes */
    int32_t removed_count, comments_count;
    enum step step;                     /* GO_ON as long as this can be decided here */
} Finder;

static inline Node *node_at(Finder *finder, int32_t node) { return &finder->tree->nodes[node]; }
static inline uint32_t traits_of(const Node *node) { return TRAITS[node->tag]; }

static void leave_to_parser(Finder *finder)
{
    if (finder->step == GO_ON) finder->step = NEEDS_PARSER;
}

/* `_size` in main_content.py. */
static int32_t size_of(Extent extent)
{
    if ((int64_t)extent.line_ends * LAID_OUT >= extent.characters)
        return extent.characters - extent.line_ends - extent.blanks;
    return extent.characters;
}

/* The next element or text after `at` in document order, within an element; -1 after the last. What was removed from the
 * tree has no parent, and is not within it any more. */
static int32_t next_within(Tree *tree, int32_t at, int32_t end)
{
    for (at++; at < end && tree->nodes[at].parent < 0; at = tree->nodes[at].end) continue;
    return at < end ? at : -1;
}
#define EACH_WITHIN(tree, node, outer) \
    for (int32_t node = next_within((tree), (outer), (tree)->nodes[outer].end); node >= 0; \
         node = next_within((tree), node, (tree)->nodes[outer].end)) \
        if ((tree)->nodes[node].type == ELEMENT)

static int64_t prose(Finder *finder, int32_t element);

static int64_t total(Finder *finder)
{
    if (!finder->is_total_known) {
        finder->is_total_known = 1;
        finder->total = 0;
        finder->may_read = 1;
        int64_t length = prose(finder, 0);
        finder->may_read = READ_ANYWAY + (int64_t)READ_AGAIN_MOST * node_at(finder, 0)->size;
        for (int32_t i = 0; i < finder->removed_count; i++) length += prose(finder, finder->removed[i]);
        finder->total = length;
    }
    return finder->total;
}

static int is_spent(Finder *finder)
{
    if (finder->may_read <= 0 && !finder->is_total_known) total(finder);
    if (finder->may_read <= 0) leave_to_parser(finder);
    return finder->may_read <= 0;
}

/* How much there is to read in an element, links aside. */
static int64_t prose(Finder *finder, int32_t element)
{
    if (is_spent(finder)) return 0;
    Node *node = node_at(finder, element);
    finder->may_read -= (int64_t)node->all.characters + node->links.characters + CALL_COST;
    node->size = size_of(node->all);
    return node->size - size_of(node->links);
}

static int64_t length_of(Finder *finder, int32_t element)
{
    if (is_spent(finder)) return 0;
    finder->may_read -= (int64_t)node_at(finder, element)->all.characters + CALL_COST;
    return node_at(finder, element)->all.characters;
}

static int64_t known_size(Finder *finder, int32_t element)
{
    if (node_at(finder, element)->size < 0) prose(finder, element);
    int32_t size = node_at(finder, element)->size;
    return size > 0 ? size : 1;
}

/* Whether an element certainly has more prose than that, by as many of its first paragraphs as it takes. */
static int has_prose(Finder *finder, int32_t element, double wanted)
{
    Weighed *known = NULL;
    for (int i = 0; i < finder->weighed_count && known == NULL; i++)
        if (finder->weighed[i].element == element) known = &finder->weighed[i];
    if (known == NULL) {
        if (finder->weighed_count == WEIGHED_MOST) {
            leave_to_parser(finder);
            return 0;
        }
        known = &finder->weighed[finder->weighed_count++];
        *known = (Weighed){.element = element};
        EACH_WITHIN(finder->tree, each, element) {
            if (node_at(finder, each)->tag != TAG_p) continue;
            known->paragraphs[known->count++] = each;
            if (known->count == PARAGRAPHS_READ) break;
        }
    }
    while (known->read < known->count && (double)known->least <= wanted) {
        Node *paragraph = node_at(finder, known->paragraphs[known->read++]);
        finder->may_read -= (int64_t)paragraph->all.characters + CALL_COST;
        known->least += paragraph->all.characters - paragraph->all.blanks - paragraph->all.line_ends;
        known->least -= paragraph->links.characters;
    }
    return (double)known->least > wanted;
}

/* Take an element out of the tree, and what it contains out of what is around it. */
static void take_out(Finder *finder, int32_t element)
{
    Tree *tree = finder->tree;
    Node *node = &tree->nodes[element];
    if (node->parent < 0) return;
    Node *parent = &tree->nodes[node->parent];
    if (node->before >= 0) tree->nodes[node->before].next = node->next;
    else parent->first = node->next;
    if (node->next >= 0) tree->nodes[node->next].before = node->before;
    else parent->last = node->before;
    Extent links = node->tag == TAG_a ? node->all : node->links;
    for (int32_t above = node->parent; above >= 0; above = tree->nodes[above].parent) {
        Node *around = &tree->nodes[above];
        around->all = difference(around->all, node->all);
        around->links = difference(around->links, links);
        if (around->tag == TAG_a) links = node->all;
    }
    node->parent = node->before = node->next = -1;
}

static int is_inside(Finder *finder, int32_t element, int32_t other)
{
    while (element >= 0 && element != other) element = node_at(finder, element)->parent;
    return element == other;
}

/* Drop an element, unless it has much of the page's prose and is therefore content. */
static void drop(Finder *finder, int32_t element)
{
    if (is_spent(finder)) return;
    int64_t length = length_of(finder, element);
    if (!has_prose(finder, 0, (double)length / NOISE_SHARE_MOST)) {
        double most = NOISE_SHARE_MOST * (double)total(finder);
        if ((double)length > most && (double)prose(finder, element) > most) return;
    }
    take_out(finder, element);
    finder->removed[finder->removed_count++] = element;
}

static PyObject *text_or_none(Value value)
{
    if (value.start == NULL) return Py_NewRef(Py_None);
    return PyUnicode_DecodeUTF8((const char *)value.start, value.size, "replace");
}

/* What Python says about two names: an enum's number or a truth value. */
static int asked(Finder *finder, PyObject *function, Value id, Value class)
{
    if (++finder->asked > ASKED_MOST) {
        leave_to_parser(finder);
        return 0;
    }
    PyObject *first = text_or_none(id), *second = text_or_none(class);
    PyObject *answer = first && second ? PyObject_CallFunctionObjArgs(function, first, second, NULL) : NULL;
    long said = answer != NULL ? PyLong_AsLong(answer) : -1;
    if (said == -1 && PyErr_Occurred()) finder->step = FAILED;
    Py_XDECREF(first);
    Py_XDECREF(second);
    Py_XDECREF(answer);
    return (int)said;
}

static int kind_of_class(Finder *finder, Value class)
{
    unsigned hash = 2166136261u;
    for (Py_ssize_t i = 0; i < class.size; i++) hash = (hash ^ class.start[i]) * 16777619u;
    unsigned slot = (hash ^ (hash >> 15)) % (2 * CLASSES_MOST);
    for (; finder->classes[slot].name.start != NULL; slot = (slot + 1) % (2 * CLASSES_MOST)) {
        KnownClass *known = &finder->classes[slot];
        if (known->name.size == class.size && memcmp(known->name.start, class.start, (size_t)class.size) == 0)
            return known->kind;
    }
    finder->class_bytes += class.size;
    if (++finder->classes_count > CLASSES_MOST || finder->class_bytes >= CLASS_BYTES_MOST) {
        leave_to_parser(finder);
        return PLAIN;
    }
    PyObject *name = text_or_none(class);
    PyObject *answer = name != NULL ? PyObject_GetItem(finder->kinds, name) : NULL;
    long said = answer != NULL ? PyLong_AsLong(answer) : -1;
    if (said == -1 && PyErr_Occurred()) finder->step = FAILED;
    Py_XDECREF(name);
    Py_XDECREF(answer);
    finder->classes[slot] = (KnownClass){class, (int)said};
    return (int)said;
}

static int kind_of(Finder *finder, const Node *node)
{
    if (node->start < 0) return PLAIN;
    const Names *names = &finder->tree->names[node->start];
    if (names->id.start == NULL) return names->class.start != NULL ? kind_of_class(finder, names->class) : PLAIN;
    finder->class_bytes += names->id.size + names->class.size;
    if (finder->class_bytes >= CLASS_BYTES_MOST) {
        leave_to_parser(finder);
        return PLAIN;
    }
    return asked(finder, finder->kind_of, names->id, names->class);
}

/* Whether a header belongs to an article: then it is content. */
static int is_in_article(Finder *finder, int32_t element)
{
    for (; element >= 0; element = node_at(finder, element)->parent)
        if (node_at(finder, element)->tag == TAG_article || node_at(finder, element)->tag == TAG_main) return 1;
    return 0;
}

static void drop_noise_tags(Finder *finder)
{
    Tree *tree = finder->tree;
    for (int32_t each = 1; each < tree->count && finder->step == GO_ON; each++) {
        Node *node = &tree->nodes[each];
        if (node->type != ELEMENT || !(traits_of(node) & NOISE_TAG)) continue;
        if (node->tag == TAG_header) {
            finder->may_read -= CLIMB_COST;
            if (is_spent(finder)) return;
            if (is_in_article(finder, each)) continue;
        }
        if (node->tag == TAG_aside && node->start >= 0) {
            const Names *names = &tree->names[node->start];
            if (asked(finder, finder->is_note, names->id, names->class)) continue;
        }
        drop(finder, each);
    }
}

static void drop_noise(Finder *finder)
{
    drop_noise_tags(finder);
    if (finder->step != GO_ON) return;
    int32_t count = 0;
    EACH_WITHIN(finder->tree, each, 0) {
        const Node *node = node_at(finder, each);
        if ((node->marks & SAYS_NOISE) && !(traits_of(node) & ROOT_TAG)) finder->list[count++] = each;
    }
    for (int32_t i = 0; i < count && finder->step == GO_ON; i++) drop(finder, finder->list[i]);
    count = 0;
    EACH_WITHIN(finder->tree, each, 0) {
        int kind = kind_of(finder, node_at(finder, each));
        if (finder->step != GO_ON) return;
        if (kind == COMMENTS) finder->comments[finder->comments_count++] = each;
        else if (kind == NOISE) finder->list[count++] = each;
    }
    for (int32_t i = 0; i < count && finder->step == GO_ON; i++) {
        uint32_t traits = traits_of(node_at(finder, finder->list[i]));
        if (!(traits & ROOT_TAG) && (!(traits & PROSE_TAG) || length_of(finder, finder->list[i]) < SHORT))
            drop(finder, finder->list[i]);
    }
}

/* Whether an element certainly has more than its share of one around it, by what is around it. */
static int is_most(Finder *finder, int32_t inner, int32_t outer, double share)
{
    Tree *tree = finder->tree;
    int64_t around = 0, nodes = 0;
    int32_t within = inner, above = tree->nodes[inner].parent;
    for (int climbed = 0;; climbed++, within = above, above = tree->nodes[above].parent) {
        if (above < 0 || climbed == CLIMBED_MOST) return 0;
        int children = 0;
        for (int32_t child = tree->nodes[above].first; child >= 0; child = tree->nodes[child].next) {
            if (nodes + ++children > AROUND_MOST) return 0;
            if (child != within) around += tree->nodes[child].all.characters;
        }
        nodes += children - 1;
        if (above == outer) break;
    }
    if (is_spent(finder)) return 0;
    finder->may_read -= CALL_COST * nodes + around;
    double wanted = (double)around * share / (1 - share);
    return has_prose(finder, inner, wanted > LEAST_PROSE ? wanted : LEAST_PROSE);
}

/* Whether a candidate has its share of the page's prose: of all of it, or of what is left without noise. */
static int is_enough(Finder *finder, int64_t length, double share)
{
    if (length < LEAST_PROSE) return 0;
    if ((double)length >= share * (double)total(finder)) return 1;
    if (!finder->is_left_known) {
        finder->left = prose(finder, 0);
        finder->is_left_known = 1;
    }
    return (double)length >= share * (double)finder->left;
}

/* The article in a main element, if there is one that has nearly everything, or far more than all others. */
static int32_t narrower(Finder *finder, int32_t chosen)
{
    int32_t count = 0, best = 0, second = -1;
    EACH_WITHIN(finder->tree, each, chosen) {
        const Node *node = node_at(finder, each);
        if (node->tag == TAG_article || (node->marks & ARTICLE_BODY)) finder->list[count++] = each;
        if (count == CANDIDATES_MOST) break;
    }
    if (count == 0) return chosen;
    if (count == 1 && is_most(finder, finder->list[0], chosen, 0.7)) return finder->list[0];
    int64_t lengths[CANDIDATES_MOST];
    for (int32_t i = 0; i < count; i++) {
        lengths[i] = length_of(finder, finder->list[i]);
        if (lengths[i] > lengths[best]) best = i;
    }
    if (has_prose(finder, chosen, (double)lengths[best] / 0.35)) return chosen;
    double length = (double)prose(finder, chosen);
    int64_t first = prose(finder, finder->list[best]), next = 0;
    if (count > 1) {
        for (int32_t i = 0; i < count; i++)
            if (i != best && (second < 0 || lengths[i] > lengths[second])) second = i;
        next = prose(finder, finder->list[second]);
    }
    if ((double)first > 0.7 * length || ((double)first > 0.35 * length && first > 4 * next && 4 * next > 0))
        return finder->list[best];
    return chosen;
}

/* The element that the page itself names as its content; -1 if there is none with enough prose. */
static int32_t choose(Finder *finder)
{
    for (int turn = 0; turn < 3 && finder->step == GO_ON; turn++) {
        int32_t count = 0;
        EACH_WITHIN(finder->tree, each, 0) {
            const Node *node = node_at(finder, each);
            int is_meant = turn == 0   ? node->marks & ARTICLE_BODY
                           : turn == 1 ? node->tag == TAG_main || (node->marks & ROLE_MAIN)
                                       : node->tag == TAG_article;
            if (is_meant) finder->list[count++] = each;
        }
        if (count == 1 && is_most(finder, finder->list[0], 0, 0.3)) return narrower(finder, finder->list[0]);
        int32_t best = -1;
        int64_t most = 0;
        for (int32_t i = 0; i < count && i < CANDIDATES_MOST; i++) {
            int64_t length = prose(finder, finder->list[i]);
            if (length >= most) {
                best = finder->list[i];
                most = length;
            }
        }
        if (best >= 0 && is_enough(finder, most, 0.3)) return narrower(finder, best);
    }
    return -1;
}

static void drop_comments(Finder *finder, int32_t root)
{
    double length = finder->comments_count ? (double)prose(finder, root) : 0;
    for (int32_t i = 0; i < finder->comments_count && i < CANDIDATES_MOST; i++) {
        int32_t element = finder->comments[i];
        if (!is_inside(finder, root, element) && (double)prose(finder, element) < 0.5 * length) take_out(finder, element);
    }
}

/* Whether a link is one of a heading to itself: its text is only a mark. */
static int is_permalink(Finder *finder, int32_t link)
{
    static const char *const marks[] = {"\xc2\xb6", "#", "\xc2\xa7", "\xf0\x9f\x94\x97"};
    Tree *tree = finder->tree;
    if (tree->nodes[link].all.characters != 1) return 0;
    int32_t end = tree->nodes[link].end;
    for (int32_t each = next_within(tree, link, end); each >= 0; each = next_within(tree, each, end)) {
        const Node *node = &tree->nodes[each];
        for (size_t i = 0; node->type == TEXT && node->size > 0 && i < sizeof marks / sizeof *marks; i++)
            if (node->size == (int32_t)strlen(marks[i]) && memcmp(tree->text + node->start, marks[i], strlen(marks[i])) == 0)
                return 1;
    }
    return 0;
}

static void drop_permalinks(Finder *finder, int32_t root)
{
    int32_t count = 0, heading_end = 0;
    EACH_WITHIN(finder->tree, each, root) {
        const Node *node = node_at(finder, each);
        if ((traits_of(node) & HEADING) && node->end > heading_end) heading_end = node->end;
        if (node->tag == TAG_a && each < heading_end) finder->list[count++] = each;
    }
    for (int32_t i = 0; i < count && i < LINKS_MOST; i++)
        if (is_permalink(finder, finder->list[i])) take_out(finder, finder->list[i]);
}

/* The first row among a node and those beside it; -1 if there is none. */
static int32_t row_from(Tree *tree, int32_t node)
{
    while (node >= 0 && (tree->nodes[node].type != ELEMENT || tree->nodes[node].tag != TAG_tr)) node = tree->nodes[node].next;
    return node;
}

/* The next row of a table after `row` (-1 for the first), without those of tables within it; -1 after the last. */
static int32_t next_row(Tree *tree, int32_t table, int32_t row)
{
    int32_t part = tree->nodes[table].first;
    if (row >= 0) {
        int32_t found = row_from(tree, tree->nodes[row].next);
        if (found >= 0) return found;
        part = tree->nodes[tree->nodes[row].parent].next;
    }
    for (; part >= 0; part = tree->nodes[part].next) {
        enum tag tag = tree->nodes[part].type == ELEMENT ? (enum tag)tree->nodes[part].tag : TAG_OTHER;
        if (tag != TAG_tbody && tag != TAG_thead && tag != TAG_tfoot) continue;
        int32_t found = row_from(tree, tree->nodes[part].first);
        if (found >= 0) return found;
    }
    return -1;
}

/* Whether a table only places things: it says so, has a table within, or has one cell a row. */
static int is_layout(Finder *finder, int32_t table)
{
    Tree *tree = finder->tree;
    int has_head = 0, has_block = 0;
    if (tree->nodes[table].marks & ROLE_LAYOUT) return 1;
    EACH_WITHIN(tree, each, table) {
        enum tag tag = tree->nodes[each].tag;
        if (tag == TAG_table) return 1;
        has_head |= tag == TAG_th || tag == TAG_caption || tag == TAG_thead;
        has_block |= tag == TAG_p || tag == TAG_div || tag == TAG_h2 || tag == TAG_ul;
        if (++finder->looked_at > LOOKED_AT_MOST) {
            leave_to_parser(finder);
            return 1;
        }
    }
    if (has_head || has_block) return !has_head;
    int rows = 0;
    for (int32_t row = next_row(tree, table, -1); row >= 0 && rows < ROWS_LOOKED_AT; row = next_row(tree, table, row), rows++) {
        int cells = 0;
        for (int32_t cell = tree->nodes[row].first; cell >= 0; cell = tree->nodes[cell].next)
            if (tree->nodes[cell].type == ELEMENT && ++cells > 1) return 0;
    }
    return 1;
}

/* Whether an element is a cell of a table that holds data: what a row is about is often a link, and no noise. */
static int is_data_cell(Finder *finder, int32_t element)
{
    if (node_at(finder, element)->tag != TAG_td) return 0;
    int32_t table = element;
    for (int climbed = 0; climbed < 3; climbed++) {
        table = table >= 0 ? node_at(finder, table)->parent : -1;
        if (table < 0 || node_at(finder, table)->tag != TAG_table) continue;
        Node *node = node_at(finder, table);
        if (!(node->marks & LAYOUT_KNOWN)) {
            if (finder->layouts >= TABLES_MOST || is_layout(finder, table)) node->marks |= LAYOUT;
            node->marks |= LAYOUT_KNOWN;
            finder->layouts++;
        }
        return !(node->marks & LAYOUT);
    }
    return 0;
}

/* Drop blocks that are links for the most part, unless the page is such a list. */
static void drop_link_blocks(Finder *finder, int32_t root)
{
    Tree *tree = finder->tree;
    int32_t *linked_in = finder->linked; /* how much text of links is in a block; -1 for none */
    int32_t count = 0, links = 0;
    int64_t linked = 0;
    memset(linked_in, 0xff, (size_t)tree->count * sizeof *linked_in);
    EACH_WITHIN(tree, link, root) {
        if (tree->nodes[link].tag != TAG_a) continue;
        if (links++ == LINKS_MOST) break;
        int32_t characters = tree->nodes[link].all.characters, block = tree->nodes[link].parent;
        linked += characters;
        while (block != root && (!(traits_of(&tree->nodes[block]) & LINK_BLOCK) || is_data_cell(finder, block)))
            block = tree->nodes[block].parent;
        if (block == root) continue;
        if (linked_in[block] < 0) {
            finder->list[count++] = block;
            linked_in[block] = 0;
        }
        linked_in[block] += characters;
    }
    if (!has_prose(finder, root, (double)linked / 0.5) && (double)linked > 0.5 * (double)known_size(finder, root)) return;
    for (int32_t i = 0; i < count && finder->step == GO_ON; i++) {
        int32_t block = finder->list[i];
        if (is_spent(finder)) return;
        Extent all = tree->nodes[block].all;
        double size = linked_in[block];
        finder->may_read -= (int64_t)all.characters + CALL_COST;
        if (size < 0.2 * all.characters) continue;
        double own = size_of(all);
        if (size <= 0.67 * own || (tree->nodes[block].tag == TAG_p && own > 200)) continue;
        if (has_prose(finder, root, own / 0.3) || own < 0.3 * (double)known_size(finder, root)) take_out(finder, block);
    }
}

/* Find the element that holds the content, and take out of it what does not belong to it. */
static int32_t find_content(Finder *finder)
{
    Tree *tree = finder->tree;
    int32_t reopened = 0;
    for (int32_t each = 0; each < tree->count; each++)
        reopened += tree->nodes[each].type == ELEMENT && (TRAITS[tree->nodes[each].tag] & FORMATTING);
    if (reopened > REOPENED_MOST || !tree->named_content) {
        leave_to_parser(finder);
        return -1;
    }
    finder->may_read = READ_ANYWAY;
    drop_noise(finder);
    if (finder->step != GO_ON || is_spent(finder)) return -1;
    int32_t root = choose(finder);
    if (root < 0) leave_to_parser(finder);
    if (finder->step != GO_ON) return -1;
    drop_comments(finder, root);
    drop_permalinks(finder, root);
    drop_link_blocks(finder, root);
    return root;
}

#endif
