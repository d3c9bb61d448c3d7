/* A body in gzip, as nearly all servers send it: what `inflate_member` of inflate.py begins with.
 *
 * In: the body as it came, and how large it may become. Out: the inflated body; None of anything but a single member
 * (RFC 1952) without optional fields, whose stated size is the size it has, and whose stream is valid to the letter of
 * RFC 1951: then every other reader takes it, too. So it can be stored as it came. inflate.py compares the checksum and
 * reads all that is None. Time and memory are linear in the stated size, which is believed up to what deflate can reach.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define FORMAT 1 /* of the arguments and the answer; inflate.py takes no other */

typedef unsigned char byte;

enum {
    HEAD_BYTES = 10,
    TAIL_BYTES = 8,
    RATIO_MOST = 1032, /* a match of 258 bytes takes two bits */
    HOLD_MOST = 128 * 1024, /* bytes that are inflated without letting other threads run */
    CODE_BITS_MOST = 15,
    LENGTHS_BITS = 7,
    SYMBOL_BITS = 11, /* of a code that are looked up at once; the rest in a table of its own */
    DISTANCE_BITS = 8,
    SYMBOLS_MOST = 286,
    DISTANCES_MOST = 30,
    SYMBOL_ENTRIES = 4096, /* 2,342 are the most that any code takes */
    DISTANCE_ENTRIES = 1024, /* 402 */
    IN_MARGIN = 16, /* bytes that a round of the fast loop may read, */
    OUT_MARGIN = 2 + 258 + 16, /* and write */
};

/* An entry of a table: how many bits it takes, those of the extra bits included, how many the code has without them, what it
 * is, and its value: a literal, the least length or distance, or where the table of the longer codes begins. */
typedef uint32_t Entry;
enum { LINK = 1 << 12, INVALID = 1 << 13, BLOCK_END = 1 << 14, LITERAL = 1 << 15 };
#define BITS_OF(entry) ((entry) & 31)
#define CODE_BITS_OF(entry) ((entry) >> 5 & 15)
#define VALUE_OF(entry) ((entry) >> 16)

typedef struct {
    const byte *in, *in_end;
    byte *out_first, *out, *out_end;
    uint64_t bits;
    unsigned count; /* of the bits that are ready */
    Entry symbols[SYMBOL_ENTRIES], distances[DISTANCE_ENTRIES];
} Stream;

static const uint16_t length_least[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                          31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const byte length_extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};

static Entry symbol_entry(unsigned symbol, unsigned bits)
{
    if (symbol < 256) return symbol << 16 | LITERAL | bits << 5 | bits;
    if (symbol == 256) return BLOCK_END | bits << 5 | bits;
    if (symbol > 285) return INVALID;
    symbol -= 257;
    return (Entry)length_least[symbol] << 16 | bits << 5 | (bits + length_extra[symbol]);
}

static Entry distance_entry(unsigned symbol, unsigned bits)
{
    if (symbol >= DISTANCES_MOST) return INVALID;
    unsigned extra = symbol < 4 ? 0 : symbol / 2 - 1;
    unsigned least = symbol < 4 ? symbol + 1 : ((2 + (symbol & 1)) << extra) + 1;
    return least << 16 | bits << 5 | (bits + extra);
}

static Entry plain_entry(unsigned symbol, unsigned bits)
{
    return symbol << 16 | bits << 5 | bits;
}

static unsigned reversed(unsigned code, unsigned bits)
{
    code = (code & 0x5555) << 1 | (code >> 1 & 0x5555);
    code = (code & 0x3333) << 2 | (code >> 2 & 0x3333);
    code = (code & 0x0f0f) << 4 | (code >> 4 & 0x0f0f);
    code = (code & 0x00ff) << 8 | (code >> 8 & 0x00ff);
    return code >> (16 - bits);
}

/* The table of a code by the lengths of its symbols; 0 if no such code may be. */
static int make_table(Entry *table, unsigned entries_most, unsigned table_bits, const byte *lengths, unsigned symbols,
                      Entry entry_of(unsigned symbol, unsigned bits), int may_be_poor)
{
    uint16_t of_length[CODE_BITS_MOST + 1] = {0}, next_code[CODE_BITS_MOST + 1], first[CODE_BITS_MOST + 2], sorted[288];
    for (unsigned symbol = 0; symbol < symbols; symbol++) of_length[lengths[symbol]]++;
    unsigned used = symbols - of_length[0];
    of_length[0] = 0;
    int left = 1;
    first[1] = 0;
    unsigned code = 0;
    for (unsigned bits = 1; bits <= CODE_BITS_MOST; bits++) {
        left = 2 * left - of_length[bits];
        if (left < 0) return 0; /* more codes than there can be */
        code = (code + of_length[bits - 1]) << 1;
        next_code[bits] = (uint16_t)code;
        first[bits + 1] = (uint16_t)(first[bits] + of_length[bits]);
    }
    if (left > 0) {
        /* Codes with gaps: some readers refuse them, but for distances: of one or none (RFC 1951 §3.2.7). */
        if (!may_be_poor || used > 1 || used != of_length[1]) return 0;
        for (unsigned place = 0; place < 1u << table_bits; place++) table[place] = INVALID;
    }
    for (unsigned symbol = 0; symbol < symbols; symbol++)
        if (lengths[symbol]) sorted[first[lengths[symbol]]++] = (uint16_t)symbol;
    unsigned end = 1u << table_bits, sub = 0, sub_bits = 0, prefix = ~0u;
    for (unsigned at = 0; at < used; at++) {
        unsigned symbol = sorted[at], bits = lengths[symbol], place = reversed(next_code[bits]++, bits);
        Entry entry = entry_of(symbol, bits);
        if (bits <= table_bits) {
            for (; place < 1u << table_bits; place += 1u << bits) table[place] = entry;
            of_length[bits]--;
            continue;
        }
        unsigned low = place & ((1u << table_bits) - 1);
        if (low != prefix) { /* symbols come by length, and those of a prefix one after another */
            prefix = low;
            sub = end;
            sub_bits = bits - table_bits;
            for (int room = 1 << sub_bits; sub_bits + table_bits < CODE_BITS_MOST; sub_bits++, room *= 2) {
                room -= of_length[sub_bits + table_bits];
                if (room <= 0) break;
            }
            end += 1u << sub_bits;
            if (end > entries_most) return 0;
            table[prefix] = sub << 16 | LINK | sub_bits << 5 | table_bits;
        }
        for (place >>= table_bits; place < 1u << sub_bits; place += 1u << (bits - table_bits)) table[sub + place] = entry;
        of_length[bits]--;
    }
    return 1;
}

static void refill(Stream *s)
{
    while (s->count <= 56 && s->in < s->in_end) {
        s->bits |= (uint64_t)*s->in++ << s->count;
        s->count += 8;
    }
}

/* Take bits, of which there must be so many: -1 at the end of the input. */
static int take(Stream *s, unsigned bits)
{
    if (s->count < bits) refill(s);
    if (s->count < bits) return -1;
    int value = (int)(s->bits & ((1u << bits) - 1));
    s->bits >>= bits;
    s->count -= bits;
    return value;
}

/* The next entry of a table, with its bits still to be taken; one that needs more bits than there are is invalid. */
static Entry look_up(Stream *s, const Entry *table, unsigned table_bits)
{
    Entry entry = table[s->bits & ((1u << table_bits) - 1)];
    if (entry & LINK) entry = table[VALUE_OF(entry) + (s->bits >> table_bits & ((1u << CODE_BITS_OF(entry)) - 1))];
    return BITS_OF(entry) > s->count ? INVALID : entry;
}

static int read_tables(Stream *s)
{
    static const byte order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    byte lengths[SYMBOLS_MOST + DISTANCES_MOST] = {0}, of_lengths[19] = {0};
    Entry table[1 << LENGTHS_BITS];
    int symbols = take(s, 5), distances = take(s, 5), codes = take(s, 4);
    if (codes < 0) return 0;
    symbols += 257, distances += 1, codes += 4;
    if (symbols > SYMBOLS_MOST || distances > DISTANCES_MOST) return 0;
    for (int at = 0; at < codes; at++) {
        int length = take(s, 3);
        if (length < 0) return 0;
        of_lengths[order[at]] = (byte)length;
    }
    if (!make_table(table, 1 << LENGTHS_BITS, LENGTHS_BITS, of_lengths, 19, plain_entry, 0)) return 0;
    for (int at = 0; at < symbols + distances;) {
        refill(s);
        Entry entry = look_up(s, table, LENGTHS_BITS);
        if (entry & INVALID) return 0;
        s->bits >>= BITS_OF(entry);
        s->count -= BITS_OF(entry);
        unsigned symbol = VALUE_OF(entry);
        if (symbol < 16) {
            lengths[at++] = (byte)symbol;
            continue;
        }
        if (symbol == 16 && at == 0) return 0;
        byte length = symbol == 16 ? lengths[at - 1] : 0;
        int more = symbol == 16 ? take(s, 2) : symbol == 17 ? take(s, 3) : take(s, 7);
        if (more < 0) return 0;
        int again = more + (symbol == 18 ? 11 : 3);
        if (at + again > symbols + distances) return 0;
        memset(lengths + at, length, (size_t)again);
        at += again;
    }
    if (!lengths[256]) return 0; /* no end */
    return make_table(s->symbols, SYMBOL_ENTRIES, SYMBOL_BITS, lengths, (unsigned)symbols, symbol_entry, 0) &&
           make_table(s->distances, DISTANCE_ENTRIES, DISTANCE_BITS, lengths + symbols, (unsigned)distances, distance_entry, 1);
}

static int fixed_tables(Stream *s)
{
    byte lengths[288];
    memset(lengths, 8, 144);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    memset(lengths + 280, 8, 8);
    if (!make_table(s->symbols, SYMBOL_ENTRIES, SYMBOL_BITS, lengths, 288, symbol_entry, 0)) return 0;
    memset(lengths, 5, 32);
    return make_table(s->distances, DISTANCE_ENTRIES, DISTANCE_BITS, lengths, 32, distance_entry, 0);
}

static int stored_block(Stream *s)
{
    s->in -= s->count / 8; /* whole bytes that were not needed yet */
    s->bits = s->count = 0;
    if (s->in_end - s->in < 4) return 0;
    unsigned size = s->in[0] | (unsigned)s->in[1] << 8, check = s->in[2] | (unsigned)s->in[3] << 8;
    s->in += 4;
    if (size != (check ^ 0xffff) || size > s->in_end - s->in || size > s->out_end - s->out) return 0;
    memcpy(s->out, s->in, size);
    s->in += size;
    s->out += size;
    return 1;
}

static uint64_t load(const byte *at)
{
    uint64_t word;
    memcpy(&word, at, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Copy a match; may write up to 15 bytes more. Of what repeats after fewer than 8 bytes, so many are right at each step. */
static inline void copy_match(byte *out, size_t distance, size_t length)
{
    const byte *from = out - distance, *end = out + length;
    size_t width = distance >= 16 ? 16 : 8, step = distance < 8 ? distance : width;
    if (width == 16) {
        do {
            memcpy(out, from, 16);
            out += 16;
            from += 16;
        } while (out < end);
        return;
    }
    if (distance == 1) {
        uint64_t same = *from * UINT64_C(0x0101010101010101);
        for (; out < end; out += 8) memcpy(out, &same, 8);
        return;
    }
    for (; out < end; out += step, from += step) {
        uint64_t word;
        memcpy(&word, from, 8);
        memcpy(out, &word, 8);
    }
}

/* Fill up to at least 56 bits without a branch: what lies above them is what comes next, and is read once more. */
#define REFILL() (bits |= load(in) << count, in += (63 - count) >> 3, count |= 56)
#define NEXT_SYMBOL() (symbols[bits & ((1u << SYMBOL_BITS) - 1)])
#define SKIP(entry) (bits >>= BITS_OF(entry), count -= BITS_OF(entry))

/* Symbols while there is room for the longest round, without looking at the ends: 1 at the end of the block, 0 if invalid, 2 if
 * the room is used up. */
static int fast_block(Stream *s)
{
    const byte *in = s->in, *in_safe = s->in_end - IN_MARGIN;
    byte *out = s->out, *out_safe = s->out_end - OUT_MARGIN;
    uint64_t bits = s->bits;
    unsigned count = s->count;
    const byte *out_first = s->out_first;
    const Entry *symbols = s->symbols, *distances = s->distances;
    int outcome = 2;
    if (in > in_safe || out > out_safe) return outcome;
    REFILL();
    Entry entry = NEXT_SYMBOL();
    for (;;) {
        /* At least 48 bits are there. The next entry is fetched before the last one is dealt with. */
        if (entry & LITERAL) {
            byte literal = (byte)VALUE_OF(entry);
            SKIP(entry);
            entry = NEXT_SYMBOL();
            *out++ = literal;
            if (entry & LITERAL) {
                literal = (byte)VALUE_OF(entry);
                SKIP(entry);
                entry = NEXT_SYMBOL();
                *out++ = literal;
                if (entry & LITERAL) {
                    literal = (byte)VALUE_OF(entry);
                    SKIP(entry);
                    entry = NEXT_SYMBOL();
                    *out++ = literal;
                    goto next;
                }
            }
        }
        if (entry & (LINK | BLOCK_END | INVALID)) {
            if (entry & LINK)
                entry = symbols[VALUE_OF(entry) + (bits >> SYMBOL_BITS & ((1u << CODE_BITS_OF(entry)) - 1))];
            if (entry & LITERAL) {
                *out++ = (byte)VALUE_OF(entry);
                SKIP(entry);
                entry = NEXT_SYMBOL();
                goto next;
            }
            if (entry & (BLOCK_END | INVALID)) {
                SKIP(entry);
                outcome = entry & BLOCK_END ? 1 : 0;
                break;
            }
        }
        size_t length = VALUE_OF(entry) + (size_t)((bits & ((1u << BITS_OF(entry)) - 1)) >> CODE_BITS_OF(entry));
        SKIP(entry);
        entry = distances[bits & ((1u << DISTANCE_BITS) - 1)];
        REFILL();
        if (entry & LINK)
            entry = distances[VALUE_OF(entry) + (bits >> DISTANCE_BITS & ((1u << CODE_BITS_OF(entry)) - 1))];
        size_t distance = VALUE_OF(entry) + (size_t)((bits & ((1u << BITS_OF(entry)) - 1)) >> CODE_BITS_OF(entry));
        SKIP(entry);
        if (entry & INVALID || distance > (size_t)(out - out_first)) {
            outcome = 0;
            break;
        }
        entry = NEXT_SYMBOL();
        copy_match(out, distance, length);
        out += length;
    next:
        if (in > in_safe || out > out_safe) break;
        REFILL();
    }
    s->in = in;
    s->out = out;
    s->bits = count < 64 ? bits & ((UINT64_C(1) << count) - 1) : bits;
    s->count = count;
    return outcome;
}

static int coded_block(Stream *s)
{
    for (;;) {
        if (s->in_end - s->in >= IN_MARGIN && s->out_end - s->out >= OUT_MARGIN) {
            int outcome = fast_block(s);
            if (outcome != 2) return outcome;
        }
        refill(s);
        Entry entry = look_up(s, s->symbols, SYMBOL_BITS);
        if (entry & INVALID) return 0;
        uint64_t bits = s->bits;
        s->bits >>= BITS_OF(entry);
        s->count -= BITS_OF(entry);
        if (entry & BLOCK_END) return 1;
        if (entry & LITERAL) {
            if (s->out == s->out_end) return 0;
            *s->out++ = (byte)VALUE_OF(entry);
            continue;
        }
        size_t length = VALUE_OF(entry) + (size_t)((bits & ((1u << BITS_OF(entry)) - 1)) >> CODE_BITS_OF(entry));
        refill(s);
        entry = look_up(s, s->distances, DISTANCE_BITS);
        if (entry & INVALID) return 0;
        size_t distance = VALUE_OF(entry) + (size_t)((s->bits & ((1u << BITS_OF(entry)) - 1)) >> CODE_BITS_OF(entry));
        s->bits >>= BITS_OF(entry);
        s->count -= BITS_OF(entry);
        if (distance > (size_t)(s->out - s->out_first) || length > (size_t)(s->out_end - s->out)) return 0;
        for (const byte *from = s->out - distance; length > 0; length--) *s->out++ = *from++;
    }
}

/* Whether the stream is valid and ends exactly with its input and its output. */
static int inflate(Stream *s)
{
    for (int is_last = 0; !is_last;) {
        is_last = take(s, 1);
        int kind = take(s, 2);
        if (kind < 0 || kind == 3) return 0;
        if (kind == 0) {
            if (!stored_block(s)) return 0;
            continue;
        }
        if (!(kind == 1 ? fixed_tables(s) : read_tables(s)) || !coded_block(s)) return 0;
    }
    return s->in - s->count / 8 == s->in_end && s->out == s->out_end;
}

static PyObject *member(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t given)
{
    if (given != 2 || !PyBytes_CheckExact(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "member takes bytes and a number");
        return NULL;
    }
    Py_ssize_t most = PyLong_AsSsize_t(arguments[1]);
    if (most == -1 && PyErr_Occurred()) return NULL;
    const byte *wire = (const byte *)PyBytes_AS_STRING(arguments[0]);
    Py_ssize_t wire_size = PyBytes_GET_SIZE(arguments[0]);
    if (wire_size <= HEAD_BYTES + TAIL_BYTES || memcmp(wire, "\x1f\x8b\x08\0", 4) != 0) Py_RETURN_NONE;
    const byte *tail = wire + wire_size - 4;
    Py_ssize_t size = (Py_ssize_t)(tail[0] | (uint32_t)tail[1] << 8 | (uint32_t)tail[2] << 16 | (uint32_t)tail[3] << 24);
    if (size == 0 || size > most || size / RATIO_MOST > wire_size) Py_RETURN_NONE;
    PyObject *body = PyBytes_FromStringAndSize(NULL, size);
    if (body == NULL) return NULL;
    byte *out = (byte *)PyBytes_AS_STRING(body);
    Stream stream;
    stream.in = wire + HEAD_BYTES, stream.in_end = wire + wire_size - TAIL_BYTES;
    stream.out_first = stream.out = out, stream.out_end = out + size;
    stream.bits = stream.count = 0;
    int is_whole;
    if (size <= HOLD_MOST) {
        is_whole = inflate(&stream);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        is_whole = inflate(&stream);
        Py_END_ALLOW_THREADS;
    }
    if (is_whole) return body;
    Py_DECREF(body);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"member", (PyCFunction)(void (*)(void))member, METH_FASTCALL, "Inflate a body that is one plain member of gzip; None of any other."},
    {NULL, NULL, 0, NULL},
};

static int fill(PyObject *module)
{
    return PyModule_AddIntConstant(module, "FORMAT", FORMAT);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_inflate", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__inflate(void)
{
    return PyModuleDef_Init(&definition);
}
